//! The layers of a configuration, and which of them holds: the environment over the file of the
//! project over that of the user.

use super::file::{Config, PlacedBudget};
use super::option::ConfigOption;
use super::value::Setting;

/// The command that has a table of its own.
const CHECK_COMMAND: &str = "check";

/// Everything that is configured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configuration {
    /// The files it was read from.
    pub files: Files,
    /// What `check` holds figures against: those of one file.
    pub budgets: Vec<PlacedBudget>,
    /// Of several for one option, the first holds.
    settings: Vec<Setting>,
}

/// The files of a configuration, as the user would type them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// That of the project.
    pub project: Option<String>,
    /// That of the user.
    pub user: Option<String>,
    /// Which files were looked for; none where that was not wanted.
    pub looked_for: Vec<String>,
}

impl Configuration {
    /// Lays the environment over the file of the project, and that over the user's. What `check`
    /// does comes from one file: the project's, where it has `[check]` or a budget.
    #[must_use]
    pub fn new(
        looked_for: Vec<String>,
        environment: Vec<Setting>,
        project: Option<Config>,
        user: Option<Config>,
    ) -> Self {
        let name = |config: &Option<Config>| config.as_ref().map(|config| config.file.clone());
        let files = Files { project: name(&project), user: name(&user), looked_for };
        let is_checked = |config: &Config| config.check.is_some() || !config.budgets.is_empty();
        let project_is_checked = project.as_ref().is_some_and(is_checked);
        let user = match user {
            Some(user) if project_is_checked => {
                Some(Config { check: None, budgets: Vec::new(), ..user })
            }
            user => user,
        };
        let mut configuration = Self { files, settings: environment, ..Self::default() };
        for config in project.into_iter().chain(user) {
            configuration.settings.extend(config.check.into_iter().flatten());
            configuration.settings.extend(config.defaults);
            configuration.budgets.extend(config.budgets);
        }
        configuration
    }

    /// Whether no option has another default than the program's.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.settings.is_empty()
    }

    /// What holds for an option of a command.
    #[must_use]
    pub fn setting(&self, command: &str, key: &str) -> Option<&Setting> {
        let holds = |setting: &&Setting| {
            setting.option.key == key && (!setting.is_for_check || command == CHECK_COMMAND)
        };
        self.settings.iter().find(holds)
    }

    /// What holds for an option of `check`.
    #[must_use]
    pub fn of_check(&self, option: &ConfigOption) -> Option<&Setting> {
        self.setting(CHECK_COMMAND, option.key)
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    use crate::explain::budget::{Budget, defaults};
    use crate::explain::config::Origin;
    use crate::explain::config::option::{BASELINE, CHECK, DEFAULTS, PATHS};

    fn setting(key: &str, value: &str, is_for_check: bool) -> Setting {
        let option = DEFAULTS.into_iter().chain(CHECK).find(|option| option.key == key);
        let option = option.expect("an option");
        Setting { option, is_for_check, values: vec![value.into()], origin: Origin::Default }
    }

    fn file(name: &str, check: Option<Vec<Setting>>, budgets: usize) -> Config {
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
        let layers = |environment: &[Setting], project, user| {
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
