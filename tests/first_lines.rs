//! What every command over sessions says first: the same figures everywhere, in six lines at most.

use std::path::Path;

use serde_json::Value;

use crate::common::{cachesim, json, project, shared, stdout};

const COMMANDS: [&str; 6] = ["analyze", "compare", "breaks", "context", "verify", "advise"];

/// The lines in front of the first empty one.
fn first_lines(command: &str, path: &str) -> Vec<String> {
    let page = stdout(&[command, path, "-q"]);
    page.lines().take_while(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// Nothing is cut off in a terminal of 80 columns.
fn fits_80_columns(path: &str) {
    let output = cachesim().args(["analyze", path, "-q"]).env("COLUMNS", "80").output();
    let page = String::from_utf8(output.expect("the program runs").stdout).expect("text");
    for line in page.lines().take_while(|line| !line.is_empty()) {
        assert!(!line.contains('…'), "{path}: {line}");
    }
}

/// The value of a line that begins with a name.
fn value<'l>(lines: &'l [String], name: &str) -> Option<&'l str> {
    let line = lines.iter().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()
}

/// Dollars as people see them: two decimals from one dollar on, four below.
fn shown(amount: &Value) -> String {
    let text = amount.as_str().expect("an exact amount");
    let (sign, text) = text.strip_prefix('-').map_or(("", text), |text| ("-", text));
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let units: u128 = format!("{whole}{fraction:0<12}").parse().expect("a number");
    let decimals = if units < 999_950_000_000 { 4 } else { 2 };
    let step = 10_u128.pow(12 - decimals);
    let rounded = (units + step / 2) / step;
    let scale = 10_u128.pow(decimals);
    let digits = (rounded / scale).to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let width = decimals as usize;
    format!("{sign}${grouped}.{:0width$}", rounded % scale)
}

fn agree(path: &Path) {
    let path = path.to_str().expect("a plain path");
    let lines = first_lines("analyze", path);
    assert!((2..=6).contains(&lines.len()), "{path}: {lines:?}");
    fits_80_columns(path);
    for command in COMMANDS {
        assert_eq!(first_lines(command, path), lines, "{command} {path}");
    }
    let totals = json(&["analyze", path, "--json", "-q"]);
    let billed = &totals["totals"]["billed"]["cost_usd"];
    let breaks = json(&["breaks", path, "--json", "-q"]);
    let verified = json(&["verify", path, "--json", "-q"]);
    let advice = json(&["advise", path, "--json", "-q"]);
    let compared = json(&["compare", path, "--json", "-q"]);
    if let Some(spent) = value(&lines, "Spent").filter(|spent| *spent != "unknown") {
        assert_eq!(spent, shown(billed), "{path}");
        assert_eq!(&compared["strategies"][0]["totals"]["cost_usd"], billed, "{path}");
    }
    if let Some(cost) = value(&lines, "Breaks cost").filter(|cost| *cost != "unknown") {
        assert_eq!(cost, shown(&breaks["totals"]["excess_usd"]), "{path}");
    }
    let sums = &breaks["reconciliation"];
    for name in ["billed_usd", "apart_usd", "replay_usd", "unexplained_usd"] {
        assert_eq!(sums[name], verified["dollars"][name], "{path}: {name}");
    }
    if sums["left_out_requests"] == 0 {
        assert_eq!(&sums["billed_usd"], billed, "{path}");
    }
    let first = &advice["advice"]["changes"][0];
    let saving = first["saving_usd"].as_str().map(|_| first);
    let best = value(&lines, "Best change");
    let saved = saving.map(|one| format!("-{}", shown(&one["saving_usd"])));
    let unsupported = advice["advice"]["unsupported"].as_object().map(|_| "unknown".to_owned());
    assert_eq!(best.map(str::to_owned), saved.or(unsupported), "{path}");
    let page = stdout(&["report", path, "-q"]);
    for name in ["Spent", "Breaks cost", "Lower bound"] {
        let Some(value) = value(&lines, name) else { continue };
        assert!(page.contains(value), "the report of {path} has no {name} {value}");
    }
}

#[test]
fn fixtures_have_one_figure_for_one_thing() {
    for fixture in [
        "first-look",
        "microcompaction-attachment",
        "sub-agents",
        "captured-forks",
        "unknown-model",
    ] {
        agree(&project("fixtures").join(fixture));
    }
    agree(&project("fixtures"));
}

#[test]
fn real_sessions_have_one_figure_for_one_thing() {
    for corpus in ["corpus", "corpus-b"] {
        let Some(corpus) = shared(corpus) else { return };
        agree(&corpus);
    }
}
