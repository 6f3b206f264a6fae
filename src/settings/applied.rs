//! What was set in a file: the file before and afterwards, so that it can be taken back, and what it promised.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::text::{SettingsError, SettingsText};
use super::{KeyChange, Setting};
use crate::base::units::Picodollars;

/// The format and its version.
const SCHEMA: &str = "cachesim.applied/v1";

/// A change of a settings file.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Applied {
    schema: String,
    /// The file, with links resolved.
    pub file: PathBuf,
    /// When it was set.
    pub at: Timestamp,
    /// The change: the code of the advice, or the command that asked for it.
    pub change: String,
    /// What was set.
    pub set: Vec<Setting>,
    /// The file before. `None` where there was none.
    pub before: Option<String>,
    /// The file afterwards.
    pub after: String,
    /// What it would have saved.
    pub promise: Option<Promise>,
}

/// What a change would have saved in the sessions on which it was advised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Promise {
    /// What it would have saved, alone.
    pub saving_usd: Picodollars,
    /// Of what was spent.
    pub spent_usd: Picodollars,
    /// Whether that is the most that can be.
    pub at_most: bool,
}

/// Why a change is not taken back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UndoError {
    /// The file is damaged now.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// A key has another value than it was given.
    #[error("`{0}` was changed since")]
    Changed(String),
}

impl Applied {
    /// Sets keys in a file, or in one that is not there.
    ///
    /// # Errors
    /// The file is damaged, or something that is no object stands where a key belongs.
    pub fn new(
        file: PathBuf,
        (change, at): (&str, Timestamp),
        set: Vec<Setting>,
        before: Option<SettingsText>,
        promise: Option<Promise>,
    ) -> Result<Self, SettingsError> {
        let mut after = match &before {
            Some(before) => before.clone(),
            None => SettingsText::parse(b"")?,
        };
        for setting in &set {
            if after.get(&path(setting))?.as_ref() != Some(&setting.value) {
                after.set(&path(setting), &setting.value)?;
            }
        }
        Ok(Self {
            schema: SCHEMA.to_owned(),
            file,
            at,
            change: change.to_owned(),
            set,
            before: before.map(|before| before.as_str().to_owned()),
            after: after.as_str().to_owned(),
            promise,
        })
    }

    /// Reads a record. `None` of what is none.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok().filter(|applied: &Self| applied.schema == SCHEMA)
    }

    /// The record as it is kept.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        // Every map has text for keys.
        serde_json::to_vec_pretty(self).unwrap_or_default()
    }

    /// Whether the file already says what is to be set.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.before.as_deref() == Some(self.after.as_str())
    }

    /// What happens to each key.
    ///
    /// # Errors
    /// The file before is damaged.
    pub fn changes(&self) -> Result<Vec<KeyChange>, SettingsError> {
        let before = SettingsText::parse(self.before.as_deref().unwrap_or_default().as_bytes())?;
        let change = |setting: &Setting| {
            let before = before.get(&path(setting))?;
            Ok(KeyChange { key: setting.key.clone(), before, after: Some(setting.value.clone()) })
        };
        self.set.iter().map(change).collect()
    }

    /// The file without what was set. `None` where there was none before, and nothing else came since: a file that still
    /// is what was written becomes what it was, to the byte; in one that was written since, the keys alone change.
    ///
    /// # Errors
    /// The file is damaged, or a key was changed since.
    pub fn undone(&self, now: &SettingsText) -> Result<Option<SettingsText>, UndoError> {
        if now.as_str() == self.after {
            let before = self.before.as_ref().map(|before| SettingsText::parse(before.as_bytes()));
            return Ok(before.transpose()?);
        }
        let before = SettingsText::parse(self.before.as_deref().unwrap_or_default().as_bytes())?;
        let mut undone = now.clone();
        for setting in &self.set {
            let key = path(setting);
            if now.get(&key)?.as_ref() != Some(&setting.value) {
                return Err(UndoError::Changed(setting.name()));
            }
            if let Some(value) = before.get(&key)? {
                undone.set(&key, &value)?;
                continue;
            }
            undone.remove(&key)?;
            let outer = &key[..key.len() - 1];
            let is_empty = undone.get(outer)?.is_some_and(|value| value == empty());
            if is_empty && before.get(outer)?.is_none() {
                undone.remove(outer)?;
            }
        }
        Ok(Some(undone))
    }
}

fn path(setting: &Setting) -> Vec<&str> {
    setting.key.iter().map(String::as_str).collect()
}

fn empty() -> serde_json::Value {
    serde_json::Value::Object(serde_json::Map::new())
}
