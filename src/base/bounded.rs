//! Numbers and durations of files, within bounds: for `#[serde(with = "…")]` at a field.

use std::fmt;

use jiff::SignedDuration;
use jiff::fmt::friendly::SpanParser;
use serde::Deserializer;
use serde::de::{Error, Unexpected, Visitor};

use super::units::Tokens;

/// Whole number within bounds.
pub(crate) struct Bounded<const LEAST: u64, const MOST: u64>;

/// Number of things, at least one.
pub(crate) type Count = Bounded<1, 1_000_000>;
/// Number of things, possibly none.
pub(crate) type CountOrNone = Bounded<0, 1_000_000>;
/// Size in tokens or characters, at least one.
pub(crate) type Size = Bounded<1, 100_000_000>;
/// Size in tokens, possibly zero.
pub(crate) type SizeOrZero = Bounded<0, 100_000_000>;
/// Percentage above zero.
pub(crate) type Percent = Bounded<1, 100>;

/// Type of a field with a whole number.
pub(crate) trait Number: Sized {
    /// Field with the number.
    fn of(number: u64) -> Option<Self>;

    /// Number of the field, for the defaults in schemas.
    #[cfg(test)]
    fn number(&self) -> Option<u64>;
}

impl<const LEAST: u64, const MOST: u64> Bounded<LEAST, MOST> {
    /// Reads a field.
    pub(crate) fn deserialize<'de, D, T>(deserializer: D) -> Result<T, D::Error>
    where
        D: Deserializer<'de>,
        T: Number,
    {
        let number = deserializer.deserialize_u64(Self)?;
        T::of(number).ok_or_else(|| D::Error::invalid_value(Unexpected::Unsigned(number), &Self))
    }

    /// Writes a default into a schema.
    #[cfg(test)]
    pub(crate) fn serialize<S: serde::Serializer>(
        field: &impl Number,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serde::Serialize::serialize(&field.number(), serializer)
    }
}

impl<const LEAST: u64, const MOST: u64> Visitor<'_> for Bounded<LEAST, MOST> {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a number from {LEAST} to {MOST}")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
        let is_within = (LEAST..=MOST).contains(&number);
        is_within
            .then_some(number)
            .ok_or_else(|| E::invalid_value(Unexpected::Unsigned(number), &self))
    }
}

impl Number for u32 {
    fn of(number: u64) -> Option<Self> {
        number.try_into().ok()
    }

    #[cfg(test)]
    fn number(&self) -> Option<u64> {
        Some((*self).into())
    }
}

impl Number for u64 {
    fn of(number: u64) -> Option<Self> {
        Some(number)
    }

    #[cfg(test)]
    fn number(&self) -> Option<u64> {
        Some(*self)
    }
}

impl Number for Tokens {
    fn of(number: u64) -> Option<Self> {
        Some(Self(number))
    }

    #[cfg(test)]
    fn number(&self) -> Option<u64> {
        Some(self.0)
    }
}

impl<T: Number> Number for Option<T> {
    fn of(number: u64) -> Option<Self> {
        T::of(number).map(Some)
    }

    #[cfg(test)]
    fn number(&self) -> Option<u64> {
        self.as_ref().and_then(T::number)
    }
}

/// Duration from a second to a week, in milliseconds.
pub(crate) struct Duration;

impl Duration {
    /// Reads a field.
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
        deserializer.deserialize_str(Self)
    }

    /// Writes a default into a schema.
    #[cfg(test)]
    pub(crate) fn serialize<S: serde::Serializer>(
        millis: &i64,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{:#}", SignedDuration::from_millis(*millis)))
    }

    fn parse(text: &str) -> Option<i64> {
        const WEEK: i64 = 7 * 24 * 60 * 60 * 1_000;
        // The duration becomes part of a name, so spaces and colons are excluded.
        let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.');
        let duration: SignedDuration =
            SpanParser::new().parse_duration(text).ok().filter(|_| is_plain)?;
        let millis = i64::try_from(duration.as_millis()).ok()?;
        (1_000..=WEEK).contains(&millis).then_some(millis)
    }
}

impl Visitor<'_> for Duration {
    type Value = i64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a duration like \"4m30s\", from 1s to 168h")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<i64, E> {
        Self::parse(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}
