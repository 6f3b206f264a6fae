//! Settings of captured requests besides their prompts, by digests.

use std::collections::BTreeSet;

use serde_json::value::RawValue;

use super::SnapshotTurn;
use super::fingerprint::{Digest, digest};
use crate::base::ByKey;
use crate::read::capture::WireRequest;
use crate::requests::conversation::History;
use crate::requests::difference::{answer_settings, given_settings};

/// Digests of the values of a request's settings, by name.
pub type Settings = ByKey<String, Digest>;

/// Name of the beta features. A capture without headers and one without features are equal.
const BETAS: &str = "betas";

/// Name of all other fields together, since their names may be anybody's words.
const OTHER: &str = "other fields";

/// Settings of a request. `None` if its bytes are not kept.
pub(super) fn settings(history: &History, wire: &WireRequest) -> Option<Settings> {
    let given = given_settings(history, wire)?;
    let mut settings = digests(given.named);
    if !given.others.is_empty() {
        settings.insert(OTHER.to_owned(), digest(&serde_json::to_vec(&given.others).ok()?));
    }
    if let Some(betas) = history.text(wire.betas).filter(|betas| !betas.is_empty()) {
        settings.insert(BETAS.to_owned(), digest(betas.as_bytes()));
    }
    Some(settings)
}

/// Settings of a request that change the answer alone. `None` if its bytes are not kept.
pub(super) fn of_answer(history: &History, wire: &WireRequest) -> Option<Settings> {
    answer_settings(history, wire).map(digests)
}

fn digests(named: Vec<(String, &RawValue)>) -> Settings {
    named.into_iter().map(|(name, value)| (name, digest(value.get().as_bytes()))).collect()
}

/// Names of the settings that differ.
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
