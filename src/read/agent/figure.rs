//! Counters that are numbers in one export and text in another.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::read::input::Count;

/// Counter. Text that is not a number, such as the placeholder of a filter, counts as absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Figure(pub(super) Count);

/// Largest float to trust, 2^53: larger numbers have no exact value in a float.
const LARGEST_WHOLE_FLOAT: f64 = 9_007_199_254_740_992.0;

impl Figure {
    /// Counter written as text.
    pub(super) fn of_text(text: &str) -> Self {
        let text = text.trim();
        if let Ok(value) = text.parse() {
            return Self(Count::Value(value));
        }
        // Words such as "inf" and "nan" are numbers to the parser.
        let is_number = text.starts_with(|first: char| first == '-' || first.is_ascii_digit());
        let number = text.parse().ok().filter(|_| is_number);
        number.map_or(Self::default(), Self::of_float)
    }

    /// Counter written as a float.
    pub(super) fn of_float(value: f64) -> Self {
        if value.fract() != 0.0 || !(0.0..=LARGEST_WHOLE_FLOAT).contains(&value) {
            // A wrong number is damage, unlike a placeholder, and rejects the request.
            return Self(Count::Invalid);
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // whole, in between
        Self(Count::Value(value as u64))
    }
}

impl<'de> Deserialize<'de> for Figure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FigureVisitor)
    }
}

struct FigureVisitor;

impl<'de> Visitor<'de> for FigureVisitor {
    type Value = Figure;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_u64<E>(self, value: u64) -> Result<Figure, E> {
        Ok(Figure(Count::Value(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Figure, E> {
        Ok(Figure(u64::try_from(value).map_or(Count::Invalid, Count::Value)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Figure, E> {
        Ok(Figure::of_float(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Figure, E> {
        Ok(Figure::of_text(text))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Figure, E> {
        Ok(Figure(Count::Invalid))
    }

    fn visit_unit<E>(self) -> Result<Figure, E> {
        Ok(Figure(Count::Null))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Figure, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Figure(Count::Invalid))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Figure, A::Error> {
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Figure(Count::Invalid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_write_a_counter_is_read() {
        for (json, count) in [
            ("12", Count::Value(12)),
            (r#""12""#, Count::Value(12)),
            ("6958150000.0", Count::Value(6_958_150_000)),
            (r#""12.0""#, Count::Value(12)),
            (r#""[REDACTED]""#, Count::Missing),
            (r#""inf""#, Count::Missing),
            (r#""""#, Count::Missing),
            (r#""-1""#, Count::Invalid),
            ("-1", Count::Invalid),
            ("1.5", Count::Invalid),
            ("1e300", Count::Invalid),
            ("true", Count::Invalid),
            ("[1]", Count::Invalid),
            (r#"{"a":1}"#, Count::Invalid),
            ("null", Count::Null),
        ] {
            let figure: Figure = serde_json::from_str(json).expect("JSON");
            assert_eq!(figure.0, count, "{json}");
        }
    }
}
