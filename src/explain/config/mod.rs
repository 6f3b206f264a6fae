//! Configuration: the values of options that are not typed, from files and the environment, and
//! the budgets and the baseline of `check`.
//!
//! ```toml
//! schema = "cachesim.config/v1"
//!
//! [defaults]
//! strategy = ["billed", "replay"]
//! paths = ["sessions/"]
//!
//! [check]
//! baseline = "baseline.json"
//! ```
//!
//! The one table of options is here, for keys, variables and `config show`. Only the command line knows
//! the values that an option accepts; it is asked through [`Accepts`], so that a value is refused at its place.
//!
//! The command line is parsed once to find the files that it wants, and once more with their values as
//! clap's defaults. So whatever is typed has precedence, and commands do not know of files.
//! Each value is checked at its place by the parsers of all options of that name.

mod file;
mod layers;

pub use file::{Accepts, Config, ConfigError, PlacedBudget, SCHEMA};
pub use layers::{ConfigFile, ConfigFiles, ConfigLevel, Configuration, Effective, Origin, load};

use std::ffi::{OsStr, OsString};
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::base::toml_text::{Fault, texts};

/// Configured value of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigSetting {
    /// Option of the value.
    pub option: &'static ConfigOption,
    /// True if it applies to `check` only.
    pub is_for_check: bool,
    /// Values as typed after the option. For a switch `true` or `false`.
    pub values: Vec<OsString>,
    /// Origin of the value.
    pub origin: Origin,
}

/// Folders that the paths of a file are relative to.
#[derive(Clone, Copy, Debug)]
struct PathPlaces<'a> {
    /// Folder of the file.
    folder: &'a Path,
    /// Folder for `~/`.
    home: Option<&'a Path>,
}

impl PathPlaces<'_> {
    /// Resolves a path of the file against the working directory.
    fn resolve(self, text: &str) -> OsString {
        let in_home = text.strip_prefix("~/").zip(self.home);
        match in_home {
            Some((rest, home)) => home.join(rest).into_os_string(),
            // Standard input is no file of the folder.
            None if text == "-" => text.into(),
            None => self.folder.join(text).into_os_string(),
        }
    }
}

/// Returns true if a name is a file's, and not a strategy's.
pub(crate) fn is_file(name: &OsStr) -> bool {
    Path::new(name).extension() == Some(OsStr::new("toml"))
}

/// Values of an option in a table of a file.
fn from_file(
    option: &ConfigOption,
    table: &DeTable<'_>,
    value: &Spanned<DeValue<'_>>,
    places: PathPlaces<'_>,
    accepts: Accepts<'_>,
) -> Result<Vec<OsString>, Fault> {
    let offset = value.span().start;
    let mistyped = |expected| Fault::mistyped(option.key, expected, value);
    let accepted = |text: String| {
        accept(option, &text, offset, accepts)?;
        Ok(vec![text.into()])
    };
    match option.takes {
        Takes::Names => names_of(option, table, offset, places, accepts),
        Takes::Paths => {
            let paths = texts(table, option.key)?;
            paths.iter().map(|(path, offset)| one(option, path, *offset, places)).collect()
        }
        Takes::Path => {
            let path = value.get_ref().as_str().ok_or_else(|| mistyped("a text"))?;
            Ok(vec![one(option, path, offset, places)?])
        }
        Takes::Word => {
            let text = value.get_ref().as_str().ok_or_else(|| mistyped("a text"))?;
            accepted(text.to_owned())
        }
        Takes::Number => {
            let number = number(value.get_ref()).ok_or_else(|| mistyped("a whole number"))?;
            accepted(number.to_string())
        }
        Takes::Switch => {
            let is_on = value.get_ref().as_bool().ok_or_else(|| mistyped("true or false"))?;
            Ok(vec![is_on.to_string().into()])
        }
    }
}

/// Names in a list; some may be paths of files.
fn names_of(
    option: &ConfigOption,
    table: &DeTable<'_>,
    offset: usize,
    places: PathPlaces<'_>,
    accepts: Accepts<'_>,
) -> Result<Vec<OsString>, Fault> {
    let mut values = Vec::new();
    for (text, offset) in texts(table, option.key)? {
        for name in names(&text) {
            if is_file(name.as_ref()) {
                values.push(places.resolve(name));
            } else {
                accept(option, name, offset, accepts)?;
                values.push(name.into());
            }
        }
    }
    if values.is_empty() {
        let message = format!("`{}` names nothing; leave it out to have the default", option.key);
        return Err(Fault::at(offset, message));
    }
    Ok(values)
}

/// Resolves one path, which must not be empty.
fn one(
    option: &ConfigOption,
    path: &str,
    offset: usize,
    places: PathPlaces<'_>,
) -> Result<OsString, Fault> {
    if path.is_empty() {
        return Err(Fault::at(offset, format!("`{}` has an empty path", option.key)));
    }
    Ok(places.resolve(path))
}

/// Names in a typed list.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|name| !name.is_empty())
}

fn number(value: &DeValue<'_>) -> Option<i64> {
    let integer = value.as_integer()?;
    i64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

fn accept(
    option: &ConfigOption,
    text: &str,
    offset: usize,
    accepts: Accepts<'_>,
) -> Result<(), Fault> {
    accepts(option, text)
        .map_err(|message| Fault::at(offset, format!("`{}`: {message}", option.key)))
}

/// Reads an option from its environment variable. Lists are separated by commas, and paths are
/// relative to the working directory, like typed ones.
///
/// # Errors
/// The option does not accept the value.
pub fn from_environment(
    option: &'static ConfigOption,
    value: &OsStr,
    accepts: Accepts<'_>,
) -> Result<ConfigSetting, ConfigError> {
    let wrong = |message| ConfigError::Environment { variable: option.variable(), message };
    let text = value.to_str().ok_or_else(|| wrong("the value is not UTF-8".to_owned()))?;
    let values: Vec<String> = match option.takes {
        Takes::Switch => {
            let expected = "expected true or false (also 1 or 0, yes or no, on or off)";
            vec![switch(text).ok_or_else(|| wrong(expected.to_owned()))?.to_string()]
        }
        Takes::Names | Takes::Paths => names(text).map(str::to_owned).collect(),
        Takes::Word | Takes::Number | Takes::Path => vec![text.trim().to_owned()],
    };
    if values.is_empty() {
        return Err(wrong("the list is empty".to_owned()));
    }
    for value in &values {
        // The name of a file is no word that the option could refuse.
        if option.takes != Takes::Names || !is_file(value.as_ref()) {
            accepts(option, value).map_err(wrong)?;
        }
    }
    let values = values.into_iter().map(OsString::from).collect();
    let origin = Origin::Environment(option.variable());
    // A variable applies to every command that has the option.
    Ok(ConfigSetting { option, is_for_check: false, values, origin })
}

/// Meaning of a word for yes or no, or `None` for another word.
pub fn switch(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// Option of the program.
#[derive(Debug, PartialEq, Eq)]
pub struct ConfigOption {
    /// Key in a file: the name of the option with `_` for `-`.
    pub key: &'static str,
    /// Kind of its value.
    pub takes: Takes,
    /// Words for the behaviour without a value.
    pub unset: &'static str,
    /// True for an assumption of the model, which has a place in `[defaults.assume]`, too.
    pub is_assumption: bool,
}

/// Kind of an option's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// One of a few words.
    Word,
    /// Whole number.
    Number,
    /// Yes or no.
    Switch,
    /// Names, including files that end in `.toml`.
    Names,
    /// One file.
    Path,
    /// Files and folders.
    Paths,
}

impl ConfigOption {
    /// Environment variable that sets the option.
    pub fn variable(&self) -> String {
        format!("CACHESIM_{}", self.key.to_uppercase())
    }
}

const fn option(key: &'static str, takes: Takes, unset: &'static str) -> ConfigOption {
    ConfigOption { key, takes, unset, is_assumption: false }
}

const fn assumption(key: &'static str, takes: Takes) -> ConfigOption {
    ConfigOption { is_assumption: true, ..option(key, takes, "") }
}

/// Sources of the requests.
pub static PATHS: ConfigOption = option("paths", Takes::Paths, "the folders of all programs");

/// Files that are laid over the built-in prices.
pub static PRICES: ConfigOption = option("prices", Takes::Paths, "none");

/// Saved figures that `check` compares with.
pub static BASELINE: ConfigOption = option("baseline", Takes::Path, "none");

/// Keys of `[defaults]`.
pub static DEFAULTS: [&ConfigOption; 19] = [
    &PATHS,
    &option("strategy", Takes::Names, ""),
    &assumption("tokens", Takes::Word),
    &assumption("shared_prefix", Takes::Word),
    &assumption("lookback", Takes::Word),
    &assumption("attribution", Takes::Word),
    &assumption("betas", Takes::Word),
    &assumption("ttl_change", Takes::Word),
    &assumption("ttl_grace", Takes::Number),
    &assumption("breaks", Takes::Word),
    &assumption("reading", Takes::Word),
    &PRICES,
    &option("platform", Takes::Word, ""),
    &option("project_names", Takes::Word, ""),
    &option("jobs", Takes::Number, "one for each core"),
    &option("max_memory", Takes::Word, "no bound"),
    &option("strict", Takes::Switch, "false"),
    &option("strict_prices", Takes::Switch, "false"),
    &option("color", Takes::Word, ""),
];

/// Key of the table of assumptions in `[defaults]`.
pub const ASSUME: &str = "assume";

/// Keys of `[defaults.assume]`.
pub fn assumptions() -> impl Iterator<Item = &'static ConfigOption> {
    DEFAULTS.into_iter().filter(|option| option.is_assumption)
}

/// Keys of `[check]`.
pub static CHECK: [&ConfigOption; 2] = [&BASELINE, &PATHS];

#[cfg(test)]
mod tests {
    use super::*;

    fn from(key: &str, value: &str) -> Result<Vec<OsString>, String> {
        let option = DEFAULTS.into_iter().find(|option| option.key == key).expect("an option");
        let setting = from_environment(option, value.as_ref(), &|_, word| match word {
            "odd" => Err("`odd` is refused".to_owned()),
            _ => Ok(()),
        });
        setting.map(|setting| setting.values).map_err(|error| error.to_string())
    }

    #[test]
    fn variables_are_read_as_they_are_typed() {
        assert_eq!(
            from("strategy", "billed, own.toml,"),
            Ok(vec!["billed".into(), "own.toml".into()])
        );
        assert_eq!(from("prices", "a.toml,/b.json"), Ok(vec!["a.toml".into(), "/b.json".into()]));
        assert_eq!(from("jobs", " 2 "), Ok(vec!["2".into()]));
        for (word, is_on) in [("1", "true"), ("Yes", "true"), ("off", "false"), ("0", "false")] {
            assert_eq!(from("strict_prices", word), Ok(vec![is_on.into()]));
        }
        let expected = "expected true or false (also 1 or 0, yes or no, on or off)";
        assert_eq!(from("strict", "maybe"), Err(format!("CACHESIM_STRICT: {expected}")));
        assert_eq!(from("color", "odd"), Err("CACHESIM_COLOR: `odd` is refused".to_owned()));
        assert_eq!(from("paths", " , "), Err("CACHESIM_PATHS: the list is empty".to_owned()));
    }
}
