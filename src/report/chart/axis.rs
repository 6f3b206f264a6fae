//! Axes of charts: ranges, with positions and readable labels.

use crate::base::grouped;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    pub(super) from: f64,
    pub(super) to: f64,
    /// Quantity of the axis; empty if a heading gives it.
    pub(super) title: String,
    /// Ticks in ascending order. Labels that would overlap are left out when they are drawn.
    pub(super) ticks: Vec<Tick>,
}

/// A labelled position on an axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    pub(super) at: f64,
    pub(super) label: String,
}

/// Unit of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AxisUnit {
    Tokens,
    Dollars,
    /// Number of things.
    Count,
}

/// Mantissas of round steps, which are multiplied by a power of ten.
const STEPS: [f64; 3] = [1.0, 2.0, 5.0];

impl Axis {
    /// An axis from zero to at least `highest`, in about `steps` steps.
    pub(super) fn amounts(highest: f64, unit: AxisUnit, steps: u8) -> Self {
        let step = step_for(highest, unit, steps);
        let count = (highest / step).ceil().max(1.0);
        let numbers = std::iter::successors(Some(0.0), |number| Some(number + 1.0));
        let ticks = numbers
            .take_while(|number| *number <= count)
            .map(|number| Tick { at: number * step, label: amount(number * step, step, unit) })
            .collect();
        Self { from: 0.0, to: count * step, title: String::new(), ticks }
    }

    /// An axis of things numbered from 1, each in the middle of its unit.
    pub(super) fn numbers(count: usize, title: &str) -> Self {
        #[allow(clippy::cast_precision_loss)] // places in a picture
        let to = count.max(1) as f64;
        let step = step_for(to, AxisUnit::Count, 10);
        let numbers = std::iter::successors(Some(step), |at| Some(at + step));
        // The first thing has a label, even if the steps begin later.
        let first = if step > 1.0 { Some(1.0) } else { None };
        let places = first.into_iter().chain(numbers.take_while(|at| *at <= to));
        let tick = |at: f64| Tick { at: at - 0.5, label: whole(at) };
        Self { from: 0.0, to, title: title.to_owned(), ticks: places.map(tick).collect() }
    }

    /// A logarithmic axis of durations between two numbers of milliseconds, with the positions of [`logarithm`].
    pub(super) fn durations(from: f64, to: f64, title: &str) -> Self {
        const SECOND: f64 = 1_000.0;
        const MINUTE: f64 = 60.0 * SECOND;
        const HOUR: f64 = 60.0 * MINUTE;
        const DAY: f64 = 24.0 * HOUR;
        const YEAR: f64 = 365.0 * DAY;
        let places = [
            (SECOND, "1 s"),
            (5.0 * SECOND, "5 s"),
            (15.0 * SECOND, "15 s"),
            (MINUTE, "1 min"),
            (5.0 * MINUTE, "5 min"),
            (15.0 * MINUTE, "15 min"),
            (HOUR, "1 h"),
            (6.0 * HOUR, "6 h"),
            (DAY, "1 day"),
            (7.0 * DAY, "1 week"),
            (30.0 * DAY, "30 days"),
            (YEAR, "1 year"),
            (10.0 * YEAR, "10 years"),
            (100.0 * YEAR, "100 years"),
        ];
        let ticks = places
            .into_iter()
            .filter(|(at, _)| (from..=to).contains(at))
            .map(|(at, label)| Tick { at: logarithm(at), label: label.to_owned() })
            .collect();
        Self { from: logarithm(from), to: logarithm(to), title: title.to_owned(), ticks }
    }
}

/// Position of a duration in milliseconds on a logarithmic axis.
pub(super) fn logarithm(millis: f64) -> f64 {
    millis.max(1.0).log10()
}

/// Smallest round step that reaches `highest` in `steps` steps.
fn step_for(highest: f64, unit: AxisUnit, steps: u8) -> f64 {
    let least = match unit {
        AxisUnit::Tokens | AxisUnit::Count => 1.0,
        // Labels have six decimals at most.
        AxisUnit::Dollars => 0.000_001,
    };
    let wanted = (highest / f64::from(steps.max(1))).max(least);
    let power = 10_f64.powf(wanted.log10().floor());
    let round = STEPS.into_iter().chain([10.0]).map(|step| step * power);
    // The tolerance is for rounding errors of the power.
    let step = round.into_iter().find(|step| *step * 1.000_001 >= wanted);
    step.unwrap_or(10.0 * power).max(least)
}

fn amount(value: f64, step: f64, unit: AxisUnit) -> String {
    match unit {
        AxisUnit::Count => whole(value),
        AxisUnit::Tokens => thousands(value, step),
        AxisUnit::Dollars => format!("${}", decimal(value, step)),
    }
}

/// Formats a number of whole things.
pub(super) fn whole(value: f64) -> String {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // counts are not negative
    grouped(value.round() as u64)
}

/// Formats tokens: `0`, `500`, `20k`, `1.5M`.
fn thousands(value: f64, step: f64) -> String {
    let (unit, name) = match step {
        step if step >= 1e8 => (1e9, "B"),
        step if step >= 1e5 => (1e6, "M"),
        step if step >= 1e2 => (1e3, "k"),
        _ => (1.0, ""),
    };
    if value == 0.0 {
        "0".to_owned()
    } else {
        format!("{}{name}", decimal(value / unit, step / unit))
    }
}

/// Formats with as many decimals as the step needs.
fn decimal(value: f64, step: f64) -> String {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // from 0 to 6
    let decimals = (-step.log10()).ceil().clamp(0.0, 6.0) as usize;
    let text = format!("{value:.decimals$}");
    match text.split_once('.') {
        Some((digits, fraction)) => {
            format!("{}.{fraction}", crate::base::wording::grouped_digits(digits))
        }
        None => crate::base::wording::grouped_digits(&text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|tick| tick.label.as_str()).collect()
    }

    #[test]
    fn amounts_have_round_steps() {
        let axis = Axis::amounts(187_000.0, AxisUnit::Tokens, 5);
        assert_eq!(labels(&axis), ["0", "50k", "100k", "150k", "200k"]);
        assert!((axis.to - 200_000.0).abs() < 1e-6);
        let axis = Axis::amounts(1_240.56, AxisUnit::Dollars, 5);
        assert_eq!(labels(&axis), ["$0", "$500", "$1,000", "$1,500"]);
        let axis = Axis::amounts(0.041, AxisUnit::Dollars, 5);
        assert_eq!(labels(&axis), ["$0.00", "$0.01", "$0.02", "$0.03", "$0.04", "$0.05"]);
        assert_eq!(
            labels(&Axis::amounts(1_500_000.0, AxisUnit::Tokens, 3)),
            ["0", "0.5M", "1.0M", "1.5M"]
        );
        assert_eq!(labels(&Axis::amounts(3.0, AxisUnit::Count, 5)), ["0", "1", "2", "3"]);
    }

    #[test]
    fn nothing_has_an_axis_too() {
        for unit in [AxisUnit::Tokens, AxisUnit::Dollars, AxisUnit::Count] {
            let axis = Axis::amounts(0.0, unit, 5);
            assert!(axis.to > axis.from && axis.ticks.len() == 2, "{axis:?}");
        }
        assert_eq!(labels(&Axis::numbers(0, "request")), ["1"]);
    }

    #[test]
    fn things_are_numbered_from_one() {
        assert_eq!(labels(&Axis::numbers(5, "")), ["1", "2", "3", "4", "5"]);
        assert_eq!(labels(&Axis::numbers(5_000, "")).first(), Some(&"1"));
        assert_eq!(labels(&Axis::numbers(5_000, ""))[1..3], ["500", "1,000"]);
    }

    #[test]
    fn lifetimes_are_named_on_the_axis_of_durations() {
        let axis = Axis::durations(1_000.0, 90.0 * 86_400_000.0, "");
        assert!(labels(&axis).contains(&"5 min") && labels(&axis).contains(&"30 days"));
        assert!(!labels(&axis).contains(&"1 year"), "it lies outside");
    }
}
