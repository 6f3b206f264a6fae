//! Strategies that can do nothing to the input, or not all that they stand for: in sentences, and for
//! programs.

use schemars::JsonSchema;
use serde::Serialize;

use crate::simulate::ledger::{Ledger, StrategyColumn};
use crate::simulate::strategy::{Applicability, Obstacle};

/// What stands where the cost of a strategy would.
pub(super) const NOT_APPLICABLE: &str = "not applicable";

/// Why a part of a strategy does nothing.
#[derive(JsonSchema, Serialize)]
pub(super) struct ObstacleObject {
    /// The reason.
    #[schemars(with = "Obstacle")]
    code: &'static str,
    /// The same in words.
    reason: &'static str,
}

/// The obstacles of a strategy.
pub(super) fn obstacles(applicability: &Applicability) -> Vec<ObstacleObject> {
    let obstacles = applicability.obstacles().iter();
    obstacles.map(|one| ObstacleObject { code: one.name(), reason: one.reason() }).collect()
}

/// A strategy that does nothing, or not all that it stands for.
#[derive(JsonSchema, Serialize)]
pub(super) struct ApplicabilityObject<'a> {
    /// The strategy.
    strategy: &'a str,
    /// Whether any part of it does something; where none does, it has no figures.
    applicable: bool,
    /// Why the others do nothing.
    obstacles: Vec<ObstacleObject>,
}

/// Those of a ledger.
pub(super) fn applicability<'l>(ledger: &'l Ledger<'_>) -> Vec<ApplicabilityObject<'l>> {
    let hindered = ledger.columns.iter().filter(|column| {
        let obstacles = column.applicability().obstacles();
        !obstacles.is_empty()
    });
    let object = |column: &'l StrategyColumn| ApplicabilityObject {
        strategy: &column.strategy.name,
        applicable: column.applicability().is_applicable(),
        obstacles: obstacles(column.applicability()),
    };
    hindered.map(object).collect()
}

/// The same in sentences, strategies with the same obstacles together.
pub(super) fn applicability_notes<'a>(
    strategies: impl IntoIterator<Item = (&'a str, &'a Applicability)>,
) -> Vec<String> {
    let mut about: Vec<(&Applicability, Vec<String>)> = Vec::new();
    for (name, applicability) in strategies {
        if applicability.obstacles().is_empty() {
            continue;
        }
        let name = format!("`{name}`");
        match about.iter_mut().find(|(known, _)| *known == applicability) {
            Some((_, names)) => names.push(name),
            None => about.push((applicability, vec![name])),
        }
    }
    let sentence = |(applicability, names): (&Applicability, Vec<String>)| {
        let verdict =
            if applicability.is_applicable() { "applicable in part" } else { NOT_APPLICABLE };
        let reasons: Vec<&str> =
            applicability.obstacles().iter().map(|obstacle| obstacle.reason()).collect();
        format!("{}: {verdict}, since {}.", names.join(", "), reasons.join("; "))
    };
    about.into_iter().map(sentence).collect()
}
