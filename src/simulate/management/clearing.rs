//! Which results are cleared, and when, and large results that never come in: a preview and a
//! pointer to a file replace them.

use super::Management;
use super::conversation::Conversation;
use super::pieces::{Content, PieceId, PieceTree};
use crate::base::order::Order as _;
use crate::base::units::Tokens;

/// Microcompaction by one of its two ways, or both. In main conversations only.
///
/// Clearing by time comes first (D.2, F.1). Where it clears something, the service is not asked,
/// and forgets what it has deleted so far: those results are sent again, as placeholders or, if
/// they are among the newest, in full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Microcompaction {
    /// By time.
    pub by_time: Option<ByTime>,
    /// By the service.
    pub by_service: Option<ByService>,
}

/// Where the last answer is older than a gap, so that the cache is cold anyway, all results of
/// compactable tools but the newest are replaced by a placeholder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByTime {
    /// The time since the last answer after which results are cleared, in milliseconds.
    pub gap: i64,
    /// How many results stay, at least one.
    pub keep_recent: u32,
}

impl Default for ByTime {
    /// An hour, after which a one-hour entry has expired (F.1).
    fn default() -> Self {
        Self { gap: 60 * 60 * 1_000, keep_recent: 5 }
    }
}

/// Where there are more results of compactable tools than a trigger, the service is told to delete
/// all but the newest (`cache_edits`), in this request and all later ones. The bytes that are sent
/// stay the same, so the cached prefix stays valid and only shrinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByService {
    /// How many results that are neither deleted nor cleared a prompt may have.
    pub trigger: u32,
    /// How many stay.
    pub keep_recent: u32,
}

impl Default for ByService {
    /// What community rebuilds use (F.2). The real values are set remotely.
    fn default() -> Self {
        Self { trigger: 10, keep_recent: 5 }
    }
}

/// The state before a request is sent.
pub(super) struct Moment {
    /// The request.
    pub(super) index: usize,
    /// Milliseconds since the last answer.
    pub(super) idle: i64,
}

/// What is cleared before a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clearing {
    /// The last result that is cleared, with all before it.
    pub(super) until: PieceId,
    /// Whether the service deletes it, so that no byte changes.
    pub(super) is_deletion: bool,
}

/// What the rule clears, or `None` where it clears nothing new.
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
        // As specified in F.3.
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
    /// F.1: whether the last assistant message is older than the gap.
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
    /// F.2, and by E.5 only results before the last message can be referred to.
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

/// What clearing saves beyond the results that were cleared before.
fn new_savings(results: &PieceTree, until: PieceId, before: Option<PieceId>) -> Tokens {
    results.savings(Some(until)).saturating_sub(results.savings(before))
}

/// A budget for the results that come in with a request (D.3). A result is replaced by the same
/// bytes in all later requests, and one that was sent in full stays, so nothing that was cached
/// changes. Results of `Read` are counted but not replaced, since the model would read the file
/// again. In every conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResultBudget {
    /// A result with more characters is replaced.
    pub each: u64,
    /// Where the results of one user message together have more characters, the largest are
    /// replaced until they do not, or none is left.
    pub message: u64,
    /// The characters of preview and pointer together.
    pub preview: u64,
}

impl Default for ResultBudget {
    /// The client's own values. The preview is known to have about two kilobytes.
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

/// A result that comes in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Incoming<'a> {
    pub(super) content: &'a Content,
    /// Whether it may be replaced.
    pub(super) is_replaceable: bool,
}

impl ResultBudget {
    /// Applies the budget to the results of one user message.
    pub(super) fn replace(self, results: &[Incoming<'_>]) -> Replaced {
        let mut replaced = Replaced::default();
        let mut sum: u64 = results.iter().map(|result| result.content.bytes).sum();
        let mut largest_first: Vec<&Content> = results
            .iter()
            .filter(|result| result.is_replaceable && result.content.bytes > self.preview)
            .map(|result| result.content)
            .collect();
        largest_first.order_by_key(|content| std::cmp::Reverse(content.bytes));
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
