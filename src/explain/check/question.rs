//! What a budget asks of both sides, and the figures that answer it.

use std::collections::BTreeMap;

use rust_decimal::Decimal;

use super::figure::{Selected, Unknown, View};
use super::pairing::{Pairing, pair_turns};
use crate::explain::budget::{Budget, Limit, LimitChange, Quantity, Scope};
use crate::explain::snapshot::{Snapshot, SnapshotTurn};

/// Both sides of a run.
#[derive(Clone, Copy)]
pub(super) struct Sides<'a> {
    pub(super) now: &'a Snapshot,
    pub(super) before: Option<(&'a Snapshot, &'a Pairing)>,
    /// The strategy of budgets that name none.
    pub(super) strategy: &'a str,
}

/// A figure, what it belongs to, and the baseline's figure.
pub(super) struct FigurePair {
    pub(super) session: usize,
    pub(super) turn: Option<usize>,
    pub(super) now: Decimal,
    pub(super) before: Option<Decimal>,
}

impl FigurePair {
    /// How close it comes to the limit, or how far beyond. The largest is the worst.
    pub(super) fn margin(&self, limit: Limit) -> Decimal {
        let before = self.before.unwrap_or_default();
        let growth = match limit {
            Limit::Max(_) => Some(self.now),
            Limit::Min(_) => Decimal::ZERO.checked_sub(self.now),
            Limit::MaxIncrease(_) => self.now.checked_sub(before),
            Limit::MaxDecrease(_) => before.checked_sub(self.now),
        };
        let growth = growth.unwrap_or(Decimal::MAX);
        match limit {
            Limit::MaxIncrease(LimitChange::Relative(_))
            | Limit::MaxDecrease(LimitChange::Relative(_))
                if !growth.is_zero() =>
            {
                growth.checked_div(before).unwrap_or(Decimal::MAX)
            }
            _ => growth,
        }
    }

    pub(super) fn is_exceeding(&self, limit: Limit) -> bool {
        limit.is_kept(self.now, self.before) != Some(true)
    }
}

/// A budget, and what it selects of the run. Where its limit refers to the baseline, only sessions
/// that the baseline also has.
pub(super) struct Question<'a> {
    sides: Sides<'a>,
    budget: &'a Budget,
    view: View<'a>,
    selected: Vec<Selected<'a>>,
    earlier: Option<Earlier<'a>>,
}

/// The baseline as seen by the budget.
struct Earlier<'a> {
    snapshot: &'a Snapshot,
    pairing: &'a Pairing,
    view: View<'a>,
    /// What is selected of the sessions that the run also has.
    selected: Vec<Selected<'a>>,
}

impl<'a> Question<'a> {
    pub(super) fn new(sides: Sides<'a>, budget: &'a Budget) -> Result<Self, Unknown> {
        let view = View::new(sides.now, budget, sides.strategy)?;
        let before = sides.before.filter(|_| budget.limit.needs_baseline());
        let earlier = before.map(|(snapshot, pairing)| {
            let view = View::new(snapshot, budget, sides.strategy)?;
            let selected = view.selected(pairing.pairs.iter().map(|pair| pair.before))?;
            Ok(Earlier { snapshot, pairing, view, selected })
        });
        let earlier = earlier.transpose()?;
        let selected = match &earlier {
            Some(earlier) => view.selected(earlier.pairing.pairs.iter().map(|pair| pair.now)),
            None => view.selected(0..sides.now.sessions.len()),
        };
        Ok(Self { sides, budget, view, selected: selected?, earlier })
    }

    /// Every figure that must keep the limit.
    pub(super) fn candidates(&self) -> Result<Vec<FigurePair>, Unknown> {
        match self.budget.metric.scope {
            Scope::Total => Ok(vec![self.total()?]),
            Scope::EachSession => self.each_session(),
            Scope::EachRequest => self.each_request(),
        }
    }

    /// How many requests without a price, and how many without a record, the figures of both sides
    /// cover. For the cost of breaks, how many breaks without a price.
    pub(super) fn lacking(&self) -> Result<(u64, u64), Unknown> {
        let mut lacking = lacking_of(self.budget, &self.view, &self.selected)?;
        if let Some(earlier) = &self.earlier {
            let before = lacking_of(self.budget, &earlier.view, &earlier.selected)?;
            lacking = (lacking.0 + before.0, lacking.1 + before.1);
        }
        Ok(lacking)
    }

    fn total(&self) -> Result<FigurePair, Unknown> {
        let now = self.view.total(&self.selected)?;
        let before = self.earlier.as_ref().map(|earlier| earlier.view.total(&earlier.selected));
        Ok(FigurePair { session: 0, turn: None, now, before: before.transpose()? })
    }

    fn each_session(&self) -> Result<Vec<FigurePair>, Unknown> {
        let mut candidates = Vec::new();
        for selected in &self.selected {
            let session = selected.session;
            let before = match &self.earlier {
                None => None,
                Some(earlier) => match known(earlier.session(session))? {
                    Some(before) => Some(before),
                    // Nothing of it was selected in the baseline.
                    None => continue,
                },
            };
            let Some(now) = known(self.view.total(std::slice::from_ref(selected)))? else {
                continue;
            };
            candidates.push(FigurePair { session, turn: None, now, before });
        }
        Ok(candidates)
    }

    fn each_request(&self) -> Result<Vec<FigurePair>, Unknown> {
        let mut candidates = Vec::new();
        for selected in &self.selected {
            let session = selected.session;
            let earlier = self.earlier.as_ref();
            let earlier_turns = earlier.map(|earlier| earlier.turns(self.sides.now, session));
            let earlier_turns = earlier_turns.transpose()?;
            for (at, turn) in selected.turns.as_ref().ok_or(Unknown::NoTurns)? {
                let Some(now) = known(self.view.cost_of_turn(turn))? else { continue };
                let before = match earlier.zip(earlier_turns.as_ref()) {
                    None => None,
                    Some((earlier, turns)) => {
                        let Some(turn) = turns.get(at) else { continue };
                        let Some(before) = known(earlier.view.cost_of_turn(turn))? else {
                            continue;
                        };
                        Some(before)
                    }
                };
                candidates.push(FigurePair { session, turn: Some(*at), now, before });
            }
        }
        Ok(candidates)
    }
}

impl<'a> Earlier<'a> {
    /// The figure of the session of the baseline that is paired with one of the run.
    fn session(&self, now: usize) -> Result<Decimal, Unknown> {
        let before = self.pairing.before(now).ok_or(Unknown::NothingSelected)?;
        self.view.total(&self.view.selected([before])?)
    }

    /// The turns of a session, by the indexes of their pairs in the run.
    fn turns(
        &self,
        run: &Snapshot,
        session: usize,
    ) -> Result<BTreeMap<usize, &'a SnapshotTurn>, Unknown> {
        let before = self.pairing.before(session);
        let before = before.and_then(|before| self.snapshot.sessions[before].turns.as_ref());
        let before = before.ok_or(Unknown::NoTurns)?;
        let now = run.sessions[session].turns.as_ref().ok_or(Unknown::NoTurns)?;
        let pairs = pair_turns(before, now).into_iter();
        Ok(pairs.map(|(old, new)| (new, &before[old])).collect())
    }
}

fn lacking_of(
    budget: &Budget,
    view: &View<'_>,
    selected: &[Selected<'_>],
) -> Result<(u64, u64), Unknown> {
    let metric = budget.metric;
    if metric.is_of_breaks() && metric.quantity != Quantity::Breaks {
        return Ok((view.unpriced_breaks(selected)?, 0));
    }
    if !metric.is_of_strategy() {
        return Ok((0, 0));
    }
    let unpriced = selected.iter().map(Selected::unpriced).sum();
    Ok((unpriced, selected.iter().map(|one| one.unrecorded).sum()))
}

/// `None` for a figure that is unknown for one session or request. A figure that the report as such
/// lacks stays an error.
fn known(figure: Result<Decimal, Unknown>) -> Result<Option<Decimal>, Unknown> {
    match figure {
        Ok(figure) => Ok(Some(figure)),
        Err(Unknown::NothingSelected | Unknown::NoTokens | Unknown::NoPrice) => Ok(None),
        Err(other) => Err(other),
    }
}
