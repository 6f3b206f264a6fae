//! Exact cost of tokens: dated price tables, the tiers that apply to a request, and the cost of its parts.
//!
//! Prices are dated rows in `models/*.toml`, some of them for certain hours of the week only. A
//! dollar per million tokens is 10⁶ picodollars per token, so every cost is a whole number of
//! picodollars and no sum rounds.

mod cost;
mod file;
mod genai;
mod hours;
mod lifetimes;
mod litellm;
mod partial;
mod request_rates;
mod table;
mod update;

use partial::{ForeignPrices, Terms};

pub use cost::{Billing, Charges, PriceContext};
pub use file::PriceError;
pub use hours::Hours;
pub(crate) use lifetimes::settle_lifetimes;
pub(crate) use request_rates::rates_in;
pub use request_rates::{RequestRates, price_context};
pub use table::{ModelPrices, PriceTable};
pub use update::{PriceChange, PriceUpdate};

use std::fmt;
use std::sync::Arc;

use jiff::civil::{Date, DateTime};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;

use crate::base::{Picodollars, Tokens};
use crate::read::input::ServiceTier;

/// Picodollars per token in a dollar per million tokens.
const PER_DOLLAR_A_MILLION: i64 = 1_000_000;

/// Upper limit of a price: no token costs a thousand dollars.
///
/// The limit keeps products of prices and multipliers exact.
const LARGEST_PRICE: i64 = 1_000_000_000_000_000;
const LARGEST_MULTIPLIER: i64 = 1_000;

/// Prices of one token of each class, in picodollars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rates {
    /// Price of `input_tokens`.
    pub input: Picodollars,
    /// Price of `ephemeral_5m_input_tokens`.
    pub cache_write_5m: Picodollars,
    /// Price of `ephemeral_1h_input_tokens`.
    pub cache_write_1h: Picodollars,
    /// Price of tokens written for twelve hours; `None` if a service does not offer it.
    pub cache_write_12h: Option<Picodollars>,
    /// Price of `cache_read_input_tokens`.
    pub cache_read: Picodollars,
    /// Price of `output_tokens`.
    pub output: Picodollars,
}

impl Rates {
    /// Applies factors to every class, rounding to whole picodollars per token.
    #[must_use]
    pub fn times(&self, factors: Factors) -> Self {
        let Factors { all, reads } = factors;
        Self {
            input: all.of(self.input),
            cache_write_5m: all.of(self.cache_write_5m),
            cache_write_1h: all.of(self.cache_write_1h),
            cache_write_12h: self.cache_write_12h.map(|price| all.of(price)),
            cache_read: reads.of(self.cache_read),
            output: all.of(self.output),
        }
    }
}

/// Rates with their conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rate {
    /// First day, or `None` since launch.
    pub from: Option<Date>,
    /// First day on which the rates no longer apply.
    pub until: Option<Date>,
    /// Size that a prompt must exceed.
    pub above: Option<Tokens>,
    /// Tier of service.
    pub tier: ServiceTier,
    /// Hours of the week, or `None` for all.
    pub hours: Option<Arc<Hours>>,
    /// Prices per token.
    pub rates: Rates,
}

impl Rate {
    /// Returns true if the rate applies on a day, at some hour at least.
    pub fn holds_on(&self, day: Date) -> bool {
        self.from.is_none_or(|from| day >= from) && self.until.is_none_or(|until| day < until)
    }

    /// Returns true if the rate applies at a time in UTC.
    pub fn holds_at(&self, at: DateTime) -> bool {
        self.holds_on(at.date()) && self.hours.as_ref().is_none_or(|hours| hours.include(at))
    }

    /// Returns true if the rate is for a prompt of this size.
    pub fn covers(&self, prompt: Tokens) -> bool {
        self.above.is_none_or(|above| prompt > above)
    }
}

/// Factor on prices, kept as an exact decimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Multiplier(Decimal);

impl fmt::Display for Multiplier {
    /// Writes a decimal number without trailing zeros.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.normalize().fmt(f)
    }
}

impl Multiplier {
    /// Factor that changes nothing.
    pub const ONE: Self = Self(Decimal::ONE);

    /// Parses a decimal number above zero.
    pub fn parse(text: &str) -> Option<Self> {
        let largest = Decimal::from(LARGEST_MULTIPLIER);
        decimal(text).filter(|value| *value > Decimal::ZERO && *value <= largest).map(Self)
    }

    /// Product of both factors.
    #[must_use]
    pub fn times(self, other: Self) -> Self {
        Self(self.0 * other.0)
    }

    fn of(self, price: Picodollars) -> Picodollars {
        let price = Decimal::from_i128_with_scale(price.0, 0);
        let exact = (price * self.0).round();
        Picodollars(exact.to_i128().unwrap_or(i128::MAX))
    }
}

/// Factor on prices, and the one on those of reads, which some discounts leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factors {
    /// Factor on input, writes and output.
    pub all: Multiplier,
    /// Factor on reads.
    pub reads: Multiplier,
}

impl Factors {
    /// The same factor on everything.
    pub fn of(all: Multiplier) -> Self {
        Self { all, reads: all }
    }

    /// Adds a further factor on everything.
    #[must_use]
    pub fn times(self, other: Multiplier) -> Self {
        Self { all: self.all.times(other), reads: self.reads.times(other) }
    }
}

/// Dollars per million tokens → picodollars per token; `None` for any other text.
fn per_million(text: &str) -> Option<Picodollars> {
    whole(decimal(text)?.checked_mul(Decimal::from(PER_DOLLAR_A_MILLION))?)
}

/// The same, rounded, for texts of programs that compute with floats.
fn per_million_rounded(text: &str) -> Option<Picodollars> {
    whole(decimal(text)?.checked_mul(Decimal::from(PER_DOLLAR_A_MILLION))?.round())
}

/// Dollars per token or per search → picodollars, rounded, since programs that compute with floats
/// write these tables.
fn per_unit(text: &str) -> Option<Picodollars> {
    let million = Decimal::from(PER_DOLLAR_A_MILLION);
    whole(decimal(text)?.checked_mul(million)?.checked_mul(million)?.round())
}

fn decimal(text: &str) -> Option<Decimal> {
    // The first parser knows no exponents, and the second nothing else.
    Decimal::from_str_exact(text).or_else(|_| Decimal::from_scientific(text)).ok()
}

fn whole(value: Decimal) -> Option<Picodollars> {
    let is_price =
        value >= Decimal::ZERO && value <= Decimal::from(LARGEST_PRICE) && value.fract().is_zero();
    is_price.then(|| value.to_i128().map(Picodollars)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_whole_picodollars() {
        assert_eq!(per_million("5"), Some(Picodollars(5_000_000)));
        assert_eq!(per_million("0.125"), Some(Picodollars(125_000)));
        assert_eq!(per_million("0.0000001"), None);
        assert_eq!(per_million("-5"), None);
        assert_eq!(per_million("0.18000000000000002"), None);
        assert_eq!(per_million_rounded("0.18000000000000002"), Some(Picodollars(180_000)));
        assert_eq!(per_million("cheap"), None);
        assert_eq!(per_million("79228162514264337593543950335"), None);
        assert_eq!(Multiplier::parse("1e27"), None);
        assert_eq!(per_unit("6.25e-06"), Some(Picodollars(6_250_000)));
        assert_eq!(per_unit("2.9999900000000002e-06"), Some(Picodollars(2_999_990)));
        assert_eq!(per_unit("0.01"), Some(Picodollars(10_000_000_000)));
    }

    #[test]
    fn multipliers_are_exact() {
        let us = Multiplier::parse("1.1").expect("a multiplier");
        assert_eq!(us.of(Picodollars(250_000)), Picodollars(275_000));
        let batch = Multiplier::parse("0.5").expect("a multiplier");
        assert_eq!(us.times(batch).of(Picodollars(125_000)), Picodollars(68_750));
        assert_eq!(Multiplier::parse("0"), None);
    }
}
