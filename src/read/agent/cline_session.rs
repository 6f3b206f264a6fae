//! What Cline keeps beside the messages of a task: the models in `task_metadata.json`, and the sessions of its
//! command line, `<session>.messages.json`.
//!
//! An answer of a session has `metrics`. The input holds the tokens read and written.

use super::halves::{Half, Used};
use super::{
    AgentFile, AgentRequest, DocumentFormat, FirstObject, Layout, Rejected, Time, parts,
    read_if_any, split, tell_nothing, tokens,
};
use crate::base::{Client, EntryId, Millis, Symbol};
use crate::read::input::{Count, Dollars, Kind, List, PromptSplit, Shape, Text, Usage, lenient};

/// Format of the models of a task.
pub(super) struct ClineModels;

impl DocumentFormat for ClineModels {
    type Document<'a> = Metadata<'a>;
    const FILE: &'static str = "what Cline notes about a task";
    const LAYOUT: Option<Layout> = Some(Layout::ClineModels);

    fn recognises(first: &FirstObject<'_>) -> bool {
        first.first_of("model_usage").is_some_and(|used| used.text("model_id").is_some())
            || (first.has("files_in_context") && first.has("model_usage"))
    }

    fn document(metadata: &Metadata<'_>, file: &mut AgentFile) {
        let used = metadata.model_usage.0.iter().filter_map(|one| one.0.as_ref());
        let used = used.filter_map(|one| one.at.0.zip(file.symbol(&one.model)));
        let used = used.map(|(from, model)| Used { from, model }).collect();
        file.half = Half::Models(used);
    }
}

lenient! {
    pub(super) struct Metadata<'a> {
        model_usage: List<Shape<ModelUsage<'a>>>,
    }

    struct ModelUsage<'a> {
        #[serde(rename = "ts")]
        at: Time,
        #[serde(rename = "model_id")]
        model: Text<'a>,
    }

    pub(super) struct Messages<'a> {
        messages: List<Shape<Message<'a>>>,
    }

    struct Message<'a> {
        role: Text<'a>,
        /// Time of a message of the user's, or of the end of an answer.
        #[serde(rename = "ts")]
        at: Time,
        content: List<Shape<Block<'a>>>,
        #[serde(rename = "modelInfo")]
        model_info: Shape<ModelInfo<'a>>,
        metrics: Shape<Metrics>,
    }

    struct Block<'a> {
        r#type: Text<'a>,
    }

    struct ModelInfo<'a> {
        id: Text<'a>,
        provider: Text<'a>,
    }

    #[derive(Clone, Copy)]
    #[serde(rename_all = "camelCase")]
    struct Metrics {
        input_tokens: Count,
        output_tokens: Count,
        cache_read_tokens: Count,
        cache_write_tokens: Count,
        cost: Dollars,
    }
}

/// Format of a session of the command line.
pub(super) struct ClineSession;

impl DocumentFormat for ClineSession {
    type Document<'a> = Messages<'a>;
    const FILE: &'static str = "a session of Cline";
    const LAYOUT: Option<Layout> = Some(Layout::ClineSession);

    fn recognises(first: &FirstObject<'_>) -> bool {
        let is_message = |one: &FirstObject<'_>| {
            one.has_member("ts") && one.has_member("content") && one.text("role").is_some()
        };
        first.first_of("messages").is_some_and(|one| is_message(&one))
    }

    fn document(messages: &Messages<'_>, file: &mut AgentFile) {
        let session = file.session_of_folder(0);
        let (mut sent, mut begins_turn) = (None, false);
        for (number, message) in (1..).zip(&messages.messages.0) {
            let Some(message) = &message.0 else { continue };
            file.line = number;
            if message.role.is("user") {
                begins_turn |= !message.is_result();
                sent = message.at.0.or(sent);
            } else if let Some(metrics) = message.metrics.0.filter(|one| !one.is_empty()) {
                match message.request(&metrics, sent, session, file) {
                    Ok(request) => file.requests.push(AgentRequest { begins_turn, ..request }),
                    Err((kind, detail)) => file.reject(kind, number, detail),
                }
                (sent, begins_turn) = (None, false);
            }
        }
    }
}

impl Message<'_> {
    /// Returns true if the message holds results of tools.
    fn is_result(&self) -> bool {
        let mut blocks = self.content.0.iter().filter_map(|block| block.0.as_ref());
        blocks.any(|block| block.r#type.is("tool_result"))
    }

    fn request(
        &self,
        metrics: &Metrics,
        sent: Option<Millis>,
        session: Option<Symbol>,
        file: &mut AgentFile,
    ) -> Result<AgentRequest, Rejected> {
        let prompt = metrics.prompt()?;
        let output = tokens(metrics.output_tokens)?;
        let output = output.ok_or((Kind::MissingUsage, "the answer has no output tokens"))?;
        let start = sent.or(self.at.0).unwrap_or_else(|| file.untimed());
        let start = file.no_earlier(start);
        let finished = self.at.0.unwrap_or(start);
        let info = self.model_info.0.as_ref();
        let model = file.model(info.map_or(&Text::default(), |info| &info.id));
        let tokens = [prompt.total(), prompt.read, output].map(|tokens| tokens.0);
        let usage = Usage { prompt, output, ..Usage::default() };
        Ok(AgentRequest {
            identity: Some(EntryId::of(&format!("cline:{}:{tokens:?}", finished.get()))),
            session,
            route: info.and_then(|info| file.symbol(&info.provider)),
            client_cost: metrics.cost.0,
            ..AgentRequest::new((Client::Cline, file.line), model, (start, finished), usage)
        })
    }
}

impl Metrics {
    fn is_empty(&self) -> bool {
        let Self { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, .. } = *self;
        tell_nothing(&[input_tokens, output_tokens, cache_read_tokens, cache_write_tokens])
    }

    fn prompt(&self) -> Result<PromptSplit, Rejected> {
        let (read, written) = (self.cache_read_tokens, self.cache_write_tokens);
        let read = read_if_any(read, written);
        // More than the input holds is beside it.
        split(self.input_tokens, read, written).or_else(|_| parts(self.input_tokens, read, written))
    }
}
