//! The report as a page: what stands in it is what the other outputs say, and nothing of anybody's
//! text can leave its place. (That it works in a browser is tested elsewhere.)

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rust_decimal::Decimal;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::common::{count, json, ledger, project, run, shared, stdout, text};

const STRATEGIES: [&str; 6] = ["billed", "replay", "none", "5m", "1h", "mixed"];

/// The page of some input.
fn page(path: &Path, more: &[&str]) -> String {
    let path = path.to_str().expect("a plain path");
    stdout(&[&["report", path, "-q"], more].concat())
}

/// What stands between two texts, the first time that both are there.
fn between<'a>(page: &'a str, front: &str, behind: &str) -> &'a str {
    let (_, rest) = page.split_once(front).unwrap_or_else(|| panic!("{front} in the page"));
    rest.split_once(behind).unwrap_or_else(|| panic!("{behind} in the page")).0
}

fn block(page: &str, id: &str) -> Value {
    let front = format!("<script type=\"application/json\" id=\"{id}\">");
    serde_json::from_str(between(page, &front, "</script>")).expect("JSON")
}

/// The value of a column at a turn.
fn at(column: &Value, turn: usize) -> &Value {
    if column.is_array() { &column[turn] } else { column }
}

/// Micro-dollars as dollars.
fn dollars(micro: &Value) -> Decimal {
    let number: Decimal = micro.to_string().parse().expect("a number");
    number / Decimal::from(1_000_000)
}

fn cost(row: &Value) -> Option<Decimal> {
    row["cost_usd"].as_str().map(|cost| cost.parse().expect("an amount"))
}

/// A folder with one transcript of requests with these usages, so many seconds apart.
fn transcript(
    name: &str,
    session: &str,
    model: &str,
    requests: &[(i64, [u64; 4])],
) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut lines = String::new();
    let mut parent = Value::Null;
    for (number, (seconds, [input, read, written, output])) in requests.iter().enumerate() {
        let at = |more: i64| {
            cachesim::base::units::Millis::new(1_785_700_000_000 + (seconds + more) * 1_000)
        };
        let user = json!({
            "type": "user", "uuid": format!("u{number}"), "parentUuid": parent,
            "sessionId": session, "version": "2.1.219", "timestamp": at(0).to_string(),
            "message": {"role": "user", "content": "go on"},
        });
        parent = json!(format!("a{number}"));
        let answer = json!({
            "type": "assistant", "uuid": parent, "parentUuid": format!("u{number}"),
            "sessionId": session, "version": "2.1.219", "timestamp": at(2).to_string(),
            "requestId": format!("req_{number}"),
            "message": {
                "id": format!("msg_{number}"), "type": "message", "role": "assistant",
                "model": model, "content": [{"type": "text", "text": "done"}],
                "stop_reason": "end_turn",
                "usage": {
                    "input_tokens": input, "cache_read_input_tokens": read,
                    "cache_creation_input_tokens": written, "output_tokens": output,
                },
            },
        });
        writeln!(lines, "{user}\n{answer}").expect("a string takes everything");
    }
    let path = folder.path().join(name);
    fs::write(&path, lines).expect("written");
    (folder, path)
}

/// The figure of the answer with this name: its value and what it means.
fn figure(page: &str, name: &str) -> (String, String) {
    let front = format!("<dt>{name}</dt>");
    let rest = between(page, &front, "</div>");
    let value = between(rest, "<dd class=\"value\">", " <span").to_owned();
    (value, between(rest, "<dd class=\"meaning\">", "</dd>").to_owned())
}

#[test]
fn the_policy_allows_the_own_script_and_style_only() {
    let page = page(&project("fixtures/first-look"), &[]);
    let policy =
        between(&page, "<head>\n<meta http-equiv=\"Content-Security-Policy\" content=\"", "\">");
    let hash = |text: &str| format!("sha256-{}", STANDARD.encode(Sha256::digest(text)));
    let script = hash(between(&page, "<script>", "</script>"));
    let style = hash(between(&page, "<style>", "</style>"));
    let expected = format!(
        "default-src &#39;none&#39;; script-src &#39;{script}&#39;; style-src &#39;{style}&#39;; \
         font-src data:; base-uri &#39;none&#39;; form-action &#39;none&#39;"
    );
    assert_eq!(policy, expected);
    assert_eq!(page.matches("<style").count(), 1);
    let markup = page.split("<script>").next().expect("what stands in front");
    for refused in
        [" style=", " onclick=", " onload=", "javascript:", "http://", "https://", " src="]
    {
        assert!(!markup.contains(refused), "{refused}");
    }
    assert!(between(&page, "<script>", "</script>").len() < 30_000);
}

#[test]
fn turns_are_the_rows_of_the_ledger() {
    let folders = [
        "first-look",
        "sub-agents",
        "refusal-fallback",
        "compaction",
        "price-tiers",
        "snapshot-output",
        "unknown-model",
        "captured-clock",
        "resumed-and-forked",
    ];
    for folder in folders {
        let folder = project("fixtures").join(folder);
        // `analyze` simulates by the letter.
        let names = STRATEGIES.join(",");
        let page = page(&folder, &["--reading", "literal", "--strategy", &names]);
        let rows = ledger(&folder, &["--strategy", &names]);
        let sessions = block(&page, "sessions-data");
        assert_eq!(sessions["strategies"], json!(STRATEGIES));
        for (number, session) in
            sessions["sessions"].as_array().expect("sessions").iter().enumerate()
        {
            let turns = block(&page, &format!("turns-{number}"));
            for (place, strategy) in STRATEGIES.iter().enumerate() {
                let own: Vec<&Value> = rows
                    .iter()
                    .filter(|row| {
                        row["session_id"] == session["id"] && row["strategy"] == *strategy
                    })
                    .collect();
                check_turns(&turns, &turns["strategies"][place], &own);
                check_sums(&session["figures"][place], &own);
            }
        }
    }
}

/// Holds the columns of a strategy against the rows.
fn check_turns(turns: &Value, columns: &Value, rows: &[&Value]) {
    let own_or = |name: &str| {
        if columns[name].is_null() { turns[name].clone() } else { columns[name].clone() }
    };
    let (prompts, outputs) = (own_or("prompt"), turns["output"].clone());
    let mut ordinary = rows.iter().filter(|row| row["iteration"].is_null());
    let mut total = Decimal::ZERO;
    for turn in 0..usize::try_from(count(turns, "count")).expect("a few") {
        let cost = at(&columns["cost"], turn);
        if !cost.is_null() {
            total += dollars(cost);
        }
        let Some(input) = at(&columns["input"], turn).as_u64() else { continue };
        let row = ordinary.next().expect("a row");
        let number = |column: &Value| at(column, turn).as_u64().expect("a count");
        let written = number(&columns["write_5m"]) + number(&columns["write_1h"]);
        assert_eq!(input, count(row, "input_tokens"));
        assert_eq!(number(&columns["write_5m"]), count(row, "ephemeral_5m_input_tokens"));
        assert_eq!(number(&columns["write_1h"]), count(row, "ephemeral_1h_input_tokens"));
        let is_refused =
            columns["refused"].as_array().is_some_and(|all| all.iter().any(|one| one[0] == turn));
        let read = if is_refused { 0 } else { number(&prompts) - input - written };
        assert_eq!(read, count(row, "cache_read_input_tokens"));
        if columns["output"].is_null() {
            assert_eq!(at(&outputs, turn), &row["output_tokens"]);
        }
    }
    assert!(ordinary.next().is_none(), "a turn for each row");
    assert_eq!(total, rows.iter().filter_map(|row| cost(row)).sum());
}

/// Holds the sums of a session against its rows.
fn check_sums(figures: &Value, rows: &[&Value]) {
    let sum = |column: &str| rows.iter().map(|row| count(row, column)).sum::<u64>();
    let read = sum("cache_read_input_tokens");
    let others = ["input_tokens", "ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"];
    assert_eq!(figures[0], others.iter().map(|column| sum(column)).sum::<u64>() + read);
    assert_eq!(figures[1], read);
    let known: Vec<Decimal> = rows.iter().filter_map(|row| cost(row)).collect();
    if known.is_empty() {
        assert!(figures[2].is_null());
    } else {
        assert_eq!(dollars(&figures[2]), known.iter().sum());
    }
}

#[test]
fn hostile_names_stay_text() {
    let id = "\"><script>alert('s')</script>\u{202e}\u{1b}[2J&amp;";
    let model = "</script><img src=x onerror=alert(2)>";
    let (folder, _path) = transcript("f\"'><script>.jsonl", id, model, &[(0, [5, 0, 9_000, 7])]);
    let page = page(folder.path(), &[]);
    assert_eq!(page.matches("<script").count(), page.matches("</script>").count());
    // The sessions, the turns of one, and the page's own.
    assert_eq!(page.matches("<script").count(), 3);
    assert!(!page.contains("<img") && !page.contains("<script>alert"));
    assert!(!page.contains(['\u{202e}', '\u{1b}']));
    let session = &block(&page, "sessions-data")["sessions"][0];
    assert_eq!(session["id"], "\"><script>alert('s')</script>\u{fffd}\u{fffd}[2J&amp;");
    assert!(page.contains("f&quot;&#39;&gt;&lt;script&gt;.jsonl"));
    assert!(page.contains("&lt;/script&gt;&lt;img src=x onerror=alert(2)&gt;"));
}

/// A request in front of a model's first price pays that one (prices/), and so it is named.
#[test]
fn every_price_that_was_used_is_named() {
    let model = "claude-haiku-5-5";
    let (folder, _path) = transcript("a.jsonl", "s", model, &[(0, [5, 0, 9_000, 7])]);
    let page = page(folder.path(), &[]);
    let prices = between(&page, "<section id=\"prices\"", "</section>");
    // No price here has an end, so there is no column for it.
    let rate = ["2026-10-07", "", "0.1", "0.125", "0.2", "0.01", "0.5"];
    let classes = ["name", "name", "number", "number", "number", "number", "number"];
    let cells =
        classes.iter().zip(rate).map(|(class, cell)| format!("<td class=\"{class}\">{cell}</td>"));
    let row = format!("<th scope=\"row\">{model}</th>{}", cells.collect::<String>());
    assert!(prices.contains(&row), "{prices}");
}

/// The best caching is the bound of `compare` without recorded breaks, by the letter of the rules.
#[test]
fn the_best_caching_is_the_bound_without_breaks() {
    let fixture = project("fixtures/refusal-fallback");
    let path = fixture.to_str().expect("a plain path");
    let compared =
        json(&["compare", path, "--json", "--breaks", "drop", "--reading", "literal", "-q"]);
    let bound: Decimal =
        compared["bound"]["cost_usd"].as_str().expect("a cost").parse().expect("a number");
    let page = page(&fixture, &[]);
    let (value, meaning) = figure(&page, "Best caching");
    assert_eq!(value, format!("${:.4}", bound.round_dp(4)), "{meaning}");
}

#[test]
fn what_has_no_price_is_unknown() {
    let (folder, _path) = transcript("a.jsonl", "s", "nobody-s-model", &[(0, [5, 0, 9_000, 7])]);
    let page = page(folder.path(), &[]);
    assert_eq!(figure(&page, "Spent").0, "unknown");
    assert!(!page.contains("<dt>Best caching</dt>"), "nothing is known to hold it against");
    assert!(page.contains("Models without a price"));
    let turns = block(&page, "turns-0");
    assert!(
        turns["strategies"].as_array().expect("strategies").iter().all(|one| one["cost"].is_null())
    );
    assert!(
        !between(&page, "<table id=\"sessions\"", "</table>")
            .contains("$0.0000</td><td data-column=\"difference\"")
    );
}

#[test]
fn what_was_billed_is_unknown_without_usage() {
    let page = page(&project("fixtures/captured-clock"), &[]);
    let rows = ledger(&project("fixtures/captured-clock"), &[]);
    assert!(rows.iter().all(|row| row["strategy"] != "billed"));
    assert!(figure(&page, "Cost, simulated").1.contains("<code>replay</code>"));
    assert!(!page.contains("<dt>Best caching</dt>"), "nothing is known to hold it against");
}

#[test]
fn small_and_odd_histories_have_a_page() {
    let (folder, _path) = transcript("a.jsonl", "s", "claude-opus-5", &[(0, [2, 0, 8_000, 10])]);
    let one = page(folder.path(), &[]);
    // 2 · $5 + 8,000 · $6.25 + 10 · $25, for a million each.
    assert_eq!(figure(&one, "Spent").0, "$0.0503");
    assert!(one.contains("1 of 1 session<"));
    let zero = [(0, [0, 0, 0, 0]), (60, [0, 0, 0, 0])];
    let (folder, _path) = transcript("a.jsonl", "s", "claude-opus-5", &zero);
    let empty = page(folder.path(), &[]);
    assert_eq!(figure(&empty, "Spent").0, "$0.0000");
    assert_eq!(block(&empty, "turns-0")["prompt"], 0);
    let months = [(0, [2, 0, 8_000, 10]), (90 * 86_400, [2, 0, 9_000, 10])];
    let (folder, _path) = transcript("a.jsonl", "s", "claude-opus-5", &months);
    let turns = block(&page(folder.path(), &[]), "turns-0");
    assert_eq!(turns["step"], json!([0, 7_776_000]));
    assert_eq!(turns["gap"], json!([null, 77_760_000]));
}

#[test]
fn bytes_are_the_same_whatever_the_threads() {
    let folder = project("fixtures");
    let one = page(&folder, &["--jobs", "1"]);
    assert_eq!(one, page(&folder, &["--jobs", "4"]));
}

#[test]
fn a_page_is_written_to_a_file_that_is_no_input() {
    let (folder, path) = transcript("a.jsonl", "s", "claude-opus-5", &[(0, [2, 0, 8_000, 10])]);
    let input = path.to_str().expect("plain");
    let before = fs::read(&path).expect("the input");
    let output = run(&["report", input, "-o", input]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("is an input; give another file"));
    assert_eq!(fs::read(&path).expect("the input"), before);
    let file = folder.path().join("report.html");
    stdout(&["report", input, "-o", file.to_str().expect("plain")]);
    assert_eq!(fs::read_to_string(&file).expect("a page"), page(&path, &[]));
    let missing = folder.path().join("no/report.html");
    let output = run(&["report", input, "-o", missing.to_str().expect("plain")]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn the_shown_strategies_are_those_asked_for() {
    let page = page(&project("fixtures/first-look"), &["--strategy", "1h,none"]);
    assert_eq!(block(&page, "sessions-data")["strategies"], json!(["1h", "none"]));
    let options = between(&page, "<select id=\"strategy\">", "</select>");
    assert_eq!(options, "<option>1h</option><option>none</option>");
    // What was billed is said all the same.
    let report = crate::common::json(&[
        "analyze",
        project("fixtures/first-look").to_str().expect("plain"),
        "--format",
        "json",
        "-q",
    ]);
    let billed: Decimal = report["totals"]["billed"]["cost_usd"]
        .as_str()
        .expect("a cost")
        .parse()
        .expect("an amount");
    assert_eq!(figure(&page, "Spent").0, format!("${billed:.4}"));
}

#[test]
fn the_corpus_has_a_page() {
    let Some(corpus) = shared("corpus") else { return };
    let page = page(&corpus, &[]);
    assert!(page.len() < 10_000_000);
    let sessions = block(&page, "sessions-data");
    for number in 0..sessions["sessions"].as_array().expect("sessions").len() {
        assert!(block(&page, &format!("turns-{number}"))["count"].as_u64() > Some(0));
    }
}
