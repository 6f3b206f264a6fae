//! A chat of Gemini CLI: messages that may be written again, and that the user may go back from.
//!
//! What a chat was rewound from is no part of it, but was billed all the same; the next message goes on
//! from what stands before it. Each message knows the one before it, so that no path is walked twice.

use serde::Deserialize;

use super::pieces::Size;
use super::request::{read_if_any, split, tell_nothing, tokens};
use super::tree::Branch;
use super::{AgentFile, AgentRequest, Rejected, UNKNOWN_MODEL, Vendor};
use crate::base::client::Client;
use crate::base::id::{EntryId, Symbol};
use crate::base::units::Millis;
use crate::read::input::{Count, Kind, Text, Usage};
use crate::read::transcript::{ContentKind, ContentSource};

/// The messages of a chat so far.
#[derive(Default)]
pub(super) struct Chat {
    session: Option<Symbol>,
    agent: Option<Symbol>,
    /// All messages, in file order.
    messages: Vec<Placed>,
    /// Those that were not rewound, by their places.
    current: Vec<usize>,
}

impl Chat {
    /// Takes in who is speaking. The folder of a sub-agent's chat has the name of the session.
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

    /// Adds a message at the end, and returns its place.
    pub(super) fn append(&mut self, known: Known) -> usize {
        let place = self.messages.len();
        let before = self.current.last().copied();
        self.messages.push(Placed { known, before, rank: self.current.len() });
        self.current.push(place);
        place
    }

    /// Takes in what is new of a message, which is a current one from now on.
    pub(super) fn renew(&mut self, place: usize, new: Known) {
        let Some(message) = self.messages.get_mut(place) else { return };
        if self.current.get(message.rank) != Some(&place) {
            message.rank = self.current.len();
            self.current.push(place);
        }
        let old = std::mem::replace(&mut message.known, new);
        let known = &mut message.known;
        known.at = old.at.or(known.at);
        known.model = known.model.or(old.model);
        // What tells nothing takes nothing back.
        known.tokens = known.tokens.filter(|tokens| !tokens.is_empty()).or(old.tokens);
        known.answered = known.answered.or(old.answered);
        if known.results.is_empty() {
            known.results = old.results;
        }
    }

    /// Goes back to what stands before a message, or to the beginning.
    pub(super) fn rewind(&mut self, place: Option<usize>) {
        let message = place.and_then(|place| self.messages.get(place));
        let rank = message.map(|message| message.rank);
        let rank = rank.filter(|rank| self.current.get(*rank).copied() == place);
        self.current.truncate(rank.unwrap_or(0));
    }

    /// Adds the requests to the file.
    pub(super) fn finish(self, file: &mut AgentFile) {
        let mut branches: Vec<Branch> = Vec::with_capacity(self.messages.len());
        for message in &self.messages {
            let before = message.before.and_then(|before| branches.get(before));
            let mut branch = before.copied().unwrap_or_default();
            self.entry(&message.known, &mut branch, file);
            branches.push(branch);
        }
    }

    fn entry(&self, message: &Known, branch: &mut Branch, file: &mut AgentFile) {
        match message.side {
            Side::User => {
                branch.happened.begins_turn = true;
                branch.client_entry(message.at);
                let source = ContentSource::Text(ContentKind::UserText);
                file.bring(&mut branch.happened, message.number, source, message.content);
            }
            Side::Compression => {
                branch.happened.compact(Size::default(), message.number, file);
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
                    file.bring(&mut branch.happened, message.number, source, *size);
                }
            }
        }
    }
}

/// A message with its place in the chat.
#[derive(Debug)]
struct Placed {
    known: Known,
    /// The place of the message before it, which stands before it in the file.
    before: Option<usize>,
    /// Where it stands among the current ones, if it is one.
    rank: usize,
}

/// A message, without its text.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) number: u64,
    pub(super) id: Option<EntryId>,
    pub(super) at: Option<Millis>,
    pub(super) side: Side,
    pub(super) model: Option<Symbol>,
    pub(super) tokens: Option<ChatTokens>,
    /// How much it says.
    pub(super) content: Size,
    /// When the newest result of its tools was there.
    pub(super) answered: Option<Millis>,
    /// The results of its tools, by the tools' names.
    pub(super) results: Vec<(Option<Symbol>, Size)>,
}

/// Whose message it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    User,
    Model,
    /// The client says that what comes next is sent with a shorter history.
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

/// The usage of an answer.
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
    use crate::base::units::Tokens;
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
