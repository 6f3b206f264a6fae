//! First figures of every command over sessions: the amount spent and by whom, the cost of breaks, and the
//! cheapest possible caching.
//!
//! The steps from the amount spent to the best caching are computed here. Every output takes these amounts
//! from here, and costs by class of token.

use super::groups::{Period, PeriodLength};
use crate::base::{Basis, ByKey, Millis, Picodollars, Ttl};
use crate::explain::advice::{AdviceEntry, FirstAdvice};
use crate::explain::breaks::{
    Analysis, Cause, Contradiction, Reconciliation, Sum, by_cause_of_both,
};
use crate::explain::client_count::ClientCount;
use crate::requests::conversation::RequestIndex;
use crate::simulate::ledger::{Ledger, Row, Selection, StrategyColumn, Totals};
use crate::simulate::pricing::Charges;

/// The most important figures of the selected requests.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Number of sessions.
    pub sessions: usize,
    /// Send times of the first and the last of their requests.
    pub span: Option<(Millis, Millis)>,
    /// Recorded totals of all requests.
    pub billed: Totals,
    /// Totals of the requests of sub-agents among them, as recorded and as the rules expect.
    pub of_agents: [Totals; 2],
    /// Totals that the rules expect of the same requests, shown if nothing is recorded.
    pub simulated: Option<Totals>,
    /// Number of requests compared with their predecessors.
    pub compared: u64,
    /// Sum of all breaks.
    pub breaks: Sum,
    /// Sum of the breaks that follow from what was done: compactions and expiries.
    pub expected_breaks: Sum,
    /// Basis of the figures of breaks.
    pub breaks_basis: Basis,
    /// Breaks by cause, most expensive first.
    pub by_cause: Vec<(Cause, Sum)>,
    /// Change that would have saved most.
    pub change: Option<BestChange>,
    /// Amount billed beyond the simulated record with its breaks, and beyond the samplings billed apart.
    ///
    /// No strategy could have saved it. May be negative, and is `None` if unknown.
    pub unsimulated: Option<Picodollars>,
    /// Steps from the amount spent to the best caching.
    pub waterfall: Option<Waterfall>,
    /// Reason why no saving by the rules is to be believed, if there is one.
    pub contradiction: Option<Contradiction>,
    /// Clients' own counts of the same sessions.
    pub client: Option<ClientCount>,
}

/// The first of the ranked changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BestChange {
    /// Action to take.
    pub label: &'static str,
    /// Part of its saving that the bill supports, or `None` if the rules overcharge by at least as much.
    pub saving: Option<Picodollars>,
    /// True if only a part of the saving may be possible.
    pub is_at_most: bool,
}

impl BestChange {
    fn of(first: &FirstAdvice) -> Option<Self> {
        let AdviceEntry { change, saving, .. } = first.entry.as_ref()?;
        Some(Self {
            label: change.label,
            saving: first.bill.supports(*saving).then(|| first.bill.supported(*saving)),
            is_at_most: change.is_at_most,
        })
    }
}

/// Returns true if most requests have a record.
fn is_recorded(billed: &Totals) -> bool {
    billed.requests > 0 && billed.unrecorded < billed.requests
}

impl Answer {
    /// Takes the figures from a ledger with the strategies that [`Waterfall::new`] needs, and from
    /// its breaks.
    pub fn new(ledger: &Ledger<'_>, analysis: &Analysis, selection: &Selection) -> Self {
        let history = ledger.history;
        let times = || selection.requests().map(|index| history.request(index).start);
        let totals = |column| ledger.totals(column, selection.requests());
        let simulated = ledger.expected().map(totals).filter(|totals| totals.unrecorded == 0);
        let billed = ledger.billed().map(totals).unwrap_or_default();
        let is_of_agent = |index: &RequestIndex| history.request(*index).agent.is_some();
        let agents = |column| ledger.totals(column, selection.requests().filter(is_of_agent));
        let of_agents = [ledger.billed(), ledger.expected()]
            .map(|column| column.map(agents).unwrap_or_default());
        let Analysis { breaks, summary, contradiction, .. } = analysis;
        let waterfall = Waterfall::new(ledger, selection, &summary.reconciliation);
        Self {
            sessions: selection.sessions.len(),
            span: times().min().zip(times().max()),
            billed,
            of_agents,
            simulated,
            compared: breaks.compared,
            breaks: summary.total,
            expected_breaks: summary.expected,
            breaks_basis: breaks.list.iter().map(|one| one.basis).max().unwrap_or(Basis::Derived),
            by_cause: summary.by_cause.clone(),
            // `with_change` adds the change, as it is found by trials.
            change: None,
            unsimulated: None,
            waterfall: waterfall
                .map(|steps| if contradiction.is_some() { steps.unbounded() } else { steps }),
            contradiction: *contradiction,
            client: ClientCount::of(ledger, selection),
        }
    }

    /// Totals for the first line: the record, or the expectation of the rules if nothing is recorded.
    pub fn spent(&self) -> &Totals {
        self.simulated.as_ref().filter(|_| !is_recorded(&self.billed)).unwrap_or(&self.billed)
    }

    /// Cost of the best caching of the same prompts, if known.
    pub fn best_caching(&self) -> Option<Picodollars> {
        self.waterfall.as_ref()?.best_caching()
    }

    /// Part of the spent totals for the requests of sub-agents.
    pub fn agents(&self) -> &Totals {
        let [recorded, simulated] = &self.of_agents;
        if self.is_recorded() { recorded } else { simulated }
    }

    /// Returns true if the spent totals are the record.
    pub fn is_recorded(&self) -> bool {
        self.simulated.is_none() || is_recorded(&self.billed)
    }

    /// Adds the answer of another history.
    ///
    /// The best change of several histories is unknown, as each has its own. A figure that was not simulated
    /// for one of them is unknown for all.
    pub fn absorb(&mut self, other: &Self) {
        // If nothing has a price there is no amount to add, as for such requests within one history.
        let waterfall = match (self.is_unpriced(), other.is_unpriced()) {
            (true, _) => other.waterfall.clone(),
            (false, true) => self.waterfall.take(),
            _ => both(self.waterfall.take(), other.waterfall.as_ref(), Waterfall::with),
        };
        self.waterfall = waterfall;
        for (own, other) in self.of_agents.iter_mut().zip(other.of_agents) {
            *own += other;
        }
        self.sessions += other.sessions;
        let spans = self.span.into_iter().chain(other.span);
        self.span = spans.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)));
        self.billed += other.billed;
        self.simulated = both(self.simulated, other.simulated, sum);
        self.compared += other.compared;
        self.breaks += other.breaks;
        self.expected_breaks += other.expected_breaks;
        self.breaks_basis = self.breaks_basis.max(other.breaks_basis);
        self.by_cause = by_cause_of_both(&self.by_cause, &other.by_cause);
        self.change = None;
        self.contradiction = None;
        if let Some(client) = &other.client {
            self.client.get_or_insert_default().absorb(client);
        }
        self.unsimulated = both(self.unsimulated, other.unsimulated, |one, other| one + other);
    }

    /// Returns true if every request is recorded and none has a price.
    fn is_unpriced(&self) -> bool {
        self.billed.unrecorded == 0 && self.billed.cost().is_none()
    }

    /// Adds the first of the changes, and the amount billed beyond the simulated record.
    #[must_use]
    pub fn with_change(self, first: Option<&FirstAdvice>) -> Self {
        let change = first.and_then(BestChange::of);
        let unsimulated = first.and_then(|first| first.bill.unexplained());
        Self { change, unsimulated, ..self }
    }
}

/// Joins two figures, if both are known.
fn both<A, B>(one: Option<A>, other: Option<B>, together: impl FnOnce(A, B) -> A) -> Option<A> {
    one.zip(other).map(|(one, other)| together(one, other))
}

fn sum(mut one: Totals, other: Totals) -> Totals {
    one += other;
    one
}

/// Steps from the amount spent to the best caching.
///
/// spent − breaks − unexplained = expected, and expected − lifetime − rest = best caching, exactly. Samplings
/// billed apart are in all of these, as no caching changes them. All amounts cover the requests that have both a record and a price.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waterfall {
    /// Cost of the recorded usage.
    pub spent: Picodollars,
    /// Cost of separate samplings, billed for another model before the answer, in the amounts before and after
    /// every step.
    pub apart: Picodollars,
    /// Extra cost of the breaks that the rules do not charge, so without expiries and compactions.
    pub breaks: Picodollars,
    /// Amount that neither the rules nor the breaks explain. May be negative.
    pub unexplained: Picodollars,
    /// The rules' charge for the same requests, with no breaks but expiries and compactions.
    pub expected: Picodollars,
    /// Better of two lifetimes for all markers, if it saves anything.
    pub lifetime: Option<BetterLifetime>,
    /// Least possible cost of the same requests under any markers, lifetimes and pings, without breaks, or
    /// `None` if it was not simulated.
    pub cheapest: Option<Picodollars>,
}

/// A single lifetime for all markers that costs less than the recorded ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BetterLifetime {
    /// Name of the strategy.
    pub strategy: String,
    /// Saving against the recorded lifetimes.
    pub saving: Picodollars,
}

impl Waterfall {
    /// Computes the steps from a ledger of `billed`, `replay`, `5m`, `1h` and the bound, with no recorded
    /// break kept.
    ///
    /// `None` if some selected request has no record, as the amount spent cannot be compared with a
    /// simulation then, or if none has a price.
    pub fn new(ledger: &Ledger<'_>, selection: &Selection, sums: &Reconciliation) -> Option<Self> {
        let (record, replay) = (ledger.billed()?, ledger.expected()?);
        let is_unrecorded = |index| ledger.row_tokens(record, index).is_none();
        // Prompts counted in bytes cannot be compared with recorded tokens.
        if selection.requests().any(is_unrecorded) || ledger.history.is_counted_in_bytes() {
            return None;
        }
        // Each request is in all of the amounts or in none.
        let is_priced = |index: &RequestIndex| {
            [record, replay].into_iter().all(|column| ledger.has_price(column, *index))
        };
        let priced: Vec<RequestIndex> = selection.requests().filter(is_priced).collect();
        if priced.is_empty() {
            return None;
        }
        let total = |column| ledger.totals(column, priced.iter().copied());
        let billed = total(record);
        let expected = sums.replay + billed.apart;
        let cost_of = |ttl: Ttl| Some((ttl, total(ledger.lifetime(ttl)?).cost()?));
        let lifetimes = [Ttl::FiveMinutes, Ttl::OneHour].into_iter().filter_map(cost_of);
        let lifetime = lifetimes.min_by_key(|(_, cost)| *cost).and_then(|(ttl, cost)| {
            let saving = expected.minus(cost);
            let is_better = saving > Picodollars::ZERO;
            is_better.then(|| BetterLifetime { strategy: ttl.name().to_owned(), saving })
        });
        let bound = ledger.bound(ledger.assumptions.reading);
        // The bound is computed by thread. Sharing between threads can make a lifetime cheaper still.
        let lived = lifetime.as_ref().map_or(Picodollars::ZERO, |better| better.saving);
        let least = expected.minus(lived);
        Some(Self {
            spent: billed.cost()?,
            apart: billed.apart,
            breaks: sums.beyond_rules(),
            unexplained: sums.unexplained(),
            expected,
            lifetime,
            cheapest: bound.and_then(|bound| total(bound).cost()).map(|cost| cost.min(least)),
        })
    }

    /// The same without the savings of other caching, which rules that do not hold cannot say.
    fn unbounded(self) -> Self {
        Self { lifetime: None, cheapest: None, ..self }
    }

    /// Steps of two histories together.
    ///
    /// One better lifetime for all is not reported for several histories: each may have another one, and its
    /// saving is in the rest.
    fn with(self, other: &Self) -> Self {
        Self {
            spent: self.spent + other.spent,
            apart: self.apart + other.apart,
            breaks: self.breaks + other.breaks,
            unexplained: self.unexplained + other.unexplained,
            expected: self.expected + other.expected,
            lifetime: None,
            cheapest: both(self.cheapest, other.cheapest, |one, other| one + other),
        }
    }

    /// Cost of the best caching of the same prompts.
    ///
    /// `None` if unknown: it was not simulated, or more was read than the record shows was written.
    pub fn best_caching(&self) -> Option<Picodollars> {
        self.cheapest.filter(|cheapest| *cheapest <= self.spent)
    }

    /// Saving of other markers, pings and lifetimes for each request, beyond one lifetime for all.
    pub fn rest(&self) -> Option<Picodollars> {
        let lifetime = self.lifetime.as_ref().map_or(Picodollars::ZERO, |better| better.saving);
        Some(self.expected.minus(lifetime).minus(self.best_caching()?))
    }
}

/// Cost by class of token, of the requests that have a price.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spending {
    /// Charges for tokens.
    pub charges: Charges,
    /// Fees for other things than tokens: web searches.
    pub fees: Picodollars,
}

impl Spending {
    /// Charges and fees together.
    pub fn total(&self) -> Picodollars {
        self.charges.total() + self.fees
    }

    fn add(&mut self, row: &Row<'_>) {
        if let (Some(charges), Some(cost)) = (row.charges, row.cost) {
            self.charges += charges;
            self.fees += cost.minus(charges.total());
        }
    }

    /// Spending of the selected requests under a strategy.
    pub fn of(ledger: &Ledger<'_>, column: &StrategyColumn, selection: &Selection) -> Self {
        let mut spending = Self::default();
        for row in selection.requests().flat_map(|index| ledger.rows(column, index)) {
            spending.add(&row);
        }
        spending
    }
}

/// Cost of the selected requests under a strategy, for each period from the first to the last one.
///
/// Periods without requests cost nothing.
pub fn spending_by_period(
    ledger: &Ledger<'_>,
    column: &StrategyColumn,
    selection: &Selection,
    length: PeriodLength,
) -> ByKey<Period, Spending> {
    let mut periods: ByKey<Period, Spending> = ByKey::new();
    for index in selection.requests() {
        let at = ledger.history.request(index).time();
        let Some(period) = Period::of(&ledger.history.zone, at, length) else {
            continue;
        };
        let spending = periods.entry(period).or_default();
        for row in ledger.rows(column, index) {
            spending.add(&row);
        }
    }
    let first = periods.keys().next().copied();
    let last = periods.keys().next_back().copied();
    if let (Some(first), Some(last)) = (first, last) {
        for period in first.until(last) {
            periods.entry(period).or_default();
        }
    }
    periods
}
