//! Value of a cell, as it is shown.

use std::borrow::Cow;

use crate::base::{KnownSum, Picodollars, Tokens};
use crate::report::{
    Money, dollars, exact_percent, grouped, is_shown, percent, percent_difference, tokens,
    with_sign,
};

/// Text of a cell, and whether it says anything: a column without a known value gives way before others.
#[derive(Clone, Debug, Default)]
pub(in crate::report) struct Value {
    pub(super) text: Cow<'static, str>,
    pub(super) is_known: bool,
    /// Amount with its form, if it is one.
    money: Option<(Picodollars, MoneyForm)>,
}

/// Form of an amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MoneyForm {
    Plain,
    /// With a plus after it: something without a price is left out.
    WithoutUnpriced,
    /// With its sign.
    Difference,
    /// A bound.
    AtMost,
}

impl Value {
    /// Words for an unknown value.
    pub(in crate::report) fn unknown(words: &'static str) -> Self {
        Self { text: words.into(), ..Self::default() }
    }

    /// Dollars, with a plus after them if something without a price is left out.
    pub(in crate::report) fn known_dollars(amount: Option<Picodollars>, unpriced: u64) -> Self {
        let form = if unpriced > 0 { MoneyForm::WithoutUnpriced } else { MoneyForm::Plain };
        Self::money(amount, form)
    }

    /// Difference in dollars, with its sign.
    pub(in crate::report) fn difference(amount: Option<Picodollars>) -> Self {
        Self::money(amount, MoneyForm::Difference)
    }

    /// Dollars, with words before them if they are a bound.
    pub(in crate::report) fn at_most(amount: Picodollars, is_bound: bool) -> Self {
        Self::money(Some(amount), if is_bound { MoneyForm::AtMost } else { MoneyForm::Plain })
    }

    fn money(amount: Option<Picodollars>, form: MoneyForm) -> Self {
        let Some(known) = amount else { return Self::unknown(Picodollars::UNKNOWN) };
        let money = Some((known, form));
        Self { is_known: true, money, ..Self::default() }.with_decimals(Money::of_column([known]))
    }

    /// Amount, if it is one.
    pub(in crate::report) fn amount(&self) -> Option<Picodollars> {
        self.money.map(|(amount, _)| amount)
    }

    /// The same amount with the decimals of its column.
    pub(in crate::report) fn with_decimals(mut self, money: Money) -> Self {
        if let Some((amount, form)) = self.money {
            let rounded = money.shown(Some(amount));
            // An amount is not shown as nothing.
            let is_lost = amount != Picodollars::ZERO && !is_shown(&rounded);
            let text = if is_lost { dollars(Some(amount)) } else { rounded };
            self.text = match form {
                MoneyForm::Plain => text,
                MoneyForm::WithoutUnpriced => text + "+",
                MoneyForm::Difference => with_sign(text, amount),
                MoneyForm::AtMost => format!("at most {text}"),
            }
            .into();
        }
        self
    }

    /// Relative difference, with its sign.
    pub(in crate::report) fn relative(share: Option<f64>) -> Self {
        Self { is_known: share.is_some(), ..percent_difference(share).into() }
    }

    /// Share near 1 or 0 as a percentage with three decimals.
    pub(in crate::report) fn exact_share(share: Option<f64>) -> Self {
        Self { is_known: share.is_some(), ..exact_percent(share).into() }
    }

    /// Returns true of known words and numbers that are no amounts.
    pub(in crate::report) fn is_other_than_money(&self) -> bool {
        self.is_known && self.money.is_none()
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

    /// The amount that it is.
    fn amount(&self) -> Option<Picodollars> {
        None
    }
}

impl<T: Shown> From<T> for Value {
    fn from(value: T) -> Self {
        let money = value.amount().map(|amount| (amount, MoneyForm::Plain));
        let text = value.shown();
        Self { is_known: !text.is_empty(), text, money }
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

    fn amount(&self) -> Option<Picodollars> {
        Some(*self)
    }
}

/// A share, as a percentage with one decimal.
impl Shown for f64 {
    const UNKNOWN: &'static str = "–";

    fn shown(self) -> Cow<'static, str> {
        percent(Some(self)).into()
    }
}
