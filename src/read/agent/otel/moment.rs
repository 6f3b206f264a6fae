//! Moments of traces and logs: nanoseconds as text or as a number, seconds with nanoseconds, or RFC
//! 3339.

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::base::Millis;
use crate::read::agent::Figure;
use crate::read::input::{Count, Text, default_for, ignore_list, moment};

const NANOS_PER_MILLI: u64 = 1_000_000;

/// Bound on numbers of seconds: larger ones are beyond every calendar.
const MOST_SECONDS: u64 = 100_000_000_000;

/// Moment; `None` for any other value. 0 means that the moment is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Moment(pub(super) Option<Millis>);

impl Moment {
    /// Moment written as text.
    pub(super) fn of_text(text: &Text<'_>) -> Self {
        match Figure::of_text(text.as_str().unwrap_or_default()).0 {
            Count::Missing | Count::Invalid => Self(moment(text)),
            nanos => Self::of_nanos(nanos),
        }
    }

    fn of_nanos(nanos: Count) -> Self {
        let Count::Value(nanos @ 1..) = nanos else { return Self(None) };
        Self(i64::try_from(nanos / NANOS_PER_MILLI).ok().map(Millis::new))
    }

    fn of_parts(seconds: Figure, nanos: Figure) -> Self {
        let (Count::Value(seconds @ 1..MOST_SECONDS), Count::Value(nanos)) = (seconds.0, nanos.0)
        else {
            return Self(None);
        };
        let millis = seconds * 1_000 + (nanos / NANOS_PER_MILLI).min(999);
        Self(i64::try_from(millis).ok().map(Millis::new))
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(MomentVisitor)
    }
}

struct MomentVisitor;

impl<'de> Visitor<'de> for MomentVisitor {
    type Value = Moment;

    fn visit_u64<E>(self, nanos: u64) -> Result<Moment, E> {
        Ok(Moment::of_nanos(Count::Value(nanos)))
    }

    // serde_json passes only negative numbers here.
    fn visit_i64<E>(self, _: i64) -> Result<Moment, E> {
        Ok(Moment(None))
    }

    fn visit_f64<E>(self, nanos: f64) -> Result<Moment, E> {
        // A float of this size is exact to less than a microsecond.
        #[allow(clippy::cast_precision_loss)] // a border far beyond every clock
        let is_moment = (1.0..u64::MAX as f64).contains(&nanos);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // in between
        Ok(Moment::of_nanos(if is_moment { Count::Value(nanos as u64) } else { Count::Invalid }))
    }

    fn visit_str<E>(self, text: &str) -> Result<Moment, E> {
        Ok(Moment::of_text(&Text(Some(text.into()))))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Moment, A::Error> {
        let seconds = list.next_element()?.unwrap_or_default();
        let nanos = list.next_element()?.unwrap_or_default();
        ignore_list(list)?;
        Ok(Moment::of_parts(seconds, nanos))
    }

    default_for!(bool null object);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_write_a_moment_is_read() {
        for json in [
            r#""1790000000005000000""#,
            "1790000000005000000",
            "1.7900000000055e18",
            "[1790000000,5000000]",
            r#""2026-09-21T14:13:20.005Z""#,
        ] {
            let moment: Moment = serde_json::from_str(json).expect("JSON");
            assert_eq!(moment.0, Some(Millis::new(1_790_000_000_005)), "{json}");
        }
        for json in [
            r#""0""#,
            "0",
            "-1",
            "1e300",
            "null",
            "[]",
            "[1]",
            "[-1,2]",
            "[1e30,1]",
            "[0,0]",
            "true",
            r#""soon""#,
            r#"["a",{}]"#,
            "{}",
        ] {
            assert!(serde_json::from_str::<Moment>(json).expect("JSON").0.is_none(), "{json}");
        }
    }
}
