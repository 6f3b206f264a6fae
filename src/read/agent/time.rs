//! Moments as programs write them: RFC 3339, milliseconds or seconds.

use serde::de::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::base::Millis;
use crate::read::input::{Text, moment};

/// Moment; `None` for any other value.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::read) struct Time(pub(in crate::read) Option<Millis>);

/// Smallest number of milliseconds.
///
/// Smaller numbers are seconds: as milliseconds they would be before 1973.
const SMALLEST_MILLIS: f64 = 1e11;

/// Bound on numbers of milliseconds: larger ones are beyond every calendar.
const LARGEST_MILLIS: f64 = 1e14;

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::of(<&RawValue>::deserialize(deserializer)?.get()))
    }
}

impl Time {
    fn of(json: &str) -> Self {
        if json.starts_with('"') {
            let text = serde_json::from_str::<Text<'_>>(json).unwrap_or_default();
            return Self(moment(&text));
        }
        json.parse().map_or(Self(None), Self::of_number)
    }

    /// Moment of a number of seconds or of milliseconds.
    pub(super) fn of_number(number: f64) -> Self {
        let millis = if number < SMALLEST_MILLIS { number * 1_000.0 } else { number };
        let is_moment = (1.0..LARGEST_MILLIS).contains(&millis);
        #[allow(clippy::cast_possible_truncation)] // below 10^14
        Self(is_moment.then_some(Millis::new(millis as i64)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_write_a_moment_is_read() {
        for json in ["1790000000000", "1790000000", "1790000000.0", r#""2026-09-21T14:13:20Z""#] {
            let time: Time = serde_json::from_str(json).expect("JSON");
            assert_eq!(time.0, Some(Millis::new(1_790_000_000_000)), "{json}");
        }
        for json in ["-1", "1e300", "null", "[]", r#""soon""#, "{}"] {
            assert!(serde_json::from_str::<Time>(json).expect("JSON").0.is_none(), "{json}");
        }
    }
}
