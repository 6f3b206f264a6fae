//! Settings that requests give otherwise than in the baseline, where nothing recorded shows what that costs.

use crate::explain::snapshot::{Settings, changed_settings};

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

/// What is priced as it is asked for.
const PRICED: [&str; 2] = ["inference_geo", "speed"];

/// The changes, by name.
#[derive(Debug, Default)]
pub(super) struct SettingChanges {
    pub(super) all: Vec<SettingChange>,
    /// How many captured requests have settings that the baseline does not know.
    pub(super) unknown: usize,
}

impl SettingChanges {
    /// Adds those of a request.
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
