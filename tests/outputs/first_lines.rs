//! What every command over sessions says first: the same figures everywhere, in six lines at most.

mod figures;
mod names;

use std::path::Path;

use figures::Outputs;
use serde_json::Value;

use crate::common::{cachesim, ledger, project, prompt_of, shared, stdout, utf8};

const COMMANDS: [&str; 6] = ["analyze", "compare", "breaks", "context", "verify", "advise"];

/// The lines in front of the first empty one, after the conclusion of a command that begins with it.
fn first_lines(command: &str, path: &str) -> Vec<String> {
    let page = stdout(&[command, path, "-q"]);
    let mut parts = page.split("\n\n");
    let first = parts.next().unwrap_or_default();
    let is_answer = |part: &str| part.starts_with("Spent") || part.starts_with("Would cost");
    assert!(is_answer(first) || CONCLUDING.contains(&command), "{command}: {first}");
    let answer = if is_answer(first) { first } else { parts.next().unwrap_or_default() };
    answer.lines().map(str::to_owned).collect()
}

/// Commands that begin with their conclusion.
const CONCLUDING: [&str; 2] = ["compare", "verify"];

/// Nothing is cut off in a terminal of 80 columns.
fn fits_80_columns(path: &str) {
    let output = cachesim().args(["analyze", path, "-q"]).env("COLUMNS", "80").output();
    let page = String::from_utf8(output.expect("the program runs").stdout).expect("text");
    for line in page.lines().take_while(|line| !line.is_empty()) {
        assert!(!line.contains('…'), "{path}: {line}");
    }
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
    let path = utf8(path);
    let lines = first_lines("analyze", path);
    // The lines of a client's own count come on top.
    let own =
        lines.iter().filter(|line| !line.starts_with("Client's count") && !line.starts_with("  "));
    assert!((2..=6).contains(&own.count()), "{path}: {lines:?}");
    fits_80_columns(path);
    for command in COMMANDS {
        assert_eq!(first_lines(command, path), lines, "{command} {path}");
    }
    Outputs::of(path).agree();
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

/// A turn is told to have shrunk where an earlier one was larger.
#[test]
fn a_prompt_that_shrank_is_smaller_than_one_before() {
    for fixture in [
        "context-collapse",
        "first-loaded-tools",
        "hook-context-moves",
        "late-replacement",
        "recorded-forks",
        "snip",
    ] {
        let path = project("fixtures").join(fixture);
        let rows = ledger(&path, &["--strategy", "billed"]);
        let prompts: Vec<u64> = rows.iter().map(prompt_of).collect();
        let outputs = Outputs::of(utf8(&path));
        let tables = outputs.tables("analyze --turns all");
        let turns = tables.iter().find(|table| table.columns[0] == "#").expect("turns");
        for turn in turns.rows.iter().filter(|turn| turn.concat().contains("prompt shrank")) {
            let number: usize = turn[0].parse().expect("a number");
            let own = prompts[number - 1];
            let is_smaller = prompts[..number - 1].iter().any(|earlier| *earlier > own);
            assert!(is_smaller, "{fixture}: turn {number} of {own} tokens");
        }
    }
}
