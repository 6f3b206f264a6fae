//! What lines tell of sub-agents → the type of each.

use rustc_hash::FxHashMap;

use crate::base::id::{EntryId, Symbol};
use crate::read::transcript::AgentNote;

/// The type of each sub-agent that has one: what its result says, else what the call asked for that
/// started it.
pub(super) fn agent_types(notes: &[AgentNote]) -> FxHashMap<Symbol, Symbol> {
    let called: FxHashMap<EntryId, Symbol> = notes
        .iter()
        .filter_map(|note| match note {
            AgentNote::Called { call, kind } => Some((*call, *kind)),
            AgentNote::Started { .. } => None,
        })
        .collect();
    let mut types = FxHashMap::default();
    for note in notes {
        let AgentNote::Started { agent, call, kind } = note else { continue };
        let asked = || call.and_then(|call| called.get(&call).copied());
        if let Some(kind) = kind.or_else(asked) {
            types.insert(*agent, kind);
        }
    }
    types
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::Symbols;

    #[test]
    fn a_result_counts_before_the_call() {
        let mut symbols = Symbols::default();
        let [one, two, explore, plan] = ["a1", "a2", "Explore", "Plan"].map(|s| symbols.intern(s));
        let call = EntryId::of("toolu_1");
        let started = |agent, kind| AgentNote::Started { agent, call: Some(call), kind };
        let called = AgentNote::Called { call, kind: plan };
        let types = agent_types(&[started(one, Some(explore)), called, started(two, None)]);
        assert_eq!((types[&one], types[&two]), (explore, plan));
        assert!(agent_types(&[started(one, None)]).is_empty());
    }
}
