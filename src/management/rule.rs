//! The ways in which a client or the service keeps a context small.

use crate::units::Tokens;

/// What shrinks the context, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Management {
    /// When the last answer is older than a gap, so that the cache is cold anyway, all results of
    /// compactable tools but the newest give way to a placeholder. Main conversations only.
    TimeBasedMicrocompaction {
        /// Milliseconds since the last answer, from which on results are cleared.
        gap: i64,
        /// How many results stay; at least one does.
        keep_recent: u32,
    },
    /// When there are more results of compactable tools than a trigger, the service is told to
    /// delete all but the newest (`cache_edits`), in this request and all after it. The bytes that
    /// are sent stay as they are, so the cached prefix stays valid and is smaller by what was
    /// deleted. Main conversations only.
    CachedMicrocompaction {
        /// How many results that are not deleted may stand in a prompt.
        trigger: u32,
        /// How many stay.
        keep_recent: u32,
    },
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
    /// The conversation gives way to a summary, for which the client sends a request.
    Compaction(Compaction),
    /// The conversation gives way to a memory that the client has kept, and its latest messages.
    SessionMemory(SessionMemory),
}

/// Full compaction, in every conversation. It takes the place of those recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compaction {
    /// From this size on a conversation is summarised: the last prompt, its answer and what came in
    /// since.
    pub threshold: Tokens,
    /// The size of a summary.
    pub summary: Tokens,
    /// The files read last, which are put in again.
    pub files: Budget,
    /// The skills used last, which are put in again.
    pub skills: Budget,
}

/// How much is put in again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The most pieces.
    pub pieces: usize,
    /// The most of each.
    pub each: Tokens,
    /// The most of all together.
    pub all: Tokens,
}

impl Budget {
    /// Of files.
    pub const FILES: Self = Self { pieces: 5, each: Tokens(5_000), all: Tokens(50_000) };
    /// Of skills. No number of them is known; this one only limits how far back is looked.
    pub const SKILLS: Self = Self { pieces: 50, each: Tokens(5_000), all: Tokens(25_000) };

    /// What is put in again of pieces with these sizes.
    pub(super) fn spent(self, sizes: impl Iterator<Item = Tokens>) -> Tokens {
        let all: Tokens = sizes.take(self.pieces).map(|size| size.min(self.each)).sum();
        all.min(self.all)
    }
}

/// Session-memory compaction, in main conversations. It takes the place of recorded compactions, and
/// needs no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionMemory {
    /// As that of a [`Compaction`].
    pub threshold: Tokens,
    /// The size of the memory.
    pub memory: Tokens,
    /// At least so much of the latest messages stays.
    pub minimum: Tokens,
    /// At least so many messages with text stay.
    pub minimum_messages: u32,
    /// No more than this stays, unless one answer and its results are larger.
    pub maximum: Tokens,
}

/// What no simulation of a rewritten session can know.
const BEHAVIOUR: &str = "the agent may have acted differently, and have read again what was taken \
                         away";
const SIZES: &str = "the sizes of single results are estimates by their bytes, and what stood in \
                     front of a recorded rewrite is left as it was";
const UNDONE: &str = "recorded compactions are undone as far as sizes show; most of the requests \
                      that they took are not in the record, and those that are stay";
const CAPTURED: &str = "captured requests are left as they are";

impl Management {
    /// What the simulation does not know, in short sentences without their full stops.
    #[must_use]
    pub fn unknowns(&self) -> &'static [&'static str] {
        match self {
            Self::TimeBasedMicrocompaction { .. } | Self::ToolResultClearing { .. } => {
                &[BEHAVIOUR, SIZES, CAPTURED]
            }
            Self::CachedMicrocompaction { .. } => &[
                BEHAVIOUR,
                SIZES,
                "deleted tokens are taken to cost nothing, also where an expired prefix is written \
                 anew",
                CAPTURED,
            ],
            Self::Compaction(_) => &[
                BEHAVIOUR,
                "the size of a summary is assumed, and that no attempt fails",
                UNDONE,
                CAPTURED,
            ],
            Self::SessionMemory(_) => &[
                BEHAVIOUR,
                "the size of the memory is assumed, and the requests that keep it up to date are \
                 not counted",
                "of answers in the middle of a turn it is not known whether they have text",
                UNDONE,
                CAPTURED,
            ],
        }
    }

    /// Whether it concerns a conversation.
    pub(super) fn concerns(&self, is_agent: bool) -> bool {
        match self {
            Self::TimeBasedMicrocompaction { .. }
            | Self::CachedMicrocompaction { .. }
            | Self::SessionMemory(_) => !is_agent,
            Self::ToolResultClearing { .. } | Self::Compaction(_) => true,
        }
    }

    /// The size from which on a conversation is compacted.
    pub(super) fn threshold(&self) -> Option<Tokens> {
        match self {
            Self::Compaction(compaction) => Some(compaction.threshold),
            Self::SessionMemory(memory) => Some(memory.threshold),
            Self::TimeBasedMicrocompaction { .. }
            | Self::CachedMicrocompaction { .. }
            | Self::ToolResultClearing { .. } => None,
        }
    }
}
