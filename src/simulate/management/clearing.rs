//! Which results give way, and when.
//!
//! Large results that never come in: a preview and a pointer to a file take their place.

use super::Management;
use super::conversation::Conversation;
use super::pieces::{Content, PieceId, PieceTree};
use crate::base::units::Tokens;

/// Microcompaction, by one of its two ways or by both. In main conversations only.
///
/// By time comes first (D.2, F.1). Where it clears something the service is not asked, and forgets
/// what it has deleted so far: those results are sent again, as placeholders or, where they are among
/// the newest that stay, in full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Microcompaction {
    /// By time.
    pub by_time: Option<ByTime>,
    /// By the service.
    pub by_service: Option<ByService>,
}

/// When the last answer is older than a gap, so that the cache is cold anyway, all results of
/// compactable tools but the newest give way to a placeholder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByTime {
    /// Milliseconds since the last answer, beyond which results are cleared.
    pub gap: i64,
    /// How many results stay; at least one does.
    pub keep_recent: u32,
}

impl Default for ByTime {
    /// An hour, after which an entry for an hour has expired (F.1).
    fn default() -> Self {
        Self { gap: 60 * 60 * 1_000, keep_recent: 5 }
    }
}

/// When there are more results of compactable tools than a trigger, the service is told to delete all
/// but the newest (`cache_edits`), in this request and all after it. The bytes that are sent stay as
/// they are, so the cached prefix stays valid and is smaller by what was deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByService {
    /// How many results that are neither deleted nor cleared may stand in a prompt.
    pub trigger: u32,
    /// How many stay.
    pub keep_recent: u32,
}

impl Default for ByService {
    /// What community rebuilds use (F.2); the real ones are set remotely.
    fn default() -> Self {
        Self { trigger: 10, keep_recent: 5 }
    }
}

/// What is looked at before a request is sent.
pub(super) struct Moment {
    /// The request.
    pub(super) index: usize,
    /// Milliseconds since the last answer.
    pub(super) idle: i64,
}

/// What gives way before a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clearing {
    /// The last result that does, with all before it.
    pub(super) until: PieceId,
    /// Whether the service deletes it, so that no byte changes.
    pub(super) is_deletion: bool,
}

/// What the rule clears; `None` where it clears nothing new.
pub(super) fn clearing(
    management: &Management,
    results: &PieceTree,
    conversation: &Conversation,
    moment: &Moment,
) -> Option<Clearing> {
    match management {
        Management::Microcompaction(Microcompaction { by_time, by_service }) => {
            let by_time = by_time.and_then(|rule| rule.clears(results, conversation, moment));
            let by_time = by_time.map(|until| Clearing { until, is_deletion: false });
            by_time.or_else(|| {
                let until = (*by_service)?.deletes(results, conversation, moment)?;
                Some(Clearing { until, is_deletion: true })
            })
        }
        // F.3.
        Management::ToolResultClearing { trigger, keep, clear_at_least } => {
            let last = conversation.results.filter(|_| conversation.total > *trigger);
            let all = results.tokens(last);
            let until =
                results.newest(last, |stretch| all.saturating_sub(stretch.tokens) >= *keep)?;
            let saved = new_savings(results, until, conversation.cleared);
            let is_enough = saved > Tokens::ZERO && saved >= *clear_at_least;
            is_enough.then_some(Clearing { until, is_deletion: false })
        }
        Management::ResultBudget(_) | Management::Compaction(_) | Management::SessionMemory(_) => {
            None
        }
    }
}

impl ByTime {
    /// F.1: the last assistant message is older than the gap.
    fn clears(
        self,
        results: &PieceTree,
        conversation: &Conversation,
        moment: &Moment,
    ) -> Option<PieceId> {
        let last = conversation.results.filter(|_| moment.idle > self.gap);
        let until = all_but(self.keep_recent.max(1), results, last)?;
        let saved = new_savings(results, until, conversation.replaced);
        (saved > Tokens::ZERO).then_some(until)
    }
}

impl ByService {
    /// F.2; by E.5 only results in front of the last message can be referred to.
    fn deletes(
        self,
        results: &PieceTree,
        conversation: &Conversation,
        moment: &Moment,
    ) -> Option<PieceId> {
        let last = conversation.results;
        let active = results.count(last).saturating_sub(results.count(conversation.cleared));
        let until = all_but(self.keep_recent, results, last.filter(|_| active > self.trigger));
        let until = results.newest(until, |stretch| stretch.piece.request < moment.index)?;
        let saved = new_savings(results, until, conversation.cleared);
        (saved > Tokens::ZERO).then_some(until)
    }
}

/// The last of all results but the newest few.
fn all_but(kept: u32, results: &PieceTree, last: Option<PieceId>) -> Option<PieceId> {
    let count = results.count(last).saturating_sub(kept);
    results.newest(last, |stretch| stretch.count <= count)
}

/// What clearing results saves beyond those that were cleared before.
fn new_savings(results: &PieceTree, until: PieceId, before: Option<PieceId>) -> Tokens {
    results.savings(Some(until)).saturating_sub(results.savings(before))
}

/// A budget for the results that come in with a request (D.3). What is replaced is replaced by the same
/// bytes in all later requests, and what was sent in full stays: so nothing that was cached changes.
/// Results of `Read`, which would read the file again, are not replaced, but count. In every
/// conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResultBudget {
    /// A result with more characters than this is replaced.
    pub each: u64,
    /// Where the results of one user message have more together, the largest are replaced until they do
    /// not, or none is left.
    pub message: u64,
    /// The characters of preview and pointer together.
    pub preview: u64,
}

impl Default for ResultBudget {
    /// The client's own; of the preview about two kilobytes are known.
    fn default() -> Self {
        Self { each: 50_000, message: 200_000, preview: 2_000 }
    }
}

/// What a budget took out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Replaced {
    pub(super) results: u64,
    pub(super) tokens: Tokens,
}

/// A result that came in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Incoming<'a> {
    pub(super) content: &'a Content,
    /// Whether it may be replaced.
    pub(super) is_replaceable: bool,
}

impl ResultBudget {
    /// What it takes out of the results of one user message.
    pub(super) fn replace(self, results: &[Incoming<'_>]) -> Replaced {
        let mut replaced = Replaced::default();
        let mut sum: u64 = results.iter().map(|result| result.content.bytes).sum();
        let mut largest_first: Vec<&Content> = results
            .iter()
            .filter(|result| result.is_replaceable && result.content.bytes > self.preview)
            .map(|result| result.content)
            .collect();
        largest_first.sort_by_key(|content| std::cmp::Reverse(content.bytes));
        for content in largest_first {
            if content.bytes <= self.each && sum <= self.message {
                break;
            }
            sum -= content.bytes - self.preview;
            replaced.results += 1;
            replaced.tokens += content.tokens.saturating_sub(content.placeholder);
        }
        replaced
    }
}
