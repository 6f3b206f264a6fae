//! Small sessions, one folder a behaviour, each with the figures it must give. The figures were
//! worked out by hand from the rules; `expected.toml` shows them request by request.

use std::fs;
use std::path::{Path, PathBuf};

use cachesim::conversation::{build, join};
use cachesim::input::Source;
use cachesim::strategy::ALL;
use cachesim::transcript::load;
use rust_decimal::Decimal;
use serde_json::Value;

use crate::common::{json, project, stdout};

fn folders() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = fs::read_dir(project("fixtures"))
        .expect("the fixtures")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    folders
}

#[test]
fn every_fixture_gives_its_figures() {
    let mut failures = Vec::new();
    let folders = folders();
    assert!(folders.len() >= 30, "{} fixtures", folders.len());
    for folder in folders {
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        let text = fs::read_to_string(folder.join("expected.toml")).expect("expected.toml");
        let expected: toml::Value = toml::from_str(&text).expect("TOML");
        let report = report(&folder, &expected);
        for section in ["inputs", "totals"] {
            let given = serde_json::to_value(&expected[section]).expect("JSON");
            compare(&format!("{name}: {section}"), &given, &report[section], &mut failures);
        }
        let skipped = expected["inputs"]["skipped"].as_table().expect("a table").len();
        let reported = report["inputs"]["skipped"].as_object().expect("an object");
        if skipped != reported.len() {
            failures.push(format!("{name}: skipped is {reported:?}"));
        }
        if let Some(breaks) = expected.get("breaks") {
            let given = serde_json::to_value(breaks).expect("JSON");
            compare_breaks(&name, &folder, &expected, &given, &mut failures);
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

/// What is recorded, and replayed with nothing but the rules, need not have the breaks that the
/// bound keeps.
#[test]
fn no_strategy_is_cheaper_than_the_bound() {
    let bounded = ALL.iter().filter(|strategy| strategy.keeps_content());
    let names: Vec<&str> = bounded.map(|strategy| strategy.name.as_ref()).collect();
    let names: Vec<&str> =
        names.into_iter().filter(|name| !["billed", "replay"].contains(name)).collect();
    for folder in folders() {
        let text = fs::read_to_string(folder.join("expected.toml")).expect("expected.toml");
        let expected: toml::Value = toml::from_str(&text).expect("TOML");
        let totals = &report_of(&folder, &expected, &names)["totals"];
        let cost = |name: &str| -> Option<Decimal> {
            let is_refused = !totals[name]["invalid_requests"].is_null();
            let cost = totals[name]["cost_usd"].as_str().filter(|_| !is_refused)?;
            Some(cost.parse().expect("a number"))
        };
        let Some(bound) = cost("optimal") else { continue };
        for name in &names {
            let is_bounded = cost(name).is_none_or(|cost| cost >= bound);
            assert!(is_bounded, "{}: {name} is cheaper than {bound}", folder.display());
        }
    }
}

/// The result of the first of two parallel calls hangs off the linear path to the next request.
#[test]
fn results_beside_the_path_are_recovered() {
    let bytes = fs::read(project("fixtures/parallel-tools/session.jsonl")).expect("a session");
    let history = join(vec![build(load(&Source::in_memory("session.jsonl", &bytes)))]);
    let recovered: Vec<u32> =
        history.requests.iter().map(|request| request.recovered_results).collect();
    assert_eq!(recovered, [0, 1]);
}

fn report(folder: &Path, expected: &toml::Value) -> Value {
    let strategies: Vec<&str> =
        expected["totals"].as_table().expect("totals").keys().map(String::as_str).collect();
    report_of(folder, expected, &strategies)
}

fn report_of(folder: &Path, expected: &toml::Value, strategies: &[&str]) -> Value {
    let strategies = strategies.join(",");
    let mut arguments = vec!["analyze", folder.to_str().expect("a plain path"), "-q"];
    arguments.extend(["--format", "json", "--strategy", &strategies]);
    arguments.extend(more_arguments(expected));
    json(&arguments)
}

/// The arguments that a fixture asks for.
fn more_arguments(fixture: &toml::Value) -> impl Iterator<Item = &str> {
    let more = fixture.get("arguments").and_then(toml::Value::as_array);
    more.into_iter().flatten().filter_map(toml::Value::as_str)
}

/// The breaks of a folder, all of them, one after the other.
fn compare_breaks(
    name: &str,
    folder: &Path,
    fixture: &toml::Value,
    expected: &Value,
    failures: &mut Vec<String>,
) {
    let folder = folder.to_str().expect("a plain path");
    let mut arguments = vec!["breaks", folder, "-q", "--format", "jsonl"];
    arguments.extend(more_arguments(fixture));
    let rows = stdout(&arguments);
    let rows: Vec<Value> =
        rows.lines().map(|row| serde_json::from_str(row).expect("a row")).collect();
    let expected = expected.as_array().expect("a list of breaks");
    if rows.len() != expected.len() {
        failures.push(format!("{name}: {} breaks expected, {} found", expected.len(), rows.len()));
    }
    for (number, (expected, row)) in expected.iter().zip(&rows).enumerate() {
        compare(&format!("{name}: breaks[{number}]"), expected, row, failures);
    }
}

/// Every figure that is expected has to be there; others may be, too.
fn compare(place: &str, expected: &Value, found: &Value, failures: &mut Vec<String>) {
    match expected {
        Value::Object(fields) => {
            for (key, value) in fields {
                compare(&format!("{place}.{key}"), value, &found[key], failures);
            }
        }
        value if value != found => {
            failures.push(format!("{place}: {value} expected, {found} found"));
        }
        _ => {}
    }
}
