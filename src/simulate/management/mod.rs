//! Context management: prompts of recorded sessions as a client or a service with smaller contexts
//! would have sent them.
//!
//! A [`Management`] rewrites a trace: prompts shrink, and at the first changed byte of a prefix the
//! path of the prompt leaves the old one. The simulator then knows what can still be read. Only
//! totals, outputs and the sizes of contents are used, never the billing of a prompt. Whether the
//! agent would have acted differently cannot be known, as [`Management::unknowns`] says.
//! [`Management::assumptions`] lists the assumed sizes.
//!
//! Each request carries its conversation's state (`conversation.rs`): the recorded and the present
//! size of the prompt, and the last compactable result on its path through a tree of pieces
//! (`pieces.rs`). Prefix sums and jump pointers (skew-binary) in that tree find "all but the newest
//! five" in O(log n) however conversations branch.
//!
//! If bytes change, a request's node gets another parent, the last node before the first cleared
//! result, and later requests follow (`rewrite.rs`). If the service deletes tokens of a prefix that
//! stays (`cache_edits`), paths stay, and `Prompt::deleted` is subtracted from whatever the prompt
//! finds. A result replaced by a preview changes sizes but no path.
//!
//! A prompt grows by as much as in the record. A recorded rewrite of unknown content keeps the
//! proportion, and earlier results can no longer be cleared. A recorded compaction ends the savings
//! of clearing. A design that compacts by itself undoes it, and its own requests are added.

mod assumed;
mod clearing;
mod compaction;
mod conversation;
mod manage;
mod occasion;
mod pieces;
mod rewrite;

use conversation::Conversation;
use pieces::{Content, PieceId, PieceTree};

pub use clearing::{ByService, ByTime, Microcompaction, ResultBudget, ResultClearing};
pub use compaction::{Compaction, Files, MemoryUpdates, SessionMemory, Skills};
pub use manage::{AddedPrompt, Effects, Managed, Reason, Sketch};
pub(crate) use manage::{manage, sketch};

use std::fmt;

use crate::base::{Tokens, grouped};

/// Method of keeping the context small, with its trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant)] // a strategy has one, and a box could not be copied
pub enum Management {
    /// Clearing of old results of compactable tools, in main conversations.
    Microcompaction(Microcompaction),
    /// Clearing of old results by the service, in every conversation.
    ToolResultClearing(ResultClearing),
    /// Previews in place of large results.
    ResultBudget(ResultBudget),
    /// Summary in place of the conversation; the client sends a request for it.
    Compaction(Compaction),
    /// Memory that the client has kept, with the latest messages, in place of the conversation.
    SessionMemory(SessionMemory),
    /// Several of these together.
    Several(Parts),
}

/// Methods of one client together, in the order in which it tries them (D.2): results are cut as they come in, then old
/// ones are cleared, then the memory takes the place of a conversation that is too large, and if there is none yet or it
/// is no smaller than the size that triggers it, a summary. One circuit breaker counts for both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// Previews in place of large results.
    pub budget: Option<ResultBudget>,
    /// Clearing of old results by the client.
    pub microcompaction: Option<Microcompaction>,
    /// Clearing of old results by the service; not beside that of the client.
    pub clearing: Option<ResultClearing>,
    /// Memory in place of the conversation.
    pub memory: Option<SessionMemory>,
    /// Summary in place of the conversation.
    pub compaction: Option<Compaction>,
}

/// JSON text that replaces a cleared result.
const PLACEHOLDER: &str = "\"[Old tool result content cleared]\"";

impl Management {
    /// Methods, each in its place.
    pub fn parts(&self) -> Parts {
        let none = Parts::default();
        match *self {
            Self::Microcompaction(one) => Parts { microcompaction: Some(one), ..none },
            Self::ToolResultClearing(one) => Parts { clearing: Some(one), ..none },
            Self::ResultBudget(one) => Parts { budget: Some(one), ..none },
            Self::Compaction(one) => Parts { compaction: Some(one), ..none },
            Self::SessionMemory(one) => Parts { memory: Some(one), ..none },
            Self::Several(parts) => parts,
        }
    }

    /// Smallest size that triggers a compaction.
    pub fn trigger(&self) -> Option<Trigger> {
        let Parts { memory, compaction, .. } = self.parts();
        let memory = memory.map(|memory| memory.trigger());
        let compaction = compaction.map(|compaction| compaction.trigger());
        memory.into_iter().chain(compaction).min_by_key(Trigger::threshold)
    }
}

impl Parts {
    /// Each method by itself, in the order in which they are tried.
    pub fn each(self) -> impl Iterator<Item = Management> {
        let Self { budget, microcompaction, clearing, memory, compaction } = self;
        [
            budget.map(Management::ResultBudget),
            microcompaction.map(Management::Microcompaction),
            clearing.map(Management::ToolResultClearing),
            memory.map(Management::SessionMemory),
            compaction.map(Management::Compaction),
        ]
        .into_iter()
        .flatten()
    }

    /// Methods for a kind of conversation: microcompaction and memory are for main ones.
    fn of(self, is_agent: bool) -> Self {
        let for_main = !is_agent;
        Self {
            microcompaction: self.microcompaction.filter(|_| for_main),
            memory: self.memory.filter(|_| for_main),
            ..self
        }
    }

    /// Returns true if old results are cleared.
    fn clears(&self) -> bool {
        self.microcompaction.is_some() || self.clearing.is_some()
    }

    /// Returns true if conversations are compacted.
    fn compacts(&self) -> bool {
        self.memory.is_some() || self.compaction.is_some()
    }
}

/// Size from which on a conversation is compacted: the last prompt, its answer and the contents
/// added since (I.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// Fixed size.
    At(Tokens),
    /// Distance from the end of the window.
    Below(WindowEnd),
}

/// Usable part of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowEnd {
    /// Window of the model, or a smaller one that was set.
    pub window: Tokens,
    /// Longest answer that is requested.
    pub max_output: Tokens,
    /// Largest reserve for an answer.
    pub reserve: Tokens,
    /// Tokens that stay free in addition.
    pub buffer: Tokens,
    /// Percentage of the unreserved part, if that is reached earlier.
    pub percent: Option<u32>,
}

impl Default for WindowEnd {
    /// Values of the client (2.1.88).
    fn default() -> Self {
        Self {
            window: Tokens(200_000),
            max_output: Tokens(32_000),
            reserve: Tokens(20_000),
            buffer: Tokens(13_000),
            percent: None,
        }
    }
}

impl WindowEnd {
    fn threshold(&self) -> Tokens {
        let effective = self.window.saturating_sub(self.max_output.min(self.reserve));
        let threshold = effective.saturating_sub(self.buffer);
        let share = self.percent.map(|percent| effective.share(percent.into(), 100));
        share.map_or(threshold, |share| share.min(threshold))
    }
}

impl Trigger {
    /// Size that triggers a compaction, unless given or derived.
    const USUAL: Self = Self::At(Tokens(100_000));

    /// Trigger at a given size, or derived from what is given of a window: its size, the longest answer, the reserve for
    /// it and the buffer, and a percentage.
    fn of(size: Option<Tokens>, end: [Option<Tokens>; 4], percent: Option<u32>) -> Self {
        if let Some(size) = size {
            return Self::At(size);
        }
        if end.iter().all(Option::is_none) && percent.is_none() {
            return Self::USUAL;
        }
        let usual = WindowEnd::default();
        let [window, max_output, reserve, buffer] = end;
        Self::Below(WindowEnd {
            window: window.unwrap_or(usual.window),
            max_output: max_output.unwrap_or(usual.max_output),
            reserve: reserve.unwrap_or(usual.reserve),
            buffer: buffer.unwrap_or(usual.buffer),
            percent,
        })
    }

    /// Size in tokens from which on a conversation is compacted.
    pub fn threshold(&self) -> Tokens {
        match self {
            Self::At(size) => *size,
            Self::Below(end) => end.threshold(),
        }
    }
}

impl fmt::Display for Trigger {
    /// Writes the size and its derivation.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tokens = |tokens: Tokens| grouped(tokens.0);
        write!(f, "{} tokens", tokens(self.threshold()))?;
        let Self::Below(end) = self else { return Ok(()) };
        let reserved = end.max_output.min(end.reserve);
        let (window, buffer) = (tokens(end.window), tokens(end.buffer));
        write!(f, " (a window of {window} less {} for the answer", tokens(reserved))?;
        match end.percent {
            None => write!(f, " and {buffer})"),
            Some(percent) => write!(f, "; of the rest {percent} %, at most all but {buffer})"),
        }
    }
}

/// Number of requests between two compactions below which the second one is a quick refill.
///
/// The client's number is not known.
const QUICK: u32 = 3;

/// Number of quick refills in a row that stop compactions (I.1, since 2.1.89).
const MOST_QUICK: u32 = 3;

/// Circuit breaker: counts compactions of a conversation that fail or follow one another too fast,
/// and stops them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Breaker {
    /// Requests since the last compaction.
    since: Option<u32>,
    /// Quick refills in a row.
    quick: u32,
    /// Failures in a row.
    failures: u32,
}

impl Breaker {
    /// Counts a request of the conversation.
    fn step(&mut self) {
        self.since = self.since.map(|since| since.saturating_add(1));
    }

    /// Returns true if a compaction is tried at all; enough failures in a row prevent it (I.1, since 2.1.76).
    fn may_attempt(&self, most_failures: u32) -> bool {
        self.quick < MOST_QUICK && self.failures < most_failures
    }

    /// Counts a failure.
    fn fail(&mut self) {
        self.failures += 1;
    }

    /// Returns true if a conversation at its threshold is compacted.
    ///
    /// After the first refusal it never is again.
    fn allows(&mut self) -> bool {
        self.failures = 0;
        let is_quick = self.since.is_some_and(|since| since < QUICK);
        self.quick = if is_quick { self.quick + 1 } else { 0 };
        self.since = Some(0);
        self.quick < MOST_QUICK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_follows_from_the_window() {
        let of = |end: WindowEnd| Trigger::Below(end).threshold();
        let usual = WindowEnd::default();
        // 200,000 − 20,000 − 13,000. An answer of 8,000 reserves no more than that.
        assert_eq!(of(usual), Tokens(167_000));
        assert_eq!(of(WindowEnd { max_output: Tokens(8_000), ..usual }), Tokens(179_000));
        assert_eq!(of(WindowEnd { reserve: Tokens(32_000), ..usual }), Tokens(155_000));
        // Half of 180,000. 95 % of it, 171,000, would be above the threshold.
        assert_eq!(of(WindowEnd { percent: Some(50), ..usual }), Tokens(90_000));
        assert_eq!(of(WindowEnd { percent: Some(95), ..usual }), Tokens(167_000));
        assert_eq!(of(WindowEnd { window: Tokens(20_000), ..usual }), Tokens::ZERO);
        let words = Trigger::Below(usual).to_string();
        assert_eq!(
            words,
            "167,000 tokens (a window of 200,000 less 20,000 for the answer and 13,000)"
        );
    }

    #[test]
    fn the_third_quick_refill_in_a_row_stops_it() {
        let mut breaker = Breaker::default();
        let mut wait = |requests: u32| {
            (0..requests).for_each(|_| breaker.step());
            breaker.may_attempt(3) && breaker.allows()
        };
        // A slow refill restarts the count.
        let passed = [7, 1, 2, 3, 2, 2, 2, 50].map(&mut wait);
        assert_eq!(passed, [true, true, true, true, true, true, false, false]);
    }

    #[test]
    fn failures_in_a_row_stop_it() {
        let mut breaker = Breaker::default();
        breaker.fail();
        breaker.fail();
        // A success restarts the count.
        assert!(breaker.may_attempt(3) && breaker.allows());
        breaker.fail();
        breaker.fail();
        assert!(breaker.may_attempt(3));
        breaker.fail();
        assert!(!breaker.may_attempt(3));
    }
}
