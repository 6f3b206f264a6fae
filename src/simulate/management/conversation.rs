//! State of a conversation under context management before one of its requests, and its messages in
//! rounds, the parts between which it can be cut.

use std::ops::AddAssign;

use rustc_hash::FxHashMap;

use super::pieces::{is_result, sum};
use super::{Breaker, Content, PieceId};
use crate::base::Tokens;
use crate::read::transcript::{ContentKind, ContentSource};
use crate::requests::conversation::{History, Request, RequestIndex};

/// Conversation under context management, before one of its requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Conversation {
    /// Size of the prompt as recorded.
    pub(super) recorded: Tokens,
    /// Size of the prompt under the management.
    pub(super) total: Tokens,
    /// Tokens that the service deletes; the bytes that are sent still have them.
    pub(super) deleted: Tokens,
    /// Tokens before the first message, which no line shows.
    pub(super) front: Tokens,
    /// Last result of a compactable tool with known size.
    pub(super) results: Option<PieceId>,
    /// Last result that was cleared or deleted, with all before it.
    pub(super) cleared: Option<PieceId>,
    /// Last result that a placeholder replaces, with all before it.
    pub(super) replaced: Option<PieceId>,
    /// Request that last rewrote the messages, or began them.
    ///
    /// No prefix that ends inside of the rewritten part is in the cache.
    pub(super) rewritten: usize,
    /// Last file that was read or attached.
    pub(super) files: Option<PieceId>,
    /// Last skill that was used.
    pub(super) skills: Option<PieceId>,
    /// Oldest message that is still unchanged in the prompt.
    pub(super) oldest: Oldest,
    /// Stops compactions that follow one another too fast.
    pub(super) breaker: Breaker,
    /// State of the conversation's memory.
    pub(super) memory: MemoryState,
}

/// Conversations that later requests continue, each as a request left it.
pub(super) struct Conversations {
    standing: FxHashMap<usize, Conversation>,
    /// Number of requests that have yet to continue each request.
    followers: Vec<u32>,
}

impl Conversations {
    pub(super) fn new(requests: &[Request]) -> Self {
        let mut followers = vec![0; requests.len()];
        for before in requests.iter().filter_map(|request| request.predecessor) {
            followers[before.get()] += 1;
        }
        Self { standing: FxHashMap::default(), followers }
    }

    /// Conversation as a request left it, for one that continues it.
    ///
    /// # Panics
    /// Never: a predecessor comes first, and its conversation is kept until the last request has
    /// continued it.
    #[inline]
    pub(super) fn at(&self, before: RequestIndex) -> &Conversation {
        &self.standing[&before.get()]
    }

    /// Stores a conversation for the requests that continue it, and drops the predecessor's after
    /// its last follower.
    pub(super) fn keep(&mut self, index: usize, request: &Request, conversation: Conversation) {
        if let Some(before) = request.predecessor {
            self.followers[before.get()] -= 1;
            if self.followers[before.get()] == 0 {
                self.standing.remove(&before.get());
            }
        }
        // Most requests are continued once, so that only one conversation per chain is held in memory.
        if self.followers[index] > 0 {
            self.standing.insert(index, conversation);
        }
    }
}

/// State of a conversation's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MemoryState {
    /// True if the memory was written.
    pub(super) is_written: bool,
    /// Size of the conversation when the memory was written, or its smallest size since.
    pub(super) size: Tokens,
    /// Results that have come in since.
    pub(super) calls: u32,
}

/// Relation of a recorded prompt to the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transition {
    /// The conversation grew.
    Grown,
    /// The conversation was summarised.
    Compacted,
    /// The conversation was summarised, but another design continues with these additional tokens.
    Undone(Tokens),
    /// The conversation was rewritten in another way, or another model counts its tokens differently.
    ///
    /// The remaining part is unknown.
    Rewritten,
}

impl Conversation {
    /// First prompt of a conversation.
    pub(super) fn open(index: usize, total: Tokens, front: Tokens) -> Self {
        let start = Self { recorded: total, total, front, ..Self::default() };
        start.without_contents(index)
    }

    /// Next prompt, which had `recorded` tokens in the record.
    pub(super) fn next(self, index: usize, recorded: Tokens, transition: Transition) -> Self {
        let next = Self { recorded, ..self };
        match transition {
            Transition::Grown => {
                let total = (self.total + recorded).saturating_sub(self.recorded);
                Self { total, ..next }
            }
            Transition::Undone(added) => Self { total: self.total + added, ..next },
            Transition::Compacted => Self {
                total: recorded,
                deleted: Tokens::ZERO,
                front: self.front.min(recorded),
                ..next.without_contents(index)
            },
            Transition::Rewritten => {
                // Nothing is known of this rewrite, so the proportion stays.
                let total = self.rescaled(self.total, recorded);
                let sent = self.rescaled(self.sent(), recorded);
                Self {
                    total,
                    deleted: sent.saturating_sub(total),
                    front: self.rescaled(self.front, recorded),
                    ..next.without_contents(index)
                }
            }
        }
    }

    /// Forgets the contents of the conversation.
    fn without_contents(self, index: usize) -> Self {
        let oldest = Oldest { request: index, has_answer: false };
        Self { results: None, cleared: None, replaced: None, rewritten: index, oldest, ..self }
    }

    /// Part of the prompt, scaled to `recorded` tokens.
    fn rescaled(&self, part: Tokens, recorded: Tokens) -> Tokens {
        // Exact for the whole, also if the recorded prompt has no tokens.
        if part == self.recorded {
            return recorded;
        }
        part.share(recorded.0, self.recorded.0)
    }

    /// Size of the prompt, including the tokens that the service deletes.
    pub(super) fn sent(&self) -> Tokens {
        self.total + self.deleted
    }

    /// Maps a position in the recorded prompt to the present prompt.
    pub(super) fn moved(&self, recorded: Tokens) -> Tokens {
        (recorded + self.total).saturating_sub(self.recorded).min(self.total)
    }

    /// Maps a position in the recorded prompt to the bytes that are sent.
    pub(super) fn moved_as_sent(&self, recorded: Tokens) -> Tokens {
        (recorded + self.sent()).saturating_sub(self.recorded).min(self.sent())
    }

    /// Returns true if the prompt has its recorded size.
    pub(super) fn is_recorded(&self) -> bool {
        self.total == self.recorded
    }
}

/// Largest number of rounds per search, newest first; it bounds the time in endless conversations.
const MOST_ROUNDS: usize = 2_000;

/// Consecutive messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    /// Size of the messages.
    pub(super) tokens: Tokens,
    /// Number of messages with text.
    pub(super) texts: u32,
}

impl AddAssign for Part {
    fn add_assign(&mut self, other: Self) {
        self.tokens += other.tokens;
        self.texts = self.texts.saturating_add(other.texts);
    }
}

/// Answer, with the client's additions after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Round {
    answer: Part,
    added: Part,
    /// True if results came in; they cannot be separated from the calls in the answer.
    has_results: bool,
}

impl Round {
    /// Messages with a known total size only.
    pub(super) fn whole(tokens: Tokens, contents: &[Content]) -> Self {
        let added = Part { tokens, texts: texts(contents) };
        Self { added, ..Self::default() }
    }

    /// Answer and additions, by which a prompt grew by `growth`.
    pub(super) fn new(growth: Tokens, contents: &[Content], answered: &Request) -> Self {
        let output = answered.recorded().output;
        // A response whose record ends early has a larger output: the growth that no contents explain.
        let answer = if answered.output_is_lower_bound {
            output.max(growth.saturating_sub(sum(contents)))
        } else {
            output
        };
        let answer = answer.min(growth);
        let added = growth.saturating_sub(answer);
        Self {
            answer: Part { tokens: answer, texts: answered.has_text.into() },
            added: Part { tokens: added, texts: texts(contents) },
            has_results: contents.iter().any(is_result),
        }
    }

    /// Size of the round.
    pub(super) fn tokens(&self) -> Tokens {
        self.answer.tokens + self.added.tokens
    }

    /// Parts into which the round can be cut, newest first, each with a flag for the answer.
    pub(super) fn parts(&self) -> impl Iterator<Item = (Part, bool)> {
        let mut all = self.answer;
        all += self.added;
        let parts = if self.has_results {
            // Calls cannot be cut off from their results.
            [(all, true), (Part::default(), true)]
        } else {
            [(self.added, false), (self.answer, true)]
        };
        parts.into_iter().filter(|(part, _)| *part != Part::default())
    }
}

/// Number of added messages with text: written by a user, or by a command, a skill or an agent in
/// the user's name.
///
/// Reminders and files are attachments.
fn texts(contents: &[Content]) -> u32 {
    let is_message = |content: &&Content| match content.source {
        ContentSource::Text(kind) => !matches!(kind, ContentKind::Reminder | ContentKind::File),
        ContentSource::Tool(_) | ContentSource::Media => false,
    };
    u32::try_from(contents.iter().filter(is_message).count()).unwrap_or(u32::MAX)
}

/// Oldest part that is still unchanged in a prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Oldest {
    /// Request with which the part came in.
    pub(super) request: usize,
    /// True if the answer before the part is still there, too.
    pub(super) has_answer: bool,
}

/// Rounds of all requests so far.
#[derive(Debug)]
pub(super) struct Rounds(Vec<Round>);

impl Rounds {
    pub(super) fn with_capacity(requests: usize) -> Self {
        Self(Vec::with_capacity(requests))
    }

    /// Adds the round of the next request.
    pub(super) fn push(&mut self, round: Round) {
        self.0.push(round);
    }

    /// Joins all messages of the last request's prompt into one round.
    pub(super) fn join_last(&mut self, messages: Tokens) {
        if let Some(last) = self.0.last_mut() {
            *last = Round::whole(messages, &[]);
        }
    }

    /// Rounds of the last request's conversation back to the oldest one, newest first.
    pub(super) fn back_from_last<'a>(
        &'a self,
        oldest: Oldest,
        history: &'a History,
    ) -> impl Iterator<Item = (usize, Round)> + 'a {
        let before = move |request: &usize| {
            let is_oldest = *request == oldest.request;
            let before = history.request(RequestIndex::new(*request)).predecessor;
            before.filter(|_| !is_oldest).map(RequestIndex::get)
        };
        let requests = std::iter::successors(self.0.len().checked_sub(1), before);
        requests.take(MOST_ROUNDS).map(move |request| {
            let round = self.0[request];
            let is_cut = request == oldest.request && !oldest.has_answer;
            let answer = if is_cut { Part::default() } else { round.answer };
            (request, Round { answer, ..round })
        })
    }
}
