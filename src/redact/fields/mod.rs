//! Known field names, by the shape of the object that has them, and the kind of value under each.
//! They are the fields that the readers look at, and the rest of the envelopes of transcripts and requests.

/// Shapes: the name of each, its settings, and its field names by the kind of their value.
macro_rules! shapes {
    ($($(#[$doc:meta])* $vis:vis static $shape:ident = $name:literal $(($($key:ident: $value:expr),+))? {
        $($field:ident $(($inner:ident))?: $names:literal;)*
    })+) => {$(
        $(#[$doc])*
        $vis static $shape: Shape = Shape {
            name: $name,
            fields: &[$((Field::$field $((&$inner))?, $crate::base::words::names!($names))),*],
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

pub(super) use agents::{CONTENT, root};
pub(super) use logs::{ANSWER, LOG_ROOTS, log_root};
pub(super) use request::{METADATA, RESPONSE};
pub(super) use telemetry::{ATTRIBUTE, ATTRIBUTES, VALUE};
pub(super) use transcript::{BLOCK, LINE, SYSTEM_PART};
