//! Two strategies held against each other, session by session.
//!
//! How far a sum over sessions rests on which sessions there happened to be: the percentile bootstrap
//! (Efron 1979). Sessions are drawn anew, with replacement, as many as there are; the middle 95 % of
//! the sums so found is the interval.
//!
//! Which of several strategies costs least, and how sure that is.

use std::cmp::Reverse;

use super::{Compared, Comparison};
use crate::base::id::Symbol;
use crate::base::units::Picodollars;
use crate::simulate::strategy::StrategyKind;

/// Sessions are decisive that together make up so much of all differences …
const DECISIVE_PERCENT: i128 = 80;

/// … the largest first, but no more than these.
const MOST_DECISIVE: usize = 5;

/// What a session costs under a strategy.
#[derive(Clone, Copy, Debug)]
pub(super) struct SessionCost {
    pub(super) id: Symbol,
    pub(super) cost: Option<Picodollars>,
}

/// A session that decides by how much two strategies differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decisive {
    /// `sessionId`.
    pub session: Symbol,
    /// What it costs more.
    pub difference: Picodollars,
}

/// How a strategy's cost differs from the base's over the sessions. Differences are positive where the
/// strategy costs more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paired {
    /// Of all sessions together.
    pub difference: Picodollars,
    /// The 2.5th and 97.5th percentile of that sum, were the sessions drawn anew: how far it rests on
    /// which sessions happened to be there. `None` with fewer than two.
    pub interval: Option<(Picodollars, Picodollars)>,
    /// The first quartile, the median and the third quartile of a session's difference.
    pub quartiles: Option<[Picodollars; 3]>,
    /// Sessions that cost less.
    pub cheaper: usize,
    /// Sessions that cost the same.
    pub equal: usize,
    /// Sessions that cost more.
    pub dearer: usize,
    /// The sessions with the largest differences.
    pub decisive: Vec<Decisive>,
}

/// Compares the sessions at these places, whose costs are known.
pub(super) fn pair(base: &[SessionCost], other: &[SessionCost], places: &[usize]) -> Paired {
    let mut differences: Vec<Decisive> = places
        .iter()
        .filter_map(|place| {
            let difference = other[*place].cost?.minus(base[*place].cost?);
            Some(Decisive { session: base[*place].id, difference })
        })
        .collect();
    let amounts: Vec<Picodollars> = differences.iter().map(|one| one.difference).collect();
    let count = |holds: fn(i128) -> bool| amounts.iter().filter(|amount| holds(amount.0)).count();
    let mut sorted = amounts.clone();
    sorted.sort_unstable();
    // Of equal differences the earlier session stands first.
    differences.sort_by_key(|one| Reverse(one.difference.0.abs()));
    Paired {
        difference: amounts.iter().copied().sum(),
        interval: interval(&amounts),
        quartiles: quartiles(&sorted),
        cheaper: count(|amount| amount < 0),
        equal: count(|amount| amount == 0),
        dearer: count(|amount| amount > 0),
        decisive: decisive(differences),
    }
}

/// The values at a quarter, a half and three quarters of the ranks: of an even number the lower one.
fn quartiles(sorted: &[Picodollars]) -> Option<[Picodollars; 3]> {
    let last = sorted.len().checked_sub(1)?;
    Some([1, 2, 3].map(|quarter| sorted[last * quarter / 4]))
}

/// The largest differences that make up most of their sum.
fn decisive(mut differences: Vec<Decisive>) -> Vec<Decisive> {
    let all: i128 = differences.iter().map(|one| one.difference.0.abs()).sum();
    let mut reached = 0;
    let count = differences
        .iter()
        .take(MOST_DECISIVE)
        .take_while(|one| {
            let is_needed = reached * 100 < all * DECISIVE_PERCENT;
            reached += one.difference.0.abs();
            is_needed
        })
        .count();
    differences.truncate(count);
    differences
}

/// So many draws; more move the interval by less than its own width in a thousand.
const DRAWS: usize = 1_000;

/// Steele and Vigna's `SplitMix64` (2014): the same draws on every machine.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A place among so many.
    fn place(&mut self, count: usize) -> usize {
        let high = (u128::from(self.next()) * count as u128) >> 64;
        usize::try_from(high).unwrap_or(0)
    }
}

/// The 2.5th and the 97.5th percentile of the sum; `None` of fewer than two amounts.
pub(super) fn interval(amounts: &[Picodollars]) -> Option<(Picodollars, Picodollars)> {
    if amounts.len() < 2 {
        return None;
    }
    let mut random = SplitMix(0);
    let mut sums: Vec<Picodollars> = (0..DRAWS)
        .map(|_| amounts.iter().map(|_| amounts[random.place(amounts.len())]).sum())
        .collect();
    sums.sort_unstable();
    Some((sums[DRAWS * 25 / 1_000], sums[DRAWS * 975 / 1_000 - 1]))
}

/// The cheapest strategy that somebody could follow, against the base; or where the base itself is the
/// cheapest, against the one after it.
#[derive(Clone, Copy, Debug)]
pub struct PairedVerdict<'c, 'l> {
    /// The cheapest.
    pub cheapest: &'c Compared<'l>,
    /// What it is held against.
    pub other: &'c Compared<'l>,
    /// The strategy that is not the base against the base, session by session.
    pub paired: &'c Paired,
    /// How many sessions are cheaper under the cheapest.
    pub cheaper: usize,
}

/// How many times less something costs: as measured, and between which values were the sessions drawn
/// anew.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimesLess {
    /// As measured.
    pub times: f64,
    /// The 2.5th and the 97.5th percentile.
    pub interval: Option<(f64, f64)>,
}

impl<'l> Comparison<'l> {
    /// Which strategy costs least; `None` where there are no two to choose from. What the rules expect
    /// without breaks, and the bound, are nothing that can be followed.
    #[must_use]
    pub fn verdict(&self) -> Option<PairedVerdict<'_, 'l>> {
        let base = self.base().filter(|base| base.totals.cost().is_some())?;
        let others = self.strategies.iter().skip(1).filter(|one| can_be_followed(one));
        let priced = others.filter_map(|one| Some((one.totals.cost()?, one)));
        let (cost, best) = priced.min_by_key(|(cost, _)| *cost)?;
        let paired = best.paired.as_ref()?;
        let is_cheaper = Some(cost) < base.totals.cost();
        Some(PairedVerdict {
            cheapest: if is_cheaper { best } else { base },
            other: if is_cheaper { base } else { best },
            paired,
            cheaper: if is_cheaper { paired.cheaper } else { paired.dearer },
        })
    }
}

impl PairedVerdict<'_, '_> {
    /// How many times less the cheapest costs; `None` where it costs nothing.
    #[must_use]
    pub fn times_less(&self) -> Option<TimesLess> {
        let (low, high) = (self.cheapest.totals.cost()?, self.other.totals.cost()?);
        let ratio = |high: Picodollars, low: Picodollars| {
            (low > Picodollars::ZERO).then(|| high.to_dollars_lossy() / low.to_dollars_lossy())
        };
        let is_base_cheapest = self.cheapest.paired.is_none();
        let drawn = |difference: Picodollars| {
            if is_base_cheapest {
                ratio(low + difference, low)
            } else {
                ratio(high, high + difference)
            }
        };
        let interval = self.paired.interval.and_then(|(least, most)| {
            let ends = [drawn(least)?, drawn(most)?];
            Some((ends[0].min(ends[1]), ends[0].max(ends[1])))
        });
        Some(TimesLess { times: ratio(high, low)?, interval })
    }
}

fn can_be_followed(compared: &Compared<'_>) -> bool {
    compared.applicability.is_applicable()
        && matches!(
            compared.strategy.kind,
            StrategyKind::Recorded | StrategyKind::Counterfactual(_) | StrategyKind::Cheapest(_)
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::Symbols;

    fn costs(amounts: &[Option<i128>]) -> Vec<SessionCost> {
        let mut symbols = Symbols::default();
        let cost = |(number, amount): (usize, &Option<i128>)| SessionCost {
            id: symbols.intern(&number.to_string()),
            cost: amount.map(Picodollars),
        };
        amounts.iter().enumerate().map(cost).collect()
    }

    #[test]
    fn differences_are_those_of_the_sessions() {
        let base = costs(&[Some(100), Some(50), Some(10), Some(7), Some(1)]);
        let other = costs(&[Some(160), Some(40), Some(10), Some(8), Some(2)]);
        let paired = pair(&base, &other, &[0, 1, 2, 3, 4]);
        // 60, −10, 0, 1, 1; sorted −10, 0, 1, 1, 60.
        assert_eq!(paired.difference, Picodollars(52));
        assert_eq!(paired.quartiles, Some([0, 1, 1].map(Picodollars)));
        assert_eq!((paired.cheaper, paired.equal, paired.dearer), (1, 1, 3));
        // 60 of 72 is 83 %: one session decides.
        let decisive: Vec<i128> = paired.decisive.iter().map(|one| one.difference.0).collect();
        assert_eq!(decisive, [60]);
    }

    #[test]
    fn without_sessions_there_is_nothing_to_say() {
        assert_eq!(pair(&[], &[], &[]), Paired::default());
    }

    #[test]
    fn equal_amounts_leave_no_doubt() {
        let sum = Picodollars(40);
        assert_eq!(interval(&[Picodollars(10); 4]), Some((sum, sum)));
        assert_eq!(interval(&[Picodollars(10)]), None);
    }

    #[test]
    fn the_interval_of_a_coin_is_that_of_its_binomial() {
        // 100 sessions, half of which differ by 1: the sum of a draw is binomial (100, ½), whose
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
