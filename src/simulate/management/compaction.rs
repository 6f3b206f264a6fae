//! Full compaction (its request, and the remaining conversation), and session-memory compaction
//! (the messages that stay after the memory, and the cost of the memory).

use super::Trigger;
use super::conversation::{Conversation, MemoryState, Oldest, Part, Rounds};
use super::pieces::PieceTree;
use crate::base::units::Tokens;
use crate::requests::conversation::History;

/// Full compaction, in every conversation; it replaces the recorded ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compaction {
    /// Size that triggers a compaction.
    pub trigger: Trigger,
    /// Request for the summary.
    pub attempt: Attempt,
    /// Size of a summary.
    pub summary: Tokens,
    /// Attachments after the summary.
    pub again: PutInAgain,
}

/// Request for a summary (I.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Largest prompt that the service accepts, in tokens; `None` if unknown: it then accepts every prompt.
    pub window: Option<Tokens>,
    /// Tokens that the request adds to the conversation.
    pub request: Tokens,
    /// Tokens of its answer besides the summary; they are dropped afterwards.
    pub analysis: Tokens,
    /// Number of retries without the oldest rounds after a request that was too long.
    pub retries: u32,
    /// True if the service reports by how much the request was too long.
    ///
    /// Otherwise a fifth of the rounds is dropped.
    pub is_gap_reported: bool,
    /// Number of failed compactions in a row that stop all later ones.
    pub failures: u32,
}

/// Attachments after a summary (I.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PutInAgain {
    /// Files that were read last.
    pub files: Budget,
    /// Skills that were used last.
    pub skills: Budget,
    /// Tokens of the plan.
    pub plan: Tokens,
    /// Tokens of the list of agents.
    pub agents: Tokens,
    /// Tokens of the list of deferred tools.
    pub tools: Tokens,
    /// Tokens of the instructions of MCP servers.
    pub mcp: Tokens,
}

/// Limits of one kind of attachment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// Largest number of pieces.
    pub pieces: u32,
    /// Largest number of tokens of each piece.
    pub each: Tokens,
    /// Largest number of tokens of all pieces together.
    pub all: Tokens,
}

impl Default for Compaction {
    /// Numbers of the client if they are known, in conversations of 100,000 tokens.
    fn default() -> Self {
        Self {
            trigger: Trigger::At(Tokens(100_000)),
            attempt: Attempt::default(),
            summary: Tokens(4_000),
            again: PutInAgain::usual(),
        }
    }
}

impl Default for Attempt {
    /// I.3 gives ranges for the request and the analysis: two to three thousand tokens, and one to
    /// three thousand.
    fn default() -> Self {
        Self {
            window: None,
            request: Tokens(2_500),
            analysis: Tokens(2_000),
            retries: 3,
            is_gap_reported: true,
            failures: 3,
        }
    }
}

impl PutInAgain {
    /// Budgets of the client.
    ///
    /// The lists have their usual size after recorded compactions (clients from 2.1.170 on), and
    /// there is no plan.
    #[must_use]
    pub fn usual() -> Self {
        Self {
            files: Budget::FILES,
            skills: Budget::SKILLS,
            plan: Tokens::ZERO,
            agents: Tokens(1_400),
            tools: Tokens(2_000),
            mcp: Tokens(1_600),
        }
    }

    fn tokens(&self, conversation: &Conversation, pieces: &PieceTree) -> Tokens {
        let sizes = |last| pieces.back_from(last).map(|piece| piece.tokens);
        let files = self.files.spent(sizes(conversation.files));
        let skills = self.skills.spent(sizes(conversation.skills));
        files + skills + self.plan + self.agents + self.tools + self.mcp
    }
}

impl Budget {
    /// Budget for files.
    pub const FILES: Self = Self { pieces: 5, each: Tokens(5_000), all: Tokens(50_000) };
    /// Budget for skills.
    ///
    /// Their number is unknown, and this one only limits how far back the search for them goes.
    pub const SKILLS: Self = Self { pieces: 50, each: Tokens(5_000), all: Tokens(25_000) };

    /// Tokens of pieces with these sizes that are attached again.
    fn spent(self, sizes: impl Iterator<Item = Tokens>) -> Tokens {
        let all: Tokens = sizes.take(self.pieces as usize).map(|size| size.min(self.each)).sum();
        all.min(self.all)
    }
}

/// Result of a request for a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Attempted {
    /// Tokens of the conversation in the accepted request, or `None` if the service accepted none.
    pub(super) size: Option<Tokens>,
    /// Number of retries.
    pub(super) retries: u32,
}

impl Attempt {
    /// Asks for the summary of a conversation of this size with these rounds, newest first.
    ///
    /// A round begins with an answer.
    pub(super) fn ask(&self, size: Tokens, rounds: impl Iterator<Item = Tokens>) -> Attempted {
        let longest = self.window.map(|window| window.saturating_sub(self.request));
        let Some(longest) = longest.filter(|longest| size > *longest) else {
            return Attempted { size: Some(size), retries: 0 };
        };
        let mut rounds: Vec<Tokens> = rounds.collect();
        let mut left = size;
        let mut retries = 0;
        while left > longest && retries < self.retries {
            let gap = left.saturating_sub(longest);
            let Some(dropped) = self.drop_oldest(&mut rounds, gap) else { break };
            left = left.saturating_sub(dropped);
            retries += 1;
        }
        Attempted { size: (left <= longest).then_some(left), retries }
    }

    /// Drops the oldest rounds: enough to cover the gap, or a fifth.
    ///
    /// One round stays. `None` if there is no other.
    fn drop_oldest(&self, rounds: &mut Vec<Tokens>, gap: Tokens) -> Option<Tokens> {
        let most = rounds.len().checked_sub(1).filter(|most| *most > 0)?;
        // At least one, or a conversation of four rounds would be sent again as it was.
        let fifth = (rounds.len() / 5).clamp(1, most);
        let mut dropped = Tokens::ZERO;
        let mut count = 0;
        while count < most && if self.is_gap_reported { dropped < gap } else { count < fifth } {
            dropped += rounds.pop()?;
            count += 1;
        }
        Some(dropped)
    }
}

/// Prompt after a full compaction (I.4): everything before the messages, the summary, and the attachments.
pub(super) fn summarised(
    compaction: &Compaction,
    conversation: &Conversation,
    pieces: &PieceTree,
) -> Tokens {
    conversation.front + compaction.summary + compaction.again.tokens(conversation, pieces)
}

/// Session-memory compaction, in main conversations.
///
/// It replaces the recorded compactions. It needs no request itself, but keeping the memory up to date does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionMemory {
    /// Size that triggers a compaction.
    pub trigger: Trigger,
    /// Size of the memory.
    pub memory: Tokens,
    /// Least number of tokens of the latest messages that stay.
    pub minimum: Tokens,
    /// Least number of messages with text that stay.
    pub minimum_messages: u32,
    /// Largest number of tokens that stay, unless one message, or a call and its result, is larger.
    pub maximum: Tokens,
    /// Times at which the memory is written.
    pub updates: MemoryUpdates,
}

/// Updates of a conversation's memory by a fork (G.5): when, and of what size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryUpdates {
    /// Size of prompt and answer at which the memory is first written.
    pub first: Tokens,
    /// Later updates need this growth of the conversation in tokens …
    pub growth: Tokens,
    /// … and this number of new results.
    pub calls: u32,
    /// Tokens that the fork adds to the conversation.
    pub request: Tokens,
    /// Tokens of its answer.
    pub output: Tokens,
}

impl Default for SessionMemory {
    /// Minimum and maximum are the client's (I.2), and the memory has its largest size (G.5).
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
    /// The smaller of the values in G.5.
    ///
    /// The fork's request and answer are assumed to have the size of a summary's request and
    /// analysis, without the summary itself.
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
    /// Records the size of a conversation with its last answer, and returns true if its memory is
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

/// Prompt after a session-memory compaction (I.2), and the oldest message that stays.
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
            // The newest part stays even if it alone is larger than the maximum.
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

#[cfg(test)]
mod tests {
    use super::*;

    const ROUNDS: [u64; 10] = [300, 100, 100, 100, 100, 100, 100, 100, 100, 400];

    fn ask(attempt: Attempt, window: u64) -> (Option<u64>, u32) {
        let attempt = Attempt { window: Some(Tokens(window)), request: Tokens(50), ..attempt };
        let all = ROUNDS.iter().copied().map(Tokens);
        let size = all.clone().sum::<Tokens>() + Tokens(1_000);
        let attempted = attempt.ask(size, all);
        (attempted.size.map(|size| size.0), attempted.retries)
    }

    #[test]
    fn the_oldest_rounds_cover_a_reported_gap() {
        let attempt = Attempt::default();
        // 1,000 before the messages, 1,500 in rounds, 50 for the request.
        assert_eq!(ask(attempt, 2_550), (Some(2_500), 0));
        // 300 too many: the oldest round has 400. 450 too many: the next one is dropped, too.
        assert_eq!(ask(attempt, 2_250), (Some(2_100), 1));
        assert_eq!(ask(attempt, 2_100), (Some(2_000), 1));
        // All but the newest: 1,300 remain.
        assert_eq!(ask(attempt, 1_350), (Some(1_300), 1));
        assert_eq!(ask(attempt, 1_349), (None, 1));
    }

    #[test]
    fn without_a_reported_gap_a_fifth_goes_each_time() {
        let attempt = Attempt { is_gap_reported: false, ..Attempt::default() };
        // Two of ten rounds, 500; one of eight, 100; one of seven, 100.
        assert_eq!(ask(attempt, 2_050), (Some(2_000), 1));
        assert_eq!(ask(attempt, 2_049), (Some(1_900), 2));
        assert_eq!(ask(attempt, 1_850), (Some(1_800), 3));
        assert_eq!(ask(attempt, 1_849), (None, 3));
        assert_eq!(ask(Attempt { retries: 0, ..attempt }, 2_549), (None, 0));
    }
}
