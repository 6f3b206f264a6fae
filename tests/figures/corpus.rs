//! The program on real sessions, which are read in place.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::{count, files, json, ledger, prompt_of, run, transcripts};

const ALL_STRATEGIES: &str = "billed,replay,none,5m,1h,mixed";

/// A second, naive reading of the same files: every line a JSON value, no chains, no streaming.
#[derive(Default)]
struct NaiveCount {
    own_messages: BTreeSet<String>,
    own: BTreeSet<(String, String)>,
    nested: BTreeSet<(String, String)>,
}

impl NaiveCount {
    fn walk(&mut self, folder: &Path) {
        for path in files(folder, ".jsonl") {
            self.file(&path);
        }
    }

    fn file(&mut self, path: &Path) {
        let bytes = fs::read(path).expect("a file");
        for line in bytes.split(|byte| *byte == b'\n') {
            for value in serde_json::Deserializer::from_slice(line).into_iter::<Value>() {
                let Ok(value) = value else { break };
                if value["type"] == "assistant" {
                    self.own_messages.extend(value["message"]["id"].as_str().map(str::to_owned));
                    self.own.extend(key(&value["message"], &value["requestId"]));
                }
                let nested = &value["data"]["message"];
                if value["type"] == "progress" && nested["type"] == "assistant" {
                    self.nested.extend(key(&nested["message"], &nested["requestId"]));
                }
            }
        }
    }

    fn nested_only(&self) -> usize {
        self.nested.iter().filter(|(message, _)| !self.own_messages.contains(message)).count()
    }
}

fn key(message: &Value, request: &Value) -> Option<(String, String)> {
    let usage = message["usage"].as_object()?;
    let speaks_of_cache = usage.keys().any(|key| key.starts_with("cache_"));
    let is_request = message["model"] != "<synthetic>" && speaks_of_cache;
    let id = message["id"].as_str()?.to_owned();
    is_request.then(|| (id, request.as_str().unwrap_or_default().to_owned()))
}

#[test]
fn every_request_counts_once() {
    let Some(corpus) = transcripts("corpus") else { return };
    let mut naive = NaiveCount::default();
    naive.walk(&corpus);
    assert_eq!(naive.nested_only(), 430);
    let rows = ledger(&corpus, &["--strategy", "billed"]);
    assert_eq!(rows.len(), 9_513);
    let keys: BTreeSet<(String, String)> = rows
        .iter()
        .map(|row| {
            let text = |column: &str| row[column].as_str().unwrap_or_default().to_owned();
            (text("message_id"), text("request_id"))
        })
        .collect();
    assert_eq!(keys.len(), rows.len(), "a request is listed twice");
    let mut expected = naive.own.clone();
    expected
        .extend(naive.nested.iter().filter(|(id, _)| !naive.own_messages.contains(id)).cloned());
    assert_eq!(keys, expected);
}

#[test]
fn tokens_are_conserved_and_orders_hold() {
    let Some(corpus) = transcripts("corpus") else { return };
    let rows = ledger(&corpus, &["--strategy", ALL_STRATEGIES]);
    assert_eq!(rows.len(), 9_513 * 6);
    let mut by_request: BTreeMap<String, BTreeMap<String, &Value>> = BTreeMap::new();
    for row in &rows {
        let request = format!("{}/{}", row["message_id"], row["request_id"]);
        let strategy = row["strategy"].as_str().expect("a name").to_owned();
        by_request.entry(request).or_default().insert(strategy, row);
    }
    for (request, rows) in by_request {
        let prompt = prompt_of(rows["billed"]);
        for (strategy, row) in &rows {
            assert_eq!(prompt_of(row), prompt, "{strategy} of {request}");
            assert_eq!(row["output_tokens"], rows["billed"]["output_tokens"]);
        }
        assert_eq!(count(rows["none"], "input_tokens"), prompt);
        let read = |strategy: &str| count(rows[strategy], "cache_read_input_tokens");
        assert!(read("1h") >= read("5m"), "a longer life reads less: {request}");
        assert!(read("mixed") >= read("5m"), "a longer life reads less: {request}");
    }
}

#[test]
fn the_rules_reproduce_the_record() {
    let Some(corpus) = transcripts("corpus") else { return };
    let corpus = corpus.to_str().expect("a plain path");
    let verification = json(&["verify", corpus, "-q", "--format", "json"]);
    let figure = |path: &str| verification.pointer(path).and_then(Value::as_f64).expect("a figure");
    assert!(figure("/all/within_1_percent_share") >= 0.99);
    assert!(figure("/without_large_misses/within_1_percent_share") >= 0.9955);
    assert!(figure("/without_large_misses/read_error") <= 0.0005);
    assert!(figure("/expiries/precision") >= 0.98);
    assert!(figure("/expiries/recall") >= 0.98);
    assert!((figure("/coverage/covered") - 1.0).abs() < f64::EPSILON);
    assert_eq!(verification["coverage"]["requests"], 9_513);
    assert_eq!(verification["conservation"]["violations"], 0);
    assert_eq!(verification["large_misses"], 52);
    let rules = verification["rules"].as_array().expect("a list");
    let sum = |name: &str| -> u64 { rules.iter().map(|rule| count(rule, name)).sum() };
    assert!(sum("agreeing") >= 15 && sum("against") == 0, "{rules:?}");
}

#[test]
fn the_rules_hold_for_newer_clients() {
    let Some(corpus) = transcripts("corpus-b") else { return };
    let corpus = corpus.to_str().expect("a plain path");
    let verification = json(&["verify", corpus, "-q", "--format", "json"]);
    let figure = |path: &str| verification.pointer(path).and_then(Value::as_f64).expect("a figure");
    assert!(figure("/all/within_1_percent_share") >= 0.992);
    assert!(figure("/without_large_misses/within_1_percent_share") >= 0.996);
    assert!(figure("/without_large_misses/read_error") <= 0.0005);
    assert!(figure("/expiries/precision") >= 0.98 && figure("/expiries/recall") >= 0.98);
    let rules = verification["rules"].as_array().expect("a list");
    // One request that was interrupted after four seconds had written nothing.
    let is_told = |rule: &&Value| rule["rule"] != "interrupted_request";
    let told: Vec<&Value> = rules.iter().filter(is_told).collect();
    let sum = |name: &str| -> u64 { told.iter().map(|rule| count(rule, name)).sum() };
    assert!(sum("agreeing") >= 29 && sum("against") == 0, "{rules:?}");
}

#[test]
fn threads_change_nothing() {
    let Some(corpus) = transcripts("corpus") else { return };
    let corpus = corpus.to_str().expect("a plain path");
    for format in ["jsonl", "json", "table"] {
        let with =
            |jobs: &str| run(&["analyze", corpus, "-q", "--format", format, "--jobs", jobs]).stdout;
        let one = with("1");
        assert!(!one.is_empty());
        assert_eq!(one, with("2"), "{format}");
        assert_eq!(one, with("8"), "{format}");
    }
}

#[test]
fn no_path_and_no_clock_is_in_a_report() {
    let Some(corpus) = transcripts("corpus") else { return };
    let path = corpus.to_str().expect("a plain path");
    for format in ["json", "jsonl", "csv", "table", "markdown"] {
        let output = run(&["analyze", path, "-q", "--format", format]);
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(!text.contains(path), "{format}");
        assert!(!text.contains(env!("CARGO_MANIFEST_DIR")), "{format}");
        assert!(!text.contains('\u{1b}'), "{format}");
    }
}
