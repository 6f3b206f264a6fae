//! Hours of the week, for prices that do not apply to the whole day.
//!
//! All times are UTC. A window whose end is not after its beginning continues into the next day,
//! and belongs to the day on which it began: "22:00-02:00" on Fridays lasts until two o'clock on
//! Saturday.

use jiff::civil::{Date, DateTime, Time, Weekday};

/// Minutes of a day.
const DAY: u16 = 24 * 60;

/// Windows of time on some days of the week.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hours {
    /// Name by which rates refer to the hours.
    pub id: String,
    windows: Vec<Window>,
    /// Days on which windows begin, Monday first.
    weekdays: [bool; 7],
    /// Days on which no window begins, as on holidays.
    except: Vec<Date>,
}

/// Window in minutes since midnight, without its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Window {
    begin: u16,
    end: u16,
}

impl Window {
    /// Parses "01:00-04:00"; midnight at the end may be "24:00".
    fn parse(text: &str) -> Option<Self> {
        let (begin, end) = text.split_once('-')?;
        let window = Self { begin: minutes(begin)?, end: minutes(end)? };
        (window.begin < DAY).then_some(window)
    }
}

fn minutes(text: &str) -> Option<u16> {
    let (hour, minute) = text.split_once(':')?;
    // `parse` alone would accept a sign, as in "+1:00".
    let is_plain = |part: &str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
    if !is_plain(hour) || !is_plain(minute) {
        return None;
    }
    let minutes = hour.parse::<u16>().ok()? * 60 + minute.parse::<u16>().ok()?;
    (minute < "60" && minutes <= DAY).then_some(minutes)
}

impl Hours {
    /// Names of the days in price files, Monday first.
    pub const WEEKDAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

    /// Hours on the given days of the week, or on every day without any.
    ///
    /// # Errors
    /// Returns the first text that is not a window or a day.
    pub(super) fn new<'t>(
        id: &str,
        windows: impl IntoIterator<Item = &'t str>,
        weekdays: Option<&'t [String]>,
        except: Vec<Date>,
    ) -> Result<Self, &'t str> {
        let parse = |text: &'t str| Window::parse(text).ok_or(text);
        let windows = windows.into_iter().map(parse).collect::<Result<_, _>>()?;
        let mut chosen = [weekdays.is_none(); 7];
        for name in weekdays.unwrap_or_default() {
            let day = Self::WEEKDAYS.iter().position(|known| known == name).ok_or(name.as_str())?;
            chosen[day] = true;
        }
        Ok(Self { id: id.to_owned(), windows, weekdays: chosen, except })
    }

    /// Returns true if a time in UTC is within the hours.
    pub fn include(&self, at: DateTime) -> bool {
        let minute = minute_of(at.time());
        let today = self.begin_on(at.date());
        let yesterday = at.date().yesterday().is_ok_and(|day| self.begin_on(day));
        self.windows.iter().any(|window| {
            if window.begin < window.end {
                today && (window.begin..window.end).contains(&minute)
            } else {
                (today && minute >= window.begin) || (yesterday && minute < window.end)
            }
        })
    }

    /// Times of the day at which windows begin and end.
    pub(super) fn borders(&self) -> impl Iterator<Item = Time> + '_ {
        let time = |minutes: u16| {
            let (hour, minute) = (minutes % DAY / 60, minutes % 60);
            Time::new(i8::try_from(hour).ok()?, i8::try_from(minute).ok()?, 0, 0).ok()
        };
        self.windows.iter().flat_map(|window| [window.begin, window.end]).filter_map(time)
    }

    /// Returns true if both cover the same times, whatever their names.
    pub fn are_same(&self, other: &Self) -> bool {
        let times = |hours: &Self| (hours.windows.clone(), hours.weekdays, hours.except.clone());
        times(self) == times(other)
    }

    /// Windows, as in "01:00-04:00".
    pub fn windows(&self) -> impl Iterator<Item = String> + '_ {
        let clock = |minutes: u16| format!("{:02}:{:02}", minutes / 60, minutes % 60);
        self.windows.iter().map(move |one| format!("{}-{}", clock(one.begin), clock(one.end)))
    }

    /// Names of the days on which windows begin.
    pub fn weekdays(&self) -> impl Iterator<Item = &'static str> + '_ {
        Self::WEEKDAYS
            .into_iter()
            .zip(self.weekdays)
            .filter_map(|(name, is_chosen)| is_chosen.then_some(name))
    }

    /// Days on which no window begins.
    pub fn except(&self) -> &[Date] {
        &self.except
    }

    fn begin_on(&self, day: Date) -> bool {
        self.weekdays[place_of(day.weekday())] && !self.except.contains(&day)
    }
}

fn minute_of(time: Time) -> u16 {
    // A time has no negative parts.
    u16::from(time.hour().unsigned_abs()) * 60 + u16::from(time.minute().unsigned_abs())
}

fn place_of(day: Weekday) -> usize {
    usize::from(day.to_monday_zero_offset().unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hours(windows: &[&str], weekdays: &[&str], except: &[&str]) -> Hours {
        let weekdays: Vec<String> = weekdays.iter().map(|&day| day.to_owned()).collect();
        let weekdays = (!weekdays.is_empty()).then_some(&weekdays[..]);
        let except = except.iter().map(|day| day.parse().expect("a day")).collect();
        Hours::new("h", windows.iter().copied(), weekdays, except).expect("hours")
    }

    #[track_caller]
    fn assert_held(hours: &Hours, at: &str, expected: bool) {
        assert_eq!(hours.include(at.parse().expect("a time")), expected, "{at}");
    }

    #[test]
    fn the_end_of_a_window_is_outside() {
        let peak =
            hours(&["01:00-04:00", "06:00-10:00"], &["mon", "tue", "wed", "thu", "fri"], &[]);
        // 2026-11-20 is a Friday.
        for (time, expected) in [
            ("00:59:59", false),
            ("01:00", true),
            ("03:59:59", true),
            ("04:00", false),
            ("06:00", true),
            ("10:00", false),
        ] {
            assert_held(&peak, &format!("2026-11-20T{time}"), expected);
            assert_held(&peak, &format!("2026-11-21T{time}"), false);
            assert_held(&peak, &format!("2026-11-22T{time}"), false);
        }
        assert_held(&peak, "2026-11-23T01:00", true);
    }

    #[test]
    fn what_goes_over_midnight_belongs_to_the_day_on_which_it_began() {
        let night = hours(&["22:00-02:00"], &["fri"], &["2026-11-27"]);
        assert_held(&night, "2026-11-20T21:59", false);
        assert_held(&night, "2026-11-20T22:00", true);
        assert_held(&night, "2026-11-21T01:59", true);
        assert_held(&night, "2026-11-21T02:00", false);
        assert_held(&night, "2026-11-20T01:00", false);
        // Saturday has no window of its own.
        assert_held(&night, "2026-11-21T22:00", false);
        // The next Friday is a holiday, and so is what would have gone on after it.
        assert_held(&night, "2026-11-27T23:00", false);
        assert_held(&night, "2026-11-28T01:00", false);
    }

    #[test]
    fn a_window_may_be_a_whole_day() {
        for window in ["00:00-00:00", "00:00-24:00"] {
            let weekend = hours(&[window], &["sat", "sun"], &[]);
            assert_held(&weekend, "2026-11-20T23:59", false);
            assert_held(&weekend, "2026-11-21T00:00", true);
            assert_held(&weekend, "2026-11-22T23:59", true);
            assert_held(&weekend, "2026-11-23T00:00", false);
        }
        let always = hours(&["00:00-12:00", "12:00-00:00"], &[], &[]);
        assert_held(&always, "2026-11-20T12:00", true);
    }

    #[test]
    fn what_is_no_window_is_named() {
        for text in
            ["1:00-2:00", "01:00", "24:00-02:00", "01:60-02:00", "+1:00-02:00", "01:00-24:01"]
        {
            assert_eq!(Hours::new("h", [text], None, Vec::new()), Err(text));
        }
        let days = ["monday".to_owned()];
        assert_eq!(Hours::new("h", ["01:00-02:00"], Some(&days), Vec::new()), Err("monday"));
    }
}
