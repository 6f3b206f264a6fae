//! Exports of Langfuse: observations as a list, one per line, as pages of the API, or in traces and
//! pages of traces.
//!
//! Only generations are requests. If both a gateway and an SDK report a call, one generation is inside
//! the other: the call counts once (`calls.rs`). A trace is a program's work for one prompt of the
//! user's, if it names the session of that prompt.

mod observation;
mod usage;

use rustc_hash::FxHashMap;

use observation::Observation;
use usage::Counters;

use super::calls::{Call, Conversation, Place, Turn, place};
use super::spans::{Role, Spans};
use super::{AgentFile, AgentRequest, FirstObject, Layout, LineFormat, Rejected, Vendor};
use crate::base::{Client, EntryId, Symbol};
use crate::read::input::{Kind, Text, Usage};

/// Types of observations.
const TYPES: [&str; 10] = [
    "GENERATION",
    "SPAN",
    "EVENT",
    "AGENT",
    "TOOL",
    "CHAIN",
    "RETRIEVER",
    "EVALUATOR",
    "EMBEDDING",
    "GUARDRAIL",
];

/// State between two records of an export.
#[derive(Default)]
pub(super) struct Langfuse {
    spans: Spans,
    drafts: Vec<Draft>,
    /// Cache figures that are reported for each model.
    told: FxHashMap<Symbol, Told>,
}

/// Cache figures that are reported whenever they are not zero.
#[derive(Clone, Copy, Default)]
struct Told {
    reads: bool,
    writes: bool,
}

/// Generation before its usage is computed.
struct Draft {
    /// Request without its usage.
    request: AgentRequest,
    id: Option<EntryId>,
    counters: Counters,
    has_failed: bool,
    turn: Turn,
}

impl LineFormat for Langfuse {
    type Line<'a> = Observation<'a>;
    const FILE: &'static str = "an export of Langfuse";
    const LAYOUT: Option<Layout> = Some(Layout::Langfuse);

    fn recognises(first: &FirstObject<'_>) -> bool {
        let held = ["data", "observations"].iter().filter_map(|name| first.first_of(name));
        is_observation(first) || held.into_iter().any(|one| is_observation(&one) || is_trace(&one))
    }

    fn line(&mut self, line: &Observation<'_>, file: &mut AgentFile) -> Result<(), Rejected> {
        self.object(line, None, file.line, file)
    }

    fn end(self, file: &mut AgentFile) {
        let Self { spans, drafts, told } = self;
        let calls: Vec<Call> = drafts
            .into_iter()
            .map(|draft| {
                let told = told.get(&draft.request.model).copied().unwrap_or_default();
                draft.call(&spans, told)
            })
            .collect();
        place(calls, &spans, file);
    }
}

fn is_observation(object: &FirstObject<'_>) -> bool {
    let has_one = |names: [&str; 2]| names.iter().any(|name| object.has_member(name));
    object.is_one_of("type", &TYPES)
        && object.has_member("id")
        && has_one(["startTime", "start_time"])
        && (has_one(["traceId", "trace_id"]) || has_one(["usageDetails", "usage_details"]))
}

fn is_trace(object: &FirstObject<'_>) -> bool {
    object.first_of("observations").is_some_and(|first| is_observation(&first))
}

impl Langfuse {
    /// Reads an observation, or a trace or page with its contents, which belong to its session.
    fn object(
        &mut self,
        told: &Observation<'_>,
        session: Option<Symbol>,
        number: u64,
        file: &mut AgentFile,
    ) -> Result<(), Rejected> {
        let of_trace = told.trace.0.as_ref().and_then(|trace| file.symbol(&trace.session));
        let session = of_trace.or_else(|| file.symbol(&told.session_id)).or(session);
        for (place, held) in (1..).zip(told.data.0.iter().chain(&told.observations.0)) {
            if let Some(held) = &held.0
                && let Err((kind, detail)) = self.object(held, session, place, file)
            {
                file.reject(kind, place, detail);
            }
        }
        self.observation(told, session, number, file)
    }

    fn observation(
        &mut self,
        told: &Observation<'_>,
        session: Option<Symbol>,
        line: u64,
        file: &mut AgentFile,
    ) -> Result<(), Rejected> {
        let role = match told.r#type.as_str() {
            Some("GENERATION") => Role::Call,
            Some("AGENT") => Role::Agent(file.symbol(&told.name)),
            Some("TOOL") => Role::Tool,
            _ => Role::Other,
        };
        let id = id(&told.id);
        if let Some(id) = id {
            self.spans.add(id, self::id(&told.parent_observation_id), role);
        }
        if role != Role::Call {
            return Ok(());
        }
        let counters = told.usage_details.0.filter(|counters| !counters.is_empty());
        // `usage` is all that old versions have, and a mere summary in new ones.
        let counters = counters.or(told.usage.0).unwrap_or_default();
        let draft = draft(told, (id, session), line, counters, file)?;
        let of_model = self.told.entry(draft.request.model).or_default();
        of_model.reads |= counters.tell_reads();
        of_model.writes |= counters.tell_writes();
        self.drafts.push(draft);
        Ok(())
    }
}

fn id(text: &Text<'_>) -> Option<EntryId> {
    let text = text.as_str().filter(|text| !text.is_empty())?;
    Some(EntryId::of(&format!("langfuse:{text}")))
}

/// Generation as it was recorded.
///
/// # Errors
/// If it has no time.
fn draft(
    told: &Observation<'_>,
    (id, session): (Option<EntryId>, Option<Symbol>),
    line: u64,
    counters: Counters,
    file: &mut AgentFile,
) -> Result<Draft, Rejected> {
    let start = told.start_time.0.or(told.end_time.0);
    let start = start.ok_or((Kind::MissingTimestamp, "the generation is left out"))?;
    let times = (start, told.end_time.0.unwrap_or(start));
    let is_named = told.model.as_str().is_some_and(|name| !name.is_empty());
    let model = if is_named { &told.model } else { &told.provided_model_name };
    let trace = file.symbol(&told.trace_id);
    let session = session.or_else(|| file.symbol(&told.session_id));
    let metadata = told.metadata.0.as_ref();
    let attributes = metadata.and_then(|metadata| metadata.attributes.0.as_ref());
    let message = metadata.and_then(|metadata| file.symbol(&metadata.response_id));
    let request = AgentRequest {
        identity: id,
        session: session.or(trace),
        message: message.or_else(|| file.symbol(&attributes?.response_id)),
        request: metadata.and_then(|metadata| file.symbol(&metadata.request_id)),
        route: attributes.and_then(|attributes| file.symbol(&attributes.provider)),
        ..AgentRequest::new((Client::Langfuse, line), file.model(model), times, Usage::default())
    };
    Ok(Draft {
        request,
        id,
        counters,
        has_failed: told.level.is("ERROR"),
        // Without a session the trace is itself the session, and no turn in one.
        turn: session.and(trace).map_or(Turn::Begins(false), Turn::Prompt),
    })
}

impl Draft {
    /// Call, once the whole export is read.
    fn call(self, spans: &Spans, told: Told) -> Call {
        let sub_agent = self.id.and_then(|id| spans.sub_agent(id, None));
        let (agent, at_work) = sub_agent.unzip();
        let session = self.request.session;
        Call {
            line: self.request.line,
            span: self.id,
            identity: self.request.identity,
            fullness: self.counters.fullness(),
            place: Place::In(Conversation { session, agent, at_work }),
            turn: if agent.is_none() { self.turn } else { Turn::Begins(false) },
            request: self.finished(agent, told),
        }
    }

    fn finished(self, agent: Option<Symbol>, told: Told) -> Result<AgentRequest, Rejected> {
        if self.has_failed && self.counters.is_empty() {
            return Err((Kind::FailedRequest, "the generation left no usage"));
        }
        let (usage, reasoning) = self.counters.usage(told.reads)?;
        let is_anthropic = self.request.vendor == Vendor::Anthropic;
        let knows_writes = !is_anthropic || told.writes;
        let knows_lifetime = self.counters.tell_lifetimes();
        let request = AgentRequest { agent, knows_writes, knows_lifetime, ..self.request };
        Ok(AgentRequest { usage, reasoning, ..request })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Tokens;
    use crate::read::agent::Follows;
    use crate::read::agent::testing::read;

    fn generation(id: &str, parent: &str, second: u32, usage: &str) -> String {
        format!(
            r#"{{"id":"{id}","traceId":"t1","parentObservationId":{parent},"type":"GENERATION","name":"llm","startTime":"2026-09-21T14:13:{second:02}.000Z","endTime":"2026-09-21T14:13:{second:02}.900Z","model":"claude-opus-5","input":[{{"role":"user","content":"x"}}],"usage":{{"input":1,"output":1,"total":2,"unit":"TOKENS"}},"usageDetails":{usage},"level":"DEFAULT"}}"#
        )
    }

    const CACHED: &str = r#"{"input":10,"cache_read_input_tokens":900,"cache_creation_input_tokens":90,"output":5,"total":1005}"#;
    const SILENT: &str = r#"{"input":2000,"output":7,"total":2007}"#;

    /// Gateway's generation inside that of an SDK, and one of a tool next to them.
    fn observations() -> Vec<String> {
        vec![
            r#"{"id":"root","traceId":"t1","parentObservationId":null,"type":"SPAN","name":"x","startTime":"2026-09-21T14:13:20.000Z"}"#.to_owned(),
            generation("b", r#""root""#, 30, SILENT),
            generation("a", r#""root""#, 20, CACHED),
            generation("a2", r#""a""#, 20, CACHED),
        ]
    }

    fn assert_two(text: &str) {
        let file = read(text);
        let [first, second] = &file.requests[..] else { panic!("{text}: {:?}", file.diagnostics) };
        assert_eq!((first.usage.prompt.total(), first.usage.output), (Tokens(1_000), Tokens(5)));
        assert_eq!(first.usage.prompt.write_5m, Tokens(90));
        // A figure that the model reports elsewhere is zero here.
        assert_eq!(
            (second.usage.prompt.input, second.usage.prompt.read),
            (Tokens(2_000), Tokens(0))
        );
        assert_eq!(second.follows, Follows::Request(0));
        assert!(second.knows_writes);
        assert_eq!(first.finished.get() - first.start.get(), 900);
        assert_eq!(file.diagnostics.count(Kind::DuplicateLine), 1);
        assert!(!file.diagnostics.has_damage());
    }

    #[test]
    fn lines_lists_pages_and_traces_are_the_same() {
        let all = observations();
        assert_two(&all.join("\n"));
        assert_two(&format!("[{}]", all.join(",\n")));
        assert_two(&format!(r#"{{"data":[{}],"meta":{{"page":1}}}}"#, all.join(",")));
        assert_two(&format!("{{\"data\":[\n{}],\n\"meta\":{{\"page\":1}}\n}}", all.join(",\n")));
        assert_two(&format!("{{\n\"id\":\"t1\",\"observations\":[{}]\n}}", all.join(",")));
        let trace = format!(r#"{{"id":"t1","sessionId":"s1","observations":[{}]}}"#, all.join(","));
        let page = format!(r#"{{"data":[{trace}],"meta":{{"page":1}}}}"#);
        assert_two(&page);
        let file = read(&page);
        let session = file.requests.first().and_then(|one| one.session);
        assert_eq!(session.map(|one| file.symbols.text(one)), Some("s1"));
    }

    #[test]
    fn tables_spell_otherwise_and_tell_the_session() {
        let row = |id: &str, trace: &str, second: u32| {
            format!(
                r#"{{"id":"{id}","trace_id":"{trace}","session_id":"s1","type":"GENERATION","parent_observation_id":null,"start_time":"2026-09-21 14:13:{second}.000000","end_time":"2026-09-21 14:13:{second}.500000","provided_model_name":"gpt-5.5","usage_details":{{"input":"100","input_cached_tokens":"900","output":"5","total":"1005"}},"metadata":{{"request_id":"req_1","attributes":{{"gen_ai.response.id":"resp_1"}}}}}}"#
            )
        };
        let file = read(&[row("a", "t1", 20), row("b", "t1", 22), row("c", "t2", 24)].join("\n"));
        let [first, second, third] = &file.requests[..] else { panic!("{:?}", file.diagnostics) };
        let text = |symbol: Option<Symbol>| symbol.map(|one| file.symbols.text(one));
        assert_eq!(text(first.session), Some("s1"));
        assert_eq!((text(first.request), text(first.message)), (Some("req_1"), Some("resp_1")));
        assert_eq!(first.usage.prompt.total(), Tokens(1_000));
        let begin = [first, second, third].map(|request| request.begins_turn);
        assert_eq!(begin, [true, false, true]);
        assert_eq!(third.follows, Follows::Request(1));
    }

    #[test]
    fn what_is_not_told_is_named() {
        let untimed =
            r#"{"id":"z","traceId":"t","type":"GENERATION","startTime":null,"usageDetails":{}}"#;
        let failed = r#"{"id":"y","traceId":"t","type":"GENERATION","startTime":"2026-09-21T14:13:20Z","usageDetails":{},"level":"ERROR"}"#;
        let file =
            read(&[generation("a", "null", 1, SILENT), untimed.into(), failed.into()].join("\n"));
        assert!(file.requests.is_empty());
        for kind in [Kind::UsageWithoutCacheCounters, Kind::MissingTimestamp, Kind::FailedRequest] {
            assert_eq!(file.diagnostics.count(kind), 1, "{kind:?}");
        }
    }
}
