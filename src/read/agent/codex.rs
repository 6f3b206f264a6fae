//! Codex rollouts: one thread a file.
//!
//! A `token_count` event follows each answer and the tools that it called. Its `last_token_usage` is the
//! request's; where its `total_token_usage` is that of the event before, nothing was added and the event
//! repeats it. One without input is an estimate after a compaction. From 0.153 on a `token_usage_record`
//! stands for each response, and from the first of them on they alone count.
//!
//! A thread that was forked begins with a copy of its parent's lines, written in one burst: their times
//! are those of the copy, so that only the burst tells them from the thread's own lines.

use rustc_hash::FxHashMap;
use serde::Deserialize;

use super::pieces::Size;
use super::request::Happened;
use super::{
    AgentFile, AgentRequest, FirstObject, Layout, LineFormat, Rejected, Vendor, split, tokens,
};
use crate::base::client::Client;
use crate::base::id::{EntryId, Symbol};
use crate::base::units::Millis;
use crate::read::input::{Count, Kind, Shape, Text, Usage, moment};
use crate::read::transcript::{ContentKind, ContentSource};

/// The types of a rollout's lines.
const LINE_TYPES: [&str; 5] =
    ["session_meta", "turn_context", "event_msg", "response_item", "compacted"];

/// Lines of a copy are written within this time of each other, in milliseconds. (Measured: 10 at most;
/// the first line of the thread's own comes after 600 and more.)
const LONGEST_PAUSE_IN_COPY: i64 = 250;

/// What is known of a rollout between two of its lines.
#[derive(Default)]
pub(super) struct Codex {
    session: Option<Symbol>,
    /// The thread, where another one started it.
    agent: Option<Symbol>,
    project: Option<Symbol>,
    client_version: Option<Symbol>,
    model: Option<Symbol>,
    total: Option<TokenUsage>,
    since: SinceUsage,
    /// The tools that were called, by the calls.
    tools: FxHashMap<EntryId, Symbol>,
    /// Whether records of usage were seen, beside which events repeat.
    has_records: bool,
    /// The time of the last line of the copy that the file begins with, while that goes on.
    copied: Option<Millis>,
}

/// What stands after the last report of usage.
#[derive(Clone, Copy, Debug, Default)]
struct SinceUsage {
    /// The newest entry of the client's before the answer.
    sent: Option<Millis>,
    /// The newest entry of the client's after the first part of the answer: the next request's.
    sent_next: Option<Millis>,
    /// The newest part of the answer.
    answered: Option<Millis>,
    has_answer: bool,
    happened: Happened,
    /// What happened after the first part of the answer: before the next request.
    next: Happened,
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
    const LAYOUT: Option<Layout> = Some(Layout::Rollout);

    fn recognises(first: &FirstObject<'_>) -> bool {
        first.has("payload") && first.is_one_of("type", &LINE_TYPES)
    }

    fn line(&mut self, line: &Line<'_>, number: u64, file: &mut AgentFile) -> Result<(), Rejected> {
        let Some(payload) = line.payload.0.as_ref() else { return Ok(()) };
        let at = moment(&line.timestamp);
        if self.is_copied(at) {
            self.copy(line, payload, file);
            return Ok(());
        }
        match (line.r#type.as_str(), payload.r#type.as_str()) {
            (Some("session_meta"), _) => self.session(payload, at, file),
            (Some("turn_context"), _) => self.model = file.symbol(&payload.model).or(self.model),
            (Some("compacted"), _) => self.compacted(payload, (number, at), file),
            (Some("event_msg"), Some("task_started")) => self.since.happened.begins_turn = true,
            (Some("token_usage_record"), _) => return self.record(payload, at, number, file),
            (Some("event_msg"), Some("token_count")) => {
                return self.usage(payload, at, number, file);
            }
            (Some("event_msg"), Some("user_message")) => self.entry(Side::Client, at),
            (Some("response_item"), Some(kind)) => {
                let side = side(kind, &payload.role);
                self.entry(side, at);
                self.content(kind, side, payload, number, file);
            }
            _ => {}
        }
        Ok(())
    }
}

impl Codex {
    /// The first line of a file is its thread's; later ones repeat it where the thread was resumed, or
    /// are those of the thread it was forked from.
    fn session(&mut self, payload: &Payload<'_>, at: Option<Millis>, file: &mut AgentFile) {
        if self.session.is_some() {
            return;
        }
        let own = file.symbol(&payload.id);
        let root = payload
            .parent()
            .and_then(|parent| file.symbol(&payload.session_id).or_else(|| file.symbol(parent)));
        self.agent = own.filter(|own| root.is_some_and(|root| root != *own));
        self.session = root.or(own);
        self.project = file.symbol(&payload.cwd);
        self.client_version = file.symbol(&payload.cli_version);
        self.copied = at.filter(|_| payload.forked_from_id.as_str().is_some());
    }

    /// Whether a line belongs to the copy that the file begins with.
    fn is_copied(&mut self, at: Option<Millis>) -> bool {
        let goes_on = self
            .copied
            .zip(at)
            .is_some_and(|(last, at)| (0..=LONGEST_PAUSE_IN_COPY).contains(&at.since(last)));
        self.copied = at.filter(|_| goes_on);
        goes_on
    }

    /// Takes over what the thread goes on from.
    fn copy(&mut self, line: &Line<'_>, payload: &Payload<'_>, file: &mut AgentFile) {
        if line.r#type.is("turn_context") {
            self.model = file.symbol(&payload.model).or(self.model);
        }
        let info = payload.info.0.as_ref();
        let total = info.and_then(|info| info.total_token_usage.0.as_ref());
        self.total = total.copied().or(self.total);
    }

    /// What comes next is sent after it.
    fn compacted(
        &mut self,
        payload: &Payload<'_>,
        (line, at): (u64, Option<Millis>),
        file: &mut AgentFile,
    ) {
        let Payload { history, message, .. } = *payload;
        let summary = if history == Size::default() { message } else { history };
        self.since.happened.compact(summary, line, file);
        self.since.next = Happened::default();
        self.since.has_answer = false;
        self.since.sent_next = None;
        self.since.sent = at.or(self.since.sent);
    }

    fn entry(&mut self, side: Side, at: Option<Millis>) {
        let since = &mut self.since;
        match side {
            Side::Model => {
                since.has_answer = true;
                since.answered = at.or(since.answered);
            }
            Side::Client if since.has_answer => since.sent_next = at.or(since.sent_next),
            Side::Client => since.sent = at.or(since.sent),
        }
    }

    /// Takes in what a response item brings. What comes after the first part of an answer goes out with the
    /// next request.
    fn content(
        &mut self,
        kind: &str,
        side: Side,
        payload: &Payload<'_>,
        line: u64,
        file: &mut AgentFile,
    ) {
        let call = payload.call_id.as_str().map(EntryId::of);
        if side == Side::Model {
            let tool = call.zip(file.symbol(&payload.name));
            self.tools.extend(tool);
            return;
        }
        let source = match kind {
            "message" if payload.role.is("user") => ContentSource::Text(ContentKind::UserText),
            "message" => ContentSource::Text(ContentKind::Reminder),
            "agent_message" => ContentSource::Text(ContentKind::AgentReport),
            _ => ContentSource::Tool(call.and_then(|call| self.tools.get(&call)).copied()),
        };
        let since = &mut self.since;
        let happened = if since.has_answer { &mut since.next } else { &mut since.happened };
        file.bring(happened, line, source, payload.content.and(payload.output));
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
        let last = info.and_then(|info| info.last_token_usage.0.as_ref());
        let Some(last) = last.filter(|_| !self.has_records) else { return Ok(()) };
        let total = info.and_then(|info| info.total_token_usage.0.as_ref());
        if total.is_some() && total == self.total.as_ref() {
            self.repeated_usage(file);
            return Ok(());
        }
        self.total = total.copied();
        if last.input == Count::Value(0) {
            return Ok(());
        }
        self.add(last, (line, at), (None, None), file)
    }

    /// Adds the request of a record, which stands where its response ended.
    fn record(
        &mut self,
        payload: &Payload<'_>,
        at: Option<Millis>,
        line: u64,
        file: &mut AgentFile,
    ) -> Result<(), Rejected> {
        self.has_records = true;
        let Some(usage) = payload.usage.0.as_ref() else { return Ok(()) };
        let identity = payload.response_id.as_str().map(EntryId::of);
        let message = file.symbol(&payload.response_id);
        self.add(usage, (line, at), (identity, message), file)
    }

    fn add(
        &mut self,
        usage: &TokenUsage,
        (line, at): (u64, Option<Millis>),
        (identity, message): (Option<EntryId>, Option<Symbol>),
        file: &mut AgentFile,
    ) -> Result<(), Rejected> {
        let since = std::mem::take(&mut self.since);
        // What the client adds to an answer goes out with the next request.
        self.since.sent = since.sent_next.or(at);
        self.since.happened = since.next;
        let request = self.request(usage, since, (line, at), file)?;
        file.requests.push(AgentRequest { identity, message, ..request });
        Ok(())
    }

    /// Nothing was billed since the report before; an answer that began was interrupted.
    fn repeated_usage(&mut self, file: &mut AgentFile) {
        let since = &mut self.since;
        since.happened.is_after_interruption |= since.has_answer;
        since.has_answer = false;
        since.sent = since.sent_next.take().or(since.sent);
        let next = std::mem::take(&mut since.next);
        since.happened.brought = file.join_pieces(since.happened.brought, next.brought);
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
        let start = file.no_earlier(start);
        let model = self.model.unwrap_or_else(|| file.symbols.intern("unknown"));
        let times = (start, since.answered.or(at).unwrap_or(start));
        let request = AgentRequest {
            session: self.session,
            agent: self.agent,
            project: self.project,
            client_version: self.client_version,
            // A report that says more contradicts itself: its output is what is billed.
            reasoning: tokens(usage.reasoning)?.unwrap_or_default().min(output),
            ..AgentRequest::new(
                (Client::Codex, line),
                (model, Vendor::OpenAi),
                times,
                usage_of_request,
            )
        };
        Ok(request.after(since.happened))
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
    session_id: Text<'a>,
    #[serde(borrow)]
    parent_thread_id: Text<'a>,
    #[serde(borrow)]
    forked_from_id: Text<'a>,
    #[serde(borrow)]
    source: Shape<ThreadSource<'a>>,
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
    content: Size,
    /// Of a tool's call, and of its result.
    #[serde(borrow)]
    call_id: Text<'a>,
    #[serde(borrow)]
    name: Text<'a>,
    output: Size,
    /// Of a compaction: the summary, and all that is sent from then on.
    message: Size,
    #[serde(rename = "replacement_history")]
    history: Size,
    /// Of a report of usage.
    info: Shape<UsageInfo>,
    /// Of a record of usage.
    usage: Shape<TokenUsage>,
    #[serde(borrow)]
    response_id: Text<'a>,
}

impl<'a> Payload<'a> {
    /// The thread that started this one.
    fn parent(&self) -> Option<&Text<'a>> {
        let spawn = self.source.0.as_ref().and_then(|source| source.subagent.0.as_ref());
        let spawned_by = spawn.map(|spawn| match &spawn.thread_spawn.0 {
            Some(spawn) => &spawn.parent_thread_id,
            None => &self.session_id,
        });
        Some(&self.parent_thread_id).filter(|parent| parent.as_str().is_some()).or(spawned_by)
    }
}

/// How a thread was started, if not by a user.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ThreadSource<'a> {
    #[serde(borrow)]
    subagent: Shape<SubAgent<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SubAgent<'a> {
    #[serde(borrow)]
    thread_spawn: Shape<ThreadSpawn<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ThreadSpawn<'a> {
    #[serde(borrow)]
    parent_thread_id: Text<'a>,
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
