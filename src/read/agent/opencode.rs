//! opencode: a session as `opencode export` writes it, or one of its messages as old versions store it.
//!
//! Each `step-finish` part reports one request. The tokens of a message are those of its last step:
//! they count where it has no such part. The input leaves out what was read and written. The output
//! holds the reasoning or leaves it out, by version: the total tells.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::document::DocumentFormat;
use super::pieces::Size;
use super::request::{Happened, parts, tell_nothing, tokens};
use super::time::Time;
use super::{AgentFile, AgentRequest, FirstObject, Follows, Rejected};
use crate::base::client::Client;
use crate::base::id::{EntryId, Symbol};
use crate::base::units::{Millis, Tokens};
use crate::read::input::{Count, Flag, Kind, List, Shape, Text, Usage};
use crate::read::transcript::{ContentKind, ContentSource};

/// Providers that say what was written. Of others a zero may stand for anything.
const TELLING_WRITES: [&str; 3] = ["anthropic", "bedrock", "venice"];

/// The format of an exported session.
pub(super) struct OpenCode;

/// The format of a stored message: `storage/message/<session>/<message>.json`.
pub(super) struct OpenCodeMessage;

impl DocumentFormat for OpenCode {
    type Document<'a> = Export<'a>;
    const FILE: &'static str = "a session of opencode";

    fn recognises(first: &FirstObject<'_>) -> bool {
        first.text("info.id").is_some_and(|id| id.starts_with("ses_"))
    }

    fn document(export: &Export<'_>, file: &mut AgentFile) {
        let mut session = Session::default();
        if let Some(info) = &export.info.0 {
            session.id = file.symbol(&info.id);
            session.agent = session.id.filter(|_| info.parent_id.as_str().is_some());
            session.project = file.symbol(&info.directory);
            session.client_version = file.symbol(&info.version);
        }
        for (number, message) in (1..).zip(&export.messages.0) {
            if let Some(message) = &message.0 {
                session.message(message, number, file);
            }
        }
    }
}

impl DocumentFormat for OpenCodeMessage {
    type Document<'a> = MessageInfo<'a>;
    const FILE: &'static str = "a message of opencode";

    fn recognises(first: &FirstObject<'_>) -> bool {
        let begins = |name, with| first.text(name).is_some_and(|id| id.starts_with(with));
        begins("id", "msg_") && begins("sessionID", "ses_") && first.has_member("role")
    }

    fn document(info: &MessageInfo<'_>, file: &mut AgentFile) {
        if info.role.is("assistant") {
            let mut session = Session { id: file.symbol(&info.session_id), ..Session::default() };
            session.answer(info, &[], 1, file);
        }
    }
}

/// What is known of a session between two of its messages.
#[derive(Default)]
struct Session {
    id: Option<Symbol>,
    agent: Option<Symbol>,
    project: Option<Symbol>,
    client_version: Option<Symbol>,
    /// What happened before the next request.
    happened: Happened,
}

/// A request that a message reports.
struct Step<'m> {
    usage: &'m TokenUsage,
    sent: Option<Millis>,
    finished: Option<Millis>,
    /// What the message holds of it.
    parts: &'m [Shape<Part<'m>>],
}

impl Session {
    fn message(&mut self, message: &Message<'_>, line: u64, file: &mut AgentFile) {
        let Some(info) = &message.info.0 else { return };
        if info.role.is("assistant") {
            self.answer(info, &message.parts.0, line, file);
        } else if info.role.is("user") {
            self.happened.begins_turn |= !is_synthetic(&message.parts.0);
            for part in message.parts.0.iter().filter_map(|part| part.0.as_ref()) {
                let kind =
                    if part.synthetic.0 { ContentKind::Reminder } else { ContentKind::UserText };
                let size = part.text.and(part.media());
                file.bring(&mut self.happened, line, ContentSource::Text(kind), size);
            }
        }
    }

    /// Adds the requests of an answer.
    fn answer(
        &mut self,
        info: &MessageInfo<'_>,
        parts: &[Shape<Part<'_>>],
        line: u64,
        file: &mut AgentFile,
    ) {
        let is_broken_off = info.is_broken_off();
        let mut was_billed = false;
        for step in steps(info, parts) {
            if !(step.usage.is_empty() && is_broken_off) {
                was_billed = true;
                match self.request(info, &step, line, file) {
                    Ok(request) => file.requests.push(request),
                    Err((kind, detail)) => file.reject(kind, line, detail),
                }
            }
            self.results(step.parts, line, file);
        }
        if info.is_summary() {
            // The message that asks for a summary is not the user's.
            self.happened.begins_turn = false;
            if !is_broken_off {
                let texts = parts.iter().filter_map(|part| part.0.as_ref()).map(|part| part.text);
                let summary = texts.fold(Size::default(), Size::and);
                self.happened.compact(summary, line, file);
            }
        } else {
            self.happened.is_after_interruption |= is_broken_off && !was_billed;
        }
    }

    /// Takes in the results of the tools that a step called, which go out with the next request.
    fn results(&mut self, parts: &[Shape<Part<'_>>], line: u64, file: &mut AgentFile) {
        for part in parts.iter().filter_map(|part| part.0.as_ref()) {
            if let Some(state) = &part.state.0 {
                let source = ContentSource::Tool(file.symbol(&part.tool));
                file.bring(&mut self.happened, line, source, state.output.and(state.error));
            }
        }
    }

    fn request(
        &mut self,
        info: &MessageInfo<'_>,
        step: &Step<'_>,
        line: u64,
        file: &mut AgentFile,
    ) -> Result<AgentRequest, Rejected> {
        let (usage, reasoning) = step.usage.billed()?;
        let no_time = (Kind::MissingTimestamp, "the request is left out");
        let sent = step.sent.or(step.finished).ok_or(no_time)?;
        let finished = step.finished.unwrap_or(sent);
        let (model, vendor) = file.model(&info.model_id);
        let times = (file.no_earlier(sent), finished);
        // A summary stands beside the conversation.
        let (follows, happened) = if info.is_summary() {
            (Follows::Nothing, Happened::default())
        } else {
            (Follows::Previous, std::mem::take(&mut self.happened))
        };
        Ok(AgentRequest {
            identity: info
                .time
                .0
                .and_then(|time| time.created.0)
                .map(|created| identity(file.symbols.text(model), created, &usage)),
            session: self.id,
            agent: self.agent,
            project: self.project.or_else(|| file.symbol(&info.path.0.as_ref()?.cwd)),
            client_version: self.client_version,
            route: file.symbol(&info.provider_id),
            reasoning,
            follows,
            knows_writes: step.usage.tells_writes(&info.provider_id),
            ..AgentRequest::new((Client::OpenCode, line), (model, vendor), times, usage)
                .after(happened)
        })
    }
}

/// By what a request is known in a fork, which copies times and tokens under new ids, and in the older
/// storage, which has the last step of a message alone.
fn identity(model: &str, Millis(created): Millis, usage: &Usage) -> EntryId {
    let Usage { prompt, output: Tokens(output), .. } = usage;
    let [input, read, write] = [prompt.input, prompt.read, prompt.write_5m].map(|part| part.0);
    EntryId::of(&format!("opencode:{created}:{model}:{input}:{output}:{read}:{write}"))
}

/// Whether the client wrote all of a message itself.
fn is_synthetic(parts: &[Shape<Part<'_>>]) -> bool {
    let mut parts = parts.iter().filter_map(|part| part.0.as_ref()).peekable();
    parts.peek().is_some() && parts.all(|part| part.synthetic.0)
}

/// The requests that a message reports. A later one is sent when all parts of the one before are there.
fn steps<'m>(info: &'m MessageInfo<'_>, parts: &'m [Shape<Part<'m>>]) -> Vec<Step<'m>> {
    let times = info.time.0.unwrap_or_default();
    let (mut sent, mut newest) = (times.created.0, times.created.0);
    let mut steps = Vec::new();
    let mut first = 0;
    for (place, part) in parts.iter().enumerate() {
        let Some(part) = &part.0 else { continue };
        newest = newest.max(part.end());
        if part.r#type.is("step-finish")
            && let Some(usage) = &part.tokens.0
        {
            steps.push(Step { usage, sent, finished: newest, parts: &parts[first..place] });
            sent = newest;
            first = place;
        }
    }
    if steps.is_empty() {
        let of_message = info.tokens.0.iter();
        steps.extend(of_message.map(|usage| Step { usage, sent, finished: newest, parts }));
    }
    if let Some(last) = steps.last_mut() {
        last.finished = times.completed.0.or(last.finished);
    }
    steps
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Export<'a> {
    #[serde(borrow)]
    info: Shape<SessionInfo<'a>>,
    #[serde(borrow)]
    messages: List<Shape<Message<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SessionInfo<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    /// The session that started it.
    #[serde(borrow, rename = "parentID")]
    parent_id: Text<'a>,
    #[serde(borrow)]
    directory: Text<'a>,
    #[serde(borrow)]
    version: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    info: Shape<MessageInfo<'a>>,
    #[serde(borrow)]
    parts: List<Shape<Part<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MessageInfo<'a> {
    #[serde(borrow)]
    role: Text<'a>,
    #[serde(borrow, rename = "sessionID")]
    session_id: Text<'a>,
    #[serde(borrow, rename = "providerID")]
    provider_id: Text<'a>,
    #[serde(borrow, rename = "modelID")]
    model_id: Text<'a>,
    #[serde(borrow)]
    mode: Text<'a>,
    #[serde(borrow)]
    path: Shape<Folder<'a>>,
    summary: Flag,
    error: Shape<IgnoredAny>,
    time: Shape<Times>,
    tokens: Shape<TokenUsage>,
}

impl MessageInfo<'_> {
    fn is_summary(&self) -> bool {
        self.summary.0 || self.mode.is("compaction")
    }

    /// Whether it ended with an error, or has not ended.
    fn is_broken_off(&self) -> bool {
        self.error.0.is_some() || self.time.0.unwrap_or_default().completed.0.is_none()
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Folder<'a> {
    #[serde(borrow)]
    cwd: Text<'a>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
struct Times {
    created: Time,
    completed: Time,
    /// Of a part.
    end: Time,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Part<'a> {
    #[serde(borrow)]
    r#type: Text<'a>,
    synthetic: Flag,
    text: Size,
    /// Of a file.
    #[serde(borrow)]
    mime: Text<'a>,
    /// Of a tool.
    #[serde(borrow)]
    tool: Text<'a>,
    time: Shape<Times>,
    /// Of a tool.
    state: Shape<ToolState>,
    /// Of a step.
    tokens: Shape<TokenUsage>,
}

impl Part<'_> {
    /// A file that is no text, which stands in a part of its own.
    fn media(&self) -> Size {
        let is_media = |mime: &str| mime.starts_with("image/") || mime == "application/pdf";
        Size { text: 0, media: u32::from(self.mime.as_str().is_some_and(is_media)) }
    }

    fn end(&self) -> Option<Millis> {
        let of_tool = self.state.0.as_ref().and_then(|state| state.time.0.as_ref());
        self.time.0.as_ref().or(of_tool).and_then(|times| times.end.0)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ToolState {
    output: Size,
    error: Size,
    time: Shape<Times>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TokenUsage {
    total: Count,
    input: Count,
    output: Count,
    reasoning: Count,
    cache: Shape<CacheUsage>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
struct CacheUsage {
    read: Count,
    write: Count,
}

impl TokenUsage {
    fn is_empty(&self) -> bool {
        let CacheUsage { read, write } = self.cache.0.unwrap_or_default();
        tell_nothing(&[self.input, self.output, self.reasoning, read, write])
    }

    /// What was billed, and the reasoning in the output.
    fn billed(&self) -> Result<(Usage, Tokens), Rejected> {
        if self.is_empty() {
            return Err((Kind::MissingUsage, "the step has no tokens"));
        }
        let CacheUsage { read, write } = self.cache.0.unwrap_or_default();
        let prompt = parts(self.input, read, write)?;
        let output = tokens(self.output)?;
        let output = output.ok_or((Kind::MissingUsage, "the step has no output tokens"))?;
        let reasoning = tokens(self.reasoning)?.unwrap_or_default();
        let with_reasoning = output + reasoning;
        let is_apart = tokens(self.total)? == Some(prompt.total() + with_reasoning);
        let output = if is_apart { with_reasoning } else { output };
        Ok((Usage { prompt, output, ..Usage::default() }, reasoning.min(output)))
    }

    fn tells_writes(&self, provider: &Text<'_>) -> bool {
        let cache = self.cache.0.unwrap_or_default();
        let Count::Value(written) = cache.write else { return false };
        let names_one = |name: &str| TELLING_WRITES.iter().any(|one| name.contains(one));
        written > 0 || provider.as_str().is_some_and(names_one)
    }
}
