//! Random capture files: what the program says about each request of them is what the naive rules
//! say.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::Value;

use crate::capture_file::{capture_file, random_file};
use crate::common::{is_thorough, ledger};
use crate::naive::{Expected, explain, simulate};

/// What the program says about each request of a file.
fn told(lines: &[String], bytes_per_token: u64) -> BTreeMap<String, Expected> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("capture.jsonl");
    std::fs::write(&path, lines.join("\n") + "\n").expect("a file");
    let tokens = format!("bytes:{bytes_per_token}");
    let rows = ledger(&path, &["--tokens", &tokens, "--strategy", "replay"]);
    rows.iter().map(|row| (id_of(row), Expected::of(row))).collect()
}

/// What the naive rules say about each request of a file.
fn worked_out(lines: &[String], bytes_per_token: u64) -> BTreeMap<String, Expected> {
    let ids = lines.iter().map(|line| id_of(&serde_json::from_str(line).expect("a record")));
    ids.zip(simulate(lines, bytes_per_token)).collect()
}

/// The requests about which the two do not agree.
fn disagreements(lines: &[String], bytes_per_token: u64) -> Vec<String> {
    let mut told = told(lines, bytes_per_token);
    let mut disagreements = Vec::new();
    for (id, expected) in worked_out(lines, bytes_per_token) {
        let told = told.remove(&id);
        if told.as_ref() != Some(&expected) {
            disagreements.push(format!("{id}: {told:?}, by the rules {expected:?}"));
        }
    }
    disagreements.extend(told.keys().map(|id| format!("{id}: not a request of the file")));
    disagreements
}

fn id_of(value: &Value) -> String {
    value["request_id"].as_str().expect("the id of a request").to_owned()
}

/// More where `TEST_CAPTURE_CASES` says so: some rules seldom make a difference.
fn cases(usual: u32) -> u32 {
    let asked = std::env::var("TEST_CAPTURE_CASES").ok();
    asked.map_or(usual, |asked| asked.parse().expect("a number of cases"))
}

/// Enough patience for a failing file to become small.
fn config(usual: u32) -> ProptestConfig {
    ProptestConfig { cases: cases(usual), max_shrink_iters: 4_000, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config(64))]

    #[test]
    fn captures_are_replayed_by_the_rules(lines in capture_file(30)) {
        prop_assert_eq!(disagreements(&lines, 1), Vec::<String>::new());
    }
}

proptest! {
    #![proptest_config(config(16))]

    #[test]
    fn tokens_of_several_bytes_are_counted_a_block(
        lines in capture_file(20),
        bytes_per_token in 2_u64..6,
    ) {
        prop_assert_eq!(disagreements(&lines, bytes_per_token), Vec::<String>::new());
    }
}

/// How often each thing happens in random files of up to 30 requests.
fn statistics(files: u32) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for seed in 0..files {
        for answer in explain(&random_file(seed.into(), 30), 1) {
            *counts.entry("request").or_insert(0) += 1;
            for happening in answer.happenings {
                *counts.entry(happening).or_insert(0) += 1;
            }
        }
    }
    counts
}

/// Otherwise the comparison would say little.
#[test]
fn everything_happens_in_random_files() {
    if !is_thorough() {
        return;
    }
    let files = cases(200).max(200);
    let counts = statistics(files);
    println!("{counts:#?}");
    let all = [
        "read",
        "read: up to a global entry",
        "read: up to an entry of the scope",
        "refreshed below the read",
        "written",
        "stored free of charge",
        "merged with a sibling",
        "merged with a sibling of another TTL",
        "merged with a sibling below the read",
        "marker under the minimum",
        "missed: expired",
        "missed: not readable yet",
        "missed: out of reach",
        "missed: of another scope",
        "ttl_conflict",
        "too_many_breakpoints",
        "ttl_order",
        "unmarkable_block",
    ];
    for name in all {
        assert!(counts.get(name).is_some_and(|count| *count >= 10), "{name} in {files} files");
    }
}
