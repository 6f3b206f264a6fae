//! Which results give way, and when.

use super::conversation::Conversation;
use super::pieces::{PieceId, PieceTree};
use super::rule::Management;
use crate::units::Tokens;

/// What is looked at before a request is sent.
pub(super) struct Moment {
    /// The request.
    pub(super) index: usize,
    /// Milliseconds since the last answer.
    pub(super) idle: i64,
}

/// The last result that the rule clears, with all before it; `None` where it clears nothing new.
pub(super) fn cleared_until(
    management: &Management,
    results: &PieceTree,
    conversation: &Conversation,
    moment: &Moment,
) -> Option<PieceId> {
    let last = conversation.results;
    let all_but = |kept: u32| {
        let count = results.count(last).saturating_sub(kept);
        results.newest(last, |stretch| stretch.count <= count)
    };
    let until = match *management {
        // F.1: the last assistant message is older than the threshold.
        Management::TimeBasedMicrocompaction { gap, keep_recent } => {
            if moment.idle > gap {
                all_but(keep_recent.max(1))
            } else {
                None
            }
        }
        // F.2; by E.5 only results in front of the last message can be referred to.
        Management::CachedMicrocompaction { trigger, keep_recent } => {
            let active = results.count(last) - results.count(conversation.cleared);
            let until = if active > trigger { all_but(keep_recent) } else { None };
            results.newest(until, |stretch| stretch.piece.request < moment.index)
        }
        // F.3.
        Management::ToolResultClearing { trigger, keep, .. } => {
            let is_behind = conversation.total > trigger;
            let all = results.tokens(last);
            let until = if is_behind { last } else { None };
            results.newest(until, |stretch| all.saturating_sub(stretch.tokens) >= keep)
        }
        Management::Compaction(_) | Management::SessionMemory(_) => None,
    };
    let least = match management {
        Management::ToolResultClearing { clear_at_least, .. } => *clear_at_least,
        _ => Tokens::ZERO,
    };
    let saved = results.savings(until).saturating_sub(results.savings(conversation.cleared));
    until.filter(|_| saved > Tokens::ZERO && saved >= least)
}
