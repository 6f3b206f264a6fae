//! A run held against budgets and a baseline: which limits it keeps, and, where it differs from the
//! baseline, in which sessions, which turns and why.
//!
//! A run and its baseline are the same type: a `Snapshot` is made of the ledger, or of a report
//! that was saved from one, so a figure of either side is worked out by one function
//! (`explain/check/figure.rs`), exactly, in decimals. Changes are held against limits over the
//! sessions that both sides have: found by id, else by file, else by order where as many are left
//! (`explain/check/pairing.rs`). A question that has no answer is an error, never a pass: nothing
//! selected, nothing priced, no baseline. What differs is worked out whatever the budgets say
//! (`explain/check/difference.rs`): turns are paired by request id, else in their order; of
//! captured prompts a baseline has only fingerprints (length, digest, digests of fields of tools
//! and of up to 64 pieces of each block), which name the part, the field and the first bytes that
//! differ, and hold no text.
//!
//! All budgets held against a run.

mod difference;
mod figure;
mod outcome;
mod pairing;
mod prompt_change;
mod question;
mod turn_change;

pub use difference::{PromptDifference, RunDifference, SessionChange};
pub use figure::Unknown;
pub use outcome::{BudgetOutcome, Exceeded, Status};
pub use pairing::{MatchedBy, Pairing, SessionPair};
pub use prompt_change::{PromptChange, PromptChangeKind};
pub use turn_change::{TurnChange, TurnReason, TurnTokens};

use question::Sides;

use crate::explain::budget::Budget;
use crate::explain::snapshot::{Figures, Snapshot};
use crate::read::capture::WireTree;

/// What a run comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Every limit is kept.
    Pass,
    /// Every limit that fails a run is.
    Warn,
    /// One is not.
    Fail,
}

impl Verdict {
    /// The word in outputs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// What is checked.
#[derive(Clone, Copy, Debug)]
pub struct Checked<'a> {
    /// The run.
    pub now: &'a Snapshot,
    /// The baseline.
    pub before: Option<&'a Snapshot>,
    /// The budgets, in the order of their file.
    pub budgets: &'a [Budget],
    /// The bytes of the run's prompts.
    pub tree: &'a WireTree,
}

/// A run held against budgets and a baseline.
#[derive(Clone, Debug)]
pub struct Check {
    /// What it comes to.
    pub verdict: Verdict,
    /// What became of each budget.
    pub outcomes: Vec<BudgetOutcome>,
    /// The strategy of budgets that name none: the record, or its replay where some request is not
    /// recorded.
    pub strategy: &'static str,
    /// Everything of the run under that strategy.
    pub total: Figures,
    /// What differs from the baseline.
    pub difference: Option<RunDifference>,
}

/// Why nothing can be said.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// No request has a price.
    #[error(
        "nothing was priced: no request is of a model with a price; give one with --prices FILE"
    )]
    NothingPriced,
    /// No session of the run is one of the baseline.
    #[error(
        "no session of the baseline is in the input, by id, by file or by order; save the baseline \
         anew from the same sessions"
    )]
    NothingInCommon,
    /// Tokens of one side are no tokens of the other.
    #[error(
        "the baseline measures captured prompts with --tokens {before}, this run with --tokens {now}; \
         measure both alike"
    )]
    OtherCounting {
        /// That of the baseline.
        before: String,
        /// That of the run.
        now: String,
    },
    /// No budget applies.
    #[error("no budget applies to this input")]
    NothingChecked,
    /// A limit about a baseline, and none is there.
    #[error(
        "the budget `{name}` is about a baseline; give one with --baseline FILE, or save one with \
         `cachesim check PATH --export report=FILE`"
    )]
    NoBaseline {
        /// The budget.
        name: String,
    },
    /// A figure is not known.
    #[error("the budget `{name}`: {problem}")]
    Unknown {
        /// The budget.
        name: String,
        /// Why.
        problem: Unknown,
    },
}

impl CheckError {
    /// The budget that is meant.
    #[must_use]
    pub fn budget(&self) -> Option<&str> {
        match self {
            Self::NoBaseline { name, .. } | Self::Unknown { name, .. } => Some(name),
            Self::NothingPriced
            | Self::NothingInCommon
            | Self::NothingChecked
            | Self::OtherCounting { .. } => None,
        }
    }

    /// Whether the input lacks something, rather than the configuration or the baseline.
    #[must_use]
    pub fn is_about_input(&self) -> bool {
        match self {
            Self::NothingPriced | Self::NothingInCommon | Self::NothingChecked => true,
            Self::NoBaseline { .. } | Self::OtherCounting { .. } => false,
            Self::Unknown { problem, .. } => {
                !matches!(problem, Unknown::NoTurns | Unknown::NoStrategy(_) | Unknown::NoLint)
            }
        }
    }
}

/// Holds a run against its budgets and its baseline.
///
/// # Errors
/// Where a question cannot be answered: a run must not pass for that.
pub fn check(checked: Checked<'_>) -> Result<Check, CheckError> {
    let Checked { now, before, budgets, tree } = checked;
    let strategy = default_strategy(now);
    let total = total(now, strategy).filter(|total| total.known_cost().is_some());
    let total = total.ok_or(CheckError::NothingPriced)?;
    before.map_or(Ok(()), |before| check_counting(before, now))?;
    let pairing = before.map(|before| Pairing::new(&before.sessions, &now.sessions));
    if pairing.as_ref().is_some_and(|pairing| pairing.pairs.is_empty()) {
        return Err(CheckError::NothingInCommon);
    }
    let sides = Sides { now, before: before.zip(pairing.as_ref()), strategy };
    let outcomes =
        budgets.iter().map(|budget| outcome(sides, budget)).collect::<Result<Vec<_>, _>>()?;
    if outcomes.iter().all(|outcome| outcome.status == Status::LeftOut) {
        return Err(CheckError::NothingChecked);
    }
    let difference = before.zip(pairing);
    let difference = difference
        .and_then(|(before, pairing)| RunDifference::new(before, now, pairing, strategy, tree));
    Ok(Check { verdict: verdict(&outcomes), outcomes, strategy, total, difference })
}

fn check_counting(before: &Snapshot, now: &Snapshot) -> Result<(), CheckError> {
    match (&before.counting, &now.counting) {
        (Some(before), Some(now)) if before != now => {
            Err(CheckError::OtherCounting { before: before.clone(), now: now.clone() })
        }
        _ => Ok(()),
    }
}

/// The record says most, where there is one of every request.
fn default_strategy(now: &Snapshot) -> &'static str {
    let billed = now.strategy("billed");
    let mut turns = now.sessions.iter().flat_map(|session| session.turns.iter().flatten());
    let is_recorded = billed.is_some_and(|column| turns.all(|turn| turn.figures[column].is_some()));
    if is_recorded { "billed" } else { "replay" }
}

fn total(now: &Snapshot, strategy: &str) -> Option<Figures> {
    let column = now.strategy(strategy)?;
    Figures::sum(now.sessions.iter().filter_map(|session| session.totals[column].as_ref()))
}

fn outcome(sides: Sides<'_>, budget: &Budget) -> Result<BudgetOutcome, CheckError> {
    let name = budget.name.clone();
    if budget.limit.needs_baseline() && sides.before.is_none() {
        return Err(CheckError::NoBaseline { name });
    }
    match outcome::outcome(sides, budget) {
        Ok(outcome) => Ok(outcome),
        Err(problem) if budget.is_default && problem.is_inapplicable() => {
            Ok(BudgetOutcome::left_out(budget, problem))
        }
        Err(problem) => Err(CheckError::Unknown { name, problem }),
    }
}

fn verdict(outcomes: &[BudgetOutcome]) -> Verdict {
    let is = |status| outcomes.iter().any(|outcome| outcome.status == status);
    if is(Status::Failed) {
        Verdict::Fail
    } else if is(Status::Warned) {
        Verdict::Warn
    } else {
        Verdict::Pass
    }
}
