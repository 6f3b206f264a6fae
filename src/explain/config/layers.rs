//! Layers of a configuration, each with the origin of its values: the environment takes precedence
//! over the project's file, and the project's file over the user's.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::file::{Accepts, Config, ConfigError, PlacedBudget, read};
use super::{ConfigOption, ConfigSetting, PRICES};
use crate::base::toml_text::{TomlError, line_and_column};
use crate::read::input::{MOST_SETTINGS, read_whole};

/// Command with a table of its own.
const CHECK_COMMAND: &str = "check";

/// Settings and budgets of all layers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configuration {
    /// Files that it comes from.
    pub files: ConfigFiles,
    /// Budgets of `check`, all from one file.
    pub budgets: Vec<PlacedBudget>,
    /// Settings; the first one for an option takes precedence.
    settings: Vec<ConfigSetting>,
}

/// Files of a configuration, as the user would type them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "FilesObject"))]
pub struct ConfigFiles {
    /// File of the project.
    pub project: Option<String>,
    /// File of the user.
    pub user: Option<String>,
    /// Files that were looked for, if any.
    pub looked_for: Vec<String>,
}

impl Configuration {
    /// Combines the environment with the project's and the user's files. The budgets of `check`
    /// come from one file: the project's, if it has `[check]` or a budget.
    pub fn new(
        looked_for: Vec<String>,
        environment: Vec<ConfigSetting>,
        project: Option<Config>,
        user: Option<Config>,
    ) -> Self {
        let name = |config: &Option<Config>| config.as_ref().map(|config| config.file.clone());
        let files = ConfigFiles { project: name(&project), user: name(&user), looked_for };
        let is_checked = |config: &Config| config.check.is_some() || !config.budgets.is_empty();
        let project_is_checked = project.as_ref().is_some_and(is_checked);
        // A baseline or budgets of the user's are not meant for a project with its own.
        let user = match user {
            Some(user) if project_is_checked => {
                Some(Config { check: None, budgets: Vec::new(), ..user })
            }
            user => user,
        };
        let mut configuration = Self { files, settings: environment, ..Self::default() };
        for config in project.into_iter().chain(user) {
            // The first setting holds, so a file's `[check]` comes before its `[defaults]`.
            configuration.settings.extend(config.check.into_iter().flatten());
            configuration.settings.extend(config.defaults);
            configuration.budgets.extend(config.budgets);
        }
        configuration
    }

    /// Adds a file of prices that applies if no layer names one.
    #[must_use]
    pub fn with_prices(mut self, file: Option<ConfigFile>) -> Self {
        self.settings.extend(file.map(|file| ConfigSetting {
            option: &PRICES,
            is_for_check: false,
            values: vec![file.path.into_os_string()],
            origin: Origin::File { level: file.level, file: file.name, line: 1 },
        }));
        self
    }

    /// Returns true if no option differs from its built-in default.
    pub fn is_plain(&self) -> bool {
        self.settings.is_empty()
    }

    /// Effective setting of an option for a command.
    pub fn setting(&self, command: &str, key: &str) -> Option<&ConfigSetting> {
        let holds = |setting: &&ConfigSetting| {
            setting.option.key == key && (!setting.is_for_check || command == CHECK_COMMAND)
        };
        self.settings.iter().find(holds)
    }

    /// Effective setting of an option of `check`.
    pub fn of_check(&self, option: &ConfigOption) -> Option<&ConfigSetting> {
        self.setting(CHECK_COMMAND, option.key)
    }
}

/// Effective value of an option, for the commands that share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effective {
    /// Option of the value.
    pub option: &'static ConfigOption,
    /// Commands, in the order of the help.
    pub commands: Vec<String>,
    /// Values as they would be typed, if any.
    pub values: Vec<OsString>,
    /// Origin of the values.
    pub origin: Origin,
}

/// Owner of a configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigLevel {
    /// File of the project.
    Project,
    /// File of the user, which the project's overrides.
    User,
}

/// Origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Environment variable, by name.
    Environment(String),
    /// Configuration file.
    File {
        /// Owner of the file.
        level: ConfigLevel,
        /// Name of the file, as the user would type it.
        file: String,
        /// Line of the setting, counted from 1.
        line: usize,
    },
    /// Built-in default.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Environment(variable) => write!(f, "environment {variable}"),
            Self::File { level: ConfigLevel::Project, file, line } => write!(f, "{file}:{line}"),
            Self::File { level: ConfigLevel::User, file, line } => {
                write!(f, "user file {file}:{line}")
            }
            Self::Default => f.write_str("default"),
        }
    }
}

/// Configuration file that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFile {
    /// Owner of the file.
    pub level: ConfigLevel,
    /// Path of the file.
    pub path: PathBuf,
    /// Name in messages, as the user would type it.
    pub name: String,
}

/// Reads a file. `~/` in its paths is the folder `home`.
///
/// # Errors
/// The first part of the file that cannot be used, or the reason why it cannot be read.
pub fn load(
    file: &ConfigFile,
    home: Option<&Path>,
    accepts: Accepts<'_>,
) -> Result<Config, ConfigError> {
    let unreadable = |source| ConfigError::Unreadable { file: file.name.clone(), source };
    let bytes = read_whole(&file.path, MOST_SETTINGS).map_err(unreadable)?;
    let text = text(bytes).map_err(|(line, column)| TomlError {
        file: file.name.clone(),
        line,
        column,
        message: "this is not UTF-8".to_owned(),
    })?;
    Ok(read(&text, file, home, accepts)?)
}

/// Text of a file, or the line and column of the first byte that is not UTF-8.
fn text(bytes: Vec<u8>) -> Result<String, (usize, usize)> {
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        // Up to that byte the lossy text has the same lines and columns.
        let text = String::from_utf8_lossy(error.as_bytes());
        line_and_column(&text, valid)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::budget::{Budget, defaults};
    use crate::explain::config::{BASELINE, CHECK, DEFAULTS, PATHS};

    fn setting(key: &str, value: &str, is_for_check: bool) -> ConfigSetting {
        let option = DEFAULTS.into_iter().chain(CHECK).find(|option| option.key == key);
        let option = option.expect("an option");
        ConfigSetting { option, is_for_check, values: vec![value.into()], origin: Origin::Default }
    }

    fn file(name: &str, check: Option<Vec<ConfigSetting>>, budgets: usize) -> Config {
        let placed =
            |(line, budget): (usize, Budget)| PlacedBudget { file: name.to_owned(), line, budget };
        let all = defaults(false).into_iter().take(budgets).enumerate();
        let defaults = vec![setting("paths", &format!("{name}/"), false)];
        Config { file: name.to_owned(), defaults, check, budgets: all.map(placed).collect() }
    }

    fn of_check(configuration: &Configuration, option: &ConfigOption) -> Vec<OsString> {
        let setting = configuration.of_check(option);
        setting.map(|setting| setting.values.clone()).unwrap_or_default()
    }

    fn paths(configuration: &Configuration, command: &str) -> Option<OsString> {
        configuration.setting(command, "paths").and_then(|setting| setting.values.first().cloned())
    }

    #[test]
    fn the_first_layer_that_says_something_holds() {
        let environment = vec![setting("paths", "typed/", false)];
        let layers = |environment: &[ConfigSetting], project, user| {
            Configuration::new(vec![], environment.to_vec(), project, user)
        };
        let (project, user) = (file("project", None, 0), file("user", None, 0));
        let all = layers(&environment, Some(project.clone()), Some(user.clone()));
        assert_eq!(paths(&all, "analyze"), Some("typed/".into()));
        let files = layers(&[], Some(project), Some(user.clone()));
        assert_eq!(paths(&files, "analyze"), Some("project/".into()));
        assert_eq!(paths(&layers(&[], None, Some(user)), "analyze"), Some("user/".into()));
        assert!(layers(&[], None, None).is_plain());
    }

    #[test]
    fn what_check_does_comes_from_one_file() {
        let of_user = || Some(vec![setting("baseline", "user.json", true)]);
        let of_project = || Some(vec![setting("paths", "checked/", true)]);
        let both = |project| {
            Configuration::new(vec![], vec![], Some(project), Some(file("user", of_user(), 2)))
        };
        let budgets = |configuration: &Configuration| -> Vec<String> {
            configuration.budgets.iter().map(|placed| placed.file.clone()).collect()
        };

        let neither = both(file("project", None, 0));
        assert_eq!(of_check(&neither, &BASELINE), ["user.json"]);
        assert_eq!(budgets(&neither), ["user", "user"]);

        let with_budget = both(file("project", None, 1));
        assert_eq!(
            of_check(&with_budget, &BASELINE),
            [""; 0],
            "the user's baseline is not the project's"
        );
        assert_eq!(budgets(&with_budget), ["project"]);

        let with_table = both(file("project", of_project(), 0));
        assert_eq!((of_check(&with_table, &BASELINE).len(), with_table.budgets.len()), (0, 0));
        assert_eq!(of_check(&with_table, &PATHS), ["checked/"]);
        assert_eq!(paths(&with_table, "analyze"), Some("project/".into()));
    }

    #[test]
    fn paths_of_the_project_hold_over_those_of_the_users_check() {
        let check = Some(vec![setting("paths", "checked/", true)]);
        let user = file("user", check, 0);
        let of = |project| Configuration::new(vec![], vec![], project, Some(user.clone()));
        let with_project = of(Some(file("project", None, 0)));
        assert_eq!(of_check(&with_project, &PATHS), ["project/"]);
        assert_eq!(of_check(&of(None), &PATHS), ["checked/"]);
    }
}
