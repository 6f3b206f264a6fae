//! What the bound weighs against each other: the prices of a request's tokens.

use crate::base::units::{Picodollars, Tokens};
use crate::simulate::pricing::Rates;

/// Where a model has no price, its classes are weighed as those of all current models: reads at a
/// tenth of the input, writes at 1.25 and 2 times it, output at 5 times.
const USUAL: Rates = Rates {
    input: Picodollars(100),
    cache_write_5m: Picodollars(125),
    cache_write_1h: Picodollars(200),
    cache_read: Picodollars(10),
    output: Picodollars(500),
};

/// How a prompt is split: up to where it is read, written for an hour and written for five minutes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Split {
    pub(super) read: Tokens,
    pub(super) hour: Tokens,
    pub(super) written: Tokens,
}

/// The prices of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Prices(Rates);

impl Prices {
    pub(super) fn of(rates: Option<&Rates>) -> Self {
        Self(*rates.unwrap_or(&USUAL))
    }

    /// What a prompt costs.
    pub(super) fn prompt(&self, split: Split, total: Tokens) -> Picodollars {
        let hour = split.hour.saturating_sub(split.read);
        let five_minutes = split.written.saturating_sub(split.hour.max(split.read));
        let input = total.saturating_sub(split.written.max(split.hour).max(split.read));
        self.0.cache_read.times(split.read)
            + self.0.cache_write_1h.times(hour)
            + self.0.cache_write_5m.times(five_minutes)
            + self.0.input.times(input)
    }

    /// Whether a token is cheaper written now for five minutes and read at the next request, than sent
    /// in full twice.
    pub(super) fn write_pays(&self, next: &Self) -> bool {
        self.0.cache_write_5m + next.0.cache_read <= self.0.input + next.0.input
    }

    /// What so many pings cost that read a prefix and answer one token each.
    pub(super) fn pings(&self, count: i64, read: Tokens) -> Picodollars {
        let one = self.0.cache_read.times(read) + self.0.output;
        Picodollars(one.0.saturating_mul(i128::from(count)))
    }
}
