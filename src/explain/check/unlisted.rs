//! Changes against the baseline that a budget does not list, whatever they cost.

use std::collections::BTreeSet;

use rust_decimal::Decimal;

use super::difference::RunDifference;
use super::question::{BudgetOutcome, Status};
use super::setting_change::SettingChange;
use super::turn_change::TurnReason;
use crate::explain::budget::{Amount, Budget, BudgetLevel, Unit};

/// Part or setting of requests that differs from the baseline.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    /// Place of a part, or name of a setting.
    pub place: String,
    /// Name of the tool, if the part is one.
    pub tool: Option<String>,
}

/// Everything that differs from the baseline by its name.
pub(super) fn changes(
    settings: &[SettingChange],
    difference: Option<&RunDifference>,
) -> BTreeSet<Change> {
    let named = |place: &str| Change { place: place.to_owned(), tool: None };
    let mut changes: BTreeSet<Change> =
        settings.iter().map(|setting| named(&setting.name)).collect();
    let Some(difference) = difference else { return changes };
    for prompt in &difference.prompts {
        // The settings there have names of their own.
        if !prompt.change.place.starts_with("the settings") {
            let (place, tool) = (prompt.change.place.clone(), prompt.change.tool.clone());
            changes.insert(Change { place, tool });
        }
    }
    let mut turns = difference.sessions.iter().flat_map(|session| &session.turns);
    if turns.any(|turn| turn.reasons.contains(&TurnReason::Markers)) {
        changes.insert(named("markers"));
    }
    changes
}

/// Changes that a budget does not list.
pub(super) fn unlisted(changes: &BTreeSet<Change>, budget: &Budget) -> Vec<Change> {
    changes.iter().filter(|change| !budget.lists(change)).cloned().collect()
}

/// Outcome of a budget on unlisted changes.
pub(super) fn outcome(changes: &BTreeSet<Change>, budget: &Budget) -> BudgetOutcome {
    let unlisted = unlisted(changes, budget);
    let value = Decimal::from(unlisted.len());
    let is_exceeded = budget.limit.is_kept(value, None) != Some(true);
    let status = match (is_exceeded, budget.level) {
        (false, _) => Status::Passed,
        (true, BudgetLevel::Warn) => Status::Warned,
        (true, BudgetLevel::Fail) => Status::Failed,
    };
    BudgetOutcome {
        status,
        is_exceeded,
        figure: Some(Amount { value, unit: Unit::Count }),
        compared: 1,
        unlisted,
        ..BudgetOutcome::new(budget)
    }
}

impl Budget {
    /// Returns true if a change is on the budget's list, by its name or by that of a part around it.
    fn lists(&self, change: &Change) -> bool {
        let is_around = |name: &str, place: &str| {
            let rest = place.strip_prefix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['[', '.']))
        };
        self.listed.iter().any(|name| {
            is_around(name, &change.place) || change.tool.as_ref().is_some_and(|tool| tool == name)
        })
    }
}
