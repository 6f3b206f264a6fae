//! Codex rollouts: one session a file.
//!
//! A `token_count` event follows each answer. Its `last_token_usage` is the request's; where its
//! `total_token_usage` is that of the event before, nothing was added and the event repeats it.

use serde::Deserialize;

use super::{AgentFile, AgentFormat, AgentRequest, FirstObject, Vendor, split, tokens};
use crate::base::id::Symbol;
use crate::base::units::Millis;
use crate::read::input::{Count, Kind, ObjectReader, OpenSource, Shape, Text, Usage, moment};

/// The types of a rollout's lines.
const LINE_TYPES: [&str; 5] =
    ["session_meta", "turn_context", "event_msg", "response_item", "compacted"];

/// The format.
pub(super) struct Codex;

impl AgentFormat for Codex {
    fn recognises(&self, first: &FirstObject<'_>) -> bool {
        first.has_object("payload") && first.is_one_of("type", &LINE_TYPES)
    }

    fn read(&self, open: &mut OpenSource) -> AgentFile {
        let reader = LineReader {
            file: AgentFile::of(open),
            session: None,
            project: None,
            client_version: None,
            model: None,
            total: None,
            since: SinceUsage::default(),
        };
        AgentFile::read_lines(open, reader, |reader| reader.file)
    }
}

/// Reads the lines of one file, in order.
struct LineReader {
    file: AgentFile,
    session: Option<Symbol>,
    project: Option<Symbol>,
    client_version: Option<Symbol>,
    model: Option<Symbol>,
    total: Option<TokenUsage>,
    since: SinceUsage,
}

/// What stands after the last report of usage.
#[derive(Clone, Copy, Debug, Default)]
struct SinceUsage {
    /// The newest entry of the client's before the answer.
    sent: Option<Millis>,
    /// The newest entry of the client's after the first part of the answer: the next request's.
    sent_next: Option<Millis>,
    has_answer: bool,
    happened: Happened,
}

/// What happened before the next request.
#[derive(Clone, Copy, Debug, Default)]
struct Happened {
    begins_turn: bool,
    is_after_compaction: bool,
    is_after_interruption: bool,
}

/// Whose entry a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Client,
    Model,
}

impl LineReader {
    fn add(&mut self, object: &Line<'_>, line: u64) {
        let Some(payload) = object.payload.0.as_ref() else { return };
        let at = moment(&object.timestamp);
        match (object.r#type.as_str(), payload.r#type.as_str()) {
            (Some("session_meta"), _) => self.session(payload),
            (Some("turn_context"), _) => {
                self.model = self.file.symbol(&payload.model).or(self.model);
            }
            (Some("compacted"), _) => self.compacted(at),
            (Some("event_msg"), Some("task_started")) => self.since.happened.begins_turn = true,
            (Some("event_msg"), Some("token_count")) => self.usage(payload, at, line),
            (Some("event_msg"), Some("user_message")) => self.entry(Side::Client, at),
            (Some("response_item"), Some(kind)) => self.entry(side(kind, &payload.role), at),
            _ => {}
        }
    }

    /// The first line of a file is its session's; later ones repeat it where the session was
    /// resumed, or are those of the session it was forked from.
    fn session(&mut self, payload: &Payload<'_>) {
        if self.session.is_some() {
            return;
        }
        self.session = self.file.symbol(&payload.id);
        self.project = self.file.symbol(&payload.cwd);
        self.client_version = self.file.symbol(&payload.cli_version);
    }

    /// What comes next is sent after it.
    fn compacted(&mut self, at: Option<Millis>) {
        self.since.happened.is_after_compaction = true;
        self.since.has_answer = false;
        self.since.sent_next = None;
        self.since.sent = at.or(self.since.sent);
    }

    fn entry(&mut self, side: Side, at: Option<Millis>) {
        let since = &mut self.since;
        match side {
            Side::Model => since.has_answer = true,
            Side::Client if since.has_answer => since.sent_next = at.or(since.sent_next),
            Side::Client => since.sent = at.or(since.sent),
        }
    }

    fn usage(&mut self, payload: &Payload<'_>, at: Option<Millis>, line: u64) {
        let info = payload.info.0.as_ref();
        let Some(last) = info.and_then(|info| info.last_token_usage.0.as_ref()) else {
            // It only tells of rate limits.
            return;
        };
        let total = info.and_then(|info| info.total_token_usage.0.as_ref());
        if total.is_some() && total == self.total.as_ref() {
            return self.repeated_usage();
        }
        self.total = total.copied();
        let since = std::mem::take(&mut self.since);
        // What the client adds to an answer goes out with the next request.
        self.since.sent = since.sent_next.or(at);
        match self.request(last, since, at, line) {
            Ok(request) => self.file.requests.push(request),
            Err((kind, detail)) => self.reject(kind, line, detail),
        }
    }

    /// Nothing was billed since the report before; an answer that began was interrupted.
    fn repeated_usage(&mut self) {
        let since = &mut self.since;
        since.happened.is_after_interruption |= since.has_answer;
        since.has_answer = false;
        since.sent = since.sent_next.take().or(since.sent);
    }

    fn request(
        &mut self,
        usage: &TokenUsage,
        since: SinceUsage,
        at: Option<Millis>,
        line: u64,
    ) -> Result<AgentRequest, (Kind, &'static str)> {
        let prompt = split(usage.input, usage.cached, usage.written)?;
        let start = since.sent.or(at).ok_or((Kind::MissingTimestamp, "the request is left out"))?;
        let previous = self.file.requests.last().map(|request| request.start);
        let start = previous.map_or(start, |previous| start.max(previous));
        let unknown = || self.file.symbols.intern("unknown");
        let output = tokens(usage.output)?.unwrap_or_default();
        Ok(AgentRequest {
            line,
            session: self.session,
            project: self.project,
            client_version: self.client_version,
            model: self.model.unwrap_or_else(unknown),
            vendor: Vendor::OpenAi,
            start,
            finished: at.unwrap_or(start).max(start),
            usage: Usage { prompt, output, ..Usage::default() },
            reasoning: tokens(usage.reasoning)?.unwrap_or_default(),
            begins_turn: since.happened.begins_turn,
            is_after_compaction: since.happened.is_after_compaction,
            is_after_interruption: since.happened.is_after_interruption,
        })
    }
}

impl ObjectReader for LineReader {
    type Object<'a> = Line<'a>;
    const FILE: &'static str = "a rollout";

    fn object(&mut self, object: &Line<'_>, _: &str, line: u64) {
        self.add(object, line);
    }

    fn reject(&mut self, kind: Kind, line: u64, detail: impl Into<String>) {
        self.file.reject(kind, line, detail);
    }
}

/// Whose entry a response item is: results, messages of the user's and those of other agents are
/// the client's.
fn side(kind: &str, role: &Text<'_>) -> Side {
    let is_clients = match kind {
        "message" => !role.is("assistant"),
        "agent_message" => true,
        other => other.ends_with("_output"),
    };
    if is_clients { Side::Client } else { Side::Model }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Line<'a> {
    #[serde(borrow)]
    timestamp: Text<'a>,
    #[serde(borrow)]
    r#type: Text<'a>,
    #[serde(borrow)]
    payload: Shape<Payload<'a>>,
}

/// What the payloads of all types have together.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Payload<'a> {
    #[serde(borrow)]
    r#type: Text<'a>,
    /// Of a session.
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    cwd: Text<'a>,
    #[serde(borrow)]
    cli_version: Text<'a>,
    /// Of a turn.
    #[serde(borrow)]
    model: Text<'a>,
    /// Of a message.
    #[serde(borrow)]
    role: Text<'a>,
    /// Of a report of usage.
    info: Shape<UsageInfo>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct UsageInfo {
    total_token_usage: Shape<TokenUsage>,
    last_token_usage: Shape<TokenUsage>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default)]
struct TokenUsage {
    #[serde(rename = "input_tokens")]
    input: Count,
    #[serde(rename = "cached_input_tokens")]
    cached: Count,
    #[serde(rename = "cache_write_input_tokens")]
    written: Count,
    #[serde(rename = "output_tokens")]
    output: Count,
    #[serde(rename = "reasoning_output_tokens")]
    reasoning: Count,
}
