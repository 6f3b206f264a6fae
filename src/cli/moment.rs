//! Days and moments on the command line.

use jiff::civil::Date;

use super::error::CliError;
use crate::units::Millis;

/// `YYYY-MM-DD`.
pub(super) fn day(text: &str, option: &str) -> Result<Date, CliError> {
    text.parse()
        .map_err(|_| CliError::Usage(format!("{option}: `{text}` is no day; write YYYY-MM-DD")))
}

/// A day, which begins at midnight UTC, or an RFC 3339 moment.
pub(super) fn moment(text: &str, option: &str) -> Result<Millis, CliError> {
    if let Ok(moment) = text.parse::<jiff::Timestamp>() {
        return Ok(Millis(moment.as_millisecond()));
    }
    let midnight = text
        .parse::<Date>()
        .ok()
        .and_then(|day| day.to_zoned(jiff::tz::TimeZone::UTC).ok())
        .ok_or_else(|| {
            let forms = "write YYYY-MM-DD or, for instance, 2026-07-28T10:00:00Z";
            CliError::Usage(format!("{option}: `{text}` is no moment; {forms}"))
        })?;
    Ok(Millis(midnight.timestamp().as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_moments_are_read() {
        let midnight = moment("2026-07-28", "--since").expect("a day");
        assert_eq!(midnight.to_string(), "2026-07-28T00:00:00.000Z");
        let exact = moment("2026-07-28T12:00:00+02:00", "--since").expect("a moment");
        assert_eq!(exact.to_string(), "2026-07-28T10:00:00.000Z");
        let error = moment("yesterday", "--since").expect_err("no moment");
        assert!(error.to_string().starts_with("--since: `yesterday`"));
    }
}
