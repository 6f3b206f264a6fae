//! Settings of requests that differ from the baseline, with nothing recorded that shows their cost.

use crate::explain::snapshot::{Settings, changed_settings};

/// Setting that differs from the baseline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingChange {
    /// Field of the body, `betas`, or `other fields`.
    pub name: String,
    /// Number of requests with the difference.
    pub requests: u64,
    /// Session of the first of them, by its index in the run.
    pub session: usize,
    /// Index of that request in the session.
    pub turn: usize,
}

/// Settings that are priced as requested, so that their cost is known.
const PRICED: [&str; 2] = ["inference_geo", "speed"];

/// Changes of settings, sorted by name for binary search.
#[derive(Debug, Default)]
pub(super) struct SettingChanges {
    pub(super) all: Vec<SettingChange>,
    /// Number of captured requests with settings that the baseline does not know.
    pub(super) unknown: usize,
}

impl SettingChanges {
    /// Adds the changes of a request.
    pub(super) fn add(&mut self, before: &Settings, now: &Settings, session: usize, turn: usize) {
        let names = changed_settings(before, now).into_iter();
        for name in names.filter(|name| !PRICED.contains(name)) {
            match self.all.binary_search_by(|change| change.name.as_str().cmp(name)) {
                Ok(place) => self.all[place].requests += 1,
                Err(place) => {
                    let name = name.to_owned();
                    self.all.insert(place, SettingChange { name, requests: 1, session, turn });
                }
            }
        }
    }
}
