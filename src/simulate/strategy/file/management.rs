//! Methods of managing the context, by their keys.

use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::simulate::management::{
    ByService, ByTime, Compaction, Management, Microcompaction, ResultBudget, ResultClearing,
    SessionMemory,
};

/// Methods of keeping the context small.
#[derive(Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(extend(
    "if" = { "minProperties": 2 },
    "then" = { "propertyNames": { "enum": ["microcompact", "cached_microcompact"] } }
)))]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ContextKeys {
    /// Old results are cleared when the last answer is older than a gap.
    microcompact: Option<ByTime>,
    /// The service deletes old results from the cached prefix.
    cached_microcompact: Option<ByService>,
    /// The service clears old results beyond a size.
    clear_results: Option<ResultClearing>,
    /// Large results come in as a preview.
    result_budget: Option<ResultBudget>,
    /// The conversation gives way to a summary.
    compact: Option<Compaction>,
    /// The conversation gives way to a memory and its latest messages.
    session_memory: Option<SessionMemory>,
}

/// Reads the method, if any.
pub(crate) fn read<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Box<Management>>, D::Error> {
    let keys = ContextKeys::deserialize(deserializer)?;
    let (by_time, by_service) = (keys.microcompact, keys.cached_microcompact);
    let is_micro = by_time.is_some() || by_service.is_some();
    let ways = [
        is_micro.then_some(Management::Microcompaction(Microcompaction { by_time, by_service })),
        keys.clear_results.map(Management::ToolResultClearing),
        keys.result_budget.map(Management::ResultBudget),
        keys.compact.map(Management::Compaction),
        keys.session_memory.map(Management::SessionMemory),
    ];
    let mut chosen = ways.into_iter().flatten();
    let first = chosen.next();
    if chosen.next().is_some() {
        return Err(D::Error::custom(
            "a conversation is kept small in one way; this names several",
        ));
    }
    Ok(first.map(Box::new))
}
