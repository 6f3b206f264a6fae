//! Lines of bytes → requests and diagnostics.
//!
//! A `token_count` event follows each answer. Its `last_token_usage` is the request's; where its
//! `total_token_usage` is that of the event before, nothing was added and the event repeats it.
//!
//! The fields of a rollout's lines that matter, as they are spelled in the file.
//!
//! One source → its rollout.
//!
//! A rollout's requests.

use std::sync::Arc;

use serde::Deserialize;

use crate::base::id::{Symbol, Symbols};
use crate::base::units::{Millis, Tokens};
use crate::read::input::{
    Count, Diagnostics, Format, Kind, ObjectReader, OpenSource, Shape, Source, Text, moment,
};

/// No real prompt or answer comes near it; a larger number is damage and would only overflow sums.
const LARGEST_TOKEN_COUNT: u64 = 1_000_000_000_000;

/// Reads the lines of one file, in order.
pub(super) struct LineReader {
    rollout: Rollout,
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
    pub(super) fn new(label: &Arc<str>) -> Self {
        let rollout = Rollout {
            label: Arc::clone(label),
            session: None,
            forked_from: None,
            requests: Vec::new(),
            symbols: Symbols::default(),
            repeated: 0,
            without_usage: 0,
            diagnostics: Diagnostics::default(),
            bytes: 0,
            lines: 0,
        };
        Self { rollout, model: None, total: None, since: SinceUsage::default() }
    }

    pub(super) fn finish(self) -> Rollout {
        self.rollout
    }

    fn add(&mut self, object: &Line<'_>, line: u64) {
        let Some(payload) = object.payload.0.as_ref() else { return };
        let at = moment(&object.timestamp);
        match (object.r#type.as_str(), payload.r#type.as_str()) {
            (Some("session_meta"), _) => self.session(payload),
            (Some("turn_context"), _) => {
                self.model = self.symbol(&payload.model).or(self.model);
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
        let id = self.symbol(&payload.id);
        let forked_from = self.symbol(&payload.forked_from_id);
        if self.rollout.session.is_none() {
            self.rollout.session = id;
        }
        let other = id.filter(|id| Some(*id) != self.rollout.session);
        self.rollout.forked_from = self.rollout.forked_from.or(forked_from).or(other);
    }

    fn symbol(&mut self, text: &Text<'_>) -> Option<Symbol> {
        let text = text.as_str().filter(|text| !text.is_empty())?;
        Some(self.rollout.symbols.intern(text))
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
            self.rollout.without_usage += 1;
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
            Ok(request) => self.rollout.requests.push(request),
            Err((kind, detail)) => self.reject(kind, line, detail),
        }
    }

    /// Nothing was billed since the report before; an answer that began was interrupted.
    fn repeated_usage(&mut self) {
        self.rollout.repeated += 1;
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
    ) -> Result<RolloutRequest, (Kind, &'static str)> {
        let input = tokens(usage.input)?;
        let input = input.ok_or((Kind::MissingUsage, "the report has no input tokens"))?;
        let cached = tokens(usage.cached)?;
        if cached > Some(input) {
            return Err((Kind::InvalidUsage, "more is cached than was sent"));
        }
        let start = since.sent.or(at).ok_or((Kind::MissingTimestamp, "the request is left out"))?;
        let previous = self.rollout.requests.last().map(|request| request.start);
        let unknown = || self.rollout.symbols.intern("unknown");
        Ok(RolloutRequest {
            line,
            start: previous.map_or(start, |previous| start.max(previous)),
            model: self.model.unwrap_or_else(unknown),
            input,
            cached,
            written: tokens(usage.written)?,
            output: tokens(usage.output)?.unwrap_or_default(),
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
        let label = Arc::clone(&self.rollout.label);
        self.rollout.diagnostics.add(kind, &label, line, detail);
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

fn tokens(count: Count) -> Result<Option<Tokens>, (Kind, &'static str)> {
    match count {
        Count::Missing | Count::Null => Ok(None),
        Count::Value(value) if value <= LARGEST_TOKEN_COUNT => Ok(Some(Tokens(value))),
        Count::Value(_) | Count::Invalid => {
            Err((Kind::InvalidUsage, "a number of tokens that cannot be one"))
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Line<'a> {
    #[serde(borrow)]
    pub(super) timestamp: Text<'a>,
    #[serde(borrow)]
    pub(super) r#type: Text<'a>,
    #[serde(borrow)]
    pub(super) payload: Shape<Payload<'a>>,
}

/// What the payloads of all types have together.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Payload<'a> {
    #[serde(borrow)]
    pub(super) r#type: Text<'a>,
    /// Of a session.
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    #[serde(borrow)]
    pub(super) forked_from_id: Text<'a>,
    /// Of a turn.
    #[serde(borrow)]
    pub(super) model: Text<'a>,
    /// Of a message.
    #[serde(borrow)]
    pub(super) role: Text<'a>,
    /// Of a report of usage.
    pub(super) info: Shape<UsageInfo>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct UsageInfo {
    pub(super) total_token_usage: Shape<TokenUsage>,
    pub(super) last_token_usage: Shape<TokenUsage>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default)]
pub(super) struct TokenUsage {
    #[serde(rename = "input_tokens")]
    pub(super) input: Count,
    #[serde(rename = "cached_input_tokens")]
    pub(super) cached: Count,
    #[serde(rename = "cache_write_input_tokens")]
    pub(super) written: Count,
    #[serde(rename = "output_tokens")]
    pub(super) output: Count,
    #[serde(rename = "reasoning_output_tokens")]
    pub(super) reasoning: Count,
}

/// Reads a whole source as a rollout, line by line; `None` where it is none, or cannot be opened.
#[must_use]
pub fn load(source: &Source) -> Option<Rollout> {
    let mut open = OpenSource::open(source).ok()?;
    if open.format != Format::Rollout {
        return None;
    }
    let mut reader = LineReader::new(&source.label);
    let mut diagnostics = Diagnostics::default();
    let extent = open.read_in_order(&mut diagnostics, |number, line| reader.line(line, number));
    let mut rollout = reader.finish();
    rollout.diagnostics.absorb(diagnostics);
    rollout.bytes = extent.bytes;
    rollout.lines = extent.lines;
    Some(rollout)
}

/// The content of one rollout.
#[derive(Debug)]
pub struct Rollout {
    /// The file's name.
    pub label: Arc<str>,
    /// The session's id, as its first line has it.
    pub session: Option<Symbol>,
    /// The session it was forked from, whose lines it may repeat.
    pub forked_from: Option<Symbol>,
    /// Its requests, in file order.
    pub requests: Vec<RolloutRequest>,
    /// The strings the requests name.
    pub symbols: Symbols,
    /// Reports of usage that repeat the one before: of a request that failed, or of none.
    pub repeated: u64,
    /// Reports without usage, which only tell of rate limits.
    pub without_usage: u64,
    /// What was rejected or repaired.
    pub diagnostics: Diagnostics,
    /// Bytes read, after decompression.
    pub bytes: u64,
    /// Lines read.
    pub lines: u64,
}

/// A request, as the report of its usage shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RolloutRequest {
    /// The line of the report.
    pub line: u64,
    /// When it was sent: the time of the newest entry of the client's before the answer.
    pub start: Millis,
    /// The model of its turn.
    pub model: Symbol,
    /// `input_tokens`: the whole prompt.
    pub input: Tokens,
    /// `cached_input_tokens`: what of it was read from cache.
    pub cached: Option<Tokens>,
    /// `cache_write_input_tokens`, which only later clients report.
    pub written: Option<Tokens>,
    /// `output_tokens`, reasoning among them.
    pub output: Tokens,
    /// `reasoning_output_tokens`.
    pub reasoning: Tokens,
    /// Whether it is the first one of a turn of the user's.
    pub begins_turn: bool,
    /// Whether the conversation was compacted since the request before.
    pub is_after_compaction: bool,
    /// Whether an answer began and was not finished since the request before: a request that left
    /// no usage, but may have left its prompt in the cache.
    pub is_after_interruption: bool,
}
