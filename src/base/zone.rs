//! Time zone of days and of times for people. Machine formats stay in UTC.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use crate::base::units::Millis;

/// A time zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone(TimeZone);

impl Default for Zone {
    fn default() -> Self {
        Self(TimeZone::UTC)
    }
}

impl Zone {
    /// Zone of an IANA name, such as `Europe/Berlin`.
    pub fn by_name(name: &str) -> Option<Self> {
        TimeZone::get(name).ok().map(Self)
    }

    /// IANA name.
    pub fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }

    /// Day of a moment, or `None` outside of the calendar.
    pub fn day(&self, at: Millis) -> Option<Date> {
        self.zoned(at).map(|at| at.date())
    }

    /// First moment of a day.
    pub fn beginning(&self, day: Date) -> Option<Millis> {
        let beginning = day.to_zoned(self.0.clone()).ok()?;
        Some(Millis::new(beginning.timestamp().as_millisecond()))
    }

    /// Formats a moment to the second.
    pub fn moment(&self, at: Millis) -> String {
        self.formatted(at, "%Y-%m-%d %H:%M:%S")
    }

    /// Formats a moment to the minute.
    pub fn minute(&self, at: Millis) -> String {
        self.formatted(at, "%Y-%m-%d %H:%M")
    }

    /// Formats a moment to the minute, without the year.
    pub fn short_moment(&self, at: Millis) -> String {
        self.formatted(at, "%m-%d %H:%M")
    }

    /// Formats the time of day to the second.
    pub fn time(&self, at: Millis) -> String {
        self.formatted(at, "%H:%M:%S")
    }

    /// Offset from UTC at a moment, in seconds.
    pub fn seconds_ahead(&self, at: Millis) -> i64 {
        self.zoned(at).map_or(0, |at| i64::from(at.offset().seconds()))
    }

    fn formatted(&self, at: Millis, form: &str) -> String {
        if at == Millis::UNTIMED {
            return "unknown".to_owned();
        }
        self.zoned(at).map_or_else(|| at.to_string(), |at| at.strftime(form).to_string())
    }

    fn zoned(&self, at: Millis) -> Option<Zoned> {
        Timestamp::from_millisecond(at.get()).ok().map(|at| at.to_zoned(self.0.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_begin_where_the_clocks_say_so() {
        let berlin = Zone::by_name("Europe/Berlin").expect("a zone");
        // 2026-07-31T22:30:00Z, half past midnight in Berlin's summer time.
        let at = Millis::new(1_785_537_000_000);
        assert_eq!(berlin.moment(at), "2026-08-01 00:30:00");
        assert_eq!(Zone::default().moment(at), "2026-07-31 22:30:00");
        assert_eq!(berlin.short_moment(at), "08-01 00:30");
        assert_eq!(berlin.minute(at), "2026-08-01 00:30");
        let day = berlin.day(at).expect("in the calendar");
        assert_eq!(berlin.beginning(day), Some(Millis::new(1_785_535_200_000)));
        assert_eq!((berlin.seconds_ahead(at), Zone::default().seconds_ahead(at)), (7_200, 0));
        assert_eq!((berlin.name(), Zone::default().name()), ("Europe/Berlin", "UTC"));
        assert_eq!(Zone::by_name("Europe/Nowhere"), None);
    }
}
