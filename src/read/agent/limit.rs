//! Used share of a plan's limits, as services report it with an answer and sessions record it.

use serde::Deserialize;

use super::Vendor;
use crate::base::{Millis, Symbol, has_symbols};
use crate::read::input::{Count, Scalar};

/// Used share of one limit at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitReading {
    /// Time of the record.
    pub at: Millis,
    /// Line in its file.
    pub line: u64,
    /// Vendor of the limit.
    pub vendor: Vendor,
    /// Name of the limit, if the service gives several.
    pub limit: Option<Symbol>,
    /// Plan that has the limit.
    pub plan: Option<Symbol>,
    /// Length of the window that use counts in, in milliseconds.
    pub length: i64,
    /// Used share, in hundredths of a per cent. May be more than all.
    pub used: u32,
    /// End of the window.
    pub ends: Millis,
}

has_symbols!(LimitReading { limit, plan } beside { at, line, vendor, length, used, ends });

/// Whole limit, in hundredths of a per cent.
const ALL: u32 = 10_000;

/// Largest difference between two reports of the same end, in milliseconds.
///
/// Services report it a few seconds apart.
const SAME_END: u64 = 60_000;

impl LimitReading {
    /// Start of the window.
    pub fn begins(&self) -> Millis {
        Millis::new(self.ends.get().saturating_sub(self.length))
    }

    /// Returns true if the limit is used up.
    pub fn is_all(&self) -> bool {
        self.used >= ALL
    }

    /// Returns true if another reading is of the same window of the same limit.
    pub fn is_of_window(&self, other: &Self) -> bool {
        let key = |one: &Self| (one.vendor, one.limit, one.length);
        key(self) == key(other) && self.ends.get().abs_diff(other.ends.get()) <= SAME_END
    }
}

/// Longest window, in milliseconds. No plan counts over more than a year.
const LONGEST_WINDOW: i64 = 366 * 24 * 60 * 60 * 1_000;

/// Largest difference between the clocks of a client and its service, in milliseconds.
const LATE: i64 = 10 * 60 * 1_000;

/// Count of a unit of `unit` milliseconds, in milliseconds; `None` if it is missing or beyond reason.
pub(super) fn millis(count: Count, unit: i64) -> Option<i64> {
    match count {
        Count::Value(value) => i64::try_from(value).ok()?.checked_mul(unit),
        _ => None,
    }
}

/// End of a window, reported at a moment.
///
/// `None` if its length is impossible, or if the window cannot be open then: such an end belongs to
/// another window.
pub(super) fn open_until(end: i64, length: i64, told: Millis) -> Option<Millis> {
    let is_length = (1..=LONGEST_WINDOW).contains(&length);
    let left = end.saturating_sub(told.get());
    (is_length && left >= 0 && left <= length.saturating_add(LATE)).then(|| Millis::new(end))
}

/// Percentage, in hundredths; `None` if the value is not one, or beyond reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "Scalar<'_>")]
pub(super) struct Percent(pub(super) Option<u32>);

/// Largest used percentage that a service may report.
const MOST_PERCENT: f64 = 10_000.0;

impl Percent {
    fn of(value: f64) -> Self {
        if !(0.0..=MOST_PERCENT).contains(&value) {
            return Self(None);
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // in between
        Self(Some((value * 100.0).round() as u32))
    }
}

impl From<Scalar<'_>> for Percent {
    fn from(value: Scalar<'_>) -> Self {
        match value {
            Scalar::Whole(value) => {
                u32::try_from(value).map_or(Self(None), |value| Self::of(value.into()))
            }
            Scalar::Fraction(value) => Self::of(value),
            _ => Self(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_hundredths_of_one() {
        for (json, expected) in [
            ("2.0", Some(200)),
            ("41.25", Some(4_125)),
            ("0", Some(0)),
            ("105", Some(10_500)),
            ("-1", None),
            ("-0.5", None),
            ("1e300", None),
            ("18446744073709551615", None),
            ("\"2\"", None),
            ("null", None),
            ("[2]", None),
            ("{\"a\":2}", None),
        ] {
            let read: Percent = serde_json::from_str(json).expect("any value");
            assert_eq!(read.0, expected, "{json}");
        }
    }
}
