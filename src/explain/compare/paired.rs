//! Comparison of two strategies session by session, and the cheapest of several with its certainty.

use std::cmp::Reverse;

use super::draws::interval;
use super::{Compared, Comparison};
use crate::base::{Order as _, Picodollars, Symbol};
use crate::simulate::ledger::Totals;
use crate::simulate::strategy::StrategyKind;

/// Per cent of all differences that decisive sessions make up together …
const DECISIVE_PERCENT: i128 = 80;

/// … largest first, but no more than this number.
const MOST_DECISIVE: usize = 5;

/// Cost of a session under a strategy.
#[derive(Clone, Copy, Debug)]
pub(super) struct SessionCost {
    pub(super) id: Symbol,
    pub(super) cost: Option<Picodollars>,
}

impl SessionCost {
    /// Cost of a session, if it is known for all its requests.
    pub(super) fn of(id: Symbol, totals: &Totals) -> Self {
        Self { id, cost: totals.whole_cost() }
    }
}

/// Session that decides the difference between two strategies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decisive {
    /// Session, by its `sessionId`.
    pub session: Symbol,
    /// Additional cost of the session; negative if it costs less.
    pub difference: Picodollars,
}

/// Difference of a strategy's cost from the base's over the sessions. A positive difference means
/// that the strategy costs more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paired {
    /// Difference over all sessions together.
    pub difference: Picodollars,
    /// 2.5th and 97.5th percentile of that sum if the sessions were drawn again. `None` for fewer than
    /// two sessions.
    pub interval: Option<(Picodollars, Picodollars)>,
    /// First quartile, median and third quartile of a session's difference.
    pub quartiles: Option<[Picodollars; 3]>,
    /// Number of sessions that cost less.
    pub cheaper: usize,
    /// Number of sessions that cost the same.
    pub equal: usize,
    /// Number of sessions that cost more.
    pub dearer: usize,
    /// Sessions with the largest differences.
    pub decisive: Vec<Decisive>,
}

/// Compares the sessions at these indexes, whose costs are known.
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
    // Of equal differences the earlier session comes first.
    differences.order_by_key(|one| Reverse(one.difference.0.abs()));
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

/// Values at a quarter, a half and three quarters of the ranks, rounded down.
fn quartiles(sorted: &[Picodollars]) -> Option<[Picodollars; 3]> {
    let last = sorted.len().checked_sub(1)?;
    Some([1, 2, 3].map(|quarter| sorted[last * quarter / 4]))
}

/// Largest differences that make up most of their sum.
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

/// Cheapest strategy that somebody could follow, compared with the base. If the base itself is
/// the cheapest, it is compared with the next one.
#[derive(Clone, Copy, Debug)]
pub struct PairedVerdict<'c, 'l> {
    /// Cheapest strategy.
    pub cheapest: &'c Compared<'l>,
    /// Strategy that it is compared with.
    pub other: &'c Compared<'l>,
    /// Comparison with the base, session by session, of the one that is not the base.
    pub paired: &'c Paired,
    /// Number of sessions that cost less under the cheapest.
    pub cheaper: usize,
}

/// Factor that something costs less by: as measured, and the interval over drawn sessions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimesLess {
    /// Measured factor.
    pub times: f64,
    /// 2.5th and 97.5th percentile of the factor.
    pub interval: Option<(f64, f64)>,
}

impl<'l> Comparison<'l> {
    /// Strategy that costs least, or `None` without two to choose from. The rules' expectation and the bound
    /// do not count, since nobody can follow them.
    pub fn verdict(&self) -> Option<PairedVerdict<'_, 'l>> {
        let base = self.base().filter(|base| base.totals.cost().is_some())?;
        let others = self.others().filter(|one| can_be_followed(one));
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
    /// Factor that the cheapest costs less by, or `None` if it costs nothing.
    pub fn times_less(&self) -> Option<TimesLess> {
        let (low, high) = (self.cheapest.totals.cost()?, self.other.totals.cost()?);
        let ratio = |high: Picodollars, low: Picodollars| {
            (low > Picodollars::ZERO).then(|| high.to_dollars_lossy() / low.to_dollars_lossy())
        };
        // Only the base has no comparison with the base.
        let is_base_cheapest = self.cheapest.paired.is_none();
        // The cost of the base stays fixed; only the difference varies with the sessions.
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
    use crate::base::Symbols;

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
}
