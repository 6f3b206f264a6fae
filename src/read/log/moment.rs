//! Times in logs: RFC 3339, dates without a zone, or numbers.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::base::Millis;
use crate::read::agent::Time;
use crate::read::input::{Text, moment_in_utc, only_value};

/// Least number of microseconds. Smaller ones are milliseconds: as microseconds they would be before 1974.
const FIRST_MICROS: i64 = 100_000_000_000_000;

/// Least number of nanoseconds. Smaller ones are microseconds: as nanoseconds they would be before 1974.
const FIRST_NANOS: i64 = 100_000_000_000_000_000;

/// A time, or nothing for any other value.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moment(pub(super) Option<Millis>);

impl Moment {
    /// Time in a text: a date, or a number in digits, as redaction recognises times.
    pub(super) fn of(text: &str) -> Self {
        let text = text.trim();
        // No exponents: redaction keeps only digits and dates, and the figures must stay the same.
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let date = || moment_in_utc(&Text(Some(Cow::Borrowed(text))));
        Self(if is_number { of_json(text) } else { date() })
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = <&RawValue>::deserialize(deserializer)?.get();
        let Ok(Text(Some(text))) = only_value(json) else {
            return Ok(Self(of_json(json)));
        };
        Ok(Self::of(&text))
    }
}

/// Time from a number of seconds or of smaller units, as its size shows.
fn of_json(json: &str) -> Option<Millis> {
    match json.parse::<i64>() {
        Ok(micros @ FIRST_MICROS..FIRST_NANOS) => Some(Millis::new(micros / 1_000)),
        Ok(nanos @ FIRST_NANOS..) => Some(Millis::new(nanos / 1_000_000)),
        _ => only_value::<Time>(json).ok()?.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_every_kind_are_read() {
        let at = Some(Millis::new(1_790_000_000_500));
        for text in [
            "2026-09-21T14:13:20.5Z",
            "2026-09-21T14:13:20.500000",
            "2026-09-21 14:13:20.5",
            "2026-09-21 14:13:20.5+00",
            "2026-09-21 16:13:20.500+02:00",
            "1790000000.5",
            "1790000000500",
            "1790000000500000",
            "1790000000500000000",
        ] {
            assert_eq!(Moment::of(text).0, at, "{text}");
            let json = serde_json::to_string(text).expect("JSON");
            let read: Moment = serde_json::from_str(&json).expect("a moment");
            assert_eq!(read.0, at, "{json}");
        }
        let read: Moment = serde_json::from_str("1790000000.5").expect("a moment");
        assert_eq!(read.0, at);
        for json in ["null", "{}", "-5", "\"soon\"", "\"\"", "\"1e9\"", "1e300", "true"] {
            assert!(serde_json::from_str::<Moment>(json).expect("JSON").0.is_none(), "{json}");
        }
    }
}
