//! The settings of a client: keys that a change sets, whether they would act, and the file with them, of which every
//! other byte stays as it was.
//!
//! Claude Code reads several files (`layers.rs`), of which the strongest that has a key decides, and variables of the
//! environment that are stronger than any file for some keys. A key is set only where nothing else decides.
//!
//! Who builds an agent sets keys in its requests: a template of these gets other markers (`template/`) in the same way.

mod applied;
mod array;
mod layers;
mod root;
mod template;
mod text;

pub use applied::{Applied, Promise, UndoError, Undone};
pub use layers::{Conflict, Layer, LayerFile, Layers};
pub use template::{MarkerChange, MarkerPlace, PatchError, Patched, Template};
pub use text::{Place, SettingsError, SettingsProblem, SettingsText, shown};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::explain::advice::{ClientSetting, SettingValue};

/// A key of the settings and its value.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Setting {
    /// The names that lead to it, from the outermost on; two at most.
    pub key: Vec<String>,
    /// The value.
    pub value: Value,
    /// The value as it is to be written, where parts of it stay as they were.
    #[serde(skip)]
    pub source: Option<String>,
}

impl From<&ClientSetting> for Setting {
    fn from(setting: &ClientSetting) -> Self {
        let value = match setting.value {
            SettingValue::Text(text) => text.into(),
            SettingValue::Number(number) => number.into(),
        };
        Self {
            key: setting.key.iter().map(|name| (*name).to_owned()).collect(),
            value,
            source: None,
        }
    }
}

impl Setting {
    /// A key at the top.
    #[must_use]
    pub fn top(key: &str, value: Value) -> Self {
        Self { key: vec![key.to_owned()], value, source: None }
    }

    /// The names that lead to it.
    #[must_use]
    pub fn path(&self) -> Vec<&str> {
        self.key.iter().map(String::as_str).collect()
    }

    /// The key as people write it.
    #[must_use]
    pub fn name(&self) -> String {
        self.key.join(".")
    }
}

/// What happens to a key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyChange {
    /// The key as people write it.
    pub key: String,
    /// Its value before, if it had one.
    pub before: Option<Value>,
    /// Its value afterwards, if it has one.
    pub after: Option<Value>,
}
