//! What was set in a file: the file before and afterwards, so that it can be taken back, and what it promised.

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
    /// The path of the file, with links resolved.
    pub file: String,
    /// When it was set.
    pub at: Timestamp,
    /// The change: the code of the advice, or the command that asked for it.
    pub change: String,
    /// The keys that have other values since, and these.
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
}

impl Promise {
    /// The share. `None` where nothing was spent, or not a part of it would have been saved.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        let (saving, spent) =
            (self.saving_usd.to_dollars_lossy(), self.spent_usd.to_dollars_lossy());
        (self.spent_usd > Picodollars::ZERO)
            .then(|| saving / spent)
            .filter(|share| (0.0..=1.0).contains(share))
    }
}

/// A file from which a change is taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undone {
    /// Its keys already are what they were.
    Already,
    /// It was not there before, and nothing was written to it since.
    Removed,
    /// What it is then.
    File(SettingsText),
}

/// Why a change is not taken back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UndoError {
    /// A key cannot be put back.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// A key has a value that is neither that from before nor the one that it was given.
    #[error("`{0}` was changed since it was set")]
    Changed(String),
    /// The file was removed.
    #[error("the file is not there any more")]
    Gone,
}

impl Applied {
    /// Sets keys in a file, or in one that is not there.
    ///
    /// # Errors
    /// Something that is no object stands where a key belongs, or a key is there twice.
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
            if after.get(&setting.path())?.as_ref() != Some(&setting.value) {
                match &setting.source {
                    Some(source) => after.put(&setting.path(), source)?,
                    None => after.set(&setting.path(), &setting.value)?,
                }
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

    /// Reads a record. `None` of what is none, and of one whose files cannot be read.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let applied: Self = serde_json::from_slice(bytes).ok()?;
        let is_readable =
            applied.text_before().is_ok() && SettingsText::parse(applied.after.as_bytes()).is_ok();
        (applied.schema == SCHEMA && is_readable).then_some(applied)
    }

    /// The record as it is kept.
    ///
    /// # Errors
    /// None: it has text, numbers and keys that are text.
    pub fn to_json(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec_pretty(self)
    }

    /// What happens to each key.
    ///
    /// # Errors
    /// Something that is no object stands where a key belongs, or a key is there twice.
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

    /// The file without what was set. One that still is what was written becomes what it was, to the byte; in one that was
    /// written since, the keys alone change, back to what was written for them before.
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
