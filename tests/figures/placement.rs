//! The harness on bundles whose requests are known.

use std::fs;

use cachesim::read::harness::{Harness, Placed};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::common::{files, fixtures, project};

/// Bundle records, and what each becomes: a request, or an object with an `error`.
#[derive(Deserialize)]
struct Case {
    name: String,
    records: Vec<Box<RawValue>>,
    expect: Vec<Box<RawValue>>,
}

fn value(json: &str) -> Value {
    serde_json::from_str(json).expect("JSON")
}

/// The markers in their order, each as it is written but for white space.
fn markers(json: &str) -> Vec<String> {
    json.split("\"cache_control\":")
        .skip(1)
        .map(|marker| marker.split_inclusive('}').next().unwrap_or_default())
        .map(|marker| marker.split_whitespace().collect())
        .collect()
}

fn check_request(placed: &str, bundle: &Value, expected: &RawValue, context: &str) {
    let capture = value(placed);
    assert_eq!(capture["request"], value(expected.get()), "{context}");
    assert_eq!(markers(placed), markers(expected.get()), "markers of {context}");
    for key in ["timestamp", "request_id", "session_id"] {
        assert_eq!(capture[key], bundle[key], "{key} of {context}");
    }
}

#[test]
fn every_case_gives_its_requests() {
    let cases = files(project("tests/figures/placement"), ".json");
    assert_eq!(cases.len(), 31);
    for path in cases {
        let text = fs::read_to_string(&path).expect("a case");
        check_case(&serde_json::from_str(&text).expect("a case"));
    }
}

fn check_case(case: &Case) {
    assert_eq!(case.records.len(), case.expect.len(), "{}", case.name);
    let mut harness = Harness::new();
    for (record, expected) in case.records.iter().zip(&case.expect) {
        let bundle = value(record.get());
        let context = format!("{} in {}", bundle["request_id"], case.name);
        let placed = harness.place(record.get()).expect(&context);
        assert!(!placed.text().contains('\n'), "{context}");
        match &placed {
            Placed::Request(text, _) => check_request(text, &bundle, expected, &context),
            Placed::Refused(text) => {
                let mut refusal = value(expected.get());
                refusal["request_id"] = bundle["request_id"].clone();
                assert_eq!(value(text), refusal, "{context}");
            }
        }
    }
}

/// Bundles of the project, a line each, with the requests they become beside them.
#[test]
fn every_fixture_gives_its_requests() {
    let mut cases = 0;
    for folder in fixtures() {
        let Ok(expect) = fs::read_to_string(folder.join("requests.json")) else { continue };
        let bundles = fs::read_to_string(folder.join("session.jsonl")).expect("bundles");
        let bundles = bundles.lines().map(|line| serde_json::from_str(line).expect("a bundle"));
        check_case(&Case {
            name: folder.display().to_string(),
            records: bundles.collect(),
            expect: serde_json::from_str(&expect).expect("requests"),
        });
        cases += 1;
    }
    assert!(cases >= 6, "{cases} fixtures");
}
