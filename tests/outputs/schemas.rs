//! The schemas of the machine formats: those in `schemas/` are current, and every machine output
//! follows its own, to the field.

mod documents;
mod inputs;
mod sarif;

use std::collections::BTreeSet;
use std::fs;

use documents::{WITHOUT_INPUT, all_documents, commands, documents};
use jsonschema::{Draft, Validator};
use serde_json::{Value, json};

use crate::common::{files, is_thorough, project, run, stdout, text};

const OUTPUTS: [&str; 27] = [
    "report",
    "advice",
    "change",
    "groups",
    "explain",
    "check",
    "config-show",
    "ledger",
    "breaks",
    "break",
    "domain",
    "domain-result",
    "part",
    "run",
    "compare",
    "compare-line",
    "context",
    "blocks",
    "verify",
    "lint",
    "tokens",
    "fork",
    "prices",
    "prices-update",
    "redact-explain",
    "sources",
    "event",
];

const INPUTS: [&str; 4] = ["config", "strategy", "capture", "bundle"];

/// Fields that may be left out.
const OPTIONAL: [&str; 15] = [
    "added_requests",
    "chosen",
    "context_management",
    "counts",
    "domain",
    "invalid_requests",
    "later_requests",
    "requests_without_output",
    "requests_without_usage",
    "rollouts",
    "row",
    "text",
    "unknowns",
    "unpriced_requests",
    "unrecorded_requests",
];

/// Fields that may be left out of one format, and are there in others or at other places.
const OPTIONAL_IN: [(&str, &str); 26] = [
    ("blocks", "unpriced"),
    ("report", "damage"),
    ("report", "options"),
    ("groups", "unpriced_breaks"),
    ("check", "fields"),
    ("check", "files"),
    ("check", "first_difference"),
    ("check", "left_out"),
    ("check", "message"),
    ("check", "model"),
    ("check", "project"),
    ("check", "request"),
    ("check", "tool"),
    ("report", "block"),
    ("report", "blocks"),
    ("report", "break"),
    ("report", "fields"),
    ("compare", "obstacles"),
    ("compare-line", "obstacles"),
    ("report", "applicability"),
    ("report", "front"),
    ("report", "lint"),
    ("report", "markers"),
    ("report", "name"),
    ("report", "project"),
    ("report", "tokens"),
];

fn is_optional(format: &str, place: &str, name: &str) -> bool {
    let is_selected_by = place.ends_with("/selector");
    let is_of_baseline = (format, name) == ("report", "turns");
    is_selected_by
        || is_of_baseline
        || OPTIONAL.contains(&name)
        || OPTIONAL_IN.contains(&(format, name))
}

fn schema(name: &str) -> Value {
    serde_json::from_str(&stdout(&["schema", name])).expect("JSON")
}

fn validator(schema: &Value) -> Validator {
    let options = jsonschema::options().with_draft(Draft::Draft202012);
    options.should_validate_formats(true).build(schema).expect("a schema")
}

/// The schema, with no field allowed that it does not name.
fn closed(schema: Value) -> Value {
    match schema {
        Value::Object(object) => {
            let close = |(key, value): (String, Value)| {
                // These keys are names of fields, not words of a schema.
                let closed = match value {
                    Value::Object(fields) if key == "properties" => {
                        fields.into_iter().map(|(name, field)| (name, closed(field))).collect()
                    }
                    value => closed(value),
                };
                (key, closed)
            };
            let mut object: serde_json::Map<String, Value> =
                object.into_iter().map(close).collect();
            if object.contains_key("properties") {
                object.entry("additionalProperties").or_insert(json!(false));
            }
            Value::Object(object)
        }
        Value::Array(list) => Value::Array(list.into_iter().map(closed).collect()),
        other => other,
    }
}

fn assert_valid(validator: &Validator, document: &Value, context: &str) {
    let errors: Vec<String> = validator
        .iter_errors(document)
        .map(|error| format!("{} at {}", error, error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{context}: {errors:#?}");
}

/// The names of all fields of a document.
fn fields(document: &Value, names: &mut BTreeSet<String>) {
    match document {
        Value::Object(object) => {
            for (name, value) in object {
                names.insert(name.clone());
                fields(value, names);
            }
        }
        Value::Array(list) => list.iter().for_each(|value| fields(value, names)),
        _ => {}
    }
}

/// The names of all fields that a schema has.
fn named(schema: &Value, names: &mut BTreeSet<String>) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::Object(properties)) = object.get("properties") {
                names.extend(properties.keys().cloned());
            }
            object.values().for_each(|value| named(value, names));
        }
        Value::Array(list) => list.iter().for_each(|value| named(value, names)),
        _ => {}
    }
}

#[test]
fn every_output_follows_its_schema_to_the_field() {
    if !is_thorough() {
        return;
    }
    let all = all_documents();
    assert!(all.keys().copied().eq(BTreeSet::from(OUTPUTS)));
    for (name, documents) in &all {
        let schema = schema(name);
        let (open, closed) = (validator(&schema), validator(&closed(schema.clone())));
        let mut seen = BTreeSet::new();
        for (command, document) in documents {
            assert_valid(&open, document, command);
            assert_valid(&closed, document, command);
            fields(document, &mut seen);
        }
        // What a schema has and no output shows would be a promise that nothing keeps.
        let mut promised = BTreeSet::new();
        named(&schema, &mut promised);
        let unseen: Vec<&String> = promised.difference(&seen).collect();
        assert!(unseen.is_empty(), "{name}: {unseen:?} in none of {} documents", documents.len());
        println!("{name}: {} documents, {} fields", documents.len(), promised.len());
    }
}

/// Whether the keys of an object are data, not fields.
fn has_free_keys(format: &str, name: &str) -> bool {
    let by_name = name.starts_with("by_") && !(format == "breaks" && name == "by_cause");
    by_name
        || ["skipped", "fields"].contains(&name)
        || (format == "report" && ["totals", "live"].contains(&name))
        || (format == "groups" && name == "totals")
}

/// Every way to take out a required field, and to write a number for a text and a text for a number.
fn damaged(format: &str, document: &Value) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    let mut places = vec![(String::new(), false)];
    while let Some((place, is_free)) = places.pop() {
        let value = document.pointer(&place).expect("a place");
        match value {
            // It has the schema of its own command.
            Value::Object(_) if format == "domain-result" && place == "/result" => {}
            Value::Object(object) => {
                for name in object.keys() {
                    let below = format!("{place}/{}", name.replace('~', "~0").replace('/', "~1"));
                    if !is_free && !is_optional(format, &place, name) {
                        let mut other = document.clone();
                        let parent = other.pointer_mut(&place).and_then(Value::as_object_mut);
                        parent.expect("an object").remove(name);
                        found.push((format!("without {below}"), other));
                    }
                    // The totals of a model in a report are again by strategy.
                    let is_model = is_free && format == "report" && place == "/by_model";
                    places.push((below, (!is_free && has_free_keys(format, name)) || is_model));
                }
            }
            Value::Array(list) => {
                places.extend((0..list.len()).map(|index| (format!("{place}/{index}"), false)));
            }
            // The value of an option may be anything, and that of a setting a text or a number.
            _ if format == "config-show" && place.contains("/value") => {}
            _ if place.contains("/settings/") && place.ends_with("/value") => {}
            Value::String(_) | Value::Number(_) => {
                let mut other = document.clone();
                let wrong = if value.is_string() { json!(7) } else { json!("seven") };
                *other.pointer_mut(&place).expect("a place") = wrong;
                found.push((format!("another type at {place}"), other));
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
    found
}

#[test]
fn a_damaged_document_is_refused() {
    if !is_thorough() {
        return;
    }
    let look = project("fixtures/first-look");
    let clock = project("fixtures/captured-clock");
    let (look, clock) = (look.to_str().expect("plain"), clock.to_str().expect("plain"));
    let inputs = commands().into_iter().map(|(name, arguments)| {
        let path = if name == "lint" { clock } else { look };
        (name, [arguments.as_slice(), &["-q", path]].concat())
    });
    let others = WITHOUT_INPUT.map(|(name, arguments)| (name, arguments.to_vec()));
    let mut count = 0;
    for (name, arguments) in inputs.chain(others).filter(|(_, all)| !all.contains(&"list")) {
        let validator = validator(&schema(name));
        for document in documents(&arguments).iter().take(2) {
            assert_valid(&validator, document, name);
            for (what, other) in damaged(name, document) {
                assert!(!validator.is_valid(&other), "{name} {what}");
                count += 1;
            }
        }
    }
    assert!(count > 2_000, "{count}");
}

#[test]
fn words_and_amounts_are_those_of_the_contract() {
    let row = documents(&[
        "analyze",
        "-q",
        "--format",
        "jsonl",
        project("fixtures/first-look").to_str().expect("plain"),
    ])
    .swap_remove(0);
    let ledger = validator(&schema("ledger"));
    let with = |field: &str, value: Value| {
        let mut row = row.clone();
        row[field] = value;
        row
    };
    for amount in ["0", "0.0269775", "12", "-1.5", "0.000000000001", "-0.1", "100", "10.01"] {
        assert!(ledger.is_valid(&with("cost_usd", json!(amount))), "{amount}");
    }
    let wrong =
        ["", "-", "-0", "1e3", "01", "1.", ".5", "1.50", "0.0", "+1", "0.0000000000001", "1 "];
    for amount in wrong {
        assert!(!ledger.is_valid(&with("cost_usd", json!(amount))), "{amount}");
    }
    for (field, good, bad) in [
        ("basis", json!("derived"), json!("guessed")),
        ("invalid", json!("ttl_order"), json!("ttl-order")),
        ("timestamp", json!("2026-07-28T10:00:02.900Z"), json!("yesterday")),
        ("input_tokens", json!(0), json!(-1)),
        ("input_tokens", json!(7), json!(1.5)),
        ("agent_id", Value::Null, json!(1)),
        ("schema", json!("cachesim.ledger/v1"), json!("cachesim.ledger/v2")),
    ] {
        assert!(ledger.is_valid(&with(field, good.clone())), "{field} {good}");
        assert!(!ledger.is_valid(&with(field, bad.clone())), "{field} {bad}");
    }
    // Every cause and class of the contract, and those that were measured since.
    let causes = "ttl_expired_5m ttl_expired_1h idle_too_long model_changed effort_changed fast_mode_changed \
        tools_changed system_prompt_changed messages_rewritten hook_context_moved rewound image_changed \
        thinking_changed thinking_cleared permission_mode_changed tool_choice_changed betas_changed scope_changed ttl_tier_changed \
        auto_mode_changed overage_changed cached_microcompaction_changed extra_body_changed \
        compaction microcompaction resumed client_version_changed thinking_stripped below_minimum \
        lookback_exceeded write_not_visible likely_server_side own_cache unknown";
    let classes = "fell_to_zero fell_to_shared_prefix one_step_behind partial";
    let schema = schema("break");
    for (name, words) in [("Cause", causes), ("Class", classes)] {
        let listed = schema["$defs"][name]["oneOf"].as_array().expect("words").iter();
        let listed: Vec<&str> = listed.map(|word| word["const"].as_str().expect("text")).collect();
        assert_eq!(listed, words.split_whitespace().collect::<Vec<_>>());
    }
}

#[test]
fn the_files_are_current() {
    let refresh = "refresh with: CACHESIM_WRITE=schemas cargo test schemas::";
    let folder = project("schemas");
    let mut names = BTreeSet::new();
    for name in OUTPUTS.into_iter().chain(INPUTS) {
        let file = format!("{name}.schema.json");
        let kept = fs::read_to_string(folder.join(&file)).unwrap_or_default();
        assert!(kept == stdout(&["schema", name]), "schemas/{file} is out of date; {refresh}");
        names.insert(file);
    }
    let kept: BTreeSet<String> = files(&folder, "")
        .iter()
        .map(|path| path.file_name().and_then(|name| name.to_str()).expect("plain").to_owned())
        .collect();
    assert_eq!(kept, names, "{refresh}");
}

/// What is written into `schema` anywhere has a schema.
#[test]
fn no_format_is_forgotten() {
    let list = stdout(&["schema"]);
    for name in OUTPUTS.into_iter().chain(INPUTS) {
        assert!(list.lines().any(|line| line.split_whitespace().next() == Some(name)), "{name}");
    }
    let described: BTreeSet<String> = OUTPUTS
        .iter()
        .map(|name| {
            schema(name)["properties"]["schema"]["const"].as_str().expect("text").to_owned()
        })
        .collect();
    let mut written = BTreeSet::new();
    for path in files(project("src/report"), "") {
        let code = fs::read_to_string(&path).expect("code");
        let tags = code.lines().filter_map(|line| line.split_once("SCHEMA: &str = \"cachesim."));
        written.extend(tags.map(|(_, tag)| format!("cachesim.{}", tag.trim_end_matches("\";"))));
    }
    assert_eq!(described, written);
}

#[test]
fn all_schemas_go_into_a_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().join("new/schemas");
    stdout(&["schema", "--all", folder.to_str().expect("plain")]);
    assert_eq!(files(&folder, "").len(), OUTPUTS.len() + INPUTS.len());
    for path in files(&folder, "") {
        let schema: Value =
            serde_json::from_str(&fs::read_to_string(&path).expect("a schema")).expect("JSON");
        jsonschema::meta::validate(&schema).expect("a schema of the draft");
    }
    let in_the_way = folder.join("report.schema.json");
    let output = run(&["schema", "--all", in_the_way.to_str().expect("plain")]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn an_unknown_format_is_a_usage_error_that_names_the_nearest() {
    let output = run(&["schema", "ladger"]);
    assert_eq!(output.status.code(), Some(2));
    let error = text(&output.stderr);
    assert!(error.contains("did you mean `ledger`"), "{error}");
    assert_eq!(run(&["schema", "ledger", "--all", "x"]).status.code(), Some(2));
}
