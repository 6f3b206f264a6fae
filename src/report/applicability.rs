//! Strategies that act on the input only in part or not at all, and effects of context management.
//!
//! Both are in sentences, and as objects for programs.

use serde::Serialize;

use super::{counted, dollars, tokens};
use crate::base::{Basis, Picodollars, Tokens};
use crate::simulate::ledger::{Ledger, ManagedColumn, StrategyColumn};
use crate::simulate::strategy::{Applicability, Layout, Obstacle, Strategy, StrategyKind};

/// Returns true if a strategy also has figures for requests that are not under the rules of markers.
///
/// Under the other strategies these stay as recorded, which would pass for a figure of the strategy.
pub(super) fn acts_without_markers(strategy: &Strategy) -> bool {
    match &strategy.kind {
        StrategyKind::Recorded
        | StrategyKind::Replay
        | StrategyKind::Elsewhere(..)
        | StrategyKind::Own(_) => true,
        StrategyKind::Counterfactual(design) => design.layout == Layout::Nowhere,
        StrategyKind::Cheapest(_) | StrategyKind::Optimal(_) => false,
    }
}

/// Text in place of a strategy's cost.
pub(super) const NOT_APPLICABLE: &str = "not applicable";

/// Reason for an idle part of a strategy.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ObstacleObject {
    /// Reason.
    code: Obstacle,
    /// Same in words.
    reason: &'static str,
}

/// Obstacles of a strategy.
pub(super) fn obstacles(applicability: &Applicability) -> Vec<ObstacleObject> {
    let obstacles = applicability.obstacles().iter();
    obstacles.map(|one| ObstacleObject { code: *one, reason: one.reason() }).collect()
}

/// Strategy that does nothing, or only some of its parts.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ApplicabilityObject<'a> {
    /// Strategy.
    strategy: &'a str,
    /// True if any part of it does something; if not, it has no figures.
    applicable: bool,
    /// Obstacles of the others.
    obstacles: Vec<ObstacleObject>,
}

/// Strategies of a ledger that are not fully applicable.
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

/// Sentences about strategies that are not fully applicable, one for each set of obstacles.
pub(super) fn applicability_notes<'a>(
    strategies: impl IntoIterator<Item = (&'a str, &'a Applicability)>,
) -> Vec<String> {
    let mut about: Vec<(&Applicability, Vec<String>)> = Vec::new();
    for (name, applicability) in strategies {
        if applicability.obstacles().is_empty() {
            continue;
        }
        let name = format!("`{name}`");
        // Strategies with the same obstacles share a sentence.
        match about.iter_mut().find(|(known, _)| *known == applicability) {
            Some((_, names)) => names.push(name),
            None => about.push((applicability, vec![name])),
        }
    }
    let sentence = |(applicability, names): (&Applicability, Vec<String>)| {
        let verdict =
            if applicability.is_applicable() { "applicable in part" } else { NOT_APPLICABLE };
        format!("{}: {verdict}, since {}.", names.join(", "), applicability.reasons())
    };
    about.into_iter().map(sentence).collect()
}

/// Context management of the whole input.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ManagedObject<'a> {
    /// Strategy.
    strategy: &'a str,
    /// Number of removals from prompts.
    events: u64,
    /// Tool results taken out.
    cleared_results: u64,
    /// Tokens taken out.
    removed_tokens: Tokens,
    /// Size at which conversations are compacted, if they are; null if not.
    trigger_tokens: Option<Tokens>,
    /// Requests that it sent itself, for summaries or for memories.
    own_requests: u64,
    /// Cost of those, in dollars; null if nothing has a price.
    own_cost_usd: Option<Picodollars>,
    /// Number of rewrites in front of thinking that stays, for a model that checks that: as recorded, such a
    /// request is refused or loses the thinking.
    rewritten_before_thinking: u64,
    /// Number of summary requests that were too long and sent again with less.
    retries: u64,
    /// Number of compactions given up for that.
    failures: u64,
    /// Basis of the figures.
    basis: Basis,
    /// Assumed sizes and numbers, in words.
    assumptions: Vec<String>,
    /// Unknowns of the simulation, in words.
    unknowns: Vec<&'static str>,
}

/// Effects of context management under each strategy that has it.
pub(super) fn managed<'l>(ledger: &'l Ledger<'_>) -> Vec<ManagedObject<'l>> {
    let object = |column: &'l StrategyColumn| {
        Some(ManagedObject::new(&column.strategy.name, &ledger.managed(column)?))
    };
    ledger.columns.iter().filter_map(object).collect()
}

impl<'a> ManagedObject<'a> {
    /// Effects under one strategy.
    pub(super) fn new(strategy: &'a str, managed: &ManagedColumn) -> Self {
        let ManagedColumn { management, effects, own } = managed;
        Self {
            strategy,
            events: effects.events,
            cleared_results: effects.results,
            removed_tokens: effects.tokens,
            trigger_tokens: management.trigger().map(|trigger| trigger.threshold()),
            own_requests: own.added,
            own_cost_usd: own.cost(),
            rewritten_before_thinking: effects.checked,
            retries: effects.retries,
            failures: effects.failures,
            // Some of the sizes are assumed.
            basis: Basis::Estimated,
            assumptions: management.assumptions(),
            unknowns: management.unknowns(),
        }
    }

    /// Sentences about the effects, the assumptions and the unknowns.
    pub(super) fn note(&self) -> String {
        let mut sentences = vec![self.effect()];
        if !self.assumptions.is_empty() {
            sentences.push(format!("Assumed: {}.", self.assumptions.join("; ")));
        }
        sentences.push(format!("Not known: {}.", self.unknowns.join("; ")));
        sentences.join(" ")
    }

    /// Sentences about the effects.
    pub(super) fn effect(&self) -> String {
        let mut sentences = vec![self.removed()];
        if self.own_requests > 0 {
            let requests = counted(self.own_requests, "request", "requests");
            let cost = dollars(self.own_cost_usd);
            sentences.push(format!("It sent {requests} of its own for {cost} (estimated)."));
        }
        if self.rewritten_before_thinking > 0 {
            sentences.push(format!(
                "In {} that is refused here as recorded, or loses thinking: the model checks what stands in \
                 front of it, so the thinking of kept turns would have to go.",
                counted(self.rewritten_before_thinking, "step", "steps"),
            ));
        }
        if self.retries > 0 || self.failures > 0 {
            let retries = counted(self.retries, "retry", "retries");
            let failures = counted(self.failures, "failure", "failures");
            sentences.push(format!("Requests for a summary took {retries}, with {failures}."));
        }
        sentences.join(" ")
    }

    fn removed(&self) -> String {
        if self.events == 0 {
            return format!("`{}` took nothing out of prompts.", self.strategy);
        }
        let results = if self.cleared_results > 0 {
            format!("{}, ", counted(self.cleared_results, "tool result", "tool results"))
        } else {
            String::new()
        };
        format!(
            "`{}` took {results}{} tokens out of prompts in {} (estimated, all sessions together).",
            self.strategy,
            tokens(self.removed_tokens),
            counted(self.events, "step", "steps"),
        )
    }
}
