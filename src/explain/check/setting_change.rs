//! Settings of requests that differ from the baseline.

use crate::explain::snapshot::{Settings, SnapshotTurn, changed_settings};
use crate::requests::difference::is_priced;

/// Setting that differs from the baseline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingChange {
    /// Field of the body, `betas`, or `other fields`.
    pub name: String,
    /// Number of requests with the difference.
    pub requests: u64,
    /// Number of these of which nothing recorded shows what the difference costs.
    pub unshown: u64,
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
    /// Adds the changes of a captured request. `is_shown` says that usage was recorded anew for it.
    pub(super) fn add(
        &mut self,
        before: &SnapshotTurn,
        now: &SnapshotTurn,
        place: (usize, usize),
        is_shown: bool,
    ) {
        let sides =
            [(&before.settings, &now.settings), (&before.answer_settings, &now.answer_settings)];
        for (before, now) in sides {
            if let (Some(before), Some(now)) = (before, now) {
                self.add_names(before, now, place, is_shown);
            }
        }
        // A baseline of an older version has the prompt, and not its settings.
        let is_unknown = sides.iter().any(|(before, now)| before.is_none() && now.is_some());
        self.unknown += usize::from(is_unknown && before.block.is_some());
    }

    fn add_names(
        &mut self,
        before: &Settings,
        now: &Settings,
        (session, turn): (usize, usize),
        is_shown: bool,
    ) {
        for name in changed_settings(before, now) {
            // What is priced as requested has a known cost.
            let unshown = u64::from(!is_shown && !is_priced(name));
            match self.all.binary_search_by(|change| change.name.as_str().cmp(name)) {
                Ok(place) => {
                    self.all[place].requests += 1;
                    self.all[place].unshown += unshown;
                }
                Err(place) => {
                    let name = name.to_owned();
                    let change = SettingChange { name, requests: 1, unshown, session, turn };
                    self.all.insert(place, change);
                }
            }
        }
    }
}
