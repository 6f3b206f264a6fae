//! Moments as files write them.

use super::lenient::Text;
use crate::base::units::Millis;

/// An RFC 3339 moment; `None` where there is none.
pub(crate) fn moment(text: &Text<'_>) -> Option<Millis> {
    let timestamp: jiff::Timestamp = text.as_str()?.parse().ok()?;
    Some(Millis(timestamp.as_millisecond()))
}
