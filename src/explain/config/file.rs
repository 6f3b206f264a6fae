//! Parser of a configuration file, with the reasons why one cannot be used.

use std::io;
use std::path::Path;

use memchr::memchr_iter;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::layers::{ConfigFile, Origin};
use super::{
    ASSUME, CHECK, ConfigOption, ConfigSetting, DEFAULTS, PathPlaces, assumptions, from_file,
};
use crate::base::toml_text::{
    Fault, TomlError, entries, line_and_column, parsed, quoted, refuse_unknown_keys, text,
};
use crate::explain::budget;
use crate::explain::budget::Budget;

/// Schema of a configuration file.
pub const SCHEMA: &str = "cachesim.config/v1";

/// Keys of a file.
const FILE_KEYS: [&str; 4] = ["schema", "defaults", "check", "budget"];

/// Check of a word against an option, with the reason for a refusal.
pub type Accepts<'a> = &'a dyn Fn(&ConfigOption, &str) -> Result<(), String>;

/// Contents of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Name of the file, as the user would type it.
    pub file: String,
    /// Settings of `[defaults]`, in the order of the file.
    pub defaults: Vec<ConfigSetting>,
    /// Settings of `[check]`, in the order of the file, or `None` without such a table.
    pub check: Option<Vec<ConfigSetting>>,
    /// Budgets, one for each `[[budget]]`.
    pub budgets: Vec<PlacedBudget>,
}

/// Budget with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedBudget {
    /// Name of the file, as the user would type it.
    pub file: String,
    /// Line of the budget, counted from 1.
    pub line: usize,
    /// Budget with its limit.
    pub budget: Budget,
}

/// Parses a file. `~/` in its paths is the folder `home`.
pub(super) fn read(
    text: &str,
    file: &ConfigFile,
    home: Option<&Path>,
    accepts: Accepts<'_>,
) -> Result<Config, TomlError> {
    let folder = file.path.parent().unwrap_or(Path::new(""));
    let reader = ConfigReader { text, file, places: PathPlaces { folder, home }, accepts };
    reader.config().map_err(|fault| fault.in_file(&file.name, text))
}

/// Largest edit distance of a misspelt option from its name.
const MOST_EDITS: usize = 2;

/// Refuses a key that is an option's, or almost, and belongs into a table.
fn refuse_options_outside(document: &DeTable<'_>) -> Result<(), Fault> {
    for (key, _) in entries(document) {
        let name = key.get_ref();
        if FILE_KEYS.contains(&name.as_ref()) {
            continue;
        }
        let edits = |option: &&&ConfigOption| strsim::osa_distance(name, option.key);
        let nearest = DEFAULTS.iter().min_by_key(edits).filter(|one| edits(one) <= MOST_EDITS);
        if let Some(option) = nearest {
            let message = format!(
                "`{}` is no key of a configuration file; options belong into the table [defaults]: \
                 write `{}` there",
                quoted(name),
                option.key
            );
            return Err(Fault::at(key.span().start, message));
        }
    }
    Ok(())
}

struct ConfigReader<'a> {
    text: &'a str,
    file: &'a ConfigFile,
    places: PathPlaces<'a>,
    accepts: Accepts<'a>,
}

impl ConfigReader<'_> {
    fn config(&self) -> Result<Config, Fault> {
        let document = parsed(self.text)?;
        let document = document.get_ref();
        check_schema(document)?;
        // Before unknown keys: a misplaced option gets a message that names its table.
        refuse_options_outside(document)?;
        refuse_unknown_keys(document, &FILE_KEYS, "a configuration file")?;
        let budgets = document.get("budget").map_or(Ok(Vec::new()), budget::read)?;
        let defaults = document.get("defaults").map(|found| self.defaults(found)).transpose()?;
        let check = document.get("check");
        let check = check.map(|found| self.settings("check", found, &CHECK)).transpose()?;
        Ok(Config {
            file: self.file.name.clone(),
            defaults: defaults.unwrap_or_default(),
            check,
            budgets: self.placed(budgets),
        })
    }

    /// Settings of `[defaults]` and of its table of assumptions.
    fn defaults(&self, value: &Spanned<DeValue<'_>>) -> Result<Vec<ConfigSetting>, Fault> {
        let mut settings = self.settings("defaults", value, &DEFAULTS)?;
        let Some(assumed) = value.get_ref().as_table().and_then(|table| table.get(ASSUME)) else {
            return Ok(settings);
        };
        let options: Vec<_> = assumptions().collect();
        for one in self.settings("defaults.assume", assumed, &options)? {
            if settings.iter().any(|other| other.option == one.option) {
                let message =
                    format!("`{}` stands in [defaults], too; leave one out", one.option.key);
                return Err(Fault::at(assumed.span().start, message));
            }
            settings.push(one);
        }
        Ok(settings)
    }

    /// Settings of a table.
    fn settings(
        &self,
        table: &str,
        value: &Spanned<DeValue<'_>>,
        options: &[&'static ConfigOption],
    ) -> Result<Vec<ConfigSetting>, Fault> {
        let expected = || Fault::mistyped(table, &format!("a table, [{table}]"), value);
        let content = value.get_ref().as_table().ok_or_else(expected)?;
        let mut keys: Vec<&str> = options.iter().map(|option| option.key).collect();
        if table == "defaults" {
            keys.push(ASSUME);
        }
        let is_for_check = table == "check";
        refuse_unknown_keys(content, &keys, &format!("[{table}]"))?;
        let mut settings = Vec::with_capacity(content.len());
        for (key, value) in entries(content) {
            let known = options.iter().find(|option| option.key == key.get_ref());
            // Unknown keys were refused above, so this is the table of assumptions.
            let Some(&option) = known else { continue };
            let values = from_file(option, content, value, self.places, self.accepts)?;
            let origin = self.origin(key.span().start);
            settings.push(ConfigSetting { option, is_for_check, values, origin });
        }
        Ok(settings)
    }

    fn origin(&self, offset: usize) -> Origin {
        let (line, _) = line_and_column(self.text, offset);
        Origin::File { level: self.file.level, file: self.file.name.clone(), line }
    }

    /// Adds the lines of budgets. There may be thousands, so line ends are searched for only once.
    fn placed(&self, budgets: Vec<Budget>) -> Vec<PlacedBudget> {
        let line_ends: Vec<usize> = memchr_iter(b'\n', self.text.as_bytes()).collect();
        let placed = budgets.into_iter().map(|budget| PlacedBudget {
            file: self.file.name.clone(),
            line: line_ends.partition_point(|end| *end < budget.offset) + 1,
            budget,
        });
        placed.collect()
    }
}

fn check_schema(document: &DeTable<'_>) -> Result<(), Fault> {
    match text(document, "schema")? {
        // A file without a schema is read as one of this version.
        None | Some((SCHEMA, _)) => Ok(()),
        Some((other, offset)) => {
            let other = quoted(other);
            let message = format!("the schema is `{other}`; this version reads `{SCHEMA}`");
            Err(Fault::at(offset, message))
        }
    }
}

/// Reason why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file cannot be read.
    #[error("cannot read the configuration file {file}: {source}")]
    Unreadable {
        /// Name of the file, as the user would type it.
        file: String,
        /// Error of the system.
        source: io::Error,
    },
    /// A part of a file cannot be used.
    #[error(transparent)]
    Content(#[from] TomlError),
    /// An environment variable has a value that the option does not accept.
    #[error("{variable}: {message}")]
    Environment {
        /// Name of the variable.
        variable: String,
        /// Reason why its value is refused.
        message: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::config::ConfigLevel;

    fn config_at(path: &str, text: &str) -> Result<Config, String> {
        let file =
            ConfigFile { level: ConfigLevel::Project, path: path.into(), name: path.to_owned() };
        let refuses_odd_words = |_: &ConfigOption, word: &str| match word {
            "odd" => Err("`odd` is refused".to_owned()),
            _ => Ok(()),
        };
        let home = Some(Path::new("/home/me"));
        read(text, &file, home, &refuses_odd_words).map_err(|error| error.to_string())
    }

    fn config(text: &str) -> Config {
        config_at("cachesim.toml", text).expect("a configuration")
    }

    fn error(text: &str) -> String {
        config_at("c", text).expect_err("a fault")
    }

    fn values(settings: &[ConfigSetting]) -> Vec<(&str, Vec<&str>)> {
        let mut all = Vec::new();
        for setting in settings {
            let values = setting.values.iter().map(|value| value.to_str().expect("UTF-8"));
            all.push((setting.option.key, values.collect()));
        }
        all
    }

    #[test]
    fn nothing_is_required() {
        for empty in ["", "\n\n", "# nothing\n", "schema = \"cachesim.config/v1\"", "[defaults]"] {
            let config = config(empty);
            assert_eq!((config.defaults, config.check, config.budgets), (vec![], None, vec![]));
        }
        assert_eq!(config("\u{feff}[check]\n").check, Some(vec![]), "behind a byte order mark");
    }

    #[test]
    fn values_are_what_would_be_typed() {
        let text = "[defaults]\nttl_grace = 0x0_10\nstrict = false\nstrategy = 'billed, 5m'\n\
                    tokens = \"bytes:1\"\nprices = []\n";
        let expected = vec![
            ("ttl_grace", vec!["16"]),
            ("strict", vec!["false"]),
            ("strategy", vec!["billed", "5m"]),
            ("tokens", vec!["bytes:1"]),
            ("prices", vec![]),
        ];
        let config = config(text);
        assert_eq!(values(&config.defaults), expected);
        let lines = config.defaults.iter().map(|setting| setting.origin.to_string());
        let expected: Vec<_> = (2..=6).map(|line| format!("cachesim.toml:{line}")).collect();
        assert_eq!(lines.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn assumptions_have_a_table() {
        let text = "[defaults]\njobs = 2\nassume = { lookback = 'blocks', ttl_grace = 9 }\n";
        let expected =
            vec![("jobs", vec!["2"]), ("lookback", vec!["blocks"]), ("ttl_grace", vec!["9"])];
        assert_eq!(values(&config(text).defaults), expected);
        assert_eq!(
            error("[defaults.assume]\njobs = 2"),
            "c:2:1: `jobs` is no key of [defaults.assume] (did you mean `tokens`, `lookback` or `betas`?); there are \
             tokens, shared_prefix, lookback, attribution, betas, ttl_change, ttl_grace, breaks, reading"
        );
        assert_eq!(
            error("[defaults]\nlookback = 'blocks'\n[defaults.assume]\nlookback = 'blocks'"),
            "c:3:1: `lookback` stands in [defaults], too; leave one out"
        );
    }

    #[test]
    fn paths_begin_at_the_folder_of_the_file() {
        let text = "defaults.paths = ['a/', '/b', '~/c', '-', '../d']\n\
                    defaults.strategy = ['5m', 'own.toml']\ncheck.baseline = 'main.json'\n";
        let config = config_at("../x/cachesim.toml", text).expect("a configuration");
        let paths = vec!["../x/a/", "/b", "/home/me/c", "-", "../x/../d"];
        let strategies = vec!["5m", "../x/own.toml"];
        assert_eq!(values(&config.defaults), [("paths", paths), ("strategy", strategies)]);
        let check = config.check.expect("a table");
        assert_eq!(values(&check), [("baseline", vec!["../x/main.json"])]);
        assert!(check[0].is_for_check && !config.defaults[0].is_for_check);
    }

    #[test]
    fn budgets_have_their_lines() {
        let text =
            "[[budget]]\nmetric = 'cost'\nmax = '$1'\n\n[[budget]]\nmetric = 'breaks'\nmax = 1\n";
        let lines: Vec<_> = config(text).budgets.iter().map(|placed| placed.line).collect();
        assert_eq!(lines, [1, 5]);
    }

    #[test]
    fn faults_are_pointed_at() {
        assert_eq!(
            error("schema = \"cachesim.config/v2\""),
            "c:1:10: the schema is `cachesim.config/v2`; this version reads `cachesim.config/v1`"
        );
        assert_eq!(
            error("\n[default]\n"),
            "c:2:2: `default` is no key of a configuration file (did you mean `defaults`, `budget` \
             or `schema`?); there are schema, defaults, check, budget"
        );
        assert_eq!(
            error("[check]\nbase_line = 'x'"),
            "c:2:1: `base_line` is no key of [check] (did you mean `baseline` or `paths`?); there \
             are baseline, paths"
        );
        assert_eq!(error("defaults = 1"), "c:1:12: `defaults` is a table, [defaults], not 1");
        assert_eq!(error("[defaults]\njobs = '2'"), "c:2:8: `jobs` is a whole number, not \"2\"");
        assert_eq!(error("[defaults]\njobs = 2.0"), "c:2:8: `jobs` is a whole number, not 2.0");
        assert_eq!(
            error("[defaults]\nstrict = 'yes'"),
            "c:2:10: `strict` is true or false, not \"yes\""
        );
        assert_eq!(error("[defaults]\ncolor = []"), "c:2:9: `color` is a text, not a list");
        assert_eq!(
            error("[defaults]\nprices = [\n  'a',\n  1]"),
            "c:4:3: `prices` is a text or a list of texts, not 1"
        );
        assert_eq!(error("[defaults]\npaths = ['']"), "c:2:10: `paths` has an empty path");
        assert_eq!(
            error("[defaults]\nstrategy = [' , ']"),
            "c:2:12: `strategy` names nothing; leave it out to have the default"
        );
        assert_eq!(error("[defaults]\ncolor = 'odd'"), "c:2:9: `color`: `odd` is refused");
        assert_eq!(
            error("[defaults]\nstrategy = ['5m', 'odd']"),
            "c:2:19: `strategy`: `odd` is refused"
        );
        assert!(error("[defaults]\njobs = 1\njobs = 2\n").starts_with("c:3:1: duplicate key"));
    }

    #[test]
    fn nonsense_is_refused_in_no_time() {
        let most = 100_000;
        for text in [
            format!("a = {}", "[".repeat(most)),
            format!("{}a = 1", "a.".repeat(most)),
            "[[".repeat(most),
            "a = { a = ".repeat(most),
            "\0".repeat(most),
            (0..most).map(|key| format!("key{key} = 1\n")).collect::<Vec<_>>().concat(),
        ] {
            assert!(config_at("c", &text).is_err());
        }
        let budget =
            |number| format!("[[budget]]\nname = 'n{number}'\nmetric = 'cost'\nmax = '$1'\n");
        let budgets = config(&(0..10_000).map(budget).collect::<String>()).budgets;
        assert_eq!(budgets.last().map(|placed| placed.line), Some(4 * 9_999 + 1));
    }
}
