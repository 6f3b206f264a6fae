//! A word in every field of every format, through every command in every format: none is in an output
//! but those that `docs/privacy.md` names, and each of these is there. After `redact` a word is left only
//! where `redact --explain` says so.

mod plant;
mod projects;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use plant::{Session, Words, all_planted, sessions};
use rayon::prelude::*;
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{cachesim, files, is_thorough, project, text};

/// Commands over sessions with their formats. Each is also run with `--show-text` where `+` is in front.
const RUNS: [(&str, &str); 32] = [
    ("+analyze all --top 100000 --turns all", "table markdown json jsonl csv"),
    ("analyze all --by session", "table markdown json csv"),
    ("watch all --once --idle 9w", ""),
    ("watch all --once --idle 9w --jsonl", ""),
    ("analyze all --by model", "table json csv"),
    ("analyze all --by project", "table markdown json csv"),
    ("analyze all --by agent-type", "table json csv"),
    ("analyze all --by branch", "table json csv"),
    ("analyze all --by client", "table json csv"),
    ("analyze all --by source", "table json csv"),
    ("compare all", "table markdown json jsonl csv"),
    ("+breaks all --top 100000", "table markdown json jsonl csv"),
    ("advise all", "table markdown json"),
    ("context all --top 60000", "table markdown json"),
    ("blocks all --top 60000", "table markdown json"),
    ("verify all", "table markdown json"),
    ("lint all --top 100000", "text markdown json sarif"),
    ("lint all --hide-text --top 100000", "text markdown json sarif"),
    (
        "+check all --top 60000 --config config.toml",
        "text markdown summary json junit sarif report",
    ),
    (
        "+check all --top 60000 --config config.toml --baseline baseline.json",
        "text markdown summary json junit sarif report",
    ),
    ("chart turns all", "svg"),
    ("chart cost all", "svg png"),
    ("chart gaps all", "svg"),
    ("chart strategies all", "svg"),
    ("chart breaks all", "svg"),
    ("chart context all", "svg"),
    ("chart daily all", "svg"),
    ("chart waterfall all", "svg"),
    ("+report all -o -", ""),
    ("config show --config config.toml", "table markdown json"),
    ("analyze all --verbose --project zqzzzz", ""),
    ("analyze all --verbose --session zqzzzz", ""),
];

const CONFIG: &str = "
[[budget]]
metric = \"cost_per_session\"
max = \"0.0001 USD\"

[[budget]]
metric = \"breaks\"
max = 0

[[budget]]
metric = \"prompt_bytes_per_request\"
max = \"1 byte\"

[[budget]]
metric = \"tool_bytes_per_request\"
max = \"1 byte\"

[[budget]]
metric = \"lint_findings\"
max = 0
level = \"warn\"
";

/// Planted sessions in a folder.
struct Place {
    folder: TempDir,
    words: Words,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut words = Words::default();
        let planted = all_planted(&sessions(), &mut words);
        let place = Self { folder, words };
        place.write("config.toml", CONFIG);
        planted.par_iter().for_each(|Session { name, lines }| {
            let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
            place.write(&format!("all/{name}.jsonl"), &lines.join("\n"));
        });
        place
    }

    fn write(&self, name: &str, content: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, content).expect("a file");
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What a run prints on both streams. It may fail, but not by a bug.
    fn run(&self, arguments: &[&str]) -> [Vec<u8>; 2] {
        let mut command = cachesim();
        let output = command.current_dir(self.folder.path()).args(arguments).output();
        let output = output.expect("the program runs");
        let code = output.status.code();
        assert!(code.is_some_and(|code| code < 70), "{arguments:?}: {}", text(&output.stderr));
        [output.stdout, output.stderr]
    }
}

/// Where words were seen: place → a run, without `--show-text` and with it.
#[derive(Default)]
struct Seen([BTreeMap<String, String>; 2]);

impl Seen {
    fn add(&mut self, place: &str, run: &str, shows_text: bool) {
        let seen = &mut self.0[usize::from(shows_text)];
        seen.entry(place.to_owned()).or_insert_with(|| run.to_owned());
    }
}

/// The runs as they are typed, and whether they show text.
fn runs() -> Vec<(Vec<String>, bool)> {
    let mut runs = Vec::new();
    for (command, formats) in RUNS {
        let plain = command.trim_start_matches('+');
        let shows = plain.starts_with("lint") && !plain.contains("--hide-text");
        for format in formats.split(' ') {
            let words = plain.split(' ').map(str::to_owned);
            let asked = ["--format".to_owned(), format.to_owned()];
            let asked = asked.into_iter().filter(|_| !format.is_empty());
            let words: Vec<String> = words.chain(asked).collect();
            if command.starts_with('+') {
                runs.push(([&words[..], &["--show-text".to_owned()]].concat(), true));
            }
            runs.push((words, shows));
        }
    }
    runs
}

/// Runs everything.
fn seen(place: &Place) -> Seen {
    place.run(&[
        "check",
        "all",
        "--config",
        "config.toml",
        "--format",
        "report",
        "-o",
        "baseline.json",
    ]);
    let mut runs = runs();
    for (number, file) in files(place.path("all"), ".jsonl").iter().enumerate().step_by(40) {
        let file = file.strip_prefix(place.folder.path()).expect("below").display().to_string();
        let asked =
            |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let ids = place.run(&["analyze", &file, "--format", "jsonl", "-q"]);
        let rows = text(&ids[0]);
        let row = rows.lines().last().and_then(|row| serde_json::from_str::<Value>(row).ok());
        let id = row.and_then(|row| row["request_id"].as_str().map(str::to_owned));
        for (format, shows) in ["table", "markdown", "json"]
            .iter()
            .flat_map(|format| [(format, false), (format, true)])
        {
            let Some(id) = &id else { continue };
            let mut words = asked(&["explain", id, &file, "--format", format]);
            words.extend(shows.then(|| "--show-text".to_owned()));
            runs.push((words, shows));
        }
        runs.push((asked(&["statusline", "--transcript", &file]), false));
        if number % 80 == 0 {
            runs.push((asked(&["place", &file]), false));
        }
    }
    let results: Vec<(String, bool, [Vec<u8>; 2])> = runs
        .par_iter()
        .map(|(words, shows)| {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            (words.join(" "), *shows, place.run(&words))
        })
        .collect();
    let mut seen = Seen::default();
    for (run, shows, streams) in results {
        // What is placed is the prompt itself.
        let printed = if run.starts_with("place") { &streams[1..] } else { &streams[..] };
        for word in printed.iter().flat_map(|stream| place.words.found_in(stream)) {
            seen.add(&place.words.places[word], &run, shows);
        }
    }
    seen
}

/// The rows of `docs/privacy.md`: each field and whether it is shown only with `--show-text`.
fn documented() -> Vec<(String, bool)> {
    let page = fs::read_to_string(project("docs/privacy.md")).expect("the page");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let row = |row: &str| {
        let (fields, rest) = row.split_once(" | ")?;
        let is_text = rest.ends_with("| asked for |");
        let fields = fields.split(", ").map(|field| field.trim_matches('`').to_owned());
        Some(fields.map(|field| (field, is_text)).collect::<Vec<_>>())
    };
    rows.filter_map(row).flatten().collect()
}

/// Whether a place is one that a row names: `**` at its end stands for all below.
fn is_named(row: &str, place: &str) -> bool {
    match row.strip_suffix("**") {
        Some(front) => place.starts_with(front),
        None => row == place,
    }
}

#[test]
fn only_what_is_documented_is_in_an_output() {
    if !is_thorough() {
        return;
    }
    let place = Place::new();
    let Seen([plain, with_text]) = seen(&place);
    let rows = documented();
    let is_allowed = |place: &str, shows_text: bool| {
        rows.iter().any(|(row, is_text)| (shows_text || !is_text) && is_named(row, place))
    };
    let both = plain.iter().map(|one| (one, false)).chain(with_text.iter().map(|one| (one, true)));
    let leaks = both.filter(|((place, _), shows)| !is_allowed(place, *shows));
    let leaks: Vec<String> =
        leaks.map(|((place, run), shows)| format!("{place} ({shows}): {run}")).collect();
    assert!(leaks.is_empty(), "{} places:\n{}", leaks.len(), leaks.join("\n"));
    let stale = rows.iter().filter(|(row, is_text)| {
        let seen = if *is_text { &with_text } else { &plain };
        !seen.keys().any(|place| is_named(row, place))
    });
    let stale: Vec<&str> = stale.map(|(row, _)| row.as_str()).collect();
    // Some are of commands that the default program lacks.
    assert!(stale.is_empty() || !cfg!(feature = "full"), "named and never seen: {stale:?}");
    redacted_copies(&place);
}

/// What `redact --explain` says: object → field → (what it holds, whether names of tools stay).
struct Kept(BTreeMap<String, Value>);

impl Kept {
    fn read() -> Self {
        let output = cachesim().args(["redact", "--explain", "--json"]).output();
        let page: Value =
            serde_json::from_slice(&output.expect("the program runs").stdout).expect("JSON");
        let objects = page["objects"].as_array().expect("objects").iter();
        let named = |object: &Value| {
            (object["object"].as_str().unwrap_or_default().to_owned(), object.clone())
        };
        Self(objects.map(named).collect())
    }

    /// The outermost objects, of any format.
    fn roots(&self) -> impl Iterator<Item = &str> {
        let roots = self.0.iter().filter(|(_, object)| object["path"] == "");
        roots.map(|(name, _)| name.as_str())
    }

    /// The strings of a value in which the name of a tool may be left.
    fn tool_names<'v>(
        &self,
        value: &'v Value,
        object: Option<&str>,
        is_tool: bool,
        found: &mut Vec<&'v str>,
    ) {
        match value {
            Value::Object(fields) => {
                let known = object.and_then(|object| self.0.get(object));
                for (name, value) in fields {
                    let fields = known.and_then(|known| known["fields"].as_array());
                    let field = fields.and_then(|fields| {
                        fields.iter().find(|field| field["name"] == name.as_str())
                    });
                    let holds = match (field, known) {
                        (Some(field), _) => field["holds"].as_str(),
                        (None, known) => known.and_then(|known| known["others_hold"].as_str()),
                    };
                    let is_tool = field.is_some_and(|field| field["keeps_tool_names"] == true);
                    self.tool_names(value, holds, is_tool, found);
                }
            }
            Value::Array(values) => {
                for value in values {
                    self.tool_names(value, object, is_tool, found);
                }
            }
            Value::String(text) if is_tool => found.push(text),
            Value::String(text) if object == Some("response") => {
                let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
                for value in data.filter_map(|data| serde_json::from_str::<Value>(data).ok()) {
                    // The text is not borrowed from the line.
                    let value: &'static Value = Box::leak(Box::new(value));
                    self.tool_names(value, object, false, found);
                }
            }
            _ => {}
        }
    }
}

/// Redacts all of it, and looks at what is left.
fn redacted_copies(place: &Place) {
    let kept = Kept::read();
    for tool_names in ["keep", "hash"] {
        let output = format!("redacted-{tool_names}");
        place.run(&["redact", "all", "-o", &output, "--tool-names", tool_names, "-q"]);
        let files = files(place.path(&output), ".jsonl");
        assert!(files.len() > 100, "{} files", files.len());
        let left: BTreeSet<String> = files
            .par_iter()
            .flat_map_iter(|file| left(place, &kept, file, tool_names == "keep"))
            .collect();
        assert!(left.is_empty(), "{tool_names}: {left:#?}");
    }
    for command in ["analyze", "breaks", "context", "verify", "lint"] {
        let streams = place.run(&[command, "redacted-hash", "--json", "--verbose"]);
        for stream in streams {
            assert_eq!(place.words.found_in(&stream), BTreeSet::new(), "{command}");
        }
    }
}

/// Words that are left in a redacted file where none may be.
fn left(place: &Place, kept: &Kept, file: &Path, keeps_tool_names: bool) -> Vec<String> {
    let name = file.display().to_string();
    let mut left: BTreeSet<String> =
        place.words.found_in(name.as_bytes()).into_iter().map(str::to_owned).collect();
    for line in fs::read_to_string(file).expect("UTF-8").lines() {
        let mut words = place.words.found_in(line.as_bytes());
        if keeps_tool_names && !words.is_empty() {
            let value: Value = serde_json::from_str(line).expect("JSON");
            let mut names = Vec::new();
            for root in kept.roots() {
                kept.tool_names(&value, Some(root), false, &mut names);
            }
            for word in names.iter().flat_map(|name| place.words.found_in(name.as_bytes())) {
                words.remove(word);
            }
        }
        left.extend(words.into_iter().map(str::to_owned));
    }
    left.into_iter().map(|word| format!("{word} of {}", place.words.places[&word])).collect()
}
