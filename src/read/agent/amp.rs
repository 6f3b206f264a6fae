//! Threads of Amp: one JSON document each, `T-<uuid>.json`.
//!
//! Each answer has its own usage with disjoint parts: `totalInputTokens` is their sum. For GPT models
//! the uncached prompt is in the write counter, although no write is billed. The usage is stamped at the
//! end of the answer; earlier messages of the user or of a tool may have timestamps, too. A ledger may have
//! the usage of answers that lack it, and that of requests beside them, such as those for titles.

use percent_encoding::percent_decode_str;

use super::{
    AgentFile, AgentRequest, DocumentFormat, FirstObject, Follows, Happened, Layout, Rejected,
    Time, Vendor, parts, read_if_any, tell_nothing, tokens,
};
use rustc_hash::FxHashSet;

use crate::base::{Client, EntryId, Millis, Order as _, Symbol};
use crate::read::input::{Count, Kind, List, PromptSplit, Shape, Text, Usage, lenient};

/// Prefix of every thread's id.
pub(crate) const THREAD: &str = "T-";

/// Format of a thread.
pub(super) struct Amp;

impl DocumentFormat for Amp {
    type Document<'a> = Thread<'a>;
    const FILE: &'static str = "a thread of Amp";
    const LAYOUT: Option<Layout> = Some(Layout::Amp);

    fn recognises(first: &FirstObject<'_>) -> bool {
        first.text("id").is_some_and(|id| id.starts_with(THREAD)) && first.has_member("messages")
    }

    fn document(thread: &Thread<'_>, file: &mut AgentFile) {
        let mut state = State {
            session: file.symbol(&thread.id),
            created: thread.created.0,
            ..State::default()
        };
        if let Some(Shape(Some(initial))) = thread.env.0.as_ref().map(|env| &env.initial) {
            let platform = initial.platform.0.as_ref();
            state.client_version = platform.and_then(|one| file.symbol(&one.client_version));
            state.project = initial.project(file);
        }
        let events = thread.ledger.0.iter().flat_map(|ledger| &ledger.events.0);
        let events: Vec<_> = events.filter_map(|event| event.0.as_ref()).collect();
        state.in_ledger = events.iter().filter_map(|event| event.message.value()).collect();
        for (number, message) in (1..).zip(&thread.messages.0) {
            file.line = number;
            if let Some(message) = &message.0 {
                state.message(message, file);
            }
        }
        let first = thread.messages.0.len() as u64 + 1;
        for (number, event) in (first..).zip(events) {
            file.line = number;
            state.event(event, file);
        }
        file.requests.order_by_key(|request| request.start);
    }
}

/// State between two messages of a thread.
#[derive(Default)]
struct State {
    session: Option<Symbol>,
    created: Option<Millis>,
    project: Option<Symbol>,
    client_version: Option<Symbol>,
    /// Newest time of a client message; after a request, the end of its answer.
    sent: Option<Millis>,
    happened: Happened,
    /// Messages whose usage is in the ledger.
    in_ledger: FxHashSet<u64>,
    /// Messages that have usage of their own, and its figures.
    told: FxHashSet<u64>,
    figures: FxHashSet<EntryId>,
}

impl State {
    fn message(&mut self, message: &Message<'_>, file: &mut AgentFile) {
        match message.role.as_str() {
            Some("user") => {
                // Tool results are user messages, too, but begin no turn.
                self.happened.begins_turn |= !message.is_result();
                self.sent = message.meta.0.and_then(|meta| meta.sent_at.0).or(self.sent);
            }
            Some("assistant") => match &message.usage.0 {
                Some(usage) if !usage.is_empty() => {
                    self.told.extend(message.id.value());
                    self.figures.insert(usage.figures());
                    let session = self.session.map(|session| file.symbols.text(session));
                    let key = session.zip(message.id.value());
                    let identity = key.map(|(session, id)| identity(session, &id.to_string()));
                    match self.request(usage, identity, file) {
                        Ok(request) => file.requests.push(request),
                        Err((kind, detail)) => file.reject(kind, file.line, detail),
                    }
                }
                _ if message.id.value().is_some_and(|id| self.in_ledger.contains(&id)) => {}
                _ if message.is_complete() => {
                    file.reject(Kind::MissingUsage, file.line, "the answer has no token counts");
                }
                // An unfinished answer has no usage, but its prompt may be in the cache.
                _ => self.happened.is_after_interruption = true,
            },
            _ => {}
        }
    }

    /// Adds the request of an entry of the ledger, unless a message has its usage.
    fn event(&mut self, event: &Event<'_>, file: &mut AgentFile) {
        let Some(told) = event.usage().filter(|told| !told.is_empty()) else { return };
        let number = event.message.value();
        let is_told = number.is_some_and(|number| self.told.contains(&number));
        if is_told || self.figures.contains(&told.figures()) {
            return;
        }
        let session = self.session.map(|session| file.symbols.text(session).to_owned());
        let id = event.id.as_str().map(str::to_owned);
        let key = number.map(|number| number.to_string()).or(id);
        let identity = session.zip(key).map(|(session, key)| identity(&session, &key));
        (self.sent, self.happened) = (told.timestamp.0, Happened::default());
        match self.request(&told, identity, file) {
            Ok(request) if number.is_some() => file.requests.push(request),
            // Titles and the like are outside of the conversation.
            Ok(request) => {
                file.requests.push(AgentRequest { follows: Follows::Nothing, ..request });
            }
            Err((kind, detail)) => file.reject(kind, file.line, detail),
        }
    }

    fn request(
        &mut self,
        told: &TokenUsage<'_>,
        identity: Option<EntryId>,
        file: &mut AgentFile,
    ) -> Result<AgentRequest, Rejected> {
        let model = file.model(&told.model);
        let has_writes = model.1 != Vendor::OpenAi;
        let prompt = told.prompt(has_writes)?;
        let output = tokens(told.output)?;
        let output = output.ok_or((Kind::MissingUsage, "the answer has no output tokens"))?;
        let finished = told.timestamp.0;
        let start = self.sent.take().or(finished).or(self.created);
        let start = start.ok_or((Kind::MissingTimestamp, "the request is left out"))?;
        let finished = finished.unwrap_or(start);
        // Without a client message in between, the next request was sent at once.
        self.sent = Some(finished);
        let usage = Usage { prompt, output, ..Usage::default() };
        let times = (file.no_earlier(start), finished);
        Ok(AgentRequest {
            identity,
            session: self.session,
            project: self.project,
            client_version: self.client_version,
            knows_writes: has_writes,
            ..AgentRequest::new((Client::Amp, file.line), model, times, usage)
                .after(std::mem::take(&mut self.happened))
        })
    }
}

/// Key of a request by its message or its entry in the ledger, the same in every copy of its thread.
fn identity(session: &str, key: &str) -> EntryId {
    EntryId::of(&format!("amp:{session}:{key}"))
}

lenient! {
    pub(super) struct Thread<'a> {
        id: Text<'a>,
        created: Time,
        env: Shape<Environment<'a>>,
        messages: List<Shape<Message<'a>>>,
        #[serde(rename = "usageLedger")]
        ledger: Shape<Ledger<'a>>,
    }

    struct Ledger<'a> {
        events: List<Shape<Event<'a>>>,
    }

    /// Entry of the ledger.
    struct Event<'a> {
        id: Text<'a>,
        timestamp: Time,
        model: Text<'a>,
        tokens: Shape<EventTokens>,
        /// Answer that the request is for.
        #[serde(rename = "toMessageId")]
        message: Count,
    }

    #[derive(Clone, Copy)]
    struct EventTokens {
        input: Count,
        output: Count,
        #[serde(rename = "cacheReadInputTokens")]
        read: Count,
        #[serde(rename = "cacheCreationInputTokens")]
        written: Count,
    }

    struct Environment<'a> {
        initial: Shape<Initial<'a>>,
    }

    /// Environment in which a thread began.
    struct Initial<'a> {
        trees: List<Shape<Tree<'a>>>,
        platform: Shape<Platform<'a>>,
    }

    struct Tree<'a> {
        uri: Text<'a>,
    }

    #[serde(rename_all = "camelCase")]
    struct Platform<'a> {
        client_version: Text<'a>,
    }

    #[serde(rename_all = "camelCase")]
    struct Message<'a> {
        role: Text<'a>,
        #[serde(rename = "messageId")]
        id: Count,
        content: List<Shape<Block<'a>>>,
        meta: Shape<Meta>,
        state: Shape<Block<'a>>,
        usage: Shape<TokenUsage<'a>>,
    }

    /// Part of a message, or the state of one.
    struct Block<'a> {
        r#type: Text<'a>,
    }

    #[derive(Clone, Copy)]
    #[serde(rename_all = "camelCase")]
    struct Meta {
        sent_at: Time,
    }

    struct TokenUsage<'a> {
        model: Text<'a>,
        timestamp: Time,
        #[serde(rename = "inputTokens")]
        input: Count,
        #[serde(rename = "outputTokens")]
        output: Count,
        #[serde(rename = "cacheReadInputTokens")]
        read: Count,
        #[serde(rename = "cacheCreationInputTokens")]
        written: Count,
    }
}

impl<'a> Event<'a> {
    /// Usage as a message would have it.
    fn usage(&self) -> Option<TokenUsage<'a>> {
        let EventTokens { input, output, read, written } = self.tokens.0?;
        let read = read_if_any(read, written);
        let (model, timestamp) = (self.model.clone(), self.timestamp);
        Some(TokenUsage { model, timestamp, input, output, read, written })
    }
}

impl Initial<'_> {
    fn project(&self, file: &mut AgentFile) -> Option<Symbol> {
        let uri = self.trees.0.first()?.0.as_ref()?.uri.as_str()?;
        let path = percent_decode_str(uri.strip_prefix("file://")?).decode_utf8().ok()?;
        Some(file.symbols.intern(&path))
    }
}

impl Message<'_> {
    /// Returns true for an answer that ended normally.
    fn is_complete(&self) -> bool {
        self.state.0.as_ref().is_some_and(|state| state.r#type.is("complete"))
    }

    /// Returns true if the message holds tool results only.
    fn is_result(&self) -> bool {
        let mut blocks = self.content.0.iter().filter_map(|block| block.0.as_ref()).peekable();
        blocks.peek().is_some() && blocks.all(|block| block.r#type.is("tool_result"))
    }
}

impl TokenUsage<'_> {
    fn is_empty(&self) -> bool {
        tell_nothing(&[self.input, self.output, self.read, self.written])
    }

    /// Key of the figures.
    fn figures(&self) -> EntryId {
        let model = self.model.as_str().unwrap_or_default();
        let counts = [self.input, self.output, self.read, self.written].map(Count::value);
        EntryId::of(&format!("{model}:{counts:?}"))
    }

    /// Billed parts of the prompt. Without writes, the write counter holds the rest of the input.
    fn prompt(&self, has_writes: bool) -> Result<PromptSplit, Rejected> {
        if has_writes {
            return parts(self.input, self.read, self.written);
        }
        let mut prompt = parts(self.input, self.read, Count::Missing)?;
        prompt.input += tokens(self.written)?.unwrap_or_default();
        Ok(prompt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Tokens;
    use crate::read::agent::testing::read;

    #[test]
    fn the_parts_of_a_prompt_stand_beside_each_other() {
        let file = read(
            r#"{"v":4,"id":"T-5","created":1790000000000,"env":{"initial":{"trees":[{"displayName":"a","uri":"file:///w/a%20b"}],"platform":{"os":"linux","client":"CLI","clientVersion":"0.9"}}},"messages":[
 {"role":"user","messageId":0,"content":[{"type":"text","text":"x"}],"meta":{"sentAt":1790000001000}},
 {"role":"assistant","messageId":1,"content":[],"usage":{"model":"claude-opus-5","inputTokens":9,"outputTokens":50,"cacheCreationInputTokens":1200,"cacheReadInputTokens":11000,"totalInputTokens":12209,"timestamp":"2026-09-21T14:13:25.000Z"}},
 {"role":"user","messageId":2,"content":[{"type":"tool_result","toolUseID":"t"}]},
 {"role":"assistant","messageId":3,"content":[],"usage":{"model":"gpt-5.5","inputTokens":0,"outputTokens":7,"cacheCreationInputTokens":4000,"cacheReadInputTokens":8000,"totalInputTokens":12000,"timestamp":"2026-09-21T14:13:30.000Z"}}]}"#,
        );
        let [claude, gpt] = &file.requests[..] else { panic!("{:?}", file.diagnostics) };
        assert_eq!(claude.usage.prompt.total(), Tokens(12_209));
        assert_eq!(claude.usage.prompt.write_5m, Tokens(1_200));
        assert_eq!(
            (claude.start.get(), claude.finished.get()),
            (1_790_000_001_000, 1_790_000_005_000)
        );
        assert!(claude.begins_turn && claude.knows_writes);
        assert_eq!(claude.project.map(|one| file.symbols.text(one)), Some("/w/a b"));
        // 4,000 tokens are in the write counter, but no write is billed.
        assert_eq!((gpt.usage.prompt.input, gpt.usage.prompt.read), (Tokens(4_000), Tokens(8_000)));
        assert_eq!(gpt.usage.prompt.written(), Tokens::ZERO);
        assert!(!gpt.begins_turn && !gpt.knows_writes);
        assert_eq!(gpt.start.get(), 1_790_000_005_000);
    }

    #[test]
    fn what_is_not_told_is_named() {
        let file = read(
            r#"{"id":"T-6","messages":[
 {"role":"assistant","usage":{"model":"claude-opus-5","inputTokens":9,"outputTokens":1}},
 {"role":"assistant","usage":{"model":"claude-opus-5","inputTokens":-9,"outputTokens":1,"cacheReadInputTokens":0}},
 {"role":"assistant","usage":{"model":"claude-opus-5","inputTokens":9,"outputTokens":1,"cacheReadInputTokens":0}},
 {"role":"assistant","messageId":"x","state":{"type":"cancelled"}},
 {"role":"assistant","messageId":7,"state":{"type":"complete","stopReason":"end_turn"}},7]}"#,
        );
        assert!(file.requests.is_empty());
        for kind in [
            Kind::UsageWithoutCacheCounters,
            Kind::InvalidUsage,
            Kind::MissingTimestamp,
            Kind::MissingUsage,
        ] {
            assert_eq!(file.diagnostics.count(kind), 1, "{kind:?}");
        }
    }
}
