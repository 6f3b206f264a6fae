//! The outcome of a budget.

use std::cmp::Reverse;

use super::figure::Unknown;
use super::question::{FigurePair, Question, Sides};
use crate::explain::budget::{Amount, Budget, BudgetLevel, Quantity, Scope, Unit};

/// Whether a limit is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// It is kept.
    Passed,
    /// It does not apply. Only default budgets can be left out.
    LeftOut,
    /// It is exceeded and only warns, or it is kept as far as is known.
    Warned,
    /// It is exceeded.
    Failed,
}

impl Status {
    /// The word in outputs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "pass",
            Self::LeftOut => "left_out",
            Self::Warned => "warn",
            Self::Failed => "fail",
        }
    }
}

/// A session or a request that exceeds a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exceeded {
    /// The index of the session.
    pub session: usize,
    /// The index of the request in it.
    pub turn: Option<usize>,
    /// Its figure.
    pub figure: Amount,
    /// The baseline's.
    pub baseline: Option<Amount>,
}

/// The outcome of a budget.
#[derive(Clone, Debug)]
pub struct BudgetOutcome {
    /// The budget.
    pub budget: Budget,
    /// Whether its limit is kept.
    pub status: Status,
    /// The figure. For limits on each session or request, the one closest to the limit or farthest
    /// beyond.
    pub figure: Option<Amount>,
    /// That figure in the baseline, where the limit refers to it.
    pub baseline: Option<Amount>,
    /// The sessions or requests beyond the limit, farthest first.
    pub exceeded: Vec<Exceeded>,
    /// How many figures were compared with the limit.
    pub compared: usize,
    /// Requests (or breaks) of both sides without a price, which are missing in the figures.
    pub unpriced: u64,
    /// Requests of both sides that are not recorded, which are missing in the figures.
    pub unrecorded: u64,
    /// Why it does not apply.
    pub left_out: Option<Unknown>,
}

impl BudgetOutcome {
    /// The outcome of a budget that does not apply.
    pub(super) fn left_out(budget: &Budget, why: Unknown) -> Self {
        Self {
            budget: budget.clone(),
            status: Status::LeftOut,
            figure: None,
            baseline: None,
            exceeded: Vec::new(),
            compared: 0,
            unpriced: 0,
            unrecorded: 0,
            left_out: Some(why),
        }
    }
}

/// Compares both sides under a budget.
pub(super) fn outcome(sides: Sides<'_>, budget: &Budget) -> Result<BudgetOutcome, Unknown> {
    let question = Question::new(sides, budget)?;
    let mut candidates = question.candidates()?;
    let limit = budget.limit;
    let rank = |one: &FigurePair| (one.is_exceeding(limit), one.margin(limit));
    candidates.sort_by_key(|one| Reverse(rank(one)));
    let unit = budget.metric.unit();
    let (unpriced, unrecorded) = question.lacking()?;
    let is_money = unit == Unit::Dollars || budget.metric.quantity == Quantity::BreaksShare;
    let is_lacking = (unpriced > 0 && is_money) || unrecorded > 0;
    let nothing = if unpriced > 0 { Unknown::NoPrice } else { Unknown::NothingSelected };
    let worst = candidates.first().ok_or(nothing)?;
    let amount = |value| Amount { value, unit };
    let exceeded: Vec<&FigurePair> =
        candidates.iter().filter(|one| one.is_exceeding(limit)).collect();
    let status = match (exceeded.is_empty(), budget.level) {
        (true, _) if is_lacking => Status::Warned,
        (true, _) => Status::Passed,
        (false, BudgetLevel::Warn) => Status::Warned,
        (false, BudgetLevel::Fail) => Status::Failed,
    };
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
        figure: Some(amount(worst.now)),
        baseline: worst.before.map(amount),
        exceeded: exceeded.collect(),
        compared: candidates.len(),
        unpriced,
        unrecorded,
        left_out: None,
    })
}
