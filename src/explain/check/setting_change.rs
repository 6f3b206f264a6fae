//! Settings of requests that differ from the baseline, with nothing recorded that shows their cost.

use crate::explain::snapshot::{Settings, changed_settings};
use crate::requests::difference::is_priced;

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
        // What is priced as requested has a known cost.
        for name in names.filter(|name| !is_priced(name)) {
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
