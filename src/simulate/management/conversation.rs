//! A conversation under context management as one of its requests finds it, and its messages in
//! rounds, the parts between which it can be cut.

use std::ops::AddAssign;

use rustc_hash::FxHashMap;

use super::Breaker;
use super::pieces::{Content, PieceId, is_result, sum};
use crate::base::units::Tokens;
use crate::read::transcript::ContentKind;
use crate::read::transcript::ContentSource;
use crate::requests::conversation::{History, Request, RequestIndex};

/// A conversation under context management, as one of its requests finds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Conversation {
    /// The prompt as recorded.
    pub(super) recorded: Tokens,
    /// The prompt under the management.
    pub(super) total: Tokens,
    /// What the service deletes: the bytes that are sent have so much more.
    pub(super) deleted: Tokens,
    /// What comes before the first message, and no line shows.
    pub(super) front: Tokens,
    /// The last result of a compactable tool whose size is known.
    pub(super) results: Option<PieceId>,
    /// The last result that was cleared or deleted, with all before it.
    pub(super) cleared: Option<PieceId>,
    /// The last result that a placeholder replaces, with all before it.
    pub(super) replaced: Option<PieceId>,
    /// The request that last rewrote the messages, or began them. No prefix that ends inside of the
    /// rewritten part is in the cache.
    pub(super) rewritten: usize,
    /// The last file that was read or attached.
    pub(super) files: Option<PieceId>,
    /// The last skill that was used.
    pub(super) skills: Option<PieceId>,
    /// The oldest message that is still in the prompt as it came.
    pub(super) oldest: Oldest,
    /// Stops compactions that follow one another too fast.
    pub(super) breaker: Breaker,
    /// The state of its memory.
    pub(super) memory: MemoryState,
}

/// The conversations that later requests continue, each as a request left it.
pub(super) struct Conversations {
    standing: FxHashMap<usize, Conversation>,
    /// For each request, how many requests have yet to continue it.
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

    /// The conversation as a request left it, for one that continues it.
    ///
    /// # Panics
    /// Never: a predecessor comes first, and its conversation is kept until the last request has
    /// continued it.
    #[inline]
    pub(super) fn at(&self, before: RequestIndex) -> &Conversation {
        &self.standing[&before.get()]
    }

    /// Stores what a request leaves for those that continue it, and drops what it was the last to
    /// continue.
    pub(super) fn keep(&mut self, index: usize, request: &Request, conversation: Conversation) {
        if let Some(before) = request.predecessor {
            self.followers[before.get()] -= 1;
            if self.followers[before.get()] == 0 {
                self.standing.remove(&before.get());
            }
        }
        if self.followers[index] > 0 {
            self.standing.insert(index, conversation);
        }
    }
}

/// The state of a conversation's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MemoryState {
    /// Whether it was written.
    pub(super) is_written: bool,
    /// The size of the conversation when it was written, or what was left of it since.
    pub(super) size: Tokens,
    /// The results that have come in since.
    pub(super) calls: u32,
}

/// How a recorded prompt follows the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transition {
    /// The conversation grew.
    Grown,
    /// It was summarised.
    Compacted,
    /// It was summarised, but another design continues with so many more tokens.
    Undone(Tokens),
    /// It was rewritten in another way, or another model counts its tokens differently. What is
    /// left of it cannot be told.
    Rewritten,
}

impl Conversation {
    /// The first prompt of a conversation.
    pub(super) fn open(index: usize, total: Tokens, front: Tokens) -> Self {
        let start = Self { recorded: total, total, front, ..Self::default() };
        start.anew(index)
    }

    /// The next prompt, which had `recorded` tokens in the record.
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
                ..next.anew(index)
            },
            Transition::Rewritten => {
                // Nothing is known of this rewrite, so the proportion stays.
                let total = self.rescaled(self.total, recorded);
                let sent = self.rescaled(self.sent(), recorded);
                Self {
                    total,
                    deleted: sent.saturating_sub(total),
                    front: self.rescaled(self.front, recorded),
                    ..next.anew(index)
                }
            }
        }
    }

    /// Forgets what is known of its contents.
    fn anew(self, index: usize) -> Self {
        let oldest = Oldest { request: index, has_answer: false };
        Self { results: None, cleared: None, replaced: None, rewritten: index, oldest, ..self }
    }

    /// A part of the prompt, scaled to `recorded` tokens.
    fn rescaled(&self, part: Tokens, recorded: Tokens) -> Tokens {
        if part == self.recorded {
            return recorded;
        }
        part.share(recorded.0, self.recorded.0)
    }

    /// The prompt, including what the service deletes of it.
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

    /// Whether the prompt is as recorded.
    pub(super) fn is_recorded(&self) -> bool {
        self.total == self.recorded
    }
}

/// The most rounds that are looked at, newest first.
const MOST_ROUNDS: usize = 2_000;

/// Consecutive messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    /// Their size.
    pub(super) tokens: Tokens,
    /// How many of them have text.
    pub(super) texts: u32,
}

impl AddAssign for Part {
    fn add_assign(&mut self, other: Self) {
        self.tokens += other.tokens;
        self.texts = self.texts.saturating_add(other.texts);
    }
}

/// An answer, and what the client added after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Round {
    answer: Part,
    added: Part,
    /// Whether results came in. They cannot be separated from the calls in the answer.
    has_results: bool,
}

impl Round {
    /// Messages of which only the size is known.
    pub(super) fn whole(tokens: Tokens, contents: &[Content]) -> Self {
        let added = Part { tokens, texts: texts(contents) };
        Self { added, ..Self::default() }
    }

    /// An answer and what followed it, by which a prompt grew by `growth`.
    pub(super) fn new(growth: Tokens, contents: &[Content], answered: &Request) -> Self {
        let output = answered.recorded().output;
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

    /// Its whole size.
    pub(super) fn tokens(&self) -> Tokens {
        self.answer.tokens + self.added.tokens
    }

    /// The parts it can be cut into, newest first, each with whether it contains the answer.
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

/// How many messages with text came in: those a user wrote, or a command, a skill or an agent in
/// the user's name. Reminders and files are attachments.
fn texts(contents: &[Content]) -> u32 {
    let is_message = |content: &&Content| match content.source {
        ContentSource::Text(kind) => !matches!(kind, ContentKind::Reminder | ContentKind::File),
        ContentSource::Tool(_) | ContentSource::Media => false,
    };
    u32::try_from(contents.iter().filter(is_message).count()).unwrap_or(u32::MAX)
}

/// The oldest part that is still in a prompt as it came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Oldest {
    /// The request with which it came in.
    pub(super) request: usize,
    /// Whether the answer before it is still there, too.
    pub(super) has_answer: bool,
}

/// The rounds of all requests so far.
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

    /// The rounds of the last request's conversation back to the oldest one, newest first.
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
