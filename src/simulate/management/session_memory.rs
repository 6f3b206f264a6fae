//! Session-memory compaction: what stays of a conversation after its memory, and what the memory costs.

use super::conversation::{Conversation, MemoryState};
use super::rounds::{Oldest, Part, Rounds};
use super::trigger::Trigger;
use crate::base::units::Tokens;
use crate::requests::conversation::History;

/// Session-memory compaction, in main conversations. It takes the place of recorded compactions and
/// needs no request; keeping the memory up to date does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionMemory {
    /// From which size on.
    pub trigger: Trigger,
    /// The size of the memory.
    pub memory: Tokens,
    /// At least so much of the latest messages stays.
    pub minimum: Tokens,
    /// At least so many messages with text stay.
    pub minimum_messages: u32,
    /// No more than this stays, unless one message, or a call and its result, is larger.
    pub maximum: Tokens,
    /// When the memory is written.
    pub updates: MemoryUpdates,
}

/// When a fork of the conversation writes its memory (G.5), and what it sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryUpdates {
    /// For the first time from this size on: the prompt and its answer.
    pub first: Tokens,
    /// Then whenever the conversation has grown by so much …
    pub growth: Tokens,
    /// … and so many results have come in.
    pub calls: u32,
    /// What the fork adds to the conversation.
    pub request: Tokens,
    /// What it answers.
    pub output: Tokens,
}

impl Default for SessionMemory {
    /// The minimum and maximum are the client's (I.2), and the memory is as large as it may be (G.5).
    fn default() -> Self {
        Self {
            trigger: Trigger::At(Tokens(100_000)),
            memory: Tokens(12_000),
            minimum: Tokens(10_000),
            minimum_messages: 5,
            maximum: Tokens(40_000),
            updates: MemoryUpdates::default(),
        }
    }
}

impl Default for MemoryUpdates {
    /// The smaller of the values that G.5 has; what the fork sends and answers is taken to be what a
    /// summary does beside the summary.
    fn default() -> Self {
        Self {
            first: Tokens(10_000),
            growth: Tokens(5_000),
            calls: 3,
            request: Tokens(2_500),
            output: Tokens(2_000),
        }
    }
}

impl MemoryUpdates {
    /// Notes that a conversation has so many tokens with its last answer; says whether its memory is
    /// written now.
    pub(super) fn is_due(&self, state: &mut MemoryState, size: Tokens) -> bool {
        let has_grown = size.saturating_sub(state.size) >= self.growth;
        let is_due = if state.is_written {
            has_grown && state.calls >= self.calls
        } else {
            size >= self.first
        };
        if is_due {
            *state = MemoryState { is_written: true, size, calls: 0 };
        }
        is_due
    }
}

/// The prompt after a session-memory compaction (I.2), and the oldest of what stays.
pub(super) fn remembered(
    memory: &SessionMemory,
    conversation: &Conversation,
    rounds: &Rounds,
    history: &History,
) -> (Tokens, Oldest) {
    let mut kept = Part::default();
    let mut oldest = None;
    'rounds: for (request, round) in rounds.back_from_last(conversation.oldest, history) {
        for (part, has_answer) in round.parts() {
            let is_enough = kept.tokens >= memory.minimum && kept.texts >= memory.minimum_messages;
            let is_too_much = kept.tokens + part.tokens > memory.maximum;
            if oldest.is_some() && (is_enough || is_too_much) {
                break 'rounds;
            }
            kept += part;
            oldest = Some(Oldest { request, has_answer });
        }
    }
    let total = conversation.front + memory.memory + kept.tokens;
    (total, oldest.unwrap_or(conversation.oldest))
}
