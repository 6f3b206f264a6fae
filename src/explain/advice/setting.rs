//! Which keys of Claude Code's settings make a change, where keys alone do.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

use super::Change;

/// A key of Claude Code's settings, and the value that it is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientSetting {
    /// The names that lead to it, from the outermost on.
    pub key: &'static [&'static str],
    /// The value.
    pub value: SettingValue,
    /// The version that has it first, where that is known.
    pub since: Option<&'static str>,
}

/// The value of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(untagged)]
pub enum SettingValue {
    /// A text.
    Text(&'static str),
    /// A whole number.
    Number(u64),
}

const fn lifetimes(main: &'static str, agents: &'static str) -> [ClientSetting; 2] {
    let since = Some("2.1.243");
    [
        ClientSetting { key: &["promptCacheTtl"], value: SettingValue::Text(main), since },
        ClientSetting {
            key: &["subagentPromptCacheTtl"],
            value: SettingValue::Text(agents),
            since,
        },
    ]
}

const fn window(size: u64) -> [ClientSetting; 1] {
    let value = SettingValue::Number(size);
    [ClientSetting { key: &["autoCompactWindow"], value, since: None }]
}

const fn variable(key: &'static [&'static str], value: &'static str) -> [ClientSetting; 1] {
    [ClientSetting { key, value: SettingValue::Text(value), since: None }]
}

/// The changes, by their codes. Of a change that is not here a setting is at most a part, or one of several ways.
const SETTINGS: [(&str, &[ClientSetting]); 8] = [
    ("5m", &lifetimes("5m", "5m")),
    ("1h", &lifetimes("1h", "1h")),
    ("1h-main-5m-agents", &lifetimes("1h", "5m")),
    ("5m-main-1h-agents", &lifetimes("5m", "1h")),
    // The client compacts 33,000 tokens below the window.
    ("compact-100k", &window(133_000)),
    ("compact-150k", &window(183_000)),
    ("stable-attribution", &variable(&["env", "CLAUDE_CODE_ATTRIBUTION_HEADER"], "0")),
    ("deferred-tools", &variable(&["env", "ENABLE_TOOL_SEARCH"], "true")),
];

impl Change {
    /// The settings that make it. None where it takes more than settings, or a choice, or another client's.
    #[must_use]
    pub fn settings(&self) -> &'static [ClientSetting] {
        if self.setting.is_none() {
            return &[];
        }
        let found = SETTINGS.iter().find(|(code, _)| *code == self.code);
        found.map(|(_, settings)| *settings).unwrap_or_default()
    }
}
