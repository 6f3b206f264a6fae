//! What a strategy says of context management: at most one way, with what it sets of it.

use super::error::Contradiction;
use crate::management::{Budget, Compaction, Management, SessionMemory};
use crate::units::Tokens;

/// An hour, after which an entry for an hour has expired.
const USUAL_GAP: i64 = 60 * 60 * 1_000;

/// From which size on a conversation is compacted, where nothing else is said.
const USUAL_THRESHOLD: Tokens = Tokens(100_000);

/// The size of a summary.
const USUAL_SUMMARY: Tokens = Tokens(4_000);

/// The keys of each way.
#[derive(Default)]
pub(super) struct ManagementDraft {
    pub(super) gap: Option<i64>,
    pub(super) recent_after_gap: Option<u32>,
    pub(super) results: Option<u32>,
    pub(super) recent_of_service: Option<u32>,
    pub(super) cleared_above: Option<Tokens>,
    pub(super) kept_results: Option<Tokens>,
    pub(super) clear_at_least: Option<Tokens>,
    pub(super) compact_above: Option<Tokens>,
    pub(super) summary: Option<Tokens>,
    pub(super) memory_above: Option<Tokens>,
    pub(super) memory: Option<Tokens>,
    pub(super) minimum: Option<Tokens>,
    pub(super) minimum_messages: Option<u32>,
    pub(super) maximum: Option<Tokens>,
}

impl ManagementDraft {
    /// The way that was chosen, if any.
    pub(super) fn finish(&self) -> Result<Option<Management>, Contradiction> {
        let ways =
            [self.by_time(), self.by_service(), self.by_size(), self.compaction(), self.memory()];
        let mut chosen = ways.into_iter().flatten();
        let first = chosen.next();
        if chosen.next().is_some() {
            return Err(Contradiction::SeveralManagements);
        }
        Ok(first)
    }

    fn by_time(&self) -> Option<Management> {
        (self.gap.is_some() || self.recent_after_gap.is_some()).then(|| {
            Management::TimeBasedMicrocompaction {
                gap: self.gap.unwrap_or(USUAL_GAP),
                keep_recent: self.recent_after_gap.unwrap_or(5),
            }
        })
    }

    fn by_service(&self) -> Option<Management> {
        (self.results.is_some() || self.recent_of_service.is_some()).then(|| {
            Management::CachedMicrocompaction {
                trigger: self.results.unwrap_or(10),
                keep_recent: self.recent_of_service.unwrap_or(5),
            }
        })
    }

    fn by_size(&self) -> Option<Management> {
        let sizes = [self.cleared_above, self.kept_results, self.clear_at_least];
        sizes.iter().any(Option::is_some).then(|| Management::ToolResultClearing {
            trigger: self.cleared_above.unwrap_or(Tokens(180_000)),
            keep: self.kept_results.unwrap_or(Tokens(40_000)),
            clear_at_least: self.clear_at_least.unwrap_or(Tokens(140_000)),
        })
    }

    fn compaction(&self) -> Option<Management> {
        (self.compact_above.is_some() || self.summary.is_some()).then(|| {
            Management::Compaction(Compaction {
                threshold: self.compact_above.unwrap_or(USUAL_THRESHOLD),
                summary: self.summary.unwrap_or(USUAL_SUMMARY),
                files: Budget::FILES,
                skills: Budget::SKILLS,
            })
        })
    }

    fn memory(&self) -> Option<Management> {
        let sizes = [self.memory_above, self.memory, self.minimum, self.maximum];
        let is_said = sizes.iter().any(Option::is_some) || self.minimum_messages.is_some();
        is_said.then(|| {
            Management::SessionMemory(SessionMemory {
                threshold: self.memory_above.unwrap_or(USUAL_THRESHOLD),
                memory: self.memory.unwrap_or(Tokens(12_000)),
                minimum: self.minimum.unwrap_or(Tokens(10_000)),
                minimum_messages: self.minimum_messages.unwrap_or(5),
                maximum: self.maximum.unwrap_or(Tokens(40_000)),
            })
        })
    }
}
