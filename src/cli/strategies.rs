//! Values of `--strategy` and `--provider`: names, and strategy files.

use std::path::Path;

use super::{CliError, warn};
use crate::base::{nearest, suggestion};
use crate::read::input::{MOST_SETTINGS, read_text};
use crate::simulate::provider::{self, Provider};
use crate::simulate::strategy::{ALL, Strategy, parse_strategies};

/// Strategies that names and files list, each once. Warns of combinations that a sweep leaves out.
pub(super) fn strategies(entries: &[String], quiet: bool) -> Result<Vec<Strategy>, CliError> {
    let mut strategies = Vec::new();
    for entry in each(entries) {
        let is_file = Path::new(entry).extension().is_some_and(|extension| extension == "toml");
        if is_file {
            strategies.extend(of_file(entry, quiet)?);
        } else {
            strategies.push(by_name(entry)?);
        }
    }
    unique(strategies)
}

fn each(entries: &[String]) -> impl Iterator<Item = &str> {
    entries.iter().map(|entry| entry.trim()).filter(|entry| !entry.is_empty())
}

fn of_file(path: &str, quiet: bool) -> Result<Vec<Strategy>, CliError> {
    let file = Path::new(path);
    let text =
        read_text(file, MOST_SETTINGS).map_err(CliError::unreadable("strategy file", file))?;
    let file = parse_strategies(&text, path)?;
    for left_out in file.left_out.iter().filter(|_| !quiet) {
        warn(format!("{path}: {} is left out: {}", left_out.name, left_out.contradiction));
    }
    Ok(file.strategies)
}

/// Drops repeated strategies, and refuses two different ones of the same name.
pub(super) fn unique(all: impl IntoIterator<Item = Strategy>) -> Result<Vec<Strategy>, CliError> {
    let mut strategies: Vec<Strategy> = Vec::new();
    for strategy in all {
        match strategies.iter().find(|other| other.name == strategy.name) {
            None => strategies.push(strategy),
            Some(other) if *other == strategy => {}
            Some(_) => {
                let name = strategy.name;
                // Names such as `own+long` are made from the name that was given.
                let given = name.rsplit('+').next().unwrap_or(&name);
                let which = if given == name { "one" } else { &format!("`{given}`") };
                let message =
                    format!("--strategy: two strategies are called `{name}`; rename {which}");
                return Err(CliError::Usage(message));
            }
        }
    }
    if strategies.is_empty() {
        return Err(CliError::Usage("--strategy: the list is empty".to_owned()));
    }
    Ok(strategies)
}

fn by_name(name: &str) -> Result<Strategy, CliError> {
    Strategy::by_name(name).ok_or_else(|| unknown("--strategy", name, &names_of_strategies()))
}

/// Names of all strategies.
pub(super) fn names_of_strategies() -> Vec<&'static str> {
    ALL.iter().map(|strategy| strategy.name.as_ref()).collect()
}

/// Services of `--provider`.
pub(super) struct Services {
    /// True if requests are also simulated on the services that answered them.
    own: bool,
    /// Other services, each once.
    pub(super) providers: Vec<&'static Provider>,
}

/// Word for the services that answered the requests.
const OWN: &str = "own";

/// Services of a list.
pub(super) fn services(names: &[String]) -> Result<Services, CliError> {
    let mut services = Services { own: false, providers: Vec::new() };
    for name in each(names) {
        if name == OWN {
            services.own = true;
            continue;
        }
        let provider = provider::by_name(name).ok_or_else(|| {
            let known = provider::ALL.iter().map(|known| known.name);
            unknown("--provider", name, &[OWN].into_iter().chain(known).collect::<Vec<_>>())
        })?;
        if !services.providers.contains(&provider) {
            services.providers.push(provider);
        }
    }
    Ok(services)
}

/// Strategies of the requests under each service's rules, and as changed by each strategy that changes
/// prompts or places markers.
///
/// Warns of strategies that do not combine.
pub(super) fn elsewhere(
    strategies: &[Strategy],
    services: &Services,
    quiet: bool,
) -> Vec<Strategy> {
    let mut all = Vec::new();
    if services.own {
        all.extend(Strategy::at_own_services());
        all.extend(strategies.iter().filter_map(Strategy::at_own_services_as_designed));
    }
    for provider in &services.providers {
        all.extend(Strategy::elsewhere(provider));
        all.extend(strategies.iter().filter_map(|one| one.elsewhere_as_designed(provider)));
    }
    let combines = |one: &&Strategy| {
        let mut providers = services.providers.iter();
        !services.own && providers.all(|provider| one.elsewhere_as_designed(provider).is_some())
    };
    for one in strategies.iter().filter(|one| one.needs_bytes() && !combines(one)) {
        if !quiet {
            let (name, why) = if services.own {
                (" own", "own services take strategies that place markers")
            } else {
                ("", "it does more than to change prompts")
            };
            warn(format!("{} is not put under --provider{name}: {why}", one.name));
        }
    }
    all
}

/// Nearest known names, as words to put after an unknown one.
pub(super) fn hint(name: &str, known: &[&str]) -> String {
    suggestion(&nearest(name, known.iter().copied()))
}

/// Error for an unknown name, with the nearest known ones.
pub(super) fn unknown(option: &str, name: &str, known: &[&str]) -> CliError {
    CliError::Usage(format!("{option}: {}", unknown_name(name, known)))
}

/// Message about an unknown name.
pub(super) fn unknown_name(name: &str, known: &[&str]) -> String {
    let hint = hint(name, known);
    let known = known.join(", ");
    format!("`{name}` is unknown{hint}; there are {known}")
}
