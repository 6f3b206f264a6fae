//! Every request of the input, once, in the order in which they were sent.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::between::Between;
use super::captured::CapturedPrompts;
use super::trail::Trail;
use crate::base::id::{Symbol, Symbols};
use crate::base::units::{Millis, Tokens};
use crate::base::zone::Zone;
use crate::read::capture::{TokenCounting, WireRequest};
use crate::read::input::{Diagnostics, Usage};
use crate::read::transcript::ServerVerdict;

/// The position of a request in [`History::requests`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestIndex(pub usize);

/// One request to the API, as its transcript recorded it.
#[allow(clippy::struct_excessive_bools)] // independent facts, not states of one machine
#[derive(Clone, Debug)]
pub struct Request {
    /// `message.id` of the answer; captures need not know it.
    pub message: Option<Symbol>,
    /// `requestId`.
    pub request: Option<Symbol>,
    /// `message.model`.
    pub model: Symbol,
    /// The session it began in.
    pub session: Symbol,
    /// The sub-agent; `None` on the main chain.
    pub agent: Option<Symbol>,
    /// The client's version.
    pub client_version: Option<Symbol>,
    /// The project's folder.
    pub project: Option<Symbol>,
    /// The branch of the project's repository.
    pub branch: Option<Symbol>,
    /// The file it began in, as a position in [`History::files`].
    pub file: usize,
    /// The line of that file where the answer begins.
    pub line: u64,
    /// When the request was sent: the newest user-side entry before the answer, else the answer.
    pub start: Millis,
    /// The time of the answer's first line.
    pub answered: Option<Millis>,
    /// The time of the answer's last line.
    pub finished: Millis,
    /// What the answer reports; captures need not know it, transcripts do.
    pub usage: Option<Usage>,
    /// Whether the recorded output may be less than the real one.
    pub output_is_lower_bound: bool,
    /// Whether the answer ends a turn.
    pub ends_turn: bool,
    /// Whether the answer holds thinking.
    pub has_thinking: bool,
    /// Whether the answer holds text; not known of a captured one.
    pub has_text: bool,
    /// `effort`; clients before 2.1.212 did not write it.
    pub effort: Option<Symbol>,
    /// The agent whose system prompt was set for the session.
    pub agent_setting: Option<Symbol>,
    /// The service's word on why it missed the cache.
    pub verdict: Option<ServerVerdict>,
    /// The request before it in its chain.
    pub predecessor: Option<RequestIndex>,
    /// What the client added since.
    pub between: Between,
    /// Of the first request of a fork, the line that replaces a result of its parent's which the
    /// parent had sent in full.
    pub fresh_replacement: Option<u64>,
    /// Tool results found beside the linear path.
    pub recovered_results: u32,
    /// Whether it is on the branch that its file ends on, across its compactions; of a sub-agent,
    /// whether what started it is.
    pub is_live: bool,
}

/// A file that was read.
#[derive(Clone, Debug)]
pub struct InputFile {
    /// Its name, relative to the given path.
    pub label: Arc<str>,
    /// What lies between its requests.
    pub trail: Trail,
}

/// Every request of the input, once: those of transcripts in the order in which they were sent, then
/// the captured ones in theirs. (The bytes of a transcript's prompt are not known, so the two can
/// share no prefix.)
#[derive(Debug, Default)]
pub struct History {
    /// Requests by start, then by answer, file and line. A predecessor always comes first.
    pub requests: Vec<Request>,
    /// The prompts of the captured ones.
    pub captured: CapturedPrompts,
    /// The files read, in input order.
    pub files: Vec<InputFile>,
    /// The strings of the requests.
    pub symbols: Symbols,
    /// What was rejected or repaired.
    pub diagnostics: Diagnostics,
    /// `requestId` → the model that refused it first.
    pub refusals: FxHashMap<Symbol, Symbol>,
    /// Sub-agent → its type, as far as transcripts tell it.
    pub agent_types: FxHashMap<Symbol, Symbol>,
    /// Session → its title, where titles are kept. A title is text of a transcript and may hold any
    /// character.
    pub titles: FxHashMap<Symbol, String>,
    /// In which time zone its days begin, and people read its times.
    pub zone: Zone,
    /// Bytes read, after decompression.
    pub bytes: u64,
    /// Lines read.
    pub lines: u64,
    /// Copies of requests in other files than their own, and replays in side conversations.
    pub duplicates: u64,
}

impl History {
    /// Those whose prompts are not known, only their usage.
    #[must_use]
    pub fn of_transcripts(&self) -> &[Request] {
        let captured = self.captured.requests.len();
        &self.requests[..self.requests.len() - captured]
    }

    /// Whether the prompt of a request is known.
    #[must_use]
    pub fn is_captured(&self, index: RequestIndex) -> bool {
        index.0 >= self.of_transcripts().len()
    }

    /// Whether there are captured prompts, and their sizes are bytes and no tokens.
    #[must_use]
    pub fn is_counted_in_bytes(&self) -> bool {
        !self.captured.requests.is_empty() && self.captured.counting != TokenCounting::Estimated
    }

    /// A request as it was captured; `None` of one of a transcript.
    #[must_use]
    pub fn wire(&self, index: RequestIndex) -> Option<&WireRequest> {
        self.captured.requests.get(index.0.checked_sub(self.of_transcripts().len())?)
    }

    /// Whether a captured request asks for `speed: fast`.
    #[must_use]
    pub fn is_sent_fast(&self, index: RequestIndex) -> bool {
        self.wire(index).is_some_and(|wire| wire.is_fast)
    }

    /// The request at `index`.
    #[must_use]
    pub fn request(&self, index: RequestIndex) -> &Request {
        &self.requests[index.0]
    }

    /// The model of a request.
    #[must_use]
    pub fn model(&self, index: RequestIndex) -> &str {
        self.symbols.text(self.request(index).model)
    }

    /// The request before `request` in its chain.
    #[must_use]
    pub fn predecessor(&self, request: &Request) -> Option<&Request> {
        request.predecessor.map(|index| self.request(index))
    }

    /// The text after an optional symbol.
    #[must_use]
    pub fn text(&self, symbol: Option<Symbol>) -> Option<&str> {
        symbol.map(|symbol| self.symbols.text(symbol))
    }
}

/// A conversation: its session, and its agent if it is not the main one.
pub type ConversationKey = (Symbol, Option<Symbol>);

impl Request {
    /// The conversation it belongs to.
    #[must_use]
    pub fn conversation(&self) -> ConversationKey {
        (self.session, self.agent)
    }

    /// When it is reported to have happened: the time of the answer's first line.
    #[must_use]
    pub fn time(&self) -> Millis {
        self.answered.unwrap_or(self.start)
    }

    /// Whether it is the first request of a fork, of which `previous` is the one it goes on from:
    /// that is another conversation's, of the same session.
    #[must_use]
    pub fn is_fork_of(&self, previous: &Self) -> bool {
        self.agent.is_some() && self.agent != previous.agent && self.session == previous.session
    }

    /// The recorded usage of a request of a transcript.
    ///
    /// # Panics
    /// Never for a transcript: its requests without usage are left out when it is joined.
    #[must_use]
    pub fn recorded(&self) -> &Usage {
        self.usage.as_ref().expect("a request of a transcript has usage")
    }

    /// The tokens of the answer before this request, as this one sends it again.
    #[must_use]
    pub fn carried_output(&self, previous: &Self) -> Tokens {
        if self.between.drops_answer { Tokens::ZERO } else { previous.recorded().output }
    }

    /// The whole prompt of a request of a transcript.
    #[must_use]
    pub fn prompt_total(&self) -> Tokens {
        self.recorded().prompt.total()
    }
}
