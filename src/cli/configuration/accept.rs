//! Whether an option takes a value: asked of the option itself, in every command that has it.

use std::error::Error;

use clap::{Arg, Command};

use crate::base::toml_text::quoted;
use crate::cli::strategies::unknown_name;
use crate::explain::config::{ConfigOption, Takes};
use crate::simulate::strategy::{ALL, Strategy};

/// Says why an option does not take a value, if it does not.
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
    let known: Vec<&str> = ALL.iter().map(|known| known.name.as_ref()).collect();
    Err(unknown_name(&quoted(name), &known))
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

/// Asks the parser of an option. It can be asked on a command line only, so it gets one that has
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
