//! Sums of money of which some parts may be unknown.

use derive_more::with_trait::AddAssign;

use super::units::Picodollars;

/// Sum of amounts, of which some may be unknown.
#[derive(AddAssign, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KnownSum {
    /// Sum of the known amounts.
    pub sum: Picodollars,
    /// Number of known amounts.
    pub known: u64,
    /// Number of unknown amounts, which the sum lacks.
    pub unknown: u64,
}

impl KnownSum {
    /// Adds an amount, or counts it as unknown.
    pub fn add(&mut self, amount: Option<Picodollars>) {
        self.sum += amount.unwrap_or_default();
        self.known += u64::from(amount.is_some());
        self.unknown += u64::from(amount.is_none());
    }

    /// Sum of the known amounts; `None` if all amounts are unknown.
    pub fn value(self) -> Option<Picodollars> {
        (self.known > 0 || self.unknown == 0).then_some(self.sum)
    }

    /// Sum of all amounts; `None` if any is unknown.
    pub fn whole(self) -> Option<Picodollars> {
        (self.unknown == 0).then_some(self.sum)
    }
}

impl FromIterator<Option<Picodollars>> for KnownSum {
    fn from_iter<I: IntoIterator<Item = Option<Picodollars>>>(amounts: I) -> Self {
        let mut sum = Self::default();
        amounts.into_iter().for_each(|amount| sum.add(amount));
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_unknown_only_if_all_of_it_is() {
        let sum = |amounts: &[Option<i128>]| -> KnownSum {
            amounts.iter().map(|amount| amount.map(Picodollars)).collect()
        };
        for (amounts, value, whole) in [
            (&[][..], Some(0), Some(0)),
            (&[None], None, None),
            (&[None, Some(2), Some(3)], Some(5), None),
            (&[Some(2), Some(3)], Some(5), Some(5)),
        ] {
            let sum = sum(amounts);
            assert_eq!(sum.value(), value.map(Picodollars), "{amounts:?}");
            assert_eq!(sum.whole(), whole.map(Picodollars), "{amounts:?}");
        }
    }
}
