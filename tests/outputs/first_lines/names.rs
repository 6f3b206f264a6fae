//! The glossary against outputs: every figure that one shows is in it, and nothing else is.

use std::collections::BTreeSet;
use std::fs;

use walkdir::WalkDir;

use super::figures::{self, Outputs};
use crate::common::{project, stdout, utf8};

/// A word of the glossary.
struct Entry {
    name: String,
    meaning: String,
}

fn glossary() -> Vec<Entry> {
    let page = fs::read_to_string(project("docs/glossary.md")).expect("the glossary");
    let entries = page.split("\n### ").skip(1);
    let parts = entries.map(|entry| entry.split_once('\n').expect("a name and its meaning"));
    parts
        .map(|(name, meaning)| Entry { name: name.to_owned(), meaning: meaning.to_owned() })
        .collect()
}

/// Words in backticks.
fn codes(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

impl Entry {
    /// Its names in machine formats.
    fn machine_names(&self) -> Vec<&str> {
        let names = self.meaning.split("Machine").nth(1);
        names.into_iter().flat_map(codes).collect()
    }
}

/// The text of all files with an ending below a folder, but for the glossary.
fn texts(folder: &str, ending: &str) -> String {
    let files = WalkDir::new(project(folder)).into_iter().map(|entry| entry.expect("it is there"));
    let files = files.filter(|file| {
        let name = file.file_name().to_string_lossy();
        name.ends_with(ending) && name != "glossary.md"
    });
    files.map(|file| fs::read_to_string(file.path()).expect("text")).collect()
}

/// The names of strategies, whose columns are figures, among the first words of their list.
fn strategies() -> BTreeSet<String> {
    let list = stdout(&["strategies"]);
    list.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn machine_names_of_the_glossary_are_names_of_formats() {
    let (schemas, strategies) = (texts("schemas", ".json"), strategies());
    for entry in glossary() {
        for name in entry.machine_names() {
            let is_format = project("schemas").join(format!("{name}.schema.json")).exists();
            let is_known =
                is_format || schemas.contains(&format!("\"{name}\"")) || strategies.contains(name);
            assert!(is_known, "{}: no format has {name}", entry.name);
        }
    }
}

/// By itself, or by what it is called in code. Help is in the reference of commands.
#[test]
fn every_name_of_the_glossary_is_used() {
    let words = |text: String| text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
    let outputs =
        words(texts("docs", ".md") + &texts("tests", ".snap") + &texts("reports", ".html"));
    let schemas = words(texts("schemas", ".json"));
    for entry in glossary() {
        let names = [entry.name.as_str()].into_iter().chain(codes(&entry.meaning));
        let mut names = names.map(|name| words(name.to_owned()));
        let is_said = names.any(|name| outputs.contains(&name) || schemas.contains(&name));
        assert!(is_said, "nothing says {}", entry.name);
    }
}

/// Inputs of all kinds, and the commands whose tables are looked at.
const INPUTS: [&str; 5] =
    ["first-look", "sub-agents", "windows-of-a-plan", "unsorted-tools", "agent-codex-records"];

const TABLES: [&str; 14] = [
    "analyze",
    "analyze --by day",
    "analyze --by session",
    "analyze --by model",
    "analyze --by agent-type",
    "compare",
    "compare --provider openai,own",
    "breaks",
    "advise",
    "context",
    "blocks",
    "verify",
    "verify --rules --counts",
    "check",
];

/// Columns that say what they are.
const PLAIN: [&str; 17] = [
    "",
    "#",
    "against",
    "cost",
    "figure",
    "for",
    "in per cent",
    "items",
    "main",
    "others",
    "prompt tokens",
    "quarter",
    "share",
    "steps",
    "three quarters",
    "value",
    "windows",
];

/// The names of figures in tables: columns on the right, lines of headlines, and what the page has of both.
fn labels(outputs: &Outputs) -> BTreeSet<String> {
    let tables = TABLES.iter().flat_map(|command| outputs.tables(command));
    let mut labels = BTreeSet::new();
    for table in tables {
        let columns = table.columns.iter().zip(&table.are_figures);
        labels.extend(columns.filter(|(_, is_figure)| **is_figure).map(|(name, _)| name.clone()));
        if table.columns.iter().all(String::is_empty) {
            labels.extend(table.rows.into_iter().map(|mut row| row.swap_remove(0)));
        }
    }
    let page = outputs.text("report");
    for front in ["<dt>", "<th scope=\"col\" class=\"number\">"] {
        let cells = page
            .split(front)
            .skip(1)
            .filter_map(|rest| rest.split_once("</"))
            .map(|(cell, _)| cell);
        labels.extend(cells.map(|cell| cell.rsplit('>').next().unwrap_or_default().to_owned()));
    }
    labels
}

#[test]
fn every_figure_of_an_output_is_in_the_glossary() {
    let glossary = glossary();
    let names = glossary.iter().map(|entry| entry.name.as_str());
    let said = glossary.iter().flat_map(|entry| codes(&entry.meaning));
    let known: BTreeSet<String> = names.chain(said).chain(PLAIN).map(str::to_lowercase).collect();
    let strategies = strategies();
    for name in figures::names() {
        assert!(known.contains(name), "{name} is a figure, and not in the glossary");
    }
    for input in INPUTS {
        let path = project("fixtures").join(input);
        let outputs = Outputs::of(utf8(&path));
        let models = outputs.json("compare")["strategies"][0]["by_model"].clone();
        for label in labels(&outputs) {
            let label = label.to_lowercase();
            let strategy = label.trim_start_matches("read ").trim_start_matches("wrote ");
            let singular = label.strip_suffix('s').unwrap_or(&label);
            let is_known = [label.as_str(), singular].iter().any(|name| known.contains(*name))
                || strategies.contains(strategy)
                || models.get(&label).is_some();
            assert!(is_known, "{input} shows {label}, and the glossary has no such name");
        }
    }
}
