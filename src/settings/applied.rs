//! Record of a change to a settings file: the text before and after, so that it can be undone, and the promised saving.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::text::{SettingsError, SettingsText};
use super::{KeyChange, Setting};
use crate::base::Picodollars;

/// Format and version of the record.
const SCHEMA: &str = "cachesim.applied/v1";

/// A change of a settings file.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Applied {
    schema: String,
    /// The path of the file, with links resolved.
    pub file: String,
    /// Time at which the keys were set.
    pub at: Timestamp,
    /// The change: the code of the advice, or the command that asked for it.
    pub change: String,
    /// Keys whose values differed before, with their new values.
    pub set: Vec<Setting>,
    /// The file before. `None` if there was no file.
    pub before: Option<String>,
    /// The file afterwards.
    pub after: String,
    /// Saving that the advice promised.
    pub promise: Option<Promise>,
}

/// Saving of a change in the sessions on which it was advised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Promise {
    /// Saving of this change alone.
    pub saving_usd: Picodollars,
    /// Cost of these sessions.
    pub spent_usd: Picodollars,
}

impl Promise {
    /// Saving as a share of the cost. `None` if nothing was spent, or the share is not between 0 and 1.
    pub fn share(&self) -> Option<f64> {
        let (saving, spent) =
            (self.saving_usd.to_dollars_lossy(), self.spent_usd.to_dollars_lossy());
        (self.spent_usd > Picodollars::ZERO)
            .then(|| saving / spent)
            .filter(|share| (0.0..=1.0).contains(share))
    }
}

/// Result of undoing a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undone {
    /// Keys that already have their old values.
    Already,
    /// No file existed before, and nothing was written to it since.
    Removed,
    /// Text of the file without the change.
    File(SettingsText),
}

/// Reason for which a change is not undone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UndoError {
    /// A key that cannot be put back.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// A key whose value is neither the old one nor the one that the change gave.
    #[error("`{0}` was changed since it was set")]
    Changed(String),
    /// A file that was removed.
    #[error("the file is not there any more")]
    Gone,
}

impl Applied {
    /// Sets keys in a file, or in a new file if `before` is missing.
    ///
    /// # Errors
    /// A key belongs into a value that is not an object, or a key is there twice.
    pub fn new(
        file: &str,
        (change, at): (&str, Timestamp),
        wanted: Vec<Setting>,
        before: Option<&SettingsText>,
        promise: Option<Promise>,
    ) -> Result<Self, SettingsError> {
        let mut after = before.map_or_else(|| SettingsText::parse(b""), |text| Ok(text.clone()))?;
        let mut set = Vec::new();
        for setting in wanted {
            // A key that already has its value is left out of the record: undoing must not touch it.
            if after.get(&setting.path())?.as_ref() != Some(&setting.value) {
                match &setting.source {
                    Some(source) => after.put(&setting.path(), source)?,
                    None => after.set(&setting.path(), &setting.value)?,
                }
                // Source and value are given separately, so the source could mean another value.
                if after.get(&setting.path())?.as_ref() != Some(&setting.value) {
                    return Err(SettingsError::not_alone(&setting.name()));
                }
                set.push(setting);
            }
        }
        Ok(Self {
            schema: SCHEMA.to_owned(),
            file: file.to_owned(),
            at,
            change: change.to_owned(),
            set,
            before: before.map(|before| before.as_str().to_owned()),
            after: after.as_str().to_owned(),
            promise,
        })
    }

    /// Reads a record. `None` if it is not one, or if one of its two texts cannot be read.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let applied: Self = serde_json::from_slice(bytes).ok()?;
        let is_readable =
            applied.text_before().is_ok() && SettingsText::parse(applied.after.as_bytes()).is_ok();
        (applied.schema == SCHEMA && is_readable).then_some(applied)
    }

    /// Serialises the record.
    ///
    /// # Errors
    /// None: it has text, numbers and keys that are text.
    pub fn to_json(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec_pretty(self)
    }

    /// Old and new value of each key.
    ///
    /// # Errors
    /// A key belongs into a value that is not an object, or a key is there twice.
    pub fn changes(&self) -> Result<Vec<KeyChange>, SettingsError> {
        let before = self.text_before()?;
        let change = |setting: &Setting| {
            let before = before.get(&setting.path())?;
            Ok(KeyChange { key: setting.name(), before, after: Some(setting.value.clone()) })
        };
        self.set.iter().map(change).collect()
    }

    fn text_before(&self) -> Result<SettingsText, SettingsError> {
        SettingsText::parse(self.before.as_deref().unwrap_or_default().as_bytes())
    }

    /// The file without the change. If nothing was written since, the old bytes come back; otherwise only the keys
    /// change, each back to its old source text.
    ///
    /// # Errors
    /// A key was changed since, or the file is not there any more.
    pub fn undone(&self, now: Option<&SettingsText>) -> Result<Undone, UndoError> {
        let Some(now) = now else {
            return if self.before.is_none() { Ok(Undone::Already) } else { Err(UndoError::Gone) };
        };
        let before = self.text_before()?;
        if now.as_str() == self.after {
            return Ok(if self.before.is_some() { Undone::File(before) } else { Undone::Removed });
        }
        let mut undone = now.clone();
        for setting in &self.set {
            let key = setting.path();
            let (old, value) = (before.get(&key)?, now.get(&key)?);
            if value == old {
                continue;
            }
            if value.as_ref() != Some(&setting.value) {
                return Err(UndoError::Changed(setting.name()));
            }
            // The source rather than the value: comments and spacing inside it come back as well.
            if let Some(source) = before.source(&key)? {
                undone.put(&key, &source)?;
                continue;
            }
            undone.remove(&key)?;
            let outer = &key[..key.len() - 1];
            // An object that came with the key goes with it, unless something else is in it now.
            let source = undone.source(outer)?;
            let is_empty =
                source.is_some_and(|source| source.split_whitespace().collect::<String>() == "{}");
            if is_empty && before.get(outer)?.is_none() {
                undone.remove(outer)?;
            }
        }
        Ok(if undone == *now { Undone::Already } else { Undone::File(undone) })
    }
}
