//! Commands that are tools, and the options that a call may give. Their types, values and words are those of
//! the command line.

use std::ffi::OsString;

use clap::builder::PossibleValue;
use clap::{Arg, ArgAction, Command};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use crate::cli::strategies::names_of_strategies;
use crate::cli::unknown_name;
use crate::simulate::strategy::Strategy;

/// Command as a tool.
pub(super) struct CommandTool {
    /// Name of the command and of the tool.
    pub(super) name: &'static str,
    /// Title for people.
    title: &'static str,
    /// Occasions on which to call it.
    when: &'static str,
    /// Required arguments, before the paths.
    required: &'static [&'static str],
    /// Options besides [`OF_ALL`] that may be given. None of them names a file.
    options: &'static [&'static str],
}

/// Options that all tools take.
const OF_ALL: [&str; 9] =
    ["session", "project", "model", "agent", "branch", "source", "since", "until", "timezone"];

/// Name of the argument for paths, which is not an option of a command.
pub(super) const PATH: &str = "path";

/// Name of the argument for the format.
const FORMAT: &str = "format";

/// Formats of answers, the default first.
const FORMATS: [&str; 3] = ["table", "markdown", JSON];

/// Format for programs.
const JSON: &str = "json";

/// Option that takes strategies. On the command line it takes files as well.
const STRATEGY: &str = "strategy";

/// Option that selects the turns to list, and its default in calls: all turns of a long session fill a
/// window.
const TURNS: &str = "turns";
const USUAL_TURNS: &str = "events";

/// All tools.
pub(super) const TOOLS: [CommandTool; 4] = [
    CommandTool {
        name: "analyze",
        title: "What sessions cost",
        when: "Call it for what was spent, for what each turn read from the cache, wrote and cost, and for what \
               lifetimes of five minutes and an hour would have cost.",
        required: &[],
        options: &[STRATEGY, "by", "top", TURNS, "live"],
    },
    CommandTool {
        name: "breaks",
        title: "Why the cache missed",
        when: "Call it for why the cache missed and what that cost. The place of each request stands with it, for explain.",
        required: &[],
        options: &["top", "rule", "live"],
    },
    CommandTool {
        name: "advise",
        title: "What to change",
        when: "Call it for what to change first, and what that would have saved.",
        required: &[],
        options: &["top", "live"],
    },
    CommandTool {
        name: "explain",
        title: "The story of one request",
        when: "Call it for one request, once analyze or breaks has told its place.",
        required: &["request"],
        options: &[STRATEGY, "live"],
    },
];

impl CommandTool {
    /// Description of the tool for a client.
    pub(super) fn told(&self, program: &Command) -> Tool {
        let about = program.find_subcommand(self.name).and_then(Command::get_about);
        let about = about.map(ToString::to_string).unwrap_or_default();
        let annotations = ToolAnnotations::with_title(self.title)
            .read_only(true)
            .destructive(false)
            .idempotent(true)
            .open_world(false);
        Tool::new(self.name, format!("{about}. {}", self.when), self.schema(program))
            .with_annotations(annotations)
    }

    fn schema(&self, program: &Command) -> JsonObject {
        let path = json!({
            "type": "string",
            "description": "A file or a folder below the folders that this server was started with [default: all of \
                            them]. A relative path leads on from the folder above all of them, as the paths in answers do",
        });
        let format = json!({
            "type": "string",
            "enum": FORMATS,
            "default": FORMATS[0],
            "description": "How the answer is written: text for a terminal, Markdown, or JSON, in which sums of money are \
                            exact decimals of dollars",
        });
        let named = |name: &str| Some((name.to_owned(), property(self.arg(program, name)?)));
        let named = self.required.iter().copied().chain(self.taken()).filter_map(named);
        let own = [(PATH.to_owned(), path), (FORMAT.to_owned(), format)];
        let properties: JsonObject = named.chain(own).collect();
        let schema = json!({
            "type": "object",
            "properties": properties,
            "required": self.required,
            "additionalProperties": false,
        });
        schema.as_object().cloned().unwrap_or_default()
    }

    /// Options that a call may give.
    fn taken(&self) -> impl Iterator<Item = &'static str> {
        self.options.iter().chain(&OF_ALL).copied()
    }

    fn arg<'a>(&self, program: &'a Command, name: &str) -> Option<&'a Arg> {
        let mut args = program.find_subcommand(self.name)?.get_arguments();
        args.find(|arg| arg.get_id() == name)
    }

    /// Arguments of the command for a call: its options, and the words before the paths.
    ///
    /// # Errors
    /// Problem of the call, in words for the caller. The command itself checks the values.
    pub(super) fn asked(&self, program: &Command, call: &JsonObject) -> Result<Asked, String> {
        let mut asked = Asked { is_json: false, options: Vec::new(), first: Vec::new() };
        let mut format = FORMATS[0];
        for (name, value) in call.iter().filter(|(_, value)| !value.is_null()) {
            if name == FORMAT {
                let known = FORMATS.into_iter().find(|format| value == format);
                format =
                    known.ok_or_else(|| format!("{FORMAT}: give one of {}", FORMATS.join(", ")))?;
            } else if let Some(name) = self.taken().find(|taken| taken == name) {
                let is_flag = self
                    .arg(program, name)
                    .is_some_and(|arg| matches!(arg.get_action(), ArgAction::SetTrue));
                asked.options.extend(options(name, value, is_flag)?);
            } else if name != PATH && !self.required.contains(&name.as_str()) {
                let names: Vec<&str> =
                    self.required.iter().copied().chain([PATH]).chain(self.taken()).collect();
                let names = names.join(", ");
                return Err(format!("`{name}` is unknown; there are {names}, {FORMAT}"));
            }
        }
        for name in self.required {
            let value = call.get(*name).and_then(Value::as_str);
            asked.first.push(value.ok_or_else(|| format!("{name}: give it, as text"))?.into());
        }
        if self.options.contains(&TURNS) && call.get(TURNS).is_none_or(Value::is_null) {
            asked.options.push(format!("--{TURNS}={USUAL_TURNS}").into());
        }
        asked.options.push(format!("--{FORMAT}={format}").into());
        asked.is_json = format == JSON;
        Ok(asked)
    }
}

/// Arguments that a call asks for.
pub(super) struct Asked {
    /// True if the answer is JSON.
    pub(super) is_json: bool,
    /// Options of the command.
    pub(super) options: Vec<OsString>,
    /// Words before the paths.
    pub(super) first: Vec<OsString>,
}

/// Option, once for each of its values.
fn options(name: &str, value: &Value, is_flag: bool) -> Result<Vec<OsString>, String> {
    let one = |value: &Value| match value {
        Value::Bool(true) if is_flag => Ok(Some(format!("--{name}").into())),
        Value::Bool(false) if is_flag => Ok(None),
        Value::String(text) if !is_flag => {
            if name == STRATEGY {
                known_strategies(text)?;
            }
            Ok(Some(format!("--{name}={text}").into()))
        }
        Value::Number(number) if !is_flag => Ok(Some(format!("--{name}={number}").into())),
        _ if is_flag => Err(format!("{name}: give true or false")),
        _ => Err(format!("{name}: give text or a number")),
    };
    let values = match value {
        Value::Array(values) if !is_flag => values.as_slice(),
        value => std::slice::from_ref(value),
    };
    values.iter().filter_map(|value| one(value).transpose()).collect()
}

/// Refuses words that are not names of strategies: a file may lead anywhere.
fn known_strategies(list: &str) -> Result<(), String> {
    let unknown = list.split(',').find(|name| Strategy::by_name(name.trim()).is_none());
    unknown.map_or(Ok(()), |name| {
        Err(format!("{STRATEGY}: {}", unknown_name(name.trim(), &names_of_strategies())))
    })
}

/// Schema of an option for a client.
fn property(arg: &Arg) -> Value {
    let mut told = JsonObject::new();
    let values: Vec<_> =
        arg.get_possible_values().into_iter().filter(|value| !value.is_hide_set()).collect();
    // The help calls whole numbers `N`.
    let is_count = arg.get_value_names().is_some_and(|names| names.iter().any(|name| name == "N"));
    let (kind, values) = match arg.get_action() {
        ArgAction::SetTrue => ("boolean", Vec::new()),
        _ if is_count => ("integer", Vec::new()),
        _ => ("string", values),
    };
    told.insert("type".to_owned(), kind.into());
    if !values.is_empty() {
        told.insert("enum".to_owned(), values.iter().map(PossibleValue::get_name).collect());
    }
    let of_value =
        |value: &PossibleValue| Some(format!("{}: {}", value.get_name(), value.get_help()?));
    let mut words = vec![words_of(arg)];
    words.extend(values.iter().filter_map(of_value));
    if arg.get_id() == STRATEGY {
        told.insert("enum".to_owned(), names_of_strategies().into());
    }
    if matches!(arg.get_action(), ArgAction::Append) {
        let items = std::mem::take(&mut told);
        told.insert("type".to_owned(), "array".into());
        told.insert("items".to_owned(), items.into());
    }
    told.insert("description".to_owned(), words.join("; ").into());
    told.into()
}

/// Description of an option, in the words of the help unless these mention something that a tool lacks.
fn words_of(arg: &Arg) -> String {
    match arg.get_id().as_str() {
        STRATEGY => "The strategies that the same requests are put under".to_owned(),
        TURNS => format!("Which turns of a session are told [default: {USUAL_TURNS}]"),
        "source" => "Only sessions of these programs".to_owned(),
        "session" => "Only this session: its id, or the beginning of it".to_owned(),
        "top" => {
            "How many entries the tables list, the most expensive first (not of JSON)".to_owned()
        }
        _ => arg.get_help().map(ToString::to_string).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::args::Cli;

    #[test]
    fn every_option_of_a_tool_is_one_of_its_command_and_names_no_file() {
        let program = Cli::command();
        for tool in &TOOLS {
            for name in tool.required.iter().copied().chain(tool.taken()) {
                let arg =
                    tool.arg(&program, name).unwrap_or_else(|| panic!("{} {name}", tool.name));
                let words = arg.get_value_names().unwrap_or_default();
                let is_path = |word: &&str| ["FILE", "DIR", "PATH", "FOLDER"].contains(word);
                assert!(!words.iter().any(|word| is_path(&word.as_str())), "{} {name}", tool.name);
            }
        }
    }

    #[test]
    fn what_a_call_says_becomes_options() {
        let program = Cli::command();
        let asked = |call: Value| {
            let asked = TOOLS[0].asked(&program, call.as_object().expect("an object"))?;
            let words = asked.options.into_iter().map(|word| word.into_string().expect("text"));
            Ok(words.collect::<Vec<_>>().join(" "))
        };
        let options = |call| asked(call).expect("options");
        assert_eq!(options(json!({})), "--turns=events --format=table");
        let call = json!({"top": 3, "session": ["a", "--b"], "live": true, "format": "json"});
        assert_eq!(
            options(call),
            "--live --session=a --session=--b --top=3 --turns=events --format=json"
        );
        let call =
            json!({"strategy": "5m, 1h", "turns": "all", "live": false, "top": null, "path": "x"});
        assert_eq!(options(call), "--strategy=5m, 1h --turns=all --format=table");
        let refused = |call: Value| -> String { asked(call).expect_err("refused") };
        let file: Result<_, String> = asked(json!({"strategy": ["5m", "own.toml"]}));
        assert!(file.expect_err("refused").starts_with("strategy: `own.toml` is unknown"));
        assert!(refused(json!({"output": "x"})).starts_with("`output` is unknown"));
        assert_eq!(refused(json!({"live": "yes"})), "live: give true or false");
        assert_eq!(refused(json!({"top": {}})), "top: give text or a number");
        assert_eq!(refused(json!({"format": "csv"})), "format: give one of table, markdown, json");
    }
}
