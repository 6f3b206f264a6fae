//! Uncertainty of a sum over the sessions, by the percentile bootstrap (Efron 1979): the same number of sessions is
//! drawn with replacement, again and again, and the middle 95 % of their sums is the interval.

use crate::base::Picodollars;

/// Number of draws. Other draws would move an end of the interval by about a fiftieth of its width.
pub(super) const DRAWS: usize = 1_000;

/// Steele and Vigna's `SplitMix64` (2014), which draws the same on every machine.
pub(super) struct SplitMix(pub(super) u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Random index below `count`.
    pub(super) fn place(&mut self, count: usize) -> usize {
        // Lemire's multiplication instead of a modulus; its bias is negligible for numbers of sessions.
        let high = (u128::from(self.next()) * count as u128) >> 64;
        usize::try_from(high).unwrap_or(0)
    }
}

/// 2.5th and 97.5th percentile of the sum, or `None` for fewer than two amounts.
pub(super) fn interval(amounts: &[Picodollars]) -> Option<(Picodollars, Picodollars)> {
    if amounts.len() < 2 {
        return None;
    }
    // A fixed seed: the same sessions give the same interval in every run.
    let mut random = SplitMix(0);
    let mut sums: Vec<Picodollars> = (0..DRAWS)
        .map(|_| amounts.iter().map(|_| amounts[random.place(amounts.len())]).sum())
        .collect();
    sums.sort_unstable();
    Some(middle(&sums))
}

/// 2.5th and 97.5th percentile of sorted draws.
pub(super) fn middle<T: Copy>(sorted: &[T]) -> (T, T) {
    (sorted[DRAWS * 25 / 1_000], sorted[DRAWS * 975 / 1_000 - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_amounts_leave_no_doubt() {
        let sum = Picodollars(40);
        assert_eq!(interval(&[Picodollars(10); 4]), Some((sum, sum)));
        assert_eq!(interval(&[Picodollars(10)]), None);
    }

    #[test]
    fn the_interval_of_a_coin_is_that_of_its_binomial() {
        // 100 sessions, half of them with a difference of 1: the sum of a draw is binomial (100, ½), whose
        // 2.5th and 97.5th percentiles are 40 and 60.
        let amounts: Vec<Picodollars> = (0..100).map(|number| Picodollars(number % 2)).collect();
        let (low, high) = interval(&amounts).expect("enough sessions");
        assert!((low.0 - 40).abs() <= 1 && (high.0 - 60).abs() <= 1, "{low:?} {high:?}");
    }

    #[test]
    fn the_generator_is_the_published_one() {
        // The first outputs of SplitMix64 with seed 0, as published with its reference code.
        let mut random = SplitMix(0);
        assert_eq!(random.next(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(random.next(), 0x6e78_9e6a_a1b9_65f4);
    }
}
