//! Options `--since`, `--until` and `--timezone`, and days as the command line and price tables write them.

use std::env;
use std::ops::Range;
use std::time::{SystemTime, UNIX_EPOCH};

use jiff::civil::Date;
use jiff::{Timestamp, ToSpan};

use super::CliError;
use super::args::FilterArgs;
use super::span::hours;
use crate::base::{Millis, Zone, nearest, suggestion};

const FORMS: &str = "write 7d, 24h, 2w, today, yesterday, a day such as 2026-11-01, or a moment such \
                     as 2026-11-01T10:00:00Z";

/// Variable that fixes "now" for reproducible runs, and with it the meaning of `--since 7d`.
const NOW: &str = "SOURCE_DATE_EPOCH";

/// Period whose requests are reported, and the time zone in which days begin.
#[derive(Clone, Debug, Default)]
pub(super) struct Limits {
    /// First moment of the period.
    pub(super) since: Option<Millis>,
    /// End of the period, exclusive.
    pub(super) until: Option<Millis>,
    pub(super) zone: Zone,
}

impl Limits {
    /// Reads the options.
    pub(super) fn of(args: &FilterArgs) -> Result<Self, CliError> {
        let zone = zone_of(args.timezone.as_deref())?;
        let read = |text: &Option<String>, option| {
            text.as_deref().map(|text| Time::parse(text, option, &zone, now)).transpose()
        };
        let since = read(&args.since, "--since")?;
        let until = read(&args.until, "--until")?;
        let beginning = since.map(|time| time.beginning(&zone));
        let end = until.map(|time| time.end(&zone));
        let (since, until) = (beginning.transpose()?, end.transpose()?);
        if since.zip(until).is_some_and(|(since, until)| since >= until) {
            let message = "--since is not before --until; swap them, or leave one out";
            return Err(CliError::Usage(message.to_owned()));
        }
        Ok(Self { since, until, zone })
    }
}

/// Time zone of `--timezone`.
pub(super) fn zone_of(name: Option<&str>) -> Result<Zone, CliError> {
    name.map(zone).transpose().map(Option::unwrap_or_default)
}

fn zone(name: &str) -> Result<Zone, CliError> {
    Zone::by_name(name).ok_or_else(|| {
        let known: Vec<String> =
            jiff::tz::db().available().map(|known| known.to_string()).collect();
        let near = suggestion(&nearest(name, known.iter().map(String::as_str)));
        CliError::Usage(format!("--timezone: `{name}` is no time zone{near}"))
    })
}

/// Current day in UTC.
pub(super) fn today() -> Date {
    now().to_zoned(jiff::tz::TimeZone::UTC).date()
}

/// First moment of a day, and that of the next one.
pub(super) fn day_of(at: Millis, zone: &Zone) -> Result<Range<Millis>, CliError> {
    let day =
        zone.day(at).ok_or_else(|| CliError::Usage(format!("{at} is outside of the calendar")))?;
    Ok(Time::Day(day).beginning(zone)?..Time::Day(day).end(zone)?)
}

/// Day as an option names it, or a moment, whose end is its beginning.
pub(super) fn span_of(text: &str, option: &str, zone: &Zone) -> Result<Range<Millis>, CliError> {
    let time = Time::parse(text, option, zone, now)?;
    Ok(time.beginning(zone)?..time.end(zone)?)
}

/// Moment at which the program runs.
pub(super) fn moment() -> Millis {
    Millis::new(now().as_millisecond())
}

/// Moment of the system's clock, if it is after 1970.
pub(super) fn moment_of(time: SystemTime) -> Option<Millis> {
    let since = time.duration_since(UNIX_EPOCH).ok()?;
    Some(Millis::new(i64::try_from(since.as_millis()).unwrap_or(i64::MAX)))
}

/// Only clock that a figure may depend on, and only if a time is relative to now, or a window may be open.
pub(super) fn now() -> Timestamp {
    let fixed = env::var(NOW).ok().and_then(|seconds| seconds.parse().ok());
    fixed.and_then(|seconds| Timestamp::from_second(seconds).ok()).unwrap_or_else(Timestamp::now)
}

/// Time as `--since` and `--until` name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Time {
    Day(Date),
    Moment(Millis),
}

impl Time {
    fn parse(
        text: &str,
        option: &str,
        zone: &Zone,
        now: impl Fn() -> Timestamp,
    ) -> Result<Self, CliError> {
        let moment = |at: Timestamp| Millis::new(at.as_millisecond());
        let unknown = || CliError::Usage(format!("{option}: `{text}` is no time; {FORMS}"));
        let today = || zone.day(moment(now())).ok_or_else(unknown);
        if let Ok(at) = text.parse::<Timestamp>() {
            return Ok(Self::Moment(moment(at)));
        }
        // A day with a time but no zone would be taken for the day.
        if let Some(day) = text.parse::<Date>().ok().filter(|day| day.to_string() == text) {
            return Ok(Self::Day(day));
        }
        match text {
            "today" => return today().map(Self::Day),
            "yesterday" => return today()?.yesterday().map(Self::Day).map_err(|_| unknown()),
            _ => {}
        }
        let hours = hours(text).ok_or_else(unknown)?;
        let at = now().checked_sub(hours.hours()).map_err(|_| unknown())?;
        Ok(Self::Moment(moment(at)))
    }

    fn beginning(self, zone: &Zone) -> Result<Millis, CliError> {
        match self {
            Self::Moment(at) => Ok(at),
            Self::Day(day) => zone.beginning(day).ok_or_else(|| outside(day)),
        }
    }

    /// First moment after the time: for a day, the start of the next one.
    fn end(self, zone: &Zone) -> Result<Millis, CliError> {
        match self {
            Self::Moment(at) => Ok(at),
            Self::Day(day) => {
                let next = day.tomorrow().ok();
                next.and_then(|next| zone.beginning(next)).ok_or_else(|| outside(day))
            }
        }
    }
}

fn outside(day: Date) -> CliError {
    CliError::Usage(format!("{day} is outside of the calendar"))
}

/// Parses `YYYY-MM-DD`.
pub(super) fn day(text: &str, option: &str) -> Result<Date, CliError> {
    text.parse().map_err(|_| not_a_day(text, option))
}

/// Moment at which a day begins in UTC.
pub(super) fn beginning_of_day(text: &str, option: &str) -> Result<Millis, CliError> {
    let day = day(text, option)?;
    Zone::default().beginning(day).ok_or_else(|| not_a_day(text, option))
}

fn not_a_day(text: &str, option: &str) -> CliError {
    CliError::Usage(format!("{option}: `{text}` is no day; write YYYY-MM-DD"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        "2026-11-20T23:30:00Z".parse().expect("a moment")
    }

    fn limits(text: &str, zone: &str) -> (String, String) {
        let zone = Zone::by_name(zone).expect("a zone");
        let time = Time::parse(text, "--since", &zone, now).expect("a time");
        let shown = |at: Result<Millis, CliError>| at.expect("in the calendar").to_string();
        (shown(time.beginning(&zone)), shown(time.end(&zone)))
    }

    #[test]
    fn a_day_is_meant_whole() {
        let day = ("2026-11-01T00:00:00.000Z".to_owned(), "2026-11-02T00:00:00.000Z".to_owned());
        assert_eq!(limits("2026-11-01", "UTC"), day);
        // Summer time ends in Berlin on 2026-10-25, so that day has 25 hours.
        let long = ("2026-10-24T22:00:00.000Z".to_owned(), "2026-10-25T23:00:00.000Z".to_owned());
        assert_eq!(limits("2026-10-25", "Europe/Berlin"), long);
        assert_eq!(limits("today", "UTC").0, "2026-11-20T00:00:00.000Z");
        assert_eq!(limits("today", "Europe/Berlin").0, "2026-11-20T23:00:00.000Z");
        assert_eq!(limits("yesterday", "UTC").1, "2026-11-20T00:00:00.000Z");
    }

    #[test]
    fn a_moment_is_meant_exactly() {
        let at = "2026-07-28T10:00:00.000Z".to_owned();
        assert_eq!(limits("2026-07-28T12:00:00+02:00", "UTC"), (at.clone(), at));
        assert_eq!(limits("24h", "Europe/Berlin").0, "2026-11-19T23:30:00.000Z");
        assert_eq!(limits("7d", "UTC").0, "2026-11-13T23:30:00.000Z");
        assert_eq!(limits("2w", "UTC").1, "2026-11-06T23:30:00.000Z");
    }

    #[test]
    fn what_is_no_time_is_told_what_is() {
        for text in ["", "d", "7", "7x", "-7d", "tomorow", "2026-13-01", "99999999d", "7ä"] {
            let error = Time::parse(text, "--since", &Zone::default(), now).expect_err(text);
            assert!(error.to_string().starts_with(&format!("--since: `{text}` is no time; write")));
        }
        let error = zone("Europe/Berlim").expect_err("no zone").to_string();
        assert!(error.contains("did you mean `Europe/Berlin`"), "{error}");
    }

    #[test]
    fn days_are_read() {
        let midnight = beginning_of_day("2026-07-28", "as_of").expect("a day");
        assert_eq!(midnight.to_string(), "2026-07-28T00:00:00.000Z");
        let error = day("yesterday", "--at").expect_err("no day");
        assert!(error.to_string().starts_with("--at: `yesterday`"));
    }
}
