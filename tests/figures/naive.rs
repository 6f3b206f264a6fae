//! The rules of the cache a second time, as plainly as they can be written: an entry holds the
//! whole text of its prefix, and every look-up walks all entries. It shares no code with the
//! program, so that what `random_captures` compares are two readings of the same rules.

mod json;

use std::collections::BTreeMap;

use serde_json::Value;

pub(crate) use json::Json;

const FIVE_MINUTES: i64 = 300_000;
const ONE_HOUR: i64 = 3_600_000;
const LOOKBACK_POSITIONS: usize = 20;
const MOST_MARKERS: usize = 4;

/// What the rules say about a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    Tokens {
        input_tokens: u64,
        cache_read_input_tokens: u64,
        ephemeral_5m_input_tokens: u64,
        ephemeral_1h_input_tokens: u64,
    },
    Invalid(String),
}

impl Expected {
    /// From an expectation of a conformance case or a row of the program.
    pub(crate) fn of(row: &Value) -> Self {
        if let Some(reason) = row["invalid"].as_str() {
            return Self::Invalid(reason.to_owned());
        }
        Self::Tokens {
            input_tokens: count(row, "input_tokens"),
            cache_read_input_tokens: count(row, "cache_read_input_tokens"),
            ephemeral_5m_input_tokens: count(row, "ephemeral_5m_input_tokens"),
            ephemeral_1h_input_tokens: count(row, "ephemeral_1h_input_tokens"),
        }
    }
}

/// What the rules say about a request, and what it took to say so.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) expected: Expected,
    /// Names of what happened, for statistics about random captures.
    pub(crate) happenings: Vec<&'static str>,
}

/// The figures of these capture records, in the order in which they are given.
pub(crate) fn simulate(records: &[impl AsRef<str>], bytes_per_token: u64) -> Vec<Expected> {
    explain(records, bytes_per_token).into_iter().map(|answer| answer.expected).collect()
}

/// The same, with what happened.
pub(crate) fn explain(records: &[impl AsRef<str>], bytes_per_token: u64) -> Vec<Answer> {
    let requests: Vec<Request> =
        records.iter().map(|record| Request::parse(record.as_ref(), bytes_per_token)).collect();
    let mut in_time_order: Vec<usize> = (0..requests.len()).collect();
    in_time_order.sort_by_key(|number| requests[*number].start);
    let mut cache = Cache::default();
    let mut answers: Vec<(usize, Answer)> =
        in_time_order.into_iter().map(|number| (number, cache.answer(&requests[number]))).collect();
    answers.sort_by_key(|(number, _)| *number);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Marker {
    ttl: i64,
    is_global: bool,
}

impl Marker {
    fn of(owner: &Json) -> Option<Self> {
        let marker = owner.get("cache_control")?;
        Some(Self {
            ttl: if marker.text("ttl") == Some("1h") { ONE_HOUR } else { FIVE_MINUTES },
            is_global: marker.text("scope") == Some("global"),
        })
    }

    /// A tool result without a marker of its own has that of the last block in it.
    fn of_block(block: &Json) -> Option<Self> {
        let inner = match block.text("type") {
            Some("tool_result") => block.items("content").last(),
            _ => None,
        };
        Self::of(block).or_else(|| Self::of(inner?))
    }
}

/// A tool, a system block or a message block.
#[derive(Debug)]
struct Block {
    kind: String,
    marker: Option<Marker>,
    position: usize,
    /// How many pieces the prefix has that ends with this block.
    pieces: usize,
    /// The tokens of that prefix.
    end: u64,
}

impl Block {
    fn can_carry_a_marker(&self) -> bool {
        !THINKING.contains(&&*self.kind)
    }
}

#[derive(Debug)]
struct Request {
    start: i64,
    readable_from: i64,
    scope: String,
    minimum: u64,
    automatic: Option<Marker>,
    /// The settings of each level and all blocks, in the order of the prefix.
    pieces: Vec<String>,
    blocks: Vec<Block>,
    total: u64,
    /// Why the service refuses the request whatever its markers are, the first reason in its order.
    refusal: Option<&'static str>,
}

impl Request {
    fn parse(record: &str, bytes_per_token: u64) -> Self {
        let record = Json::parse(record);
        let body = record.get("request").expect("a request in the record");
        let model = body.text("model").expect("a model in the request");
        let start = milliseconds(record.text("timestamp").expect("the start of the request"));
        let mut request = Self {
            start,
            readable_from: record.text("response_started_at").map_or(start, milliseconds),
            scope: record.text("scope").unwrap_or("default").to_owned(),
            minimum: minimum_of(model),
            automatic: Marker::of(body),
            pieces: vec![model.to_owned()],
            blocks: Vec::new(),
            total: 0,
            refusal: None,
        };
        for tool in body.items("tools") {
            if is_deferred(tool) {
                request.refuse(tool.get("cache_control").is_some(), "deferred_marker");
            } else {
                request.push("", tool, bytes_per_token);
            }
        }
        request.pieces.push(settings_of_the_system(body));
        for block in blocks_of(body.get("system")) {
            request.push("", &block, bytes_per_token);
        }
        request.pieces.push(settings_of_the_messages(body));
        let messages = body.items("messages");
        let turn = messages.iter().rposition(begins_turn).unwrap_or(0);
        for (number, message) in messages.iter().enumerate() {
            let mut role = message.text("role").unwrap_or_default();
            request.refuse(is_old(model) && role == "system", "system_role");
            for block in blocks_of(message.get("content")) {
                // Old models drop the thinking of earlier turns. A marker on it is refused before that.
                let is_dropped = is_old(model) && number < turn && is_thinking(&block);
                if is_dropped && block.get("cache_control").is_none() {
                    continue;
                }
                request.push(role, &block, bytes_per_token);
                role = "";
            }
        }
        request.refuse(body.get("cache_control").is_some_and(is_unknown), "unknown_marker");
        request
    }

    fn refuse(&mut self, is_refused: bool, reason: &'static str) {
        if is_refused {
            self.refusal.get_or_insert(reason);
        }
    }

    /// Takes the next block of the prefix; `role` is that of the message it opens.
    fn push(&mut self, role: &str, block: &Json, bytes_per_token: u64) {
        let inner = block.items("content").last().and_then(|inner| inner.get("cache_control"));
        let marker = block.get("cache_control").or(inner);
        self.refuse(marker.is_some_and(is_unknown), "unknown_marker");
        let bytes = block.without("cache_control").canonical();
        let kind = block.text("type").unwrap_or_default();
        let position = match self.blocks.last() {
            Some(last) if last.kind == kind && ["tool_use", "tool_result"].contains(&kind) => {
                last.position
            }
            Some(last) => last.position + 1,
            None => 0,
        };
        self.total += (bytes.len() as u64).div_ceil(bytes_per_token);
        self.pieces.push(format!("{role}{bytes}"));
        self.blocks.push(Block {
            kind: kind.to_owned(),
            marker: Marker::of_block(block),
            position,
            pieces: self.pieces.len(),
            end: self.total,
        });
    }

    /// The markers by the number of their block, or why the service refuses the request.
    fn markers(&self) -> Result<BTreeMap<usize, Marker>, &'static str> {
        let marked = |(number, block): (usize, &Block)| Some((number, block.marker?));
        let mut markers: BTreeMap<usize, Marker> =
            self.blocks.iter().enumerate().filter_map(marked).collect();
        let last = self.blocks.iter().rposition(Block::can_carry_a_marker);
        if let (Some(automatic), Some(last)) = (self.automatic, last) {
            let there = markers.entry(last).or_insert(automatic);
            if there.ttl != automatic.ttl {
                return Err("ttl_conflict");
            }
        }
        if markers.len() > MOST_MARKERS {
            return Err("too_many_breakpoints");
        }
        if !markers.values().is_sorted_by_key(|marker| -marker.ttl) {
            return Err("ttl_order");
        }
        if markers.keys().any(|number| !self.blocks[*number].can_carry_a_marker()) {
            return Err("unmarkable_block");
        }
        self.refusal.map_or(Ok(markers), Err)
    }

    fn prefix(&self, block: usize) -> &[String] {
        &self.pieces[..self.blocks[block].pieces]
    }

    /// The scope in which an entry of this marker lives; global ones have none.
    fn scope_of(&self, marker: Marker) -> Option<&str> {
        (!marker.is_global).then_some(&*self.scope)
    }
}

fn milliseconds(time: &str) -> i64 {
    time.parse::<jiff::Timestamp>().expect("a time").as_millisecond()
}

fn minimum_of(model: &str) -> u64 {
    if model.starts_with("claude-opus-5") {
        512
    } else if model.starts_with("claude-haiku-4-5") {
        4_096
    } else {
        1_024
    }
}

/// The models before those that keep earlier thinking and take the role `system`.
fn is_old(model: &str) -> bool {
    ["claude-sonnet-4", "claude-haiku-4"].iter().any(|family| model.starts_with(family))
}

const THINKING: [&str; 2] = ["thinking", "redacted_thinking"];

fn is_thinking(block: &Json) -> bool {
    THINKING.contains(&block.text("type").unwrap_or_default())
}

/// A message that is neither an answer nor only results of tools.
fn begins_turn(message: &Json) -> bool {
    message.text("role") != Some("assistant")
        && (matches!(message.get("content"), Some(Json::Text(_)))
            || message
                .items("content")
                .iter()
                .any(|block| block.text("type") != Some("tool_result")))
}

/// A marker of a type or a lifetime that the service does not have.
fn is_unknown(marker: &Json) -> bool {
    let other = |key, known: &[&str]| match marker.get(key) {
        Some(_) => !marker.text(key).is_some_and(|text| known.contains(&text)),
        None => false,
    };
    other("type", &["ephemeral"]) || other("ttl", &["5m", "1h"])
}

fn is_deferred(tool: &Json) -> bool {
    tool.get("defer_loading") == Some(&Json::Bool(true))
}

/// The blocks of a body; a string is one text block.
fn blocks_of(content: Option<&Json>) -> Vec<Json> {
    match content {
        Some(Json::List(blocks)) => blocks.clone(),
        Some(text @ Json::Text(_)) => {
            let kind = ("type".to_owned(), Json::Text("text".to_owned()));
            vec![Json::Object(vec![kind, ("text".to_owned(), text.clone())])]
        }
        _ => Vec::new(),
    }
}

fn settings_of_the_system(body: &Json) -> String {
    let is_cited = |block: &Json| {
        ["document", "search_result"].contains(&block.text("type").unwrap_or_default())
            && block.get("citations").and_then(|citations| citations.get("enabled"))
                == Some(&Json::Bool(true))
    };
    let speed = body.text("speed").unwrap_or("standard");
    format!("speed {speed}, citations {}", any_in_messages(body, is_cited))
}

fn settings_of_the_messages(body: &Json) -> String {
    let output = |key| body.get("output_config").and_then(|output| output.get(key));
    let settings =
        [body.get("tool_choice"), body.get("thinking"), output("effort"), output("format")];
    // A default that is spelled out is as if it were not: Opus 5 thinks, Sonnet 4.5 does not.
    let is_loaded = |tool: &Json| tool.get("defer_loading") != Some(&Json::Bool(true));
    let choice = if body.items("tools").iter().any(is_loaded) { "auto" } else { "none" };
    let thinking =
        if body.text("model") == Some("claude-opus-5") { "adaptive" } else { "disabled" };
    let defaults = [choice, thinking].map(|kind| format!(r#"{{"type":"{kind}"}}"#));
    let settings =
        settings.map(|setting| setting.map_or_else(|| "none".to_owned(), Json::canonical));
    let is_default = |(at, value): (usize, &String)| defaults.get(at) == Some(value);
    let settings: Vec<String> = settings
        .iter()
        .enumerate()
        .map(|one| if is_default(one) { "none".to_owned() } else { one.1.clone() })
        .collect();
    let has_image = any_in_messages(body, |block| block.text("type") == Some("image"));
    format!("{}\nimage {has_image}", settings.join("\n"))
}

/// Whether there is such a block in the messages or in a tool result there.
fn any_in_messages(body: &Json, is_such: impl Fn(&Json) -> bool) -> bool {
    body.items("messages").iter().flat_map(|message| message.items("content")).any(|block| {
        is_such(block)
            || block.text("type") == Some("tool_result")
                && block.items("content").iter().any(&is_such)
    })
}

/// What a marker stored.
#[derive(Debug)]
struct Entry {
    scope: Option<String>,
    prefix: Vec<String>,
    ttl: i64,
    last_used: i64,
    readable_from: i64,
}

impl Entry {
    fn is_alive(&self, now: i64) -> bool {
        now - self.last_used < self.ttl
    }

    fn is_readable(&self, now: i64) -> bool {
        now >= self.readable_from
    }

    fn is_of(&self, scope: Option<&str>) -> bool {
        self.scope.as_deref() == scope
    }
}

/// The rules that can keep a request from reading more; statistics ask what it would have read
/// without one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    Life,
    Readability,
    Reach,
    Scope,
}

const LIMITS: [(Limit, &str); 4] = [
    (Limit::Life, "missed: expired"),
    (Limit::Readability, "missed: not readable yet"),
    (Limit::Reach, "missed: out of reach"),
    (Limit::Scope, "missed: of another scope"),
];

#[derive(Debug, Default)]
struct Cache {
    entries: Vec<Entry>,
    happenings: Vec<&'static str>,
}

impl Cache {
    fn answer(&mut self, request: &Request) -> Answer {
        let expected = match request.markers() {
            Ok(markers) => self.serve(request, markers),
            Err(reason) => {
                self.happenings.push(reason);
                Expected::Invalid(reason.to_owned())
            }
        };
        Answer { expected, happenings: std::mem::take(&mut self.happenings) }
    }

    fn serve(&mut self, request: &Request, mut markers: BTreeMap<usize, Marker>) -> Expected {
        let asked = markers.len();
        markers.retain(|block, _| request.blocks[*block].end >= request.minimum);
        self.note(markers.len() < asked, "marker under the minimum");
        let hit = self.longest(request, &markers, None);
        for (limit, name) in LIMITS {
            self.note(self.longest(request, &markers, Some(limit)) > hit, name);
        }
        if let Some(hit) = hit {
            self.refresh(request, hit);
        }
        for (block, marker) in &markers {
            self.store(request, *block, *marker, hit);
        }
        bill(request, &markers, hit)
    }

    /// The last block of the longest prefix that a marker finds, one limit left out of account.
    fn longest(
        &self,
        request: &Request,
        markers: &BTreeMap<usize, Marker>,
        without: Option<Limit>,
    ) -> Option<usize> {
        let counts = |limit| without != Some(limit);
        let is_found = |marker: Marker, block: usize| {
            self.entries.iter().any(|entry| {
                entry.prefix == request.prefix(block)
                    && (entry.is_of(request.scope_of(marker)) || !counts(Limit::Scope))
                    && (entry.is_alive(request.start) || !counts(Limit::Life))
                    && (entry.is_readable(request.start) || !counts(Limit::Readability))
            })
        };
        let is_in_reach = |marked: usize, block: usize| {
            let back = request.blocks[marked].position - request.blocks[block].position;
            back < LOOKBACK_POSITIONS || !counts(Limit::Reach)
        };
        let found = |(marked, marker): (&usize, &Marker)| {
            let mut walk = (0..=*marked).rev().filter(|block| is_in_reach(*marked, *block));
            walk.find(|block| is_found(*marker, *block))
        };
        markers.iter().filter_map(found).max()
    }

    /// A read uses every entry on its path, whichever marker found it.
    fn refresh(&mut self, request: &Request, hit: usize) {
        let now = request.start;
        let path = request.prefix(hit);
        self.happenings.push("read");
        for entry in &mut self.entries {
            let is_ours = entry.is_of(Some(&request.scope)) || entry.is_of(None);
            let is_there = entry.is_alive(now) && entry.is_readable(now);
            if !is_ours || !is_there || !path.starts_with(&entry.prefix) {
                continue;
            }
            entry.last_used = now;
            let is_hit = entry.prefix.len() == path.len();
            self.happenings.push(match (is_hit, &entry.scope) {
                (true, None) => "read: up to a global entry",
                (true, Some(_)) => "read: up to an entry of the scope",
                (false, _) => "refreshed below the read",
            });
        }
    }

    /// Stores the prefix of a marker, unless its entry is there already.
    fn store(&mut self, request: &Request, block: usize, marker: Marker, hit: Option<usize>) {
        let now = request.start;
        let scope = request.scope_of(marker);
        let prefix = request.prefix(block);
        let is_free = hit.is_some_and(|hit| block <= hit);
        let fresh = Entry {
            scope: scope.map(str::to_owned),
            prefix: prefix.to_vec(),
            ttl: marker.ttl,
            last_used: now,
            readable_from: request.readable_from,
        };
        let same = |entry: &&mut Entry| entry.is_of(scope) && entry.prefix == prefix;
        match self.entries.iter_mut().find(same) {
            Some(entry) if entry.is_alive(now) && entry.is_readable(now) => return,
            Some(entry) if entry.is_alive(now) => {
                let is_other = entry.ttl != fresh.ttl;
                entry.ttl = entry.ttl.max(fresh.ttl);
                entry.last_used = entry.last_used.max(fresh.last_used);
                entry.readable_from = entry.readable_from.min(fresh.readable_from);
                self.happenings.push("merged with a sibling");
                self.note(is_other, "merged with a sibling of another TTL");
                self.note(is_free, "merged with a sibling below the read");
                return;
            }
            Some(entry) => *entry = fresh,
            None => self.entries.push(fresh),
        }
        self.happenings.push(if is_free { "stored free of charge" } else { "written" });
    }

    fn note(&mut self, is_so: bool, name: &'static str) {
        if is_so {
            self.happenings.push(name);
        }
    }
}

fn bill(request: &Request, markers: &BTreeMap<usize, Marker>, hit: Option<usize>) -> Expected {
    let end = |block: usize| request.blocks[block].end;
    let read = hit.map_or(0, end);
    let behind_the_read = markers.iter().filter(|(block, _)| end(**block) > read);
    let mut hour = read;
    let mut last = read;
    for (block, marker) in behind_the_read {
        last = end(*block);
        if marker.ttl == ONE_HOUR {
            hour = last;
        }
    }
    Expected::Tokens {
        input_tokens: request.total - last,
        cache_read_input_tokens: read,
        ephemeral_5m_input_tokens: last - hour,
        ephemeral_1h_input_tokens: hour - read,
    }
}

/// A token column of a row.
fn count(row: &Value, column: &str) -> u64 {
    row[column].as_u64().unwrap_or_else(|| panic!("{column} in {row}"))
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;
    use crate::common::{files, project};

    /// A conformance case.
    #[derive(serde::Deserialize)]
    struct Case<'a> {
        #[serde(borrow)]
        requests: Vec<&'a RawValue>,
        expect: Vec<Value>,
    }

    #[test]
    fn the_conformance_cases_hold() {
        let cases = files(project("tests/figures/conformance"), ".json");
        assert!(cases.len() >= 63, "only {} cases", cases.len());
        for path in cases {
            let text = std::fs::read_to_string(&path).expect("a case");
            let case: Case = serde_json::from_str(&text).expect("a case");
            let records: Vec<&str> = case.requests.iter().map(|record| record.get()).collect();
            let expected: Vec<Expected> = case.expect.iter().map(Expected::of).collect();
            assert_eq!(simulate(&records, 1), expected, "{}", path.display());
        }
    }
}
