//! Costs of requests as programs compute them, at their own prices.

use std::fmt;

use rust_decimal::Decimal;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::lenient::default_for;
use crate::base::units::Picodollars;

/// Decimals of a dollar that are kept. Beyond them a float holds only its error.
const SMALLEST_DECIMALS: u32 = 12;

/// Amount of money; `None` if the value is not one, or negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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

impl<'de> Deserialize<'de> for Dollars {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DollarsVisitor)
    }
}

struct DollarsVisitor;

impl<'de> Visitor<'de> for DollarsVisitor {
    type Value = Dollars;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_f64<E>(self, value: f64) -> Result<Dollars, E> {
        Ok(Dollars::of_float(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Dollars, E> {
        Ok(Dollars::of_decimal(Decimal::from(value)))
    }

    // serde_json passes only negative numbers here.
    fn visit_i64<E>(self, _: i64) -> Result<Dollars, E> {
        Ok(Dollars(None))
    }

    default_for!(bool text null list object);
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
