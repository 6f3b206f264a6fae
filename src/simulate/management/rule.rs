//! The ways in which a client or the service keeps a context small.

use super::clearing::Microcompaction;
use super::compaction::Compaction;
use super::result_budget::ResultBudget;
use super::session_memory::SessionMemory;
use super::trigger::Trigger;
use crate::base::units::Tokens;

/// What shrinks the context, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Management {
    /// Old results of compactable tools give way, in main conversations.
    Microcompaction(Microcompaction),
    /// When a prompt is larger than a trigger, the service clears the oldest results of compactable
    /// tools (`clear_tool_uses_20250919`). It does so for every conversation.
    ToolResultClearing {
        /// The largest prompt that is left alone.
        trigger: Tokens,
        /// How many tokens of the newest results stay.
        keep: Tokens,
        /// Where less than this can be cleared, nothing is.
        clear_at_least: Tokens,
    },
    /// Large results do not come in as a whole.
    ResultBudget(ResultBudget),
    /// The conversation gives way to a summary, for which the client sends a request.
    Compaction(Compaction),
    /// The conversation gives way to a memory that the client has kept, and its latest messages.
    SessionMemory(SessionMemory),
}

/// What stands in place of a cleared result, as JSON.
const PLACEHOLDER: &str = "\"[Old tool result content cleared]\"";

impl Management {
    /// Whether it concerns a conversation.
    pub(super) fn concerns(&self, is_agent: bool) -> bool {
        match self {
            Self::Microcompaction(_) | Self::SessionMemory(_) => !is_agent,
            Self::ToolResultClearing { .. } | Self::ResultBudget(_) | Self::Compaction(_) => true,
        }
    }

    /// From which size on a conversation is compacted.
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

    /// The bytes of what stands for a piece that is taken out.
    pub(super) fn placeholder(&self) -> u64 {
        match self {
            Self::ResultBudget(budget) => budget.preview,
            _ => PLACEHOLDER.len() as u64,
        }
    }
}
