//! Runs of `LangSmith`, as its API and its exports write them: one per line, or a list.
//!
//! Only runs of a chat model are requests. A run has the usage as `LangChain` counts it, in its message: the input
//! includes tokens read and written, whichever service answered. Newer clients repeat it in the run's metadata.

use super::{
    AgentFile, AgentRequest, FirstObject, Follows, Layout, LineFormat, Rejected, split,
    tell_nothing, tokens,
};
use crate::base::{Client, EntryId, Order as _, Tokens};
use crate::read::input::{
    Count, Kind, List, PromptSplit, Shape, Text, Usage, lenient, moment_in_utc,
};

/// Reader of runs, which are independent of each other.
#[derive(Default)]
pub(super) struct LangSmith;

impl LineFormat for LangSmith {
    type Line<'a> = Run<'a>;
    const FILE: &'static str = "an export of LangSmith";
    const LAYOUT: Option<Layout> = Some(Layout::LangSmith);

    fn recognises(first: &FirstObject<'_>) -> bool {
        first.text("run_type").is_some()
            && first.has_member("id")
            && (first.has_member("inputs") || first.has_member("start_time"))
    }

    fn line(&mut self, run: &Run<'_>, file: &mut AgentFile) -> Result<(), Rejected> {
        if !run.r#type.is("llm") {
            return Ok(());
        }
        let outputs = run.outputs.0.as_ref();
        let message = outputs.and_then(Outputs::message);
        let metadata = run.extra.0.as_ref().and_then(|extra| extra.metadata.0.as_ref());
        let usage = message
            .and_then(|message| message.usage_metadata.0)
            .or(outputs.and_then(|outputs| outputs.usage_metadata.0))
            .or(metadata.and_then(|metadata| metadata.usage.0))
            .unwrap_or_default();
        let (prompt, output) = (usage.prompt()?, usage.output()?);
        let answer = message.and_then(|message| message.response_metadata.0.as_ref());
        let names = [
            answer.map(|answer| &answer.model_name),
            answer.map(|answer| &answer.model),
            metadata.map(|metadata| &metadata.ls_model_name),
        ];
        let is_named = |name: &&Text<'_>| name.as_str().is_some_and(|name| !name.is_empty());
        let model = file.model(names.into_iter().flatten().find(is_named).unwrap_or(&Text(None)));
        // Times have no zone.
        let [start, end] = [&run.start_time, &run.end_time].map(moment_in_utc);
        let start = start.or(end).ok_or((Kind::MissingTimestamp, "the run is left out"))?;
        let times = (start, end.unwrap_or(start));
        let details = usage.output_token_details.0.unwrap_or_default();
        // A thread of a program is its session, and without one the trace that a run is a part of.
        let session = metadata.and_then(|metadata| {
            [&metadata.session_id, &metadata.thread_id, &metadata.conversation_id]
                .into_iter()
                .find_map(|id| file.symbol(id))
        });
        let session = session.or_else(|| file.symbol(&run.trace_id));
        let id = run.id.as_str().filter(|id| !id.is_empty());
        let request = AgentRequest {
            identity: id.map(|id| EntryId::of(&format!("langsmith:{id}"))),
            session,
            follows: if session.is_some() { Follows::Previous } else { Follows::Nothing },
            message: answer.and_then(|answer| file.symbol(&answer.id)),
            route: metadata.and_then(|metadata| file.symbol(&metadata.ls_provider)),
            knows_writes: prompt.written() > Tokens::ZERO || usage.tells_writes(),
            knows_lifetime: prompt.written() == Tokens::ZERO || usage.tells_lifetimes(),
            reasoning: tokens(details.reasoning)?.unwrap_or_default().min(output),
            ..AgentRequest::new(
                (Client::LangSmith, file.line),
                model,
                times,
                Usage { prompt, output, ..Usage::default() },
            )
        };
        file.requests.push(request);
        Ok(())
    }

    fn end(self, file: &mut AgentFile) {
        // Runs are exported newest first, and a run is written when it ends.
        file.requests.order_by_key(|request| request.start);
    }
}

impl Outputs<'_> {
    /// Message of the first answer. A run in a stream, or of an agent's model, has it without generations.
    fn message(&self) -> Option<&Message<'_>> {
        let first = self.generations.0.first().and_then(|batch| batch.0.first());
        let generated = first.and_then(|one| one.0.as_ref()?.message.0.as_ref());
        let message = generated.or(self.message.0.as_ref())?;
        Some(message.kwargs.0.as_deref().unwrap_or(message))
    }
}

impl UsageMetadata {
    fn prompt(&self) -> Result<PromptSplit, Rejected> {
        if tell_nothing(&[self.input_tokens, self.output_tokens]) {
            return Err((Kind::MissingUsage, "the run has no tokens"));
        }
        let InputDetails { read, written, write_5m, write_1h } =
            self.input_token_details.0.unwrap_or_default();
        let lifetimes = [write_5m, write_1h].map(Count::value);
        // Where the lifetimes are named, the sum is zero or left out.
        let of_lifetimes = lifetimes.iter().flatten().sum::<u64>();
        let is_less = written.value().unwrap_or_default() < of_lifetimes;
        let written = if is_less { Count::Value(of_lifetimes) } else { written };
        let prompt = split(self.input_tokens, read, written)?;
        let write_1h = Tokens(lifetimes[1].unwrap_or_default()).min(prompt.write_5m);
        Ok(PromptSplit { write_1h, write_5m: prompt.write_5m.saturating_sub(write_1h), ..prompt })
    }

    fn tells_writes(&self) -> bool {
        self.input_token_details.0.is_some_and(|details| details.written.value().is_some())
    }

    fn tells_lifetimes(&self) -> bool {
        let details = self.input_token_details.0.unwrap_or_default();
        [details.write_5m, details.write_1h].iter().any(|count| count.value().is_some())
    }

    fn output(&self) -> Result<Tokens, Rejected> {
        tokens(self.output_tokens)?.ok_or((Kind::MissingUsage, "the run has no output tokens"))
    }
}

lenient! {
    pub(super) struct Run<'a> {
        id: Text<'a>,
        trace_id: Text<'a>,
        #[serde(rename = "run_type")]
        r#type: Text<'a>,
        start_time: Text<'a>,
        end_time: Text<'a>,
        outputs: Shape<Outputs<'a>>,
        extra: Shape<Extra<'a>>,
    }

    struct Outputs<'a> {
        generations: List<List<Shape<Generation<'a>>>>,
        message: Shape<Message<'a>>,
        usage_metadata: Shape<UsageMetadata>,
    }

    struct Generation<'a> {
        message: Shape<Message<'a>>,
    }

    /// Message, or what holds one as `LangChain` serialises it.
    struct Message<'a> {
        kwargs: Shape<Box<Message<'a>>>,
        usage_metadata: Shape<UsageMetadata>,
        response_metadata: Shape<Answer<'a>>,
    }

    /// Answer of the service.
    struct Answer<'a> {
        id: Text<'a>,
        model: Text<'a>,
        model_name: Text<'a>,
    }

    struct Extra<'a> {
        metadata: Shape<Metadata<'a>>,
    }

    struct Metadata<'a> {
        ls_model_name: Text<'a>,
        ls_provider: Text<'a>,
        session_id: Text<'a>,
        thread_id: Text<'a>,
        conversation_id: Text<'a>,
        #[serde(rename = "usage_metadata")]
        usage: Shape<UsageMetadata>,
    }

    #[derive(Clone, Copy)]
    struct UsageMetadata {
        input_tokens: Count,
        output_tokens: Count,
        input_token_details: Shape<InputDetails>,
        output_token_details: Shape<OutputDetails>,
    }

    #[derive(Clone, Copy)]
    struct InputDetails {
        #[serde(rename = "cache_read")]
        read: Count,
        #[serde(rename = "cache_creation")]
        written: Count,
        #[serde(rename = "ephemeral_5m_input_tokens")]
        write_5m: Count,
        #[serde(rename = "ephemeral_1h_input_tokens")]
        write_1h: Count,
    }

    #[derive(Clone, Copy)]
    struct OutputDetails {
        reasoning: Count,
    }
}
