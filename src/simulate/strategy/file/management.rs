//! Methods of managing the context, by their keys.

use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::simulate::management::{
    ByService, ByTime, Compaction, Management, Microcompaction, Parts, ResultBudget,
    ResultClearing, SessionMemory,
};

/// Methods of keeping the context small.
#[derive(Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(extend(
    "if" = { "required": ["clear_results"] },
    "then" = {
        "properties": { "microcompact": false, "cached_microcompact": false }
    }
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
    let parts = Parts {
        budget: keys.result_budget,
        microcompaction: is_micro.then_some(Microcompaction { by_time, by_service }),
        clearing: keys.clear_results,
        memory: keys.session_memory,
        compaction: keys.compact,
    };
    if is_micro && parts.clearing.is_some() {
        let both = "old results are cleared by the client or by the service; this names both";
        return Err(D::Error::custom(both));
    }
    let mut chosen = parts.each();
    let first = chosen.next();
    let is_only = chosen.next().is_none();
    Ok(first.map(|first| Box::new(if is_only { first } else { Management::Several(parts) })))
}
