//! Precedence of a client's settings files, and conflicts that would keep a key from acting.
//!
//! Claude Code takes a key from the strongest file that has it: the administrators' file, then a file named on its
//! command line, `settings.local.json` and `settings.json` of the project, and the user's. For some keys there are
//! variables that are stronger than any file. Such a variable may also be set in the `env` object of each file.
//! (Settings from a server or a device's profile are not seen.)

use std::path::PathBuf;

use serde_json::Value;

use super::Setting;
use super::text::{SettingsError, SettingsText};
use crate::base::Order as _;

/// Owner of a settings file, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// Administrator, whose settings no other file changes.
    Managed,
    /// File named on the client's command line.
    Named,
    /// User, for one project.
    Local,
    /// Project.
    Project,
    /// User, for all projects.
    User,
}

/// An existing settings file.
#[derive(Clone, Debug)]
pub struct LayerFile {
    /// Owner of the file.
    pub layer: Layer,
    /// Path of the file.
    pub path: PathBuf,
    /// Content of the file.
    pub text: SettingsText,
}

/// Other sources of settings besides the file that is to be changed.
#[derive(Clone, Debug)]
pub struct Layers<E> {
    /// Other settings files.
    pub others: Vec<LayerFile>,
    /// Function from the name of an environment variable to its value.
    pub environment: E,
}

/// Reason for which a key would not act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// A stronger file has the key.
    Stronger {
        /// Name of the key.
        key: String,
        /// The stronger file and its owner.
        file: (Layer, PathBuf),
    },
    /// A variable decides.
    Variable {
        /// Name of the key.
        key: String,
        /// Name of the variable.
        variable: &'static str,
        /// File whose `env` sets the variable. `None` for the environment itself.
        file: Option<PathBuf>,
    },
    /// Another key turns the key off.
    TurnedOff {
        /// Name of the key.
        key: String,
        /// The other key, and the value with which it turns the key off.
        by: (&'static str, bool),
        /// File that has the other key.
        file: PathBuf,
    },
}

/// Settings that are stronger than a key.
struct Stronger {
    key: &'static str,
    /// Variables that give the key a value.
    variables: &'static [&'static str],
    /// Variables that turn the key off.
    disabling: &'static [&'static str],
    /// Other keys, each with the value that turns the key off.
    switches: &'static [(&'static str, bool)],
}

/// The one key whose lists the client joins over all files.
const HOOKS: &str = "hooks";

/// Variable that forces a lifetime of five minutes.
const FORCED: &str = "FORCE_PROMPT_CACHING_5M";

/// Variables that disable lifetimes (all but five minutes) or the cache itself, for some models or all.
const NOT_CACHED: &[&str] = &[
    FORCED,
    "DISABLE_PROMPT_CACHING",
    "DISABLE_PROMPT_CACHING_HAIKU",
    "DISABLE_PROMPT_CACHING_SONNET",
    "DISABLE_PROMPT_CACHING_OPUS",
    "DISABLE_PROMPT_CACHING_FABLE",
];

/// Precedence by the client's documentation (promptCacheTtl, subagentPromptCacheTtl, autoCompactWindow, statusLine).
const STRONGER: [Stronger; 5] = [
    Stronger {
        key: "promptCacheTtl",
        variables: &["CLAUDE_CODE_PROMPT_CACHE_TTL"],
        disabling: NOT_CACHED,
        switches: &[],
    },
    Stronger {
        key: "subagentPromptCacheTtl",
        variables: &["CLAUDE_CODE_SUBAGENT_PROMPT_CACHE_TTL"],
        disabling: NOT_CACHED,
        switches: &[],
    },
    Stronger {
        key: "autoCompactWindow",
        variables: &["CLAUDE_CODE_AUTO_COMPACT_WINDOW", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"],
        disabling: &["DISABLE_COMPACT", "DISABLE_AUTO_COMPACT"],
        switches: &[("autoCompactEnabled", false)],
    },
    Stronger {
        key: HOOKS,
        variables: &[],
        disabling: &[],
        switches: &[("disableAllHooks", true), ("allowManagedHooksOnly", true)],
    },
    Stronger {
        key: "statusLine",
        variables: &[],
        disabling: &[],
        switches: &[("disableAllHooks", true)],
    },
];

impl<E: Fn(&str) -> Option<String>> Layers<E> {
    /// First conflict that keeps a setting in a file from acting, the strongest reason first.
    ///
    /// # Errors
    /// A file, whose path is given, has a key twice or a value of another kind in its place.
    pub fn conflict(
        &self,
        setting: &Setting,
        own: &LayerFile,
    ) -> Result<Option<Conflict>, (PathBuf, SettingsError)> {
        let key = setting.name();
        let path = setting.path();
        // The client joins the hooks of all files: a stronger file adds hooks and hides none.
        let is_merged = path.first() == Some(&HOOKS);
        for other in self.others.iter().filter(|other| other.layer < own.layer && !is_merged) {
            if value(other, &path)?.is_some_and(|value| value != setting.value) {
                let file = (other.layer, other.path.clone());
                return Ok(Some(Conflict::Stronger { key, file }));
            }
        }
        let Some(stronger) = STRONGER.iter().find(|stronger| path.first() == Some(&stronger.key))
        else {
            return Ok(None);
        };
        let mut files: Vec<&LayerFile> = self.others.iter().chain([own]).collect();
        files.order_by_key(|file| file.layer);
        // The strongest file that has a key decides.
        let decisive = |path: &[&str]| {
            let mut values = files
                .iter()
                .map(|file| Ok(value(file, path)?.map(|value| (value, file.path.clone()))));
            values.find_map(Result::transpose).transpose()
        };
        // Disabling variables come first: next to one, a variable with a value has no effect.
        for variable in stronger.disabling.iter().chain(stronger.variables) {
            let is_disabling = stronger.disabling.contains(variable);
            let decides = |text: &str| {
                if is_disabling {
                    disables(variable, text, setting)
                } else {
                    !agrees(text, setting)
                }
            };
            let variable = *variable;
            if (self.environment)(variable).is_some_and(|text| decides(&text)) {
                return Ok(Some(Conflict::Variable { key, variable, file: None }));
            }
            if let Some((value, file)) = decisive(&["env", variable])?
                && decides(&text_of(&value))
            {
                return Ok(Some(Conflict::Variable { key, variable, file: Some(file) }));
            }
        }
        for (switch, off) in stronger.switches {
            if let Some((value, file)) = decisive(&[switch])?
                && value == *off
            {
                return Ok(Some(Conflict::TurnedOff { key, by: (switch, *off), file }));
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

/// Returns true if a variable that can turn a key off does so with this value.
fn disables(variable: &str, text: &str, setting: &Setting) -> bool {
    let text = text.trim().to_ascii_lowercase();
    let is_on = !matches!(text.as_str(), "" | "0" | "false" | "no" | "off");
    // A forced lifetime of five minutes is no conflict with a setting of five minutes.
    is_on && !(variable == FORCED && setting.value == "5m")
}

/// Returns true if a variable leaves the key its wanted value.
fn agrees(text: &str, setting: &Setting) -> bool {
    // An empty variable counts as unset.
    let text = text.trim();
    text.is_empty() || text == text_of(&setting.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(layer: Layer, text: &str) -> LayerFile {
        let path = PathBuf::from(format!("{layer:?}.json"));
        LayerFile { layer, path, text: SettingsText::parse(text.as_bytes()).expect("settings") }
    }

    fn conflict(others: &[(Layer, &str)], own: Layer) -> Option<Conflict> {
        let others = others.iter().map(|(layer, text)| file(*layer, text)).collect();
        let layers = Layers { others, environment: |_: &str| None };
        let setting = Setting::top("promptCacheTtl", "1h".into());
        layers.conflict(&setting, &file(own, "{}")).expect("readable")
    }

    #[test]
    fn the_strongest_file_that_has_a_key_decides() {
        let five = "{\"promptCacheTtl\": \"5m\"}";
        let stronger = |layer: Layer| {
            let file = (layer, PathBuf::from(format!("{layer:?}.json")));
            Some(Conflict::Stronger { key: "promptCacheTtl".to_owned(), file })
        };
        for layer in [Layer::Managed, Layer::Named, Layer::Local, Layer::Project] {
            assert_eq!(conflict(&[(layer, five)], Layer::User), stronger(layer));
        }
        assert_eq!(conflict(&[(Layer::User, five), (Layer::Project, five)], Layer::Local), None);
        assert_eq!(
            conflict(&[(Layer::Managed, "{\"promptCacheTtl\": \"1h\"}")], Layer::User),
            None
        );
        let managed = [(Layer::Managed, five), (Layer::Local, five)];
        assert_eq!(conflict(&managed, Layer::Named), stronger(Layer::Managed));
    }

    #[test]
    fn so_does_the_strongest_file_that_has_a_variable() {
        let with =
            |value: &str| format!("{{\"env\": {{\"FORCE_PROMPT_CACHING_5M\": \"{value}\"}}}}");
        let (on, off) = (with("1"), with("0"));
        let forced = conflict(&[(Layer::User, &on)], Layer::Local);
        assert!(matches!(forced, Some(Conflict::Variable { variable: FORCED, file: Some(_), .. })));
        assert_eq!(conflict(&[(Layer::User, &on), (Layer::Managed, &off)], Layer::Local), None);
        assert!(conflict(&[(Layer::User, &off), (Layer::Managed, &on)], Layer::Local).is_some());
    }
}
