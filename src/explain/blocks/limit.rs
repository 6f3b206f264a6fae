//! Fit of a recorded limit: the use that a per cent of it is, by the weights that fit the readings best, and
//! their error.
//!
//! Services report the used part of a window, mostly in whole per cents, and not what they count. The
//! readings are compared with the use in stretches of a window with requests of the input in close
//! succession: in a pause of the input something else may have been used (other machines, sub-agents without
//! their sessions, chats), and use before a stretch moves all of its readings alike and so does no harm. Two
//! kinds of weights are tried: one for each dollar at list prices, and with twenty readings one for each
//! class of tokens. With several windows each is predicted from the others, and the smaller error wins. With
//! one window its own error decides: list prices win unless the error of classes is smaller by a third.

use std::cmp::Reverse;

use super::fit::{CLASSES, Candidate, Point, Stretch, Weight, class_weights, dollar_weight};
use super::usage::Spent;
use crate::base::{ByKey, KnownSum, Millis, Order as _, Symbol, Tokens};
use crate::read::agent::LimitReading;

/// Fewest readings for a fit.
const FEWEST_READINGS: usize = 3;

/// Fewest readings that separate the weights of classes.
const FEWEST_FOR_CLASSES: usize = 20;

/// Most windows of one limit that are kept apart at a time, as several accounts have them.
const MOST_OPEN: usize = 16;

/// Longest pause of the input within a stretch, in milliseconds.
const LONGEST_PAUSE: i64 = 2 * 60 * 1_000;

const MILLION: f64 = 1e6;

/// Largest error of classes, as a part of that of prices, with which they win in one window alone.
// Four weights fit one window better than one weight does, even without meaning.
const CLASSES_BETTER: f64 = 2.0 / 3.0;

/// Fit of one limit.
#[derive(Clone, Debug, PartialEq)]
pub struct LimitFit {
    /// Limit, if the service gives it a name.
    pub limit: Option<Symbol>,
    /// Plan of the limit.
    pub plan: Option<Symbol>,
    /// Number of readings compared with use.
    pub readings: usize,
    /// Number of windows with these readings.
    pub windows: usize,
    /// Weights that fit best.
    pub weight: Weight,
    /// Root mean square error of the readings, in per cent of the limit.
    pub error: f64,
    /// Error of the growth from the first to the last reading of a window with weights from the other
    /// windows, in per cent of the limit, as the mean of all windows; `None` with one window.
    pub held_out: Option<f64>,
}

/// Fits of every limit and plan, most readings first.
///
/// `readings` are in order of time, `spent` holds the requests of each window.
pub(super) fn fits(readings: &[LimitReading], spent: &[Vec<Spent>]) -> Vec<LimitFit> {
    let requests = Running::of(spent);
    let mut limits: ByKey<(Option<Symbol>, Option<Symbol>), Vec<&LimitReading>> = ByKey::new();
    for reading in readings {
        limits.entry((reading.limit, reading.plan)).or_default().push(reading);
    }
    let fits = limits.into_iter().filter_map(|(key, own)| fit(key, &windows(&own, &requests)));
    let mut fits: Vec<LimitFit> = fits.collect();
    fits.order_by_key(|fit| (Reverse(fit.readings), fit.limit, fit.plan));
    fits
}

/// The stretches of each window.
fn windows(readings: &[&LimitReading], requests: &[Running]) -> Vec<Vec<Stretch>> {
    let mut windows: Vec<(&LimitReading, Vec<&LimitReading>)> = Vec::new();
    for reading in readings {
        let mut newest = windows.iter().enumerate().rev().take(MOST_OPEN);
        let own = newest.find(|(_, (first, _))| reading.is_of_window(first));
        let place = own.map(|(place, _)| place);
        let place = place.unwrap_or_else(|| {
            windows.push((reading, Vec::new()));
            windows.len() - 1
        });
        windows[place].1.push(reading);
    }
    let stretches = |(_, readings): (&LimitReading, Vec<&LimitReading>)| {
        let without_pause =
            |one: &&LimitReading, next: &&LimitReading| !has_pause(requests, one.at, next.at);
        // A single reading shows no growth.
        let stretches = readings.chunk_by(without_pause).filter(|stretch| stretch.len() > 1);
        stretches.map(|stretch| stretch.iter().map(|one| point(one, requests)).collect()).collect()
    };
    windows.into_iter().map(stretches).filter(|window: &Vec<Stretch>| !window.is_empty()).collect()
}

/// Returns true if for long nothing was answered between two moments, or something without a price was.
fn has_pause(requests: &[Running], from: Millis, until: Millis) -> bool {
    let first = requests.partition_point(|one| one.answered <= from);
    let last = requests.partition_point(|one| one.answered <= until).max(first);
    // Use without a price cannot be weighed, so it ends a stretch like a pause.
    if Running::before(requests, first).costs.unknown
        != Running::before(requests, last).costs.unknown
    {
        return true;
    }
    let between = requests[first..].iter().map(|one| one.answered).take_while(|at| *at < until);
    let mut before = from;
    for at in between.chain([until]) {
        if at.since(before) > LONGEST_PAUSE {
            return true;
        }
        before = at;
    }
    false
}

/// Use up to a moment.
#[derive(Clone, Copy, Debug)]
struct Running {
    answered: Millis,
    costs: KnownSum,
    tokens: [Tokens; CLASSES],
}

impl Running {
    /// Prefix sums of use, at each answer in order.
    fn of(spent: &[Vec<Spent>]) -> Vec<Self> {
        let mut requests: Vec<&Spent> = spent.iter().flatten().collect();
        requests.order_by_key(|one| (one.answered, one.index));
        let mut sum = Self::nothing();
        let until = |one: &Spent| {
            sum.answered = one.answered;
            sum.costs.add(one.cost);
            for (sum, own) in sum.tokens.iter_mut().zip(one.tokens) {
                *sum += own;
            }
            sum
        };
        requests.into_iter().map(until).collect()
    }

    fn nothing() -> Self {
        let answered = Millis::new(i64::MIN);
        Self { answered, costs: KnownSum::default(), tokens: [Tokens::ZERO; CLASSES] }
    }

    /// Use of the requests that were answered before the one at a place.
    fn before(requests: &[Self], place: usize) -> Self {
        let last = place.checked_sub(1).and_then(|last| requests.get(last));
        last.copied().unwrap_or_else(Self::nothing)
    }
}

/// Use since the beginning of the reading's window, of requests answered by the time of the reading.
fn point(reading: &LimitReading, requests: &[Running]) -> Point {
    let begins = reading.begins();
    let from = requests.partition_point(|one| one.answered < begins);
    let until = requests.partition_point(|one| one.answered <= reading.at).max(from);
    let (before, after) = (Running::before(requests, from), Running::before(requests, until));
    let mut tokens = [0.0; CLASSES];
    for (class, sum) in tokens.iter_mut().enumerate() {
        *sum = millions(after.tokens[class].saturating_sub(before.tokens[class]).0);
    }
    let dollars = after.costs.sum.minus(before.costs.sum).to_dollars_lossy();
    Point { percent: f64::from(reading.used) / 100.0, dollars, tokens }
}

#[allow(clippy::cast_precision_loss)] // a weight has few digits
fn millions(tokens: u64) -> f64 {
    tokens as f64 / MILLION
}

fn fit(
    (limit, plan): (Option<Symbol>, Option<Symbol>),
    windows: &[Vec<Stretch>],
) -> Option<LimitFit> {
    let all: Vec<&Stretch> = windows.iter().flatten().collect();
    let readings = all.iter().map(|stretch| stretch.len()).sum();
    let grows = |stretch: &&Stretch| stretch.iter().any(|one| one.percent > stretch[0].percent);
    if readings < FEWEST_READINGS || !all.iter().any(grows) {
        return None;
    }
    let dollars = Candidate::of(windows, |point| [point.dollars], dollar_weight);
    let classes = Candidate::of(windows, |point| point.tokens, class_weights);
    let prices = dollars?;
    let classes = classes.filter(|_| readings >= FEWEST_FOR_CLASSES);
    let is_better = |one: &Candidate| match (one.held_out, prices.held_out) {
        (Some(own), Some(other)) => own < other,
        _ => one.error < prices.error * CLASSES_BETTER,
    };
    let Candidate { weight, error, held_out } = classes.filter(is_better).unwrap_or(prices);
    Some(LimitFit { limit, plan, readings, windows: windows.len(), weight, error, held_out })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Picodollars;
    use crate::read::agent::Vendor;
    use crate::requests::conversation::RequestIndex;

    const SECOND: i64 = 1_000;
    const FIVE_HOURS: i64 = 5 * 3_600 * SECOND;

    /// A request answered a number of seconds after midnight: its cents, and thousands of tokens sent in
    /// full, read, written and answered.
    fn request(second: i64, cents: i128, thousands: [u64; CLASSES]) -> Spent {
        let at = Millis::new(second * SECOND);
        let cost = Picodollars(cents * 10_000_000_000);
        let tokens = thousands.map(|count| Tokens(count * 1_000));
        let (index, is_selected, cost) = (RequestIndex::new(0), true, Some(cost));
        Spent { index, is_selected, sent: at, answered: at, cost, tokens }
    }

    /// A reading a number of seconds after midnight, in hundredths of a per cent, of the window that began at
    /// a second.
    fn reading(second: i64, used: u32, began: i64) -> LimitReading {
        LimitReading {
            at: Millis::new(second * SECOND),
            line: 1,
            vendor: Vendor::OpenAi,
            limit: None,
            plan: None,
            length: FIVE_HOURS,
            used,
            ends: Millis::new(began * SECOND + FIVE_HOURS),
        }
    }

    fn only(readings: &[LimitReading], spent: Vec<Spent>) -> LimitFit {
        let mut fits = fits(readings, &[spent]);
        assert_eq!(fits.len(), 1, "{fits:?}");
        fits.remove(0)
    }

    fn assert_near(one: f64, other: f64) {
        assert!((one - other).abs() < 1e-6, "{one} and {other}");
    }

    #[test]
    fn a_per_cent_is_so_many_dollars() {
        // Four per cent a dollar, and seven that the input does not have.
        let spent = vec![
            request(10, 50, [1, 9, 0, 1]),
            request(20, 100, [2, 2, 0, 2]),
            request(30, 25, [3, 1, 0, 7]),
        ];
        let readings = [reading(10, 900, 0), reading(20, 1_300, 0), reading(30, 1_400, 0)];
        let fit = only(&readings, spent);
        assert_eq!((fit.readings, fit.windows, fit.held_out), (3, 1, None));
        assert_near(fit.weight.of_a_dollar().expect("prices fit"), 4.0);
        assert_near(fit.error, 0.0);
    }

    #[test]
    fn the_error_is_what_readings_are_off() {
        // $0, $1 and $2 at 0 %, 1 % and 5 %: the slope is 2.5, and they are off by 0.5, −1 and 0.5.
        let spent = vec![request(20, 100, [1; 4]), request(30, 100, [1; 4])];
        let readings = [reading(10, 0, 0), reading(20, 100, 0), reading(30, 500, 0)];
        let fit = only(&readings, spent);
        assert_near(fit.weight.of_a_dollar().expect("prices fit"), 2.5);
        assert_near(fit.error, 0.5_f64.sqrt());
    }

    #[test]
    fn classes_are_told_apart_where_prices_do_not_fit() {
        // A million tokens sent in full take 100 %, of output 1,000 %; reads take nothing, whatever they cost.
        let mut spent = Vec::new();
        let mut readings = vec![reading(5, 0, 0)];
        let mut used = 0;
        let each = [(10, 900, 1), (20, 0, 2), (5, 100, 4), (40, 1_000, 1), (1, 300, 3)];
        for (place, (input, read, output)) in each.into_iter().cycle().take(20).enumerate() {
            let second = 10 * (i64::try_from(place).expect("small") + 1);
            spent.push(request(second, i128::from(read), [input, read, 0, output]));
            used += u32::try_from(10 * input + 100 * output).expect("small");
            readings.push(reading(second, used, 0));
        }
        let fit = only(&readings, spent);
        let Weight::Classes([input, read, written, output]) = fit.weight else { panic!("{fit:?}") };
        assert_near(input, 100.0);
        assert_near(read, 0.0);
        assert_near(written, 0.0);
        assert_near(output, 1_000.0);
        assert_near(fit.error, 0.0);
    }

    #[test]
    fn a_window_is_predicted_from_the_others() {
        // 2 % a dollar in the first window and 4 % in the second: each is off by 2 · $3 = 6 % from the other.
        let spent = |from: i64| (1..=3).map(move |step| request(from + 10 * step, 100, [1; 4]));
        let all = spent(0).chain(spent(1_000)).collect();
        let readings: Vec<LimitReading> =
            (0..=3)
                .map(|step: u32| reading(5 + 10 * i64::from(step), 200 * step, 0))
                .chain((0..=3).map(|step: u32| {
                    reading(1_005 + 10 * i64::from(step), 1_000 + 400 * step, 1_000)
                }))
                .collect();
        let fit = only(&readings, all);
        assert_near(fit.weight.of_a_dollar().expect("prices fit"), 3.0);
        assert_eq!((fit.readings, fit.windows), (8, 2));
        assert_near(fit.held_out.expect("two windows"), 6.0);
    }

    #[test]
    fn what_was_used_in_a_pause_of_the_input_does_no_harm() {
        // Four per cent a dollar; in the pause of ten minutes something else took 30 %.
        let spent = [10, 20, 620, 630].map(|second| request(second, 100, [1; 4])).to_vec();
        let used = [(10, 400), (20, 800), (615, 3_800), (620, 4_200), (630, 4_600)];
        let readings = used.map(|(second, used)| reading(second, used, 0));
        let fit = only(&readings, spent);
        assert_near(fit.weight.of_a_dollar().expect("prices fit"), 4.0);
        assert_eq!((fit.readings, fit.windows), (5, 1));
        assert_near(fit.error, 0.0);
    }

    #[test]
    fn what_has_no_price_ends_a_stretch() {
        let spent = [10, 20, 25, 30, 40].map(|second| request(second, 100, [1; 4]));
        let mut spent = spent.to_vec();
        spent[2].cost = None;
        // The request without a price took 30 %, the others 4 % each.
        let used = [(10, 400), (20, 800), (26, 3_800), (30, 4_200), (40, 4_600)];
        let readings = used.map(|(second, used)| reading(second, used, 0));
        let fit = only(&readings, spent);
        assert_near(fit.weight.of_a_dollar().expect("prices fit"), 4.0);
        assert_near(fit.error, 0.0);
    }

    #[test]
    fn readings_without_growth_or_use_have_no_fit() {
        let spent = vec![request(20, 100, [1; 4])];
        let same = [reading(10, 300, 0), reading(20, 300, 0), reading(30, 300, 0)];
        assert_eq!(fits(&same, std::slice::from_ref(&spent)), []);
        let few = [reading(10, 300, 0), reading(30, 400, 0)];
        assert_eq!(fits(&few, &[spent]), []);
        let unseen = [reading(10, 300, 0), reading(20, 400, 0), reading(30, 500, 0)];
        assert_eq!(fits(&unseen, &[vec![]]), []);
    }
}
