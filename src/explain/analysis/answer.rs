//! What every command over sessions says first: what was spent and by whom, what breaks cost, and how
//! cheap it could have been.

use super::waterfall::Waterfall;
use crate::base::basis::Basis;
use crate::base::units::{Millis, Picodollars};
use crate::explain::advice::Entry;
use crate::explain::breaks::{Analysis, Cause, Sum};
use crate::simulate::ledger::{Ledger, Selection, Totals};

/// The figures that count, each of the selected requests.
#[derive(Clone, Debug)]
pub struct Answer {
    /// How many sessions.
    pub sessions: usize,
    /// When the first and the last of their requests were sent.
    pub span: Option<(Millis, Millis)>,
    /// What the record says of all requests.
    pub billed: Totals,
    /// Of those, the requests of sub-agents.
    pub agents: Totals,
    /// The same requests under the first strategy that can be simulated where nothing is recorded:
    /// its name and its figures.
    pub simulated: Option<(String, Totals)>,
    /// How many requests were held against one before them.
    pub compared: u64,
    /// All breaks.
    pub breaks: Sum,
    /// Those of them that follow from what was done: compactions and expiries.
    pub expected_breaks: Sum,
    /// What the figures of breaks rest on.
    pub breaks_basis: Basis,
    /// The cause that cost most.
    pub biggest_cause: Option<(Cause, Sum)>,
    /// The change that would have saved most.
    pub change: Option<BestChange>,
    /// From what was spent to the lower bound.
    pub waterfall: Option<Waterfall>,
}

/// The first of all changes that were ranked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BestChange {
    /// What to do.
    pub label: &'static str,
    /// What it would have saved.
    pub saving: Picodollars,
    /// Whether only a part of that may be possible.
    pub is_at_most: bool,
}

impl BestChange {
    fn of(entry: &Entry) -> Self {
        let change = &entry.change;
        Self { label: change.label, saving: entry.saving, is_at_most: change.is_at_most }
    }
}

impl Answer {
    /// Takes the figures from a ledger as [`Waterfall::new`] needs it, and from the breaks found in it.
    #[must_use]
    pub fn new(ledger: &Ledger<'_>, analysis: &Analysis, selection: &Selection) -> Self {
        let history = ledger.history;
        let times = || selection.requests().map(|index| history.request(index).start);
        let total = |name: &str| {
            let column = ledger.column(name)?;
            Some(ledger.totals(column, selection.requests()))
        };
        let of_agents = ledger.billed().map(|column| {
            let of_agents =
                selection.requests().filter(|index| history.request(*index).agent.is_some());
            ledger.totals(column, of_agents)
        });
        let simulated = ["1h", "5m"].into_iter().find_map(|name| {
            let totals = total(name).filter(|totals| totals.unrecorded == 0)?;
            Some((name.to_owned(), totals))
        });
        let (breaks, summary) = (&analysis.breaks, &analysis.summary);
        Self {
            sessions: selection.sessions.len(),
            span: times().min().zip(times().max()),
            billed: total("billed").unwrap_or_default(),
            agents: of_agents.unwrap_or_default(),
            simulated,
            compared: breaks.compared,
            breaks: summary.total,
            expected_breaks: summary.expected,
            breaks_basis: breaks.list.iter().map(|one| one.basis).max().unwrap_or(Basis::Derived),
            biggest_cause: summary.by_cause.first().copied(),
            change: None,
            waterfall: Waterfall::new(ledger, selection, &summary.reconciliation),
        }
    }

    /// Notes the first of the changes.
    #[must_use]
    pub fn with_change(self, first: Option<&Entry>) -> Self {
        Self { change: first.map(BestChange::of), ..self }
    }
}
