//! Merge of a model's rows with another table's prices from a day on.
//!
//! A row ends if the table has one for the same size and tier, and likewise for certain hours or
//! for the whole day. Everything else stays: sizes, tiers and hours of their own, and classes of
//! tokens at the same share of the input. Rows of later days stay, too, unless the table has later
//! days itself.

use std::cmp::Ordering;

use jiff::civil::{Date, time};

use crate::base::{ByKey, Tokens};
use crate::read::input::ServiceTier;
use crate::simulate::pricing::partial::Partial;
use crate::simulate::pricing::{Factors, ForeignPrices, ModelPrices, PriceTable, Rate, Terms};

/// Model, the table that has it, and the day from which on another table counts.
pub(super) struct Merge<'a> {
    pub(super) model: &'a ModelPrices,
    pub(super) table: &'a PriceTable,
    pub(super) day: Date,
}

impl Merge<'_> {
    pub(super) fn with(&self, foreign_prices: &ForeignPrices, source: &str) -> ModelPrices {
        let new = self.new_rows(foreign_prices);
        let old = self.model.rates.iter().filter_map(|rate| self.old_row(rate, &new));
        let rates = old.chain(new.iter().cloned()).collect();
        let source = format!("{}+{source}", self.model.source);
        ModelPrices { rates, source, ..self.model.clone() }
    }

    /// Row of the model, ended at the start of its replacement; `None` if it begins no earlier than that.
    fn old_row(&self, rate: &Rate, new: &[Rate]) -> Option<Rate> {
        let replacing = || new.iter().filter(|one| is_for_same(one, rate));
        let is_replaced = replacing().next().is_some();
        let knows_later = replacing().any(|one| one.from > Some(self.day));
        match rate.from.cmp(&Some(self.day)) {
            _ if !is_replaced => Some(rate.clone()),
            Ordering::Greater if !knows_later => Some(rate.clone()),
            Ordering::Greater | Ordering::Equal => None,
            Ordering::Less => {
                let until = rate.until.map_or(self.day, |until| until.min(self.day));
                Some(Rate { until: Some(until), ..rate.clone() })
            }
        }
    }

    /// Rows of the other table; rows that began before the day begin on it.
    fn new_rows(&self, foreign_prices: &ForeignPrices) -> Vec<Rate> {
        let rows: Vec<Rate> =
            foreign_prices.prices.iter().filter_map(|one| self.row(one)).collect();
        let is_latest = |rate: &&Rate| !rows.iter().any(|other| self.supersedes(other, rate));
        let continues = |rate: &&Rate| rate.until.is_none_or(|until| until > self.day);
        let latest = rows.iter().filter(is_latest).filter(continues);
        let mut rows: Vec<Rate> = latest
            .map(|rate| Rate { from: rate.from.max(Some(self.day)), ..rate.clone() })
            .collect();
        for (tier, factors) in &foreign_prices.tiers {
            rows.extend(of_factors(&rows, *tier, *factors));
        }
        let mut tiers: ByKey<ServiceTier, Vec<Rate>> = ByKey::new();
        for rate in rows {
            tiers.entry(rate.tier).or_default().push(rate);
        }
        let ordinary =
            tiers.get_mut(&ServiceTier::Standard).map(std::mem::take).unwrap_or_default();
        let own = tiers.into_iter().filter(|(tier, rows)| {
            *tier != ServiceTier::Standard && !self.are_implied(*tier, rows, &ordinary)
        });
        let own = own.flat_map(|(tier, rows)| self.of_every_size(tier, rows, &ordinary)).collect();
        [ordinary, own].concat()
    }

    /// Row of some terms; missing prices are derived from the row that applies now.
    fn row(&self, (terms, partial): &(Terms, Partial)) -> Option<Rate> {
        let Terms { from, until, above, tier, hours } = terms.clone();
        let prompt = Tokens(above.map_or(1, |above| above.0.saturating_add(1)));
        // At noon in UTC, outside of all hours with prices of their own in the built-in tables.
        let noon = self.day.to_datetime(time(12, 0, 0, 0));
        let ours = self.table.rates_of_tier_at(self.model, noon, prompt, tier);
        let whole = partial.filled_from(ours.as_ref().map(Partial::from).as_ref());
        let rates = whole.rates()?;
        Some(Rate { from, until, above, tier, hours, rates })
    }

    /// Returns true if a row for the same requests begins later than another one, but not after the day.
    fn supersedes(&self, other: &Rate, rate: &Rate) -> bool {
        let same = (rate.above, rate.tier, &rate.hours) == (other.above, other.tier, &other.hours);
        same && other.from > rate.from && other.from.is_none_or(|from| from <= self.day)
    }

    /// Returns true if all rows of a tier follow from the model's factor on the ordinary ones, and
    /// the model has no rows of the tier that would then stay in force.
    fn are_implied(&self, tier: ServiceTier, rows: &[Rate], ordinary: &[Rate]) -> bool {
        let Some(factors) = self.table.factors_of_tier(self.model, tier) else { return false };
        let implied = |rate: &Rate| {
            let one = ordinary.iter().find(|one| {
                (one.above, one.from, &one.hours) == (rate.above, rate.from, &rate.hours)
            });
            one.is_some_and(|one| one.rates.times(factors) == rate.rates)
        };
        let is_in_force =
            |rate: &Rate| rate.tier == tier && rate.until.is_none_or(|until| until > self.day);
        rows.iter().all(implied) && !self.model.rates.iter().any(is_in_force)
    }

    /// Rows of a tier, with one for each size of the ordinary ones that is missing: otherwise the
    /// row for every size would apply to it.
    fn of_every_size(&self, tier: ServiceTier, rows: Vec<Rate>, ordinary: &[Rate]) -> Vec<Rate> {
        let factors = self.table.factors_of_tier(self.model, tier);
        let own = self.model.rates.iter().filter(|rate| {
            let is_left = !ordinary.iter().any(|one| is_for_same(one, rate));
            is_left && rate.tier == ServiceTier::Standard && rate.holds_on(self.day)
        });
        let lacking = ordinary.iter().chain(own).filter(|one| {
            let is_there = |rate: &Rate| (rate.above, &rate.hours) == (one.above, &one.hours);
            one.above.is_some() && !rows.iter().any(is_there)
        });
        let made: Vec<Rate> = lacking
            .filter_map(|one| {
                let rates = one.rates.times(factors?);
                let from = one.from.max(Some(self.day));
                Some(Rate { from, until: None, tier, rates, ..one.clone() })
            })
            .collect();
        [rows, made].concat()
    }
}

/// Returns true if two rows are for the same size and tier, and both for the whole day or both for
/// certain hours.
fn is_for_same(one: &Rate, other: &Rate) -> bool {
    let terms = |rate: &Rate| (rate.above, rate.tier, rate.hours.is_some());
    terms(one) == terms(other)
}

/// Rows of a tier from its factor on the ordinary ones, unless the tier has rows of its own.
fn of_factors(rows: &[Rate], tier: ServiceTier, factors: Factors) -> Vec<Rate> {
    if rows.iter().any(|rate| rate.tier == tier) {
        return Vec::new();
    }
    let ordinary = rows.iter().filter(|rate| rate.tier == ServiceTier::Standard);
    ordinary.map(|rate| Rate { tier, rates: rate.rates.times(factors), ..rate.clone() }).collect()
}
