//! The week a moment lies in.

use crate::base::units::Millis;
use crate::base::zone::Zone;

/// The ISO week in a time zone, as `2026-W07`; `unknown` outside of all calendars.
pub(super) fn week(zone: &Zone, at: Millis) -> String {
    let Some(day) = zone.day(at) else { return "unknown".to_owned() };
    let week = day.iso_week_date();
    format!("{:04}-W{:02}", week.year(), week.week())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weeks_are_those_of_the_calendar() {
        // 2026-02-14 is a Saturday, 2027-01-01 a Friday of the week that began in 2026.
        let at = |text: &str| {
            let at: jiff::Timestamp = text.parse().expect("a moment");
            week(&Zone::default(), Millis(at.as_millisecond()))
        };
        assert_eq!(at("2026-02-14T23:59:59Z"), "2026-W07");
        assert_eq!(at("2027-01-01T00:00:00Z"), "2026-W53");
        assert_eq!(week(&Zone::default(), Millis(i64::MAX)), "unknown");
    }
}
