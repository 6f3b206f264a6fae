//! Codex rollouts: one session a file.
//!
//! A `token_count` event follows each answer. Its `last_token_usage` is the request's; where its
//! `total_token_usage` is that of the event before, nothing was added and the event repeats it.

use serde::Deserialize;

use super::{AgentFile, AgentRequest, FirstObject, LineFormat, Rejected, Vendor, split, tokens};
use crate::base::id::Symbol;
use crate::base::units::Millis;
use crate::read::input::{Count, Kind, Shape, Text, Usage, moment};

/// The types of a rollout's lines.
const LINE_TYPES: [&str; 5] =
    ["session_meta", "turn_context", "event_msg", "response_item", "compacted"];

/// What is known of a rollout between two of its lines.
#[derive(Default)]
pub(super) struct Codex {
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

impl LineFormat for Codex {
    type Line<'a> = Line<'a>;
    const FILE: &'static str = "a rollout";

    fn recognises(first: &FirstObject<'_>) -> bool {
        first.has("payload") && first.is_one_of("type", &LINE_TYPES)
    }

    fn line(&mut self, line: &Line<'_>, number: u64, file: &mut AgentFile) -> Result<(), Rejected> {
        let Some(payload) = line.payload.0.as_ref() else { return Ok(()) };
        let at = moment(&line.timestamp);
        match (line.r#type.as_str(), payload.r#type.as_str()) {
            (Some("session_meta"), _) => self.session(payload, file),
            (Some("turn_context"), _) => self.model = file.symbol(&payload.model).or(self.model),
            (Some("compacted"), _) => self.compacted(at),
            (Some("event_msg"), Some("task_started")) => self.since.happened.begins_turn = true,
            (Some("event_msg"), Some("token_count")) => {
                return self.usage(payload, at, number, file);
            }
            (Some("event_msg"), Some("user_message")) => self.entry(Side::Client, at),
            (Some("response_item"), Some(kind)) => self.entry(side(kind, &payload.role), at),
            _ => {}
        }
        Ok(())
    }
}

impl Codex {
    /// The first line of a file is its session's; later ones repeat it where the session was
    /// resumed, or are those of the session it was forked from.
    fn session(&mut self, payload: &Payload<'_>, file: &mut AgentFile) {
        if self.session.is_some() {
            return;
        }
        self.session = file.symbol(&payload.id);
        self.project = file.symbol(&payload.cwd);
        self.client_version = file.symbol(&payload.cli_version);
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

    /// Adds the request of a report, unless the report repeats the one before or only tells of rate
    /// limits.
    fn usage(
        &mut self,
        payload: &Payload<'_>,
        at: Option<Millis>,
        line: u64,
        file: &mut AgentFile,
    ) -> Result<(), Rejected> {
        let info = payload.info.0.as_ref();
        let Some(last) = info.and_then(|info| info.last_token_usage.0.as_ref()) else {
            return Ok(());
        };
        let total = info.and_then(|info| info.total_token_usage.0.as_ref());
        if total.is_some() && total == self.total.as_ref() {
            self.repeated_usage();
            return Ok(());
        }
        self.total = total.copied();
        let since = std::mem::take(&mut self.since);
        // What the client adds to an answer goes out with the next request.
        self.since.sent = since.sent_next.or(at);
        let request = self.request(last, since, (line, at), file)?;
        file.requests.push(request);
        Ok(())
    }

    /// Nothing was billed since the report before; an answer that began was interrupted.
    fn repeated_usage(&mut self) {
        let since = &mut self.since;
        since.happened.is_after_interruption |= since.has_answer;
        since.has_answer = false;
        since.sent = since.sent_next.take().or(since.sent);
    }

    fn request(
        &self,
        usage: &TokenUsage,
        since: SinceUsage,
        (line, at): (u64, Option<Millis>),
        file: &mut AgentFile,
    ) -> Result<AgentRequest, Rejected> {
        let prompt = split(usage.input, usage.cached, usage.written)?;
        let output = tokens(usage.output)?.unwrap_or_default();
        let usage_of_request = Usage { prompt, output, ..Usage::default() };
        let start = since.sent.or(at).ok_or((Kind::MissingTimestamp, "the request is left out"))?;
        let previous = file.requests.last().map(|request| request.start);
        let start = previous.map_or(start, |previous| start.max(previous));
        let model = self.model.unwrap_or_else(|| file.symbols.intern("unknown"));
        let times = (start, at.unwrap_or(start));
        Ok(AgentRequest {
            session: self.session,
            project: self.project,
            client_version: self.client_version,
            // A report that says more contradicts itself: its output is what is billed.
            reasoning: tokens(usage.reasoning)?.unwrap_or_default().min(output),
            begins_turn: since.happened.begins_turn,
            is_after_compaction: since.happened.is_after_compaction,
            is_after_interruption: since.happened.is_after_interruption,
            ..AgentRequest::new(line, model, Vendor::OpenAi, times, usage_of_request)
        })
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
pub(super) struct Line<'a> {
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
