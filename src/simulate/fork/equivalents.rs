//! Weights of tokens read and written against tokens sent in full.

use std::fmt;
use std::iter::Sum;
use std::ops::Add;
use std::str::FromStr;

use rust_decimal::Decimal;
use serde::{Serialize, Serializer};

use crate::base::{Picodollars, Tokens, Ttl};
use crate::simulate::pricing::Rates;

/// Parts into which a token is divided.
const PARTS: u32 = 1_000_000;

/// Largest weight of a token.
const MOST_WEIGHT: u32 = 1_000;

/// Input-token equivalents, in millionths of a token: the number of tokens sent in full at the same cost.
///
/// Every list price is a whole number of millionths of its input price, so nothing rounds.
///
/// No sum overflows: a price is at most 10¹⁵ times another ([`Rates`]), and all prompts of a plan
/// together have at most 4 · 10¹⁶ tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Equivalents(pub u128);

impl Equivalents {
    /// Equivalents of tokens that are sent in full.
    pub fn of(tokens: Tokens) -> Self {
        Self(u128::from(PARTS)).times(tokens)
    }

    /// Equivalents of several tokens of this weight.
    #[must_use]
    pub fn times(self, tokens: Tokens) -> Self {
        Self(self.0 * u128::from(tokens.0))
    }

    /// Approximation as a float, for percentages that are rounded anyway.
    #[allow(clippy::cast_precision_loss)] // only for display
    pub fn to_tokens_lossy(self) -> f64 {
        self.0 as f64 / f64::from(PARTS)
    }
}

/// Error for a text that is not the weight of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a number from 0 to {MOST_WEIGHT} with up to six decimals")]
pub struct NotAWeight;

impl FromStr for Equivalents {
    type Err = NotAWeight;

    /// Parses a decimal number, such as `1.25`.
    fn from_str(text: &str) -> Result<Self, NotAWeight> {
        let number: Decimal = text.parse().map_err(|_| NotAWeight)?;
        let parts = number.checked_mul(Decimal::from(PARTS)).ok_or(NotAWeight)?;
        let is_weight = parts.is_integer() && number <= Decimal::from(MOST_WEIGHT);
        let parts = u128::try_from(parts).ok().filter(|_| is_weight);
        parts.map(Self).ok_or(NotAWeight)
    }
}

impl Add for Equivalents {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sum for Equivalents {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::default(), Add::add)
    }
}

impl fmt::Display for Equivalents {
    /// Writes an exact decimal number without exponent or trailing zeros.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, fraction) = (self.0 / u128::from(PARTS), self.0 % u128::from(PARTS));
        if fraction == 0 {
            return write!(f, "{whole}");
        }
        let digits = format!("{fraction:06}");
        write!(f, "{whole}.{}", digits.trim_end_matches('0'))
    }
}

impl Serialize for Equivalents {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Weights of tokens that are not sent in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "MultipliersObject"))]
pub struct Multipliers {
    /// Weight of a token that is read.
    pub read: Equivalents,
    /// Weight of a token that is written for the TTL of the plan.
    pub write: Equivalents,
}

impl Multipliers {
    /// Weights of most models: reads at 0.1, writes at 1.25 for five minutes and at 2 for an hour.
    pub fn usual(ttl: Ttl) -> Self {
        let write = match ttl {
            Ttl::FiveMinutes => 1_250_000,
            Ttl::OneHour => 2_000_000,
        };
        Self { read: Equivalents(100_000), write: Equivalents(write) }
    }

    /// The same, with another weight for writes.
    #[must_use]
    pub fn with_write(self, write: Option<Equivalents>) -> Self {
        Self { write: write.unwrap_or(self.write), ..self }
    }

    /// Weights from a model's prices, rounded to millionths; `None` if sending in full is free.
    pub fn of(rates: &Rates, ttl: Ttl) -> Option<Self> {
        let write = match ttl {
            Ttl::FiveMinutes => rates.cache_write_5m,
            Ttl::OneHour => rates.cache_write_1h,
        };
        Some(Self {
            read: ratio(rates.cache_read, rates.input)?,
            write: ratio(write, rates.input)?,
        })
    }
}

fn ratio(price: Picodollars, input: Picodollars) -> Option<Equivalents> {
    let (price, input) = (u128::try_from(price.0).ok()?, u128::try_from(input.0).ok()?);
    // Half of the divisor is added first, so that the division rounds to the nearest.
    let rounded = (price * u128::from(PARTS) + input / 2).checked_div(input)?;
    Some(Equivalents(rounded))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(input: i128, read: i128) -> Rates {
        Rates {
            input: Picodollars(input),
            cache_write_5m: Picodollars(input * 5 / 4),
            cache_write_1h: Picodollars(input * 2),
            cache_write_12h: None,
            cache_read: Picodollars(read),
            output: Picodollars(input * 5),
        }
    }

    #[test]
    fn equivalents_print_exactly() {
        assert_eq!(Equivalents(31_315_000_000).to_string(), "31315");
        assert_eq!(Equivalents(1_250_000).to_string(), "1.25");
        assert_eq!(Equivalents(25_000).to_string(), "0.025");
        assert_eq!(Equivalents(0).to_string(), "0");
    }

    #[test]
    fn multipliers_follow_the_prices() {
        let usual = Multipliers::of(&rates(5_000_000, 500_000), Ttl::FiveMinutes);
        assert_eq!(usual, Some(Multipliers::usual(Ttl::FiveMinutes)));
        let hour = Multipliers::of(&rates(10_000_000, 250_000), Ttl::OneHour).expect("prices");
        assert_eq!((hour.read.to_string(), hour.write.to_string()), ("0.025".into(), "2".into()));
        let third = Multipliers::of(&rates(3, 1), Ttl::FiveMinutes).expect("prices");
        assert_eq!(third.read, Equivalents(333_333));
        assert_eq!(Multipliers::of(&rates(0, 0), Ttl::FiveMinutes), None);
    }
}
