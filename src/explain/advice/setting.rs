//! Keys of Claude Code's settings that make a change, if keys alone do.

use serde::Serialize;

use super::Change;

/// A key of Claude Code's settings, with the value that it is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "SettingObject"))]
pub struct ClientSetting {
    /// Names on the path to the key, outermost first.
    pub key: &'static [&'static str],
    /// Value to set.
    pub value: SettingValue,
    /// First version that has the key, if known.
    #[serde(skip)]
    pub since: Option<&'static str>,
}

/// The value of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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

/// Settings of each change, by its code.
///
/// For a change that is not here, a setting is at most a part, or one of several ways.
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
    /// Settings that make the change; empty if it takes more than settings, a choice, or another client's
    /// settings.
    pub fn settings(&self) -> &'static [ClientSetting] {
        // A change without a setting in words has none here, as for other clients than Claude Code.
        if self.setting.is_none() {
            return &[];
        }
        let found = SETTINGS.iter().find(|(code, _)| *code == self.code);
        found.map(|(_, settings)| *settings).unwrap_or_default()
    }
}
