//! Costs of requests as programs compute them, at their own prices.

use rust_decimal::Decimal;
use serde::Deserialize;

use super::lenient::Scalar;
use crate::base::Picodollars;

/// Decimals of a dollar that are kept. Beyond them a float holds only its error.
const SMALLEST_DECIMALS: u32 = 12;

/// Amount of money; `None` if the value is not one, or negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "Scalar<'_>")]
pub(crate) struct Dollars(pub(crate) Option<Picodollars>);

impl Dollars {
    /// Amount of a decimal.
    pub(crate) fn of_decimal(dollars: Decimal) -> Self {
        let cost = Picodollars::from_decimal(dollars.round_dp(SMALLEST_DECIMALS));
        Self(cost.filter(|cost| *cost >= Picodollars::ZERO))
    }

    /// Amount of a float, which is exact to far less than a millionth of a cent.
    pub(crate) fn of_float(dollars: f64) -> Self {
        Decimal::try_from(dollars).map_or(Self(None), Self::of_decimal)
    }
}

impl From<Scalar<'_>> for Dollars {
    fn from(value: Scalar<'_>) -> Self {
        match value {
            Scalar::Whole(value) => Self::of_decimal(value.into()),
            Scalar::Fraction(value) => Self::of_float(value),
            _ => Self(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact_to_a_picodollar() {
        for (json, expected) in [
            ("0.14656875", Some(146_568_750_000)),
            ("0.048700312499999995", Some(48_700_312_500)),
            ("2", Some(2_000_000_000_000)),
            ("-1", None),
            ("-0.5", None),
            ("1e300", None),
            ("\"1\"", None),
            ("null", None),
            ("[1]", None),
            ("{\"total\":1}", None),
        ] {
            let read: Dollars = serde_json::from_str(json).expect("any value");
            assert_eq!(read.0, expected.map(Picodollars), "{json}");
        }
    }
}
