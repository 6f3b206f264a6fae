//! Telemetry of Claude Code: the event `api_request`, and in traces the span of a request.
//!
//! The input leaves out the tokens read and written. The lifetime of writes is not reported: all count
//! as written for five minutes, like the flat figure of a transcript, and the cost that the client
//! computed reveals the lifetime. An event is stamped at the end of its request. A request of the model
//! that the user waits for continues the one before it; requests of sub-agents and helpers do not.

use super::draft::ids;
use super::moment::Moment;
use super::{Attributes, Counting, Draft, Figures, LogRecord, Origin, Span, names};
use crate::base::{Client, EntryId, Millis, Symbol};
use crate::read::agent::calls::{Conversation, Place, Turn};
use crate::read::agent::spans::Role;
use crate::read::agent::{AgentFile, AgentRequest, Rejected};
use crate::read::input::{Count, Kind, PriceTier, Text, Usage};

/// Prefix of the names of its events and spans.
pub(crate) const PREFIX: &str = "claude_code.";

/// Names of the events and spans of requests and tools, without the prefix.
pub(crate) const EVENTS: [&str; 4] = ["api_request", "api_error", "llm_request", "tool"];

/// Purposes of the requests that continue each other in a session.
///
/// Requests that a program sends through the SDK are among them.
const MAIN_SOURCES: [&str; 2] = ["repl_main_thread", "sdk"];

/// Purpose of a request that compacts the conversation.
pub(crate) const COMPACTION: &str = "compact";

/// Longest duration of a request, in milliseconds: one day.
const LONGEST_MILLIS: u64 = 86_400_000;

/// Extra rank of an event over a span of the same request: it names the user's prompt.
const FULLNESS_OF_EVENT: u8 = 1;

/// Role of a span of this name; `None` if it is not Claude Code's.
pub(super) fn role(name: &str) -> Option<Role> {
    let name = name.strip_prefix(PREFIX)?;
    Some(match name {
        "llm_request" => Role::Call,
        "tool" => Role::Tool,
        _ => Role::Other,
    })
}

/// Kind of an event.
pub(super) enum Event {
    Request,
    /// Request that failed for good.
    Failure,
}

/// Event of a log record, if it is one of Claude Code's about a request.
pub(super) fn event(record: &LogRecord<'_>, client: Client) -> Option<Event> {
    let body = record.body.0.as_ref();
    let attributes = told(record);
    let told_name = attributes.text(names::EVENT);
    let untold = Text::default();
    let in_body = body.map_or(&untold, |body| &body.string_value);
    let all_names = [&told_name, &record.event_name, in_body].map(Text::as_str);
    let is_own = client == Client::ClaudeCode
        || all_names.iter().flatten().any(|name| name.starts_with(PREFIX));
    let name = all_names.into_iter().flatten().find(|name| !name.is_empty())?;
    // Old versions write the prefix into the name, new ones do not. A bare name may be anybody's, so it
    // counts only from Claude Code itself.
    match name.strip_prefix(PREFIX).unwrap_or(name) {
        "api_request" if is_own => Some(Event::Request),
        "api_error" if is_own => Some(Event::Failure),
        _ => None,
    }
}

/// Attributes of an event, which may have been moved into its body.
fn told<'r, 'a>(record: &'r LogRecord<'a>) -> &'r Attributes<'a> {
    let moved = record.body.0.as_ref().and_then(|body| body.kvlist_value.0.as_ref());
    let moved = moved.map(|members| &members.values);
    moved
        .filter(|_| record.attributes.text(names::MODEL).as_str().is_none())
        .unwrap_or(&record.attributes)
}

/// Request that an event reports.
///
/// # Errors
/// If it has no time.
pub(super) fn call_of_event(
    record: &LogRecord<'_>,
    origin: Origin,
    file: &mut AgentFile,
) -> Result<Draft, Rejected> {
    let attributes = told(record);
    let told_time = Moment::of_text(&attributes.text(names::EVENT_TIME)).0;
    // The observed time is the collector's, so it comes last.
    let end = record.time_unix_nano.0.or(told_time).or(record.observed_time_unix_nano.0);
    let end = end.ok_or((Kind::MissingTimestamp, "the request is left out"))?;
    let duration = match attributes.count(names::CLAUDE_DURATION) {
        Count::Value(millis) => i64::try_from(millis.min(LONGEST_MILLIS)).unwrap_or_default(),
        _ => 0,
    };
    let times = (Millis::new(end.get().saturating_sub(duration)), end);
    let draft = draft(attributes, origin, times, file);
    let request = AgentRequest {
        identity: draft
            .request
            .identity
            .or_else(|| by_number(attributes, draft.request.session, file))
            .or_else(|| Some(by_figures(&draft, file))),
        ..draft.request
    };
    Ok(Draft { request, extra_fullness: FULLNESS_OF_EVENT, ..draft })
}

/// Request that a span reports.
///
/// # Errors
/// If it has no time.
pub(super) fn call_of_span(
    span: &Span<'_>,
    origin: Origin,
    file: &mut AgentFile,
) -> Result<Draft, Rejected> {
    let start = span.start_time.0.or(span.end_time.0);
    let start = start.ok_or((Kind::MissingTimestamp, "the request is left out"))?;
    let times = (start, span.end_time.0.unwrap_or(start));
    let draft = draft(&span.attributes, origin, times, file);
    let has_failed = span.has_failed() || span.attributes.text(names::CLAUDE_SUCCESS).is("false");
    let request = AgentRequest { identity: draft.request.identity.or(span.id()), ..draft.request };
    Ok(Draft { request, span: span.id(), has_failed, ..draft })
}

fn draft(
    attributes: &Attributes<'_>,
    origin: Origin,
    times: (Millis, Millis),
    file: &mut AgentFile,
) -> Draft {
    let model = file.model(&attributes.text(names::MODEL));
    let (message, request) = ids(attributes, file);
    let session = file.symbol(&attributes.text(names::SESSION)).or(origin.session);
    let source = attributes.text(names::CLAUDE_QUERY_SOURCE);
    let agent = file.symbol(&attributes.text(names::CLAUDE_AGENT));
    let is_fast = attributes.text(names::CLAUDE_SPEED).is("fast");
    let tier = PriceTier::of_messages(is_fast, false, false);
    let conversation = Conversation { session, agent, at_work: None };
    let prompt = file.symbol(&attributes.text(names::CLAUDE_PROMPT));
    let usage = Usage { tier, ..Usage::default() };
    let request = AgentRequest {
        identity: identity(attributes),
        session,
        agent,
        message,
        request,
        query_source: file.symbol(&source),
        client_version: origin.version,
        client_cost: attributes.dollars(names::CLAUDE_COST),
        route: file.symbol(&attributes.text(names::PROVIDER)),
        ..AgentRequest::new((Client::ClaudeCode, file.line), model, times, usage)
    };
    Draft {
        figures: Figures::of_claude_code(attributes),
        counting: Counting::Exclusive,
        turn: prompt.map_or(Turn::Begins(false), Turn::Prompt),
        place: Some(place(&source, conversation)),
        ..Draft::of(request)
    }
}

/// Place of a request with this purpose.
fn place(source: &Text<'_>, conversation: Conversation) -> Place {
    match source.as_str() {
        Some(COMPACTION) => Place::Compacts(conversation),
        _ if conversation.agent.is_some() => Place::In(conversation),
        Some(source) if !MAIN_SOURCES.iter().any(|main| source.starts_with(main)) => Place::Beside,
        _ => Place::In(conversation),
    }
}

/// Key that the event and the span of a request share.
fn identity(attributes: &Attributes<'_>) -> Option<EntryId> {
    let [request, response, own] = [names::REQUEST, names::RESPONSE, names::CLAUDE_CLIENT_REQUEST]
        .map(|names| attributes.text(names));
    // Only the id of a request counts, which some put in place of the answer's.
    let response = Text(response.0.filter(|id| id.starts_with("req_")));
    let id = [request, response, own].into_iter().find_map(|id| id.0)?;
    Some(EntryId::of(&format!("claude-code:{id}")))
}

/// Key of an event without ids, for when it is sent again: its number in its session.
fn by_number(
    attributes: &Attributes<'_>,
    session: Option<Symbol>,
    file: &AgentFile,
) -> Option<EntryId> {
    let Count::Value(number) = attributes.count(names::EVENT_NUMBER) else { return None };
    let session = file.symbols.text(session?);
    Some(EntryId::of(&format!("claude-code:{session}:{number}")))
}

/// Key of an event that has neither: no two requests of a session end in one millisecond, take equally
/// long and have the same figures.
fn by_figures(draft: &Draft, file: &AgentFile) -> EntryId {
    let AgentRequest { session, model, start, finished, .. } = draft.request;
    let session = session.map_or("", |session| file.symbols.text(session));
    let (model, figures) = (file.symbols.text(model), draft.figures);
    let times = [start.get(), finished.get()];
    EntryId::of(&format!("claude-code:{session}:{model}:{times:?}:{figures:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{Picodollars, Tokens};
    use crate::read::agent::Follows;
    use crate::read::agent::testing::read;
    use crate::read::input::ServiceTier;

    fn attribute(name: &str, value: &str) -> String {
        format!(r#"{{"key":"{name}","value":{value}}}"#)
    }

    /// Export with an event of session `s1` that ends after that many seconds and took two.
    fn event(name: &str, second: u32, prompt: &str, source: &str, more: &[(&str, &str)]) -> String {
        let text = |text: &str| format!(r#"{{"stringValue":"{text}"}}"#);
        let mut all = vec![
            attribute("session.id", &text("s1")),
            attribute("event.name", &text(name)),
            attribute("prompt.id", &text(prompt)),
            attribute("model", &text("claude-haiku-5-5")),
            attribute("input_tokens", r#"{"intValue":2}"#),
            attribute("output_tokens", r#"{"intValue":"4"}"#),
            attribute("cache_read_tokens", &text("9179")),
            attribute("cache_creation_tokens", r#"{"intValue":13356}"#),
            attribute("cost_usd", r#"{"doubleValue":0.0027651900000000003}"#),
            attribute("duration_ms", r#"{"intValue":"2000"}"#),
            attribute("speed", &text("fast")),
            attribute("query_source", &text(source)),
        ];
        all.extend(more.iter().map(|(name, value)| attribute(name, &text(value))));
        format!(
            r#"{{"resourceLogs":[{{"resource":{{"attributes":[{{"key":"service.name","value":{{"stringValue":"claude-code"}}}},{{"key":"service.version","value":{{"stringValue":"2.1.294"}}}}]}},"scopeLogs":[{{"scope":{{"name":"com.anthropic.claude_code.events"}},"logRecords":[{{"timeUnixNano":"17900000{second:02}000000000","body":{{"stringValue":"claude_code.{name}"}},"attributes":[{}]}}]}}]}}]}}"#,
            all.join(",")
        )
    }

    fn request(second: u32, prompt: &str, source: &str, more: &[(&str, &str)]) -> String {
        event("api_request", second, prompt, source, more)
    }

    #[test]
    fn a_request_is_stamped_at_its_end_and_its_parts_stand_beside_each_other() {
        let file = read(&request(10, "p1", "sdk", &[("request_id", "req_1")]));
        let [one] = &file.requests[..] else { panic!("{:?}", file.diagnostics) };
        assert_eq!((one.start.get(), one.finished.get()), (1_790_000_008_000, 1_790_000_010_000));
        let prompt = one.usage.prompt;
        assert_eq!([prompt.input, prompt.read, prompt.write_5m], [2, 9_179, 13_356].map(Tokens));
        assert_eq!(one.client_cost, Some(Picodollars(2_765_190_000)));
        assert!(one.knows_writes && one.usage.tier.service == ServiceTier::Fast && one.begins_turn);
        let text = |symbol: Option<Symbol>| symbol.map(|one| file.symbols.text(one));
        assert_eq!(text(one.request), Some("req_1"));
        assert_eq!((text(one.session), text(one.query_source)), (Some("s1"), Some("sdk")));
        assert_eq!((one.client, text(one.client_version)), (Client::ClaudeCode, Some("2.1.294")));
    }

    #[test]
    fn helpers_and_sub_agents_stand_beside_the_conversation() {
        let main = "repl_main_thread";
        let text = [
            request(10, "p1", main, &[("request_id", "1")]),
            request(11, "p1", "generate_session_title", &[("request_id", "2")]),
            request(20, "p1", "agent:builtin:explore", &[("agent.id", "a1"), ("request_id", "3")]),
            request(30, "p1", "agent:builtin:explore", &[("agent.id", "a1"), ("request_id", "4")]),
            request(40, "p1", main, &[("request_id", "5")]),
            request(50, "p1", "compact", &[("request_id", "6")]),
            request(60, "p2", main, &[("request_id", "7")]),
            event("api_error", 61, "p2", main, &[("request_id", "8")]),
            event("api_request_body", 62, "p2", main, &[]),
        ];
        let file = read(&text.join("\n"));
        let follows: Vec<Follows> = file.requests.iter().map(|one| one.follows).collect();
        let (nothing, after) = (Follows::Nothing, Follows::Request);
        assert_eq!(follows, [nothing, nothing, nothing, after(2), after(0), nothing, after(4)]);
        let begin: Vec<bool> = file.requests.iter().map(|one| one.begins_turn).collect();
        assert_eq!(begin, [true, false, false, false, false, false, true]);
        assert!(file.requests.last().is_some_and(|one| one.is_after_compaction));
        assert_eq!(file.diagnostics.count(Kind::FailedRequest), 1);
        assert!(!file.diagnostics.has_damage());
    }

    #[test]
    fn an_event_and_a_span_of_one_request_count_once() {
        let span = r#"{"resourceSpans":[{"resource":{"attributes":[]},"scopeSpans":[{"spans":[{"traceId":"t","spanId":"a","name":"claude_code.llm_request","startTimeUnixNano":"1790000008000000000","endTimeUnixNano":"1790000010000000000","attributes":[{"key":"session.id","value":{"stringValue":"s1"}},{"key":"model","value":{"stringValue":"claude-haiku-5-5"}},{"key":"gen_ai.response.id","value":{"stringValue":"req_1"}},{"key":"input_tokens","value":{"intValue":2}},{"key":"output_tokens","value":{"intValue":4}},{"key":"cache_read_tokens","value":{"intValue":9179}},{"key":"cache_creation_tokens","value":{"intValue":13356}},{"key":"success","value":{"boolValue":true}}]}]}]}]}"#;
        let file = read(&[span, &request(10, "p1", "sdk", &[("request_id", "req_1")])].join("\n"));
        let [one] = &file.requests[..] else { panic!("{:?}", file.diagnostics) };
        assert!(one.begins_turn && one.query_source.is_some());
        assert_eq!(file.diagnostics.count(Kind::DuplicateLine), 1);
        let file = read(span);
        let [one] = &file.requests[..] else { panic!("{:?}", file.diagnostics) };
        assert_eq!(one.request.map(|one| file.symbols.text(one)), Some("req_1"));
        assert_eq!(one.message, None);
    }

    #[test]
    fn an_event_without_ids_that_is_sent_again_counts_once() {
        let first = request(10, "p1", "sdk", &[]);
        let other = request(11, "p1", "sdk", &[]);
        // Same time and duration, but an output of its own.
        let beside = first.replace(r#""intValue":"4""#, r#""intValue":"5""#);
        let file = read(&[first.clone(), first, other, beside].join("\n"));
        assert_eq!(file.requests.len(), 3, "{:?}", file.diagnostics);
        assert_eq!(file.diagnostics.count(Kind::DuplicateLine), 1);
    }

    #[test]
    fn attributes_in_the_body_are_read_and_other_programs_events_are_not() {
        let body = r#"{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"observedTimeUnixNano":1790000010000000000,"eventName":"claude_code.api_request","body":{"kvlistValue":{"values":[{"key":"model","value":{"stringValue":"claude-opus-5"}},{"key":"input_tokens","value":{"intValue":1}},{"key":"output_tokens","value":{"intValue":1}},{"key":"cache_read_tokens","value":{"intValue":5}},{"key":"cache_creation_tokens","value":{"intValue":0}}]}},"attributes":[]}]}]}]}"#;
        let file = read(body);
        assert_eq!(file.requests.len(), 1, "{:?}", file.diagnostics);
        let other = body.replace("claude_code.api_request", "api_request");
        assert!(read(&other).requests.is_empty());
        let codex = body.replace("claude_code.", "codex.");
        assert!(read(&codex).requests.is_empty());
    }
}
