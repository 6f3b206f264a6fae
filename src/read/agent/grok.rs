//! Grok's command line: the updates of a session, `updates.jsonl`.
//!
//! A turn is reported when it ends: the sum of its calls, for each model. The input is the whole prompt,
//! including the tokens read and written. The figures beside the models may be the sum of the session,
//! so they count only if no model has its own. A turn that is reported again under the same prompt id is
//! the same turn. A turn with an unknown number of calls is named in the diagnostics and left out.

use percent_encoding::percent_decode_str;
use rustc_hash::FxHashMap;

use super::{
    AgentFile, AgentRequest, FirstObject, Follows, Layout, LineFormat, Rejected, Time, split,
    tell_nothing, tokens,
};
use crate::base::{ByKey, Client, EntryId, Millis, Symbol};
use crate::read::input::{Count, Kind, Shape, Text, Usage, lenient};

/// Rejection of a number of calls beyond that of any turn.
const IMPOSSIBLE: Rejected = (Kind::InvalidUsage, "a number of calls that cannot be one");

/// Rejection of a turn that may be one call or many.
const UNKNOWN_NUMBER: Rejected =
    (Kind::MissingUsage, "the turn does not tell how many requests it is");

/// State between two updates of a session.
#[derive(Default)]
pub(super) struct Grok {
    /// Time of the user's newest message.
    asked: Option<Millis>,
    /// Turns so far, in order. A repeated report replaces the earlier one.
    turns: Vec<Vec<Result<AgentRequest, (u64, Rejected)>>>,
    by_prompt: FxHashMap<EntryId, usize>,
}

impl LineFormat for Grok {
    type Line<'a> = Line<'a>;
    const FILE: &'static str = "the updates of a session";
    const LAYOUT: Option<Layout> = Some(Layout::Grok);

    fn recognises(first: &FirstObject<'_>) -> bool {
        // Other programs log the messages of the protocol as well, but without a time.
        let is_update =
            first.text("method").is_some_and(|method| method.ends_with("session/update"));
        is_update
            && first.has_member("timestamp")
            && !first.has_member("jsonrpc")
            && first.text("params.update.sessionUpdate").is_some()
    }

    fn line(&mut self, line: &Line<'_>, file: &mut AgentFile) -> Result<(), Rejected> {
        let Some(params) = &line.params.0 else { return Ok(()) };
        let Some(update) = &params.update.0 else { return Ok(()) };
        let at = params.meta.0.and_then(|meta| meta.at.0).or(line.timestamp.0);
        if update.kind.is("user_message_chunk") {
            self.asked = at.or(self.asked);
        }
        // A recap repeats the usage of earlier turns.
        let is_over = update.kind.is("turn_completed") || update.kind.as_str().is_none();
        if let Some(usage) = update.usage.0.as_ref().filter(|_| is_over) {
            let session = file.symbol(&params.session).or_else(|| file.session_of_folder(0));
            let turn =
                Turn { line: file.line, session, asked: self.asked, at, prompt: &update.prompt };
            self.put(&turn, usage, file);
        }
        Ok(())
    }

    fn end(self, file: &mut AgentFile) {
        for request in self.turns.into_iter().flatten() {
            match request {
                Ok(request) => file.requests.push(AgentRequest {
                    start: file.no_earlier(request.start),
                    finished: request.finished.max(file.no_earlier(request.start)),
                    ..request
                }),
                Err((line, (kind, detail))) => file.reject(kind, line, detail),
            }
        }
    }
}

/// Turn that has ended.
struct Turn<'t> {
    line: u64,
    session: Option<Symbol>,
    asked: Option<Millis>,
    at: Option<Millis>,
    prompt: &'t Text<'t>,
}

impl Grok {
    /// Adds a turn, or replaces its earlier report.
    fn put(&mut self, turn: &Turn<'_>, usage: &TurnUsage, file: &mut AgentFile) {
        let untold = ByKey::new();
        let models = usage.models.0.as_ref().unwrap_or(&untold);
        let mut requests: Vec<Result<AgentRequest, Rejected>> = Vec::new();
        for (name, told) in models {
            let Some(mut told) = told.0 else { continue };
            if models.len() == 1 && told.calls == Count::Missing {
                told.calls = usage.calls;
            }
            requests.extend(turn.request(Some(name), &told, file).transpose());
        }
        if requests.is_empty() {
            let only = models.keys().next().filter(|_| models.len() == 1);
            let sum = turn.request(only.map(String::as_str), &usage.sum(), file);
            requests.extend(sum.transpose());
        }
        // With several models, the first one that was asked is unknown.
        let is_alone = requests.len() == 1;
        for (place, request) in requests.iter_mut().flatten().enumerate() {
            request.begins_turn = place == 0;
            if !is_alone || request.usage.is_sum {
                request.follows = Follows::Nothing;
            }
        }
        let requests =
            requests.into_iter().map(|one| one.map_err(|why| (turn.line, why))).collect();
        let id = turn.prompt.as_str().map(EntryId::of);
        let known = id.and_then(|id| self.by_prompt.get(&id)).copied();
        if let Some(known) = known.and_then(|place| self.turns.get_mut(place)) {
            *known = requests;
        } else {
            self.by_prompt.extend(id.map(|id| (id, self.turns.len())));
            self.turns.push(requests);
        }
    }
}

impl Turn<'_> {
    /// Requests of a turn to one model, as a sum; `None` if it sent nothing.
    fn request(
        &self,
        model: Option<&str>,
        told: &ModelUsage,
        file: &mut AgentFile,
    ) -> Result<Option<AgentRequest>, Rejected> {
        if tell_nothing(&[told.input, told.output, told.read, told.written]) {
            return Ok(None);
        }
        let prompt = split(told.input, told.read, told.written)?;
        let output = tokens(told.output)?;
        let output = output.ok_or((Kind::MissingUsage, "the turn has no output tokens"))?;
        // Any number here would be made up: a single request would be judged by rules that the turn does
        // not follow, and a sum must name the number of its requests.
        let Count::Value(calls) = told.calls else { return Err(UNKNOWN_NUMBER) };
        let calls = u32::try_from(calls.max(1)).map_err(|_| IMPOSSIBLE)?;
        let is_sum = calls > 1;
        let finished = self.at.or(self.asked);
        let finished = finished.ok_or((Kind::MissingTimestamp, "the turn is left out"))?;
        let start = self.asked.unwrap_or(finished).min(finished);
        let name = Text(model.map(Into::into));
        let usage = Usage { prompt, output, is_sum, ..Usage::default() };
        Ok(Some(AgentRequest {
            identity: self.identity(model),
            session: self.session,
            project: project(file),
            reasoning: tokens(told.reasoning)?.unwrap_or_default().min(output),
            knows_writes: matches!(told.written, Count::Value(_)),
            sum_of: calls,
            ..AgentRequest::new(
                (Client::Grok, self.line),
                file.model(&name),
                (start, finished),
                usage,
            )
        }))
    }

    fn identity(&self, model: Option<&str>) -> Option<EntryId> {
        let prompt = self.prompt.as_str()?;
        Some(EntryId::of(&format!("grok:{prompt}:{}", model.unwrap_or_default())))
    }
}

/// Folder of the project. The folder that holds its sessions is named by this path.
fn project(file: &mut AgentFile) -> Option<Symbol> {
    let name = file.folders.get(1).filter(|name| name.contains('%'))?;
    let path = percent_decode_str(name).decode_utf8().ok()?.into_owned();
    Some(file.symbols.intern(&path))
}

lenient! {
    pub(super) struct Line<'a> {
        timestamp: Time,
        params: Shape<Params<'a>>,
    }

    struct Params<'a> {
        #[serde(rename = "sessionId")]
        session: Text<'a>,
        #[serde(rename = "_meta")]
        meta: Shape<Meta>,
        update: Shape<Update<'a>>,
    }

    #[derive(Clone, Copy)]
    struct Meta {
        #[serde(rename = "agentTimestampMs")]
        at: Time,
    }

    struct Update<'a> {
        #[serde(rename = "sessionUpdate")]
        kind: Text<'a>,
        #[serde(rename = "prompt_id")]
        prompt: Text<'a>,
        usage: Shape<TurnUsage>,
    }

    #[serde(rename_all = "camelCase")]
    struct TurnUsage {
        input_tokens: Count,
        output_tokens: Count,
        cached_read_tokens: Count,
        cache_creation_tokens: Count,
        reasoning_tokens: Count,
        #[serde(rename = "modelCalls")]
        calls: Count,
        #[serde(rename = "modelUsage")]
        models: Shape<ByKey<String, Shape<ModelUsage>>>,
    }

    #[derive(Clone, Copy)]
    struct ModelUsage {
        #[serde(rename = "inputTokens")]
        input: Count,
        #[serde(rename = "outputTokens")]
        output: Count,
        #[serde(rename = "cachedReadTokens")]
        read: Count,
        #[serde(rename = "cacheCreationTokens")]
        written: Count,
        #[serde(rename = "reasoningTokens")]
        reasoning: Count,
        #[serde(rename = "modelCalls")]
        calls: Count,
    }
}

impl TurnUsage {
    /// Figures of all models together.
    fn sum(&self) -> ModelUsage {
        ModelUsage {
            input: self.input_tokens,
            output: self.output_tokens,
            read: self.cached_read_tokens,
            written: self.cache_creation_tokens,
            reasoning: self.reasoning_tokens,
            calls: self.calls,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Tokens;
    use crate::read::agent::testing::read_at;

    const ASKED: &str = r#"{"timestamp":1790000000,"method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"x"}}}}"#;

    #[test]
    fn a_turn_is_a_sum_for_each_model_and_its_last_record_counts() {
        let file = read_at(
            "%2Fw%2Fdemo/s1/updates.jsonl",
            &format!(
                r#"{ASKED}
{{"timestamp":1790000009,"method":"_x.ai/session/update","params":{{"sessionId":"s1","update":{{"sessionUpdate":"turn_completed","prompt_id":"p1","usage":{{"inputTokens":1,"outputTokens":1,"cachedReadTokens":0,"modelCalls":1}}}}}}}}
{{"timestamp":1790000010,"method":"_x.ai/session/update","params":{{"sessionId":"s1","update":{{"sessionUpdate":"turn_completed","prompt_id":"p1","usage":{{"inputTokens":90000,"outputTokens":9000,"cachedReadTokens":0,"modelCalls":4,"modelUsage":{{"grok-4.6":{{"inputTokens":800,"outputTokens":80,"cachedReadTokens":600,"cacheCreationTokens":100,"reasoningTokens":20,"modelCalls":3}},"grok-mini":{{"inputTokens":200,"outputTokens":20,"cachedReadTokens":100,"modelCalls":1}}}}}}}},"_meta":{{"agentTimestampMs":1790000010250}}}}}}
{{"timestamp":1790000011,"method":"_x.ai/session/update","params":{{"sessionId":"s1","update":{{"sessionUpdate":"session_recap","usage":{{"inputTokens":800,"outputTokens":80,"cachedReadTokens":600}}}}}}}}
{{"timestamp":1790000020,"method":"_x.ai/session/update","params":{{"sessionId":"s1","update":{{"sessionUpdate":"turn_completed","prompt_id":"p2","usage":{{"inputTokens":100,"outputTokens":2,"cachedReadTokens":40,"modelCalls":1,"modelUsage":{{"grok-4.6":{{}}}}}}}}}}}}
"#
            ),
        );
        let [large, small, last] = &file.requests[..] else { panic!("{:?}", file.diagnostics) };
        // 800 tokens are 100 sent in full, 600 read and 100 written.
        assert_eq!((large.usage.prompt.input, large.usage.prompt.read), (Tokens(100), Tokens(600)));
        assert_eq!((large.usage.prompt.written(), large.usage.output), (Tokens(100), Tokens(80)));
        assert_eq!((large.sum_of, large.reasoning, large.usage.is_sum), (3, Tokens(20), true));
        assert_eq!(
            (large.start.get(), large.finished.get()),
            (1_790_000_000_000, 1_790_000_010_250)
        );
        assert_eq!((small.sum_of, small.usage.prompt.input), (1, Tokens(100)));
        assert!(large.knows_writes && !small.knows_writes);
        assert_eq!(file.symbols.text(last.model), "grok-4.6");
        assert_eq!((last.sum_of, last.usage.prompt.input), (1, Tokens(60)));
        assert_eq!(last.project.map(|one| file.symbols.text(one)), Some("/w/demo"));
    }

    #[test]
    fn what_cannot_be_is_named() {
        let line = |usage: &str| {
            format!(
                r#"{{"timestamp":1790000001,"method":"session/update","params":{{"update":{{"sessionUpdate":"turn_completed","usage":{usage}}}}}}}"#
            )
        };
        let text = [
            ASKED.to_owned(),
            line(r#"{"inputTokens":10,"outputTokens":1,"modelCalls":1}"#),
            line(r#"{"inputTokens":10,"outputTokens":1,"cachedReadTokens":0}"#),
            line(r#"{"inputTokens":10,"outputTokens":1,"cachedReadTokens":20}"#),
            line(
                r#"{"inputTokens":10,"outputTokens":1,"cachedReadTokens":0,"modelCalls":99999999999}"#,
            ),
            line(r#"{"inputTokens":10,"cachedReadTokens":0}"#),
            line(r#"{"inputTokens":0,"outputTokens":0,"cachedReadTokens":0}"#),
            line("[]"),
        ];
        let file = read_at("cwd/s2/updates.jsonl", &text.join("\n"));
        assert!(file.requests.is_empty());
        for (kind, count) in
            [(Kind::UsageWithoutCacheCounters, 1), (Kind::InvalidUsage, 2), (Kind::MissingUsage, 2)]
        {
            assert_eq!(file.diagnostics.count(kind), count, "{kind:?}");
        }
    }
}
