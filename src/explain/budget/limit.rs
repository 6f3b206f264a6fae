//! What a figure is held to.

use std::fmt;

use rust_decimal::Decimal;

use super::amount::{Amount, Unit};

/// A limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// No more than this.
    Max(Amount),
    /// No less than this.
    Min(Amount),
    /// No more than the baseline and so much.
    MaxIncrease(Change),
    /// No less than the baseline without so much.
    MaxDecrease(Change),
}

/// By how much a figure may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// In hundredths of the baseline's.
    Relative(Decimal),
    /// In the figure's own unit; of a share that is in hundredths of the whole (points).
    Absolute(Amount),
}

impl Limit {
    /// The key of each kind, for files and outputs.
    pub const KEYS: [&'static str; 4] = ["max", "min", "max_increase", "max_decrease"];

    /// Its key.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Max(_) => "max",
            Self::Min(_) => "min",
            Self::MaxIncrease(_) => "max_increase",
            Self::MaxDecrease(_) => "max_decrease",
        }
    }

    /// Whether it needs a baseline.
    #[must_use]
    pub fn needs_baseline(self) -> bool {
        matches!(self, Self::MaxIncrease(_) | Self::MaxDecrease(_))
    }

    /// Whether a figure keeps to it. `baseline` is asked for only where it is needed; without one
    /// nothing can be said.
    #[must_use]
    pub fn is_kept(self, figure: Decimal, baseline: Option<Decimal>) -> Option<bool> {
        Some(match self {
            Self::Max(most) => figure <= most.value,
            Self::Min(least) => figure >= least.value,
            Self::MaxIncrease(change) => {
                let baseline = baseline?;
                figure <= baseline.checked_add(change.of(baseline)?)?
            }
            Self::MaxDecrease(change) => {
                let baseline = baseline?;
                figure >= baseline.checked_sub(change.of(baseline)?)?
            }
        })
    }
}

impl Change {
    /// The change in the figure's unit.
    fn of(self, baseline: Decimal) -> Option<Decimal> {
        match self {
            Self::Relative(percent) => {
                baseline.checked_mul(percent)?.checked_div(Decimal::ONE_HUNDRED)
            }
            Self::Absolute(amount) => Some(amount.value),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Relative(percent) => write!(f, "{} %", percent.normalize()),
            Self::Absolute(Amount { value, unit: Unit::Percent }) => {
                write!(f, "{} points", value.normalize())
            }
            Self::Absolute(amount) => f.write_str(&amount.exact()),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Max(most) => write!(f, "at most {}", most.exact()),
            Self::Min(least) => write!(f, "at least {}", least.exact()),
            Self::MaxIncrease(change) => write!(f, "at most {change} more than the baseline"),
            Self::MaxDecrease(change) => write!(f, "at most {change} less than the baseline"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        Decimal::from_str_exact(text).expect("a number")
    }

    #[test]
    fn limits_hold_to_the_last_digit() {
        let most = Limit::Max(Amount::parse("$0.80").expect("an amount"));
        assert_eq!(most.is_kept(decimal("0.80"), None), Some(true));
        assert_eq!(most.is_kept(decimal("0.800000000001"), None), Some(false));
        let seven = Limit::MaxIncrease(Change::Relative(decimal("7")));
        assert_eq!(seven.is_kept(decimal("1.07"), Some(Decimal::ONE)), Some(true));
        assert_eq!(seven.is_kept(decimal("1.070000000001"), Some(Decimal::ONE)), Some(false));
        assert_eq!(seven.is_kept(decimal("0.1"), Some(Decimal::ZERO)), Some(false), "from nothing");
        assert_eq!(seven.is_kept(Decimal::ONE, None), None, "nobody knows");
        let points = Amount::parse("2 points").expect("an amount");
        let points = Limit::MaxDecrease(Change::Absolute(points));
        assert_eq!(points.is_kept(decimal("68"), Some(decimal("70"))), Some(true));
        assert_eq!(points.is_kept(decimal("67.9"), Some(decimal("70"))), Some(false));
        assert_eq!(points.to_string(), "at most 2 points less than the baseline");
    }
}
