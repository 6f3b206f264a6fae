//! The table of `docs/ci.md` against the request types of the package `anthropic`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use crate::common::{project, skip, text};

/// First cells of a table's rows, with all names of the row.
fn rows(page: &str, heading: &str) -> BTreeMap<String, BTreeSet<String>> {
    let table = page.split_once(heading).expect("the table").1;
    let names = |row: &str| row.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    let rows = table.lines().skip(2).map_while(|row| row.strip_prefix("| `"));
    rows.map(|row| {
        let (name, rest) = row.split_once('`').expect("a name");
        (name.to_owned(), names(rest))
    })
    .collect()
}

#[test]
fn every_field_of_a_request_is_in_the_guide() {
    let python = project("target/recorders/python/bin/python");
    if !python.exists() {
        return skip("the package anthropic");
    }
    let output = Command::new(python).arg(project("tests/gate/fields/walk.py")).output();
    let output = output.expect("python runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let fields = text(&output.stdout);
    assert!(fields.lines().count() > 300, "{fields}");
    let guide = fs::read_to_string(project("docs/ci.md")).expect("the guide");
    let (top, below) = (rows(&guide, "| field | prompt |"), rows(&guide, "| in | fields |"));
    let is_named = |line: &&str| match line.split_once(' ') {
        Some((field, name)) => below.get(field).is_some_and(|names| names.contains(name)),
        None => top.contains_key(*line),
    };
    let missing: Vec<&str> = fields.lines().filter(|line| !is_named(line)).collect();
    assert!(missing.is_empty(), "docs/ci.md lacks {missing:#?}");
}
