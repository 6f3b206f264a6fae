//! Amounts with their units, as people write them.

use std::fmt;

use rust_decimal::{Decimal, RoundingStrategy};

use crate::base::grouped;

/// Unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Dollars.
    Dollars,
    /// Hundredths of a whole.
    Percent,
    /// Tokens.
    Tokens,
    /// Bytes.
    Bytes,
    /// Number of things.
    Count,
}

/// An exact amount of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount {
    /// Value in dollars, per cent, tokens, bytes or things.
    pub value: Decimal,
    /// Unit of the value.
    pub unit: Unit,
}

/// Words of units after a number.
const WORDS: [(&str, Unit); 11] = [
    ("USD", Unit::Dollars),
    ("usd", Unit::Dollars),
    ("dollars", Unit::Dollars),
    ("dollar", Unit::Dollars),
    ("%", Unit::Percent),
    ("percent", Unit::Percent),
    ("points", Unit::Percent),
    ("tokens", Unit::Tokens),
    ("token", Unit::Tokens),
    ("bytes", Unit::Bytes),
    // Changes of a share are written in points.
    ("byte", Unit::Bytes),
];

/// Letters for thousands and millions.
const FACTORS: [(&str, u32); 4] = [("k", 1_000), ("K", 1_000), ("M", 1_000_000), ("m", 1_000_000)];

impl Unit {
    /// Example of an amount in the unit, for messages.
    pub fn example(self) -> &'static str {
        match self {
            Self::Dollars => "an amount of dollars like \"0.80 USD\" or \"$0.80\"",
            Self::Percent => "a percentage like \"70 %\"",
            Self::Tokens => "a number of tokens like \"150k tokens\" or 150000",
            Self::Bytes => "a number of bytes like \"60k bytes\" or 60000",
            Self::Count => "a whole number like 3",
        }
    }
}

impl Amount {
    /// Parses an amount: `0.80 USD`, `$0.80`, `70 %`, `150k tokens`, `3`.
    ///
    /// `None` if the text is not an amount or is negative.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(number) = text.strip_prefix('$') {
            return Some(Self { value: number_of(number)?, unit: Unit::Dollars });
        }
        let word = WORDS.iter().find(|(word, _)| text.ends_with(word));
        let (number, unit) = match word {
            Some((word, unit)) => (&text[..text.len() - word.len()], *unit),
            None => (text, Unit::Count),
        };
        let number = number.trim_end();
        let factor = FACTORS.iter().find(|(letter, _)| number.ends_with(letter));
        // `1k USD` is refused: thousands and millions are for things that are counted.
        let is_counted = matches!(unit, Unit::Tokens | Unit::Bytes | Unit::Count);
        let value = match factor.filter(|_| is_counted) {
            Some((letter, factor)) => {
                let number = number_of(&number[..number.len() - letter.len()])?;
                number.checked_mul(Decimal::from(*factor))?
            }
            None => number_of(number)?,
        };
        if is_counted && !value.fract().is_zero() {
            return None;
        }
        Some(Self { value: value.normalize(), unit })
    }

    /// The same amount in `unit`, or `None` if the units differ.
    ///
    /// A number without a unit may be tokens or bytes, too.
    pub fn of_unit(self, unit: Unit) -> Option<Self> {
        let is_plain = self.unit == Unit::Count && matches!(unit, Unit::Tokens | Unit::Bytes);
        (self.unit == unit || is_plain).then_some(Self { unit, ..self })
    }
}

/// Parses digits with at most one decimal point.
///
/// Before it, commas or underscores may group digits by three. Commas elsewhere are refused, as they could be
/// decimal points.
fn number_of(text: &str) -> Option<Decimal> {
    // Fewer than the 28 digits that a `Decimal` holds.
    const MOST_DIGITS: usize = 24;
    let text = text.trim();
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (text, None),
    };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if text.len() > MOST_DIGITS || !fraction.is_none_or(is_number) {
        return None;
    }
    let mut groups = whole.split([',', '_']);
    let first = groups.next().filter(|first| is_number(first))?;
    let mut digits = first.to_owned();
    for group in groups {
        // `12345,678` has no groups of three, and the comma of `1,2345` may be a decimal one.
        if first.len() > 3 || group.len() != 3 || !is_number(group) {
            return None;
        }
        digits.push_str(group);
    }
    Decimal::from_str_exact(&format!("{digits}.{}", fraction.unwrap_or("0"))).ok()
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.unit {
            Unit::Dollars => f.write_str(&dollars(self.value, least_decimals(self.value))),
            Unit::Percent => write!(f, "{} %", short(self.value)),
            Unit::Tokens => write!(f, "{} tokens", whole(self.value)),
            Unit::Bytes => write!(f, "{} bytes", whole(self.value)),
            Unit::Count => f.write_str(&whole(self.value)),
        }
    }
}

impl Amount {
    /// Value of a key in TOML.
    pub fn to_toml(&self) -> String {
        let value = self.value.normalize();
        match self.unit {
            Unit::Dollars => format!("\"{value} USD\""),
            Unit::Percent => format!("\"{value} %\""),
            Unit::Tokens | Unit::Bytes | Unit::Count => value.to_string(),
        }
    }

    /// Text with all decimals.
    pub fn exact(&self) -> String {
        let value = self.value.normalize();
        match self.unit {
            Unit::Dollars => dollars(value, value.scale().max(least_decimals(value))),
            Unit::Percent => format!("{value} %"),
            Unit::Tokens | Unit::Bytes | Unit::Count => self.to_string(),
        }
    }
}

/// Least number of decimals: four below a dollar and two from one on, as in every other output.
///
/// The rounded value decides.
fn least_decimals(value: Decimal) -> u32 {
    if value.abs() < Decimal::new(99_995, 5) { 4 } else { 2 }
}

fn dollars(value: Decimal, decimals: u32) -> String {
    let sign = if value.is_sign_negative() && !value.is_zero() { "-" } else { "" };
    let mut rounded =
        value.abs().round_dp_with_strategy(decimals, RoundingStrategy::MidpointAwayFromZero);
    rounded.rescale(decimals);
    let text = rounded.to_string();
    let (integer, fraction) = text.split_once('.').unwrap_or((&text, ""));
    // An amount beyond 64 bits is written without groups.
    let integer = integer.parse().map_or_else(|_| integer.to_owned(), grouped);
    format!("{sign}${integer}.{fraction}")
}

/// Value with up to two decimals.
fn short(value: Decimal) -> Decimal {
    value.round_dp(2).normalize()
}

fn whole(value: Decimal) -> String {
    let sign = if value.is_sign_negative() && !value.is_zero() { "-" } else { "" };
    let text = value.abs().trunc().to_string();
    let text = text.parse().map_or(text, grouped);
    format!("{sign}{text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Option<String> {
        Amount::parse(text).map(|amount| amount.to_string())
    }

    #[test]
    fn amounts_are_read_as_people_write_them() {
        for text in ["0.80 USD", "$0.80", "$ 0.8", "0.80USD", "0.80 dollars"] {
            assert_eq!(shown(text).as_deref(), Some("$0.8000"), "{text}");
        }
        assert_eq!(shown("1,234.5 USD").as_deref(), Some("$1,234.50"));
        assert_eq!(shown("70 %").as_deref(), Some("70 %"));
        assert_eq!(shown("2.5 points").as_deref(), Some("2.5 %"));
        assert_eq!(shown("150k tokens").as_deref(), Some("150,000 tokens"));
        assert_eq!(shown("1.5M").as_deref(), Some("1,500,000"));
        assert_eq!(shown("3").as_deref(), Some("3"));
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        for text in [
            "",
            "USD",
            "0,80 USD",
            "1,2,3",
            "1,2345",
            "12345,678",
            "1.234,5",
            ".5 USD",
            "1.",
            "-1 USD",
            "+1",
            "1e3",
            "0.5",
            "1.5 tokens",
            "€3",
            "3 EUR",
            "1k USD",
            "k",
            "1,",
            "NaN",
            "0x10",
            "99999999999999999999999999999999",
        ] {
            assert_eq!(Amount::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_plain_number_is_one_of_tokens_but_not_of_dollars() {
        let three = Amount::parse("3").expect("an amount");
        assert_eq!(three.of_unit(Unit::Tokens).map(|amount| amount.unit), Some(Unit::Tokens));
        assert_eq!(three.of_unit(Unit::Dollars), None);
        assert_eq!(three.of_unit(Unit::Percent), None);
    }
}
