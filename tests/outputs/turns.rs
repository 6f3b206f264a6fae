//! The turns of a session under billed, 5m and 1h, side by side: figures worked out by hand, figures of
//! the ledger, and what folds.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use cachesim::explain::breaks::Cause;
use rayon::prelude::*;
use rust_decimal::{Decimal, RoundingStrategy};
use serde_json::Value;

use crate::common::{
    cachesim, files, grouped, largest, ledger, names, project, run, shared, text, utf8,
};

const SHOWN: [&str; 3] = ["billed", "5m", "1h"];

/// The table of turns, column by name; a Markdown table hides nothing.
fn turns(path: &Path, detail: &str) -> Vec<BTreeMap<String, String>> {
    let path = path.to_str().expect("a plain path");
    let mut rows = rows_of(&["analyze", path, "-q", "--format", "markdown", "--turns", detail]);
    rows.retain(|row| row["#"] != "all");
    rows
}

fn rows_of(arguments: &[&str]) -> Vec<BTreeMap<String, String>> {
    let output = cachesim().args(arguments).output().expect("the program runs");
    let page = text(&output.stdout);
    let cells = |line: &str| -> Vec<String> {
        let line = line.trim().trim_start_matches('|').trim_end_matches('|');
        line.split('|').map(|cell| cell.trim().replace("&gt;", ">")).collect()
    };
    let mut lines = page.lines().skip_while(|line| !line.starts_with("| # |"));
    let names = lines.next().map(cells).unwrap_or_default();
    let rows = lines.skip(1).take_while(|line| line.starts_with('|'));
    rows.map(|row| names.iter().cloned().zip(cells(row)).collect()).collect()
}

/// The ledger's rows of every request, in the order of their times, by strategy.
fn by_request(path: &Path) -> Vec<BTreeMap<String, Vec<Value>>> {
    let mut places: BTreeMap<(String, u64), usize> = BTreeMap::new();
    let mut requests: Vec<BTreeMap<String, Vec<Value>>> = Vec::new();
    for row in ledger(path, &["--strategy", "billed,5m,1h"]) {
        let line = row["line"].as_u64().expect("a line");
        let key = (row["file"].as_str().expect("a file").to_owned(), line);
        let place = *places.entry(key).or_insert_with(|| {
            requests.push(BTreeMap::new());
            requests.len() - 1
        });
        let strategy = row["strategy"].as_str().expect("a strategy").to_owned();
        requests[place].entry(strategy).or_default().push(row);
    }
    requests
}

fn cost(rows: &[Value]) -> Decimal {
    let cost = |row: &Value| row["cost_usd"].as_str().expect("a price").parse::<Decimal>();
    rows.iter().map(|row| cost(row).expect("a number")).sum()
}

fn sum(rows: &[Value], columns: &[&str]) -> u64 {
    let count = |row: &Value, column: &&str| row[*column].as_u64().expect("a count");
    rows.iter().flat_map(|row| columns.iter().map(move |column| count(row, column))).sum()
}

/// Decimals of all dollars of a session: four if its sums are below ten dollars, three below a hundred, two from there on.
fn decimals(requests: &[BTreeMap<String, Vec<Value>>]) -> u32 {
    let sum = |strategy: &str| {
        requests.iter().map(|request| cost(&request[strategy])).sum::<Decimal>().trunc()
    };
    match SHOWN.map(sum).into_iter().max() {
        Some(sum) if sum >= 100.into() => 2,
        Some(sum) if sum >= 10.into() => 3,
        _ => 4,
    }
}

fn dollars(cost: Decimal, decimals: u32) -> String {
    let rounded = cost.round_dp_with_strategy(decimals, RoundingStrategy::MidpointAwayFromZero);
    let rounded = format!("{rounded:.*}", decimals as usize);
    let (whole, rest) = rounded.split_once('.').expect("decimals");
    format!("${}.{rest}", grouped(whole.parse().expect("a number")))
}

/// A row's turns, counted from 1: one, or a run.
fn numbers(row: &BTreeMap<String, String>) -> std::ops::Range<usize> {
    let number = |text: &str| text.replace(',', "").parse::<usize>().expect("a number");
    match row["#"].split_once('–') {
        Some((first, last)) => number(first)..number(last) + 1,
        None => number(&row["#"])..number(&row["#"]) + 1,
    }
}

/// Holds every row of the table, of a turn or of a run, against the ledger.
fn assert_is_ledger(path: &Path, detail: &str) -> usize {
    let rows = turns(path, detail);
    if rows.is_empty() {
        return 0;
    }
    let requests = by_request(path);
    let decimals = decimals(&requests);
    let mut next = 1;
    for row in &rows {
        let numbers = numbers(row);
        assert_eq!(numbers.start, next, "{}: no turn is missing", path.display());
        next = numbers.end;
        let of_row = &requests[numbers.start - 1..numbers.end - 1];
        for strategy in SHOWN {
            let rows: Vec<Value> = of_row.iter().flat_map(|one| one[strategy].clone()).collect();
            let place = format!("{}: turn {} under {strategy}", path.display(), row["#"]);
            assert_eq!(row[strategy], dollars(cost(&rows), decimals), "{place}");
            let read = sum(&rows, &["cache_read_input_tokens"]);
            assert_eq!(row[&format!("read {strategy}")], grouped(read), "{place}");
            let written = ["ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"];
            let written = sum(&rows, &written);
            assert_eq!(row[&format!("wrote {strategy}")], grouped(written), "{place}");
        }
    }
    assert_eq!(next - 1, requests.len(), "{}: every turn stands", path.display());
    rows.len()
}

/// claude-opus-5, in millionths of a dollar: 5 a token sent, 6.25 and 10 a token written, 0.5 a token
/// read, 25 a token of output. Turn 4 comes 19m47s after turn 3, inside an hour and beyond five minutes:
/// as recorded it reads 27,200, under 5m the 16,000 that other traffic keeps warm, and writes the rest.
#[test]
fn dollars_are_those_worked_out_by_hand() {
    let rows = turns(&project("fixtures/first-look"), "events");
    let expected = [
        // 2·5 + 27,200·0.5 + 1,400·10 + 700·25; 2·5 + 16,000·0.5 + 12,600·6.25 + 700·25
        ("4", ["$0.0451", "$0.1043", "$0.0451"], "expired under 5m (19m47s)"),
        // 2·5 + 16,000·0.5 + 14,100·10 + 650·25; the same at 6.25
        (
            "5",
            ["$0.1653", "$0.1124", "$0.1653"],
            "break: 12,600 tokens not read (probably the service dropped the entry)",
        ),
        // 2·5 + 16,000·0.5 + 15,300·10 + 800·25; the same at 6.25
        // Turn 5 left 30,100, of which 16,000 are read.
        (
            "6",
            ["$0.1810", "$0.1236", "$0.1810"],
            "expired (1h26m > 1h); break: 14,100 tokens not read (an entry for an hour expired)",
        ),
    ];
    for (number, dollars, words) in expected {
        let row = rows.iter().find(|row| row["#"] == number).expect("an event is never folded");
        assert_eq!(SHOWN.map(|strategy| row[strategy].as_str()), dollars, "turn {number}");
        assert_eq!(row["what happened"], words);
    }
}

#[test]
fn every_turn_of_real_sessions_has_the_figures_of_the_ledger() {
    let Some(corpus) = shared("corpus-b") else { return };
    let (mut all, mut folded) = (0, 0);
    for session in files(corpus, ".jsonl").iter().step_by(3) {
        all += assert_is_ledger(session, "all");
        folded += assert_is_ledger(session, "events");
    }
    assert!(all > 500 && folded < all / 2, "{folded} rows stand for {all} turns");
}

/// Events and the most expensive turns stand by themselves; what is between them is a row.
#[test]
fn what_happened_is_never_folded() {
    let Some(corpus) = shared("corpus-b") else { return };
    let path = largest(&corpus);
    let (all, folded) = (turns(&path, "all"), turns(&path, "events"));
    let amount = |row: &BTreeMap<String, String>| -> Decimal {
        row["billed"].replace(['$', ','], "").parse().expect("dollars")
    };
    let mut costs: Vec<Decimal> = all.iter().map(amount).collect();
    costs.sort_unstable_by(|one, other| other.cmp(one));
    for row in &all {
        if !row["what happened"].is_empty() || amount(row) > costs[4] {
            assert!(folded.contains(row), "{row:?}");
        }
    }
    for row in folded.iter().filter(|row| numbers(row).len() > 1) {
        let (turns, tokens) = row["what happened"].split_once(", +").expect("turns and tokens");
        assert_eq!(turns, format!("{} turns", grouped(numbers(row).len() as u64)));
        assert!(tokens.ends_with(" tokens"), "{tokens}");
    }
    assert_eq!(turns(&path, "none"), Vec::<BTreeMap<String, String>>::new());
}

/// The log of `claude-trace-log`, its second answer without usage. Of claude-opus-5, in millionths of a
/// dollar: turn 1 costs 3·5 + 40·6.25 + 1,300·10 + 25·25 = 13,890, turn 3 3·5 + 1,300·0.5 + 640·6.25 + 40·25
/// = 5,665. What was billed for turn 2 nobody knows; what it would cost, the simulation does.
#[test]
fn a_turn_without_a_record_leaves_its_column_to_the_others() {
    let log =
        fs::read_to_string(project("fixtures/claude-trace-log/session.jsonl")).expect("a log");
    let lines = log.lines().map(|line| {
        let mut exchange: Value = serde_json::from_str(line).expect("an exchange");
        let body = exchange["response"]["body"].as_object_mut();
        if let Some(body) = body.filter(|body| body.get("id") == Some(&"msg_2".into())) {
            body.remove("usage").expect("usage");
        }
        format!("{exchange}\n")
    });
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("session.jsonl");
    fs::write(&path, lines.collect::<String>()).expect("written");
    for detail in ["all", "events"] {
        let path = path.to_str().expect("a plain path");
        let rows = rows_of(&["analyze", path, "-q", "--format", "markdown", "--turns", detail]);
        let column = |name: &str| rows.iter().map(|row| row[name].clone()).collect::<Vec<_>>();
        // The sums have what is known: 13,890 + 5,665 = 19,555 millionths.
        assert_eq!(column("billed"), ["$0.0139", "unknown", "$0.0057", "$0.0196"]);
        assert_eq!(column("read billed"), ["0", "–", "1,300", "1,300"]);
        assert_eq!(column("wrote billed"), ["1,340", "–", "640", "1,980"]);
        assert!(column("5m").iter().all(|cell| cell.starts_with('$')), "5m is known of each");
    }
}

fn what_happened(fixture: &str, strategies: &str, number: &str) -> String {
    let path = project("fixtures").join(fixture);
    let arguments =
        ["analyze", path.to_str().expect("a plain path"), "-q", "--strategy", strategies];
    let rows = rows_of(&[&arguments[..], &["--format", "markdown"]].concat());
    let row = rows.into_iter().find(|row| row["#"] == number).expect("the turn");
    row["what happened"].clone()
}

/// Turn 5 of `first-look` is sent 10 s after turn 4, which left 28,600 tokens, and reads 16,000 as recorded.
/// So it does under 5m and 1h; where breaks are left out it reads all, and `none` never reads.
#[test]
fn a_break_of_some_strategies_says_of_which() {
    let words = |strategies| what_happened("first-look", strategies, "5");
    let why = "12,600 tokens not read (probably the service dropped the entry)";
    assert_eq!(words("billed,5m,1h"), format!("break: {why}"));
    assert_eq!(words("replay,5m"), format!("break under 5m: {why}"));
    assert_eq!(words("billed,replay,1h"), format!("break under billed, 1h: {why}"));
    assert_eq!(words("replay,none"), format!("break as sent: {why}"));
}

/// Turn 3 of `hook-context-moves` reads the 15,000 tokens that turn 2 had read, of the 16,000 that it had left; turn 6
/// reads 12,000 of the 20,200 that turn 5 had. Both prompts grew: from 16,002 tokens to 17,002, and from 20,202 to
/// 20,502.
#[test]
fn a_rewritten_prompt_that_grew_is_a_break_and_not_smaller() {
    for (number, lost) in [("3", "1,000"), ("6", "8,200")] {
        assert_eq!(
            what_happened("hook-context-moves", "billed,5m,1h", number),
            format!(
                "break: {lost} tokens not read (the context of hooks moved at a new prompt); earlier messages \
                 rewritten"
            )
        );
    }
}

/// The session, what was not read, and why, of every break of a folder.
fn listed_breaks(path: &str) -> BTreeMap<String, Vec<String>> {
    let mut listed: BTreeMap<String, Vec<String>> = BTreeMap::new();
    // Databases are made by tests of their own, and have no file here.
    for line in text(&run(&["breaks", "-q", path, "--format", "jsonl"]).stdout).lines() {
        let row: Value = serde_json::from_str(line).expect("a row");
        let count = |name: &str| row[name].as_u64().expect("a count");
        let lost = count("expected_read_tokens") - count("cache_read_input_tokens");
        let cause = Cause::by_name(row["cause"].as_str().expect("a cause")).expect("a cause");
        let session = row["session_id"].as_str().expect("a session").to_owned();
        let told = format!("{} tokens not read|{})", grouped(lost), cause.meaning());
        listed.entry(session).or_default().push(told);
    }
    listed
}

/// Whether a row has the tokens and the cause of a break.
fn tells(row: &BTreeMap<String, String>, found: &str) -> bool {
    let (lost, cause) = found.split_once('|').expect("both");
    // Markdown escapes what would be its own.
    let words = row["what happened"].replace('\\', "");
    words.contains("break") && words.contains(&format!(": {lost} (")) && words.contains(cause)
}

#[test]
fn every_break_of_a_fixture_is_one_in_the_table_of_turns() {
    let fixtures = names(&project("fixtures"));
    let broken: usize = fixtures
        .par_iter()
        .map(|fixture| {
            let path = project("fixtures").join(fixture);
            let path = utf8(&path);
            let sessions = listed_breaks(path);
            for (session, found) in &sessions {
                let arguments = ["analyze", "-q", path, "--turns", "all", "--session", session];
                let rows = rows_of(&[&arguments[..], &["--format", "markdown"]].concat());
                let broken = rows.iter().filter(|row| row["what happened"].contains("break"));
                assert_eq!(broken.count(), found.len(), "{fixture}: {session}");
                for one in found {
                    assert!(rows.iter().any(|row| tells(row, one)), "{fixture}: {one}: {rows:#?}");
                }
            }
            sessions.len()
        })
        .sum();
    assert!(broken > 20, "{broken}");
}

/// Turn 4 of `captured-mixed-ttl` is marked for five minutes in front of a mark for an hour. It is refused
/// as it was sent, and not where all its marks have one lifetime.
#[test]
fn a_refusal_of_some_strategies_says_of_which() {
    let words = |strategies| what_happened("captured-mixed-ttl", strategies, "4");
    assert_eq!(words("as-recorded"), "refused: a marker of 5m in front of one of 1h");
    assert_eq!(
        words("5m,as-recorded"),
        "refused under as-recorded: a marker of 5m in front of one of 1h"
    );
    assert_eq!(
        words("as-recorded,1h,replay"),
        "refused under as-recorded, expected by the rules: a marker of 5m in front of one of 1h"
    );
    assert_eq!(words("5m,1h"), "");
}

fn at_width(width: &str) -> String {
    let fixture = project("fixtures/first-look");
    let arguments = ["analyze", fixture.to_str().expect("a plain path"), "-q"];
    let output = cachesim().args(arguments).env("COLUMNS", width).output();
    let page = text(&output.expect("the program runs").stdout);
    let table = page.lines().skip_while(|line| !line.trim_start().starts_with('#'));
    table.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_wide_terminal_shows_all_of_the_three() {
    insta::assert_snapshot!(at_width("160"));
}

#[test]
fn a_terminal_of_eighty_columns_shows_tokens_and_dollars_under_both_lifetimes() {
    insta::assert_snapshot!(at_width("80"));
    for line in at_width("76").lines() {
        assert!(line.chars().count() <= 76, "{line}");
    }
}

#[test]
fn a_narrow_terminal_shows_the_dollars_of_both_lifetimes() {
    insta::assert_snapshot!(at_width("60"));
}
