//! Chat of Gemini CLI: messages that may be written again, and that the user may rewind.
//!
//! Rewound messages are no part of the chat, but were billed all the same; the next message continues
//! from the last one that is left. Each message stores its predecessor, so no path is walked twice.

use serde::Deserialize;

use super::tree::Branch;
use super::{
    AgentFile, AgentRequest, Rejected, Size, Vendor, read_if_any, split, tell_nothing, tokens,
};
use crate::base::{Client, EntryId, Millis, Symbol, UNKNOWN_MODEL};
use crate::read::input::{Count, Kind, Text, Usage};
use crate::read::transcript::{ContentKind, ContentSource};

/// Messages of a chat so far.
#[derive(Default)]
pub(super) struct Chat {
    session: Option<Symbol>,
    agent: Option<Symbol>,
    /// All messages, in file order.
    messages: Vec<Placed>,
    /// Indices of the messages that were not rewound.
    current: Vec<usize>,
}

impl Chat {
    /// Records the session and the agent. The folder of a sub-agent's chat is named after the session.
    pub(super) fn header(&mut self, session: &Text<'_>, kind: &Text<'_>, file: &mut AgentFile) {
        if self.session.is_some() {
            return;
        }
        self.session = file.symbol(session);
        if kind.is("subagent") {
            self.agent = self.session;
            self.session = file.session_of_folder(0).or(self.session);
        }
    }

    /// Appends a message, and returns its index.
    pub(super) fn append(&mut self, known: Known) -> usize {
        let place = self.messages.len();
        let before = self.current.last().copied();
        self.messages.push(Placed { known, before, rank: self.current.len() });
        self.current.push(place);
        place
    }

    /// Merges a newer version of a message, which becomes a current one.
    pub(super) fn renew(&mut self, place: usize, new: Known) {
        let Some(message) = self.messages.get_mut(place) else { return };
        if self.current.get(message.rank) != Some(&place) {
            message.rank = self.current.len();
            self.current.push(place);
        }
        let old = std::mem::replace(&mut message.known, new);
        let known = &mut message.known;
        // The first time counts: a message is written again when its tokens or results arrive.
        known.at = old.at.or(known.at);
        known.model = known.model.or(old.model);
        // An empty usage does not erase the usage of an older version.
        known.tokens = known.tokens.filter(|tokens| !tokens.is_empty()).or(old.tokens);
        known.answered = known.answered.or(old.answered);
        if known.results.is_empty() {
            known.results = old.results;
        }
    }

    /// Rewinds to the point before a message; to the beginning if it is not a current one.
    pub(super) fn rewind(&mut self, place: Option<usize>) {
        let message = place.and_then(|place| self.messages.get(place));
        let rank = message.map(|message| message.rank);
        let rank = rank.filter(|rank| self.current.get(*rank).copied() == place);
        self.current.truncate(rank.unwrap_or(0));
    }

    /// Adds the requests to the file.
    pub(super) fn finish(self, file: &mut AgentFile) {
        let mut branches: Vec<Branch> = Vec::with_capacity(self.messages.len());
        // Predecessors come earlier in the file, so a single pass finds the state of each.
        for message in &self.messages {
            let before = message.before.and_then(|before| branches.get(before));
            let mut branch = before.copied().unwrap_or_default();
            self.entry(&message.known, &mut branch, file);
            branches.push(branch);
        }
    }

    fn entry(&self, message: &Known, branch: &mut Branch, file: &mut AgentFile) {
        file.line = message.number;
        match message.side {
            Side::User => {
                branch.happened.begins_turn = true;
                branch.client_entry(message.at);
                let source = ContentSource::Text(ContentKind::UserText);
                file.bring(&mut branch.happened, source, message.content);
            }
            Side::Compression => {
                branch.happened.compact(Size::default(), file);
            }
            Side::Client => {}
            Side::Model => {
                let Some(told) = message.tokens.filter(|tokens| !tokens.is_empty()) else {
                    branch.happened.is_after_interruption = true;
                    return;
                };
                let Self { session, agent, .. } = *self;
                match request(message, told, branch.sent, file) {
                    Ok(request) => branch.add(AgentRequest { session, agent, ..request }, file),
                    Err((kind, detail)) => file.reject(kind, message.number, detail),
                }
                branch.client_entry(message.answered.or(message.at));
                for (tool, size) in &message.results {
                    let source = ContentSource::Tool(*tool);
                    file.bring(&mut branch.happened, source, *size);
                }
            }
        }
    }
}

/// Message with its place in the chat.
#[derive(Debug)]
struct Placed {
    known: Known,
    /// Index of the message before it, which is earlier in the file.
    before: Option<usize>,
    /// Index among the current messages, if it is one.
    rank: usize,
}

/// Message without its text.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) number: u64,
    pub(super) id: Option<EntryId>,
    pub(super) at: Option<Millis>,
    pub(super) side: Side,
    pub(super) model: Option<Symbol>,
    pub(super) tokens: Option<ChatTokens>,
    /// Size of its own content.
    pub(super) content: Size,
    /// Time of the newest result of its tools.
    pub(super) answered: Option<Millis>,
    /// Sizes of its tools' results, with the tools' names.
    pub(super) results: Vec<(Option<Symbol>, Size)>,
}

/// Author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    User,
    Model,
    /// Notice of the client that the next request has a shorter history.
    Compression,
    Client,
}

fn request(
    message: &Known,
    told: ChatTokens,
    sent: Option<Millis>,
    file: &mut AgentFile,
) -> Result<AgentRequest, Rejected> {
    let cached = read_if_any(told.cached, Count::Missing);
    let mut prompt = split(told.input, cached, Count::Missing)?;
    // `tool` counts tokens of the prompt that `input` leaves out.
    prompt.input += tokens(told.tool)?.unwrap_or_default();
    let reasoning = tokens(told.thoughts)?.unwrap_or_default();
    let output = tokens(told.output)?.unwrap_or_default() + reasoning;
    let start = sent.or(message.at).ok_or((Kind::MissingTimestamp, "the request is left out"))?;
    let model = message.model.unwrap_or_else(|| file.symbols.intern(UNKNOWN_MODEL));
    let usage = Usage { prompt, output, ..Usage::default() };
    let times = (start, message.at.unwrap_or(start));
    Ok(AgentRequest {
        identity: message.id,
        reasoning,
        ..AgentRequest::new((Client::Gemini, message.number), (model, Vendor::Google), times, usage)
    })
}

/// Usage of an answer.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChatTokens {
    input: Count,
    output: Count,
    cached: Count,
    thoughts: Count,
    tool: Count,
}

impl ChatTokens {
    fn is_empty(&self) -> bool {
        tell_nothing(&[self.input, self.output])
    }
}

#[cfg(test)]
mod tests {
    use crate::base::Tokens;
    use crate::read::agent::testing::read;

    #[test]
    fn empty_tokens_take_nothing_back() {
        let message = |tokens: &str| {
            format!(
                r#"{{"id":"x","timestamp":"2026-09-21T14:13:20Z","type":"gemini","model":"gemini-3-pro","tokens":{tokens}}}"#
            )
        };
        let header = r#"{"sessionId":"g","projectHash":"h","startTime":"2026-09-21T14:00:00Z"}"#;
        let told = r#"{"input":1000,"output":5,"cached":400}"#;
        for later in ["{}", "null", r#"{"input":0,"output":0,"cached":0}"#] {
            let file = read(&[header, &message(told), &message(later)].join("\n"));
            let [request] = &file.requests[..] else { panic!("{later}: {:?}", file.diagnostics) };
            let prompt = request.usage.prompt;
            assert_eq!((prompt.input, prompt.read), (Tokens(600), Tokens(400)), "{later}");
        }
        let more = message(r#"{"input":1000,"output":7,"cached":400}"#);
        let file = read(&[header, &message(told), &more].join("\n"));
        assert_eq!(file.requests.first().map(|one| one.usage.output), Some(Tokens(7)));
    }
}
