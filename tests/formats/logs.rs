//! Logs beside sessions: a request that both tell of counts once, with what the log knows better.

use cachesim::Study;
use cachesim::base::units::{Millis, Tokens};
use cachesim::read::input::{Kind, Source};
use serde_json::{Value, json};

use super::agents::history_of;

/// How many milliseconds after ten a moment lies.
fn millis(at: Millis) -> i64 {
    at.get() - 1_791_194_400_000
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

/// A gateway's row of the request, sent `later` milliseconds after second 6. It may tell that 200 tokens were
/// written for five minutes and 800 for an hour.
fn row(request: &str, later: i64, tells_lifetimes: bool) -> String {
    let moment = |millis: i64| Millis::new(1_791_194_400_000 + millis + later).to_string();
    let mut usage = json!({"prompt_tokens": 1_002, "completion_tokens": 50, "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 1_000, "prompt_tokens_details": {"cached_tokens": 0}});
    if tells_lifetimes {
        usage["prompt_tokens_details"]["cache_creation_token_details"] =
            json!({"ephemeral_5m_input_tokens": 200, "ephemeral_1h_input_tokens": 800});
    }
    let row = json!({"request_id": request, "call_type": "anthropic_messages", "spend": 0.01,
        "startTime": moment(6_000), "endTime": moment(9_500), "completionStartTime": moment(7_000),
        "model": "claude-opus-5", "custom_llm_provider": "anthropic", "prompt_tokens": 1_002,
        "completion_tokens": 50, "total_tokens": 1_052, "cache_hit": "False", "session_id": "t1",
        "metadata": {"usage_object": usage}});
    format!("{row}\n")
}

/// The transcript has a flat figure of what was written, which the gateway's row splits.
#[test]
fn a_gateways_row_tells_for_how_long_was_written() {
    let log = Source::in_memory("spend.jsonl", row("msg_1", 0, true).as_bytes());
    let history = history_of(vec![log, transcript()]);
    assert_eq!((history.requests.len(), history.duplicates), (1, 1));
    assert_eq!(history.files.len(), 2);
    let prompt = history.requests[0].recorded().prompt;
    assert_eq!([prompt.write_5m, prompt.write_1h], [Tokens(200), Tokens(800)]);
    assert_eq!(millis(history.requests[0].start), 6_000);
}

/// A row without a time zone may be hours off: then the transcript knows better.
#[test]
fn a_row_of_another_time_moves_no_request() {
    let five_hours = 5 * 3_600_000;
    let log = Source::in_memory("spend.jsonl", row("msg_1", five_hours, true).as_bytes());
    let history = history_of(vec![log, transcript()]);
    let one = &history.requests[0];
    assert_eq!((history.requests.len(), millis(one.start)), (1, 0));
    assert_eq!(one.recorded().prompt.write_1h, Tokens(800));
    assert_eq!(history.diagnostics.count(Kind::Contradiction), 1);
}

/// Of two logs the one counts that tells for how long was written, whichever comes first; a row that is there
/// twice counts once. Where none tells, five minutes is assumed.
#[test]
fn of_two_logs_the_one_that_tells_more_counts() {
    let log = |name: &str, tells: bool| {
        let rows = row("msg_1", 0, tells).repeat(2);
        Source::in_memory(name, rows.as_bytes())
    };
    for (first, second, hour) in [(true, false, 800), (false, true, 800), (false, false, 0)] {
        let history = history_of(vec![log("a.jsonl", first), log("b.jsonl", second)]);
        assert_eq!((history.requests.len(), history.duplicates), (1, 3));
        let usage = history.requests[0].recorded();
        let expected = (Tokens(hour), hour == 0);
        assert_eq!((usage.prompt.write_1h, usage.lifetime_is_assumed), expected);
    }
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

/// The events of a run of Copilot's that ends with the sum of so many requests.
fn events(requests: u64, input: u64) -> Source {
    let start = json!({"type": "session.start", "id": "e1", "timestamp": "2026-10-05T10:00:00.000Z",
        "parentId": null, "data": {"sessionId": "s1", "producer": "copilot-agent", "copilotVersion": "1.0.78",
        "startTime": "2026-10-05T10:00:00.000Z", "version": 1}});
    let end = json!({"type": "session.shutdown", "id": "e2", "timestamp": "2026-10-05T10:10:00.000Z",
        "parentId": "e1", "data": {"shutdownType": "routine", "modelMetrics": {"claude-opus-4.6": {
            "requests": {"count": requests, "cost": 1}, "usage": {"inputTokens": input,
            "outputTokens": 80, "cacheReadTokens": 20_000, "cacheWriteTokens": 23_000, "reasoningTokens": 0}}}}});
    Source::in_memory("events.jsonl", format!("{start}\n{end}\n").as_bytes())
}

/// A span of Copilot's, which ends a second after it begins.
fn span(id: &str, second: u64, [input, read, written]: [u64; 3]) -> String {
    json!({"type": "span", "traceId": "t", "spanId": id, "parentSpanId": "r", "name": "chat claude-opus-4.6",
        "kind": 2, "startTime": [1_791_194_400 + second, 0], "endTime": [1_791_194_401 + second, 0],
        "attributes": {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "github",
            "gen_ai.request.model": "claude-opus-4.6", "gen_ai.conversation.id": "s1",
            "gen_ai.usage.input_tokens": input, "gen_ai.usage.output_tokens": 40,
            "gen_ai.usage.cache_read.input_tokens": read,
            "gen_ai.usage.cache_creation.input_tokens": written},
        "status": {"code": 0}, "resource": {"attributes": {"service.name": "github-copilot"}},
        "instrumentationScope": {"name": "github.copilot"}})
    .to_string()
}

fn spans(name: &str, lines: &[String]) -> Source {
    Source::in_memory(name, lines.join("\n").as_bytes())
}

/// Where spans account for both requests of a sum, the spans count.
#[test]
fn what_spans_tell_is_no_part_of_a_sum() {
    let told = [span("a", 10, [20_010, 0, 20_000]), span("b", 30, [23_010, 20_000, 3_000])];
    let told = || spans("copilot-otel.jsonl", &told);
    let covered = history_of(vec![events(2, 43_020), told()]);
    assert_eq!((covered.requests.len(), covered.duplicates), (2, 1));
    // Two more requests have no spans: 6,980 tokens of input are left of the sum.
    let more = history_of(vec![events(4, 50_000), told()]);
    assert_eq!((more.requests.len(), more.duplicates), (3, 0));
    let rest = more.requests.iter().find(|one| one.sum_of > 1).expect("a sum");
    let prompt = rest.recorded().prompt;
    assert_eq!((rest.sum_of, prompt.total(), prompt.input), (2, Tokens(6_980), Tokens(6_980)));
    // A sum of less than its spans is named, and stays.
    let less = history_of(vec![events(1, 43_000), told()]);
    assert_eq!((less.requests.len(), less.diagnostics.count(Kind::Contradiction)), (3, 1));
}

/// Requests with the same figures are different ones in one file, and the same one in two files where they
/// end within a minute.
#[test]
fn alike_requests_of_copilot_count_once_for_each_that_was_sent() {
    let alike = |id: &str, second: u64| span(id, second, [500, 0, 400]);
    let one = || spans("a.jsonl", &[alike("a", 10), alike("b", 20), alike("c", 400)]);
    assert_eq!(history_of(vec![one()]).requests.len(), 3);
    let other = |second: u64| spans("b.jsonl", &[alike("x", 12), alike("y", second)]);
    for (second, requests, duplicates) in [(25, 3, 2), (300, 4, 1)] {
        let history = history_of(vec![one(), other(second)]);
        assert_eq!((history.requests.len(), history.duplicates), (requests, duplicates));
    }
}
