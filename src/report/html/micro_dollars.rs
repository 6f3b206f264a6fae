//! Money as a number that the page's script reads: micro-dollars, exactly.

use serde_json::value::RawValue;

use crate::base::units::Picodollars;

/// Picodollars in a micro-dollar.
const PICODOLLARS: u128 = 1_000_000;

/// An amount as a JSON number, without exponent or trailing zeros.
pub(super) fn micro_dollars(amount: Picodollars) -> Box<RawValue> {
    let sign = if amount.0 < 0 { "-" } else { "" };
    let (whole, fraction) =
        (amount.0.unsigned_abs() / PICODOLLARS, amount.0.unsigned_abs() % PICODOLLARS);
    let text = if fraction == 0 {
        format!("{sign}{whole}")
    } else {
        let digits = format!("{fraction:06}");
        format!("{sign}{whole}.{}", digits.trim_end_matches('0'))
    };
    RawValue::from_string(text).expect("digits are a number")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact() {
        let written = |amount| micro_dollars(Picodollars(amount)).get().to_owned();
        assert_eq!(written(0), "0");
        assert_eq!(written(26_977_500_000), "26977.5");
        assert_eq!(written(-1), "-0.000001");
        assert_eq!(written(-77_760_000_000), "-77760");
        assert_eq!(written(i128::MAX), "170141183460469231731687303715884.105727");
    }
}
