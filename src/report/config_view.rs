//! Configuration in use, for people and for programs.

use std::ffi::OsString;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;

use super::{Columns, Document, write_document};
use crate::base::ProjectNaming;
use crate::explain::config::{
    BASELINE, ConfigFiles, ConfigLevel, ConfigOption, ConfigSetting, Configuration, Effective,
    Origin, PATHS, PlacedBudget, Takes,
};

pub(super) const SCHEMA: &str = "cachesim.config-show/v1";

/// Every option that can be configured, and the settings of `check`.
pub fn config_document(
    configuration: &Configuration,
    options: &[Effective],
    naming: &ProjectNaming,
) -> Document {
    let mut document = Document::default();
    document.heading("Configuration");
    document.text(files(configuration));
    let mut columns = Columns::<Effective>::new();
    columns.left("option", |option| {
        // The same option may differ by command: then each row names its commands.
        let same = options.iter().filter(|other| other.option == option.option).count();
        let commands = format!(" ({})", option.commands.join(", "));
        format!("{}{}", option.option.key, if same > 1 { commands.as_str() } else { "" })
    });
    columns.wrapped("value", |option| shown(option.option, &option.values, naming));
    columns.left("from", |option| option.origin.to_string());
    document.grid(columns.grid(options));
    check(configuration, naming, &mut document);
    document
}

/// Names of the files that exist, and of the files that were looked for.
fn files(configuration: &Configuration) -> String {
    let files = &configuration.files;
    let project = files.project.as_ref().map(|file| format!("project file {file}"));
    let user = files.user.as_ref().map(|file| format!("user file {file}"));
    let found: Vec<String> = project.into_iter().chain(user).collect();
    let found = match found.as_slice() {
        [] => "Files: none".to_owned(),
        found => format!("Files: {}", found.join(", ")),
    };
    match files.looked_for.as_slice() {
        [] => format!("{found}; none was looked for."),
        looked_for => format!("{found}; looked for {}.", looked_for.join(" and ")),
    }
}

/// Adds the settings of `check`, if anything is configured.
fn check(configuration: &Configuration, naming: &ProjectNaming, document: &mut Document) {
    let settings = check_settings(configuration);
    if settings.is_empty() && configuration.budgets.is_empty() {
        return;
    }
    document.heading("check");
    let settings = settings.into_iter().map(|setting| {
        let value = shown(setting.option, &setting.values, naming);
        (setting.option.key, value, setting.origin.to_string())
    });
    let budgets = configuration.budgets.iter().map(|PlacedBudget { file, line, budget }| {
        ("budget", budget.to_string(), format!("{file}:{line}"))
    });
    let mut columns = Columns::<(&str, String, String)>::new();
    columns.left("what", |(what, ..)| (*what).to_owned());
    columns.wrapped("value", |(_, value, _)| value.clone());
    columns.left("from", |(.., from)| from.clone());
    document.grid(columns.grid(settings.chain(budgets)));
}

fn check_settings(configuration: &Configuration) -> Vec<&ConfigSetting> {
    [&BASELINE, &PATHS].into_iter().filter_map(|option| configuration.of_check(option)).collect()
}

/// Values as typed on a command line.
fn shown(option: &ConfigOption, values: &[OsString], naming: &ProjectNaming) -> String {
    if values.is_empty() {
        return option.unset.to_owned();
    }
    // Names are one list, paths are separate arguments.
    let separator = if option.takes == Takes::Names { "," } else { " " };
    texts(values, naming).join(separator)
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ConfigObject<'a> {
    /// Format and its version.
    schema: &'static str,
    /// Files in use.
    files: &'a ConfigFiles,
    /// Every option that can be configured.
    options: Vec<OptionObject<'a>>,
    /// Inputs of `check`.
    check: CheckSettingsObject<'a>,
    /// Budgets of `check`.
    budgets: Vec<PlacedBudgetObject<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct OptionObject<'a> {
    /// Name in files.
    option: &'static str,
    /// Commands for which this value holds.
    commands: &'a [String],
    /// Text, a number, yes or no, or a list; null if it has none.
    value: Value,
    /// Source of the value.
    origin: OriginObject<'a>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct OriginObject<'a> {
    /// `environment`, `project`, `user` or `default`.
    level: &'static str,
    /// Environment variable.
    variable: Option<&'a str>,
    /// File.
    file: Option<&'a str>,
    /// Line of the file.
    line: Option<usize>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CheckSettingsObject<'a> {
    /// Saved report to compare runs with; null if none is set.
    baseline: Option<CheckSettingObject<'a>>,
    /// Source of the requests.
    paths: Option<CheckSettingObject<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CheckSettingObject<'a> {
    /// Text or a list.
    value: Value,
    /// Source of the value.
    origin: OriginObject<'a>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PlacedBudgetObject<'a> {
    /// File that has it.
    file: &'a str,
    /// Line of the file.
    line: usize,
    /// Figure and its limit, in words.
    budget: String,
}

impl<'a> OriginObject<'a> {
    fn of(origin: &'a Origin) -> Self {
        let nowhere = Self { level: "default", variable: None, file: None, line: None };
        match origin {
            Origin::Environment(variable) => {
                Self { level: "environment", variable: Some(variable), ..nowhere }
            }
            Origin::File { level, file, line } => {
                let level = match level {
                    ConfigLevel::Project => "project",
                    ConfigLevel::User => "user",
                };
                Self { level, file: Some(file), line: Some(*line), ..nowhere }
            }
            Origin::Default => nowhere,
        }
    }
}

impl<'a> OptionObject<'a> {
    fn of(effective: &'a Effective, naming: &ProjectNaming) -> Self {
        Self {
            option: effective.option.key,
            commands: &effective.commands,
            value: value(effective.option, &effective.values, naming),
            origin: OriginObject::of(&effective.origin),
        }
    }
}

impl<'a> PlacedBudgetObject<'a> {
    fn of(placed: &'a PlacedBudget) -> Self {
        Self { file: &placed.file, line: placed.line, budget: placed.budget.to_string() }
    }
}

impl<'a> CheckSettingObject<'a> {
    fn of(setting: &'a ConfigSetting, naming: &ProjectNaming) -> Self {
        let value = value(setting.option, &setting.values, naming);
        Self { value, origin: OriginObject::of(&setting.origin) }
    }
}

/// Values as text, with `~` for the home.
fn texts(values: &[OsString], naming: &ProjectNaming) -> Vec<String> {
    values.iter().map(|value| naming.path(&value.to_string_lossy())).collect()
}

/// Value as in a configuration file, or null if an option has none.
fn value(option: &ConfigOption, values: &[OsString], naming: &ProjectNaming) -> Value {
    let texts = texts(values, naming);
    match (option.takes, texts.as_slice()) {
        // A switch that is not set is off.
        (Takes::Switch, texts) => Value::from(texts.iter().any(|text| text == "true")),
        (Takes::Names | Takes::Paths, _) => Value::from(texts),
        (_, []) => Value::Null,
        (Takes::Number, [text, ..]) => text.parse::<u64>().map_or(Value::Null, Value::from),
        (Takes::Word | Takes::Path, [text, ..]) => Value::from(text.as_str()),
    }
}

/// Writes the configuration as JSON.
///
/// # Errors
/// Writing to `out` fails.
pub fn write_config(
    configuration: &Configuration,
    options: &[Effective],
    naming: &ProjectNaming,
    out: &mut dyn Write,
) -> io::Result<()> {
    let of_check = |option| {
        let setting = configuration.of_check(option)?;
        Some(CheckSettingObject::of(setting, naming))
    };
    let object = ConfigObject {
        schema: SCHEMA,
        files: &configuration.files,
        options: options.iter().map(|option| OptionObject::of(option, naming)).collect(),
        check: CheckSettingsObject { baseline: of_check(&BASELINE), paths: of_check(&PATHS) },
        budgets: configuration.budgets.iter().map(PlacedBudgetObject::of).collect(),
    };
    write_document(&object, out)
}
