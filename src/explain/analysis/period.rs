//! Days, weeks, months and years in a time zone.

use jiff::civil::Date;
use jiff::{Span, ToSpan};

use crate::base::units::Millis;
use crate::base::zone::Zone;

/// How long a period is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PeriodLength {
    /// A day.
    Day,
    /// From Monday to Sunday.
    Week,
    /// A month.
    Month,
    /// A year.
    Year,
}

impl PeriodLength {
    /// The shortest of which `most` cover everything between two moments; years, if need be.
    #[must_use]
    pub fn covering(first: Millis, last: Millis, most: i64) -> Self {
        const DAY: i64 = 86_400_000;
        let days = last.since(first) / DAY + 1;
        [(Self::Day, 1), (Self::Week, 7), (Self::Month, 30)]
            .into_iter()
            .find(|(_, length)| days / length < most)
            .map_or(Self::Year, |(length, _)| length)
    }

    fn span(self) -> Span {
        match self {
            Self::Day => 1.day(),
            Self::Week => 1.week(),
            Self::Month => 1.month(),
            Self::Year => 1.year(),
        }
    }

    /// `day`, `week`, `month` or `year`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Year => "year",
        }
    }
}

/// A period, known by its first day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Period {
    first: Date,
    length: PeriodLength,
}

impl Period {
    /// The period that a moment is in; `None` outside of the calendar.
    #[must_use]
    pub fn of(zone: &Zone, at: Millis, length: PeriodLength) -> Option<Self> {
        let day = zone.day(at)?;
        let first = match length {
            PeriodLength::Day => day,
            PeriodLength::Week => {
                let since_monday = i64::from(day.weekday().to_monday_zero_offset());
                day.checked_sub(since_monday.days()).ok()?
            }
            PeriodLength::Month => day.first_of_month(),
            PeriodLength::Year => day.first_of_year(),
        };
        Some(Self { first, length })
    }

    /// `2026-11-02`, `2026-W45`, `2026-11` or `2026`.
    #[must_use]
    pub fn name(self) -> String {
        let week = self.first.iso_week_date();
        match self.length {
            PeriodLength::Day => self.first.to_string(),
            PeriodLength::Week => format!("{:04}-W{:02}", week.year(), week.week()),
            PeriodLength::Month => self.first.strftime("%Y-%m").to_string(),
            PeriodLength::Year => self.first.strftime("%Y").to_string(),
        }
    }

    /// The first day.
    #[must_use]
    pub fn first_day(self) -> Date {
        self.first
    }

    /// This period and those after it up to `last`.
    pub(super) fn until(self, last: Self) -> impl Iterator<Item = Self> {
        let next = move |period: &Self| {
            let first = period.first.checked_add(self.length.span()).ok()?;
            Some(Self { first, ..*period })
        };
        std::iter::successors(Some(self), next).take_while(move |period| *period <= last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Millis {
        let at: jiff::Timestamp = text.parse().expect("a moment");
        Millis(at.as_millisecond())
    }

    fn first_day(text: &str, length: PeriodLength) -> String {
        Period::of(&Zone::default(), at(text), length)
            .expect("in the calendar")
            .first_day()
            .to_string()
    }

    #[test]
    fn moments_are_in_the_periods_of_the_calendar() {
        // 2026-02-28 is a Saturday.
        let last = "2026-02-28T23:59:59.999Z";
        assert_eq!(first_day(last, PeriodLength::Day), "2026-02-28");
        assert_eq!(first_day(last, PeriodLength::Week), "2026-02-23");
        assert_eq!(first_day(last, PeriodLength::Month), "2026-02-01");
        assert_eq!(first_day("2026-03-01T00:00:00Z", PeriodLength::Month), "2026-03-01");
        assert_eq!(first_day("2026-03-01T00:00:00Z", PeriodLength::Week), "2026-02-23");
        assert_eq!(Period::of(&Zone::default(), Millis(i64::MAX), PeriodLength::Day), None);
    }

    #[test]
    fn no_period_between_two_is_left_out() {
        let zone = Zone::default();
        let period =
            |text| Period::of(&zone, at(text), PeriodLength::Month).expect("in the calendar");
        let months = period("2026-11-30T00:00:00Z").until(period("2027-02-01T00:00:00Z"));
        let months: Vec<String> = months.map(|month| month.first_day().to_string()).collect();
        assert_eq!(months, ["2026-11-01", "2026-12-01", "2027-01-01", "2027-02-01"]);
    }

    #[test]
    fn long_times_have_long_periods() {
        let length = |last| PeriodLength::covering(at("2026-01-01T00:00:00Z"), at(last), 62);
        assert_eq!(length("2026-01-01T00:00:00Z"), PeriodLength::Day);
        assert_eq!(length("2026-03-03T00:00:00Z"), PeriodLength::Week);
        assert_eq!(length("2027-06-01T00:00:00Z"), PeriodLength::Month);
        assert_eq!(length("2036-01-01T00:00:00Z"), PeriodLength::Year);
    }
}
