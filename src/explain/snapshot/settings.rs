//! Settings of captured requests besides their prompts, by digests: fields that may change the price, the answer or the
//! cached part without a byte of the prompt.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::value::RawValue;

use super::SnapshotTurn;
use super::fingerprint::{Digest, digest};
use crate::base::order::Ordered as _;
use crate::read::capture::WireRequest;
use crate::read::input::only_value;
use crate::requests::conversation::History;
use crate::requests::difference::PromptView;

/// Digests of the values of a request's settings, by name.
pub type Settings = BTreeMap<String, Digest>;

/// Name of the beta features. A capture without headers and one without features are equal.
const BETAS: &str = "betas";

/// Settings that follow from the messages, and so are no settings of their own.
const OF_MESSAGES: [&str; 2] = ["citations", "images"];

/// Fields of the service's interface that are reported by their names.
const NAMED: [&str; 6] = [
    "container",
    "context_management",
    "inference_geo",
    "mcp_servers",
    "output_config.task_budget",
    "service_tier",
];

/// Name of all other fields together, since their names may be anybody's words.
const OTHER: &str = "other fields";

/// Values that mean the same as a missing field.
const DEFAULTS: [(&str, &str); 2] = [("mcp_servers", "[]"), ("service_tier", "\"auto\"")];

/// Settings of a request. `None` if its bytes are not kept.
pub(super) fn settings(history: &History, wire: &WireRequest) -> Option<Settings> {
    let others = history.text(wire.other_fields)?;
    let view = PromptView::new(&history.captured.tree, wire.leaf);
    let in_prefix = [view.system_settings, view.message_settings].into_iter().flatten();
    let in_prefix = in_prefix.flat_map(|node| given(view.text(node)));
    let in_prefix = in_prefix.filter(|(name, _)| !OF_MESSAGES.contains(&name.as_str()));
    let (named, unnamed): (Vec<_>, Vec<_>) =
        given(others).partition(|(name, _)| NAMED.contains(&name.as_str()));
    let all = in_prefix.chain(named);
    let mut settings: Settings =
        all.map(|(name, value)| (name, digest(value.get().as_bytes()))).collect();
    if !unnamed.is_empty() {
        // By name, so that the order of the fields makes no difference.
        let unnamed: BTreeMap<String, &RawValue> = unnamed.into_iter().ordered_map();
        settings.insert(OTHER.to_owned(), digest(&serde_json::to_vec(&unnamed).ok()?));
    }
    if let Some(betas) = history.text(wire.betas).filter(|betas| !betas.is_empty()) {
        settings.insert(BETAS.to_owned(), digest(betas.as_bytes()));
    }
    Some(settings)
}

/// Fields of an object that differ from their defaults.
fn given(object: &str) -> impl Iterator<Item = (String, &RawValue)> {
    let fields: BTreeMap<String, &RawValue> = only_value(object).unwrap_or_default();
    fields.into_iter().filter(|(name, value)| {
        value.get() != "null" && !DEFAULTS.contains(&(name.as_str(), value.get()))
    })
}

/// Names of the settings that differ.
#[must_use]
pub fn changed_settings<'a>(before: &'a Settings, now: &'a Settings) -> BTreeSet<&'a str> {
    let names = before.keys().chain(now.keys()).map(String::as_str);
    names.filter(|name| before.get(*name) != now.get(*name)).collect()
}

impl SnapshotTurn {
    /// Returns true if this turn and an earlier one both have settings, and these differ.
    pub(in crate::explain) fn has_other_settings(&self, before: &Self) -> bool {
        let settings = before.settings.as_ref().zip(self.settings.as_ref());
        settings.is_some_and(|(before, now)| !changed_settings(before, now).is_empty())
    }
}
