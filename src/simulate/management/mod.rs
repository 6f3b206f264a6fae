//! Context management: the prompts of recorded sessions as they would have been, had the client or
//! the service kept them smaller.
//!
//! A [`Management`] rewrites a trace: prompts shrink, and where bytes of a prefix change, the path
//! of the prompt leaves the old one there. The simulator then knows what can still be read. Only
//! totals, outputs and the sizes of contents are used, never how a prompt was billed. What the
//! agent would have done differently cannot be known, as [`Management::unknowns`] says.
//! [`Management::assumptions`] says which sizes are assumed.
//!
//! Each request carries its conversation's state (`conversation.rs`): the recorded and the present
//! size of the prompt, and the last compactable result on its path through a tree of pieces
//! (`pieces.rs`). Sums and jump pointers in that tree find "all but the newest five" in O(log n)
//! however conversations branch.
//!
//! Where bytes change, a request's node gets another parent, the last node before what was cleared
//! first, and later requests follow (`rewrite.rs`). Where the service deletes tokens of a prefix
//! that stays (`cache_edits`), paths stay, and `Prompt::deleted` is subtracted from whatever the
//! prompt finds. A result replaced by a preview changes sizes but no path.
//!
//! A prompt grows by as much as in the record. A recorded rewrite of which nothing is known keeps
//! the proportion, and what came before it can no longer be cleared. A recorded compaction ends
//! what clearing saved. A design that compacts by itself undoes it, and its own requests are added.

mod assumed;
mod clearing;
mod compaction;
mod conversation;
mod manage;
mod occasion;
mod pieces;
mod rewrite;

pub use clearing::{ByService, ByTime, Microcompaction, ResultBudget};
pub use compaction::{Attempt, Budget, Compaction, MemoryUpdates, PutInAgain, SessionMemory};
pub use manage::{AddedPrompt, Effects, Managed, Reason, Sketch};
pub(crate) use manage::{manage, sketch};

use std::fmt;

use crate::base::units::Tokens;
use crate::base::wording::grouped;

/// What shrinks the context, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Management {
    /// Old results of compactable tools are cleared, in main conversations.
    Microcompaction(Microcompaction),
    /// Where a prompt exceeds a trigger, the service clears the oldest results of compactable tools
    /// (`clear_tool_uses_20250919`), in every conversation.
    ToolResultClearing {
        /// The largest prompt that is left alone.
        trigger: Tokens,
        /// How many tokens of the newest results stay.
        keep: Tokens,
        /// The least that must be clearable for anything to be cleared.
        clear_at_least: Tokens,
    },
    /// Large results come in as previews.
    ResultBudget(ResultBudget),
    /// A summary replaces the conversation. The client sends a request for it.
    Compaction(Compaction),
    /// A memory that the client has kept, and the latest messages, replace the conversation.
    SessionMemory(SessionMemory),
}

/// What replaces a cleared result, as JSON.
const PLACEHOLDER: &str = "\"[Old tool result content cleared]\"";

impl Management {
    /// Whether it applies to a conversation.
    fn concerns(&self, is_agent: bool) -> bool {
        match self {
            Self::Microcompaction(_) | Self::SessionMemory(_) => !is_agent,
            Self::ToolResultClearing { .. } | Self::ResultBudget(_) | Self::Compaction(_) => true,
        }
    }

    /// The size that triggers a compaction.
    #[must_use]
    pub fn trigger(&self) -> Option<Trigger> {
        match self {
            Self::Compaction(compaction) => Some(compaction.trigger),
            Self::SessionMemory(memory) => Some(memory.trigger),
            Self::Microcompaction(_) | Self::ToolResultClearing { .. } | Self::ResultBudget(_) => {
                None
            }
        }
    }

    /// The bytes of what replaces a piece.
    fn placeholder(&self) -> u64 {
        match self {
            Self::ResultBudget(budget) => budget.preview,
            _ => PLACEHOLDER.len() as u64,
        }
    }
}

/// The size from which on a conversation is compacted: the last prompt, its answer and what came in
/// since (I.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// This size.
    At(Tokens),
    /// So far below the end of the window.
    Below(WindowEnd),
}

/// How much of a window a conversation may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowEnd {
    /// The window: the model's, or a smaller one that was set.
    pub window: Tokens,
    /// The longest answer that is requested.
    pub max_output: Tokens,
    /// The most that is reserved for an answer.
    pub reserve: Tokens,
    /// What stays free in addition.
    pub buffer: Tokens,
    /// A percentage of what is not reserved, if that is reached earlier.
    pub percent: Option<u32>,
}

impl Default for WindowEnd {
    /// The client's own values (2.1.88).
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
    /// The size.
    #[must_use]
    pub fn threshold(&self) -> Tokens {
        match self {
            Self::At(size) => *size,
            Self::Below(end) => end.threshold(),
        }
    }
}

impl fmt::Display for Trigger {
    /// The size, and what it follows from.
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

/// Fewer requests than this between two compactions make the second one a quick refill. The
/// client's number is not known.
const QUICK: u32 = 3;

/// How many quick refills in a row stop compactions (I.1, since 2.1.89).
const MOST_QUICK: u32 = 3;

/// Counts compactions of a conversation that fail or follow one another too fast, and stops them.
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

    /// Whether a compaction is tried at all. Enough failures in a row prevent it (I.1, since
    /// 2.1.76).
    fn lets_try(&self, most_failures: u32) -> bool {
        self.quick < MOST_QUICK && self.failures < most_failures
    }

    /// Counts a failure.
    fn fail(&mut self) {
        self.failures += 1;
    }

    /// Whether a conversation that has reached its threshold is compacted. Once it is not, it never
    /// is again.
    fn lets_pass(&mut self) -> bool {
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
            breaker.lets_try(3) && breaker.lets_pass()
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
        assert!(breaker.lets_try(3) && breaker.lets_pass());
        breaker.fail();
        breaker.fail();
        assert!(breaker.lets_try(3));
        breaker.fail();
        assert!(!breaker.lets_try(3));
    }
}
