//! Option `--assume KEY=VALUE`: each key is a hidden option of its own, so that configurations and older
//! command lines set it, too.

use std::ffi::{OsStr, OsString};
use std::iter;

use clap::builder::PossibleValue;
use clap::{Arg, Command};

use crate::base::{nearest, suggestion};

/// Name of the option that sets an assumption.
pub(in crate::cli) const ASSUME: &str = "assume";

/// Options that are assumptions, in the order of the help.
const KEYS: [&str; 9] = [
    "tokens",
    "lookback",
    "shared-prefix",
    "breaks",
    "reading",
    "ttl-grace",
    "ttl-change",
    "betas",
    "attribution",
];

/// Hidden option that an assumption sets, as one word. `None` if no key has this name.
pub(in crate::cli) fn assumed(assumption: &OsStr) -> Option<OsString> {
    let (key, value) = assumption.to_str()?.split_once('=')?;
    // Configurations write keys with underscores.
    let key = key.trim().replace('_', "-");
    KEYS.contains(&key.as_str()).then(|| format!("--{key}={}", value.trim()).into())
}

/// Assumption that a hidden option stands for. `None` if it is not one.
pub(in crate::cli) fn assumption_of(option: &str) -> Option<String> {
    let name = option.trim_start_matches('-').split(['=', ' ']).next()?;
    KEYS.contains(&name).then(|| format!("--{ASSUME} {name}=…"))
}

/// Refuses an assumption with an unknown key: known ones were replaced by their options before parsing.
pub(super) fn unknown_assumption(text: &str) -> Result<String, String> {
    let Some((key, _)) = text.split_once('=') else {
        return Err(format!("expected KEY=VALUE, with one of {}", KEYS.join(", ")));
    };
    let near = nearest(key, KEYS).into_iter().next();
    let near = suggestion(near.as_slice());
    Err(format!("no assumption is called `{key}`{near}; there are {}", KEYS.join(", ")))
}

/// Lists in the long help of `--assume` the keys that a command has.
pub(super) fn with_keys(command: Command) -> Command {
    let keys = KEYS.iter().filter_map(|key| {
        command.get_arguments().find(|arg| arg.get_long() == Some(key)).map(described)
    });
    let keys: Vec<String> = keys.collect();
    if keys.is_empty() {
        return command;
    }
    let intro = "An assumption about caches, sizes or the record; may be given several times:";
    let help: Vec<&str> = iter::once(intro).chain(keys.iter().map(String::as_str)).collect();
    command.mut_arg(ASSUME, |arg| arg.long_help(help.join("\n\n")))
}

/// Key with its values and its default, and their meanings.
fn described(arg: &Arg) -> String {
    let key = arg.get_long().unwrap_or_default();
    let values = arg.get_possible_values();
    let shown = match arg.get_value_names().unwrap_or_default() {
        [name, ..] if values.is_empty() => name.to_string(),
        _ => values.iter().map(PossibleValue::get_name).collect::<Vec<_>>().join("|"),
    };
    let default = arg.get_default_values().iter().map(|value| value.to_string_lossy());
    let default = default.collect::<Vec<_>>().join(",");
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let meanings = values.iter().filter_map(|value| {
        value.get_help().map(|help| format!("\n- {}: {help}", value.get_name()))
    });
    format!("{key}={shown} [default: {default}]\n{help}{}", meanings.collect::<String>())
}
