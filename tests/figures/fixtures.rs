//! Small sessions, one folder a behaviour, each with the figures it must give. The figures were
//! worked out by hand from the rules; `expected.toml` shows them request by request.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use cachesim::read::input::Source;
use cachesim::read::transcript::load;
use cachesim::requests::conversation::{build, join};
use cachesim::simulate::strategy::ALL;
use rust_decimal::Decimal;
use serde_json::Value;

use crate::common::{files, fixtures, json, ledger, project, stdout};

/// The folders of all sessions. Of one whose session is a database, the folder in which a test made it.
pub(crate) fn folders() -> &'static [PathBuf] {
    static FOLDERS: LazyLock<Vec<PathBuf>> = LazyLock::new(|| {
        fixtures().into_iter().map(|folder| made(&folder).unwrap_or(folder)).collect()
    });
    &FOLDERS
}

/// Makes the database of which the statements stand in a folder.
fn made(folder: &Path) -> Option<PathBuf> {
    let statements = files(folder, ".sql").pop()?;
    let name = folder.file_name().expect("a name");
    let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join("databases").join(name);
    fs::remove_dir_all(&made).ok();
    fs::create_dir_all(&made).expect("a folder");
    fs::copy(folder.join("expected.toml"), made.join("expected.toml")).expect("expected.toml");
    let stem = statements.file_stem().expect("a name");
    let database = made.join(stem).with_extension("db");
    let text = fs::read_to_string(&statements).expect("statements");
    let connection = rusqlite::Connection::open(database).expect("a database");
    connection.execute_batch(&text).expect("SQL");
    Some(made)
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
        let report = report(folder, &expected);
        for section in ["inputs", "totals", "live"] {
            let Some(given) = expected.get(section) else { continue };
            let given = serde_json::to_value(given).expect("JSON");
            compare(&format!("{name}: {section}"), &given, &report[section], &mut failures);
        }
        compare_obstacles(&name, &expected, &report, &mut failures);
        compare_expiries(&name, folder, &expected, &mut failures);
        compare_tables(&name, folder, &expected, &mut failures);
        let skipped = expected["inputs"]["skipped"].as_table().expect("a table").len();
        let reported = report["inputs"]["skipped"].as_object().expect("an object");
        if skipped != reported.len() {
            failures.push(format!("{name}: skipped is {reported:?}"));
        }
        if let Some(breaks) = expected.get("breaks") {
            let given = serde_json::to_value(breaks).expect("JSON");
            compare_breaks(&name, folder, &expected, &given, &mut failures);
        }
        if let Some(strategies) = expected.get("compare") {
            let given = serde_json::to_value(strategies).expect("JSON");
            compare_strategies(&name, folder, &expected, &given, &mut failures);
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
        let totals = &report_of(folder, &expected, &names)["totals"];
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

/// What every command of a fixture is given besides.
fn more_arguments(expected: &toml::Value) -> impl Iterator<Item = &str> {
    let more = expected.get("arguments").and_then(toml::Value::as_array);
    more.into_iter().flatten().filter_map(toml::Value::as_str)
}

fn report_of(folder: &Path, expected: &toml::Value, strategies: &[&str]) -> Value {
    let strategies = strategies.join(",");
    let mut arguments = vec!["analyze", folder.to_str().expect("a plain path"), "-q"];
    arguments.extend(["--format", "json", "--strategy", &strategies]);
    arguments.extend(more_arguments(expected));
    json(&arguments)
}

/// Strategies and providers, each as `compare` has it; strategies of a file stand beside the session.
fn compare_strategies(
    name: &str,
    folder: &Path,
    expected: &toml::Value,
    given: &Value,
    failures: &mut Vec<String>,
) {
    let path = |name: &str| folder.join(name).to_str().expect("a plain path").to_owned();
    let is_file = |name: &str| Path::new(name).extension().is_some_and(|ending| ending == "toml");
    let list = |key: &str| -> String {
        let names = given[key].as_array().into_iter().flatten();
        let names = names.map(|name| name.as_str().expect("a name"));
        let names = names.map(|name| if is_file(name) { path(name) } else { name.into() });
        names.collect::<Vec<String>>().join(",")
    };
    let (strategies, providers) = (list("strategies"), list("providers"));
    let mut arguments = vec!["compare", folder.to_str().expect("a plain path"), "-q"];
    arguments.extend(["--format", "json", "--strategy", &strategies]);
    if !providers.is_empty() {
        arguments.extend(["--provider", &providers]);
    }
    arguments.extend(more_arguments(expected));
    let comparison = json(&arguments);
    let found = comparison["strategies"].as_array().expect("a list of strategies");
    for (strategy, figures) in given["strategy"].as_object().expect("strategies") {
        let found = found.iter().find(|found| found["strategy"] == strategy.as_str());
        let place = format!("{name}: compare.{strategy}");
        compare(&place, figures, found.unwrap_or(&Value::Null), failures);
    }
}

/// The breaks of a folder, all of them, one after the other.
fn compare_breaks(
    name: &str,
    folder: &Path,
    fixture: &toml::Value,
    expected: &Value,
    failures: &mut Vec<String>,
) {
    let mut arguments = vec!["breaks", folder.to_str().expect("a plain path"), "-q"];
    arguments.extend(["--format", "jsonl"]);
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

/// Which parts of which strategies can do nothing, for each strategy that is named.
fn compare_obstacles(
    name: &str,
    expected: &toml::Value,
    report: &Value,
    failures: &mut Vec<String>,
) {
    let Some(expected) = expected.get("applicability").and_then(toml::Value::as_table) else {
        return;
    };
    let none = Vec::new();
    for (strategy, codes) in expected {
        let all = report["applicability"].as_array().unwrap_or(&none);
        let found = all.iter().find(|one| one["strategy"] == strategy.as_str());
        let obstacles = found.and_then(|one| one["obstacles"].as_array()).unwrap_or(&none);
        let found: Value = obstacles.iter().map(|obstacle| obstacle["code"].clone()).collect();
        let codes = serde_json::to_value(codes).expect("JSON");
        compare(&format!("{name}: applicability.{strategy}"), &codes, &found, failures);
    }
}

/// The requests at which the cache has expired, for each strategy that is named.
fn compare_expiries(name: &str, folder: &Path, expected: &toml::Value, failures: &mut Vec<String>) {
    let Some(expiries) = expected.get("expired").and_then(toml::Value::as_table) else { return };
    let strategies: Vec<&str> = expiries.keys().map(String::as_str).collect();
    let strategies = strategies.join(",");
    let mut options = vec!["--strategy", strategies.as_str()];
    options.extend(more_arguments(expected));
    let rows = ledger(folder, &options);
    for (strategy, ids) in expiries {
        let is_expired =
            |row: &&Value| row["strategy"] == strategy.as_str() && !row["expired_ttl"].is_null();
        let found: Value =
            rows.iter().filter(is_expired).map(|row| row["request_id"].clone()).collect();
        let ids = serde_json::to_value(ids).expect("JSON");
        compare(&format!("{name}: expired.{strategy}"), &ids, &found, failures);
    }
}

/// What `analyze` shows to people, and what it does not.
fn compare_tables(name: &str, folder: &Path, expected: &toml::Value, failures: &mut Vec<String>) {
    let Some(tables) = expected.get("table").and_then(toml::Value::as_array) else { return };
    let strings = |table: &toml::Value, key: &str| -> Vec<String> {
        let list = table.get(key).and_then(toml::Value::as_array).into_iter().flatten();
        list.map(|text| text.as_str().expect("a string").to_owned()).collect()
    };
    for table in tables {
        let own = strings(table, "arguments");
        let mut all = vec!["analyze", folder.to_str().expect("a plain path"), "-q"];
        all.extend(more_arguments(expected));
        all.extend(own.iter().map(String::as_str));
        let shown = stdout(&all);
        for text in strings(table, "says").iter().filter(|text| !shown.contains(*text)) {
            failures.push(format!("{name}: {all:?} does not say {text:?}:\n{shown}"));
        }
        for text in strings(table, "lacks").iter().filter(|text| shown.contains(*text)) {
            failures.push(format!("{name}: {all:?} says {text:?}:\n{shown}"));
        }
    }
}

/// Every strategy gives the same figures wherever it is asked for.
#[test]
fn analyze_and_compare_agree_on_every_strategy() {
    let names: Vec<&str> = ALL.iter().map(|strategy| strategy.name.as_ref()).collect();
    for folder in folders() {
        let text = fs::read_to_string(folder.join("expected.toml")).expect("expected.toml");
        let expected: toml::Value = toml::from_str(&text).expect("TOML");
        let analyzed = report_of(folder, &expected, &names);
        let strategies = names.join(",");
        let path = folder.to_str().expect("a plain path");
        let mut options = vec!["compare", path, "-q", "--format", "json"];
        // `analyze` takes the rules by the letter.
        options.extend(["--reading", "literal", "--strategy", &strategies]);
        options.extend(more_arguments(&expected));
        let compared = json(&options);
        for strategy in compared["strategies"].as_array().expect("strategies") {
            let name = strategy["strategy"].as_str().expect("a name");
            let place = format!("{}: {name}", folder.display());
            assert_eq!(strategy["totals"], analyzed["totals"][name], "{place}");
            let idle = analyzed["applicability"].as_array().into_iter().flatten();
            let is_idle = |one: &&Value| one["strategy"] == name && one["applicable"] == false;
            assert_eq!(
                strategy["applicable"] == false,
                idle.filter(is_idle).count() == 1,
                "{place}"
            );
            if strategy["applicable"] == false {
                assert!(strategy["difference_usd"].is_null(), "{place} claims a saving");
                assert!(strategy["totals"]["cost_usd"].is_null(), "{place} has a cost");
                assert!(strategy["paired"].is_null(), "{place} is paired");
            }
        }
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
