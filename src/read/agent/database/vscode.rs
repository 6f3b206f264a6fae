//! Copilot in VS Code: `agent-traces.db`, with the spans of its traces.
//!
//! A span with the operation `chat` is a request; `invoke_agent` repeats the sum of the requests inside
//! it. The input is the whole prompt; the output includes the reasoning. Reads are reported only if
//! there are any, and writes are an attribute. The spans of the last seven days are kept.

use rustc_hash::FxHashMap;

use super::{Database, DatabaseFormat, Failure, Row};
use crate::base::{Client, EntryId, Millis, Symbol, Tokens};
use crate::read::agent::{
    AgentFile, AgentRequest, Follows, Happened, Rejected, Vendor, split, tokens,
};
use crate::read::input::{Count, Kind, Text, Usage};

/// Columns of a span that are read.
pub(crate) const COLUMNS: [&str; 16] = [
    "span_id",
    "trace_id",
    "parent_span_id",
    "start_time_ms",
    "end_time_ms",
    "status_code",
    "operation_name",
    "provider_name",
    "conversation_id",
    "request_model",
    "response_model",
    "input_tokens",
    "output_tokens",
    "cached_tokens",
    "reasoning_tokens",
    "chat_session_id",
];

/// Attributes that are read, by their places in [`Attributes`].
const ATTRIBUTES: [&str; 5] = [
    "gen_ai.usage.cache_creation.input_tokens",
    "gen_ai.response.id",
    "copilot_chat.server_request_id",
    "copilot_chat.debug_name",
    "github.copilot.nano_aiu",
];

/// Status of a span that ended with an error.
const FAILED: u64 = 2;

/// Database of traces.
pub(super) struct AgentTraces;

impl DatabaseFormat for AgentTraces {
    fn program(&self) -> &'static str {
        "Copilot in VS Code"
    }

    fn recognises(&self, database: &Database) -> Result<bool, Failure> {
        let of_copilot = ["cached_tokens", "chat_session_id", "operation_name", "start_time_ms"];
        Ok(database.has("spans", &of_copilot)?
            && database.has("span_attributes", &["span_id", "key", "value"])?)
    }

    fn tables(&self) -> &'static [(&'static str, &'static [&'static str])] {
        &[("spans", &COLUMNS), ("span_attributes", &["span_id", "key", "value"])]
    }

    fn is_wanted(&self, _: &str, row: &Row<'_>) -> bool {
        // Other attributes may be whole prompts.
        let key = row.text("key");
        key.as_str().is_none_or(|key| ATTRIBUTES.contains(&key))
    }

    fn read(&self, database: &Database, file: &mut AgentFile) -> Result<(), Failure> {
        let mut trace = Trace::default();
        let columns = ["span_id", "parent_span_id", "operation_name", "start_time_ms"];
        if let Some(mut spans) = database.table("spans", &columns)? {
            spans.each(file, |row, _| trace.add_span(row))?;
        }
        trace.chats.sort_unstable();
        trace.read_attributes(database, file)?;
        let Some(mut spans) = database.table("spans", &COLUMNS)? else { return Ok(()) };
        for (_, rowid) in std::mem::take(&mut trace.chats) {
            spans.take(rowid, file, |row, file| match trace.request(row, file) {
                Ok(request) => file.requests.extend(request),
                Err((kind, detail)) => file.reject(kind, row.line(), detail),
            })?;
        }
        Ok(())
    }
}

/// Spans of the database, and the state of their conversations.
#[derive(Default)]
struct Trace {
    spans: FxHashMap<EntryId, Span>,
    /// Start and row number of each request, in the order in which they were sent.
    chats: Vec<(Millis, i64)>,
    attributes: FxHashMap<EntryId, Attributes>,
    conversations: FxHashMap<(Option<Symbol>, Option<Symbol>), Conversation>,
}

#[derive(Clone, Copy)]
struct Span {
    parent: Option<EntryId>,
    is_chat: bool,
    is_agent: bool,
}

/// Attributes of a request, in the order of [`ATTRIBUTES`].
type Attributes = [Option<Symbol>; ATTRIBUTES.len()];

/// State between two requests of a conversation.
#[derive(Default)]
struct Conversation {
    /// Span of the agent that sent the newest request: its turn.
    turn: Option<EntryId>,
    is_after_interruption: bool,
}

impl Trace {
    fn add_span(&mut self, row: &Row<'_>) {
        let operation = row.text("operation_name");
        let is_chat = operation.is("chat");
        if is_chat {
            self.chats.push((row.time("start_time_ms").unwrap_or(Millis::new(0)), row.rowid()));
        }
        let Some(id) = row.text("span_id").as_str().map(EntryId::of) else { return };
        let parent = row.text("parent_span_id");
        let parent = parent.as_str().filter(|id| !id.is_empty()).map(EntryId::of);
        self.spans.insert(id, Span { parent, is_chat, is_agent: operation.is("invoke_agent") });
    }

    /// Reads the attributes of requests, and no others, which may be whole prompts.
    fn read_attributes(
        &mut self,
        database: &Database,
        file: &mut AgentFile,
    ) -> Result<(), Failure> {
        let mut wanted = Vec::new();
        if let Some(mut keys) = database.table("span_attributes", &["span_id", "key"])? {
            keys.each(file, |row, _| {
                let place = ATTRIBUTES.iter().position(|name| row.text("key").is(name));
                let span = row.text("span_id").as_str().map(EntryId::of);
                let span = span.filter(|id| self.spans.get(id).is_some_and(|span| span.is_chat));
                wanted.extend(span.zip(place).map(|(span, place)| (span, place, row.rowid())));
            })?;
        }
        let Some(mut values) = database.table("span_attributes", &["value"])? else {
            return Ok(());
        };
        for (span, place, rowid) in wanted {
            // Keys are read first and only then the wanted values, since others may be whole prompts.
            values.take(rowid, file, |row, file| {
                let attributes = self.attributes.entry(span).or_default();
                if let Some(attribute) = attributes.get_mut(place) {
                    *attribute = file.symbol(&row.text("value"));
                }
            })?;
        }
        Ok(())
    }

    /// Request of a span; `None` if it failed and reports nothing.
    fn request(
        &mut self,
        row: &Row<'_>,
        file: &mut AgentFile,
    ) -> Result<Option<AgentRequest>, Rejected> {
        let id = row.text("span_id").as_str().map(EntryId::of);
        let place = self.place(id);
        let told = [row.text("conversation_id"), row.text("chat_session_id")];
        let session = told.iter().find_map(|name| file.symbol(name));
        let parent = row.text("parent_span_id");
        let agent = if place.is_sub_agent { file.symbol(&parent) } else { None };
        let conversation = self.conversations.entry((session, agent)).or_default();
        let input = row.count("input_tokens");
        if row.whole("status_code") == Some(FAILED) && !matches!(input, Count::Value(_)) {
            conversation.is_after_interruption |= !place.is_beside;
            return Ok(None);
        }
        let attributes = id.and_then(|id| self.attributes.get(&id)).copied().unwrap_or_default();
        let [written, message, request, query_source, nano_aiu] = attributes;
        let number =
            |symbol: Option<Symbol>| symbol.map(|one| file.symbols.text(one).parse::<u64>());
        let told_writes = number(written);
        let nano_aiu = number(nano_aiu).and_then(Result::ok);
        let written = told_writes
            .clone()
            .map_or(Count::Missing, |told| told.map_or(Count::Invalid, Count::Value));
        // Reads are reported only if there are any.
        let read = match row.count("cached_tokens") {
            Count::Null => Count::Value(0),
            told => told,
        };
        let prompt = split(input, read, written)?;
        let output = tokens(row.count("output_tokens"))?;
        let output = output.ok_or((Kind::MissingUsage, "the span has no output tokens"))?;
        let times = row.time("start_time_ms").or(row.time("end_time_ms"));
        let start = times.ok_or((Kind::MissingTimestamp, "the request is left out"))?;
        let finished = row.time("end_time_ms").unwrap_or(start);

        let happened = conversation.before(&place, agent.is_some());
        let models = [row.text("response_model"), row.text("request_model")];
        let named = |model: &&Text<'_>| model.as_str().is_some_and(|name| !name.is_empty());
        let (model, vendor) = file.model(models.iter().find(named).unwrap_or(&Text::default()));
        let usage = Usage { prompt, output, ..Usage::default() };
        Ok(Some(AgentRequest {
            identity: identity(&row.text("trace_id"), &row.text("span_id")),
            session,
            agent,
            message,
            request,
            query_source,
            route: file.symbol(&row.text("provider_name")),
            reasoning: tokens(row.count("reasoning_tokens"))?.unwrap_or_default().min(output),
            follows: if place.is_beside { Follows::Nothing } else { Follows::Previous },
            knows_writes: told_writes.is_some()
                || vendor != Vendor::Anthropic
                || prompt.written() > Tokens::ZERO,
            nano_aiu,
            ..AgentRequest::new(
                (Client::Copilot, row.line()),
                (model, vendor),
                (start, finished),
                usage,
            )
            .after(happened)
        }))
    }

    /// Place of a request in its trace.
    ///
    /// The span of an agent is written when the agent ends, so a missing parent is an agent that is
    /// still at work.
    fn place(&self, id: Option<EntryId>) -> Place {
        let parent = id.and_then(|id| self.spans.get(&id)).and_then(|span| span.parent);
        let span = parent.and_then(|id| self.spans.get(&id));
        let is_sub_agent = span.is_some_and(|span| span.is_agent && span.parent.is_some());
        Place {
            turn: parent,
            is_sub_agent,
            is_beside: parent.is_none() || span.is_some_and(|span| !span.is_agent),
        }
    }
}

/// Place of a request in its trace.
struct Place {
    /// Span of the agent that sent it.
    turn: Option<EntryId>,
    /// True if the agent was itself called from another span.
    is_sub_agent: bool,
    /// True if no agent sent it: it is a title or a summary.
    is_beside: bool,
}

impl Conversation {
    /// Events before a request.
    fn before(&mut self, place: &Place, is_agent: bool) -> Happened {
        if place.is_beside {
            return Happened::default();
        }
        let is_new = place.turn != std::mem::replace(&mut self.turn, place.turn);
        Happened {
            begins_turn: is_new && !is_agent,
            is_after_interruption: std::mem::take(&mut self.is_after_interruption),
            ..Happened::default()
        }
    }
}

/// Key of a span, the same in other exports (`otel/span.rs`).
fn identity(trace: &Text<'_>, span: &Text<'_>) -> Option<EntryId> {
    let [trace, span] = [trace, span].map(|id| id.as_str().filter(|id| !id.is_empty()));
    Some(EntryId::of(&format!("otel:{}:{}", trace?, span?)))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Fixture;
    use super::*;

    #[test]
    fn chats_are_requests_in_the_order_in_which_they_were_sent() {
        let file = Fixture::file("agent-vscode-traces/agent-traces.sql").read();
        let told = |one: &AgentRequest| {
            let prompt = one.usage.prompt;
            let tokens = [prompt.input, prompt.read, prompt.write_5m, one.usage.output];
            (one.line, tokens.map(|tokens| tokens.0), one.knows_writes)
        };
        let requests: Vec<_> = file.requests.iter().map(told).collect();
        assert_eq!(
            requests,
            [
                // 22799 = 9 + 0 + 22790; the last one is an attribute.
                (1, [9, 0, 22_790, 73], true),
                (2, [300, 0, 0, 8], true),
                (3, [4_000, 0, 0, 40], true),
                (6, [10, 22_790, 700, 90], true),
                // No attribute reports its writes.
                (9, [510, 23_490, 0, 30], false),
            ]
        );
        assert_eq!(file.diagnostics.count(Kind::InvalidUsage), 1);
        assert_eq!(file.requests[0].nano_aiu, Some(6_958_150_000));
    }

    #[test]
    fn agents_tell_turns_and_sub_agents_apart() {
        let file = Fixture::file("agent-vscode-traces/agent-traces.sql").read();
        let told = |one: &AgentRequest| {
            let agent = one.agent.map(|agent| file.symbols.text(agent));
            (one.begins_turn, agent, one.follows, one.is_after_interruption)
        };
        let requests: Vec<_> = file.requests.iter().map(told).collect();
        assert_eq!(
            requests,
            [
                (true, None, Follows::Previous, false),
                (false, None, Follows::Nothing, false),
                (false, Some("a2"), Follows::Previous, false),
                (false, None, Follows::Previous, false),
                (true, None, Follows::Previous, true),
            ]
        );
    }
}
