//! Units with types of their own (tokens, moments, money), and the basis of a figure.

use std::fmt;
use std::iter::Sum;
use std::num::NonZeroU64;
use std::ops::{Add, AddAssign};
use std::str::FromStr;

use rust_decimal::Decimal;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::base::words::words;

/// A number of prompt or output tokens.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Tokens(pub u64);

impl Tokens {
    /// No tokens at all.
    pub const ZERO: Self = Self(0);

    /// Difference, or zero if `other` is larger.
    #[must_use]
    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// `part / all` of the tokens, rounded down. Zero if `all` is zero.
    #[must_use]
    pub fn share(self, part: u64, all: u64) -> Self {
        // In 128 bits, as the product of two numbers of 64 may overflow.
        let share = (u128::from(self.0) * u128::from(part)).checked_div(u128::from(all));
        Self(share.and_then(|share| u64::try_from(share).ok()).unwrap_or(0))
    }

    /// Absolute difference.
    #[must_use]
    pub fn abs_diff(self, other: Self) -> Self {
        Self(self.0.abs_diff(other.0))
    }

    /// Returns true if `self` is at least `percent` per cent of `other`, without rounding.
    pub fn is_at_least_percent_of(self, percent: u64, other: Self) -> bool {
        u128::from(self.0) * 100 >= u128::from(other.0) * u128::from(percent)
    }
}

impl Add for Tokens {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Tokens {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sum for Tokens {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

/// A moment on the trace's clock, in milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(
    /// Offset by 2^63, so that only the earliest moment would be zero, and an `Option` takes no more room.
    NonZeroU64,
);

/// Representation of the epoch in [`Millis`].
const EPOCH: u64 = 1 << 63;

const MILLIS_PER_DAY: i64 = 24 * 60 * 60 * 1_000;

impl Millis {
    /// Start of a request that has no time: the epoch, which no request has.
    pub(crate) const UNTIMED: Self = Self::new(0);

    /// The moment at a number of milliseconds after the epoch.
    #[inline]
    pub const fn new(millis: i64) -> Self {
        // Flipping the sign bit keeps moments in order as unsigned numbers.
        match NonZeroU64::new(millis.cast_unsigned() ^ EPOCH) {
            Some(moved) => Self(moved),
            None => Self(NonZeroU64::MIN),
        }
    }

    /// Milliseconds since the epoch.
    #[inline]
    pub const fn get(self) -> i64 {
        (self.0.get() ^ EPOCH).cast_signed()
    }

    /// The moment `millis` later.
    #[must_use]
    pub const fn plus(self, millis: i64) -> Self {
        Self::new(self.get().saturating_add(millis))
    }

    /// Day in UTC, from 1970 on.
    pub fn day(self) -> i64 {
        self.get().div_euclid(MILLIS_PER_DAY)
    }

    /// Milliseconds from `earlier` to `self`; zero if the clock stepped backwards.
    #[inline]
    pub fn since(self, earlier: Self) -> i64 {
        self.get().saturating_sub(earlier.get()).max(0)
    }
}

impl fmt::Display for Millis {
    /// RFC 3339 in UTC with milliseconds, the form of transcripts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.get()) {
            Ok(timestamp) => write!(f, "{timestamp:.3}"),
            Err(_) => f.write_str("out of range"),
        }
    }
}

impl Serialize for Millis {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Millis {
    /// Parses the form of [`fmt::Display`].
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let timestamp: jiff::Timestamp = text.parse().map_err(de::Error::custom)?;
        Ok(Self::new(timestamp.as_millisecond()))
    }
}

/// Exact amount of money, in 10⁻¹² dollars.
///
/// A price in micro-dollars per million tokens, times a number of tokens, is a whole number of picodollars: sums of
/// costs never round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Picodollars(pub i128);

/// Picodollars in a dollar.
pub(crate) const PICODOLLARS_PER_DOLLAR: i128 = 1_000_000_000_000;

/// Decimal places of a dollar amount in picodollars.
const PICODOLLAR_SCALE: u32 = 12;

impl Picodollars {
    /// No money.
    pub const ZERO: Self = Self(0);

    /// Difference, which may be negative.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }

    /// Cost of a number of tokens at this price each.
    #[must_use]
    pub fn times(self, tokens: Tokens) -> Self {
        Self(self.0 * i128::from(tokens.0))
    }

    /// Exact dollars, or `None` beyond 10¹⁶.
    pub fn to_decimal(self) -> Option<Decimal> {
        Decimal::try_from_i128_with_scale(self.0, PICODOLLAR_SCALE).ok()
    }

    /// Converts exact dollars. `None` if they are not a whole number of picodollars, or too large.
    pub fn from_decimal(dollars: Decimal) -> Option<Self> {
        let amount = dollars.normalize();
        let missing = PICODOLLAR_SCALE.checked_sub(amount.scale())?;
        amount.mantissa().checked_mul(10_i128.checked_pow(missing)?).map(Self)
    }

    /// Dollars as a float, for percentages and other rounded figures.
    #[allow(clippy::cast_precision_loss)] // only for display
    pub fn to_dollars_lossy(self) -> f64 {
        self.0 as f64 / PICODOLLARS_PER_DOLLAR as f64
    }
}

impl Add for Picodollars {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Picodollars {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sum for Picodollars {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Picodollars {
    /// Exact decimal dollars without exponent, and without trailing zeros beyond the least number of decimals that is
    /// asked for.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let amount = self.0.unsigned_abs();
        let per_dollar = PICODOLLARS_PER_DOLLAR.unsigned_abs();
        let (dollars, fraction) = (amount / per_dollar, amount % per_dollar);
        let least = f.precision().unwrap_or_default();
        if fraction == 0 && least == 0 {
            return write!(f, "{sign}{dollars}");
        }
        let digits = format!("{fraction:012}");
        write!(f, "{sign}{dollars}.{:0<least$}", digits.trim_end_matches('0'))
    }
}

impl Serialize for Picodollars {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // A string: readers of JSON numbers would round to floats.
        serializer.collect_str(self)
    }
}

/// Text that is not an amount of money.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a decimal number of dollars with up to twelve digits after the full stop")]
pub struct NoMoney;

impl FromStr for Picodollars {
    type Err = NoMoney;

    /// Parses the form of [`fmt::Display`].
    fn from_str(text: &str) -> Result<Self, NoMoney> {
        let dollars = Decimal::from_str_exact(text).map_err(|_| NoMoney)?;
        Self::from_decimal(dollars).ok_or(NoMoney)
    }
}

impl<'de> Deserialize<'de> for Picodollars {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|error: NoMoney| de::Error::custom(error))
    }
}

words! {
    /// Basis of a figure. A sum has the worst basis of its parts.
    #[derive(Default)]
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub enum Basis {
        /// Reported by the provider.
        #[default]
        Measured = "measured";
        /// Derived from reported figures and the rules alone, or from bytes counted in the model's vocabulary.
        Derived = "derived";
        /// Decided by a calibrated size or a likely but unrecorded event. (The few tokens of overhead after the last
        /// marker, which repeat from request to request, do not count as one.)
        Estimated = "estimated";
    }
}

/// Size of a text in a file, and to a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextSize {
    bytes: u32,
    /// Bytes beyond one for each character, if these were counted: quotes, escapes, UTF-8.
    beyond: u32,
    /// Twice the tokens, plus one if a part of the text was not counted.
    counted: u32,
}

impl TextSize {
    /// Size of no text.
    pub const ZERO: Self = Self { bytes: 0, beyond: 0, counted: 0 };

    /// Size in bytes of JSON, without counted tokens. No line has 2³² bytes.
    pub fn of_bytes(bytes: u64) -> Self {
        Self { bytes: u32::try_from(bytes).unwrap_or(u32::MAX), ..Self::ZERO }
    }

    /// The same size with counted tokens, or estimated ones if a part of it is not text.
    #[must_use]
    pub fn counted(self, tokens: u64, is_whole: bool) -> Self {
        let most = u64::from(u32::MAX / 2);
        let tokens = u32::try_from(tokens.min(most)).unwrap_or_default();
        Self { counted: tokens * 2 + u32::from(!is_whole), ..self }
    }

    /// The same size with counted characters, as a client counts them: units of UTF-16.
    #[must_use]
    pub fn with_characters(self, characters: u64) -> Self {
        let characters = u32::try_from(characters).unwrap_or(u32::MAX);
        Self { beyond: self.bytes.saturating_sub(characters), ..self }
    }

    /// Bytes of JSON.
    pub fn bytes(self) -> u64 {
        self.bytes.into()
    }

    /// Characters, or bytes of JSON if these were not counted.
    pub fn characters(self) -> u64 {
        self.bytes.saturating_sub(self.beyond).into()
    }

    /// Tokens; zero if they were not counted.
    pub fn tokens(self) -> u64 {
        (self.counted / 2).into()
    }

    /// Returns true if the whole text was counted.
    pub fn is_whole(self) -> bool {
        self.counted > 0 && self.counted.is_multiple_of(2)
    }

    /// The same tokens with other bytes.
    #[must_use]
    pub fn with_bytes(self, bytes: u64) -> Self {
        Self { bytes: Self::of_bytes(bytes).bytes, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_read_as_it_is_printed() {
        for amount in [0, 1, -1_500_000_000_000, 26_977_500_000, i128::from(i64::MAX)] {
            let amount = Picodollars(amount);
            assert_eq!(amount.to_string().parse(), Ok(amount));
        }
        for text in ["", "1e3", "$1", "0.0000000000001", "1,5", "NaN"] {
            assert_eq!(text.parse::<Picodollars>(), Err(NoMoney), "{text}");
        }
    }

    #[test]
    fn money_prints_exactly() {
        assert_eq!(Picodollars(26_977_500_000).to_string(), "0.0269775");
        assert_eq!(Picodollars(0).to_string(), "0");
        assert_eq!(Picodollars(-1_500_000_000_000).to_string(), "-1.5");
        assert_eq!(Picodollars(3_000_000_000_000).to_string(), "3");
        assert_eq!(Picodollars(1).to_string(), "0.000000000001");
    }

    #[test]
    fn moments_print_as_transcripts_write_them() {
        assert_eq!(Millis::new(1_785_232_802_900).to_string(), "2026-07-28T10:00:02.900Z");
    }

    #[test]
    fn percentages_are_exact_at_the_border() {
        assert!(Tokens(97).is_at_least_percent_of(97, Tokens(100)));
        assert!(!Tokens(96).is_at_least_percent_of(97, Tokens(100)));
    }
}
