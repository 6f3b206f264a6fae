//! Which of a client's settings files decides, and what would keep a key from acting.
//!
//! Claude Code takes a key from the strongest file that has it: what administrators manage, then a file named on its
//! command line, `settings.local.json` and `settings.json` of the project, and the user's. Some keys have variables that
//! are stronger than any file, and such variables may stand in the `env` object of each file, too. (Settings that a server
//! or a device's profile gives are not seen.)

use std::path::PathBuf;

use serde_json::Value;

use super::Setting;
use super::text::{SettingsError, SettingsText};

/// Whose a file is, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// An administrator's, which no other file changes.
    Managed,
    /// One that is named on the client's command line.
    Named,
    /// The user's own of a project.
    Local,
    /// A project's.
    Project,
    /// The user's.
    User,
}

/// A settings file that is there.
#[derive(Clone, Debug)]
pub struct LayerFile {
    /// Whose it is.
    pub layer: Layer,
    /// Where it is.
    pub path: PathBuf,
    /// What it says.
    pub text: SettingsText,
}

/// What decides beside the file in which keys are to be set.
#[derive(Clone, Debug)]
pub struct Layers<E> {
    /// The other files.
    pub others: Vec<LayerFile>,
    /// The value of a variable of the environment.
    pub environment: E,
}

/// Why a key would not act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// A stronger file has it.
    Stronger {
        /// The key.
        key: String,
        /// The file, and whose it is.
        file: (Layer, PathBuf),
    },
    /// A variable decides.
    Variable {
        /// The key.
        key: String,
        /// The variable.
        variable: &'static str,
        /// The file in whose `env` it stands. `None` of the environment itself.
        file: Option<PathBuf>,
    },
    /// Another key turns off what it sets.
    TurnedOff {
        /// The key.
        key: String,
        /// The other key and the value that turns it off.
        by: (&'static str, bool),
        /// The file that has it.
        file: PathBuf,
    },
}

/// What is stronger than a key: variables, and keys with the value that turns it off.
struct Stronger {
    key: &'static str,
    variables: &'static [&'static str],
    switches: &'static [(&'static str, bool)],
}

/// The variables that force five minutes, and that turn compaction off.
const FORCED: &str = "FORCE_PROMPT_CACHING_5M";
const SWITCHES_OFF: [&str; 2] = ["DISABLE_COMPACT", "DISABLE_AUTO_COMPACT"];

/// By the client's documentation (promptCacheTtl, subagentPromptCacheTtl, autoCompactWindow, statusLine).
const STRONGER: [Stronger; 4] = [
    Stronger {
        key: "promptCacheTtl",
        variables: &[FORCED, "CLAUDE_CODE_PROMPT_CACHE_TTL"],
        switches: &[],
    },
    Stronger {
        key: "subagentPromptCacheTtl",
        variables: &[FORCED, "CLAUDE_CODE_SUBAGENT_PROMPT_CACHE_TTL"],
        switches: &[],
    },
    Stronger {
        key: "autoCompactWindow",
        variables: &["DISABLE_COMPACT", "DISABLE_AUTO_COMPACT", "CLAUDE_CODE_AUTO_COMPACT_WINDOW"],
        switches: &[("autoCompactEnabled", false)],
    },
    Stronger { key: "statusLine", variables: &[], switches: &[("disableAllHooks", true)] },
];

impl<E: Fn(&str) -> Option<String>> Layers<E> {
    /// What keeps a setting from acting in a file, the strongest reason first.
    ///
    /// # Errors
    /// A file, whose path is given, has a key twice or something else in its place.
    pub fn conflict(
        &self,
        setting: &Setting,
        own: &LayerFile,
    ) -> Result<Option<Conflict>, (PathBuf, SettingsError)> {
        let key = setting.name();
        let path: Vec<&str> = setting.key.iter().map(String::as_str).collect();
        for other in self.others.iter().filter(|other| other.layer < own.layer) {
            if value(other, &path)?.is_some_and(|value| value != setting.value) {
                let file = (other.layer, other.path.clone());
                return Ok(Some(Conflict::Stronger { key, file }));
            }
        }
        let files = || self.others.iter().chain([own]);
        let stronger = STRONGER.iter().find(|stronger| stronger.key == key);
        for variable in stronger.into_iter().flat_map(|stronger| stronger.variables) {
            let decides = |text: &str| !agrees(variable, text, &setting.value);
            if (self.environment)(variable).is_some_and(|text| decides(&text)) {
                return Ok(Some(Conflict::Variable { key, variable, file: None }));
            }
            for file in files() {
                if value(file, &["env", variable])?.is_some_and(|value| decides(&text_of(&value))) {
                    let file = Some(file.path.clone());
                    return Ok(Some(Conflict::Variable { key, variable, file }));
                }
            }
        }
        for (switch, off) in stronger.into_iter().flat_map(|stronger| stronger.switches) {
            for file in files() {
                if value(file, &[switch])? == Some(Value::Bool(*off)) {
                    let (by, file) = ((*switch, *off), file.path.clone());
                    return Ok(Some(Conflict::TurnedOff { key, by, file }));
                }
            }
        }
        Ok(None)
    }
}

fn value(file: &LayerFile, key: &[&str]) -> Result<Option<Value>, (PathBuf, SettingsError)> {
    file.text.get(key).map_err(|error| (file.path.clone(), error))
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Whether a variable leaves a key what it is to be.
fn agrees(variable: &str, text: &str, value: &Value) -> bool {
    let text = text.trim();
    let is_off = matches!(text.to_ascii_lowercase().as_str(), "" | "0" | "false" | "no" | "off");
    if variable == FORCED {
        is_off || value == "5m"
    } else if SWITCHES_OFF.contains(&variable) {
        is_off
    } else {
        text.is_empty() || text == text_of(value)
    }
}
