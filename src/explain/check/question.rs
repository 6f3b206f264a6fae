//! Question of a budget to both sides, the figures that answer it, and the outcome.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use rust_decimal::Decimal;
use rustc_hash::{FxHashMap, FxHashSet};

use super::figure::{Selected, Unknown, View};
use super::pairing::{Pairing, SessionPair, pair_turns};
use super::unlisted::{self, Change};
use crate::base::{ByKey, Order as _, words};
use crate::explain::budget::{
    Amount, Budget, BudgetLevel, Limit, LimitChange, Quantity, Scope, Unit,
};
use crate::explain::snapshot::{Snapshot, SnapshotTurn};

words! {
    /// Result of a budget.
    pub enum Status {
        /// Kept.
        Passed = "pass";
        /// Not applicable. Only default budgets can be left out, budgets against a baseline that this run makes, and
        /// budgets on captured prompts if rows are checked.
        LeftOut = "left_out";
        /// Exceeded by a budget that only warns, or kept by the known figures.
        Warned = "warn";
        /// Exceeded.
        Failed = "fail";
    }
}

/// Session or request that exceeds a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exceeded {
    /// Index of the session.
    pub session: usize,
    /// Index of the request in the session.
    pub turn: Option<usize>,
    /// Figure of the run.
    pub figure: Amount,
    /// Figure of the baseline, if the limit refers to it.
    pub baseline: Option<Amount>,
}

/// Outcome of a budget.
#[derive(Clone, Debug)]
pub struct BudgetOutcome {
    /// Budget with its limit.
    pub budget: Budget,
    /// Result of the budget.
    pub status: Status,
    /// True if the limit is exceeded. A budget that warns may be kept by the known figures.
    pub is_exceeded: bool,
    /// Figure of the run. For limits on each session or request, the one closest to the limit or farthest
    /// beyond.
    pub figure: Option<Amount>,
    /// Figure of the baseline in the same place, if the limit refers to it.
    pub baseline: Option<Amount>,
    /// Sessions or requests beyond the limit, farthest first.
    pub exceeded: Vec<Exceeded>,
    /// Number of figures that were compared with the limit.
    pub compared: usize,
    /// Requests (or breaks) of both sides without a price, which are missing in the figures.
    pub unpriced: u64,
    /// Requests of both sides that are not recorded, which are missing in the figures.
    pub unrecorded: u64,
    /// Requests that the selection, or the input, has on one side alone; nothing is compared with them.
    pub one_sided: u64,
    /// Requests in the figure that the service refuses and that the budget does not allow.
    pub refused: u64,
    /// Changes that a budget on unlisted changes counts.
    pub unlisted: Vec<Change>,
    /// Reason why it does not apply.
    pub left_out: Option<Unknown>,
}

impl BudgetOutcome {
    /// Outcome of a budget that does not apply.
    pub(super) fn left_out(budget: &Budget, why: Unknown) -> Self {
        Self { left_out: Some(why), ..Self::new(budget) }
    }

    /// Outcome without a figure.
    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            budget: budget.clone(),
            status: Status::LeftOut,
            is_exceeded: false,
            figure: None,
            baseline: None,
            exceeded: Vec::new(),
            compared: 0,
            unpriced: 0,
            unrecorded: 0,
            one_sided: 0,
            refused: 0,
            unlisted: Vec::new(),
            left_out: None,
        }
    }
}

/// Both sides of a run.
#[derive(Clone, Copy)]
pub(super) struct Sides<'a> {
    /// The run, for limits that refer to no baseline.
    pub(super) alone: &'a Snapshot,
    /// The run and its baseline, if there is one.
    pub(super) compared: Option<ComparedSides<'a>>,
    /// Everything that differs from the baseline by its name.
    pub(super) changes: &'a BTreeSet<Change>,
    /// True if the run is saved as the baseline that does not exist yet.
    pub(super) makes_baseline: bool,
    /// Strategy of budgets that name none.
    pub(super) strategy: &'a str,
}

/// A run and its baseline, with figures of one kind.
#[derive(Clone, Copy)]
pub(super) struct ComparedSides<'a> {
    pub(super) before: &'a Snapshot,
    pub(super) now: &'a Snapshot,
    pub(super) pairing: &'a Pairing,
}

/// Figure with its session or request, and the baseline's figure.
pub(super) struct FigurePair {
    pub(super) session: usize,
    pub(super) turn: Option<usize>,
    pub(super) now: Decimal,
    pub(super) before: Option<Decimal>,
}

impl FigurePair {
    /// Distance beyond the limit, or closeness to it. The largest is the worst.
    pub(super) fn margin(&self, limit: Limit) -> Decimal {
        let before = self.before.unwrap_or_default();
        let growth = match limit {
            Limit::Max(_) => Some(self.now),
            Limit::Min(_) => Decimal::ZERO.checked_sub(self.now),
            Limit::MaxIncrease(_) => self.now.checked_sub(before),
            Limit::MaxDecrease(_) => before.checked_sub(self.now),
        };
        let growth = growth.unwrap_or(Decimal::MAX);
        // No growth is no per cent, also against a baseline of zero.
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

/// Budget with its selection from the run: from the sessions that the baseline has, too, if its limit
/// refers to that.
pub(super) struct Question<'a> {
    run: &'a Snapshot,
    budget: &'a Budget,
    view: View<'a>,
    selected: Vec<Selected<'a>>,
    earlier: Option<Earlier<'a>>,
}

/// Baseline as seen by the budget.
struct Earlier<'a> {
    snapshot: &'a Snapshot,
    pairing: &'a Pairing,
    view: View<'a>,
    /// Selection from the sessions that the run also has.
    selected: Vec<Selected<'a>>,
}

impl<'a> Question<'a> {
    pub(super) fn new(sides: Sides<'a>, budget: &'a Budget) -> Result<Self, Unknown> {
        let compared = sides.compared.filter(|_| budget.limit.needs_baseline());
        let run = compared.map_or(sides.alone, |compared| compared.now);
        let view = View::new(run, budget, sides.strategy)?;
        let earlier = compared.map(|ComparedSides { before: snapshot, pairing, .. }| {
            let view = View::new(snapshot, budget, sides.strategy)?;
            let selected = view.selected(pairing.pairs.iter().map(|pair| pair.before))?;
            Ok(Earlier { snapshot, pairing, view, selected })
        });
        let earlier = earlier.transpose()?;
        let selected = match &earlier {
            Some(earlier) => view.selected(earlier.pairing.pairs.iter().map(|pair| pair.now)),
            None => view.selected(0..run.sessions.len()),
        };
        Ok(Self { run, budget, view, selected: selected?, earlier })
    }

    /// Figures that must keep the limit.
    pub(super) fn candidates(&self) -> Result<Vec<FigurePair>, Unknown> {
        match self.budget.metric.scope {
            Scope::Total => Ok(vec![self.total()?]),
            Scope::EachSession => self.each_session(),
            Scope::EachRequest => self.each_request(),
        }
    }

    /// Numbers of requests without a price and without a record in the figures of both sides. For the cost
    /// of breaks, the number of breaks without a price.
    pub(super) fn lacking(&self) -> Result<(u64, u64), Unknown> {
        let mut lacking = lacking_of(self.budget, &self.view, &self.selected)?;
        if let Some(earlier) = &self.earlier {
            let before = lacking_of(self.budget, &earlier.view, &earlier.selected)?;
            lacking = (lacking.0 + before.0, lacking.1 + before.1);
        }
        Ok(lacking)
    }

    /// Number of requests that are selected on one side alone, in sessions that both have. Added requests count
    /// if requests are compared one by one; otherwise they are in the figure.
    fn one_sided(&self) -> u64 {
        let Some(earlier) = &self.earlier else { return 0 };
        let (was, is) = (places(&earlier.selected), places(&self.selected));
        let none = FxHashSet::default();
        let is_each = self.budget.metric.scope == Scope::EachRequest;
        if !is_each && !self.budget.selector.is_partial() {
            return 0;
        }
        let of_pair = |pair: &SessionPair| -> u64 {
            let sides = (
                earlier.snapshot.sessions[pair.before].turns.as_ref(),
                self.run.sessions[pair.now].turns.as_ref(),
            );
            let (Some(before), Some(now)) = sides else { return 0 };
            let was = was.get(&pair.before).unwrap_or(&none);
            let is = is.get(&pair.now).unwrap_or(&none);
            let pairs = pair_turns(before, now);
            let moved = pairs.iter().filter(|(old, new)| was.contains(old) != is.contains(new));
            let paired: FxHashSet<usize> = pairs.iter().map(|(_, new)| *new).collect();
            let added = is.difference(&paired).count();
            (moved.count() + if is_each { added } else { 0 }) as u64
        };
        earlier.pairing.pairs.iter().map(of_pair).sum()
    }

    /// Number of selected requests that the service refuses and the budget does not allow, if it is on a cost. They
    /// cost nothing, so that a sum of them says nothing.
    fn refused(&self) -> u64 {
        if !self.budget.metric.is_cost() {
            return 0;
        }
        let turns = self.selected.iter().flat_map(|one| one.turns.iter().flatten());
        turns.filter(|(_, turn)| self.view.refuses(turn)).count() as u64
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
            let earlier_turns = earlier.map(|earlier| earlier.turns(self.run, session));
            let earlier_turns = earlier_turns.transpose()?;
            for (at, turn) in selected.turns.as_ref().ok_or(Unknown::NoTurns)? {
                let Some(now) = known(self.view.of_turn(turn))? else { continue };
                let before = match earlier.zip(earlier_turns.as_ref()) {
                    None => None,
                    Some((earlier, turns)) => {
                        // Without a counterpart there is nothing to compare with; it counts as one-sided.
                        let Some(turn) = turns.get(at) else { continue };
                        let Some(before) = known(earlier.view.of_turn(turn))? else {
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
    /// Figure of the baseline's session that is paired with one of the run.
    fn session(&self, now: usize) -> Result<Decimal, Unknown> {
        let before = self.pairing.before(now).ok_or(Unknown::NothingSelected)?;
        self.view.total(&self.view.selected([before])?)
    }

    /// Turns of a session, by the indexes of their pairs in the run.
    fn turns(
        &self,
        run: &Snapshot,
        session: usize,
    ) -> Result<ByKey<usize, &'a SnapshotTurn>, Unknown> {
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
        return Ok((view.breaks_costs(selected)?.unknown, 0));
    }
    // Sizes, prefixes and findings need neither prices nor records.
    if !metric.is_of_strategy() {
        return Ok((0, 0));
    }
    let unpriced = selected.iter().map(Selected::unpriced).sum();
    Ok((unpriced, selected.iter().map(|one| one.unrecorded).sum()))
}

/// Selected turns of each session.
fn places(selected: &[Selected<'_>]) -> FxHashMap<usize, FxHashSet<usize>> {
    let turns = |one: &Selected<'_>| one.turns.iter().flatten().map(|(at, _)| *at).collect();
    selected.iter().map(|one| (one.session, turns(one))).collect()
}

/// Figure, or `None` if it is unknown for one session or request. A figure that the report as such
/// lacks stays an error.
fn known(figure: Result<Decimal, Unknown>) -> Result<Option<Decimal>, Unknown> {
    match figure {
        Ok(figure) => Ok(Some(figure)),
        Err(Unknown::NothingSelected | Unknown::NoTokens | Unknown::NoPrice) => Ok(None),
        Err(other) => Err(other),
    }
}

/// Compares both sides under a budget.
pub(super) fn outcome(sides: Sides<'_>, budget: &Budget) -> Result<BudgetOutcome, Unknown> {
    if budget.metric.quantity == Quantity::UnlistedChanges {
        return Ok(unlisted::outcome(sides.changes, budget));
    }
    let question = Question::new(sides, budget)?;
    let mut candidates = question.candidates()?;
    let limit = budget.limit;
    let rank = |one: &FigurePair| (one.is_exceeding(limit), one.margin(limit));
    candidates.order_by_key(|one| Reverse(rank(one)));
    let unit = budget.metric.unit();
    let (unpriced, unrecorded) = question.lacking()?;
    let is_money = unit == Unit::Dollars || budget.metric.quantity == Quantity::BreaksShare;
    let is_lacking = (unpriced > 0 && is_money) || unrecorded > 0;
    let nothing = match budget.metric.is_size() {
        true => Unknown::NoCaptures,
        false if unpriced > 0 => Unknown::NoPrice,
        false => Unknown::NothingSelected,
    };
    let worst = candidates.first().ok_or(nothing)?;
    let amount = |value| Amount { value, unit };
    let exceeded: Vec<&FigurePair> =
        candidates.iter().filter(|one| one.is_exceeding(limit)).collect();
    let one_sided = question.one_sided();
    let refused = question.refused();
    let is_exceeded = !exceeded.is_empty() || refused > 0;
    let status = match (is_exceeded, budget.level) {
        // A limit that a part of the figures keeps is not known to be kept.
        (false, _) if is_lacking || one_sided > 0 => Status::Warned,
        (false, _) => Status::Passed,
        (true, BudgetLevel::Warn) => Status::Warned,
        (true, BudgetLevel::Fail) => Status::Failed,
    };
    // A total is the figure itself, so nothing is listed as exceeding it.
    let exceeded = exceeded.into_iter().filter(|_| budget.metric.scope != Scope::Total);
    let exceeded = exceeded.map(|one| Exceeded {
        session: one.session,
        turn: one.turn,
        figure: amount(one.now),
        baseline: one.before.map(amount),
    });
    Ok(BudgetOutcome {
        budget: budget.clone(),
        status,
        is_exceeded,
        figure: Some(amount(worst.now)),
        baseline: worst.before.map(amount),
        exceeded: exceeded.collect(),
        compared: candidates.len(),
        unpriced,
        unrecorded,
        one_sided,
        refused,
        unlisted: Vec::new(),
        left_out: None,
    })
}
