//! Two strategies held against each other, session by session.

use std::cmp::Reverse;

use super::interval::interval;
use crate::base::id::Symbol;
use crate::base::units::Picodollars;

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
}
