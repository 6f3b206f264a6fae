//! Numbers and durations of files, within bounds: for `#[serde(with = "…")]` at a field.

use std::fmt;
use std::marker::PhantomData;

use jiff::SignedDuration;
use jiff::fmt::friendly::SpanParser;
use serde::Deserializer;
use serde::de::{Error, Unexpected, Visitor};

use super::units::Tokens;

/// Whole number of a unit, within bounds.
pub(crate) struct Bounded<U, const LEAST: u64, const MOST: u64>(PhantomData<U>);

/// Number of things, at least one.
pub(crate) type Count = Bounded<Things, 1, 1_000_000>;
/// Number of things, possibly none.
pub(crate) type CountOrNone = Bounded<Things, 0, 1_000_000>;
/// Size in tokens, at least one.
pub(crate) type Size = Bounded<Tokens, 1, 100_000_000>;
/// Size in tokens, possibly zero.
pub(crate) type SizeOrZero = Bounded<Tokens, 0, 100_000_000>;
/// Length of text in characters, at least one.
pub(crate) type Length = Bounded<Characters, 1, 100_000_000>;
/// Percentage above zero.
pub(crate) type Percent = Bounded<Percentage, 1, 100>;

/// Unit of a number in a file.
pub(crate) trait Unit {
    /// Phrase for a number of it.
    const NUMBER: &'static str;

    /// Reason for which a number is refused, unless the bounds say it all.
    fn refusal(_number: u64) -> Option<String> {
        None
    }
}

/// Things that the key names.
pub(crate) enum Things {}
/// Characters of a text.
pub(crate) enum Characters {}
/// Hundredths of a whole.
pub(crate) enum Percentage {}

impl Unit for Things {
    const NUMBER: &'static str = "a number";
}

impl Unit for Tokens {
    const NUMBER: &'static str = "a number of tokens";
}

impl Unit for Characters {
    const NUMBER: &'static str = "a number of characters";
}

impl Unit for Percentage {
    const NUMBER: &'static str = "a percentage";
}

/// Type of a field with a whole number.
pub(crate) trait Number: Sized {
    /// Field with the number.
    fn of(number: u64) -> Option<Self>;

    /// Number of the field, for the defaults in schemas.
    #[cfg(test)]
    fn number(&self) -> Option<u64>;
}

impl<U: Unit, const LEAST: u64, const MOST: u64> Bounded<U, LEAST, MOST> {
    /// Reads a field.
    pub(crate) fn deserialize<'de, D, T>(deserializer: D) -> Result<T, D::Error>
    where
        D: Deserializer<'de>,
        T: Number,
    {
        let number = deserializer.deserialize_u64(Self(PhantomData))?;
        let mistyped = || D::Error::invalid_value(Unexpected::Unsigned(number), &Self(PhantomData));
        T::of(number).ok_or_else(mistyped)
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

impl<U: Unit, const LEAST: u64, const MOST: u64> Visitor<'_> for Bounded<U, LEAST, MOST> {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} from {LEAST} to {MOST}", U::NUMBER)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
        match U::refusal(number) {
            Some(reason) => Err(E::custom(reason)),
            None if (LEAST..=MOST).contains(&number) => Ok(number),
            None => Err(E::invalid_value(Unexpected::Unsigned(number), &self)),
        }
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
    #[allow(clippy::trivially_copy_pass_by_ref)] // as `serde(with = …)` calls it
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
