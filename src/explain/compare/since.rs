//! Comparison of the cost of requests before and after a change, among sessions of the same kind.
//!
//! Sessions are of one kind if their main model is the same, and their numbers of requests lie between the same powers
//! of four: a request of a long session costs more. Without the change, a request after it is expected to cost as much
//! as one before, kind by kind. The dependence on the sessions at hand is found by drawing the sessions of each kind
//! and side again, one fewer than there are (Rao and Wu 1988), and the interval is wider by Student's factor for the
//! side with fewer sessions: few sessions look more alike than they are. If nothing changed, 1 to 6 of 100 such
//! intervals leave out zero (simulated, for 3 to 30 sessions with log-normal costs).

use std::cmp::Reverse;
use std::ops::Range;

use derive_more::with_trait::AddAssign;
use rustc_hash::FxHashSet;
use serde::Serialize;

use super::draws::{DRAWS, SplitMix, middle};
use crate::base::{ByKey, Client, Millis, Order as _, Picodollars};
use crate::requests::conversation::RequestIndex;
use crate::simulate::ledger::{Ledger, Selection, Session, Totals};

/// Least number of sessions on a side for a kind to be compared.
pub const LEAST_SESSIONS: usize = 3;

/// Factor from one size of sessions to the next.
const SIZE_STEP: u64 = 4;

/// Sessions on one side of a change.
#[derive(AddAssign, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "SideObject"))]
pub struct Side {
    /// Number of sessions.
    pub sessions: u64,
    /// Number of their requests.
    pub requests: u64,
    /// Billed cost of these requests, in dollars.
    #[serde(rename = "cost_usd")]
    pub cost: Picodollars,
}

/// Sessions of one kind, on both sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "KindObject"))]
pub struct KindOfSession {
    /// Model of most requests.
    pub model: String,
    /// Fewest requests of a session.
    pub requests_from: u64,
    /// One more than the most.
    pub requests_below: u64,
    /// Sessions before the change.
    pub before: Side,
    /// Sessions after the change.
    pub after: Side,
}

/// Sessions before and after a change.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SinceChange {
    /// Share of the expected cost that was saved; negative if more was spent. Unknown if nothing is compared.
    #[serde(rename = "saved_share")]
    pub saved: Option<f64>,
    /// Interval of that share in 95 of 100 cases, by sessions drawn again.
    #[serde(rename = "saved_share_interval")]
    pub interval: Option<[f64; 2]>,
    /// Expected cost of the requests after the change at the price of those before, kind by kind, in dollars.
    #[serde(rename = "expected_usd")]
    pub expected: Picodollars,
    /// Compared sessions before the change.
    pub before: Side,
    /// Compared sessions after the change.
    pub after: Side,
    /// Kinds that are compared, highest cost after the change first.
    pub kinds: Vec<KindOfSession>,
    /// Sessions of kinds with too few on one side, before and after.
    #[serde(rename = "left_out_sessions")]
    pub left_out: [u64; 2],
    /// Sessions that began while the change was made.
    #[serde(rename = "sessions_during")]
    pub during: u64,
    /// Sessions of programs that the change is not about.
    #[serde(rename = "sessions_of_other_programs")]
    pub others: u64,
    /// Sessions whose cost is not known.
    #[serde(rename = "sessions_of_unknown_cost")]
    pub unknown: u64,
}

/// Outcome of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SinceVerdict {
    /// It saves as much as was promised.
    Kept,
    /// It saves more.
    More,
    /// It saves less.
    Less,
    /// Requests cost less, and nothing was promised.
    Cheaper,
    /// They cost more, whatever was promised.
    MoreExpensive,
    /// The sessions differ too much among themselves, or are too few.
    CannotTell,
}

/// Cost of a session, and its number of requests.
type Cost = (Picodollars, u64);

/// Sessions of a kind, before and after.
type Sides = [Vec<Cost>; 2];

impl SinceChange {
    /// Compares the sessions that began before a change with the sessions that began after it: the whole of each
    /// with a selected request, of one program or of all. `None` if no usage was recorded.
    pub fn new(
        ledger: &Ledger<'_>,
        selection: &Selection,
        change: &Range<Millis>,
        only: Option<Client>,
    ) -> Option<Self> {
        let billed = ledger.billed()?;
        let mut found = Self::default();
        let mut kinds: ByKey<(String, u32), Sides> = ByKey::new();
        let selected: FxHashSet<_> = selection.sessions.iter().map(|session| session.id).collect();
        // Whole sessions: a selection that cuts one off would change its size and its cost per request.
        let whole = Selection::new(ledger.history, None, None);
        for session in whole.sessions.iter().filter(|session| selected.contains(&session.id)) {
            let requests = || session.requests.iter().map(|index| ledger.history.request(*index));
            if only.is_some_and(|only| requests().any(|request| request.client != only)) {
                found.others += 1;
                continue;
            }
            let began = requests().map(|request| request.start).min();
            let totals = ledger.totals(billed, session.requests.iter().copied());
            let (Some(began), Some(cost)) = (began, known_cost(&totals)) else {
                found.unknown += 1;
                continue;
            };
            let side = if began < change.start {
                0
            } else if began >= change.end {
                1
            } else {
                found.during += 1;
                continue;
            };
            let kind = (model(ledger, session), size(totals.requests));
            kinds.entry(kind).or_default()[side].push((cost, totals.requests));
        }
        let is_compared = |sides: &Sides| sides.iter().all(|side| side.len() >= LEAST_SESSIONS);
        for [before, after] in kinds.values().filter(|sides| !is_compared(sides)) {
            found.left_out[0] += before.len() as u64;
            found.left_out[1] += after.len() as u64;
        }
        let kinds: ByKey<_, _> =
            kinds.into_iter().filter(|(_, sides)| is_compared(sides)).collect();
        found.expected = kinds.values().map(|[before, after]| expected(before, after)).sum();
        let sides: Vec<&Sides> = kinds.values().collect();
        found.saved = saved(&sides, Vec::clone);
        found.interval = found.saved.and_then(|saved| interval(&sides, saved));
        let kind = |((model, size), [before, after]): (&(String, u32), &Sides)| KindOfSession {
            model: model.clone(),
            requests_from: SIZE_STEP.saturating_pow(*size),
            requests_below: SIZE_STEP.saturating_pow(*size + 1),
            before: side(before),
            after: side(after),
        };
        found.kinds = kinds.iter().map(kind).collect();
        for kind in &found.kinds {
            found.before += kind.before;
            found.after += kind.after;
        }
        found.kinds.order_by_key(|kind| Reverse(kind.after.cost));
        Some(found)
    }

    /// Verdict against the promised share, if one was promised.
    pub fn verdict(&self, promised: Option<f64>) -> SinceVerdict {
        match (self.interval, promised.map(rounded)) {
            (Some([_, high]), _) if high < 0.0 => SinceVerdict::MoreExpensive,
            (Some([low, _]), Some(promised)) if low > promised => SinceVerdict::More,
            (Some([_, high]), Some(promised)) if high < promised => SinceVerdict::Less,
            (Some([low, _]), Some(_)) if low > 0.0 => SinceVerdict::Kept,
            (Some([low, _]), None) if low > 0.0 => SinceVerdict::Cheaper,
            _ => SinceVerdict::CannotTell,
        }
    }
}

/// Billed cost, if it is known for all requests.
fn known_cost(totals: &Totals) -> Option<Picodollars> {
    totals.whole_cost().filter(|_| totals.requests > 0)
}

/// Model of most requests of the main conversation; among equals the first by name.
fn model(ledger: &Ledger<'_>, session: &Session) -> String {
    let is_main = |index: &&RequestIndex| ledger.history.request(**index).agent.is_none();
    let has_main = session.requests.iter().any(|index| is_main(&index));
    let mut counts: ByKey<&str, usize> = ByKey::new();
    for index in session.requests.iter().filter(|index| !has_main || is_main(index)) {
        *counts.entry(ledger.history.model(*index)).or_default() += 1;
    }
    // `max_by_key` returns the last of equals, so the reverse order gives the first by name.
    let most = counts.iter().rev().max_by_key(|(_, count)| **count);
    most.map_or_else(String::new, |(model, _)| (*model).to_owned())
}

/// Exponent of the largest power of four that a number reaches.
fn size(requests: u64) -> u32 {
    requests.checked_ilog(SIZE_STEP).unwrap_or(0)
}

fn side(sessions: &[Cost]) -> Side {
    Side {
        sessions: sessions.len() as u64,
        requests: sessions.iter().map(|(_, requests)| requests).sum(),
        cost: sessions.iter().map(|(cost, _)| *cost).sum(),
    }
}

/// Expected cost of the requests after a change at the price of the requests before, rounded down.
fn expected(before: &[Cost], after: &[Cost]) -> Picodollars {
    let (before, after) = (side(before), side(after));
    Picodollars(before.cost.0 * i128::from(after.requests) / i128::from(before.requests).max(1))
}

/// Share of the expected cost that was saved, among sessions that are picked from each side.
fn saved(kinds: &[&Sides], mut picked: impl FnMut(&Vec<Cost>) -> Vec<Cost>) -> Option<f64> {
    let (mut spent, mut all) = (Picodollars::ZERO, Picodollars::ZERO);
    for [before, after] in kinds {
        let (before, after) = (picked(before), picked(after));
        all += expected(&before, &after);
        spent += side(&after).cost;
    }
    let share = 1.0 - spent.to_dollars_lossy() / all.to_dollars_lossy();
    (all > Picodollars::ZERO).then_some(rounded(share))
}

/// Share to six decimals, so that equal shares are equal however they were computed.
fn rounded(share: f64) -> f64 {
    (share * 1e6).round() / 1e6
}

/// Interval of the share in 95 of 100 cases, by sessions that are drawn again. `None` if a draw has nothing to compare.
fn interval(kinds: &[&Sides], saved_share: f64) -> Option<[f64; 2]> {
    let mut random = SplitMix(0);
    // One session fewer than there are: drawing all of them would understate the spread.
    let mut draw = |side: &Vec<Cost>| {
        (1..side.len()).map(|_| side[random.place(side.len())]).collect::<Vec<Cost>>()
    };
    let shares = (0..DRAWS).map(|_| saved(kinds, &mut draw));
    let mut shares: Vec<f64> = shares.collect::<Option<_>>()?;
    shares.sort_unstable_by(f64::total_cmp);
    let (low, high) = middle(&shares);
    let sessions = |side: usize| kinds.iter().map(|sides| sides[side].len()).sum::<usize>();
    // Each kind has a mean of its own, which takes one degree of freedom.
    let freedom = sessions(0).min(sessions(1)).saturating_sub(kinds.len());
    let factor = student(freedom) / NORMAL;
    // As a factor of the expected cost, an end is as far from the middle either way.
    let cost = 1.0 - saved_share;
    let widened = |end: f64| rounded(1.0 - cost * ((1.0 - end) / cost).powf(factor));
    (cost > 0.0).then(|| [widened(low), widened(high)])
}

/// 97.5th percentile of the normal distribution.
const NORMAL: f64 = 1.96;

/// 97.5th percentile of Student's distribution, from 1 degree of freedom on.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

fn student(freedom: usize) -> f64 {
    let last = STUDENT.len();
    if freedom > last { NORMAL } else { STUDENT[freedom.max(1) - 1] }
}
