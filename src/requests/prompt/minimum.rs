//! The shortest prefix that a model caches.
//!
//! Documented minimums of the Claude API, with the dates on which the documentation changed; that
//! the service changed on the same day is an assumption. A prefix below the minimum is not cached,
//! without an error.

use jiff::civil::{Date, date};

use crate::base::units::{Millis, Tokens};

/// Where nothing is known.
const DEFAULT_MINIMUM: Tokens = Tokens(1_024);

/// A model family and its minimum from a day on.
struct Minimum {
    /// The beginning of the model's id.
    family: &'static str,
    /// The first day it held; `None` since launch.
    from: Option<Date>,
    tokens: u64,
}

const fn always(family: &'static str, tokens: u64) -> Minimum {
    Minimum { family, from: None, tokens }
}

const fn since(family: &'static str, from: Date, tokens: u64) -> Minimum {
    Minimum { family, from: Some(from), tokens }
}

/// The first family that fits counts, so longer names come first; of one family the latest row.
const MINIMUMS: &[Minimum] = &[
    always("claude-fable", 512),
    always("claude-mythos-preview", 4_096),
    since("claude-mythos-preview", date(2026, 6, 8), 2_048),
    always("claude-mythos", 512),
    always("claude-opus-4-8", 1_024),
    always("claude-opus-4-7", 4_096),
    since("claude-opus-4-7", date(2026, 6, 8), 2_048),
    always("claude-opus-4-6", 4_096),
    always("claude-opus-4-5", 4_096),
    always("claude-opus-4", 1_024),
    always("claude-opus-5", 512),
    always("claude-sonnet-5-5", 512),
    always("claude-sonnet-5", 1_024),
    always("claude-sonnet-4-6", 1_024),
    since("claude-sonnet-4-6", date(2026, 2, 27), 2_048),
    since("claude-sonnet-4-6", date(2026, 5, 13), 1_024),
    always("claude-haiku-5-5", 512),
    always("claude-haiku-4-5", 4_096),
    always("claude-3-5-haiku", 2_048),
    always("claude-3-haiku", 2_048),
];

/// The minimum of `model` (its canonical id) on the day of `at`, in tokens.
#[must_use]
pub fn minimum_prefix(model: &str, at: Millis) -> Tokens {
    let Some(family) =
        MINIMUMS.iter().map(|row| row.family).find(|family| model.starts_with(family))
    else {
        return DEFAULT_MINIMUM;
    };
    let day = jiff::Timestamp::from_millisecond(at.0)
        .map(|at| at.to_zoned(jiff::tz::TimeZone::UTC).date())
        .ok();
    MINIMUMS
        .iter()
        .filter(|row| row.family == family)
        .rfind(|row| row.from.is_none_or(|from| day.is_some_and(|day| day >= from)))
        .map_or(DEFAULT_MINIMUM, |row| Tokens(row.tokens))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(day: &str) -> Millis {
        let timestamp: jiff::Timestamp = format!("{day}T12:00:00Z").parse().expect("a day");
        Millis(timestamp.as_millisecond())
    }

    #[test]
    fn minimums_follow_the_documentation_of_the_day() {
        for (model, day, tokens) in [
            ("claude-opus-5", "2026-08-01", 512),
            ("claude-opus-5-5", "2026-10-01", 512),
            ("claude-opus-4-8", "2026-06-01", 1_024),
            ("claude-opus-4-7", "2026-06-07", 4_096),
            ("claude-opus-4-7", "2026-06-08", 2_048),
            ("claude-sonnet-4-6", "2026-02-26", 1_024),
            ("claude-sonnet-4-6", "2026-02-27", 2_048),
            ("claude-sonnet-4-6", "2026-05-13", 1_024),
            ("claude-opus-4-1-20250805", "2026-01-01", 1_024),
            ("claude-haiku-4-5-20251001", "2026-01-01", 4_096),
            ("claude-sonnet-5", "2026-07-01", 1_024),
            ("another-model", "2026-07-01", 1_024),
        ] {
            assert_eq!(minimum_prefix(model, at(day)), Tokens(tokens), "{model} on {day}");
        }
    }
}
