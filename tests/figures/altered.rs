//! Captures whose requests are altered on purpose: `lint`, `breaks` and `advise` name the alteration and its price.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::{cases, project, stdout};

/// A finding: rule, place, beginning of its words, tokens.
type Expected = (&'static str, &'static str, &'static str, u64);

fn document(command: &[&str], path: &Path) -> Value {
    let path = path.to_str().expect("plain");
    let all = [command, &[path, "-q", "--format", "json", "--tokens", "bytes:1"]].concat();
    serde_json::from_str(&stdout(&all)).expect("JSON")
}

fn findings(path: &Path) -> Vec<Value> {
    document(&["lint"], path)["findings"].as_array().expect("findings").clone()
}

/// The findings of a capture of a fixture are these, in the order of the requests.
fn assert_found(capture: &str, expected: &[Expected]) {
    let mut found = findings(&project(&format!("fixtures/{capture}.jsonl")));
    found.sort_by_key(|one| one["line"].as_u64());
    let text = |one: &Value, key: &str| one[key].as_str().expect("a string").to_owned();
    let told: Vec<(String, String, u64)> = found
        .iter()
        .map(|one| {
            (text(one, "rule"), text(one, "place"), one["tokens"].as_u64().expect("a number"))
        })
        .collect();
    let wanted: Vec<(String, String, u64)> = expected
        .iter()
        .map(|(rule, place, _, tokens)| ((*rule).to_owned(), (*place).to_owned(), *tokens))
        .collect();
    assert_eq!(told, wanted, "{capture}: {found:#?}");
    for (one, (_, _, words, _)) in found.iter().zip(expected) {
        assert!(text(one, "detail").starts_with(words), "{capture}: {}", one["detail"]);
    }
}

/// All that the request before had cached is lost but the first message: 863, then 1,726 bytes (with cut results 863,
/// then 863 + 419, with thinking 249 more, as the thinking of the last step was cached).
#[test]
fn altered_steps_are_named_with_their_reason() {
    let keys = "the same JSON in another key order";
    assert_found(
        "altered-steps/alk",
        &[
            ("key-order", "messages[1].content[1]", keys, 863),
            ("key-order", "messages[3].content[1]", keys, 1_726),
        ],
    );
    let cut = "cut from 600 to 156 characters";
    assert_found(
        "altered-steps/alc",
        &[
            ("history-rewritten", "messages[2].content[0]", cut, 863),
            ("history-rewritten", "messages[4].content[0]", cut, 1_282),
        ],
    );
    let removed = "thinking removed";
    assert_found(
        "altered-steps/alt",
        &[
            ("history-rewritten", "messages[1].content[0]", removed, 1_112),
            ("history-rewritten", "messages[3].content[0]", removed, 1_975),
        ],
    );
}

/// Each request loses the messages that the one before had cached, less what an earlier one with its own setting had.
#[test]
fn settings_that_toggle_are_priced_each_time() {
    let of = |tokens| [("setting-changed", "tool_choice", "tool_choice changed", tokens)];
    assert_found("settings-that-toggle/toc", &of(275 + 863 + 863));
    let effort = [("setting-changed", "effort", "effort changed", 275 + 863 + 863)];
    assert_found("settings-that-toggle/toe", &effort);
    assert_found(
        "settings-that-toggle/tot",
        &[
            ("setting-changed", "thinking", "thinking changed", 275 + 863),
            ("setting-changed", "thinking, tool_choice", "thinking, tool_choice changed", 2_001),
        ],
    );
}

#[test]
fn a_front_that_is_dropped_is_called_so() {
    let gone = "2 messages gone from the front";
    let place = "messages[0].content[0]";
    assert_found("sliding-windows/swa", &[("history-rewritten", place, gone, 6_777)]);
    let gone = "2 messages gone from the middle";
    let place = "messages[1].content[0]";
    assert_found("sliding-windows/swp", &[("history-rewritten", place, gone, 5_178)]);
    let found = findings(&project("fixtures/sliding-windows/swh.jsonl"));
    assert!(found[0]["detail"].as_str().expect("words").contains("gone from the front"));
}

#[test]
fn sessions_that_differ_in_front_of_shared_text_are_compared() {
    for (capture, place, words) in [
        ("seu", "system[0]", "between 4 sessions: the text differs"),
        ("sef", "system[0]", "between 4 sessions: the text differs"),
        ("set", "tools", "between 4 sessions: `write` stands where `read` stood"),
    ] {
        let found = findings(&project(&format!("fixtures/sessions-that-differ/{capture}.jsonl")));
        assert_eq!(found.len(), 1, "{capture}: {found:#?}");
        assert_eq!(found[0]["rule"], "differs-between-sessions");
        assert_eq!((&found[0]["place"], &found[0]["detail"]), (&json!(place), &json!(words)));
        assert_eq!(found[0]["requests"], 3);
        // Three sessions write what they share with the first: tools and system prompt without the part that differs.
        let front: u64 = if capture == "set" { 2_621 } else { 2_637 };
        let tokens = found[0]["tokens"].as_u64().expect("a number");
        assert!(tokens.abs_diff(3 * front) * 50 < 3 * front, "{capture}: {tokens}");
    }
}

/// Numbers that look random, the same each time: xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn words(&mut self, count: u64) -> String {
        const WORDS: [&str; 16] = [
            "stone", "river", "query", "merge", "index", "table", "above", "under", "quiet",
            "solid", "paper", "cloud", "green", "value", "field", "brief",
        ];
        (0..count)
            .map(|_| WORDS[usize::try_from(self.below(16)).expect("small")])
            .collect::<Vec<_>>()
            .join(" ")
    }
}

/// Requests of an agent that appends: a step is thinking, an answer, a call, and its result.
struct Agent {
    bodies: Vec<Value>,
}

impl Agent {
    fn new(seed: u64) -> Self {
        let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ (seed + 1));
        let tools: Vec<Value> = ["read", "write", "find"]
            .iter()
            .map(|name| json!({"name": name, "description": random.words(60), "input_schema": {"type": "object"}}))
            .collect();
        let lines: Vec<String> = (0..20).map(|_| random.words(20)).collect();
        let system = json!([{"type": "text", "text": lines.join("\n"), "cache_control": {"type": "ephemeral"}}]);
        let mut messages =
            vec![json!({"role": "user", "content": [{"type": "text", "text": random.words(30)}]})];
        let mut bodies = Vec::new();
        for step in 0..5 + random.below(4) {
            bodies.push(json!({
                "model": "claude-opus-5", "max_tokens": 1024, "tools": tools, "system": system,
                "thinking": {"type": "adaptive"}, "messages": messages,
            }));
            let id = format!("toolu_{seed}_{step}");
            let input = json!({"path": format!("/w/{step}"), "limit": 10 + step, "all": true});
            messages.push(json!({"role": "assistant", "content": [
                {"type": "thinking", "thinking": random.words(40), "signature": "s"},
                {"type": "text", "text": format!("{} ", random.words(20))},
                {"type": "tool_use", "id": id, "name": "read", "input": input},
            ]}));
            let words = 80 + random.below(60);
            messages.push(json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": id, "content": random.words(words)},
            ]}));
        }
        Self { bodies }
    }

    /// Capture of the requests, with a marker on the last block of each.
    fn capture(&self) -> String {
        let record = |(number, body): (usize, &Value)| {
            let mut body = body.clone();
            let messages = body["messages"].as_array_mut().expect("messages");
            let content =
                messages.last_mut().expect("one")["content"].as_array_mut().expect("blocks");
            content.last_mut().expect("one")["cache_control"] = json!({"type": "ephemeral"});
            let (minute, second) = (number / 3, number % 3 * 20);
            let record = json!({
                "timestamp": format!("2026-11-10T10:{minute:02}:{second:02}.000Z"),
                "request_id": format!("r{number}"), "session_id": "s", "request": body,
            });
            record.to_string().replace(r#""zz":true"#, r#""all":true"#)
        };
        self.bodies.iter().enumerate().map(record).collect::<Vec<_>>().join("\n")
    }

    /// Alters every message that is not in the last step, in each request.
    fn alter_earlier(&mut self, alter: impl Fn(&mut Vec<Value>)) {
        for body in &mut self.bodies {
            let messages = body["messages"].as_array_mut().expect("messages");
            let earlier = messages.len().saturating_sub(2);
            for message in messages.iter_mut().take(earlier).skip(1) {
                alter(message["content"].as_array_mut().expect("blocks"));
            }
        }
    }

    /// Changes a part of every other request.
    fn alternate(&mut self, change: impl Fn(&mut Value)) {
        self.bodies.iter_mut().skip(1).step_by(2).for_each(change);
    }

    /// Changes a part of every request, by its number.
    fn vary(&mut self, change: impl Fn(usize, &mut Value)) {
        self.bodies.iter_mut().enumerate().for_each(|(number, body)| change(number, body));
    }
}

fn block<'a>(content: &'a mut [Value], kind: &str) -> Option<&'a mut Value> {
    content.iter_mut().find(|block| block["type"] == kind)
}

/// Name of an alteration, what it does, the rule and a word of the detail that name it, and true if two replays differ
/// by its price alone: all sizes stay.
type Alteration = (&'static str, fn(&mut Agent), &'static str, &'static str, bool);

/// `zz` becomes `all` in the capture, behind the other keys.
fn sorted_keys(agent: &mut Agent) {
    agent.alter_earlier(|content| {
        if let Some(call) = block(content, "tool_use") {
            let (limit, path) = (call["input"]["limit"].clone(), call["input"]["path"].clone());
            call["input"] = json!({"limit": limit, "path": path, "zz": true});
        }
    });
}

fn edited(agent: &mut Agent, kind: &'static str, field: &'static str, edit: fn(&str) -> String) {
    agent.alter_earlier(|content| {
        if let Some(block) = block(content, kind) {
            block[field] = json!(edit(block[field].as_str().expect("a text")));
        }
    });
}

fn trimmed(agent: &mut Agent) {
    edited(agent, "text", "text", |text| text.trim().to_owned());
}

fn cut(agent: &mut Agent) {
    edited(agent, "tool_result", "content", |text| format!("{} [cut]", &text[..100]));
}

fn grown(agent: &mut Agent) {
    edited(agent, "tool_result", "content", |text| format!("{text}{}", " and so on".repeat(20)));
}

fn respaced(agent: &mut Agent) {
    edited(agent, "tool_result", "content", |text| text.replacen(' ', "\n", 3));
}

fn reordered(agent: &mut Agent) {
    edited(agent, "tool_result", "content", |text| {
        text.split(' ').rev().collect::<Vec<_>>().join(" ")
    });
}

fn listed(agent: &mut Agent) {
    agent.alter_earlier(|content| {
        if let Some(result) = block(content, "tool_result") {
            result["content"] = json!([{"type": "text", "text": result["content"]}]);
        }
    });
}

fn without(agent: &mut Agent, kind: &'static str) {
    agent.alter_earlier(|content| content.retain(|block| block["type"] != kind));
}

fn thinking_removed(agent: &mut Agent) {
    without(agent, "thinking");
}

fn answer_dropped(agent: &mut Agent) {
    without(agent, "text");
}

fn noted(agent: &mut Agent) {
    agent.alter_earlier(|content| {
        if content[0]["type"] == "tool_result" {
            content.insert(0, json!({"type": "text", "text": "Noted by the client."}));
        }
    });
}

fn window(agent: &mut Agent) {
    agent.vary(|_, body| {
        let messages = body["messages"].as_array_mut().expect("messages");
        let gone = messages.len().saturating_sub(5);
        messages.drain(..gone);
    });
}

fn moving(agent: &mut Agent) {
    agent.vary(|_, body| {
        let messages = body["messages"].as_array_mut().expect("messages");
        let last = messages.last_mut().expect("one")["content"].as_array_mut().expect("blocks");
        last.push(
            json!({"type": "text", "text": "Branch: main. Open files: none. Mode: careful."}),
        );
    });
}

/// The last block of each request, marked, is a reminder that goes.
fn reminder(agent: &mut Agent) {
    agent.vary(|number, body| {
        let messages = body["messages"].as_array_mut().expect("messages");
        let last = messages.last_mut().expect("one")["content"].as_array_mut().expect("blocks");
        last.push(json!({"type": "text", "text": format!("Step {number}: think before you act.")}));
    });
}

fn swapped(agent: &mut Agent) {
    agent.alter_earlier(|content| {
        if content.len() == 3 {
            content.swap(1, 2);
        }
    });
}

fn choice(agent: &mut Agent) {
    agent.alternate(|body| body["tool_choice"] = json!({"type": "none"}));
}

fn effort(agent: &mut Agent) {
    agent.alternate(|body| body["output_config"] = json!({"effort": "low"}));
}

fn tool_order(agent: &mut Agent) {
    agent.alternate(|body| body["tools"].as_array_mut().expect("tools").reverse());
}

fn description(agent: &mut Agent) {
    agent.vary(|number, body| {
        body["tools"][1]["description"] = json!(format!("Writes file {} of all.", 10 + number));
    });
}

fn clock(agent: &mut Agent) {
    agent.vary(|number, body| {
        let text = body["system"][0]["text"].as_str().expect("a text");
        body["system"][0]["text"] = json!(format!("Now 10:{:02}.\n{text}", 10 + number));
    });
}

fn line_order(agent: &mut Agent) {
    agent.alternate(|body| {
        let text = body["system"][0]["text"].as_str().expect("a text").to_owned();
        let lines: Vec<&str> = text.split('\n').rev().collect();
        body["system"][0]["text"] = json!(lines.join("\n"));
    });
}

const ALTERATIONS: &[Alteration] = &[
    ("keys", sorted_keys, "key-order", "another key order", true),
    ("trimmed", trimmed, "history-rewritten", "text trimmed", false),
    ("cut", cut, "history-rewritten", "cut from", false),
    ("grown", grown, "history-rewritten", "grown from", false),
    ("respaced", respaced, "history-rewritten", "white space", false),
    ("reordered", reordered, "line-order", "the same words in another order", true),
    ("listed", listed, "history-rewritten", "another form", false),
    ("thinking", thinking_removed, "history-rewritten", "thinking removed", false),
    ("answer", answer_dropped, "history-rewritten", "1 block is gone", false),
    ("noted", noted, "history-rewritten", "is new in front of it", false),
    ("window", window, "history-rewritten", "gone from the front", false),
    ("moving", moving, "history-rewritten", "moved to the last message", false),
    ("reminder", reminder, "history-rewritten", "1 block is gone", false),
    ("swapped", swapped, "history-rewritten", "the same blocks in another order", true),
    ("choice", choice, "setting-changed", "tool_choice", true),
    ("effort", effort, "setting-changed", "effort", true),
    ("tools", tool_order, "tool-order", "stands where", true),
    ("description", description, "tool-schema", "description", false),
    ("clock", clock, "timestamp", "a moment", false),
    ("lines", line_order, "line-order", "the same lines in another order", true),
];

/// A model that drops the thinking of earlier turns keeps that of a loop of tools.
#[test]
fn thinking_of_the_turn_is_not_what_a_model_drops() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("capture.jsonl");
    let of_model = |agent: &Agent| agent.capture().replace("claude-opus-5", "claude-sonnet-4-5");
    let mut agent = Agent::new(1);
    fs::write(&path, of_model(&agent)).expect("written");
    assert_eq!(findings(&path), Vec::<Value>::new());
    thinking_removed(&mut agent);
    fs::write(&path, of_model(&agent)).expect("written");
    let found = findings(&path);
    assert!(!found.is_empty() && found.iter().all(|one| one["detail"] == "thinking removed"));
}

fn dollars(value: &Value) -> f64 {
    value.as_f64().or_else(|| value.as_str()?.parse().ok()).expect("dollars")
}

fn replayed(path: &Path) -> f64 {
    let report = document(&["analyze", "--strategy", "replay"], path);
    dollars(&report["totals"]["replay"]["cost_usd"])
}

fn is_near(one: f64, other: f64) -> bool {
    (one - other).abs() <= 0.02 * one.abs().max(other.abs())
}

/// A healthy capture has no finding and no break; altered in one way, it has findings of that way alone, `breaks` has
/// their price, and so has the difference of two replays if no size changes.
#[test]
fn an_alteration_is_named_and_priced_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("capture.jsonl");
    for seed in 0..u64::from(cases(12)) {
        let healthy = Agent::new(seed);
        fs::write(&path, healthy.capture()).expect("written");
        assert_eq!(findings(&path), Vec::<Value>::new(), "seed {seed}");
        let before = replayed(&path);
        for (name, alter, rule, words, keeps_sizes) in ALTERATIONS {
            let mut altered = Agent::new(seed);
            alter(&mut altered);
            fs::write(&path, altered.capture()).expect("written");
            let found = findings(&path);
            let is_meant = |one: &Value| {
                one["rule"] == *rule
                    && one["detail"].as_str().is_some_and(|detail| detail.contains(words))
            };
            assert!(
                !found.is_empty() && found.iter().all(is_meant),
                "{name}, seed {seed}: {found:#?}"
            );
            let price: f64 = found.iter().map(|one| dollars(&one["cost_usd"])).sum();
            let breaks = document(&["breaks"], &path);
            let excess = dollars(&breaks["totals"]["excess_usd"]);
            assert!(is_near(price, excess), "{name}, seed {seed}: {price} and {excess}");
            let more = replayed(&path) - before;
            assert!(
                !keeps_sizes || is_near(price, more),
                "{name}, seed {seed}: {price} and {more}"
            );
        }
    }
}
