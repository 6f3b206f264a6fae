//! The rules on exact cases: captures with the usage that the rules give.

use serde_json::Value;

use crate::common::{files, ledger, project};

const FIGURES: [&str; 4] = [
    "input_tokens",
    "cache_read_input_tokens",
    "ephemeral_5m_input_tokens",
    "ephemeral_1h_input_tokens",
];

/// What a case expects of a request, and what a row says of it.
fn outcome(value: &Value) -> (Option<&str>, Vec<u64>) {
    match value["invalid"].as_str() {
        Some(refusal) => (Some(refusal), Vec::new()),
        None => (None, FIGURES.iter().filter_map(|name| value[name].as_u64()).collect()),
    }
}

#[test]
fn every_case_is_equal() {
    let scratch = tempfile::tempdir().expect("a folder");
    let mut cases = 0;
    for path in files(project("tests/figures/conformance"), ".json") {
        let text = std::fs::read_to_string(&path).expect("a case");
        let case: Case<'_> = serde_json::from_str(&text).expect("a case");
        // The requests as they are written: the order of their keys counts.
        let lines: Vec<String> =
            case.requests.iter().map(|request| request.get().replace('\n', " ")).collect();
        let capture = scratch.path().join("capture.jsonl");
        std::fs::write(&capture, lines.join("\n")).expect("a file");
        let rows = ledger(&capture, &["--tokens", "bytes:1", "--strategy", "replay"]);
        assert_eq!(rows.len(), case.expect.len(), "{}", case.name);
        for (request, expected) in case.requests.iter().zip(&case.expect) {
            let request: Value = serde_json::from_str(request.get()).expect("a record");
            let row = rows
                .iter()
                .find(|row| row["request_id"] == request["request_id"])
                .expect("every request has a row");
            assert_eq!(outcome(row), outcome(expected), "{} {}", case.name, row["request_id"]);
        }
        cases += 1;
    }
    assert_eq!(cases, 63);
}

#[derive(serde::Deserialize)]
struct Case<'a> {
    name: &'a str,
    #[serde(borrow)]
    requests: Vec<&'a serde_json::value::RawValue>,
    expect: Vec<Value>,
}
