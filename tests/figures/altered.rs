//! Captures whose requests are altered on purpose: `lint`, `breaks` and `advise` name the alteration and its price.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::{cases, stdout};

pub(super) fn document(command: &[&str], path: &Path) -> Value {
    let path = path.to_str().expect("plain");
    let all = [command, &[path, "-q", "--format", "json", "--tokens", "bytes:1"]].concat();
    serde_json::from_str(&stdout(&all)).expect("JSON")
}

pub(super) fn findings(path: &Path) -> Vec<Value> {
    document(&["lint"], path)["findings"].as_array().expect("findings").clone()
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

/// Requests of an agent that appends: a step is thinking, an answer, a call, and its result. Keys that begin with `zz_`
/// lose that in the capture, and stand behind others there.
struct Agent {
    bodies: Vec<Value>,
    /// Beta features of each request, if any is known.
    betas: Vec<&'static str>,
    /// Markers of the last block of each request.
    markers: Vec<Value>,
}

/// Data of an image, of any length.
const IMAGE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk";

fn image(data: &str) -> Value {
    json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}})
}

impl Agent {
    fn new(seed: u64) -> Self {
        let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ (seed + 1));
        let tools: Vec<Value> = ["read", "write", "find"]
            .iter()
            .map(|name| {
                let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
                json!({"name": name, "description": random.words(60), "input_schema": schema})
            })
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
        let markers = vec![json!({"type": "ephemeral"}); bodies.len()];
        Self { betas: Vec::new(), markers, bodies }
    }

    /// Capture of the requests, with a marker on the last block of each.
    fn capture(&self) -> String {
        let record = |(number, body): (usize, &Value)| {
            let mut body = body.clone();
            let messages = body["messages"].as_array_mut().expect("messages");
            let content =
                messages.last_mut().expect("one")["content"].as_array_mut().expect("blocks");
            if let marker @ Value::Object(_) = &self.markers[number] {
                content.last_mut().expect("one")["cache_control"] = marker.clone();
            }
            let (minute, second) = (number / 3, number % 3 * 20);
            let mut record = json!({
                "timestamp": format!("2026-11-10T10:{minute:02}:{second:02}.000Z"),
                "request_id": format!("r{number}"), "session_id": "s", "request": body,
            });
            if let Some(betas) = self.betas.get(number) {
                record["headers"] = json!({"anthropic-beta": betas});
            }
            record.to_string().replace(r#""zz_"#, r#"""#)
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

    /// Puts a line in front of the system prompt of each request.
    fn begin_with(&mut self, line: impl Fn(usize) -> String) {
        self.vary(|number, body| {
            let text = body["system"][0]["text"].as_str().expect("a text");
            body["system"][0]["text"] = json!(format!("{}\n{text}", line(number)));
        });
    }

    /// Makes another content of each result, and says if the result is in the last message.
    fn results(&mut self, content: impl Fn(&str, bool) -> Value) {
        self.vary(|_, body| {
            let messages = body["messages"].as_array_mut().expect("messages");
            let last = messages.len() - 1;
            for (place, message) in messages.iter_mut().enumerate() {
                let blocks = message["content"].as_array_mut().expect("blocks");
                if let Some(result) = block(blocks, "tool_result") {
                    let text = result["content"].as_str().expect("a text").to_owned();
                    result["content"] = content(&text, place == last);
                }
            }
        });
    }
}

fn block<'a>(content: &'a mut [Value], kind: &str) -> Option<&'a mut Value> {
    content.iter_mut().find(|block| block["type"] == kind)
}

/// Where the price of an alteration is read.
#[derive(Clone, Copy, PartialEq)]
enum Price {
    /// All sizes stay: two replays differ by it alone.
    Replays,
    /// The replay of the altered capture reads less than the request before had cached.
    Rows,
    /// As `Rows`, at prices of fast requests, which `breaks` knows.
    Breaks,
    /// Two replays differ by it alone, and it is no break: what is written costs more, or nothing could be read.
    Markers,
    /// Two replays differ by it and by the prices of another model, which are apart; `breaks` has the price of the
    /// request, `lint` that of the next one as well.
    Model,
}
use Price::{Breaks, Markers, Model, Replays, Rows};

/// Name of an alteration, what it does, the rule and a word of the detail that name it, and its price.
type Alteration = (&'static str, fn(&mut Agent), &'static str, &'static str, Price);

fn sorted_keys(agent: &mut Agent) {
    agent.alter_earlier(|content| {
        if let Some(call) = block(content, "tool_use") {
            let (limit, path) = (call["input"]["limit"].clone(), call["input"]["path"].clone());
            call["input"] = json!({"limit": limit, "path": path, "zz_all": true});
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

fn schema_keys(agent: &mut Agent) {
    agent.alternate(|body| {
        let properties = body["tools"][1]["input_schema"]["properties"].clone();
        body["tools"][1]["input_schema"] = json!({"type": "object", "zz_properties": properties});
    });
}

fn property(agent: &mut Agent) {
    agent.vary(|number, body| {
        let path = &mut body["tools"][0]["input_schema"]["properties"]["path"];
        path["description"] = json!(format!("Path number {}.", 10 + number));
    });
}

fn description_space(agent: &mut Agent) {
    agent.alternate(|body| {
        let text = body["tools"][1]["description"].as_str().expect("a text").replacen(' ', "\n", 3);
        body["tools"][1]["description"] = json!(text);
    });
}

fn add_tool(body: &mut Value) {
    let tool =
        json!({"name": "deploy", "description": "Deploys.", "input_schema": {"type": "object"}});
    body["tools"].as_array_mut().expect("tools").push(tool);
}

fn tool_added(agent: &mut Agent) {
    agent.alternate(add_tool);
}

fn tool_late(agent: &mut Agent) {
    agent.bodies.iter_mut().skip(3).for_each(add_tool);
}

fn tool_removed(agent: &mut Agent) {
    agent.alternate(|body| drop(body["tools"].as_array_mut().expect("tools").pop()));
}

fn folder_line(agent: &mut Agent) {
    const FOLDERS: [&str; 8] =
        ["stone", "river", "query", "merge", "index", "table", "above", "under"];
    agent.begin_with(|number| format!("Folder: /w/{}", FOLDERS[number]));
}

fn date(agent: &mut Agent) {
    agent.begin_with(|number| format!("Today is 2026-11-{}.", 10 + number / 3));
}

fn user(agent: &mut Agent) {
    agent.begin_with(|number| format!("The user is {}.", ["Eva", "Ada"][number % 2]));
}

fn counter(agent: &mut Agent) {
    agent.begin_with(|number| format!("This is turn {}.", 10 + number));
}

fn random_id(agent: &mut Agent) {
    agent.begin_with(|number| {
        let id = Random(0x9e37_79b9_7f4a_7c15 + number as u64).below(u64::MAX);
        format!("Your run is run_{:016x}k.", id.rotate_left(7))
    });
}

fn hash(agent: &mut Agent) {
    agent.begin_with(|number| {
        let mut random = Random(0x9e37_79b9_7f4a_7c15 + number as u64);
        let half = |random: &mut Random| format!("{:016x}", random.below(u64::MAX));
        format!("The tree is {}{}.", half(&mut random), half(&mut random))
    });
}

/// Half of the lines in a block of their own.
fn system_split(agent: &mut Agent) {
    agent.alternate(|body| {
        let text = body["system"][0]["text"].as_str().expect("a text").to_owned();
        let half = text.match_indices('\n').nth(9).expect("twenty lines").0;
        body["system"][0]["text"] = json!(text[half + 1..]);
        let first = json!({"type": "text", "text": text[..half]});
        body["system"].as_array_mut().expect("blocks").insert(0, first);
    });
}

fn system_tail(agent: &mut Agent) {
    agent.vary(|number, body| {
        let mode = ["plan", "edit", "test", "read", "sort", "find", "save", "ship"][number];
        let block = json!({"type": "text", "text": format!("Mode: {mode}.")});
        body["system"].as_array_mut().expect("blocks").push(block);
    });
}

fn marker_missing(agent: &mut Agent) {
    agent.markers.iter_mut().skip(1).step_by(2).for_each(|marker| *marker = Value::Null);
}

fn lifetime(agent: &mut Agent) {
    let hour = json!({"type": "ephemeral", "ttl": "1h"});
    agent.markers.iter_mut().skip(1).step_by(2).for_each(|marker| marker["ttl"] = json!("1h"));
    agent.alternate(|body| body["system"][0]["cache_control"] = hour.clone());
}

fn budget(agent: &mut Agent) {
    agent.vary(|number, body| {
        body["thinking"] = json!({"type": "enabled", "budget_tokens": 1024 + number});
    });
}

fn thinking_off(agent: &mut Agent) {
    agent.alternate(|body| body["thinking"] = json!({"type": "disabled"}));
}

fn answer_format(agent: &mut Agent) {
    let format = json!({"format": {"type": "json_schema", "schema": {"type": "object"}}});
    agent.alternate(|body| body["output_config"] = format.clone());
}

fn speed(agent: &mut Agent) {
    agent.alternate(|body| body["speed"] = json!("fast"));
}

fn betas(agent: &mut Agent) {
    let of = |number| ["one-2026-01-01", "one-2026-01-01,two-2026-01-01"][number % 2];
    agent.betas = (0..agent.bodies.len()).map(of).collect();
}

fn model(agent: &mut Agent) {
    agent.bodies[2]["model"] = json!("claude-sonnet-5");
}

fn window_of_three(agent: &mut Agent) {
    agent.vary(|_, body| {
        let messages = body["messages"].as_array_mut().expect("messages");
        if messages.len() > 7 {
            messages.drain(..3);
        }
    });
}

fn pair_dropped(agent: &mut Agent) {
    agent.vary(|_, body| {
        let messages = body["messages"].as_array_mut().expect("messages");
        if messages.len() > 5 {
            messages.drain(1..3);
        }
    });
}

fn ids(agent: &mut Agent) {
    agent.vary(|number, body| {
        let text = body.to_string().replace("toolu_", &format!("toolu_{}_", 10 + number));
        *body = serde_json::from_str(&text).expect("JSON");
    });
}

/// A reminder stands behind the last result, and in front of earlier ones.
fn behind_reminder(agent: &mut Agent) {
    agent.vary(|_, body| {
        let messages = body["messages"].as_array_mut().expect("messages");
        let last = messages.len() - 1;
        for (place, message) in messages.iter_mut().enumerate() {
            let content = message["content"].as_array_mut().expect("blocks");
            if content[0]["type"] == "tool_result" {
                let at = usize::from(place == last);
                content.insert(at, json!({"type": "text", "text": "Reminder: think first."}));
            }
        }
    });
}

/// The first image of a conversation loses the messages in front of it, so that one comes first of all.
fn begin_with_image(agent: &mut Agent) {
    agent.vary(|_, body| {
        let content = body["messages"][0]["content"].as_array_mut().expect("blocks");
        content.insert(0, image(IMAGE));
    });
}

fn image_replaced(agent: &mut Agent) {
    begin_with_image(agent);
    agent.results(|text, is_last| {
        let note = json!({"type": "text", "text": "[image]"});
        let image = if is_last { image(IMAGE) } else { note };
        json!([{"type": "text", "text": text}, image])
    });
}

fn image_again(agent: &mut Agent) {
    begin_with_image(agent);
    agent.results(|text, is_last| {
        let data = if is_last { IMAGE.to_owned() } else { IMAGE.replace("NSUh", "NSUi") };
        json!([{"type": "text", "text": text}, image(&data)])
    });
}

fn search_order(agent: &mut Agent) {
    agent.results(|text, is_last| {
        let words: Vec<&str> = text.split(' ').collect();
        let result = |(number, words): (usize, &[&str])| {
            let text = json!([{"type": "text", "text": words.join(" ")}]);
            let source = format!("https://e.example/{number}");
            json!({"type": "search_result", "source": source, "title": "A page", "content": text})
        };
        let mut results: Vec<Value> = words.chunks(20).enumerate().map(result).collect();
        if !is_last {
            results.reverse();
        }
        Value::Array(results)
    });
}

fn cleared(agent: &mut Agent) {
    edited(agent, "tool_result", "content", |_| "[gone]".to_owned());
}

fn first_letter(agent: &mut Agent) {
    edited(agent, "text", "text", |text| format!("{}{}", text[..1].to_uppercase(), &text[1..]));
}

fn first_message(agent: &mut Agent) {
    agent.vary(|number, body| {
        let text = &mut body["messages"][0]["content"][0]["text"];
        *text = json!(format!("{} Turn {}.", text.as_str().expect("a text"), 10 + number));
    });
}

fn signature(agent: &mut Agent) {
    edited(agent, "thinking", "signature", |_| "t".to_owned());
}

fn error_told(agent: &mut Agent) {
    agent.alter_earlier(|content| {
        if let Some(result) = block(content, "tool_result") {
            result["is_error"] = json!(true);
        }
    });
}

const ALTERATIONS: &[Alteration] = &[
    ("keys", sorted_keys, "key-order", "another key order", Replays),
    ("trimmed", trimmed, "history-rewritten", "text trimmed", Rows),
    ("cut", cut, "history-rewritten", "cut from", Rows),
    ("grown", grown, "history-rewritten", "grown from", Rows),
    ("respaced", respaced, "history-rewritten", "white space", Rows),
    ("reordered", reordered, "line-order", "the same words in another order", Replays),
    ("listed", listed, "history-rewritten", "another form", Rows),
    ("thinking", thinking_removed, "history-rewritten", "thinking removed", Rows),
    ("answer", answer_dropped, "history-rewritten", "1 block is gone", Rows),
    ("noted", noted, "history-rewritten", "is new in front of it", Rows),
    ("window", window, "history-rewritten", "gone from the front", Rows),
    ("moving", moving, "history-rewritten", "moved to the last message", Rows),
    ("reminder", reminder, "history-rewritten", "1 block is gone", Rows),
    ("swapped", swapped, "history-rewritten", "the same blocks in another order", Replays),
    ("choice", choice, "setting-changed", "tool_choice", Replays),
    ("effort", effort, "setting-changed", "effort", Replays),
    ("tools", tool_order, "tool-order", "stands where", Replays),
    ("description", description, "tool-schema", "description", Rows),
    ("clock", clock, "timestamp", "a moment", Rows),
    ("lines", line_order, "line-order", "the same lines in another order", Replays),
    ("schema keys", schema_keys, "key-order", "the same in other bytes", Replays),
    ("property", property, "tool-schema", "input_schema", Rows),
    ("description space", description_space, "tool-schema", "description", Rows),
    ("tool added", tool_added, "tool-set", "`deploy` is", Rows),
    ("tool late", tool_late, "tool-set", "`deploy` is new", Rows),
    ("tool removed", tool_removed, "tool-set", "`find` is", Rows),
    ("folder", folder_line, "dynamic-before-boundary", "the text differs", Rows),
    ("date", date, "timestamp", "a moment", Rows),
    ("user", user, "dynamic-before-boundary", "the text differs", Rows),
    ("counter", counter, "counter", "a number", Rows),
    ("random id", random_id, "random-id", "an id", Rows),
    ("hash", hash, "hash", "a hash", Rows),
    ("system split", system_split, "dynamic-before-boundary", "blocks came", Rows),
    ("system tail", system_tail, "system-changed", "the text differs", Rows),
    ("marker", marker_missing, "marker-missing", "in front of the end", Markers),
    ("lifetime", lifetime, "ttl-changed", "5m before, 1h now", Markers),
    ("budget", budget, "setting-changed", "thinking", Replays),
    ("thinking off", thinking_off, "setting-changed", "thinking", Replays),
    ("format", answer_format, "setting-changed", "format", Replays),
    ("speed", speed, "setting-changed", "speed", Breaks),
    ("betas", betas, "betas-changed", "two-2026-01-01", Replays),
    ("model", model, "model-changed", "another model", Model),
    ("window of three", window_of_three, "history-rewritten", "gone from the front", Rows),
    ("pair", pair_dropped, "history-rewritten", "gone from the middle", Rows),
    ("ids", ids, "history-rewritten", "`id` of the block", Rows),
    ("behind", behind_reminder, "history-rewritten", "the same blocks in another order", Rows),
    ("image", image_replaced, "history-rewritten", "image replaced by text", Rows),
    ("image again", image_again, "history-rewritten", "another image", Rows),
    ("search", search_order, "line-order", "another order", Rows),
    ("cleared", cleared, "history-rewritten", "6 other characters stand for", Rows),
    ("first letter", first_letter, "history-rewritten", "the block differs", Replays),
    ("first message", first_message, "counter", "the block differs", Rows),
    ("signature", signature, "history-rewritten", "`signature` of the block", Replays),
    ("error", error_told, "history-rewritten", "`is_error` of the block", Rows),
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

/// Rows of the requests of a capture under the rules.
fn rows(path: &Path) -> Vec<Value> {
    let path = path.to_str().expect("plain");
    let command = ["analyze", "--strategy", "replay", path, "-q", "--format", "jsonl"];
    let lines = stdout(&[&command[..], &["--tokens", "bytes:1"]].concat());
    lines.lines().map(|line| serde_json::from_str(line).expect("a row")).collect()
}

fn cost(rows: &[Value]) -> f64 {
    rows.iter().map(|row| dollars(&row["cost_usd"])).sum()
}

/// Price of what the requests did not read of what the ones before had cached, written for five minutes.
fn unread(rows: &[Value]) -> f64 {
    let tokens = |row: &Value, key: &str| row[key].as_u64().expect("a number");
    let total = |row: &Value| -> u64 {
        let written = ["ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"];
        let all = ["input_tokens", "cache_read_input_tokens"].iter().chain(&written);
        all.map(|key| tokens(row, key)).sum()
    };
    let lost = rows.windows(2).map(|pair| {
        let could = total(&pair[0]).min(total(&pair[1]));
        could.saturating_sub(tokens(&pair[1], "cache_read_input_tokens"))
    });
    // Written for $6.25 a million, not read for $0.50.
    f64::from(u32::try_from(lost.sum::<u64>()).expect("few")) * 5.75e-6
}

/// What the request that another model answered cost less by its prices, had it read what the healthy one did: Opus 5
/// reads for $0.50 and writes for $6.25 a million, Sonnet 5 for $0.20 and $2.50.
fn prices_apart(healthy: &[Value]) -> f64 {
    let tokens = |key: &str| healthy[2][key].as_f64().expect("a number");
    tokens("cache_read_input_tokens").mul_add(0.3e-6, tokens("ephemeral_5m_input_tokens") * 3.75e-6)
}

fn is_near(one: f64, other: f64) -> bool {
    (one - other).abs() <= 0.02 * one.abs().max(other.abs())
}

/// Saving of the first change that `breaks` offers.
fn offered(path: &Path) -> f64 {
    let path = path.to_str().expect("plain");
    let text = stdout(&["breaks", path, "-q", "--format", "markdown", "--tokens", "bytes:1"]);
    let first = text.lines().find(|line| line.starts_with("| 1 |")).expect("a change");
    let saving = first.split('$').nth(1).and_then(|rest| rest.split(' ').next());
    saving.expect("dollars").parse().expect("a number")
}

/// What is said of an altered capture and is not so.
fn wrong(path: &Path, healthy: &[Value], alteration: &Alteration) -> Vec<String> {
    let (_, _, rule, words, source) = alteration;
    let found = findings(path);
    // Conditional parts of the front are counted beside the change of one.
    let is_counted = |one: &Value| {
        ["tool-set", "dynamic-before-boundary"].contains(rule)
            && one["rule"] == "prefix-variants"
            && one["tokens"] == 0
    };
    let is_named = |one: &Value| {
        let is_meant = one["detail"].as_str().is_some_and(|detail| detail.contains(words));
        one["rule"] == *rule && is_meant
    };
    let price: f64 = found.iter().map(|one| dollars(&one["cost_usd"])).sum();
    let breaks = document(&["breaks"], path);
    let advice = document(&["advise"], path);
    let changes = advice["advice"]["changes"].as_array().expect("changes");
    let saving = changes.first().map_or(0.0, |change| dollars(&change["saving_usd"]));
    let now = rows(path);
    let more = cost(&now) - cost(healthy);
    let excess = dollars(&breaks["totals"]["excess_usd"]);
    let causes = breaks["by_cause"].as_array().expect("causes").len();
    let right = [
        ("named", found.iter().any(is_named)),
        ("alone", found.iter().all(|one| is_named(one) || is_counted(one))),
        ("one cause", causes <= 1),
        ("one change", changes.len() == 1),
        // What a missing marker and another lifetime cost is no loss of one request: `breaks` has it among its changes.
        (
            "breaks",
            *source == Model
                || is_near(price, if *source == Markers { offered(path) } else { excess }),
        ),
        ("advise", *source == Model || is_near(price, saving)),
        ("model", *source != Model || is_near(price, more + prices_apart(healthy))),
        ("rows", *source != Rows || is_near(price, unread(&now))),
        ("replays", ![Replays, Markers].contains(source) || is_near(price, more)),
    ];
    let figures = format!("{price} {excess} {saving} {more} {}: {found:#?}", unread(&now));
    let wrong = right.iter().filter(|(_, is_right)| !is_right);
    wrong.map(|(what, _)| format!("{what}: {figures}")).collect()
}

/// Defaults that every other request spells out, or leaves out.
#[test]
fn a_default_that_is_spelled_out_is_no_alteration() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("capture.jsonl");
    let defaults: [fn(&mut Agent); 4] = [
        |agent| agent.alternate(|body| body["tool_choice"] = json!({"type": "auto"})),
        |agent| {
            agent.alternate(|body| drop(body.as_object_mut().expect("a body").remove("thinking")));
        },
        |agent| agent.alternate(|body| body["output_config"] = json!({"effort": "high"})),
        |agent| {
            agent.alter_earlier(|content| {
                if let Some(result) = block(content, "tool_result") {
                    result["is_error"] = json!(false);
                }
            });
        },
    ];
    for (number, spell_out) in defaults.into_iter().enumerate() {
        let mut agent = Agent::new(number as u64);
        spell_out(&mut agent);
        fs::write(&path, agent.capture()).expect("written");
        assert_eq!(findings(&path), Vec::<Value>::new(), "default {number}");
        assert_eq!(document(&["breaks"], &path)["by_cause"], json!([]), "default {number}");
    }
}

/// A healthy capture has no finding and no break; altered in one way, it has findings of that way alone, `breaks` and
/// `advise` have their price, and so have replays.
#[test]
fn an_alteration_is_named_and_priced_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("capture.jsonl");
    let mut all = Vec::new();
    for seed in 0..u64::from(cases(12)) {
        let healthy = Agent::new(seed);
        fs::write(&path, healthy.capture()).expect("written");
        assert_eq!(findings(&path), Vec::<Value>::new(), "seed {seed}");
        let healthy = rows(&path);
        // Each is tried with every third one.
        let first = usize::try_from(seed % 3).expect("small");
        for alteration in ALTERATIONS.iter().skip(first).step_by(3) {
            let mut altered = Agent::new(seed);
            alteration.1(&mut altered);
            fs::write(&path, altered.capture()).expect("written");
            let wrong = wrong(&path, &healthy, alteration);
            all.extend(
                wrong.into_iter().map(|one| format!("{}, seed {seed}: {one}", alteration.0)),
            );
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}
