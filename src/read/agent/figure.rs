//! Counters that are numbers in one export and text in another.

use serde::Deserialize;

use crate::read::input::{Count, Scalar};

/// Counter. Text that is not a number, such as the placeholder of a filter, counts as absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "Scalar<'_>")]
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

impl From<Scalar<'_>> for Figure {
    fn from(value: Scalar<'_>) -> Self {
        match value {
            Scalar::Fraction(value) => Self::of_float(value),
            Scalar::Text(text) => Self::of_text(&text),
            other => Self(other.into()),
        }
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
