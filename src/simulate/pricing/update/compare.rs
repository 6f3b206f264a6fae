//! Comparison of a model's prices before and after an update.

use jiff::ToSpan;
use jiff::civil::{Date, DateTime, Time, time};

use super::PriceChange;
use crate::base::{Ordered as _, Picodollars, Tokens};
use crate::read::input::ServiceTier;
use crate::simulate::pricing::{Hours, ModelPrices, PriceTable, Rate, Rates};

/// Number of days on which prices are compared: a week, as some apply on days of the week.
const WEEK: i32 = 7;

/// Model, the table that has it, and the first day of the comparison.
pub(super) struct Comparison<'a> {
    pub(super) model: &'a ModelPrices,
    pub(super) table: &'a PriceTable,
    pub(super) day: Date,
}

impl Comparison<'_> {
    /// Prices that differ, each once.
    ///
    /// A change of a tier's price in proportion to the ordinary one is no change of its own.
    pub(super) fn changes(&self, merged: &ModelPrices) -> Vec<PriceChange> {
        let rows = || self.model.rates.iter().chain(&merged.rates);
        let sizes: Vec<Option<Tokens>> = rows().map(|rate| rate.above).chain([None]).ordered();
        let tiers: Vec<ServiceTier> = rows().map(|rate| rate.tier).ordered();
        let times = self.times(rows);
        let mut changes: Vec<PriceChange> = Vec::new();
        for tier in tiers {
            for &above in &sizes {
                for &at in &times {
                    // One token more than the limit is the smallest prompt beyond it.
                    let prompt = Tokens(above.map_or(1, |above| above.0.saturating_add(1)));
                    let rates = |model| self.table.rates_of_tier_at(model, at, prompt, tier);
                    for (class, ours, theirs) in classes(rates(self.model), rates(merged)) {
                        let change = PriceChange { class, tier, above, at, ours, theirs };
                        let is_known =
                            |one: &PriceChange| one.says(&change) || one.implies(&change);
                        if ours != theirs && !changes.iter().any(is_known) {
                            changes.push(change);
                        }
                    }
                }
            }
        }
        changes
    }

    /// Times at which prices may change: the borders of all hours in a week from the day on, and on
    /// the days on which rows begin or end later.
    fn times<'r, I: Iterator<Item = &'r Rate>>(&self, rows: impl Fn() -> I) -> Vec<DateTime> {
        let days = (0..WEEK).filter_map(|days| self.day.checked_add(days.days()).ok());
        let later = rows().flat_map(|rate| [rate.from, rate.until]).flatten();
        let days: Vec<Date> = days.chain(later.filter(|day| *day >= self.day)).ordered();
        let hours = rows().filter_map(|rate| rate.hours.as_deref());
        let midnight = time(0, 0, 0, 0);
        let borders: Vec<Time> = hours.flat_map(Hours::borders).chain([midnight]).ordered();
        let on = |day: Date| borders.iter().map(move |time| day.to_datetime(*time));
        days.into_iter().flat_map(on).collect()
    }
}

impl PriceChange {
    /// Returns true if it is the same change at another time.
    fn says(&self, other: &Self) -> bool {
        Self { at: other.at, ..*self } == *other
    }

    /// Returns true if a tier's price changes in proportion to this ordinary one, and so through it.
    fn implies(&self, other: &Self) -> bool {
        let share = |one: &Self| Some((one.ours?.0, one.theirs?.0));
        let same_share =
            share(self).zip(share(other)).is_some_and(|((ours, theirs), (others, new))| {
                // Multiplied crosswise instead of divided, so that the shares are compared exactly.
                ours.checked_mul(new) == theirs.checked_mul(others)
            });
        self.tier == ServiceTier::Standard
            && (self.class, self.above) == (other.class, other.above)
            && same_share
    }
}

/// Each class with its price in both.
fn classes(
    ours: Option<Rates>,
    theirs: Option<Rates>,
) -> [(&'static str, Option<Picodollars>, Option<Picodollars>); 6] {
    let both = |class, of: fn(Rates) -> Option<Picodollars>| {
        (class, ours.and_then(of), theirs.and_then(of))
    };
    [
        both("input", |rates| Some(rates.input)),
        both("write 5m", |rates| Some(rates.cache_write_5m)),
        both("write 1h", |rates| Some(rates.cache_write_1h)),
        both("write 12h", |rates| rates.cache_write_12h),
        both("read", |rates| Some(rates.cache_read)),
        both("output", |rates| Some(rates.output)),
    ]
}
