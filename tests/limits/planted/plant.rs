//! Sessions with a word of its own in every place.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde_json::{Map, Value, json};

use crate::common::{files, project, shared};

/// Fields that decide how a line is read. Each is planted in a copy of its own; the others all at once.
#[rustfmt::skip] // one field a line would be pages
const STRUCTURE: [&str; 65] = [
    "account_uuid", "agentId", "agentSetting", "agentType", "agent_id", "anthropic-beta",
    "anthropic-version", "anthropic_version", "cache_reference", "call_id", "cli_version", "cwd",
    "data", "device_id", "effort", "entrypoint", "fallbackModel", "file_id", "gitBranch", "id",
    "inference_geo", "leafUuid", "level", "logged_at", "logicalParentUuid", "media_type",
    "messageId", "message_id", "method", "mode", "model", "name", "originalModel",
    "parentToolUseID", "parentUuid", "phase", "provider", "query_source", "requestId", "request_id",
    "response_started_at", "role", "scope", "section", "service_tier", "sessionId", "session_id",
    "sourceToolAssistantUUID", "speed", "stop_reason", "subagent_type", "subscriber", "subtype",
    "timestamp", "toolUseID", "tool_name", "tool_use_id", "ttl", "turn_id", "type", "url",
    "userType", "user_id", "uuid", "version",
];

/// Those of them that stay what they are with a word behind them.
#[rustfmt::skip] // one field a line would be pages
const NAMES: [&str; 41] = [
    "account_uuid", "agentId", "agentSetting", "agentType", "agent_id", "cache_reference",
    "call_id", "cli_version", "cwd", "device_id", "effort", "entrypoint", "file_id", "gitBranch",
    "id", "leafUuid", "logicalParentUuid", "messageId", "message_id", "name", "originalModel",
    "parentToolUseID", "parentUuid", "provider", "query_source", "requestId", "request_id",
    "section", "session_id", "sessionId", "sourceToolAssistantUUID", "subagent_type", "toolUseID",
    "tool_name", "tool_use_id", "turn_id", "url", "userType", "user_id", "uuid", "version",
];

/// Fields by which lines, messages and requests of two files would be the same.
#[rustfmt::skip] // one field a line would be pages
const IDENTITIES: [&str; 27] = [
    "agentId", "agent_id", "cache_reference", "call_id", "file_id", "id", "leafUuid",
    "logicalParentUuid", "messageId", "message_id", "parentToolUseID", "parentUuid", "requestId",
    "request_id", "session_id", "sessionId", "sourceToolAssistantUUID", "toolUseID", "tool_use_id",
    "turn_id", "uuid", "forked_from_id", "parent_session_id", "user_id", "traceId", "spanId",
    "parentSpanId",
];

/// Letters of words. They are no words of a language and no digits of a number.
const LETTERS: &[u8; 20] = b"bcdfghjklmnpqrstvwxz";

/// How much of a text stays in front of a word.
const MOST_TEXT: usize = 200;

/// Where the words are.
#[derive(Default)]
pub(super) struct Words {
    /// The place of each word. A place is a path in a line: fields with dots between them, without signs
    /// for lists, `{}` where a string is JSON, `key` behind objects whose unknown field it is.
    pub(super) places: BTreeMap<String, String>,
}

impl Words {
    /// A new word for a place, too long to be among replaced letters by chance.
    pub(super) fn word(&mut self, place: &str) -> String {
        let mut number = self.places.len();
        let mut word = String::from("zqj");
        for _ in 0..5 {
            word.push(char::from(LETTERS[number % LETTERS.len()]));
            number /= LETTERS.len();
        }
        word.push_str("xqjz");
        self.places.insert(word.clone(), place.to_owned());
        word
    }

    /// The words in bytes.
    pub(super) fn found_in(&self, bytes: &[u8]) -> BTreeSet<&str> {
        let mut found = BTreeSet::new();
        let begins = bytes.windows(3).enumerate().filter(|(_, begin)| *begin == b"zqj");
        for (at, _) in begins {
            let word = bytes.get(at..at + 12).and_then(|word| std::str::from_utf8(word).ok());
            let known = word.and_then(|word| self.places.get_key_value(word));
            found.extend(known.map(|(word, _)| word.as_str()));
        }
        found
    }
}

/// A file of lines.
#[derive(Clone)]
pub(super) struct Session {
    pub(super) name: String,
    pub(super) lines: Vec<Value>,
}

/// How words are planted.
#[derive(Clone, Copy)]
enum Way<'w> {
    /// Alone in each string that is no structure.
    Alone,
    /// Behind the text of each such string.
    Behind,
    /// As a field with an unknown name in each object.
    Keys,
    /// In one place.
    At(&'w str),
}

/// Plants words in the lines of a file.
struct Planter<'w> {
    words: &'w mut Words,
    /// Word by place, and whether the line is an odd one: so requests differ from those before.
    given: BTreeMap<(String, bool), String>,
    way: Way<'w>,
    is_odd: bool,
    /// Tells the file from others that are made of the same lines.
    suffix: String,
}

fn below(path: &str, field: &str) -> String {
    if path.is_empty() { field.to_owned() } else { format!("{path}.{field}") }
}

fn field_of(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

impl Planter<'_> {
    fn word(&mut self, path: &str) -> String {
        // A word in an identifier is the same in all lines, so that it stays one.
        let is_odd = self.is_odd && !matches!(self.way, Way::At(_));
        if let Some(word) = self.given.get(&(path.to_owned(), is_odd)) {
            return word.clone();
        }
        let word = self.words.word(path);
        self.given.insert((path.to_owned(), is_odd), word.clone());
        word
    }

    fn plant(&mut self, value: &mut Value, path: &str) {
        match value {
            Value::Object(fields) => {
                for (field, value) in fields.iter_mut() {
                    self.plant(value, &below(path, field));
                }
                if matches!(self.way, Way::Keys) {
                    let place = below(path, "key");
                    let (key, text) = (self.word(&place), self.word(&below(path, "value")));
                    fields.insert(key, json!(text));
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.plant(value, path)),
            Value::String(text) => *text = self.text(text, path),
            _ => {}
        }
    }

    fn text(&mut self, text: &str, path: &str) -> String {
        if let Some(planted) = self.inside(text, path) {
            return planted;
        }
        let field = field_of(path).trim_end_matches("{}");
        let is_structure = STRUCTURE.contains(&field);
        let planted = match self.way {
            Way::Alone if !is_structure => return self.word(path),
            Way::Behind if !is_structure => {
                let end = text.char_indices().nth(MOST_TEXT).map_or(text.len(), |(end, _)| end);
                return format!("{} {}", &text[..end], self.word(path));
            }
            Way::At(place) if place == path && NAMES.contains(&field) => {
                format!("{text}{}", self.word(path))
            }
            Way::At(place) if place == path => self.word(path),
            _ => text.to_owned(),
        };
        if IDENTITIES.contains(&field) { format!("{planted}{}", self.suffix) } else { planted }
    }

    /// Plants inside of a string that is JSON, or the events of an answer.
    fn inside(&mut self, text: &str, path: &str) -> Option<String> {
        let path = format!("{path}{{}}");
        if text.starts_with('{') {
            let mut value: Value = serde_json::from_str(text).ok()?;
            self.plant(&mut value, &path);
            return Some(value.to_string());
        }
        if !text.contains("\ndata: {") {
            return None;
        }
        let line = |line: &str| {
            let json = line.strip_prefix("data: ").and_then(|data| serde_json::from_str(data).ok());
            let Some(mut value) = json else { return line.to_owned() };
            self.plant(&mut value, &path);
            format!("data: {value}")
        };
        Some(text.split('\n').map(line).collect::<Vec<_>>().join("\n"))
    }
}

/// All places with strings of a line.
fn places(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(field, value)| places(value, &below(path, field), found));
        }
        Value::Array(values) => values.iter().for_each(|value| places(value, path, found)),
        Value::String(text) if text.starts_with('{') => {
            found.insert(path.to_owned());
            if let Ok(value) = serde_json::from_str(text) {
                places(&value, &format!("{path}{{}}"), found);
            }
        }
        Value::String(_) => {
            found.insert(path.to_owned());
        }
        _ => {}
    }
}

fn places_of(line: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    places(line, "", &mut found);
    found
}

fn lines_of(path: &Path) -> Vec<Value> {
    let text = String::from_utf8_lossy(&fs::read(path).expect("a file")).into_owned();
    text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).collect()
}

/// The lines that have a place which no line before them has, file by file.
fn covering(folder: &Path) -> Vec<Session> {
    let new_lines = |path: &PathBuf| {
        let mut known = BTreeSet::new();
        let is_new = |line: &Value| {
            let places = places_of(line);
            let is_new = !places.is_subset(&known);
            known.extend(places);
            is_new && line.to_string().len() < 200_000
        };
        lines_of(path).into_iter().filter(is_new).collect::<Vec<_>>()
    };
    let of_files: Vec<Vec<Value>> = files(folder, ".jsonl").par_iter().map(new_lines).collect();
    let mut known = BTreeSet::new();
    let mut sessions = Vec::new();
    for lines in of_files {
        let first = lines.first().cloned();
        let mut kept = Vec::new();
        for line in lines {
            let places = places_of(&line);
            if !places.is_subset(&known) {
                known.extend(places);
                kept.push(line);
            }
        }
        // A format is known by its first line.
        if let Some(first) = first.filter(|first| !kept.is_empty() && kept.first() != Some(first)) {
            kept.insert(0, first);
        }
        if !kept.is_empty() {
            sessions.push(Session { name: format!("{COVER}{}", sessions.len()), lines: kept });
        }
    }
    sessions
}

/// The requests of exact cases.
fn cases(folder: &Path) -> Vec<Session> {
    let of_case = |path: &PathBuf| {
        let case: Value = serde_json::from_slice(&fs::read(path).expect("a case")).expect("JSON");
        let lines = case.get("requests").or(case.get("records"))?.as_array()?.clone();
        Some(Session { name: "case".to_owned(), lines })
    };
    files(folder, ".json").iter().filter_map(of_case).collect()
}

/// The fields that a reference names, in lines of every type and in what they hold.
fn referenced(reference: &str, known: &BTreeSet<String>) -> Session {
    let is_name = |name: &&str| {
        name.len() > 2
            && name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let fields: BTreeSet<&str> = known.iter().map(|path| field_of(path)).collect();
    let names = reference
        .split('`')
        .skip(1)
        .step_by(2)
        .flat_map(|code| code.split(['.', ' ', ':', ',', '"', '{', '}', '[', ']']));
    let unseen: BTreeSet<&str> =
        names.filter(is_name).filter(|name| !fields.contains(name)).collect();
    let with_all = |object: Value| {
        let mut fields: Map<String, Value> = object.as_object().cloned().unwrap_or_default();
        fields.extend(
            unseen
                .iter()
                .filter(|name| !STRUCTURE.contains(name))
                .map(|name| ((*name).to_owned(), json!("text"))),
        );
        Value::Object(fields)
    };
    let line = |number: usize, kind: &str, inner: Value| {
        let mut line = with_all(json!({
            "type": kind, "uuid": format!("r{number}"), "sessionId": "referenced",
            "timestamp": format!("2026-08-03T10:{number:02}:00Z"), "cwd": "/w/referenced",
        }));
        line.as_object_mut()
            .expect("an object")
            .extend(inner.as_object().expect("an object").clone());
        line
    };
    let usage = json!({"input_tokens": 3, "output_tokens": 5, "cache_read_input_tokens": 9_000, "cache_creation_input_tokens": 1_000});
    let block = with_all(json!({"type": "text", "text": "text"}));
    let user = json!({"message": with_all(json!({"role": "user", "content": [block]}))});
    let assistant = json!({"requestId": "referenced", "message": with_all(json!({
        "role": "assistant", "id": "referenced", "model": "claude-opus-5", "content": [block],
        "usage": with_all(usage), "stop_reason": "end_turn",
    }))});
    let lines = vec![
        line(1, "user", user),
        line(2, "assistant", assistant),
        line(
            3,
            "system",
            json!({"subtype": "compact_boundary", "compactMetadata": with_all(json!({}))}),
        ),
        line(4, "attachment", json!({"attachment": with_all(json!({"type": "todo_reminder"}))})),
        line(5, "progress", json!({"data": with_all(json!({"type": "hook_progress"}))})),
    ];
    Session { name: format!("{COVER}-of-all-fields"), lines }
}

/// Fields that no fixture has, and to what of a fixture's lines they are added.
const ADDED: [(&str, &str, &str); 2] = [
    ("captured-clock/session.jsonl", "", "message_id"),
    ("agent-codex-fork/rollout-2.jsonl", "/payload", "session_id"),
];

/// How names of sessions begin that are made of reference data.
const COVER: &str = "cover";

/// The name of sessions that start an agent.
const AGENTS: &str = "agents";

/// A fixture with a field more.
fn with_field((file, object, field): (&str, &str, &str)) -> Session {
    let mut lines = lines_of(&project("fixtures").join(file));
    for (number, line) in lines.iter_mut().enumerate() {
        if let Some(object) = line.pointer_mut(object) {
            object[field] = json!(format!("added-{number}"));
        }
    }
    Session { name: "added".to_owned(), lines }
}

/// A session with a title that starts an agent, whose type the call names, or the result.
fn with_agent(input: &Value, result: &Value, title: &Value) -> Session {
    let line = |number: usize, kind: &str, fields: Value| {
        let mut line = json!({
            "type": kind, "uuid": format!("s{number}"), "sessionId": "starts", "cwd": "/w/starts",
            "timestamp": format!("2026-08-03T10:00:{number:02}Z"), "version": "2.1.219",
        });
        let all = line.as_object_mut().expect("an object");
        all.extend(fields.as_object().expect("an object").clone());
        line
    };
    let said = |role: &str, content: &Value| json!({"role": role, "content": content});
    let answer = |id: &str, content: Value| {
        let mut message = said("assistant", &json!([content]));
        message["id"] = json!(format!("msg_{id}"));
        message["model"] = json!("claude-opus-5");
        message["usage"] = json!({
            "input_tokens": 2, "output_tokens": 9, "cache_read_input_tokens": 0,
            "cache_creation_input_tokens": 9_000,
        });
        json!({"requestId": format!("req_{id}"), "message": message})
    };
    let call = json!({"type": "tool_use", "id": "toolu_1", "name": "Agent", "input": input});
    let results = json!([{"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"}]);
    let mut started = json!({"message": said("user", &results)});
    started["toolUseResult"] = result.clone();
    let mut of_agent = [
        line(4, "user", json!({"message": said("user", &json!("go"))})),
        line(5, "assistant", answer("2", json!({"type": "text", "text": "done"}))),
    ];
    for line in &mut of_agent {
        line["isSidechain"] = json!(true);
        line["agentId"] = json!("a1");
    }
    let mut lines = vec![
        line(1, "user", json!({"message": said("user", &json!("start"))})),
        line(2, "assistant", answer("1", call)),
        line(3, "user", started),
    ];
    lines.extend(of_agent);
    lines.push(line(6, "title", title.clone()));
    Session { name: AGENTS.to_owned(), lines }
}

/// Every session that is planted.
pub(super) fn sessions() -> Vec<Session> {
    let mut sessions = vec![
        with_agent(
            &json!({"subagent_type": "Explore"}),
            &json!({"agentId": "a1"}),
            &json!({"type": "ai-title", "aiTitle": "A title"}),
        ),
        with_agent(
            &json!({}),
            &json!({"agentId": "a1", "agentType": "Explore"}),
            &json!({"type": "custom-title", "customTitle": "A title"}),
        ),
    ];
    sessions.extend(ADDED.map(with_field));
    for path in files(project("fixtures"), ".jsonl") {
        sessions.push(Session { name: "fixture".to_owned(), lines: lines_of(&path) });
    }
    for path in files(project("fixtures"), ".json") {
        // A document of another agent's is one value.
        if path.to_string_lossy().contains("/agent-") {
            let text = fs::read_to_string(&path).expect("a document");
            let document = serde_json::from_str(&text).expect("JSON");
            sessions.push(Session { name: "document".to_owned(), lines: vec![document] });
        }
    }
    sessions.extend(cases(&project("tests/figures/placement")));
    for folder in ["corpus", "corpus-b", "agents", "captures"] {
        sessions.extend(shared(folder).map(|folder| covering(&folder)).unwrap_or_default());
    }
    let known = sessions.iter().flat_map(|session| session.lines.iter().flat_map(places_of));
    let known: BTreeSet<String> = known.collect();
    if let Some(path) = shared("reference/transcript-format.md") {
        let text = fs::read_to_string(path).expect("a reference");
        sessions.push(referenced(&text, &known));
    }
    sessions
}

/// A copy of a session with words in it.
fn planted(session: &Session, way: Way<'_>, words: &mut Words, number: usize) -> Session {
    let suffix = format!("-v{number}");
    let mut planter = Planter { words, given: BTreeMap::new(), way, is_odd: false, suffix };
    let mut lines = session.lines.clone();
    for (number, line) in lines.iter_mut().enumerate() {
        planter.is_odd = number % 2 == 1;
        planter.plant(line, "");
    }
    let word = words.word("name of the file");
    Session { name: format!("{}{number}-{word}", session.name), lines }
}

/// For each place that decides how a line is read sessions in which it is, the shortest ones with a request: two of the
/// project's own, so that what is shown of these does not depend on reference data, and one of that.
fn of_structure(sessions: &[Session]) -> BTreeMap<String, Vec<&Session>> {
    let mut found: BTreeMap<String, Vec<&Session>> = BTreeMap::new();
    for session in sessions {
        for place in session.lines.iter().flat_map(places_of).collect::<BTreeSet<_>>() {
            if STRUCTURE.contains(&field_of(&place).trim_end_matches("{}")) {
                found.entry(place).or_default().push(session);
            }
        }
    }
    for of_place in found.values_mut() {
        let has_request = |line: &Value| {
            let usage = line.pointer("/message/usage").or(line.pointer("/payload/info"));
            usage.or(line.get("request")).or(line.get("prompt")).is_some()
        };
        of_place.sort_by_key(|session| {
            let has_request = session.lines.iter().any(has_request);
            (session.name != AGENTS, !has_request, session.lines.len())
        });
        let (mut own, mut others): (Vec<_>, Vec<_>) =
            of_place.drain(..).partition(|session| !session.name.starts_with(COVER));
        own.truncate(2);
        others.truncate(1);
        of_place.extend(own.into_iter().chain(others));
    }
    found
}

/// Copies of sessions with words in all places.
pub(super) fn all_planted(sessions: &[Session], words: &mut Words) -> Vec<Session> {
    let mut all = Vec::new();
    for way in [Way::Alone, Way::Behind, Way::Keys] {
        for session in sessions {
            all.push(planted(session, way, words, all.len()));
        }
    }
    for (place, of_place) in of_structure(sessions) {
        for session in of_place {
            all.push(planted(session, Way::At(&place), words, all.len()));
        }
    }
    all
}
