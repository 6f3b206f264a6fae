//! Types of parameter values.

use std::ops::RangeInclusive;

use enumset::EnumSet;
use jiff::fmt::friendly::SpanParser;
use toml::de::DeValue;

use super::parse::Contradiction;
use crate::base::ttl::{TierTtl, Ttl};
use crate::base::units::Tokens;
use crate::simulate::strategy::design::{Anchor, Layout, MOST_MARKERS};

/// Value of a parameter.
pub(super) trait Value: Clone + Send + Sync + 'static {
    /// Description of the value, for messages.
    const EXPECTED: &'static str;
    /// True if the value is written as a list, so that a sweep is a list of lists.
    const IS_LIST: bool = false;

    /// Reads the value.
    fn read(value: &DeValue<'_>) -> Result<Self, Unreadable>;
}

/// Reason for which a value cannot be used.
#[derive(Debug)]
pub(super) enum Unreadable {
    /// Another type, or a number out of range.
    Other,
    /// A value that the service would refuse.
    Refused(Contradiction),
}

/// Duration in milliseconds.
#[derive(Clone, Copy)]
pub(super) struct Duration(pub(super) i64);

/// Distance between markers, in blocks.
#[derive(Clone, Copy)]
pub(super) struct Distance(pub(super) u32);

/// Number of markers.
#[derive(Clone, Copy)]
pub(super) struct MarkerCount(pub(super) u32);

/// Number of things, at least one.
#[derive(Clone, Copy)]
pub(super) struct Count(pub(super) u32);

/// Number of things, possibly zero.
#[derive(Clone, Copy)]
pub(super) struct Number(pub(super) u32);

/// Percentage.
#[derive(Clone, Copy)]
pub(super) struct Percent(pub(super) u32);

/// Size in tokens, possibly zero.
#[derive(Clone, Copy)]
pub(super) struct Size(pub(super) Tokens);

/// Length of text, in characters.
#[derive(Clone, Copy)]
pub(super) struct Characters(pub(super) u64);

impl Value for Count {
    const EXPECTED: &'static str = "a number from 1 to 1000000";

    fn read(value: &DeValue<'_>) -> Result<Self, Unreadable> {
        Distance::read(value).map(|count| Self(count.0))
    }
}

impl Value for Number {
    const EXPECTED: &'static str = "a number from 0 to 1000000";

    fn read(value: &DeValue<'_>) -> Result<Self, Unreadable> {
        within(value, 0..=1_000_000)
            .and_then(|number| u32::try_from(number).ok())
            .map(Self)
            .ok_or(Unreadable::Other)
    }
}

impl Value for Percent {
    const EXPECTED: &'static str = "a percentage from 1 to 100";

    fn read(value: &DeValue<'_>) -> Result<Self, Unreadable> {
        within(value, 1..=100)
            .and_then(|percent| u32::try_from(percent).ok())
            .map(Self)
            .ok_or(Unreadable::Other)
    }
}

impl Value for Size {
    const EXPECTED: &'static str = "a number of tokens from 0 to 100000000";

    fn read(value: &DeValue<'_>) -> Result<Self, Unreadable> {
        within(value, 0..=100_000_000).map(|size| Self(Tokens(size))).ok_or(Unreadable::Other)
    }
}

impl Value for Characters {
    const EXPECTED: &'static str = "a number of characters from 1 to 100000000";

    fn read(value: &DeValue<'_>) -> Result<Self, Unreadable> {
        within(value, 1..=100_000_000).map(Self).ok_or(Unreadable::Other)
    }
}

impl Value for Tokens {
    const EXPECTED: &'static str = "a number of tokens from 1 to 100000000";

    fn read(value: &DeValue<'_>) -> Result<Self, Unreadable> {
        within(value, 1..=100_000_000).map(Self).ok_or(Unreadable::Other)
    }
}

impl Value for Ttl {
    const EXPECTED: &'static str = "\"5m\" or \"1h\"";

    fn read(value: &DeValue<'_>) -> Result<Self, Unreadable> {
        word(value, Self::by_name)
    }
}

impl Value for TierTtl {
    const EXPECTED: &'static str =
        "\"5m\", \"1h\", \"mixed\" or a table of `system` and `messages`";

    fn read(value: &DeValue<'_>) -> Result<Self, Unreadable> {
        match value.as_str() {
            Some("mixed") => Ok(Self::MIXED),
            _ => Ttl::read(value).map(Self::uniform),
        }
    }
}

/// `None` means as recorded.
impl Value for Option<TierTtl> {
    const EXPECTED: &'static str = "\"5m\", \"1h\", \"mixed\", \"as-recorded\" or a table of \
        `main` and `agents` or of `system` and `messages`";

    fn read(value: &DeValue<'_>) -> Result<Self, Unreadable> {
        match value.as_str() {
            Some("as-recorded") => Ok(None),
            _ => TierTtl::read(value).map(Some),
        }
    }
}

impl Value for Layout {
    const EXPECTED: &'static str = "\"as-recorded\", \"none\", \"system-only\", \"last-message\", \
        \"last-two\" or a table of `at`, `every` or `even`";

    fn read(value: &DeValue<'_>) -> Result<Self, Unreadable> {
        word(value, |text| {
            Some(match text {
                "as-recorded" => Self::AsRecorded,
                "none" => Self::Nowhere,
                "system-only" => Self::At(Anchor::System.into()),
                "last-message" => Self::At(Anchor::Last.into()),
                "last-two" => Self::At(Anchor::Previous | Anchor::Last),
                _ => return None,
            })
        })
    }
}

impl Value for EnumSet<Anchor> {
    const EXPECTED: &'static str =
        "a list of different ones of \"system\", \"half\", \"previous\" and \"last\"";
    const IS_LIST: bool = true;

    fn read(value: &DeValue<'_>) -> Result<Self, Unreadable> {
        let places = value.as_array().filter(|places| !places.is_empty());
        let places = places.ok_or(Unreadable::Other)?;
        if places.len() > MOST_MARKERS as usize {
            return Err(too_many_markers(places.len() as u64));
        }
        let anchor = |text: &str| Self::all().iter().find(|anchor| anchor.name() == text);
        let mut anchors = Self::empty();
        for place in places {
            if !anchors.insert(word(place.get_ref(), anchor)?) {
                return Err(Unreadable::Other);
            }
        }
        Ok(anchors)
    }
}

impl Value for Distance {
    const EXPECTED: &'static str = "a number of blocks from 1 to 1000000";

    fn read(value: &DeValue<'_>) -> Result<Self, Unreadable> {
        within(value, 1..=1_000_000)
            .and_then(|blocks| u32::try_from(blocks).ok())
            .map(Self)
            .ok_or(Unreadable::Other)
    }
}

impl Value for MarkerCount {
    const EXPECTED: &'static str = "a number of markers from 1 to 4";

    fn read(value: &DeValue<'_>) -> Result<Self, Unreadable> {
        let count = whole_number(value).filter(|count| *count > 0).ok_or(Unreadable::Other)?;
        u32::try_from(count)
            .ok()
            .filter(|count| *count <= MOST_MARKERS)
            .map(Self)
            .ok_or_else(|| too_many_markers(count))
    }
}

impl Value for Duration {
    const EXPECTED: &'static str = "a duration like \"4m30s\", from 1s to 168h";

    fn read(value: &DeValue<'_>) -> Result<Self, Unreadable> {
        const WEEK: i64 = 7 * 24 * 60 * 60 * 1_000;
        word(value, |text| {
            // The duration becomes part of a name, so spaces and colons are excluded.
            let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.');
            let duration = SpanParser::new().parse_duration(text).ok().filter(|_| is_plain)?;
            let millis = i64::try_from(duration.as_millis()).ok()?;
            (1_000..=WEEK).contains(&millis).then_some(Self(millis))
        })
    }
}

impl Value for bool {
    const EXPECTED: &'static str = "true or false";

    fn read(value: &DeValue<'_>) -> Result<Self, Unreadable> {
        value.as_bool().ok_or(Unreadable::Other)
    }
}

pub(super) fn word<T>(
    value: &DeValue<'_>,
    read: impl Fn(&str) -> Option<T>,
) -> Result<T, Unreadable> {
    value.as_str().and_then(read).ok_or(Unreadable::Other)
}

/// Whole number in a range.
fn within(value: &DeValue<'_>, range: RangeInclusive<u64>) -> Option<u64> {
    whole_number(value).filter(|number| range.contains(number))
}

fn whole_number(value: &DeValue<'_>) -> Option<u64> {
    let integer = value.as_integer()?;
    // TOML also has hexadecimal, octal and binary numbers.
    u64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

fn too_many_markers(count: u64) -> Unreadable {
    Unreadable::Refused(Contradiction::TooManyMarkers { count })
}
