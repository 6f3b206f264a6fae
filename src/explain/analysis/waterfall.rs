//! From what was spent down to the lower bound, step by step. Every output that names one of these
//! amounts takes it from here.

use crate::base::ttl::Ttl;
use crate::base::units::Picodollars;
use crate::explain::breaks::Reconciliation;
use crate::requests::conversation::RequestIndex;
use crate::simulate::ledger::{Ledger, Selection};

/// The steps from what was spent to the lower bound:
/// spent − apart − breaks − unexplained = expected, and expected − lifetime − rest = cheapest, to the
/// last digit. All amounts are of the requests that have a record and a price.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waterfall {
    /// What the recorded usage costs.
    pub spent: Picodollars,
    /// Samplings that were billed apart: by another model, in front of the answer. No simulation has
    /// them.
    pub apart: Picodollars,
    /// The extra cost of breaks that the rules do not charge: not that of expiries and compactions.
    pub breaks: Picodollars,
    /// What neither the rules nor the breaks explain; may be negative.
    pub unexplained: Picodollars,
    /// What the rules charge for the same requests: no breaks but expiries and compactions.
    pub expected: Picodollars,
    /// What the better of two lifetimes for all markers would save of that.
    pub lifetime: Option<BetterLifetime>,
    /// The cheapest that any markers, lifetimes and pings could make of the same requests, without
    /// breaks; `None` where it was not simulated.
    pub cheapest: Option<Picodollars>,
}

/// One lifetime for all markers that costs less than the recorded ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BetterLifetime {
    /// The strategy.
    pub strategy: String,
    /// What it saves.
    pub saving: Picodollars,
}

impl Waterfall {
    /// Takes the steps on a ledger of `billed`, `replay`, `5m`, `1h` and the bound, in which no recorded
    /// break is kept. `None` where some selected request has no record, so that what was spent cannot
    /// be held against a simulation, and where none has a price.
    #[must_use]
    pub fn new(ledger: &Ledger<'_>, selection: &Selection, sums: &Reconciliation) -> Option<Self> {
        let (record, replay) = (ledger.billed()?, ledger.expected()?);
        let is_unrecorded = |index| ledger.row(record, index).is_none();
        if selection.requests().any(is_unrecorded) || ledger.history.is_counted_in_bytes() {
            return None;
        }
        // What is in one amount is in all.
        let has_price =
            |column, index| ledger.row(column, index).is_some_and(|row| row.cost.is_some());
        let is_priced = |index: &RequestIndex| {
            [record, replay].into_iter().all(|column| has_price(column, *index))
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
        // The bound is worked out thread by thread; what threads share can make a lifetime cheaper still.
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

    /// What other markers, pings and lifetimes for each request would save beyond one lifetime for all.
    #[must_use]
    pub fn rest(&self) -> Option<Picodollars> {
        let lifetime = self.lifetime.as_ref().map_or(Picodollars::ZERO, |better| better.saving);
        Some(self.expected.minus(lifetime).minus(self.cheapest?))
    }
}
