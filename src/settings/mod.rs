//! Settings of a client: keys that a change sets, conflicts that would keep them from acting, and edits of the file
//! that leave every other byte as it was.
//!
//! Claude Code reads several files (`layers.rs`); the strongest file that has a key decides. For some keys environment
//! variables are stronger than any file. A key is set only if nothing else decides.
//!
//! Authors of agents set keys in their requests instead: `template/` changes the markers of a request template
//! likewise.

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
    /// Names that lead to the key, outermost first; two at most.
    pub key: Vec<String>,
    /// Value of the key.
    pub value: Value,
    /// Source text of the value, if parts of it stay as they were.
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
    /// A setting at the top level.
    pub fn top(key: &str, value: Value) -> Self {
        Self { key: vec![key.to_owned()], value, source: None }
    }

    /// Names that lead to the key, outermost first.
    pub fn path(&self) -> Vec<&str> {
        self.key.iter().map(String::as_str).collect()
    }

    /// Dotted name of the key.
    pub fn name(&self) -> String {
        self.key.join(".")
    }
}

/// Old and new value of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyChange {
    /// Dotted name of the key.
    pub key: String,
    /// Value before, if the key had one.
    pub before: Option<Value>,
    /// Value afterwards, if the key has one.
    pub after: Option<Value>,
}
