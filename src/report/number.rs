//! Numbers for people, and shares as small bars for tables on a terminal.
//!
//! Machine formats have the exact numbers.

use crate::base::units::PICODOLLARS_PER_DOLLAR;
use crate::base::wording::grouped_digits;
use crate::base::{Picodollars, Tokens};
use crate::simulate::fork::Equivalents;

pub(super) use crate::base::wording::duration;
pub use crate::base::wording::{counted, grouped};

/// Number of tokens.
pub(super) fn tokens(value: Tokens) -> String {
    grouped(value.0)
}

/// Number of tokens in three digits: `950`, `16.0k`, `1.23M`.
#[allow(clippy::cast_precision_loss)] // three digits
pub(super) fn short_tokens(value: Tokens) -> String {
    let mut number = value.0 as f64;
    if number < 1_000.0 {
        return value.0.to_string();
    }
    for unit in ["k", "M", "G", "T"] {
        number /= 1_000.0;
        // A number that rounds to a thousand has the next unit.
        match number {
            ..9.995 => return format!("{number:.2}{unit}"),
            ..99.95 => return format!("{number:.1}{unit}"),
            ..999.5 => return format!("{number:.0}{unit}"),
            _ => {}
        }
    }
    tokens(value)
}

/// Dollars of a column: all with the same number of decimals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Money {
    decimals: usize,
}

impl Money {
    /// Decimals that leave the largest amount five digits: four below ten dollars, two from a hundred on.
    pub(super) fn of(amounts: impl IntoIterator<Item = Picodollars>) -> Self {
        let largest = amounts.into_iter().map(|amount| amount.0.unsigned_abs()).max();
        let decimals = match largest.unwrap_or_default() / PICODOLLARS_PER_DOLLAR.unsigned_abs() {
            0..10 => 4,
            10..100 => 3,
            _ => 2,
        };
        Self { decimals }
    }

    /// Decimals of some amounts: four if all are below a dollar, else two.
    pub(super) fn of_column(amounts: impl IntoIterator<Item = Picodollars>) -> Self {
        // An amount that rounds to a dollar is written like one.
        let is_small = |amount: Picodollars| amount.0.unsigned_abs() < 999_950_000_000;
        Self { decimals: if amounts.into_iter().all(is_small) { 4 } else { 2 } }
    }

    /// Amount; `unknown` without a price.
    pub(super) fn shown(self, amount: Option<Picodollars>) -> String {
        let Some(amount) = amount else { return "unknown".to_owned() };
        let digits = self.digits(amount);
        format!("{}${digits}", if amount.0 < 0 && is_shown(&digits) { "-" } else { "" })
    }

    /// Digits of an amount without its sign.
    fn digits(self, amount: Picodollars) -> String {
        // At most four decimals, so the power is small.
        let scale = 10_u64.pow(u32::try_from(self.decimals).unwrap_or_default());
        let unit = PICODOLLARS_PER_DOLLAR.unsigned_abs() / u128::from(scale);
        // No bill exceeds 64 bits of cents.
        let rounded = (amount.0.unsigned_abs() + unit / 2) / unit;
        let rounded = u64::try_from(rounded).unwrap_or(u64::MAX);
        format!("{}.{:0width$}", grouped(rounded / scale), rounded % scale, width = self.decimals)
    }
}

/// Input-token equivalents, exactly.
pub(super) fn equivalents(value: Equivalents) -> String {
    let text = value.to_string();
    match text.split_once('.') {
        Some((whole, fraction)) => format!("{}.{fraction}", grouped_digits(whole)),
        None => grouped_digits(&text),
    }
}

/// Dollars with two decimals, or four below one dollar; `unknown` without a price.
pub fn dollars(amount: Option<Picodollars>) -> String {
    Money::of_column(amount).shown(amount)
}

/// Dollars, with a plus after them if requests without a price are left out.
pub(super) fn known_dollars(amount: Option<Picodollars>, unpriced: u64) -> String {
    let has_more = amount.is_some() && unpriced > 0;
    dollars(amount) + if has_more { "+" } else { "" }
}

/// Difference in dollars, with its sign.
pub(super) fn dollar_difference(amount: Option<Picodollars>) -> String {
    amount.map_or_else(|| dollars(None), |known| with_sign(dollars(amount), known))
}

/// Text of an amount, with a plus if it is more than nothing.
pub(super) fn with_sign(text: String, amount: Picodollars) -> String {
    if amount.0 > 0 && is_shown(&text) { format!("+{text}") } else { text }
}

/// Returns true if any digit but zero is left after rounding.
///
/// Zeros have no sign.
pub(super) fn is_shown(digits: &str) -> bool {
    digits.contains(|digit: char| ('1'..='9').contains(&digit))
}

/// Share as a percentage with one decimal.
pub(super) fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "–".to_owned(), |share| format!("{:.1} %", share * 100.0))
}

/// Share near 1 or 0, which needs more digits.
pub(super) fn exact_percent(share: Option<f64>) -> String {
    share.map_or_else(|| "–".to_owned(), |share| format!("{:.3} %", share * 100.0))
}

/// Relative difference with its sign; zero after rounding has none.
pub(super) fn percent_difference(share: Option<f64>) -> String {
    let Some(share) = share else { return "–".to_owned() };
    let text = format!("{:+.1} %", share * 100.0);
    if matches!(text.as_str(), "+0.0 %" | "-0.0 %") { "0.0 %".to_owned() } else { text }
}

/// Relative difference of two amounts; `None` if one is unknown or the base is zero.
pub(super) fn relative(amount: Option<Picodollars>, base: Option<Picodollars>) -> Option<f64> {
    let (amount, base) = (amount?, base.filter(|base| base.0 != 0)?);
    Some(amount.minus(base).to_dollars_lossy() / base.to_dollars_lossy())
}

/// Share of an amount in another one; `None` if one is unknown or the whole is zero.
pub(super) fn part(amount: Option<Picodollars>, whole: Option<Picodollars>) -> Option<f64> {
    let (amount, whole) = (amount?, whole.filter(|whole| whole.0 != 0)?);
    Some(amount.to_dollars_lossy() / whole.to_dollars_lossy())
}

/// Share for machine formats, rounded to six decimals; `None` if the whole is zero.
#[allow(clippy::cast_precision_loss)] // six decimals are far from the limits of a float
pub(super) fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| ((part as f64 / whole as f64) * 1e6).round() / 1e6)
}

/// Bytes in a suitable unit.
#[allow(clippy::cast_precision_loss)] // one decimal
pub(super) fn bytes(count: u64) -> String {
    match count {
        0..1_000 => format!("{count} B"),
        1_000..1_000_000 => format!("{:.1} kB", count as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", count as f64 / 1e6),
        _ => format!("{:.2} GB", count as f64 / 1e9),
    }
}

/// Eighths of a cell in a whole bar, which is ten cells wide.
const WHOLE: f64 = 80.0;

/// Partial cells, by their eighths.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// Bar for a share, full only at the whole and empty only at zero.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // between 0 and 80
pub(super) fn bar(share: Option<f64>) -> String {
    let Some(share) = share.filter(|share| *share > 0.0) else { return String::new() };
    // Below an eighth the bar would be empty, and the share would look like zero.
    let eighths = (share.min(1.0) * WHOLE).max(1.0) as usize;
    "█".repeat(eighths / EIGHTHS.len()) + EIGHTHS[eighths % EIGHTHS.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(dollars(Some(Picodollars(26_977_500_000))), "$0.0270");
        assert_eq!(dollars(Some(Picodollars(1_234_565_000_000_000))), "$1,234.57");
        assert_eq!(dollar_difference(Some(Picodollars(-500_000_000_000))), "-$0.5000");
        assert_eq!(dollar_difference(Some(Picodollars(500_000_000_000))), "+$0.5000");
        assert_eq!(dollar_difference(Some(Picodollars(49_000_000))), "$0.0000");
        assert_eq!(dollars(Some(Picodollars(-49_000_000))), "$0.0000");
        assert_eq!(dollars(Some(Picodollars(999_949_999_999))), "$0.9999");
        assert_eq!(dollars(Some(Picodollars(999_950_000_000))), "$1.00");
        assert_eq!(dollars(Some(Picodollars(1_234_567_000_000))), "$1.23");
        assert_eq!(dollar_difference(Some(Picodollars(-9_990_000_000_000))), "-$9.99");
        assert_eq!(dollars(None), "unknown");
        assert_eq!(percent_difference(Some(-0.000_4)), "0.0 %");
        assert_eq!(percent_difference(Some(0.0)), "0.0 %");
        assert_eq!(percent_difference(Some(0.000_5)), "+0.1 %");
        assert_eq!(percent_difference(Some(-0.25)), "-25.0 %");
        assert_eq!(percent(Some(0.98765)), "98.8 %");
        assert_eq!(equivalents(Equivalents(31_315_000_000)), "31,315");
        assert_eq!(equivalents(Equivalents(1_250_100_000)), "1,250.1");
        assert_eq!(share(1, 3), Some(0.333_333));
        assert_eq!(share(0, 0), None);
    }

    #[test]
    fn tokens_have_three_digits() {
        let cases = [
            (0, "0"),
            (999, "999"),
            (1_000, "1.00k"),
            (9_994, "9.99k"),
            (9_995, "10.0k"),
            (16_000, "16.0k"),
            (99_960, "100k"),
            (163_512, "164k"),
            (999_600, "1.00M"),
            (1_234_567, "1.23M"),
        ];
        for (count, text) in cases {
            assert_eq!(short_tokens(Tokens(count)), text);
        }
    }

    #[test]
    fn a_column_of_dollars_has_one_number_of_decimals() {
        let [cent, twelve] = [10_000_000_000, 12_345_678_900_000].map(Picodollars);
        let money = Money::of([cent, twelve]);
        assert_eq!([cent, twelve].map(|one| money.shown(Some(one))), ["$0.010", "$12.346"]);
        assert_eq!(Money::of([cent]).shown(Some(cent)), "$0.0100");
        assert_eq!(Money::of([Picodollars(2_500 * cent.0 * 100)]).shown(Some(cent)), "$0.01");
        assert_eq!(Money::of([]).shown(Some(Picodollars(-1))), "$0.0000");
        assert_eq!(Money::of([]).shown(Some(Picodollars(-twelve.0))), "-$12.3457");
        assert_eq!(money.shown(None), "unknown");
    }

    #[test]
    fn bytes_have_the_unit_that_fits() {
        assert_eq!(bytes(1_234_567), "1.2 MB");
    }

    #[test]
    fn bars_are_as_long_as_their_shares() {
        assert_eq!(bar(Some(1.0)), "██████████");
        assert_eq!(bar(Some(0.5)), "█████");
        // 0.33 · 80 = 26.4 eighths: 3 cells and 2 eighths.
        assert_eq!(bar(Some(0.33)), "███▎");
        for (eighths, last) in (1..8).zip(["▏", "▎", "▍", "▌", "▋", "▊", "▉"]) {
            assert_eq!(bar(Some(f64::from(eighths) / 80.0)), last);
        }
    }

    #[test]
    fn only_all_is_full_and_only_nothing_is_empty() {
        assert_eq!(bar(Some(0.999_999)), "█████████▉");
        assert_eq!(bar(Some(0.000_001)), "▏");
        assert_eq!(bar(Some(0.0)), "");
        assert_eq!(bar(None), "");
    }

    #[test]
    fn what_is_no_share_has_a_bar_all_the_same() {
        assert_eq!(bar(Some(2.0)), "██████████");
        assert_eq!(bar(Some(f64::INFINITY)), "██████████");
        assert_eq!(bar(Some(-1.0)), "");
        assert_eq!(bar(Some(f64::NAN)), "");
    }
}
