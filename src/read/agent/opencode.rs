//! opencode: a session as `opencode export` writes it, or a single message as old versions store it.
//!
//! Each `step-finish` part reports one request. The tokens of a message are those of its last step: they
//! count only if it has no such part. The input leaves out the tokens read and written. The output
//! includes the reasoning or leaves it out, by version: the total decides.

use serde::de::IgnoredAny;

use super::{
    AgentFile, AgentRequest, DocumentFormat, FirstObject, Follows, Happened, Layout, Rejected,
    Size, Time, parts, tell_nothing, tokens,
};
use crate::base::{Client, EntryId, Millis, Symbol, Tokens};
use crate::read::input::{Count, Flag, Kind, List, Shape, Text, Usage, lenient};
use crate::read::transcript::{ContentKind, ContentSource};

/// Providers that report writes. A zero from others may mean anything.
pub(crate) const TELLING_WRITES: [&str; 3] = ["anthropic", "bedrock", "venice"];

/// Prefix of a session's id.
const SESSION: &str = "ses_";

/// Format of an exported session.
pub(super) struct OpenCode;

/// Format of a stored message: `storage/message/<session>/<message>.json`.
pub(super) struct OpenCodeMessage;

impl DocumentFormat for OpenCode {
    type Document<'a> = Export<'a>;
    const FILE: &'static str = "a session of opencode";
    const LAYOUT: Option<Layout> = Some(Layout::OpenCode);

    fn recognises(first: &FirstObject<'_>) -> bool {
        let message = || first.first_of("messages");
        // A filter may have replaced the ids.
        first.text("info.id").is_some_and(|id| id.starts_with(SESSION))
            || (first.has("info") && message().is_some_and(|one| one.has("info")))
    }

    fn document(export: &Export<'_>, file: &mut AgentFile) {
        let mut session = Session::default();
        if let Some(info) = &export.info.0 {
            let has_id = info.id.as_str().is_some_and(|id| id.starts_with(SESSION));
            session.id = if has_id { file.symbol(&info.id) } else { None };
            session.agent = session.id.filter(|_| info.parent_id.as_str().is_some());
            session.project = file.symbol(&info.directory);
            session.client_version = file.symbol(&info.version);
        }
        for (number, message) in (1..).zip(&export.messages.0) {
            let Some(Message { info: Shape(Some(info)), parts }) = &message.0 else { continue };
            let mut so_far = Parts::of(info);
            for part in parts.0.iter().filter_map(|part| part.0.as_ref()) {
                so_far.add(part, file);
            }
            file.line = number;
            session.message(info, so_far, file);
        }
    }
}

impl DocumentFormat for OpenCodeMessage {
    type Document<'a> = MessageInfo<'a>;
    const FILE: &'static str = "a message of opencode";
    const LAYOUT: Option<Layout> = Some(Layout::OpenCodeMessage);

    fn recognises(first: &FirstObject<'_>) -> bool {
        let begins = |name, with| first.text(name).is_some_and(|id| id.starts_with(with));
        let has_ids = begins("id", "msg_") && begins("sessionID", SESSION);
        let has_usage = first.has("time") && first.has("tokens") && first.has_member("modelID");
        first.has_member("role")
            && (has_ids || (has_usage && first.has_member("id") && first.has_member("sessionID")))
    }

    fn document(info: &MessageInfo<'_>, file: &mut AgentFile) {
        if info.role.is("assistant") {
            let mut session = Session { id: file.symbol(&info.session_id), ..Session::default() };
            file.line = 1;
            session.answer(info, Parts::of(info), file);
        }
    }
}

/// State between two messages of a session.
#[derive(Default)]
pub(super) struct Session {
    pub(super) id: Option<Symbol>,
    pub(super) agent: Option<Symbol>,
    pub(super) project: Option<Symbol>,
    pub(super) client_version: Option<Symbol>,
    /// Events before the next request.
    pub(super) happened: Happened,
    /// Start of the newest request.
    latest: Option<Millis>,
}

/// Request that a message reports.
struct Step {
    usage: TokenUsage,
    sent: Option<Millis>,
    finished: Option<Millis>,
    /// Results of the tools that it called, which go out with the next request.
    results: Vec<(ContentSource, Size)>,
}

/// Facts from the parts of a message.
pub(super) struct Parts {
    /// Start of the next request: a later one is sent when all parts of the previous one are there.
    sent: Option<Millis>,
    newest: Option<Millis>,
    steps: Vec<Step>,
    /// True if the client wrote all parts itself; `None` if there are none.
    is_synthetic: Option<bool>,
    /// Content that the client put in since the last step.
    brought: Vec<(ContentSource, Size)>,
    /// Size of the text of all parts.
    text: Size,
}

impl Parts {
    /// State before the first part of a message.
    pub(super) fn of(info: &MessageInfo<'_>) -> Self {
        let sent = info.time.0.and_then(|times| times.created.0);
        Self {
            sent,
            newest: sent,
            steps: Vec::new(),
            is_synthetic: None,
            brought: Vec::new(),
            text: Size::default(),
        }
    }

    /// Adds the next part.
    pub(super) fn add(&mut self, part: &Part<'_>, file: &mut AgentFile) {
        self.newest = self.newest.max(part.end());
        self.is_synthetic = Some(self.is_synthetic.unwrap_or(true) && part.synthetic.0);
        self.text = self.text.and(part.text);
        self.brought.push(part.content(file));
        if part.r#type.is("step-finish")
            && let Some(usage) = part.tokens.0
        {
            let results = self.results();
            self.steps.push(Step { usage, sent: self.sent, finished: self.newest, results });
            self.sent = self.newest;
        }
    }

    /// Takes the results of tools since the last step.
    fn results(&mut self) -> Vec<(ContentSource, Size)> {
        let is_result =
            |(source, _): &(ContentSource, Size)| matches!(source, ContentSource::Tool(_));
        std::mem::take(&mut self.brought).into_iter().filter(is_result).collect()
    }

    /// Requests that the message reports.
    fn steps(&mut self, info: &MessageInfo<'_>) -> Vec<Step> {
        let mut steps = std::mem::take(&mut self.steps);
        let results = self.results();
        if let Some(last) = steps.last_mut() {
            last.results.extend(results);
        } else if let Some(usage) = info.tokens.0 {
            steps.push(Step { usage, sent: self.sent, finished: self.newest, results });
        }
        if let Some(last) = steps.last_mut() {
            last.finished = info.time.0.and_then(|times| times.completed.0).or(last.finished);
        }
        steps
    }
}

impl Session {
    pub(super) fn message(&mut self, info: &MessageInfo<'_>, parts: Parts, file: &mut AgentFile) {
        if info.role.is("assistant") {
            self.answer(info, parts, file);
        } else if info.role.is("user") {
            self.happened.begins_turn |= !parts.is_synthetic.unwrap_or(false);
            self.bring(parts.brought, file);
        }
    }

    /// Records content that goes out with the next request.
    fn bring(&mut self, contents: Vec<(ContentSource, Size)>, file: &mut AgentFile) {
        for (source, size) in contents {
            file.bring(&mut self.happened, source, size);
        }
    }

    /// Adds the requests of an answer.
    pub(super) fn answer(
        &mut self,
        info: &MessageInfo<'_>,
        mut parts: Parts,
        file: &mut AgentFile,
    ) {
        let is_broken_off = info.is_broken_off();
        let mut was_billed = false;
        for step in parts.steps(info) {
            // An aborted step has no tokens: it is an interruption, and no usage is missing.
            if !(step.usage.is_empty() && is_broken_off) {
                was_billed = true;
                match self.request(info, &step, file) {
                    Ok(request) => file.requests.push(request),
                    Err((kind, detail)) => file.reject(kind, file.line, detail),
                }
            }
            self.bring(step.results, file);
        }
        if info.is_summary() {
            // The message that asks for a summary is not the user's.
            self.happened.begins_turn = false;
            if !is_broken_off {
                self.happened.compact(parts.text, file);
            }
        } else {
            self.happened.is_after_interruption |= is_broken_off && !was_billed;
        }
    }

    fn request(
        &mut self,
        info: &MessageInfo<'_>,
        step: &Step,
        file: &mut AgentFile,
    ) -> Result<AgentRequest, Rejected> {
        let (usage, reasoning) = step.usage.billed()?;
        let sent = step.sent.or(step.finished).unwrap_or_else(|| file.untimed());
        let finished = step.finished.unwrap_or(sent);
        let (model, vendor) = file.model(&info.model_id);
        // Never before the previous request, whatever the clock says.
        let sent = self.latest.map_or(sent, |latest| latest.max(sent));
        self.latest = Some(sent);
        let times = (sent, finished);
        // A summary is outside of the conversation.
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
            // A message that is stored alone comes without session data, but names its folder.
            project: self.project.or_else(|| file.symbol(&info.path.0.as_ref()?.cwd)),
            client_version: self.client_version,
            route: file.symbol(&info.provider_id),
            reasoning,
            follows,
            knows_writes: step.usage.tells_writes(&info.provider_id),
            ..AgentRequest::new((Client::OpenCode, file.line), (model, vendor), times, usage)
                .after(happened)
        })
    }
}

/// Key of a request, the same in a fork, which copies times and tokens under new ids, and in the older
/// storage, which has only the last step of a message.
fn identity(model: &str, created: Millis, usage: &Usage) -> EntryId {
    let Usage { prompt, output: Tokens(output), .. } = usage;
    let [input, read, write] = [prompt.input, prompt.read, prompt.write_5m].map(|part| part.0);
    let created = created.get();
    EntryId::of(&format!("opencode:{created}:{model}:{input}:{output}:{read}:{write}"))
}

lenient! {
    pub(super) struct Export<'a> {
        info: Shape<SessionInfo<'a>>,
        messages: List<Shape<Message<'a>>>,
    }

    struct SessionInfo<'a> {
        id: Text<'a>,
        /// Session that started it.
        #[serde(rename = "parentID")]
        parent_id: Text<'a>,
        directory: Text<'a>,
        version: Text<'a>,
    }

    struct Message<'a> {
        info: Shape<MessageInfo<'a>>,
        parts: List<Shape<Part<'a>>>,
    }

    pub(super) struct MessageInfo<'a> {
        role: Text<'a>,
        #[serde(rename = "sessionID")]
        session_id: Text<'a>,
        #[serde(rename = "providerID")]
        pub(super) provider_id: Text<'a>,
        #[serde(rename = "modelID")]
        pub(super) model_id: Text<'a>,
        mode: Text<'a>,
        path: Shape<Folder<'a>>,
        pub(super) summary: Flag,
        pub(super) error: Shape<IgnoredAny>,
        pub(super) time: Shape<Times>,
        pub(super) tokens: Shape<TokenUsage>,
    }

    struct Folder<'a> {
        cwd: Text<'a>,
    }

    #[derive(Clone, Copy)]
    pub(super) struct Times {
        pub(super) created: Time,
        completed: Time,
        /// End of the answer; in 2.0 and later.
        pub(super) streamed: Time,
        /// End of a part.
        end: Time,
    }

    pub(super) struct Part<'a> {
        r#type: Text<'a>,
        synthetic: Flag,
        text: Size,
        /// Media type of a file.
        mime: Text<'a>,
        /// Name of a tool.
        tool: Text<'a>,
        time: Shape<Times>,
        /// State of a tool's call.
        state: Shape<ToolState>,
        /// Usage of a step.
        tokens: Shape<TokenUsage>,
    }

    struct ToolState {
        output: Size,
        error: Size,
        time: Shape<Times>,
    }

    #[derive(Clone, Copy)]
    pub(super) struct TokenUsage {
        total: Count,
        input: Count,
        output: Count,
        reasoning: Count,
        cache: Shape<CacheUsage>,
    }

    #[derive(Clone, Copy)]
    struct CacheUsage {
        read: Count,
        write: Count,
    }
}

impl MessageInfo<'_> {
    fn is_summary(&self) -> bool {
        self.summary.0 || self.mode.is("compaction")
    }

    /// Returns true if the message ended with an error, or has not ended.
    fn is_broken_off(&self) -> bool {
        self.error.0.is_some() || self.time.0.unwrap_or_default().completed.0.is_none()
    }
}

impl Part<'_> {
    /// Content that the part puts into the conversation, unless it is part of the answer.
    fn content(&self, file: &mut AgentFile) -> (ContentSource, Size) {
        if let Some(state) = &self.state.0 {
            return (ContentSource::Tool(file.symbol(&self.tool)), state.output.and(state.error));
        }
        let kind = if self.synthetic.0 { ContentKind::Reminder } else { ContentKind::UserText };
        let is_media = |mime: &str| mime.starts_with("image/") || mime == "application/pdf";
        let media = u32::from(self.mime.as_str().is_some_and(is_media));
        (ContentSource::Text(kind), self.text.and(Size { text: 0, media }))
    }

    fn end(&self) -> Option<Millis> {
        let of_tool = self.state.0.as_ref().and_then(|state| state.time.0.as_ref());
        self.time.0.as_ref().or(of_tool).and_then(|times| times.end.0)
    }
}

impl TokenUsage {
    /// Usage of a version whose output leaves out the reasoning, and which reports no total.
    pub(super) fn with_reasoning_apart(self) -> Self {
        let CacheUsage { read, write } = self.cache.0.unwrap_or_default();
        let mut total = 0_u64;
        for count in [self.input, self.output, self.reasoning, read, write] {
            let Count::Value(value) = count else { continue };
            total = total.saturating_add(value);
        }
        Self { total: Count::Value(total), ..self }
    }

    fn is_empty(&self) -> bool {
        let CacheUsage { read, write } = self.cache.0.unwrap_or_default();
        tell_nothing(&[self.input, self.output, self.reasoning, read, write])
    }

    /// Billed usage, and the reasoning in the output.
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
        // Versions differ in whether the output includes the reasoning; the total shows it.
        let is_apart = tokens(self.total)? == Some(prompt.total() + with_reasoning);
        let output = if is_apart { with_reasoning } else { output };
        Ok((Usage { prompt, output, ..Usage::default() }, reasoning.min(output)))
    }

    fn tells_writes(&self, provider: &Text<'_>) -> bool {
        let cache = self.cache.0.unwrap_or_default();
        let Count::Value(written) = cache.write else { return false };
        let names_one = |name: &str| TELLING_WRITES.iter().any(|one| name.contains(one));
        // A written token proves that writes are reported, whoever the provider is.
        written > 0 || provider.as_str().is_some_and(names_one)
    }
}
