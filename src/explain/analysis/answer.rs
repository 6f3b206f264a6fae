//! What every command over sessions says first: what was spent and by whom, what breaks cost, and
//! how cheap it could have been. The steps from what was spent to the best caching stand here, and
//! every output takes these amounts from here, as well as costs by class of token.

use std::collections::BTreeMap;

use super::groups::{Period, PeriodLength};
use crate::base::ttl::Ttl;
use crate::base::units::{Basis, Millis, Picodollars};
use crate::explain::advice::{AdviceEntry, FirstAdvice};
use crate::explain::breaks::{Analysis, Cause, Reconciliation, Sum, by_cause_of_both};
use crate::requests::conversation::RequestIndex;
use crate::simulate::ledger::{Ledger, Row, Selection, StrategyColumn, Totals};
use crate::simulate::pricing::Charges;

/// The most important figures of the selected requests.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The number of sessions.
    pub sessions: usize,
    /// When the first and the last of their requests were sent.
    pub span: Option<(Millis, Millis)>,
    /// The recorded totals of all requests.
    pub billed: Totals,
    /// The totals of the requests of sub-agents among them, as recorded and as the rules expect.
    pub of_agents: [Totals; 2],
    /// What the rules expect of the same requests, which stands where nothing is recorded.
    pub simulated: Option<Totals>,
    /// How many requests were compared with their predecessors.
    pub compared: u64,
    /// All breaks.
    pub breaks: Sum,
    /// The breaks that follow from what was done: compactions and expiries.
    pub expected_breaks: Sum,
    /// What the figures of breaks are based on.
    pub breaks_basis: Basis,
    /// The breaks by cause, most expensive first.
    pub by_cause: Vec<(Cause, Sum)>,
    /// The change that would have saved most.
    pub change: Option<BestChange>,
    /// What was billed beyond the record as it is simulated, breaks included, and the samplings billed
    /// apart: no strategy could have saved it. May be negative, and is `None` where unknown.
    pub unsimulated: Option<Picodollars>,
    /// The steps from what was spent to the best caching.
    pub waterfall: Option<Waterfall>,
}

/// The first of the ranked changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BestChange {
    /// What to do.
    pub label: &'static str,
    /// What it would have saved, as far as the bill supports that. `None` where the rules overcharge by as much
    /// as it would have saved.
    pub saving: Option<Picodollars>,
    /// Whether only a part of that may be possible.
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

/// Whether a record says anything of most requests.
fn is_recorded(billed: &Totals) -> bool {
    billed.requests > 0 && billed.unrecorded < billed.requests
}

impl Answer {
    /// Takes the figures from a ledger with the strategies that [`Waterfall::new`] needs, and from
    /// its breaks.
    #[must_use]
    pub fn new(ledger: &Ledger<'_>, analysis: &Analysis, selection: &Selection) -> Self {
        let history = ledger.history;
        let times = || selection.requests().map(|index| history.request(index).start);
        let total = |name: &str| {
            let column = ledger.column(name)?;
            Some(ledger.totals(column, selection.requests()))
        };
        let simulated = ledger.expected().and_then(|column| {
            let totals = ledger.totals(column, selection.requests());
            (totals.unrecorded == 0).then_some(totals)
        });
        let billed = total("billed").unwrap_or_default();
        let is_of_agent = |index: &RequestIndex| history.request(*index).agent.is_some();
        let agents = |column| ledger.totals(column, selection.requests().filter(is_of_agent));
        let of_agents = [ledger.billed(), ledger.expected()]
            .map(|column| column.map(agents).unwrap_or_default());
        let (breaks, summary) = (&analysis.breaks, &analysis.summary);
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
            change: None,
            unsimulated: None,
            waterfall: Waterfall::new(ledger, selection, &summary.reconciliation),
        }
    }

    /// What the first line is about: the record, or what the rules expect where nothing is recorded.
    #[must_use]
    pub fn spent(&self) -> &Totals {
        self.simulated.as_ref().filter(|_| !is_recorded(&self.billed)).unwrap_or(&self.billed)
    }

    /// What the best caching of the same prompts would have cost, where it is known.
    #[must_use]
    pub fn best_caching(&self) -> Option<Picodollars> {
        self.waterfall.as_ref()?.best_caching()
    }

    /// The part of the requests of sub-agents in that.
    #[must_use]
    pub fn agents(&self) -> &Totals {
        let [recorded, simulated] = &self.of_agents;
        if self.is_recorded() { recorded } else { simulated }
    }

    /// Whether that is the record.
    #[must_use]
    pub fn is_recorded(&self) -> bool {
        self.simulated.is_none() || is_recorded(&self.billed)
    }

    /// Adds the answer of another history. The best change of several histories is not known, as each has its own, and
    /// what nobody simulated of one is not known of all.
    pub fn absorb(&mut self, other: &Self) {
        // Where nothing has a price there is no amount to add, as for such requests within one history.
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
        self.unsimulated = both(self.unsimulated, other.unsimulated, |one, other| one + other);
    }

    /// Whether all of it is recorded, and nothing has a price.
    fn is_unpriced(&self) -> bool {
        self.billed.unrecorded == 0 && self.billed.cost().is_none()
    }

    /// Adds the first of the changes, and what was billed beyond the record as it is simulated.
    #[must_use]
    pub fn with_change(self, first: Option<&FirstAdvice>) -> Self {
        let change = first.and_then(BestChange::of);
        let unsimulated = first.and_then(|first| first.bill.unexplained());
        Self { change, unsimulated, ..self }
    }
}

/// Two figures together, where both are known.
fn both<A, B>(one: Option<A>, other: Option<B>, together: impl FnOnce(A, B) -> A) -> Option<A> {
    one.zip(other).map(|(one, other)| together(one, other))
}

fn sum(mut one: Totals, other: Totals) -> Totals {
    one += other;
    one
}

/// The steps from what was spent to the best caching: spent − apart − breaks − unexplained =
/// expected, and expected − lifetime − rest = best caching, exactly. All amounts cover the requests
/// that have both a record and a price.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waterfall {
    /// What the recorded usage costs.
    pub spent: Picodollars,
    /// Separate samplings: billed for another model, before the answer. No simulation has them.
    pub apart: Picodollars,
    /// The extra cost of breaks that the rules do not charge, so without expiries and compactions.
    pub breaks: Picodollars,
    /// What neither the rules nor the breaks explain. May be negative.
    pub unexplained: Picodollars,
    /// What the rules charge for the same requests, with no breaks but expiries and compactions.
    pub expected: Picodollars,
    /// What the better of two lifetimes for all markers would save.
    pub lifetime: Option<BetterLifetime>,
    /// The least that any markers, lifetimes and pings could have cost for the same requests,
    /// without breaks. `None` where it was not simulated.
    pub cheapest: Option<Picodollars>,
}

/// A single lifetime for all markers that costs less than the recorded ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BetterLifetime {
    /// The strategy.
    pub strategy: String,
    /// What it saves.
    pub saving: Picodollars,
}

impl Waterfall {
    /// Computes the steps from a ledger of `billed`, `replay`, `5m`, `1h` and the bound, in which
    /// no recorded break is kept. `None` where some selected request has no record, so that what
    /// was spent cannot be compared with a simulation, and where none has a price.
    #[must_use]
    pub fn new(ledger: &Ledger<'_>, selection: &Selection, sums: &Reconciliation) -> Option<Self> {
        let (record, replay) = (ledger.billed()?, ledger.expected()?);
        let is_unrecorded = |index| ledger.row_tokens(record, index).is_none();
        if selection.requests().any(is_unrecorded) || ledger.history.is_counted_in_bytes() {
            return None;
        }
        // A request is in all of the amounts or in none.
        let is_priced = |index: &RequestIndex| {
            [record, replay].into_iter().all(|column| ledger.has_price(column, *index))
        };
        let priced: Vec<RequestIndex> = selection.requests().filter(is_priced).collect();
        if priced.is_empty() {
            return None;
        }
        let total = |column| ledger.totals(column, priced.iter().copied());
        let billed = total(record);
        let cost_of = |ttl: Ttl| Some((ttl, total(ledger.lifetime(ttl)?).cost()?));
        let lifetimes = [Ttl::FiveMinutes, Ttl::OneHour].into_iter().filter_map(cost_of);
        let lifetime = lifetimes.min_by_key(|(_, cost)| *cost).and_then(|(ttl, cost)| {
            let saving = sums.replay.minus(cost);
            let is_better = saving > Picodollars::ZERO;
            is_better.then(|| BetterLifetime { strategy: ttl.name().to_owned(), saving })
        });
        let bound = ledger.bound(ledger.assumptions.reading);
        // The bound is computed by thread, and what threads share can make a lifetime cheaper
        // still.
        let lived = lifetime.as_ref().map_or(Picodollars::ZERO, |better| better.saving);
        let least = sums.replay.minus(lived);
        Some(Self {
            spent: billed.cost()?,
            apart: billed.apart,
            breaks: sums.beyond_rules(),
            unexplained: sums.unexplained(),
            expected: sums.replay,
            lifetime,
            cheapest: bound.and_then(|bound| total(bound).cost()).map(|cost| cost.min(least)),
        })
    }

    /// The steps of two histories together. That one lifetime for all would be better is not told of several: each may
    /// have another one, and what it saves is in the rest.
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

    /// What the best caching of the same prompts would have cost. `None` where it is not known: it was not simulated,
    /// or more was read than the record tells was written.
    #[must_use]
    pub fn best_caching(&self) -> Option<Picodollars> {
        self.cheapest.filter(|cheapest| *cheapest <= self.spent)
    }

    /// What other markers, pings and lifetimes for each request would save beyond one lifetime for
    /// all.
    #[must_use]
    pub fn rest(&self) -> Option<Picodollars> {
        let lifetime = self.lifetime.as_ref().map_or(Picodollars::ZERO, |better| better.saving);
        Some(self.expected.minus(lifetime).minus(self.best_caching()?))
    }
}

/// A cost by class of token, as far as there are prices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spending {
    /// The tokens.
    pub charges: Charges,
    /// Fees that are not for tokens: web searches.
    pub fees: Picodollars,
}

impl Spending {
    /// The whole cost.
    #[must_use]
    pub fn total(&self) -> Picodollars {
        self.charges.total() + self.fees
    }

    fn add(&mut self, row: &Row<'_>) {
        if let (Some(charges), Some(cost)) = (row.charges, row.cost) {
            self.charges += charges;
            self.fees += cost.minus(charges.total());
        }
    }

    /// What the selected requests cost under a strategy.
    #[must_use]
    pub fn of(ledger: &Ledger<'_>, column: &StrategyColumn, selection: &Selection) -> Self {
        let mut spending = Self::default();
        for row in selection.requests().flat_map(|index| ledger.rows(column, index)) {
            spending.add(&row);
        }
        spending
    }
}

/// The cost of the selected requests under a strategy, for each period between the first and the
/// last one. Periods without requests cost nothing.
#[must_use]
pub fn spending_by_period(
    ledger: &Ledger<'_>,
    column: &StrategyColumn,
    selection: &Selection,
    length: PeriodLength,
) -> BTreeMap<Period, Spending> {
    let mut periods: BTreeMap<Period, Spending> = BTreeMap::new();
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
    let first = periods.first_key_value().map(|(period, _)| *period);
    let last = periods.last_key_value().map(|(period, _)| *period);
    if let (Some(first), Some(last)) = (first, last) {
        for period in first.until(last) {
            periods.entry(period).or_default();
        }
    }
    periods
}
