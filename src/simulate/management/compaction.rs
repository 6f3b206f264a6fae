//! Full compaction (its request, and the remaining conversation), and session-memory compaction
//! (the messages that stay after the memory, and the cost of the memory).

use serde::Deserialize;

use super::conversation::{MemoryState, Oldest, Part, Rounds};
use super::{Conversation, PieceTree, Trigger};
use crate::base::Tokens;
use crate::base::bounded::{Count, CountOrNone, Percent, Size, SizeOrZero};
use crate::requests::conversation::History;

/// Full compaction, in every conversation; it replaces the recorded ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(extend("not" = {
    "required": ["threshold"],
    "anyOf": [{ "required": ["max_output"] }, { "required": ["reserve"] }, { "required": ["buffer"] }, { "required": ["percent"] }]
})))]
#[serde(default, deny_unknown_fields)]
pub struct Compaction {
    /// Size that triggers a compaction: the last prompt, its answer and the contents added since. 100000 if neither this
    /// nor anything of the window is given.
    #[serde(with = "Size")]
    pub threshold: Option<Tokens>,
    /// Window of the model, or a smaller one that was set; the threshold follows from it.
    #[serde(with = "Size")]
    pub window: Option<Tokens>,
    /// Longest answer that is requested; 32000 if missing.
    #[serde(with = "SizeOrZero")]
    pub max_output: Option<Tokens>,
    /// Largest reserve for an answer; 20000 if missing.
    #[serde(with = "SizeOrZero")]
    pub reserve: Option<Tokens>,
    /// Tokens that stay free in addition; 13000 if missing.
    #[serde(with = "SizeOrZero")]
    pub buffer: Option<Tokens>,
    /// Percentage of the unreserved part, if that is reached earlier.
    #[serde(with = "Percent")]
    pub percent: Option<u32>,
    /// Size of a summary.
    #[serde(with = "Size")]
    pub summary: Tokens,
    /// Tokens that the request for a summary adds to the conversation.
    #[serde(with = "SizeOrZero")]
    pub request: Tokens,
    /// Tokens of its answer besides the summary; they are dropped afterwards.
    #[serde(with = "SizeOrZero")]
    pub analysis: Tokens,
    /// Number of retries without the oldest rounds after a request that was too long.
    #[serde(with = "CountOrNone")]
    pub retries: u32,
    /// True if the service reports by how much the request was too long.
    ///
    /// Otherwise a fifth of the rounds is dropped.
    #[serde(rename = "gap_reported")]
    pub is_gap_reported: bool,
    /// Number of failed compactions in a row that stop all later ones.
    #[serde(with = "Count")]
    pub failures: u32,
    /// Files that were read last, attached after the summary (I.4).
    pub files: Files,
    /// Skills that were used last, attached as well.
    pub skills: Skills,
    /// Tokens of the attached plan.
    #[serde(with = "SizeOrZero")]
    pub plan: Tokens,
    /// Tokens of the attached list of agents.
    #[serde(with = "SizeOrZero")]
    pub agents: Tokens,
    /// Tokens of the attached list of deferred tools.
    #[serde(with = "SizeOrZero")]
    pub tools: Tokens,
    /// Tokens of the attached instructions of MCP servers.
    #[serde(with = "SizeOrZero")]
    pub mcp: Tokens,
}

/// Limits of the files that are attached again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Files {
    /// Largest number of files.
    #[serde(with = "CountOrNone")]
    pub count: u32,
    /// Largest number of tokens of each file.
    #[serde(with = "SizeOrZero")]
    pub each: Tokens,
    /// Largest number of tokens of all files together.
    #[serde(with = "SizeOrZero")]
    pub all: Tokens,
}

/// Limits of the skills that are attached again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Skills {
    /// Largest number of tokens of each skill.
    #[serde(with = "SizeOrZero")]
    pub each: Tokens,
    /// Largest number of tokens of all skills together.
    #[serde(with = "SizeOrZero")]
    pub all: Tokens,
}

impl Default for Compaction {
    /// Numbers of the client if they are known, in conversations of 100,000 tokens.
    ///
    /// I.3 gives ranges for the request and the analysis: two to three thousand tokens, and one to three thousand. The
    /// lists have their usual size after recorded compactions (clients from 2.1.170 on), and there is no plan.
    fn default() -> Self {
        Self {
            threshold: None,
            window: None,
            max_output: None,
            reserve: None,
            buffer: None,
            percent: None,
            summary: Tokens(4_000),
            request: Tokens(2_500),
            analysis: Tokens(2_000),
            retries: 3,
            is_gap_reported: true,
            failures: 3,
            files: Files::default(),
            skills: Skills::default(),
            plan: Tokens::ZERO,
            agents: Tokens(1_400),
            tools: Tokens(2_000),
            mcp: Tokens(1_600),
        }
    }
}

impl Default for Files {
    fn default() -> Self {
        Self { count: 5, each: Tokens(5_000), all: Tokens(50_000) }
    }
}

impl Default for Skills {
    fn default() -> Self {
        Self { each: Tokens(5_000), all: Tokens(25_000) }
    }
}

/// Largest number of skills that are attached again. The client's is unknown, and this one only limits how far back the
/// search for them goes.
const MOST_SKILLS: u32 = 50;

/// Tokens of the last pieces that are attached again.
fn spent(sizes: impl Iterator<Item = Tokens>, most: u32, each: Tokens, all: Tokens) -> Tokens {
    sizes.take(most as usize).map(|size| size.min(each)).sum::<Tokens>().min(all)
}

impl Compaction {
    /// Size that triggers a compaction.
    pub fn trigger(&self) -> Trigger {
        let end = [self.window, self.max_output, self.reserve, self.buffer];
        Trigger::of(self.threshold, end, self.percent)
    }

    /// Largest prompt that the service accepts, in tokens; `None` if unknown: it then accepts every prompt.
    pub fn longest_prompt(&self) -> Option<Tokens> {
        match self.trigger() {
            // A fixed threshold says nothing of the window, which then limits the request only if given.
            Trigger::At(_) => self.window,
            Trigger::Below(end) => Some(end.window),
        }
    }

    /// Tokens that are attached after the summary.
    fn attached(&self, conversation: &Conversation, pieces: &PieceTree) -> Tokens {
        let sizes = |last| pieces.back_from(last).map(|piece| piece.tokens);
        let Self { files, skills, .. } = self;
        let files = spent(sizes(conversation.files), files.count, files.each, files.all);
        let skills = spent(sizes(conversation.skills), MOST_SKILLS, skills.each, skills.all);
        files + skills + self.plan + self.agents + self.tools + self.mcp
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

impl Compaction {
    /// Asks for the summary of a conversation of this size with these rounds, newest first.
    ///
    /// A round begins with an answer.
    pub(super) fn ask(&self, size: Tokens, rounds: impl Iterator<Item = Tokens>) -> Attempted {
        let longest = self.longest_prompt().map(|window| window.saturating_sub(self.request));
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
    conversation.front + compaction.summary + compaction.attached(conversation, pieces)
}

/// Session-memory compaction, in main conversations.
///
/// It replaces the recorded compactions. It needs no request itself, but keeping the memory up to date does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(extend("not" = {
    "required": ["threshold"],
    "anyOf": [{ "required": ["window"] }, { "required": ["max_output"] }, { "required": ["reserve"] }, { "required": ["buffer"] }, { "required": ["percent"] }]
})))]
#[serde(default, deny_unknown_fields)]
pub struct SessionMemory {
    /// Size that triggers a compaction: the last prompt, its answer and the contents added since. 100000 if neither this
    /// nor anything of the window is given.
    #[serde(with = "Size")]
    pub threshold: Option<Tokens>,
    /// Window of the model, or a smaller one that was set; the threshold follows from it.
    #[serde(with = "Size")]
    pub window: Option<Tokens>,
    /// Longest answer that is requested; 32000 if missing.
    #[serde(with = "SizeOrZero")]
    pub max_output: Option<Tokens>,
    /// Largest reserve for an answer; 20000 if missing.
    #[serde(with = "SizeOrZero")]
    pub reserve: Option<Tokens>,
    /// Tokens that stay free in addition; 13000 if missing.
    #[serde(with = "SizeOrZero")]
    pub buffer: Option<Tokens>,
    /// Percentage of the unreserved part, if that is reached earlier.
    #[serde(with = "Percent")]
    pub percent: Option<u32>,
    /// Size of the memory.
    #[serde(with = "Size")]
    pub memory: Tokens,
    /// Least number of tokens of the latest messages that stay.
    #[serde(with = "Size")]
    pub minimum: Tokens,
    /// Least number of messages with text that stay.
    #[serde(with = "Count")]
    pub minimum_messages: u32,
    /// Largest number of tokens that stay, unless one message, or a call and its result, is larger.
    #[serde(with = "Size")]
    pub maximum: Tokens,
    /// Times at which the memory is written.
    pub updates: MemoryUpdates,
}

/// Updates of a conversation's memory by a fork (G.5): when, and of what size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct MemoryUpdates {
    /// Size of prompt and answer at which the memory is first written.
    #[serde(with = "Size")]
    pub first: Tokens,
    /// Later updates need this growth of the conversation in tokens …
    #[serde(with = "Size")]
    pub growth: Tokens,
    /// … and this number of new results.
    #[serde(with = "CountOrNone")]
    pub calls: u32,
    /// Tokens that the fork adds to the conversation.
    #[serde(with = "SizeOrZero")]
    pub request: Tokens,
    /// Tokens of its answer.
    #[serde(with = "SizeOrZero")]
    pub output: Tokens,
}

impl SessionMemory {
    /// Size that triggers a compaction.
    pub fn trigger(&self) -> Trigger {
        let end = [self.window, self.max_output, self.reserve, self.buffer];
        Trigger::of(self.threshold, end, self.percent)
    }
}

impl Default for SessionMemory {
    /// Minimum and maximum are the client's (I.2), and the memory has its largest size (G.5).
    fn default() -> Self {
        Self {
            threshold: None,
            window: None,
            max_output: None,
            reserve: None,
            buffer: None,
            percent: None,
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

    fn ask(compaction: Compaction, window: u64) -> (Option<u64>, u32) {
        let window = Some(Tokens(window));
        // A threshold, so that the window only limits the request.
        let threshold = Some(Tokens(100_000));
        let compaction = Compaction { threshold, window, request: Tokens(50), ..compaction };
        let all = ROUNDS.iter().copied().map(Tokens);
        let size = all.clone().sum::<Tokens>() + Tokens(1_000);
        let attempted = compaction.ask(size, all);
        (attempted.size.map(|size| size.0), attempted.retries)
    }

    #[test]
    fn the_oldest_rounds_cover_a_reported_gap() {
        let compaction = Compaction::default();
        // 1,000 before the messages, 1,500 in rounds, 50 for the request.
        assert_eq!(ask(compaction, 2_550), (Some(2_500), 0));
        // 300 too many: the oldest round has 400. 450 too many: the next one is dropped, too.
        assert_eq!(ask(compaction, 2_250), (Some(2_100), 1));
        assert_eq!(ask(compaction, 2_100), (Some(2_000), 1));
        // All but the newest: 1,300 remain.
        assert_eq!(ask(compaction, 1_350), (Some(1_300), 1));
        assert_eq!(ask(compaction, 1_349), (None, 1));
    }

    #[test]
    fn without_a_reported_gap_a_fifth_goes_each_time() {
        let compaction = Compaction { is_gap_reported: false, ..Compaction::default() };
        // Two of ten rounds, 500; one of eight, 100; one of seven, 100.
        assert_eq!(ask(compaction, 2_050), (Some(2_000), 1));
        assert_eq!(ask(compaction, 2_049), (Some(1_900), 2));
        assert_eq!(ask(compaction, 1_850), (Some(1_800), 3));
        assert_eq!(ask(compaction, 1_849), (None, 3));
        assert_eq!(ask(Compaction { retries: 0, ..compaction }, 2_549), (None, 0));
    }
}
