//! Burn rate of the open window, and a projection of its use from earlier windows.
//!
//! The projection adds to the use so far the use of earlier windows after the same time, at a tenth, at half
//! and at nine tenths of their sorted list. Windows that were in use at that time continue differently from
//! windows that were not, so only windows in the same state count. The coverage of such a range is measured
//! by leave-one-out: each of these windows is compared with the range of the others.

use serde::Serialize;

use super::Spent;
use super::span::{BlockLength, BlockSpan};
use crate::base::{KnownSum, Millis, Picodollars};
use crate::read::agent::LimitReading;

/// Part of a window, as a divisor, within which something was sent if the window is in use: a tenth, half an
/// hour of five.
const TENTH: i64 = 10;

/// Fewest windows for a range.
const FEWEST_WINDOWS: usize = 8;

/// The use of an open window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burn {
    /// Costs of the requests so far.
    pub so_far: KnownSum,
    /// Cost of the latest requests: of the last hour, in a week of the last day, in whichever windows.
    pub lately: Picodollars,
    /// Length of that time, in milliseconds.
    pub lately_is: i64,
    /// Cost since the newest reading of the limit, or all of it without one.
    pub since_reading: Picodollars,
    /// Time until the window ends, in milliseconds.
    pub left: i64,
    /// Use at its end, as earlier windows suggest; `None` if these are too few.
    pub projection: Option<Projection>,
    /// Number of earlier windows in the same state at the same time, in use or not.
    pub earlier_windows: usize,
}

impl Burn {
    /// Use at its end at the latest rate.
    pub fn at_last_rate(&self) -> Picodollars {
        let more = self.lately.0.saturating_mul(i128::from(self.left)) / i128::from(self.lately_is);
        Picodollars(self.so_far.sum.0.saturating_add(more))
    }
}

/// Projected use of an open window, from the continuation of earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "ProjectionObject"))]
pub struct Projection {
    /// Use that nine of ten windows would have exceeded, in dollars.
    #[serde(rename = "low_usd")]
    pub low: Picodollars,
    /// Use that half of them would have exceeded.
    #[serde(rename = "middle_usd")]
    pub middle: Picodollars,
    /// Use that one of ten would have exceeded.
    #[serde(rename = "high_usd")]
    pub high: Picodollars,
    /// Number of earlier windows for which the range of the others, from low to high, would have held.
    pub held: usize,
}

/// Use of the window that is open at `now`: the last one, as nothing was sent after `now`.
pub(super) fn burn(
    length: BlockLength,
    (spans, spent): (&[BlockSpan], &[Vec<Spent>]),
    newest: Option<&LimitReading>,
    now: Millis,
) -> Option<Burn> {
    let (span, before) =
        spans.split_last().filter(|(span, _)| span.start <= now && now < span.end)?;
    let (used, earlier) = spent.split_last()?;
    let (elapsed, lately_is) = (now.since(span.start), length.lately());
    let is_read = |one: &&Spent| newest.is_some_and(|newest| one.answered <= newest.at);
    let is_late = |one: &&Spent| now.since(one.sent) < lately_is;
    let newest_first = spent.iter().rev().flat_map(|used| used.iter().rev());
    let is_in_use = is_used(span, used, elapsed);
    let alike = before.iter().zip(earlier).filter(|(span, used)| {
        // A window that was cut short earlier has no use after this time.
        span.end.since(span.start) > elapsed && is_used(span, used, elapsed) == is_in_use
    });
    let later: Vec<_> = alike.map(|(span, used)| used_after(span, used, elapsed)).collect();
    let so_far: KnownSum = used.iter().map(|one| one.cost).collect();
    Some(Burn {
        so_far,
        lately: cost(newest_first.take_while(is_late)),
        lately_is,
        since_reading: cost(used.iter().filter(|one| !is_read(one))),
        left: span.end.since(now),
        earlier_windows: later.len(),
        projection: projection(so_far.sum, later),
    })
}

fn cost<'s>(spent: impl IntoIterator<Item = &'s Spent>) -> Picodollars {
    spent.into_iter().filter_map(|one| one.cost).sum()
}

/// Returns true if anything was sent shortly before `elapsed` milliseconds of the window.
fn is_used(span: &BlockSpan, used: &[Spent], elapsed: i64) -> bool {
    let from = elapsed - span.end.since(span.start) / TENTH;
    used.iter().any(|one| (from..=elapsed).contains(&one.sent.since(span.start)))
}

/// Use after `elapsed` milliseconds of the window.
fn used_after(span: &BlockSpan, used: &[Spent], elapsed: i64) -> Picodollars {
    cost(used.iter().filter(|one| one.sent.since(span.start) > elapsed))
}

fn projection(so_far: Picodollars, mut later: Vec<Picodollars>) -> Option<Projection> {
    let windows = later.len();
    if windows < FEWEST_WINDOWS {
        return None;
    }
    later.sort_unstable();
    // Quantile of the sorted list, without one place if that is given. Between two places it is the outer
    // one.
    let at = |tenth: usize, without: Option<usize>| {
        let last = windows - 1 - usize::from(without.is_some());
        let place = if tenth < 5 { last * tenth / 10 } else { (last * tenth).div_ceil(10) };
        later[place + usize::from(without.is_some_and(|without| without <= place))]
    };
    let holds =
        |place: &usize| (at(1, Some(*place))..=at(9, Some(*place))).contains(&later[*place]);
    Some(Projection {
        low: so_far + at(1, None),
        middle: so_far + at(5, None),
        high: so_far + at(9, None),
        held: (0..windows).filter(holds).count(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{Basis, Tokens};
    use crate::requests::conversation::RequestIndex;

    const MINUTE: i64 = 60_000;
    const FIVE: BlockLength = BlockLength::FiveHours;
    const DOLLAR: i128 = 1_000_000_000_000;

    fn window(number: i64) -> BlockSpan {
        let start = Millis::new(number * 1_000 * MINUTE);
        let end = Millis::new(start.get() + 300 * MINUTE);
        BlockSpan { start, end, basis: Basis::Estimated }
    }

    /// Requests at minutes of a window, with their dollars.
    fn used(number: i64, requests: &[(i64, i128)]) -> Vec<Spent> {
        let request = |(minute, dollars): &(i64, i128)| {
            let sent = Millis::new((number * 1_000 + minute) * MINUTE);
            let cost = Picodollars(dollars * DOLLAR);
            let index = RequestIndex::new(0);
            let (is_selected, cost) = (true, Some(cost));
            Spent { index, is_selected, sent, answered: sent, cost, tokens: [Tokens::ZERO; 4] }
        };
        requests.iter().map(request).collect()
    }

    fn dollars(amount: Picodollars) -> i128 {
        assert_eq!(amount.0 % DOLLAR, 0);
        amount.0 / DOLLAR
    }

    /// Ten earlier windows that used $0 to $9 after two hours, and one that was idle then. The open one used $5 in its
    /// first hour and $6 in the second.
    fn history() -> (Vec<BlockSpan>, Vec<Vec<Spent>>) {
        let mut spent: Vec<Vec<Spent>> = (0..10)
            .map(|number| used(number, &[(5, 1), (110, 1), (200, i128::from(number))]))
            .collect();
        spent.push(used(10, &[(5, 1), (250, 100)]));
        spent.push(used(11, &[(0, 5), (61, 4), (119, 2)]));
        ((0..12).map(window).collect(), spent)
    }

    #[test]
    fn the_open_window_goes_on_as_those_that_were_in_use_at_the_same_time() {
        let (spans, spent) = history();
        let now = Millis::new((11_000 + 120) * MINUTE);
        let burn = burn(FIVE, (&spans, &spent), None, now).expect("an open window");
        assert_eq!((dollars(burn.so_far.sum), dollars(burn.lately)), (11, 6));
        assert_eq!(burn.left, 180 * MINUTE);
        // Three more hours at $6.
        assert_eq!(dollars(burn.at_last_rate()), 29);
        let Projection { low, middle, high, held } = burn.projection.expect("a range");
        // Of $0 to $9 the places 0.9, 4.5 and 8.1 of 0 to 9, the outer one of both sides.
        assert_eq!([low, middle, high].map(dollars), [11, 16, 20]);
        // Without the window itself, those with $0 and $9 are outside of what the others have.
        assert_eq!((burn.earlier_windows, held), (10, 8));
    }

    /// A minute after its beginning, with $7 in the hour before and $3 in an earlier one.
    #[test]
    fn the_last_hour_goes_over_the_end_of_a_window() {
        let spans = [0, 1].map(|number| {
            let start = Millis::new(number * 300 * MINUTE);
            BlockSpan {
                start,
                end: Millis::new(start.get() + 300 * MINUTE),
                basis: Basis::Estimated,
            }
        });
        let spent = [used(0, &[(230, 3), (290, 7)]), used(0, &[(301, 2)])];
        let burn = burn(FIVE, (&spans, &spent), None, Millis::new(301 * MINUTE));
        let burn = burn.expect("an open window");
        assert_eq!((dollars(burn.so_far.sum), dollars(burn.lately)), (2, 9));
    }

    #[test]
    fn few_windows_have_no_range() {
        let (spans, spent) = history();
        let now = Millis::new((11_000 + 120) * MINUTE);
        let burn = burn(FIVE, (&spans[4..], &spent[4..]), None, now).expect("an open window");
        assert_eq!((burn.projection, burn.earlier_windows), (None, 6));
    }

    #[test]
    fn a_window_that_is_over_or_has_not_begun_has_no_rate() {
        let (spans, spent) = history();
        for minute in [-1, 300] {
            assert_eq!(
                burn(FIVE, (&spans, &spent), None, Millis::new((11_000 + minute) * MINUTE)),
                None
            );
        }
        assert!(burn(FIVE, (&spans, &spent), None, Millis::new(11_000 * MINUTE)).is_some());
        assert_eq!(burn(FIVE, (&[], &[]), None, Millis::new(0)), None);
    }
}
