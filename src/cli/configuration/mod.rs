//! Configuration of a run: its files, the settings of the environment, and both as defaults of the options.

mod apply;
mod locate;

pub(super) use locate::user_prices;

use std::cell::LazyCell;
use std::env;

use clap::{CommandFactory, FromArgMatches};

use super::args::{Cli, ConfigurationArgs};
use super::typed::words;
use super::{CliError, or_exit, program};
use crate::base::{Order as _, nearest, suggestion};
use crate::explain::config::{
    Accepts, BASELINE, ConfigError, ConfigOption, ConfigSetting, Configuration, DEFAULTS,
    Effective, from_environment, load,
};

/// Reads the configuration that the command line and the environment select.
pub(super) fn read(args: &ConfigurationArgs) -> Result<Configuration, CliError> {
    // Built only if there is something to check, as most runs have nothing.
    let command = LazyCell::new(Cli::command);
    let accepts = |option: &ConfigOption, text: &str| apply::accept(&command, option, text);
    let located = locate::locate(args);
    let home = env::home_dir();
    let load = |file| load(file, home.as_deref(), &accepts);
    let project = located.project.as_ref().map(load).transpose()?;
    let user = located.user.as_ref().map(load).transpose()?;
    let configuration =
        Configuration::new(located.looked_for, environment(&accepts)?, project, user);
    Ok(configuration.with_prices(located.prices))
}

/// Settings of the environment. An empty variable sets nothing.
fn environment(accepts: Accepts<'_>) -> Result<Vec<ConfigSetting>, ConfigError> {
    let mut settings = Vec::new();
    for option in DEFAULTS.into_iter().chain([&BASELINE]) {
        let value = env::var_os(option.variable()).filter(|value| !value.is_empty());
        if let Some(value) = value {
            settings.push(from_environment(option, &value, accepts)?);
        }
    }
    Ok(settings)
}

/// Beginning of every variable of this program.
const PREFIX: &str = "CACHESIM_";

/// Variables of the install script, which may stay set.
const INSTALLER_VARIABLES: [&str; 3] =
    ["CACHESIM_BASE_URL", "CACHESIM_INSTALL_DIR", "CACHESIM_VERSION"];

/// Warnings about variables that look like this program's, but are not.
pub(super) fn unknown_variables() -> Vec<String> {
    let options = DEFAULTS.into_iter().chain([&BASELINE]).map(ConfigOption::variable);
    let others = locate::VARIABLES.into_iter().chain(INSTALLER_VARIABLES).map(str::to_owned);
    let known: Vec<String> = options.chain(others).collect();
    let mut names: Vec<String> = env::vars_os()
        .map(|(name, _)| name.to_string_lossy().into_owned())
        .filter(|name| name.starts_with(PREFIX) && !known.contains(name))
        .collect();
    // The environment has no order of its own.
    names.order();
    let told = |name: String| {
        let near = nearest(&name, known.iter().map(String::as_str)).into_iter().next();
        format!("the variable {name} is unknown and sets nothing{}", suggestion(near.as_slice()))
    };
    names.into_iter().map(told).collect()
}

/// Parses the command line with the configured defaults.
pub(super) fn parse(configuration: &Configuration) -> Cli {
    let matches = apply::with_defaults(program(), configuration).try_get_matches_from(words());
    or_exit(matches.and_then(|matches| Cli::from_arg_matches(&matches)))
}

/// Effective value of every option that can be configured.
pub(super) fn effective(configuration: &Configuration) -> Vec<Effective> {
    apply::effective(&Cli::command(), configuration)
}
