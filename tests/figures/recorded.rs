//! Captures whose usage says what was done with them: markers without effect, lifetimes that were not granted, and
//! prompts that the service edits.

use std::fs;

use serde_json::{Value, json};

use crate::common::stdout;

/// Usage of a request: read, written for five minutes, written for an hour, sent in full.
type Usage = [u64; 4];

/// A conversation that grows by an answer and a question with each usage, 20 seconds apart.
fn document(command: &str, ttl: &str, more: &Value, usages: &[Usage]) -> Value {
    let text = |text: String| json!([{"type": "text", "text": text}]);
    let marker = json!({"type": "ephemeral", "ttl": ttl});
    let rules = "Keep every answer short and every name as it is. ".repeat(60);
    let mut messages = vec![json!({"role": "user", "content": text("Begin.".to_owned())})];
    let mut lines = Vec::new();
    for (number, [read, five, hour, input]) in usages.iter().enumerate() {
        let mut sent = messages.clone();
        sent.last_mut().expect("one")["content"][0]["cache_control"] = marker.clone();
        let mut request = json!({
            "model": "claude-opus-5", "max_tokens": 1024, "messages": sent,
            "system": [{"type": "text", "text": rules, "cache_control": marker}],
        });
        for (name, value) in more.as_object().expect("fields") {
            request[name] = value.clone();
        }
        let seconds = number * 20;
        let record = json!({
            "timestamp": format!("2026-11-10T10:{:02}:{:02}.000Z", seconds / 60, seconds % 60),
            "request_id": format!("r{number}"), "session_id": "s", "request": request,
            "usage": {
                "input_tokens": input, "cache_read_input_tokens": read, "output_tokens": 5,
                "cache_creation_input_tokens": five + hour,
                "cache_creation": {"ephemeral_5m_input_tokens": five, "ephemeral_1h_input_tokens": hour},
            },
        });
        lines.push(record.to_string());
        messages.push(json!({"role": "assistant", "content": text(format!("Done {number}."))}));
        messages.push(json!({"role": "user", "content": text(format!("Go on {number}."))}));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("capture.jsonl");
    fs::write(&path, lines.join("\n")).expect("written");
    let path = path.to_str().expect("plain");
    serde_json::from_str(&stdout(&[command, path, "-q", "--format", "json"])).expect("JSON")
}

/// Rule, requests and the beginning of the words of the findings about a record.
fn found(ttl: &str, usages: &[Usage]) -> Vec<(String, u64, String)> {
    let report = document("lint", ttl, &json!({}), usages);
    let text = |one: &Value, key: &str| one[key].as_str().expect("a text").to_owned();
    let told = |one: &Value| {
        let words = text(one, "detail").split(':').next().unwrap_or_default().to_owned();
        (text(one, "rule"), one["requests"].as_u64().expect("a number"), words)
    };
    report["findings"].as_array().expect("findings").iter().map(told).collect()
}

fn finding(rule: &str, requests: u64, words: &str) -> Vec<(String, u64, String)> {
    vec![(rule.to_owned(), requests, words.to_owned())]
}

#[test]
fn markers_that_never_take_effect_are_named() {
    let rule = "markers-without-effect";
    let words = "nothing written and nothing read in 3 of 3";
    let dropped = [[0, 0, 0, 700], [0, 0, 0, 715], [0, 0, 0, 730]];
    assert_eq!(found("5m", &dropped), finding(rule, 3, words));
    let words = "written in 3 of 3, read in none, with the same prefix";
    let elsewhere = [[0, 700, 0, 0], [0, 715, 0, 0], [0, 730, 0, 0]];
    assert_eq!(found("5m", &elsewhere), finding(rule, 3, words));
    // One read shows that markers arrive.
    assert_eq!(found("5m", &[[0, 700, 0, 0], [700, 15, 0, 0], [715, 15, 0, 0]]), []);
}

#[test]
fn a_lifetime_that_was_not_granted_is_named() {
    let rule = "ttl-not-granted";
    let none = [[0, 700, 0, 0], [700, 15, 0, 0], [715, 15, 0, 0]];
    let words = "asked for an hour, got five minutes in 3 of 3";
    assert_eq!(found("1h", &none), finding(rule, 3, words));
    let once = [[0, 0, 700, 0], [700, 15, 0, 0], [715, 0, 15, 0]];
    let words = "asked for an hour, got five minutes in 1 of 3";
    assert_eq!(found("1h", &once)[..1], finding(rule, 1, words)[..]);
    assert_eq!(found("1h", &[[0, 0, 700, 0], [700, 0, 15, 0], [715, 0, 15, 0]]), []);
}

/// Of 3,000 tokens 2,500 are left, of which 1,000 were read: 1,500 at $6.25 - $0.50 a million.
#[test]
fn what_the_service_edits_is_no_dropped_entry() {
    let usages = [[0, 3_000, 0, 0], [1_000, 1_500, 0, 0]];
    for (edit, cause) in [
        ("clear_tool_uses_20250919", "microcompaction"),
        ("clear_thinking_20251015", "thinking_stripped"),
        ("compact_20260112", "compaction"),
    ] {
        let asked = json!({"context_management": {"edits": [{"type": edit}]}});
        let report = document("breaks", "5m", &asked, &usages);
        let [only] = &report["by_cause"].as_array().expect("causes")[..] else {
            panic!("{report}")
        };
        assert_eq!((&only["cause"], &only["excess_usd"]), (&json!(cause), &json!("0.008625")));
        assert_eq!(report["totals"]["rewritten_tokens"], 1_500);
    }
    let report = document("breaks", "5m", &json!({}), &usages);
    assert_eq!(report["by_cause"][0]["cause"], "likely_server_side", "nothing was asked for");
}
