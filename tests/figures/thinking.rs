//! Thinking after another prefix than its own: which requests are refused or lose it, by model and by what they
//! ask for, and what what-ifs say of it.

use std::fs;

use serde_json::{Value, json};

use crate::common::stdout;

const SYSTEM: &str = "Keep the build green.";

fn user(text: &str) -> Value {
    json!({"role": "user", "content": [{"type": "text", "text": text}]})
}

fn answer(text: &str) -> Value {
    let thinking =
        json!({"type": "thinking", "thinking": "", "signature": format!("signed {text}")});
    json!({"role": "assistant", "content": [thinking, {"type": "text", "text": text}]})
}

fn tool(description: &str) -> Value {
    json!({"name": "read", "description": description, "input_schema": {"type": "object"}})
}

/// A request of one conversation.
fn body(model: &str, system: &str, messages: &[Value]) -> Value {
    let marked = json!({"type": "text", "text": system, "cache_control": {"type": "ephemeral"}});
    json!({"model": model, "tools": [tool("Reads.")], "system": [marked], "messages": messages})
}

/// The first turn, and the second one that keeps its thinking.
fn turns() -> [Vec<Value>; 2] {
    let first = vec![user("One.")];
    let second = vec![user("One."), answer("First."), user("Two.")];
    [first, second]
}

/// What `lint` says of thinking in two requests: rule, severity, place, words.
fn found(bodies: &[Value; 2], usage: Option<&Value>) -> Vec<(String, String, String, String)> {
    let record = |(number, body): (usize, &Value)| {
        let mut record = json!({
            "timestamp": format!("2026-11-20T10:00:{:02}.000Z", number * 10),
            "request_id": format!("r{number}"),
            "request": body,
        });
        if let Some(usage) = usage {
            record["usage"] = usage.clone();
        }
        record.to_string()
    };
    let lines: Vec<String> = bodies.iter().enumerate().map(record).collect();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("capture.jsonl");
    fs::write(&path, lines.join("\n")).expect("a file");
    let path = path.to_str().expect("plain");
    let report = stdout(&["lint", path, "-q", "--format", "json"]);
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let findings = report["findings"].as_array().expect("findings").iter();
    let of_thinking = findings
        .filter(|one| one["rule"].as_str().is_some_and(|rule| rule.starts_with("thinking-")));
    of_thinking
        .map(|one| {
            (text(&one["rule"]), text(&one["severity"]), text(&one["place"]), text(&one["detail"]))
        })
        .collect()
}

#[track_caller]
fn assert_found(bodies: &[Value; 2], usage: Option<&Value>, expected: Option<(&str, &str, &str)>) {
    let found = found(bodies, usage);
    let rules: Vec<(&str, &str, &str)> = found
        .iter()
        .map(|(rule, severity, place, _)| (rule.as_str(), severity.as_str(), place.as_str()))
        .collect();
    assert_eq!(rules, expected.into_iter().collect::<Vec<_>>(), "{found:?}");
}

const REFUSED: Option<(&str, &str, &str)> =
    Some(("thinking-refused", "error", "messages[1].content[0]"));
const DROPPED: Option<(&str, &str, &str)> =
    Some(("thinking-dropped", "warning", "messages[1].content[0]"));

#[test]
fn a_prefix_that_only_grows_is_its_own() {
    for model in ["claude-fable-5-2", "claude-opus-5-5"] {
        let [first, second] = turns();
        let bodies = [body(model, SYSTEM, &first), body(model, SYSTEM, &second)];
        assert_found(&bodies, None, None);
    }
}

#[test]
fn models_check_what_stands_in_front_of_thinking() {
    for (model, expected) in [
        ("claude-fable-5-2", REFUSED),
        ("us.anthropic.claude-fable-5-2-v1:0", REFUSED),
        ("claude-fable-5-1", REFUSED),
        ("claude-mythos-5-2", DROPPED),
        ("claude-opus-5-5", DROPPED),
        ("claude-sonnet-5-5", DROPPED),
        ("claude-haiku-5-5", DROPPED),
        ("claude-opus-5", None),
        ("claude-fable-5", None),
    ] {
        let [first, second] = turns();
        let changed = "Keep the build green, always.";
        let bodies = [body(model, SYSTEM, &first), body(model, changed, &second)];
        assert_found(&bodies, None, expected);
    }
}

#[test]
fn a_request_may_say_what_it_wants() {
    for (model, behavior, expected) in [
        ("claude-fable-5-2", "drop_block", DROPPED),
        ("claude-opus-5-5", "error", REFUSED),
        ("claude-opus-5-5", "drop_block", DROPPED),
    ] {
        let [first, second] = turns();
        let mut bodies = [body(model, SYSTEM, &first), body(model, "Another one.", &second)];
        for body in &mut bodies {
            body["thinking"] = json!({
                "type": "adaptive",
                "block_binding": {"prefix_mismatch_behavior": behavior},
            });
        }
        assert_found(&bodies, None, expected);
    }
}

#[test]
fn tools_and_messages_count_and_other_thinking_and_settings_do_not() {
    let model = "claude-fable-5-2";
    let [first, second] = turns();
    let before = body(model, SYSTEM, &first);
    let mut tools = body(model, SYSTEM, &second);
    tools["tools"] = json!([tool("Reads a file.")]);
    assert_found(&[before.clone(), tools], None, REFUSED);
    let mut more = body(model, SYSTEM, &second);
    more["tools"] = json!([tool("Reads."), tool("Reads again.")]);
    assert_found(&[before.clone(), more], None, REFUSED);
    let mut effort = body(model, SYSTEM, &second);
    effort["output_config"] = json!({"effort": "high"});
    assert_found(&[before, effort], None, None);

    // What changes between two answers invalidates the later one's thinking.
    let long = [user("One."), answer("First."), user("Two."), answer("Second."), user("Three.")];
    let edited = [user("One."), answer("First."), user("TWO."), answer("Second."), user("Three.")];
    let bodies = |after: &[Value]| [body(model, SYSTEM, &second), body(model, SYSTEM, after)];
    assert_found(&bodies(&long), None, None);
    let later = Some(("thinking-refused", "error", "messages[3].content[0]"));
    assert_found(&bodies(&edited), None, later);
    // Without the thinking of earlier turns nothing is left to check.
    let mut without = edited.clone();
    for answer in [1, 3] {
        without[answer]["content"].as_array_mut().expect("blocks").remove(0);
    }
    assert_found(&bodies(&without), None, None);
    // Going back takes nothing out in front of what stays.
    let back = [user("One."), answer("First."), user("Another way.")];
    assert_found(&[body(model, SYSTEM, &long), body(model, SYSTEM, &back)], None, None);
}

#[test]
fn what_was_answered_was_not_refused() {
    let usage = json!({
        "input_tokens": 900, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "output_tokens": 5,
    });
    for (model, expected) in
        [("claude-fable-5-2", None), ("claude-fable-5-1", DROPPED), ("claude-opus-5-5", DROPPED)]
    {
        let [first, second] = turns();
        let bodies = [body(model, SYSTEM, &first), body(model, "Another one.", &second)];
        assert_found(&bodies, Some(&usage), expected);
    }
}

#[test]
fn the_words_name_the_change_and_the_remedy() {
    let [first, second] = turns();
    let model = "claude-fable-5-2";
    let bodies = [body(model, SYSTEM, &first), body(model, "Another one.", &second)];
    let found = found(&bodies, None);
    assert_eq!(found[0].3, "system[0] in front of it differs; the service refuses that");
    let explained = stdout(&["lint", "--explain", "thinking-refused"]);
    for word in ["Append", "summarise", "leave out the thinking", "drop_block"] {
        assert!(explained.contains(word), "{word}: {explained}");
    }
}

/// Eight results, and an hour and ten minutes before the last one comes in: old ones are cleared then.
fn idle_session(model: &str, thinks: bool) -> String {
    let mut lines: Vec<Value> = Vec::new();
    let mut add = |second: i64, kind: &str, request: Option<String>, message: Value| {
        let number = lines.len() + 1;
        let id = |number: usize| format!("00000000-0000-4000-8000-{number:012}");
        let at = jiff::Timestamp::from_second(1_795_168_800 + second).expect("a time");
        let mut line = json!({
            "parentUuid": (number > 1).then(|| id(number - 1)), "isSidechain": false, "cwd": "/w",
            "sessionId": "s", "version": "2.1.219", "type": kind, "uuid": id(number),
            "timestamp": format!("{at:.3}"), "message": message,
        });
        if let Some(request) = request {
            line["requestId"] = request.into();
        }
        lines.push(line);
    };
    add(0, "user", None, json!({"role": "user", "content": "Please do the next step."}));
    for turn in 0..9_i64 {
        let begun = turn * 10 + if turn == 8 { 4_200 } else { 0 };
        let read = if turn == 8 { 12_000 } else { 12_000 + turn * 5_000 };
        let written = if turn == 8 { 45_000 } else { 5_000 };
        let call =
            json!({"type": "tool_use", "id": format!("t{turn}"), "name": "Bash", "input": {}});
        let thinking = json!({"type": "thinking", "thinking": "", "signature": "signed"});
        let content = if thinks { json!([thinking, call]) } else { json!([call]) };
        let usage = json!({
            "input_tokens": 2, "cache_read_input_tokens": read, "output_tokens": 50,
            "cache_creation_input_tokens": written,
            "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": written},
        });
        let message = json!({
            "id": format!("m{turn}"), "type": "message", "role": "assistant", "model": model,
            "content": content, "stop_reason": "tool_use", "usage": usage,
        });
        add(begun + 3, "assistant", Some(format!("r{turn}")), message);
        let after = if turn == 7 { 4_279 } else { begun + 5 };
        let result = json!({"tool_use_id": format!("t{turn}"), "type": "tool_result", "content": "x".repeat(15_000)});
        add(after, "user", None, json!({"role": "user", "content": [result]}));
    }
    lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn what_ifs_that_rewrite_history_say_that_they_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("session.jsonl");
    for (model, thinks, expected) in
        [("claude-opus-5-5", true, 1), ("claude-opus-5-5", false, 0), ("claude-opus-5", true, 0)]
    {
        fs::write(&path, idle_session(model, thinks)).expect("a file");
        let path = path.to_str().expect("plain");
        let all = ["analyze", path, "-q", "--json", "--strategy", "billed,microcompact-60m"];
        let report: Value = serde_json::from_str(&stdout(&all)).expect("JSON");
        let managed = &report["context_management"][0];
        let steps = (&managed["events"], &managed["rewritten_before_thinking"]);
        assert_eq!(steps, (&json!(1), &json!(expected)), "{model} {thinks}");
        let shown = stdout(&["compare", path, "-q", "--strategy", "billed,microcompact-60m"]);
        let words: Vec<&str> = shown.split_whitespace().collect();
        let says = words.join(" ").contains("thinking of kept turns would have to go");
        assert_eq!(says, expected > 0, "{shown}");
    }
}
