//! `docs/mechanisms.md` names for each mechanism the command that shows it and what proves it. Every
//! command has to run, and every fixture and test that is named has to be there.

use std::collections::BTreeSet;
use std::fs;

use crate::common::{cachesim, names, project, shared, text};

/// How many mechanisms each group has, in the order of the table.
const GROUPS: [(&str, usize); 6] = [("L", 11), ("P", 11), ("C", 6), ("K", 4), ("F", 5), ("B", 4)];

/// A row of the table.
struct Row {
    id: String,
    command: String,
    proofs: Vec<String>,
}

/// What stands between backticks.
fn code(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn rows() -> Vec<Row> {
    let table = fs::read_to_string(project("docs/mechanisms.md")).expect("the table");
    let row = |line: &str| -> Option<Row> {
        // A pipe inside a cell is written `\|`.
        let line = line.replace("\\|", "\u{1}");
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, id, _, command, proofs, _] = cells[..] else { return None };
        let is_row = id.strip_prefix(|first: char| first.is_ascii_uppercase());
        is_row.filter(|number| number.parse::<u32>().is_ok())?;
        let command = code(command).first()?.replace('\u{1}', "|");
        Some(Row { id: id.to_owned(), command, proofs: code(proofs) })
    };
    table.lines().filter_map(row).collect()
}

#[test]
fn every_mechanism_has_a_row() {
    let expected: Vec<String> = GROUPS
        .iter()
        .flat_map(|(group, count)| (1..=*count).map(move |number| format!("{group}{number}")))
        .collect();
    let ids: Vec<String> = rows().into_iter().map(|row| row.id).collect();
    assert_eq!(ids, expected);
    let Some(list) = shared("mechanisms.md") else { return };
    let list = fs::read_to_string(list).expect("the list of mechanisms");
    for id in ids {
        assert!(list.contains(&format!("| {id} |")), "{id} is no mechanism");
    }
}

#[test]
fn every_proof_is_there() {
    let mut missing = Vec::new();
    for row in rows() {
        let fixtures = row.proofs.iter().filter(|proof| proof.starts_with("fixtures/"));
        if fixtures.clone().next().is_none() {
            missing.push(format!("{}: no fixture is named", row.id));
        }
        for fixture in fixtures {
            if !project(fixture).join("expected.toml").is_file() {
                missing.push(format!("{}: {fixture}/expected.toml is not there", row.id));
            }
        }
        for test in row.proofs.iter().filter(|proof| !proof.starts_with("fixtures/")) {
            if !is_test(test) {
                missing.push(format!("{}: there is no test {test}", row.id));
            }
        }
    }
    assert!(missing.is_empty(), "\n{}", missing.join("\n"));
}

/// Whether `module::function` is a test in a folder of `tests/`.
fn is_test(name: &str) -> bool {
    let Some((module, function)) = name.split_once("::") else { return false };
    let folders = names(&project("tests")).into_iter();
    let file = |folder| project("tests").join(folder).join(format!("{module}.rs"));
    let mut sources = folders.filter_map(|folder: String| fs::read_to_string(file(folder)).ok());
    sources.any(|source| source.contains(&format!("fn {function}(")))
}

#[test]
fn every_command_shows_something() {
    let commands: BTreeSet<String> = rows().into_iter().map(|row| row.command).collect();
    for command in commands {
        let mut words = command.split_whitespace();
        assert_eq!(words.next(), Some("cachesim"), "{command}");
        let output = cachesim().args(words).current_dir(project("")).output().expect("it runs");
        assert!(output.status.success(), "{command}: {}", text(&output.stderr));
        assert!(!output.stdout.is_empty(), "{command} prints nothing");
    }
}
