//! The schemas of what is read: captures and bundles.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{assert_valid, schema, validator};
use crate::common::{files, project, shared, stdout};

/// The records of a file that are captures of the Messages API or bundles.
fn records(path: &Path) -> Vec<(&'static str, Value)> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let records = text.lines().filter_map(|line| serde_json::from_str(line).ok());
    let named = |record: Value| {
        let request = &record["request"];
        let has_model = request["model"].is_string() || request["anthropic_version"].is_string();
        let is_capture = has_model && request["messages"].is_array();
        let is_bundle = record["prompt"]["messages"].is_array();
        let name = if is_capture { Some("capture") } else { is_bundle.then_some("bundle") };
        Some((name?, record))
    };
    records.filter_map(named).collect()
}

#[test]
fn inputs_follow_their_schemas() {
    let validators = ["capture", "bundle"].map(|name| (name, validator(&schema(name))));
    let validators = BTreeMap::from(validators);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut check = |name: &'static str, record: &Value, path: &Path| {
        assert_valid(&validators[name], record, path.to_str().expect("plain"));
        *counts.entry(name).or_default() += 1;
    };
    let captures = shared("captures").map(|folder| files(folder, "")).unwrap_or_default();
    for path in files(project("fixtures"), "").into_iter().chain(captures) {
        for (name, record) in records(&path) {
            check(name, &record, &path);
        }
    }
    for (folder, list, name) in
        [("conformance", "requests", "capture"), ("placement", "records", "bundle")]
    {
        for path in files(project("tests/figures").join(folder), "") {
            let case = fs::read_to_string(&path).expect("a case");
            let Ok(case) = serde_json::from_str::<Value>(&case) else { continue };
            for record in case[list].as_array().into_iter().flatten() {
                // `place` refuses these, and so does the schema.
                let mut parts = record["prompt"]["system"].as_array().into_iter().flatten();
                if parts.any(|part| part["volatile"] == true && part["reason"].is_null()) {
                    assert!(!validators[name].is_valid(record), "{}", path.display());
                } else {
                    check(name, record, &path);
                }
            }
        }
    }
    println!("{counts:?}");
    assert!(counts["capture"] > 10 && counts["bundle"] > 2, "{counts:?}");
    let placed = stdout(&["place", project("fixtures/bundled-session").to_str().expect("plain")]);
    for line in placed.lines() {
        let record = serde_json::from_str(line).expect("a record");
        assert_valid(&validators["capture"], &record, "place");
    }
}

#[test]
fn damaged_inputs_are_refused() {
    let capture = json!({"timestamp": "2026-05-01T10:00:00Z",
        "request": {"model": "m", "messages": [{"role": "user", "content": "a"}]}});
    let bundle = json!({"timestamp": "2026-05-01T10:00:00Z", "prompt": {"model": "m",
        "system": [{"section": "a", "text": null}], "messages": []}});
    let cases = [
        ("capture", &capture, "/timestamp", json!("noon")),
        ("capture", &capture, "/request", json!({"model": "m"})),
        ("capture", &capture, "/request/model", json!(1)),
        ("capture", &capture, "/request/messages/0", json!("a")),
        ("capture", &capture, "/request/messages/0/content", json!([{"text": "a"}])),
        ("bundle", &bundle, "/prompt/system", json!("a")),
        ("bundle", &bundle, "/prompt/system/0", json!({"text": "a"})),
        (
            "bundle",
            &bundle,
            "/prompt/system/0",
            json!({"section": "a", "text": "b", "volatile": true}),
        ),
        ("bundle", &bundle, "/prompt/messages", Value::Null),
    ];
    for (name, good, place, bad) in cases {
        let validator = validator(&schema(name));
        assert_valid(&validator, good, name);
        let mut other = good.clone();
        other["unknown"] = json!({"field": 1});
        assert_valid(&validator, &other, name);
        *other.pointer_mut(place).expect("a place") = bad;
        assert!(!validator.is_valid(&other), "{name} {place}");
    }
}

/// What the program takes as a configuration, its schema takes, and the other way round as far as a
/// schema can say it.
#[test]
fn configurations_follow_their_schema() {
    let validator = validator(&schema("config"));
    let as_json = |text: &str| -> Value {
        serde_json::to_value(toml::from_str::<toml::Table>(text).expect("TOML")).expect("JSON")
    };
    let guide = fs::read_to_string(project("docs/configuration.md")).expect("the guide");
    let mut blocks = guide.split("```toml\n").skip(1);
    let sample = fs::read_to_string(project("docs/ci/sample/cachesim.toml")).expect("the sample");
    let shown = blocks.by_ref().map(|block| block.split("```").next().expect("an end").to_owned());
    let good: Vec<String> = shown.chain([sample]).collect();
    assert!(good.len() >= 3, "two examples and the sample");
    for text in &good {
        assert_valid(&validator, &as_json(text), text);
    }
    for bad in [
        "defaults.job = 2",
        "defaults.jobs = 'two'",
        "[[budget]]\nmetric = 'cost'",
        "[[budget]]\nmetric = 'cost'\nmax = '$1'\nmin = '$0'",
        "[[budget]]\nmetric = 'price'\nmax = '$1'",
        "[[budget]]\nmax = '$1'",
        "[[budget]]\nmetric = 'breaks'\nmax = 1\ncauses = ['bad_luck']",
        "schema = 'cachesim.config/v2'",
    ] {
        assert!(!validator.is_valid(&as_json(bad)), "{bad}");
    }
}
