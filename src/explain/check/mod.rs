//! Check of a run against budgets and a baseline: the limits that it keeps, the sessions and turns that
//! differ from the baseline, and the reasons.
//!
//! A run and its baseline have the same type, a `Snapshot`, made from the ledger or from a report
//! saved from one. So one function computes a figure of either side (`figure.rs`), exactly, in
//! decimals. Limits on changes apply to the sessions that both sides have, paired by id, else by
//! file, else by order if both sides have the same number left (`pairing.rs`). A question without an
//! answer is an error, never a pass: nothing selected, nothing priced, no baseline.
//!
//! The differences are computed whatever the budgets say (`difference.rs`). Turns are paired by
//! request id, else in order. A baseline has only fingerprints of captured prompts (length, digest,
//! and digests of tool fields and of up to 64 pieces of each block). They identify the part, the
//! field and the first bytes that differ, and contain no text.

mod comparable;
mod difference;
mod figure;
mod first;
mod pairing;
mod prompt_change;
mod question;
mod setting_change;
mod turn_change;
mod unlisted;

pub use comparable::{CountedSession, UsageFault};
pub use difference::{PromptDifference, RunDifference, SessionChange};
pub use figure::Unknown;
pub use first::{FirstBudget, first_budgets};
pub use pairing::{MatchedBy, Pairing, SessionPair};
pub use prompt_change::{PromptChange, PromptChangeKind};
pub use question::{BudgetOutcome, Exceeded, Status};
pub use setting_change::SettingChange;
pub use turn_change::{TurnChange, TurnReason, TurnTokens};
pub use unlisted::Change;

use std::borrow::Cow;

use comparable::Comparable;
use question::{ComparedSides, Sides};

use crate::base::words;
use crate::explain::budget::{Budget, Metric, no_more_damage};
use crate::explain::snapshot::{Figures, Snapshot};
use crate::read::capture::WireTree;

words! {
    /// Result of a run.
    pub enum Verdict {
        /// Every limit is kept.
        Pass = "pass";
        /// Every limit that can fail a run is kept.
        Warn = "warn";
        /// A limit that fails the run is exceeded.
        Fail = "fail";
    }
}

/// Input of a check.
#[derive(Clone, Copy, Debug)]
pub struct Checked<'a> {
    /// Snapshot of the run.
    pub now: &'a Snapshot,
    /// Snapshot of the baseline, if there is one.
    pub before: Option<&'a Snapshot>,
    /// True if the run is saved as the baseline that does not exist yet.
    pub makes_baseline: bool,
    /// Budgets, in the order of their file.
    pub budgets: &'a [Budget],
    /// Bytes of the run's prompts.
    pub tree: &'a WireTree,
}

/// Result of comparing a run with budgets and a baseline.
#[derive(Clone, Debug)]
pub struct Check {
    /// Overall verdict.
    pub verdict: Verdict,
    /// Outcome of each budget.
    pub outcomes: Vec<BudgetOutcome>,
    /// Strategy of budgets that name none: the record, or its replay if some request is not recorded.
    pub strategy: &'static str,
    /// Figures of the whole run under that strategy.
    pub total: Figures,
    /// Differences from the baseline; `None` without one.
    pub difference: Option<RunDifference>,
    /// Sessions whose figures come from the rules and the bytes of their prompts on both sides, since the
    /// recorded usage does not count.
    pub counted: Vec<CountedSession>,
    /// Number of the baseline's requests that the run lacks. They are in no figure of the baseline.
    pub gone: usize,
    /// Number of requests without a captured prompt that have the id of one of the baseline's and another
    /// usage, which a service never changes.
    pub edited: usize,
    /// Settings of requests that differ from the baseline.
    pub settings: Vec<SettingChange>,
    /// Number of captured requests with settings that the baseline does not know, such as one of an older version.
    pub unknown_settings: usize,
    /// Number of places with lost input beyond the baseline's.
    pub damage: u64,
    /// Number of sessions without recorded usage throughout, whose figures come from the rules beside recorded ones.
    pub unrecorded: usize,
}

impl Check {
    /// Addition to a figure: nothing if it is recorded, else that it is by the rules.
    pub(crate) fn by(&self) -> &'static str {
        if self.strategy == "replay" { " by the rules" } else { "" }
    }
}

/// Reason why there is no verdict.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// No request has a price.
    #[error(
        "nothing was priced: no request is of a model with a price; give one with --prices FILE"
    )]
    NothingPriced,
    /// No session of the run is in the baseline.
    #[error(
        "no session of the baseline is in the input, by id, by file or by order; save the baseline \
         again from the same sessions"
    )]
    NothingInCommon,
    /// The two sides count tokens differently.
    #[error(
        "the baseline measures captured prompts with --assume tokens={before}, this run with tokens={now}; \
         measure both alike"
    )]
    OtherCounting {
        /// Counting of the baseline.
        before: String,
        /// Counting of the run.
        now: String,
    },
    /// The two sides are simulated with other options.
    #[error(
        "the baseline was simulated with {}, this run with {}; give both the same options",
        options_words(before),
        options_words(now)
    )]
    OtherOptions {
        /// Options of the baseline.
        before: String,
        /// Options of the run.
        now: String,
    },
    /// Recorded usage does not count, and the baseline has no counts to compare with.
    #[error(
        "the recorded usage of session {session} is not of its prompts, and the baseline does not count \
         prompts by their bytes; save it again, with this version and from the state before the change"
    )]
    NoCounts {
        /// Id of the session.
        session: String,
    },
    /// No budget applies.
    #[error("no budget applies to this input")]
    NothingChecked,
    /// A limit that refers to a baseline, without one.
    #[error(
        "the budget `{name}` is about a baseline; give one with --baseline FILE. The first run saves it: \
         `cachesim check PATH --baseline FILE --save-baseline FILE`"
    )]
    NoBaseline {
        /// Name of the budget.
        name: String,
    },
    /// An unknown figure.
    #[error("the budget `{name}`: {problem}")]
    Unknown {
        /// Name of the budget.
        name: String,
        /// Reason why the figure is unknown.
        problem: Unknown,
    },
}

impl CheckError {
    /// Name of the budget that the error is about.
    pub fn budget(&self) -> Option<&str> {
        match self {
            Self::NoBaseline { name, .. } | Self::Unknown { name, .. } => Some(name),
            Self::NothingPriced
            | Self::NothingInCommon
            | Self::NothingChecked
            | Self::NoCounts { .. }
            | Self::OtherOptions { .. }
            | Self::OtherCounting { .. } => None,
        }
    }

    /// Returns true if something is missing in the input, and not in the configuration or the baseline.
    pub fn is_about_input(&self) -> bool {
        match self {
            Self::NothingPriced | Self::NothingInCommon | Self::NothingChecked => true,
            Self::NoBaseline { .. }
            | Self::NoCounts { .. }
            | Self::OtherOptions { .. }
            | Self::OtherCounting { .. } => false,
            Self::Unknown { problem, .. } => {
                !matches!(problem, Unknown::NoTurns | Unknown::NoStrategy(_) | Unknown::NoLint)
            }
        }
    }
}

/// Compares a run with its budgets and its baseline.
///
/// # Errors
/// A question cannot be answered, which must not count as a pass.
pub fn check(checked: Checked<'_>) -> Result<Check, CheckError> {
    let Checked { now, before, makes_baseline, budgets, tree } = checked;
    before.map_or(Ok(()), |before| check_counting(before, now))?;
    let pairing = before.map(|before| Pairing::new(&before.sessions, &now.sessions));
    if pairing.as_ref().is_some_and(|pairing| pairing.pairs.is_empty()) {
        return Err(CheckError::NothingInCommon);
    }
    let comparable = before.zip(pairing.as_ref());
    let comparable =
        comparable.map(|(before, pairing)| Comparable::new(before, now, pairing)).transpose()?;
    let mut alone = comparable.as_ref().map_or(Cow::Borrowed(now), |sides| sides.alone.clone());
    let unrecorded = if is_mixed(now) { count_unrecorded(alone.to_mut()) } else { 0 };
    let alone = &*alone;
    let strategy = default_strategy(alone);
    // Only damage beyond the baseline's may hide a difference.
    let damage = now.damage.saturating_sub(before.map_or(0, |before| before.damage));
    let has_own = budgets.iter().any(|budget| budget.metric == Metric::DAMAGED_PLACES);
    let on_damage = (damage > 0 && before.is_some() && !has_own).then(no_more_damage);
    let budgets: Vec<&Budget> = budgets.iter().chain(&on_damage).collect();
    // Budgets on bytes, prefixes, findings and the input need no price.
    let is_unpriced = |metric: Metric| metric.is_of_captures() || metric.is_of_input();
    let needs_prices = budgets.iter().any(|budget| !is_unpriced(budget.metric));
    let total = total(alone, strategy)
        .filter(|total| total.known_cost().is_some() || !needs_prices)
        .ok_or(CheckError::NothingPriced)?;
    let compared = comparable.as_ref().zip(pairing.as_ref());
    let compared = compared.map(|(sides, pairing)| ComparedSides {
        before: &sides.before,
        now: &sides.now,
        pairing,
    });
    let difference = comparable.as_ref().zip(pairing.clone()).and_then(|(sides, pairing)| {
        RunDifference::new(&sides.before, &sides.now, pairing, strategy, tree)
    });
    let settings = comparable.as_ref().map_or(&[][..], |sides| &sides.settings.all);
    let changes = &unlisted::changes(settings, difference.as_ref());
    let sides = Sides { alone, compared, changes, makes_baseline, strategy };
    let outcomes =
        budgets.iter().map(|budget| outcome(sides, budget)).collect::<Result<Vec<_>, _>>()?;
    // With every budget left out, the run would pass without a check.
    if !makes_baseline && outcomes.iter().all(|outcome| outcome.status == Status::LeftOut) {
        return Err(CheckError::NothingChecked);
    }
    let gone = comparable.as_ref().map_or(0, |sides| sides.gone);
    let edited = comparable.as_ref().map_or(0, |sides| sides.edited);
    let (counted, settings) =
        comparable.map(|sides| (sides.counted, sides.settings)).unwrap_or_default();
    // A cost may differ by its prices alone. Baselines of older versions do not name theirs.
    let has_other_prices =
        before.is_some_and(|before| before.prices.is_some() && before.prices != now.prices);
    // None of these fails a run, but a check that did not see everything must not pass silently.
    let is_partial = makes_baseline
        || has_other_prices
        || gone > 0
        || edited > 0
        || unrecorded > 0
        || damage > 0
        || settings.all.iter().any(|change| change.unshown > 0)
        || settings.unknown > 0
        || counted.iter().any(|session| !session.has_output)
        || pairing.is_some_and(|pairing| !pairing.gone.is_empty() || !pairing.new.is_empty());
    let verdict = verdict(&outcomes).max(if is_partial { Verdict::Warn } else { Verdict::Pass });
    Ok(Check {
        verdict,
        outcomes,
        strategy,
        total,
        difference,
        counted,
        gone,
        edited,
        settings: settings.all,
        unknown_settings: settings.unknown,
        damage,
        unrecorded,
    })
}

/// Returns true if some sessions have recorded usage throughout, and the figures of all others can come from the rules.
fn is_mixed(now: &Snapshot) -> bool {
    let (whole, others): (Vec<_>, Vec<_>) =
        now.sessions.iter().partition(|session| session.is_recorded());
    !whole.is_empty() && !others.is_empty() && others.iter().all(|session| session.is_countable())
}

/// Gives sessions without recorded usage the figures of the rules, so that the others keep theirs, and returns their
/// number.
fn count_unrecorded(now: &mut Snapshot) -> usize {
    let unrecorded = now.sessions.iter_mut().filter(|session| !session.is_recorded());
    unrecorded.map(|session| session.count(session.has_outputs())).filter(|done| *done).count()
}

fn options_words(options: &str) -> &str {
    if options.is_empty() { "the default options" } else { options }
}

fn check_counting(before: &Snapshot, now: &Snapshot) -> Result<(), CheckError> {
    if before.options != now.options {
        let (before, now) = (before.options.clone(), now.options.clone());
        return Err(CheckError::OtherOptions { before, now });
    }
    match (&before.counting, &now.counting) {
        (Some(before), Some(now)) if before != now => {
            Err(CheckError::OtherCounting { before: before.clone(), now: now.clone() })
        }
        _ => Ok(()),
    }
}

/// The record if it covers every request, since it is the best evidence; else the replay.
fn default_strategy(now: &Snapshot) -> &'static str {
    let mut turns = now.sessions.iter().flat_map(|session| session.turns.iter().flatten());
    let is_recorded = now.has("billed") && turns.all(|turn| turn.figures.get("billed").is_some());
    if is_recorded { "billed" } else { "replay" }
}

fn total(now: &Snapshot, strategy: &str) -> Option<Figures> {
    Figures::sum(now.sessions.iter().filter_map(|session| session.totals.get(strategy)))
}

fn outcome(sides: Sides<'_>, budget: &Budget) -> Result<BudgetOutcome, CheckError> {
    let name = budget.name.clone();
    let is_of_changes = budget.metric == Metric::UNLISTED_CHANGES;
    if (budget.limit.needs_baseline() || is_of_changes) && sides.compared.is_none() {
        return if sides.makes_baseline {
            Ok(BudgetOutcome::left_out(budget, Unknown::NoBaselineYet))
        } else {
            Err(CheckError::NoBaseline { name })
        };
    }
    match question::outcome(sides, budget) {
        Ok(outcome) => Ok(outcome),
        Err(problem) if may_be_left_out(sides, budget, &problem) => {
            Ok(BudgetOutcome::left_out(budget, problem))
        }
        Err(problem) => Err(CheckError::Unknown { name, problem }),
    }
}

/// Returns true if an unanswered budget is left out: a default one that does not apply, or one on captured prompts
/// if there are rows alone.
fn may_be_left_out(sides: Sides<'_>, budget: &Budget, problem: &Unknown) -> bool {
    let needs_prompts =
        matches!(problem, Unknown::NoCaptures | Unknown::NoLint | Unknown::NoClientCount);
    budget.is_default && problem.is_inapplicable() || sides.alone.is_of_rows && needs_prompts
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
