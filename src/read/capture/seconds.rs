//! Moments as logs write them.

use crate::base::units::Millis;
use crate::read::input::Number;

/// Seconds since the Unix epoch, as logs write them.
pub(super) fn seconds(number: Number) -> Option<Millis> {
    let millis = (number.0? * 1_000.0).round();
    // Beyond the year 5000 it is no moment but damage.
    let is_moment = (0.0..1e14).contains(&millis);
    #[allow(clippy::cast_possible_truncation)] // in range, as was just seen
    is_moment.then_some(Millis(millis as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_have_fractions() {
        assert_eq!(seconds(Number(Some(1_785_232_802.9))), Some(Millis(1_785_232_802_900)));
        assert_eq!(seconds(Number(Some(-1.0))), None);
        assert_eq!(seconds(Number(Some(f64::NAN))), None);
        assert_eq!(seconds(Number(None)), None);
    }
}
