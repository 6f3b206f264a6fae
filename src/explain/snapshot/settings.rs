//! What captured requests ask for beside their prompts, by digests: fields that may change the price, the answer or what
//! is cached without a byte of the prompt.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::fingerprint::{Digest, digest};
use crate::read::capture::WireRequest;
use crate::requests::conversation::History;
use crate::requests::difference::PromptView;

/// The digest of the value of each setting that a request gives.
pub type Settings = BTreeMap<String, Digest>;

/// The name of the beta features, which may stand in a header.
const BETAS: &str = "betas";

/// What follows from the messages, and is no setting.
const OF_MESSAGES: [&str; 2] = ["citations", "images"];

/// The fields of the service's interface that go by their names.
const NAMED: [&str; 6] = [
    "container",
    "context_management",
    "inference_geo",
    "mcp_servers",
    "output_config.task_budget",
    "service_tier",
];

/// All others together: whoever made them up named them.
const OTHER: &str = "other fields";

/// The settings of a request. `None` where its bytes are not kept.
pub(super) fn settings(history: &History, wire: &WireRequest) -> Option<Settings> {
    let others = history.text(wire.other_fields)?;
    let view = PromptView::new(&history.captured.tree, wire.leaf);
    let in_prefix = [view.system_settings, view.message_settings].into_iter().flatten();
    let given = in_prefix
        .flat_map(|node| fields(view.text(node)))
        .filter(|(name, value)| value.get() != "null" && !OF_MESSAGES.contains(&name.as_str()));
    let (named, unnamed): (Vec<_>, Vec<_>) =
        fields(others).partition(|(name, _)| NAMED.contains(&name.as_str()));
    let mut settings: Settings =
        given.chain(named).map(|(name, value)| (name, digest(value.get().as_bytes()))).collect();
    if !unnamed.is_empty() {
        let all: Vec<String> =
            unnamed.iter().map(|(name, value)| format!("{name}\n{value}\n")).collect();
        settings.insert(OTHER.to_owned(), digest(all.concat().as_bytes()));
    }
    if let Some(betas) = history.text(wire.betas) {
        settings.insert(BETAS.to_owned(), digest(betas.as_bytes()));
    }
    Some(settings)
}

/// The fields of an object, by name.
fn fields(object: &str) -> impl Iterator<Item = (String, &RawValue)> {
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(object).unwrap_or_default();
    fields.into_iter()
}
