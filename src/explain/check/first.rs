//! First budgets of a project: today's figures of some sessions, with room for variation.

use std::fmt;

use rust_decimal::{Decimal, RoundingStrategy};

use super::{CheckError, Checked, check};
use crate::explain::budget::{
    Amount, BreakKinds, Budget, BudgetLevel, Limit, LimitChange, LintKinds, Metric,
};
use crate::explain::lint::Severity;
use crate::explain::snapshot::Snapshot;
use crate::read::capture::WireTree;

/// First budget of a project. It is displayed as a `[[budget]]` of a configuration, with a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstBudget {
    /// Budget with its limit and message.
    pub budget: Budget,
    /// Reason for the limit, in a sentence.
    reason: String,
    /// Lines of keys that say which breaks or findings count.
    kinds: &'static str,
}

/// First budgets for a run.
///
/// They are the cost of the most expensive session and a quarter more, a change of five per cent against the
/// baseline, the hit rate less two points, and no more unexpected breaks than today. For captured prompts also
/// that the service accepts them, and their size.
///
/// # Errors
/// Nothing has a price, or the run cannot be measured.
pub fn first_budgets(now: &Snapshot, tree: &WireTree) -> Result<Vec<FirstBudget>, CheckError> {
    let measured = measured();
    let checked = Checked { now, before: None, makes_baseline: false, budgets: &measured, tree };
    let check = check(checked)?;
    let by = if check.unrecorded > 0 { " by the rules" } else { check.by() };
    let outcomes = check.outcomes;
    let today = |metric: Metric| outcomes.iter().find(|one| one.budget.metric == metric)?.figure;
    let mut first = Vec::new();
    if let Some(cost) = today(Metric::COST_PER_SESSION) {
        first.push(a_quarter_more(cost, by));
        first.push(change(
            Metric::COST_PER_SESSION,
            BudgetLevel::Fail,
            "The change that a single pull request may make.",
            "This change makes a session cost more. `cachesim breaks` says what is sent again.",
        ));
    }
    first.extend(today(Metric::HIT_RATE).and_then(|rate| two_points_less(rate, by)));
    first.extend(today(Metric::BREAKS).map(no_more_breaks));
    if let Some(refused) = today(Metric::LINT_FINDINGS) {
        first.push(no_more_refused(refused));
        first.push(change(
            Metric::PROMPT_BYTES_PER_REQUEST,
            BudgetLevel::Warn,
            "The growth of a prompt, which needs neither prices nor usage.",
            "A prompt grew. The table of this check names the parts that did.",
        ));
    }
    Ok(first)
}

/// Budgets that measure the figures; their limits have no effect. Each is left out if it does not apply.
fn measured() -> [Budget; 4] {
    [Metric::COST_PER_SESSION, Metric::HIT_RATE, Metric::BREAKS, Metric::LINT_FINDINGS].map(
        |metric| {
            let limit = Limit::Max(Amount { value: Decimal::MAX, unit: metric.unit() });
            Budget { is_default: true, ..kinds(Budget::new(metric, limit)) }
        },
    )
}

/// The same budget on unexpected breaks, and on findings of requests that the service refuses.
fn kinds(budget: Budget) -> Budget {
    let lint = LintKinds { severity: Severity::Error, ..LintKinds::default() };
    Budget { breaks: BreakKinds::unexpected(), lint, ..budget }
}

/// Limit on the cost of a session. `by` says that the figure follows from the rules, without recorded usage.
fn a_quarter_more(today: Amount, by: &str) -> FirstBudget {
    let most = today.value * Decimal::new(125, 2);
    // Two significant digits, away from zero: a readable limit that today's run keeps.
    let value =
        most.round_sf_with_strategy(2, RoundingStrategy::AwayFromZero).unwrap_or(most).normalize();
    let reason = format!(
        "The most expensive session costs {today} today{by}. The limit is a quarter more, rounded up."
    );
    let message = "A session costs more than planned. If that is wanted, raise max and say why.";
    first(Metric::COST_PER_SESSION, Limit::Max(Amount { value, ..today }), reason, message)
}

/// Limit on the hit rate. `None` if so little is read that the limit would not be positive.
fn two_points_less(today: Amount, by: &str) -> Option<FirstBudget> {
    let value = (today.value - Decimal::TWO).floor();
    if value <= Decimal::ZERO {
        return None;
    }
    let reason = format!("Today {today} of the prompts is read from the cache{by}.");
    let message =
        "Less is read from the cache. `cachesim breaks` says what is sent again, and why.";
    let limit = Limit::Min(Amount { value, ..today });
    Some(first(Metric::HIT_RATE, limit, reason, message).that_warns())
}

fn no_more_breaks(today: Amount) -> FirstBudget {
    let reason = format!("Breaks that are neither an expiry nor a compaction: {today} today.");
    let message = "A request reads less than it could. `cachesim breaks` says why.";
    let budget = first(Metric::BREAKS, Limit::Max(today), reason, message);
    FirstBudget { kinds: "causes = [\"unexpected\"]\n", ..budget.that_warns() }
}

fn no_more_refused(today: Amount) -> FirstBudget {
    let reason = format!("Reasons for which the service refuses requests: {today} today.");
    let message = "The service refuses a request. `cachesim lint` says which, and why.";
    let budget = first(Metric::LINT_FINDINGS, Limit::Max(today), reason, message);
    FirstBudget { kinds: "severity = \"error\"\n", ..budget }
}

/// Limit of five per cent more than the baseline.
fn change(metric: Metric, level: BudgetLevel, reason: &str, message: &str) -> FirstBudget {
    let limit = Limit::MaxIncrease(LimitChange::Relative(Decimal::from(5)));
    let change = first(metric, limit, reason.to_owned(), message);
    FirstBudget { budget: Budget { level, ..change.budget }, ..change }
}

fn first(metric: Metric, limit: Limit, reason: String, message: &str) -> FirstBudget {
    let budget = Budget::new(metric, limit);
    FirstBudget {
        budget: Budget { message: Some(message.to_owned()), ..budget },
        reason,
        kinds: "",
    }
}

impl FirstBudget {
    fn that_warns(self) -> Self {
        Self { budget: Budget { level: BudgetLevel::Warn, ..self.budget }, ..self }
    }
}

impl fmt::Display for FirstBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { budget, reason, kinds } = self;
        writeln!(f, "# {reason}\n[[budget]]\nmetric = \"{}\"", budget.metric.name)?;
        let limit = match budget.limit {
            Limit::Max(amount) | Limit::Min(amount) => amount.to_toml(),
            Limit::MaxIncrease(change) | Limit::MaxDecrease(change) => format!("\"{change}\""),
        };
        writeln!(
            f,
            "{} = {limit}\n{kinds}level = \"{}\"",
            budget.limit.key(),
            budget.level.name()
        )?;
        let message = budget.message.as_deref().unwrap_or_default();
        writeln!(f, "message = \"{message}\"")
    }
}
