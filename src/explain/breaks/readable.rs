//! The length that was still readable, and what it tells: it names the level that changed.
//!
//! Tools are rendered first, then the system prompt, then the messages; what lies in front of the
//! change can still be read where an entry ends there. Measured over 687 shortfalls with the
//! service's verdicts (transcript format, H.7): nothing readable inside the TTL meant changed tools
//! (5 of 5), the shared prefix a changed system prompt (13 of 13), the end of an earlier request a
//! rewritten message (3 of 3).

use schemars::JsonSchema;
use serde::Serialize;

use super::landmarks::Landmarks;
use super::reads::Reads;
use crate::base::units::Tokens;
use crate::requests::conversation::RequestIndex;
use crate::requests::prompt::Step;

/// How many requests of a chain are looked back at. Reads of older ones say nothing new, and hostile
/// chains stay linear.
pub(super) const LONGEST_WALK: usize = 2_000;

/// A write that is not readable yet is one of seconds ago.
pub(super) const SHORT_GAP_MILLIS: i64 = 60_000;

/// What a request could still read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readable {
    /// Nothing.
    Nothing,
    /// What the request before had read, and nothing of what it wrote.
    PreviousRead,
    /// What first requests of the same client and model read: the part of tools and system prompt
    /// that other traffic keeps warm.
    SharedPrefix,
    /// What compactions of this session left: all of tools and system prompt.
    WholeSystem,
    /// The end of the cached prefix of an earlier request of the chain, so many before this one.
    EarlierEnd(usize),
    /// A length that an earlier request of the chain read, and that is no request's end.
    EarlierRead,
    /// A length not seen in this chain.
    NewLength,
}

/// What happened to the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Nothing was read.
    FellToZero,
    /// Only the prefix that other traffic keeps warm was read.
    FellToSharedPrefix,
    /// The last write was not readable, what lies before it was.
    OneStepBehind,
    /// Another part was read.
    Partial,
}

impl Class {
    /// The name in every output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::FellToZero => "fell_to_zero",
            Self::FellToSharedPrefix => "fell_to_shared_prefix",
            Self::OneStepBehind => "one_step_behind",
            Self::Partial => "partial",
        }
    }
}

impl Readable {
    /// What the length is that a request read.
    pub(super) fn of(
        reads: &Reads<'_>,
        steps: &[Step],
        landmarks: &Landmarks,
        index: RequestIndex,
    ) -> Self {
        let history = reads.history();
        let request = history.request(index);
        let read = reads.split(index).read;
        if read == Tokens::ZERO {
            return Self::Nothing;
        }
        let ancestors =
            std::iter::successors(request.predecessor, |one| history.request(*one).predecessor);
        let gap_is_short = steps[index.0].gap.is_some_and(|gap| gap < SHORT_GAP_MILLIS);
        let mut was_read = false;
        for (back, ancestor) in ancestors.take(LONGEST_WALK).enumerate() {
            let split = reads.split(ancestor);
            if back == 0 && split.read == read {
                let is_shared = landmarks.is_shared_prefix(request, read);
                // A client that only appends loses its last write at most.
                let appends = !request.between.has_prompt && gap_is_short;
                return if is_shared && !appends { Self::SharedPrefix } else { Self::PreviousRead };
            }
            // One's end may be the next one's read; the end says more.
            if split.cached_end() == read {
                return Self::EarlierEnd(back + 1);
            }
            was_read |= split.read == read;
        }
        if landmarks.is_whole_system(request, read) {
            Self::WholeSystem
        } else if landmarks.is_shared_prefix(request, read) {
            Self::SharedPrefix
        } else if was_read {
            Self::EarlierRead
        } else {
            Self::NewLength
        }
    }

    /// What happened to the cache.
    #[must_use]
    pub fn class(self) -> Class {
        match self {
            Self::Nothing => Class::FellToZero,
            Self::PreviousRead => Class::OneStepBehind,
            Self::SharedPrefix => Class::FellToSharedPrefix,
            Self::WholeSystem | Self::EarlierEnd(_) | Self::EarlierRead | Self::NewLength => {
                Class::Partial
            }
        }
    }

    /// In a few words.
    #[must_use]
    pub fn meaning(self) -> String {
        match self {
            Self::Nothing => "nothing was readable".to_owned(),
            Self::PreviousRead => {
                "what the request before read was readable, what it wrote was not".to_owned()
            }
            Self::SharedPrefix => {
                "only the prefix that other sessions share was readable".to_owned()
            }
            Self::WholeSystem => {
                "tools and system prompt were readable, as after a compaction".to_owned()
            }
            Self::EarlierEnd(steps) => {
                format!("readable up to the end of the request {steps} before")
            }
            Self::EarlierRead => "a length read before in this chain was readable".to_owned(),
            Self::NewLength => "a length not seen before in this chain was readable".to_owned(),
        }
    }
}
