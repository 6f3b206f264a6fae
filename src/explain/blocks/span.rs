//! Time spans of the windows in which a plan counts use.
//!
//! A window begins with the first request after the one before has ended, whatever else is open, and lasts as
//! long as the plan says. A recorded end of a window is taken as it is. Otherwise the beginning is an
//! estimate: use outside of the input (on another machine, in a chat) may have begun the window earlier.

use rustc_hash::FxHashMap;

use crate::base::{Basis, Millis, Order as _, Symbol, words};
use crate::read::agent::{LimitReading, Vendor};

const MINUTE: i64 = 60 * 1_000;
const HOUR: i64 = 60 * MINUTE;

words! {
    /// Length of a window.
    pub enum BlockLength {
        /// Five hours.
        FiveHours = "5h";
        /// Seven days.
        Week = "week";
    }
}

impl BlockLength {
    /// Length in milliseconds.
    pub fn millis(self) -> i64 {
        match self {
            Self::FiveHours => 5 * HOUR,
            Self::Week => 7 * 24 * HOUR,
        }
    }

    /// Time over which the latest rate of use is measured, in milliseconds: an hour, a day.
    pub fn lately(self) -> i64 {
        match self {
            Self::FiveHours => HOUR,
            Self::Week => 24 * HOUR,
        }
    }
}

/// Moment from which Anthropic's windows begin at whole ten minutes and not at whole hours: 2026-05-01.
///
/// Ends that clients showed in public were whole hours until 2026-04-17 and whole ten minutes from 2026-05-06
/// on.
const TEN_MINUTES_SINCE: Millis = Millis::new(1_777_593_600_000);

/// Beginning of a window whose first request was sent at a moment.
///
/// `OpenAI`'s begin with the request, as the ends that Codex records show.
pub(super) fn beginning(vendor: Vendor, first: Millis) -> Millis {
    let grain = match vendor {
        Vendor::Anthropic if first >= TEN_MINUTES_SINCE => 10 * MINUTE,
        Vendor::Anthropic => HOUR,
        _ => return first,
    };
    Millis::new(first.get().saturating_sub(first.get().rem_euclid(grain)))
}

/// Time span of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSpan {
    /// Beginning.
    pub start: Millis,
    /// End, exclusive.
    pub end: Millis,
    /// Measured if the end was recorded, else estimated.
    pub basis: Basis,
}

/// Time before the recorded beginning of a window within which its first request may have been sent, in
/// milliseconds.
const SENT_BEFORE: i64 = 2 * MINUTE;

impl BlockSpan {
    /// Windows with a recorded end, in order.
    ///
    /// They do not overlap: if a plan began again in the middle of one, that one ended there. Of several
    /// limits the one counts that was read most often.
    pub(super) fn recorded(readings: &[LimitReading]) -> Vec<Self> {
        let Some(main) = of_main_limit(readings) else { return Vec::new() };
        let mut spans: Vec<Self> = Vec::new();
        let mut latest: Option<&LimitReading> = None;
        for reading in readings.iter().filter(|one| one.limit == main.limit) {
            if latest.is_none_or(|latest| !reading.is_of_window(latest)) {
                let (start, end) = (reading.begins(), reading.ends);
                spans.push(Self { start, end, basis: Basis::Measured });
            }
            latest = Some(reading);
        }
        spans.order_by_key(|span| (span.start, span.end));
        // Recorded ends of the same window differ by seconds.
        spans.dedup_by(|later, earlier| later.start.since(earlier.start) <= MINUTE);
        for place in 1..spans.len() {
            spans[place - 1].end = spans[place - 1].end.min(spans[place].start);
        }
        spans
    }

    fn holds(&self, at: Millis) -> bool {
        at < self.end && at.get() >= self.start.get().saturating_sub(SENT_BEFORE)
    }
}

/// A reading of the limit that was read most often.
pub(super) fn of_main_limit(readings: &[LimitReading]) -> Option<&LimitReading> {
    let mut times: FxHashMap<Option<Symbol>, usize> = FxHashMap::default();
    for reading in readings {
        *times.entry(reading.limit).or_default() += 1;
    }
    readings.iter().max_by_key(|one| times[&one.limit])
}

/// Windows of requests that were sent at these moments, in order, and the window of each request.
pub(super) fn spans(
    sent: &[Millis],
    recorded: &[BlockSpan],
    vendor: Vendor,
    length: BlockLength,
) -> (Vec<BlockSpan>, Vec<usize>) {
    let mut spans: Vec<BlockSpan> = Vec::new();
    let mut places = Vec::with_capacity(sent.len());
    let mut windows = recorded.iter().peekable();
    for at in sent.iter().copied() {
        let before = spans.last().copied();
        if before.is_none_or(|open| at >= open.end) {
            // Each recorded window is passed once: the walk is linear.
            while windows.next_if(|one| one.end <= at).is_some() {}
            let begun = before.map_or(Millis::new(i64::MIN), |before| before.end);
            spans.push(match windows.peek() {
                Some(one) if one.holds(at) => {
                    BlockSpan { start: one.start.min(at).max(begun), ..**one }
                }
                next => {
                    let start = beginning(vendor, at).max(begun);
                    let end = Millis::new(start.get().saturating_add(length.millis()));
                    // An assumed window ends no later than the next recorded one begins.
                    let end = next.map_or(end, |next| end.min(next.start).max(at));
                    BlockSpan { start, end, basis: Basis::Estimated }
                }
            });
        }
        places.push(spans.len() - 1);
    }
    (spans, places)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Millis {
        let at: jiff::Timestamp = text.parse().expect("a moment");
        Millis::new(at.as_millisecond())
    }

    fn reading(when: &str, used: u32, ends: &str) -> LimitReading {
        LimitReading {
            at: at(when),
            line: 1,
            vendor: Vendor::OpenAi,
            limit: None,
            plan: None,
            length: BlockLength::FiveHours.millis(),
            used,
            ends: at(ends),
        }
    }

    fn shown(spans: &[BlockSpan]) -> Vec<(String, String)> {
        spans.iter().map(|span| (span.start.to_string(), span.end.to_string())).collect()
    }

    fn pair(start: &str, end: &str) -> (String, String) {
        (at(start).to_string(), at(end).to_string())
    }

    #[test]
    fn a_window_begins_with_the_first_request_after_the_one_before() {
        let sent = [
            "2026-06-01T08:07:00Z",
            "2026-06-01T12:59:00Z",
            "2026-06-01T13:00:00Z",
            "2026-06-02T09:59:59Z",
        ];
        let sent = sent.map(at);
        let (found, places) = spans(&sent, &[], Vendor::Anthropic, BlockLength::FiveHours);
        assert_eq!(
            shown(&found),
            [
                pair("2026-06-01T08:00:00Z", "2026-06-01T13:00:00Z"),
                pair("2026-06-01T13:00:00Z", "2026-06-01T18:00:00Z"),
                pair("2026-06-02T09:50:00Z", "2026-06-02T14:50:00Z"),
            ]
        );
        assert_eq!(places, [0, 0, 1, 2]);
    }

    #[test]
    fn windows_of_anthropic_began_at_whole_hours_before_may() {
        assert_eq!(
            beginning(Vendor::Anthropic, at("2026-04-30T08:57:00Z")),
            at("2026-04-30T08:00:00Z")
        );
        assert_eq!(
            beginning(Vendor::Anthropic, at("2026-05-01T08:57:00Z")),
            at("2026-05-01T08:50:00Z")
        );
        assert_eq!(
            beginning(Vendor::OpenAi, at("2026-05-01T08:57:01Z")),
            at("2026-05-01T08:57:01Z")
        );
    }

    #[test]
    fn a_recorded_end_counts_and_cuts_what_was_assumed_before() {
        // The first request was sent three seconds before the window that it began.
        let first = reading("2026-07-11T12:07:00Z", 900, "2026-07-11T16:49:39Z");
        let later = reading("2026-07-11T13:02:00Z", 5_300, "2026-07-11T16:49:42Z");
        let recorded = BlockSpan::recorded(&[first, later]);
        assert_eq!(shown(&recorded), [pair("2026-07-11T11:49:39Z", "2026-07-11T16:49:39Z")]);
        let sent = [
            "2026-07-11T09:00:00Z",
            "2026-07-11T11:49:36Z",
            "2026-07-11T16:49:38Z",
            "2026-07-11T16:49:39Z",
        ];
        let sent = sent.map(at);
        let (found, places) = spans(&sent, &recorded, Vendor::OpenAi, BlockLength::FiveHours);
        assert_eq!(places, [0, 0, 1, 2]);
        assert_eq!(
            shown(&found),
            [
                pair("2026-07-11T09:00:00Z", "2026-07-11T11:49:39Z"),
                pair("2026-07-11T11:49:39Z", "2026-07-11T16:49:39Z"),
                pair("2026-07-11T16:49:39Z", "2026-07-11T21:49:39Z"),
            ]
        );
        let bases = found.iter().map(|span| span.basis).collect::<Vec<_>>();
        assert_eq!(bases, [Basis::Estimated, Basis::Measured, Basis::Estimated]);
    }

    #[test]
    fn a_window_that_began_anew_ended_the_one_before() {
        let first = reading("2026-07-11T12:00:00Z", 900, "2026-07-11T16:00:00Z");
        let again = reading("2026-07-11T13:00:00Z", 0, "2026-07-11T17:30:00Z");
        let recorded = BlockSpan::recorded(&[first, again]);
        assert_eq!(
            shown(&recorded),
            [
                pair("2026-07-11T11:00:00Z", "2026-07-11T12:30:00Z"),
                pair("2026-07-11T12:30:00Z", "2026-07-11T17:30:00Z"),
            ]
        );
    }

    #[test]
    fn moments_outside_of_the_calendar_have_windows() {
        let sent = [Millis::new(i64::MIN + 1), Millis::new(0), Millis::new(i64::MAX - 1)];
        let (found, places) = spans(&sent, &[], Vendor::Anthropic, BlockLength::Week);
        assert_eq!((found.len(), places), (3, vec![0, 1, 2]));
    }
}
