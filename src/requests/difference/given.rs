//! Settings that a captured request gives besides its prompt: fields that may change the price, the answer or the cached
//! part without a byte of the prompt.

use serde_json::value::RawValue;

use super::PromptView;
use crate::base::ByKey;
use crate::read::capture::WireRequest;
use crate::read::input::only_value;
use crate::requests::conversation::History;

/// Settings that follow from the messages, and so are no settings of their own.
const OF_MESSAGES: [&str; 2] = ["citations", "images"];

/// Fields of the service's interface that are reported by their names.
const NAMED: [&str; 13] = [
    "billing_policy",
    "compaction",
    "container",
    "context_management",
    "fallback_credit_token",
    "fallbacks",
    "inference_geo",
    "mcp_servers",
    "output_config.task_budget",
    "service_tier",
    "thread",
    "user_profile_id",
    "workspace_id",
];

/// Settings by which a request is priced.
const PRICED: [&str; 2] = ["inference_geo", "speed"];

/// Values that mean the same as a missing field.
const DEFAULTS: [(&str, &str); 8] = [
    ("mcp_servers", "[]"),
    ("metadata", "{}"),
    ("metadata", "{\"user_id\":null}"),
    ("service_tier", "\"auto\""),
    ("stop_sequences", "[]"),
    ("stream", "false"),
    ("temperature", "1"),
    ("temperature", "1.0"),
];

/// Settings of a request that differ from their defaults.
pub(crate) struct GivenSettings<'a> {
    /// Settings of known names.
    pub(crate) named: Vec<(String, &'a RawValue)>,
    /// Other fields, whose names may be anybody's words, by name: their order makes no difference.
    pub(crate) others: ByKey<String, &'a RawValue>,
}

/// Settings of a request that change the answer or its sending alone, if they differ from their defaults. `None` if its
/// bytes are not kept.
pub(crate) fn answer_settings<'a>(
    history: &'a History,
    wire: &WireRequest,
) -> Option<Vec<(String, &'a RawValue)>> {
    Some(given(history.text(wire.answer_fields)?).collect())
}

/// Settings of a request. `None` if its bytes are not kept.
pub(crate) fn given_settings<'a>(
    history: &'a History,
    wire: &WireRequest,
) -> Option<GivenSettings<'a>> {
    let others = history.text(wire.other_fields)?;
    let view = PromptView::new(&history.captured.tree, wire.leaf);
    let in_prefix = [view.system_settings, view.message_settings].into_iter().flatten();
    let in_prefix = in_prefix.flat_map(|node| given(view.text(node)));
    let in_prefix = in_prefix.filter(|(name, _)| !OF_MESSAGES.contains(&name.as_str()));
    let (named, others): (Vec<_>, Vec<_>) =
        given(others).partition(|(name, _)| NAMED.contains(&name.as_str()));
    Some(GivenSettings {
        named: in_prefix.chain(named).collect(),
        others: others.into_iter().collect(),
    })
}

/// Returns true if a request is priced by this setting.
pub(crate) fn is_priced(setting: &str) -> bool {
    PRICED.contains(&setting)
}

/// Fields of an object that differ from their defaults.
fn given(object: &str) -> impl Iterator<Item = (String, &RawValue)> {
    let fields: ByKey<String, &RawValue> = only_value(object).unwrap_or_default();
    fields.into_iter().filter(|(name, value)| {
        value.get() != "null" && !DEFAULTS.contains(&(name.as_str(), value.get()))
    })
}
