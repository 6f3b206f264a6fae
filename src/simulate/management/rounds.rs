//! The messages of a conversation, in the parts between which it can be cut.

use std::ops::AddAssign;

use super::contents::{Content, is_result, sum};
use crate::base::units::Tokens;
use crate::read::transcript::ContentKind;
use crate::requests::conversation::{ContentSource, History, Request, RequestIndex};

/// So many rounds are looked at, at the most, the newest.
const MOST_ROUNDS: usize = 2_000;

/// Messages that stand together.
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

/// An answer and what the client added after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Round {
    answer: Part,
    added: Part,
    /// Whether results came in, which stay with the calls in the answer.
    has_results: bool,
}

impl Round {
    /// Messages of which nothing is known but their size.
    pub(super) fn whole(tokens: Tokens, contents: &[Content]) -> Self {
        let added = Part { tokens, texts: texts(contents) };
        Self { added, ..Self::default() }
    }

    /// An answer and what came in after it, by which a prompt grew so much.
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

    /// All of it.
    pub(super) fn tokens(&self) -> Tokens {
        self.answer.tokens + self.added.tokens
    }

    /// What it can be cut into, the newest first, each with whether the answer is in it.
    pub(super) fn parts(&self) -> impl Iterator<Item = (Part, bool)> {
        let mut all = self.answer;
        all += self.added;
        let parts = if self.has_results {
            [(all, true), (Part::default(), true)]
        } else {
            [(self.added, false), (self.answer, true)]
        };
        parts.into_iter().filter(|(part, _)| *part != Part::default())
    }
}

/// How many messages with text came in: what a user wrote, or a command, a skill or an agent in the
/// user's name. Reminders and files are attachments.
fn texts(contents: &[Content]) -> u32 {
    let is_message = |content: &&Content| match content.source {
        ContentSource::Text(kind) => !matches!(kind, ContentKind::Reminder | ContentKind::File),
        ContentSource::Tool(_) | ContentSource::Media => false,
    };
    u32::try_from(contents.iter().filter(is_message).count()).unwrap_or(u32::MAX)
}

/// The oldest part that still stands in a prompt as it came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Oldest {
    /// The request with which it came in.
    pub(super) request: usize,
    /// Whether the answer before it still stands there, too.
    pub(super) has_answer: bool,
}

/// The rounds of all requests so far.
#[derive(Debug)]
pub(super) struct Rounds(Vec<Round>);

impl Rounds {
    pub(super) fn with_capacity(requests: usize) -> Self {
        Self(Vec::with_capacity(requests))
    }

    /// Adds that of the next request.
    pub(super) fn push(&mut self, round: Round) {
        self.0.push(round);
    }

    /// Puts all messages of the last request's prompt into one.
    pub(super) fn join_last(&mut self, messages: Tokens) {
        if let Some(last) = self.0.last_mut() {
            *last = Round::whole(messages, &[]);
        }
    }

    /// Those of the last request's conversation back to an oldest one, the newest first.
    pub(super) fn back_from_last<'a>(
        &'a self,
        oldest: Oldest,
        history: &'a History,
    ) -> impl Iterator<Item = (usize, Round)> + 'a {
        let before = move |request: &usize| {
            let is_oldest = *request == oldest.request;
            let before = history.request(RequestIndex(*request)).predecessor;
            before.filter(|_| !is_oldest).map(|before| before.0)
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
