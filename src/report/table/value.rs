//! Value of a cell, as it is shown.

use std::borrow::Cow;

use crate::base::known::KnownSum;
use crate::base::units::{Picodollars, Tokens};
use crate::report::number::{
    dollar_difference, dollars, exact_percent, grouped, known_dollars, percent, percent_difference,
    tokens,
};

/// Text of a cell, and whether it says anything: a column without a known value gives way before others.
#[derive(Clone, Debug, Default)]
pub(in crate::report) struct Value {
    pub(super) text: Cow<'static, str>,
    pub(super) is_known: bool,
}

impl Value {
    /// Words for an unknown value.
    pub(in crate::report) fn unknown(words: &'static str) -> Self {
        Self { text: words.into(), is_known: false }
    }

    /// Dollars, with a plus after them if something without a price is left out.
    pub(in crate::report) fn known_dollars(amount: Option<Picodollars>, unpriced: u64) -> Self {
        Self { text: known_dollars(amount, unpriced).into(), is_known: amount.is_some() }
    }

    /// Difference in dollars, with its sign.
    pub(in crate::report) fn difference(amount: Option<Picodollars>) -> Self {
        Self { text: dollar_difference(amount).into(), is_known: amount.is_some() }
    }

    /// Relative difference, with its sign.
    pub(in crate::report) fn relative(share: Option<f64>) -> Self {
        Self { text: percent_difference(share).into(), is_known: share.is_some() }
    }

    /// Share near 1 or 0 as a percentage with three decimals.
    pub(in crate::report) fn exact_share(share: Option<f64>) -> Self {
        Self { text: exact_percent(share).into(), is_known: share.is_some() }
    }

    /// Returns true of an empty cell.
    pub(in crate::report) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

/// Type of values that are shown in one way.
pub(in crate::report) trait Shown {
    /// Words for an unknown value.
    const UNKNOWN: &'static str = "";

    fn shown(self) -> Cow<'static, str>;
}

impl<T: Shown> From<T> for Value {
    fn from(value: T) -> Self {
        let text = value.shown();
        Self { is_known: !text.is_empty(), text }
    }
}

impl<T: Shown> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::unknown(T::UNKNOWN), Self::from)
    }
}

/// Dollars, with a plus after them if an amount is unknown.
impl From<KnownSum> for Value {
    fn from(costs: KnownSum) -> Self {
        Self::known_dollars(costs.value(), costs.unknown)
    }
}

/// An empty cell if there is none.
impl From<Option<Value>> for Value {
    fn from(value: Option<Value>) -> Self {
        value.unwrap_or_default()
    }
}

impl Shown for &'static str {
    fn shown(self) -> Cow<'static, str> {
        self.into()
    }
}

impl Shown for String {
    fn shown(self) -> Cow<'static, str> {
        self.into()
    }
}

impl Shown for u64 {
    fn shown(self) -> Cow<'static, str> {
        grouped(self).into()
    }
}

impl Shown for usize {
    fn shown(self) -> Cow<'static, str> {
        grouped(self as u64).into()
    }
}

impl Shown for Tokens {
    fn shown(self) -> Cow<'static, str> {
        tokens(self).into()
    }
}

impl Shown for Picodollars {
    const UNKNOWN: &'static str = "unknown";

    fn shown(self) -> Cow<'static, str> {
        dollars(Some(self)).into()
    }
}

/// A share, as a percentage with one decimal.
impl Shown for f64 {
    const UNKNOWN: &'static str = "–";

    fn shown(self) -> Cow<'static, str> {
        percent(Some(self)).into()
    }
}
