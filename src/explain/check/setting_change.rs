//! Settings that requests give otherwise than in the baseline, where nothing recorded shows what that costs.

use std::collections::BTreeSet;

use crate::explain::snapshot::Settings;

/// A setting that is another one than in the baseline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingChange {
    /// The field of the body, `betas`, or `other fields`.
    pub name: String,
    /// How many requests it is of.
    pub requests: u64,
    /// The session of the first of them, by its index in the run.
    pub session: usize,
    /// Its index in the session.
    pub turn: usize,
}

/// The changes, by name.
#[derive(Debug, Default)]
pub(super) struct SettingChanges(pub(super) Vec<SettingChange>);

impl SettingChanges {
    /// Adds those of a request.
    pub(super) fn add(&mut self, before: &Settings, now: &Settings, session: usize, turn: usize) {
        let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
        for name in names.into_iter().filter(|name| before.get(*name) != now.get(*name)) {
            match self.0.binary_search_by(|change| change.name.cmp(name)) {
                Ok(place) => self.0[place].requests += 1,
                Err(place) => {
                    let name = name.clone();
                    self.0.insert(place, SettingChange { name, requests: 1, session, turn });
                }
            }
        }
    }
}
