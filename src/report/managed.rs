//! What context management did under each strategy that has it, and what its simulation does not
//! know.

use schemars::JsonSchema;
use serde::Serialize;

use super::number::{counted, tokens};
use crate::basis::Basis;
use crate::ledger::{Ledger, StrategyColumn};
use crate::units::Tokens;

/// What context management did to the whole input.
#[derive(JsonSchema, Serialize)]
pub(super) struct ManagedObject<'a> {
    /// The strategy.
    strategy: &'a str,
    /// How often something was taken out of a prompt.
    events: u64,
    /// Tool results that were taken out.
    cleared_results: u64,
    /// Tokens that were taken out.
    removed_tokens: Tokens,
    /// What the figures rest on.
    #[schemars(with = "Basis")]
    basis: &'static str,
    /// What the simulation does not know, in words.
    unknowns: &'static [&'static str],
}

/// What it did under each strategy that has it.
pub(super) fn managed<'l>(ledger: &'l Ledger<'_>) -> Vec<ManagedObject<'l>> {
    let object = |column: &'l StrategyColumn| {
        let simulated = column.simulated.as_ref()?;
        let (management, effects) =
            simulated.managed.filter(|_| simulated.applicability.is_applicable())?;
        Some(ManagedObject {
            strategy: &column.strategy.name,
            events: effects.events,
            cleared_results: effects.results,
            removed_tokens: effects.tokens,
            basis: Basis::Estimated.name(),
            unknowns: management.unknowns(),
        })
    };
    ledger.columns.iter().filter_map(object).collect()
}

impl ManagedObject<'_> {
    /// The same in sentences.
    pub(super) fn note(&self) -> String {
        let results = if self.cleared_results > 0 {
            format!("{}, ", counted(self.cleared_results, "tool result", "tool results"))
        } else {
            String::new()
        };
        format!(
            "`{}` took {results}{} tokens out of prompts in {} (estimated, all sessions together). \
             Not known: {}.",
            self.strategy,
            tokens(self.removed_tokens),
            counted(self.events, "step", "steps"),
            self.unknowns.join("; "),
        )
    }
}
