//! Known field names, by the shape of the object that has them, and the kind of value under each.
//! They are the fields that the readers look at, and the rest of the envelopes of transcripts and requests.

/// Names separated by spaces or line ends.
macro_rules! names {
    ($names:literal) => {{
        const NAMES: [&str; $crate::redact::fields::count($names)] =
            $crate::redact::fields::split($names);
        &NAMES
    }};
}

/// Shapes: the name of each, its settings, and its field names by the kind of their value.
macro_rules! shapes {
    ($($(#[$doc:meta])* $vis:vis static $shape:ident = $name:literal $(($($key:ident: $value:expr),+))? {
        $($field:ident $(($inner:ident))?: $names:literal;)*
    })+) => {$(
        $(#[$doc])*
        $vis static $shape: Shape = Shape {
            name: $name,
            fields: &[$((Field::$field $((&$inner))?, names!($names))),*],
            $($($key: $value,)+)?
            ..Shape::PLAIN
        };
    )+};
}

mod agents;
mod logs;
mod request;
mod rows;
mod telemetry;
mod transcript;

pub(super) use names;

pub(super) use agents::{CONTENT, ROOTS, root};
pub(super) use logs::{ANSWER, LOG_ROOTS, log_root};
pub(super) use request::{METADATA, RESPONSE};
pub(super) use telemetry::{ATTRIBUTE, ATTRIBUTES, VALUE};
pub(super) use transcript::{BLOCK, LINE, SYSTEM_PART};

// Loops and no iterators: lists are split at compile time.
/// Number of names in a list.
pub(super) const fn count(mut names: &str) -> usize {
    let mut count = 0;
    while !names.is_empty() {
        names = first(names).1;
        count += 1;
    }
    count
}

/// Names of a list.
pub(super) const fn split<const N: usize>(names: &str) -> [&str; N] {
    let mut split = [""; N];
    let mut rest = names;
    let mut at = 0;
    while at < N {
        (split[at], rest) = first(rest);
        at += 1;
    }
    split
}

/// First name of a list, and the list of the others.
const fn first(names: &str) -> (&str, &str) {
    let mut end = 0;
    while end < names.len() && !names.as_bytes()[end].is_ascii_whitespace() {
        end += 1;
    }
    let (name, rest) = names.split_at(end);
    (name, rest.trim_ascii_start())
}
