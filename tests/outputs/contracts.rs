//! Machine formats keep their contract, and the same numbers stand in all of them.

use serde_json::Value;

use crate::common::{first_look, json, ledger, project, stdout};

#[test]
fn a_ledger_row_has_the_columns_of_the_contract() {
    let output = stdout(&["analyze", &first_look(), "--format", "jsonl", "-q"]);
    let first = output.lines().next().expect("a row");
    insta::assert_snapshot!(first, @r#"{"schema":"cachesim.ledger/v1","strategy":"billed","session_id":"5e1f0000-0000-4000-8000-000000000001","agent_id":null,"request_id":"req_A","message_id":"msg_A","timestamp":"2026-08-03T10:00:04.000Z","start":"2026-08-03T10:00:00.000Z","model":"claude-opus-5","file":"session.jsonl","line":2,"input_tokens":2,"cache_read_input_tokens":16000,"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":6200,"output_tokens":310,"output_is_lower_bound":false,"basis":"measured","iteration":null,"added":null,"cost_usd":"0.07776","invalid":null,"live":true,"expired_ttl":null,"source":"claude","requests":1,"nano_aiu":null,"project":"demo"}"#);
}

#[test]
fn csv_has_the_same_rows_as_jsonl() {
    let path = first_look();
    let csv = stdout(&["analyze", &path, "--format", "csv", "-q"]);
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let header: Vec<String> =
        reader.headers().expect("a header").iter().map(str::to_owned).collect();
    let rows = ledger(&project("fixtures/first-look/session.jsonl"), &[]);
    let keys: Vec<&String> = rows[0].as_object().expect("an object").keys().collect();
    let mut sorted = header.clone();
    sorted.sort();
    let mut sorted_keys: Vec<String> = keys.into_iter().cloned().collect();
    sorted_keys.sort();
    assert_eq!(sorted, sorted_keys);
    let mut count = 0;
    for (record, row) in reader.records().zip(&rows) {
        let record = record.expect("a record");
        for (column, cell) in header.iter().zip(record.iter()) {
            let expected = match &row[column] {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            assert_eq!(cell, expected, "{column}");
        }
        count += 1;
    }
    assert_eq!(count, rows.len());
}

#[test]
fn the_report_adds_the_ledger_up() {
    let folder = project("fixtures/sub-agents");
    let report = json(&["analyze", folder.to_str().expect("plain"), "--format", "json", "-q"]);
    assert_eq!(report["schema"], "cachesim.report/v1");
    let rows = ledger(&folder, &[]);
    for (strategy, totals) in report["totals"].as_object().expect("strategies") {
        for column in ["input_tokens", "cache_read_input_tokens", "output_tokens"] {
            let sum: u64 = rows
                .iter()
                .filter(|row| row["strategy"] == strategy.as_str())
                .map(|row| row[column].as_u64().expect("a count"))
                .sum();
            assert_eq!(totals[column], sum, "{strategy} {column}");
        }
    }
    let of_models: u64 = report["by_model"]
        .as_object()
        .expect("models")
        .values()
        .map(|model| model["billed"]["requests"].as_u64().expect("a count"))
        .sum();
    assert_eq!(report["totals"]["billed"]["requests"], of_models);
    assert_eq!(report["sessions"][0]["totals"], report["totals"]);
}

#[test]
fn keys_stand_in_the_order_of_the_contract() {
    let report = stdout(&["analyze", &first_look(), "--format", "json", "-q"]);
    let keys = ["schema", "tool_version", "prices", "inputs", "totals", "by_model", "sessions"];
    let positions: Vec<usize> = keys
        .iter()
        .map(|key| report.find(&format!("\n  \"{key}\"")).unwrap_or_else(|| panic!("{key}")))
        .collect();
    assert!(positions.is_sorted(), "{positions:?}");
}

#[test]
fn the_table_of_one_session() {
    let table = stdout(&["analyze", &first_look(), "-q"]);
    insta::assert_snapshot!(table);
}

#[test]
fn the_table_of_several_sessions() {
    let folder = project("fixtures/resumed-and-forked");
    let table = stdout(&["analyze", folder.to_str().expect("plain"), "-q"]);
    insta::assert_snapshot!(table);
}

#[test]
fn the_table_of_a_verification() {
    let table = stdout(&["verify", &first_look(), "-q"]);
    insta::assert_snapshot!(table);
}

#[test]
fn markdown_carries_the_same_totals() {
    let markdown = stdout(&["analyze", &first_look(), "-q", "--format", "markdown"]);
    assert!(markdown.contains("| billed | 121,500 | 0 | 42,000 | 12 | 3,780 |"), "{markdown}");
}

#[test]
fn prices_of_a_day() {
    let table = stdout(&["prices", "show", "claude-sonnet-5-5"]);
    insta::assert_snapshot!(table);
    let on_the_day =
        json(&["prices", "show", "claude-sonnet-5-5", "--at", "2026-10-06", "--format", "json"]);
    assert_eq!(on_the_day["models"][0]["rates"][0]["cache_read_usd_per_mtok"], "0.2");
}

#[test]
fn the_sums_of_the_breaks() {
    let sums = stdout(&["breaks", &first_look(), "-q", "--format", "json"]);
    insta::assert_snapshot!(sums);
}

#[test]
fn a_break_a_line() {
    let rows = stdout(&["breaks", &first_look(), "-q", "--format", "jsonl"]);
    insta::assert_snapshot!(rows);
    let cells = stdout(&["breaks", &first_look(), "-q", "--format", "csv"]);
    insta::assert_snapshot!(cells);
}
