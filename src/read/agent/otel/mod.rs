//! OpenTelemetry: traces and logs as the collector's file exporter and the agents themselves write them.
//!
//! - A file of the protocol has one object per line, or is one document. Spans under the conventions for
//!   generative AI are requests if their operation is one call of a model, whichever program sent it.
//!   Events of Claude Code are requests if they report the end of one.
//! - Copilot writes each span on a line of its own.
//!
//! Metrics repeat running sums, and are skipped. An exporter that got no answer sends its data again, so
//! a span and a request count once by their ids. The meaning of an instrumentation's figures is known at
//! the end of a file (`figures.rs`), and there the calls become requests (`calls.rs`).

mod attributes;
mod claude_code;
mod draft;
mod export;
mod figures;
mod moment;
pub(crate) mod names;
mod origin;
mod span;

use attributes::Attributes;
use claude_code::Event;
pub(crate) use claude_code::{COMPACTION, EVENTS, PREFIX as EVENT_PREFIX};
use draft::{Counting, Draft};
use export::{Export, Instrumentation, LogRecord, Span};
use figures::{Figures, Scopes};
use origin::Origin;

use super::calls::{Call, place};
use super::spans::{Role, Spans};
use super::{AgentFile, FirstObject, Layout, LineFormat, Rejected};
use crate::read::input::{Kind, Shape};

/// State between two objects of a file.
#[derive(Default)]
struct Telemetry {
    spans: Spans,
    scopes: Scopes,
    drafts: Vec<Draft>,
}

impl Telemetry {
    fn span(
        &mut self,
        span: &Span<'_>,
        origin: Origin,
        scope: &Shape<Instrumentation<'_>>,
        file: &mut AgentFile,
    ) -> Result<(), Rejected> {
        let role = span.role(file);
        if let Some(id) = span.id() {
            self.spans.add(id, span.parent(), role);
        }
        if role == Role::Call {
            self.add(span.call(origin, scope, file)?);
        }
        Ok(())
    }

    fn log_record(
        &mut self,
        record: &LogRecord<'_>,
        origin: Origin,
        file: &mut AgentFile,
    ) -> Result<(), Rejected> {
        match claude_code::event(record, origin.client) {
            Some(Event::Request) => {
                self.add(claude_code::call_of_event(record, origin, file)?);
                Ok(())
            }
            Some(Event::Failure) => Err((Kind::FailedRequest, "the request left no usage")),
            None => Ok(()),
        }
    }

    fn add(&mut self, draft: Draft) {
        if let Counting::OfScope { scope, .. } = draft.counting {
            self.scopes.learn(scope, &draft.figures);
        }
        self.drafts.push(draft);
    }

    fn finish(self, file: &mut AgentFile) {
        let Self { spans, scopes, drafts } = self;
        let calls: Vec<Call> =
            drafts.into_iter().map(|draft| draft.call(&spans, &scopes)).collect();
        place(calls, &spans, file);
    }
}

/// File of the protocol.
#[derive(Default)]
pub(super) struct Otlp(Telemetry);

impl LineFormat for Otlp {
    type Line<'a> = Export<'a>;
    const FILE: &'static str = "an OpenTelemetry export";
    const LAYOUT: Option<Layout> = Some(Layout::Telemetry);

    fn recognises(first: &FirstObject<'_>) -> bool {
        // A file with metrics alone is known as well: it has no requests, but is not foreign.
        ["resourceSpans", "resourceLogs", "resourceMetrics"].iter().any(|name| first.has(name))
    }

    fn line(&mut self, line: &Export<'_>, file: &mut AgentFile) -> Result<(), Rejected> {
        for resource in line.resource_spans.0.iter().filter_map(|one| one.0.as_ref()) {
            let origin = Origin::of(&resource.resource, file);
            for scope in resource.scope_spans.0.iter().filter_map(|one| one.0.as_ref()) {
                for span in scope.spans.0.iter().filter_map(|one| one.0.as_ref()) {
                    let added = self.0.span(span, origin, &scope.scope, file);
                    note(added, file);
                }
            }
        }
        for resource in line.resource_logs.0.iter().filter_map(|one| one.0.as_ref()) {
            let origin = Origin::of(&resource.resource, file);
            for scope in resource.scope_logs.0.iter().filter_map(|one| one.0.as_ref()) {
                for record in scope.log_records.0.iter().filter_map(|one| one.0.as_ref()) {
                    let added = self.0.log_record(record, origin, file);
                    note(added, file);
                }
            }
        }
        Ok(())
    }

    fn end(self, file: &mut AgentFile) {
        self.0.finish(file);
    }
}

/// Records a rejection of one of many items on a line.
fn note(added: Result<(), Rejected>, file: &mut AgentFile) {
    if let Err((kind, detail)) = added {
        file.reject(kind, file.line, detail);
    }
}

/// File with one span per line.
#[derive(Default)]
pub(super) struct SpanLines(Telemetry);

impl LineFormat for SpanLines {
    type Line<'a> = Span<'a>;
    const FILE: &'static str = "a trace of Copilot";
    const LAYOUT: Option<Layout> = Some(Layout::Span);

    fn recognises(first: &FirstObject<'_>) -> bool {
        let is_span = first.is_one_of("type", &["span"])
            && first.has_member("traceId")
            && first.has_member("spanId");
        // Metrics are in the same file, and may come first.
        let is_metric = first.is_one_of("type", &["metric"]) && first.has("dataPoints");
        (is_span || is_metric) && first.has("resource")
    }

    fn line(&mut self, line: &Span<'_>, file: &mut AgentFile) -> Result<(), Rejected> {
        if !line.r#type.is("span") {
            return Ok(());
        }
        let origin = Origin::of(&line.resource, file);
        self.0.span(line, origin, &line.instrumentation_scope, file)
    }

    fn end(self, file: &mut AgentFile) {
        self.0.finish(file);
    }
}

/// File with one span of Phoenix per line, or a list of them.
#[derive(Default)]
pub(super) struct PhoenixSpans(Telemetry);

impl LineFormat for PhoenixSpans {
    type Line<'a> = Span<'a>;
    const FILE: &'static str = "a trace of Phoenix";
    const LAYOUT: Option<Layout> = Some(Layout::Span);

    fn recognises(first: &FirstObject<'_>) -> bool {
        first.text("context.trace_id").is_some()
            && first.text("context.span_id").is_some()
            && first.has("attributes")
    }

    fn line(&mut self, line: &Span<'_>, file: &mut AgentFile) -> Result<(), Rejected> {
        let origin = Origin::of(&line.resource, file);
        self.0.span(line, origin, &line.instrumentation_scope, file)
    }

    fn end(self, file: &mut AgentFile) {
        self.0.finish(file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{Client, Tokens};
    use crate::read::agent::testing::read;
    use crate::read::agent::{AgentRequest, Follows};

    fn attribute(name: &str, value: &str) -> String {
        let kind = if value.bytes().all(|byte| byte.is_ascii_digit()) {
            "intValue"
        } else {
            "stringValue"
        };
        format!(r#"{{"key":"{name}","value":{{"{kind}":"{value}"}}}}"#)
    }

    fn attributes(all: &[(&str, &str)]) -> String {
        let all: Vec<String> = all.iter().map(|(name, value)| attribute(name, value)).collect();
        format!("[{}]", all.join(","))
    }

    /// Span of trace `t` that takes a second.
    fn span(id: &str, parent: &str, second: u32, all: &[(&str, &str)]) -> String {
        format!(
            r#"{{"traceId":"t","spanId":"{id}","parentSpanId":"{parent}","name":"{id}","kind":3,"startTimeUnixNano":"17900000{second:02}000000000","endTimeUnixNano":"17900000{second:02}900000000","attributes":{},"status":{{}}}}"#,
            attributes(all)
        )
    }

    fn export(service: &str, scope: &str, spans: &[String]) -> String {
        format!(
            r#"{{"resourceSpans":[{{"resource":{{"attributes":{}}},"scopeSpans":[{{"scope":{{"name":"{scope}","version":"1"}},"spans":[{}]}}]}}]}}"#,
            attributes(&[("service.name", service), ("service.version", "9.1")]),
            spans.join(",")
        )
    }

    fn chat<'a>(input: &'a str, read: &'a str, written: &'a str) -> Vec<(&'a str, &'a str)> {
        vec![
            ("gen_ai.operation.name", "chat"),
            ("gen_ai.provider.name", "anthropic"),
            ("gen_ai.request.model", "claude-opus-5"),
            ("gen_ai.response.id", "msg_1"),
            ("gen_ai.input.messages", "[{}]"),
            ("gen_ai.usage.input_tokens", input),
            ("gen_ai.usage.cache_read.input_tokens", read),
            ("gen_ai.usage.cache_creation.input_tokens", written),
            ("gen_ai.usage.output_tokens", "5"),
        ]
    }

    fn prompts(requests: &[AgentRequest]) -> Vec<[u64; 3]> {
        let parts = |request: &AgentRequest| {
            let prompt = request.usage.prompt;
            [prompt.input, prompt.read, prompt.write_5m].map(|tokens| tokens.0)
        };
        requests.iter().map(parts).collect()
    }

    #[test]
    fn a_scope_decides_for_all_of_its_calls_what_the_input_counts() {
        let text = [
            export("app", "copies", &[span("a", "", 10, &chat("1000", "400", "100"))]),
            r#"{"resourceMetrics":[{"scopeMetrics":[]}]}"#.to_owned(),
            export("app", "follows", &[span("c", "", 30, &chat("1000", "400", "100"))]),
            // Sent again, as after a lost answer.
            export("app", "copies", &[span("a", "", 10, &chat("1000", "400", "100"))]),
            export("app", "copies", &[span("b", "", 20, &chat("3", "900", "50"))]),
        ];
        let file = read(&text.join("\n"));
        assert_eq!(prompts(&file.requests), [[1_000, 400, 100], [3, 900, 50], [500, 400, 100]]);
        assert_eq!(file.diagnostics.count(Kind::DuplicateLine), 1);
        let first = file.requests.first().expect("requests");
        assert_eq!(first.client, Client::OpenTelemetry);
        assert_eq!(first.session.map(|one| file.symbols.text(one)), Some("t"));
        assert_eq!(first.message.map(|one| file.symbols.text(one)), Some("msg_1"));
        assert_eq!(
            (first.start.get(), first.finished.get()),
            (1_790_000_010_000, 1_790_000_010_900)
        );
        assert_eq!(file.requests.last().map(|one| one.follows), Some(Follows::Request(1)));
    }

    #[test]
    fn only_calls_of_models_are_requests_and_sub_agents_are_told_apart() {
        let agent = |name| {
            [
                ("gen_ai.operation.name", "invoke_agent"),
                ("gen_ai.agent.name", name),
                ("gen_ai.usage.input_tokens", "9999"),
            ]
        };
        let tool = [("gen_ai.operation.name", "execute_tool")];
        let embed = [("gen_ai.operation.name", "embeddings"), ("gen_ai.usage.input_tokens", "7")];
        let spans = [
            span("own", "sub", 22, &chat("100", "0", "0")),
            span("sub", "task", 21, &agent("explore")),
            span("first", "root", 10, &chat("100", "0", "0")),
            span("task", "root", 20, &tool),
            span("embed", "root", 25, &embed),
            span("second", "root", 30, &chat("200", "90", "0")),
            span("root", "", 9, &agent("main")),
        ];
        let file = read(&export("gemini-cli", "x", &spans));
        let [first, own, second] = &file.requests[..] else { panic!("{:?}", file.diagnostics) };
        assert_eq!(first.client, Client::Gemini);
        assert_eq!(own.agent.map(|one| file.symbols.text(one)), Some("explore"));
        assert_eq!((first.agent, own.follows), (None, Follows::Nothing));
        assert_eq!(second.follows, Follows::Request(0));
        assert!(!file.diagnostics.has_damage());
    }

    #[test]
    fn a_gateways_span_in_an_sdks_is_the_same_call() {
        let mut silent = chat("1000", "400", "100");
        silent.truncate(5);
        let spans = [
            span("sdk", "", 10, &chat("1000", "400", "100")),
            span("http", "sdk", 10, &[]),
            span("gateway", "http", 10, &chat("1000", "400", "100")),
            span("other", "", 20, &chat("1100", "400", "100")),
            span("inner", "other", 20, &silent),
        ];
        let file = read(&export("app", "x", &spans));
        assert_eq!(prompts(&file.requests), [[500, 400, 100], [600, 400, 100]]);
        assert_eq!(file.diagnostics.count(Kind::DuplicateLine), 2);
    }

    #[test]
    fn a_document_over_many_lines_is_read_as_well() {
        let text = export("app", "x", &[span("a", "", 10, &chat("1000", "400", "100"))]);
        let pretty: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let pretty = serde_json::to_string_pretty(&pretty).expect("text");
        assert_eq!(prompts(&read(&pretty).requests), [[500, 400, 100]]);
        assert_eq!(prompts(&read(&format!("[{text}]")).requests), [[500, 400, 100]]);
    }

    #[test]
    fn what_is_not_told_is_named() {
        let mut failed = span("e", "", 10, &[("gen_ai.operation.name", "chat")]);
        failed = failed.replace(r#""status":{}"#, r#""status":{"code":2}"#);
        let mut untimed = span("f", "", 10, &chat("1", "0", "0"));
        untimed = untimed.replace("TimeUnixNano", "");
        let spans = [
            span("a", "", 10, &[("gen_ai.operation.name", "chat")]),
            span(
                "b",
                "",
                11,
                &[
                    ("gen_ai.operation.name", "chat"),
                    ("gen_ai.usage.prompt_tokens", "7"),
                    ("gen_ai.usage.completion_tokens", "7"),
                ],
            ),
            failed,
            untimed,
        ];
        let file = read(&export("app", "x", &spans));
        assert!(file.requests.is_empty());
        for kind in [
            Kind::MissingUsage,
            Kind::UsageWithoutCacheCounters,
            Kind::FailedRequest,
            Kind::MissingTimestamp,
        ] {
            assert_eq!(file.diagnostics.count(kind), 1, "{kind:?}");
        }
    }

    #[test]
    fn copilots_lines_tell_the_whole_prompt_and_the_bill() {
        let line = |id: &str, start: u32, initiator: &str, input: &str| {
            format!(
                r#"{{"type":"span","traceId":"t","spanId":"{id}","parentSpanId":"r","name":"chat claude-opus-4.6","kind":2,"startTime":[17900000{start},5000000],"endTime":[17900000{start},900000000],"attributes":{{"gen_ai.operation.name":"chat","gen_ai.provider.name":"github","gen_ai.request.model":"claude-opus-4.6","gen_ai.conversation.id":"s1","gen_ai.usage.input_tokens":{input},"gen_ai.usage.output_tokens":73,"gen_ai.usage.cache_read.input_tokens":20000,"gen_ai.usage.cache_creation.input_tokens":2700,"gen_ai.usage.reasoning.output_tokens":9,"github.copilot.initiator":"{initiator}","github.copilot.nano_aiu":6958150000.0}},"status":{{"code":0}},"resource":{{"attributes":{{"service.name":"github-copilot","service.version":"1.0.78-2"}}}},"instrumentationScope":{{"name":"github.copilot","version":"1.0.78-2"}}}}"#
            )
        };
        let text = [
            r#"{"type":"metric","name":"gen_ai.client.token.usage","dataPoints":[{"value":{"sum":99}}],"resource":{"attributes":{}}}"#.to_owned(),
            line("b", 20, "agent", "23000"),
            line("a", 10, "user", "22799"),
            line("c", 30, "agent", r#""[REDACTED]""#),
            line("d", 40, "agent", "100"),
        ];
        let file = read(&text.join("\n"));
        let [first, second] = &file.requests[..] else { panic!("{:?}", file.diagnostics) };
        assert_eq!(prompts(&file.requests), [[99, 20_000, 2_700], [300, 20_000, 2_700]]);
        assert_eq!((first.client, first.nano_aiu), (Client::Copilot, Some(6_958_150_000)));
        assert_eq!(first.reasoning, Tokens(9));
        assert_eq!(first.start.get(), 1_790_000_010_005);
        assert!(first.begins_turn && !second.begins_turn);
        assert_eq!(second.follows, Follows::Request(0));
        assert_eq!(file.diagnostics.count(Kind::MissingUsage), 1);
        // More cached than sent is impossible, and proves nothing once the habit is known.
        assert_eq!(file.diagnostics.count(Kind::InvalidUsage), 1);
    }
}
