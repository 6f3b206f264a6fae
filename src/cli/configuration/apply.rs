//! Configured values as defaults of the options, so that typed values take precedence.
//!
//! A value is checked by the option itself, in every command that has it.

use std::error::Error;
use std::ffi::OsString;

use clap::{Arg, Command};

use crate::base::toml_text::quoted;
use crate::cli::strategies::names_of_strategies;
use crate::cli::unknown_name;
use crate::explain::config::{
    BASELINE, ConfigOption, ConfigSetting, Configuration, DEFAULTS, Effective, Origin, Takes,
    is_file,
};
use crate::simulate::strategy::Strategy;

/// Commands that take strategy files. Designs in such files may need the bytes of prompts, which the other
/// commands do not keep.
const TAKE_STRATEGY_FILES: [&str; 3] = ["chart", "compare", "report"];

/// Sets the configured values as defaults of a command and all its subcommands.
pub(super) fn with_defaults(command: Command, configuration: &Configuration) -> Command {
    command.mut_subcommands(|command| configured(command, None, configuration))
}

fn configured(command: Command, above: Option<&str>, configuration: &Configuration) -> Command {
    let name = full_name(&command, above);
    command
        .mut_args(|arg| match applied(&arg, &name, configuration) {
            Some((_, values)) => arg.default_values(values),
            None => arg,
        })
        .mut_subcommands(|command| configured(command, Some(&name), configuration))
}

fn full_name(command: &Command, above: Option<&str>) -> String {
    let name = command.get_name();
    above.map_or_else(|| name.to_owned(), |above| format!("{above} {name}"))
}

/// Configured value of an option of a command. Options that must be typed have none.
fn applied<'a>(
    arg: &Arg,
    command: &str,
    configuration: &'a Configuration,
) -> Option<(&'a ConfigSetting, Vec<OsString>)> {
    let setting = configuration.setting(command, arg.get_id().as_str())?;
    let is_taken = |value: &&OsString| {
        setting.option.takes != Takes::Names
            || TAKE_STRATEGY_FILES.contains(&command)
            || !is_file(value)
    };
    let values: Vec<OsString> = setting.values.iter().filter(is_taken).cloned().collect();
    let is_left_out = arg.is_required_set() || (values.is_empty() && !setting.values.is_empty());
    (!is_left_out).then_some((setting, values))
}

/// Effective value of every option that can be configured. Commands with the same value are listed together.
pub(super) fn effective(command: &Command, configuration: &Configuration) -> Vec<Effective> {
    let mut all = Vec::new();
    for option in DEFAULTS.into_iter().chain([&BASELINE]) {
        let mut rows = Vec::new();
        for command in command.get_subcommands() {
            add(option, command, None, configuration, &mut rows);
        }
        all.append(&mut rows);
    }
    all
}

fn add(
    option: &'static ConfigOption,
    command: &Command,
    above: Option<&str>,
    configuration: &Configuration,
    rows: &mut Vec<Effective>,
) {
    let name = full_name(command, above);
    let has_it = |arg: &&Arg| arg.get_id() == option.key && !arg.is_required_set();
    if let Some(arg) = command.get_arguments().find(has_it) {
        let (values, origin) = match applied(arg, &name, configuration) {
            Some((setting, values)) => (values, setting.origin.clone()),
            None => (own_default(arg), Origin::Default),
        };
        // One row for all commands with the same value keeps the table short.
        let same = rows.iter_mut().find(|row| row.values == values && row.origin == origin);
        if let Some(row) = same {
            row.commands.push(name.clone());
        } else {
            let commands = vec![name.clone()];
            rows.push(Effective { option, commands, values, origin });
        }
    }
    for command in command.get_subcommands() {
        add(option, command, Some(&name), configuration, rows);
    }
}

/// Built-in default of an option. A list is written as it would be typed.
fn own_default(arg: &Arg) -> Vec<OsString> {
    let values = arg.get_default_values().iter().map(|value| value.to_string_lossy());
    match arg.get_value_delimiter() {
        Some(delimiter) => values
            .flat_map(|value| value.split(delimiter).map(OsString::from).collect::<Vec<_>>())
            .collect(),
        None => values.map(|value| OsString::from(value.as_ref())).collect(),
    }
}

/// Fails with the reason if an option does not accept a value.
pub(super) fn accept(command: &Command, option: &ConfigOption, text: &str) -> Result<(), String> {
    if option.takes == Takes::Names {
        return strategy(text);
    }
    let has_it = |arg: &&Arg| arg.get_id() == option.key;
    command.get_arguments().filter(has_it).try_for_each(|arg| value(arg, text))?;
    command.get_subcommands().try_for_each(|command| accept(command, option, text))
}

fn strategy(name: &str) -> Result<(), String> {
    if Strategy::by_name(name).is_some() {
        return Ok(());
    }
    Err(unknown_name(&quoted(name), &names_of_strategies()))
}

fn value(arg: &Arg, text: &str) -> Result<(), String> {
    let words = arg.get_possible_values();
    let words: Vec<&str> = words.iter().map(clap::builder::PossibleValue::get_name).collect();
    match words.as_slice() {
        [] => parsed(arg, text),
        words if words.contains(&text) => Ok(()),
        words => Err(unknown_name(&quoted(text), words)),
    }
}

/// Checks a value with the parser of an option. Clap parses command lines only, so this makes one with
/// nothing else on it.
fn parsed(arg: &Arg, text: &str) -> Result<(), String> {
    let alone = Arg::new("value").value_parser(arg.get_value_parser().clone());
    let command = Command::new("alone").no_binary_name(true).arg(alone);
    match command.try_get_matches_from(["--", text]) {
        Ok(_) => Ok(()),
        Err(error) => {
            let reason =
                error.source().map_or_else(|| error.kind().to_string(), ToString::to_string);
            Err(format!("`{}` cannot be used: {reason}", quoted(text)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::config::{Config, PATHS};

    fn command() -> Command {
        let paths = || Arg::new("paths").num_args(0..);
        let required = Arg::new("paths").num_args(1..).required(true);
        Command::new("cachesim")
            .subcommand(Command::new("analyze").arg(paths()))
            .subcommand(
                Command::new("check").arg(paths()).arg(Arg::new("baseline").long("baseline")),
            )
            .subcommand(Command::new("redact").arg(required))
    }

    fn configuration() -> Configuration {
        let setting = |option, value: &str, is_for_check| ConfigSetting {
            option,
            is_for_check,
            values: vec![value.into()],
            origin: Origin::Default,
        };
        let check = vec![setting(&PATHS, "checked/", true), setting(&BASELINE, "main.json", true)];
        let defaults = vec![setting(&PATHS, "sessions/", false)];
        let file = Config { check: Some(check), defaults, ..Config::default() };
        Configuration::new(vec![], vec![], Some(file), None)
    }

    fn values(line: &[&str], id: &str) -> Vec<String> {
        let command = with_defaults(command(), &configuration());
        let matches = command.try_get_matches_from(line).expect("it parses");
        let (_, matches) = matches.subcommand().expect("a subcommand");
        matches.get_many::<String>(id).into_iter().flatten().cloned().collect()
    }

    #[test]
    fn check_has_paths_of_its_own() {
        assert_eq!(values(&["cachesim", "analyze"], "paths"), ["sessions/"]);
        assert_eq!(values(&["cachesim", "check"], "paths"), ["checked/"]);
        assert_eq!(values(&["cachesim", "check"], "baseline"), ["main.json"]);
        assert_eq!(values(&["cachesim", "check", "typed/"], "paths"), ["typed/"]);
        assert_eq!(values(&["cachesim", "check", "--baseline", "b"], "baseline"), ["b"]);
    }

    #[test]
    fn what_must_be_typed_has_no_default() {
        let command = with_defaults(command(), &configuration());
        assert!(command.try_get_matches_from(["cachesim", "redact"]).is_err());
        let rows = effective(&self::command(), &configuration());
        let commands: Vec<_> = rows.iter().map(|row| row.commands.join("+")).collect();
        assert_eq!(commands, ["analyze", "check", "check"], "paths, paths, baseline");
    }
}
