//! What tokens of each class cost, over some requests or over time.

use std::collections::BTreeMap;

use super::groups::{Period, PeriodLength};
use crate::base::units::Picodollars;
use crate::simulate::ledger::{Ledger, Row, Selection, StrategyColumn};
use crate::simulate::pricing::Charges;

/// A cost by class of token, as far as it has a price.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spending {
    /// The tokens.
    pub charges: Charges,
    /// What is no token: web searches.
    pub fees: Picodollars,
}

impl Spending {
    /// Everything.
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

/// What the selected requests cost under a strategy, in each period between the first and the last
/// of them; those in which nothing was sent have nothing.
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
