//! Days on the command line and in price tables.

use jiff::civil::Date;

use super::error::CliError;
use crate::base::units::Millis;
use crate::base::zone::Zone;

/// `YYYY-MM-DD`.
pub(super) fn day(text: &str, option: &str) -> Result<Date, CliError> {
    text.parse().map_err(|_| not_a_day(text, option))
}

/// The moment at which a day begins in UTC.
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

    #[test]
    fn days_are_read() {
        let midnight = beginning_of_day("2026-07-28", "as_of").expect("a day");
        assert_eq!(midnight.to_string(), "2026-07-28T00:00:00.000Z");
        let error = day("yesterday", "--at").expect_err("no day");
        assert!(error.to_string().starts_with("--at: `yesterday`"));
    }
}
