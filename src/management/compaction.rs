//! What a compaction leaves of a conversation.

use super::contents::Content;
use super::conversation::Conversation;
use super::pieces::PieceTree;
use super::rule::{Compaction, SessionMemory};
use crate::conversation::{ContentSource, History, RequestIndex};
use crate::transcript::ContentKind;
use crate::units::Tokens;

/// So many answers are looked at, at the most, for what stays.
const MOST_ROUNDS: usize = 2_000;

/// An answer and what the client added behind it. A cut between two of them splits no pair of call
/// and result and no message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Round {
    /// Their size.
    pub(super) tokens: Tokens,
    /// How many of them surely have text: what a user wrote, and an answer that ended its turn.
    pub(super) texts: u32,
}

impl Round {
    /// What came in with a request, behind an answer that ended its turn or did not.
    pub(super) fn new(tokens: Tokens, contents: &[Content], ends_turn: bool) -> Self {
        let typed = ContentSource::Text(ContentKind::UserText);
        let count = contents.iter().filter(|content| content.source == typed).count();
        let texts = u32::try_from(count).unwrap_or(u32::MAX).saturating_add(ends_turn.into());
        Self { tokens, texts }
    }
}

/// The prompt behind a full compaction (I.4): what stands in front of the messages, the summary, and
/// what is put in again.
pub(super) fn summarised(
    compaction: &Compaction,
    conversation: &Conversation,
    pieces: &PieceTree,
) -> Tokens {
    let sizes = |last| pieces.back_from(last).map(|piece| piece.tokens);
    let files = compaction.files.spent(sizes(conversation.files));
    let skills = compaction.skills.spent(sizes(conversation.skills));
    conversation.front + compaction.summary + files + skills
}

/// The prompt behind a session-memory compaction (I.2), and the oldest request whose round stays.
pub(super) fn remembered(
    memory: &SessionMemory,
    conversation: &Conversation,
    rounds: &[Round],
    history: &History,
) -> (Tokens, usize) {
    let newest = rounds.len() - 1;
    let mut kept = rounds[newest];
    let mut oldest = newest;
    for _ in 0..MOST_ROUNDS {
        let is_enough = kept.tokens >= memory.minimum && kept.texts >= memory.minimum_messages;
        if is_enough || oldest == conversation.oldest {
            break;
        }
        let Some(before) = history.request(RequestIndex(oldest)).predecessor else { break };
        let round = rounds[before.0];
        if kept.tokens + round.tokens > memory.maximum {
            break;
        }
        kept.tokens += round.tokens;
        kept.texts = kept.texts.saturating_add(round.texts);
        oldest = before.0;
    }
    (conversation.front + memory.memory + kept.tokens, oldest)
}
