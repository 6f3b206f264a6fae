//! `--strategy` and `--provider`: names, and strategy files.

use std::path::Path;

use super::error::CliError;
use super::output::say;
use crate::base::wording::{nearest, suggestion};
use crate::read::input::{MOST_SETTINGS, read_text};
use crate::simulate::provider::{self, Provider};
use crate::simulate::strategy::{ALL, Strategy, parse_strategies};

/// The strategies that names and files list, each once. Warns of combinations that a sweep leaves
/// out.
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
    let text = read_text(Path::new(path), MOST_SETTINGS)
        .map_err(|source| CliError::StrategyFile { path: path.into(), source })?;
    let file = parse_strategies(&text, path)?;
    for left_out in file.left_out.iter().filter(|_| !quiet) {
        say(&format!("{path}: {} is left out: {}", left_out.name, left_out.contradiction));
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
                let message = format!("--strategy: two strategies are called `{name}`; rename one");
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
    Strategy::by_name(name).ok_or_else(|| {
        let known = ALL.iter().map(|known| known.name.as_ref());
        unknown("--strategy", name, &known.collect::<Vec<_>>())
    })
}

/// The providers of a list, each once.
pub(super) fn providers(names: &[String]) -> Result<Vec<&'static Provider>, CliError> {
    let mut providers: Vec<&'static Provider> = Vec::new();
    for name in each(names) {
        let provider = provider::by_name(name).ok_or_else(|| {
            let known = provider::ALL.iter().map(|known| known.name);
            unknown("--provider", name, &known.collect::<Vec<_>>())
        })?;
        if !providers.contains(&provider) {
            providers.push(provider);
        }
    }
    Ok(providers)
}

/// The prompts under each provider's rules: as recorded, and as each strategy that changes prompts
/// makes them. Warns of what does not combine.
pub(super) fn elsewhere(
    strategies: &[Strategy],
    providers: &[&'static Provider],
    quiet: bool,
) -> Vec<Strategy> {
    let mut all = Vec::new();
    for provider in providers {
        all.push(Strategy::elsewhere(provider));
        all.extend(strategies.iter().filter_map(|one| one.elsewhere_as_designed(provider)));
    }
    let combines = |one: &&Strategy| {
        providers.iter().all(|provider| one.elsewhere_as_designed(provider).is_some())
    };
    for one in strategies.iter().filter(|one| one.needs_bytes() && !combines(one)) {
        if !quiet {
            say(&format!(
                "{} is not put under --provider: it does more than to change prompts",
                one.name
            ));
        }
    }
    all
}

/// The nearest known names, as words to put after an unknown one.
pub(super) fn hint(name: &str, known: &[&str]) -> String {
    suggestion(&nearest(name, known.iter().copied()))
}

/// The error for an unknown name, with the nearest known ones.
pub(super) fn unknown(option: &str, name: &str, known: &[&str]) -> CliError {
    CliError::Usage(format!("{option}: {}", unknown_name(name, known)))
}

/// What is wrong with an unknown name.
pub(super) fn unknown_name(name: &str, known: &[&str]) -> String {
    let hint = hint(name, known);
    let known = known.join(", ");
    format!("`{name}` is unknown{hint}; there are {known}")
}
