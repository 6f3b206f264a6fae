//! Logs beside sessions: a request that both tell of counts once, with what the log knows better.

use cachesim::Study;
use cachesim::base::units::{Millis, Tokens};
use cachesim::read::input::{Discovered, Source};
use cachesim::requests::conversation::{History, ReadOptions, read};
use serde_json::{Value, json};

fn history_of(sources: Vec<Source>) -> History {
    let found = Discovered { sources, ..Discovered::default() };
    read(found, ReadOptions::default(), |_| {})
}

/// How many milliseconds after ten a moment lies.
fn millis(at: Millis) -> i64 {
    at.0 - 1_791_194_400_000
}

/// A transcript with one request, sent at second 0 and answered at second 9.
fn transcript() -> Source {
    let user = json!({"type": "user", "uuid": "u1", "parentUuid": null, "sessionId": "s1",
        "timestamp": "2026-10-05T10:00:00.000Z", "message": {"role": "user", "content": "Go."}});
    let answer = json!({"type": "assistant", "uuid": "a1", "parentUuid": "u1", "sessionId": "s1",
        "timestamp": "2026-10-05T10:00:09.000Z", "requestId": "req_1",
        "message": {"id": "msg_1", "role": "assistant", "model": "claude-opus-5", "content": [],
            "usage": {"input_tokens": 2, "cache_read_input_tokens": 0,
                "cache_creation_input_tokens": 1_000, "output_tokens": 50}}});
    let text = format!("{user}\n{answer}\n");
    Source::in_memory("s1.jsonl", text.as_bytes())
}

/// A request of Claude Code's telemetry, answered at second 10 after three seconds.
fn event(request: &str, cost: f64) -> Source {
    let attribute = |key: &str, value: Value| json!({"key": key, "value": value});
    let text = |key: &str, value: &str| attribute(key, json!({"stringValue": value}));
    let count = |key: &str, value: u64| attribute(key, json!({"intValue": value.to_string()}));
    let record = json!({"timeUnixNano": "1791194410000000000",
        "body": {"stringValue": "claude_code.api_request"},
        "attributes": [text("event.name", "api_request"), text("session.id", "s1"),
            text("model", "claude-opus-5"), text("request_id", request),
            count("input_tokens", 2), count("output_tokens", 50), count("cache_read_tokens", 0),
            count("cache_creation_tokens", 1_000), count("duration_ms", 3_000),
            attribute("cost_usd", json!({"doubleValue": cost}))]});
    let line = json!({"resourceLogs": [{"resource": {"attributes": [text("service.name", "claude-code")]},
        "scopeLogs": [{"scope": {"name": "com.anthropic.claude_code.events"}, "logRecords": [record]}]}]});
    Source::in_memory("telemetry.jsonl", format!("{line}\n").as_bytes())
}

#[test]
fn a_request_of_a_transcript_has_the_times_of_its_event() {
    for (request, requests) in [("req_1", 1), ("req_2", 2)] {
        let history = history_of(vec![event(request, 0.01), transcript()]);
        assert_eq!((history.requests.len(), history.duplicates), (requests, 2 - requests as u64));
        let one =
            history.requests.iter().find(|one| one.message.is_some()).expect("a transcript's");
        let times = [millis(one.start), millis(one.finished)];
        assert_eq!(times, if requests == 1 { [7_000, 10_000] } else { [0, 9_000] }, "{request}");
    }
}

/// 200 tokens were written for five minutes and 800 for an hour, which the transcript's flat figure does not
/// tell, and the gateway's row does.
#[test]
fn a_gateways_row_tells_for_how_long_was_written() {
    let usage = json!({"prompt_tokens": 1_002, "completion_tokens": 50, "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 1_000, "prompt_tokens_details": {"cached_tokens": 0,
            "cache_creation_token_details": {"ephemeral_5m_input_tokens": 200, "ephemeral_1h_input_tokens": 800}}});
    let row = json!({"request_id": "msg_1", "call_type": "anthropic_messages", "spend": 0.01,
        "startTime": "2026-10-05T10:00:06.000Z", "endTime": "2026-10-05T10:00:09.500Z",
        "completionStartTime": "2026-10-05T10:00:07.000Z", "model": "claude-opus-5",
        "custom_llm_provider": "anthropic", "prompt_tokens": 1_002, "completion_tokens": 50,
        "total_tokens": 1_052, "cache_hit": "False", "session_id": "t1", "metadata": {"usage_object": usage}});
    let log = Source::in_memory("spend.jsonl", format!("{row}\n").as_bytes());
    let history = history_of(vec![log, transcript()]);
    assert_eq!((history.requests.len(), history.duplicates), (1, 1));
    assert_eq!(history.files.len(), 2);
    let prompt = history.requests[0].recorded().prompt;
    assert_eq!([prompt.write_5m, prompt.write_1h], [Tokens(200), Tokens(800)]);
    assert_eq!(millis(history.requests[0].start), 6_000);
}

/// 2 tokens at 5 dollars a million, 1,000 written for an hour at 10 and 50 at 25 cost 0.01126 dollars; written
/// for five minutes at 6.25 they cost 0.00751.
#[test]
fn the_cost_that_a_program_tells_shows_for_how_long_was_written() {
    for (cost, for_an_hour) in [(0.011_26, 1_000), (0.007_51, 0), (0.009, 0)] {
        let history = history_of(vec![event("req_1", cost)]);
        let study = Study::of(history, cachesim::StudyOptions::default()).expect("a request");
        let prompt = study.history.requests[0].recorded().prompt;
        assert_eq!(
            [prompt.write_1h, prompt.written()],
            [Tokens(for_an_hour), Tokens(1_000)],
            "{cost}"
        );
    }
}

/// Copilot's program ends with the sum of two requests. Where its rows account for both, the rows count.
#[test]
fn what_rows_tell_is_no_part_of_a_sum() {
    let events = |requests: u64, input: u64| {
        let start = json!({"type": "session.start", "id": "e1", "timestamp": "2026-10-05T10:00:00.000Z",
            "parentId": null, "data": {"sessionId": "s1", "producer": "copilot-agent", "copilotVersion": "1.0.78",
            "startTime": "2026-10-05T10:00:00.000Z", "version": 1}});
        let end = json!({"type": "session.shutdown", "id": "e2", "timestamp": "2026-10-05T10:10:00.000Z",
            "parentId": "e1", "data": {"shutdownType": "routine", "modelMetrics": {"claude-opus-4.6": {
                "requests": {"count": requests, "cost": 1}, "usage": {"inputTokens": input,
                "outputTokens": 80, "cacheReadTokens": 20_000, "cacheWriteTokens": 23_000, "reasoningTokens": 0}}}}});
        Source::in_memory("events.jsonl", format!("{start}\n{end}\n").as_bytes())
    };
    let row = |span: &str, second: u64, input: u64, read: u64, written: u64| {
        json!({"type": "span", "traceId": "t", "spanId": span, "parentSpanId": "r", "name": "chat claude-opus-4.6",
            "kind": 2, "startTime": [1_791_194_400 + second, 0], "endTime": [1_791_194_401 + second, 0],
            "attributes": {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "github",
                "gen_ai.request.model": "claude-opus-4.6", "gen_ai.conversation.id": "s1",
                "gen_ai.usage.input_tokens": input, "gen_ai.usage.output_tokens": 40,
                "gen_ai.usage.cache_read.input_tokens": read,
                "gen_ai.usage.cache_creation.input_tokens": written},
            "status": {"code": 0}, "resource": {"attributes": {"service.name": "github-copilot"}},
            "instrumentationScope": {"name": "github.copilot"}})
        .to_string()
    };
    let rows = [row("a", 10, 20_010, 0, 20_000), row("b", 30, 23_010, 20_000, 3_000)].join("\n");
    let spans = || Source::in_memory("copilot-otel.jsonl", rows.as_bytes());
    let covered = history_of(vec![events(2, 43_020), spans()]);
    assert_eq!((covered.requests.len(), covered.duplicates), (2, 1));
    // Two more requests have no rows: 6,980 tokens of input are left of the sum.
    let more = history_of(vec![events(4, 50_000), spans()]);
    assert_eq!((more.requests.len(), more.duplicates), (3, 0));
    let rest = more.requests.iter().find(|one| one.sum_of > 1).expect("a sum");
    let prompt = rest.recorded().prompt;
    assert_eq!((rest.sum_of, prompt.total(), prompt.input), (2, Tokens(6_980), Tokens(6_980)));
}
