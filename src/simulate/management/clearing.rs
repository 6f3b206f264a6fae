//! Clearing of results, and replacement of large results before they come in: a preview and a
//! pointer to a file take their place.

use serde::Deserialize;

use super::{Content, Conversation, Parts, PieceId, PieceTree};
use crate::base::bounded::{Count, Duration, Length, Size};
use crate::base::{Order as _, Tokens};

/// Microcompaction by time, by the service, or both, in main conversations only.
///
/// Clearing by time comes first (D.2, F.1). If it clears something, the service is not asked, and
/// forgets its deletions so far: those results are sent again, as placeholders or, if they are
/// among the newest, in full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Microcompaction {
    /// Rule by time.
    pub by_time: Option<ByTime>,
    /// Rule by the service.
    pub by_service: Option<ByService>,
}

/// Clearing by time: if the last answer is older than a gap, so that the cache is cold anyway, a
/// placeholder replaces all results of compactable tools but the newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ByTime {
    /// Time since the last answer after which results are cleared, in milliseconds.
    #[serde(with = "Duration")]
    pub gap: i64,
    /// Number of results that stay, at least one.
    #[serde(with = "Count")]
    pub keep_recent: u32,
}

impl Default for ByTime {
    /// An hour, after which a one-hour entry has expired (F.1).
    fn default() -> Self {
        Self { gap: 60 * 60 * 1_000, keep_recent: 5 }
    }
}

/// Deletion by the service: if a prompt has more results of compactable tools than a trigger, the
/// service is asked to delete all but the newest (`cache_edits`), in this request and all later
/// ones.
///
/// The bytes that are sent stay the same, so the cached prefix stays valid and only shrinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ByService {
    /// Largest number of results in a prompt that are neither deleted nor cleared.
    #[serde(with = "Count")]
    pub trigger: u32,
    /// Number of results that stay.
    #[serde(with = "Count")]
    pub keep_recent: u32,
}

impl Default for ByService {
    /// Values of community rebuilds (F.2); the real values are set remotely.
    fn default() -> Self {
        Self { trigger: 10, keep_recent: 5 }
    }
}

/// Clearing by the service (`clear_tool_uses_20250919`), in every conversation: if a prompt exceeds a trigger, the
/// oldest results of compactable tools are cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ResultClearing {
    /// Largest prompt that stays as it is, in tokens.
    #[serde(with = "Size")]
    pub trigger: Tokens,
    /// Tokens of the newest results that stay.
    #[serde(with = "Size")]
    pub keep: Tokens,
    /// Least number of clearable tokens at which anything is cleared.
    #[serde(with = "Size")]
    pub clear_at_least: Tokens,
}

impl Default for ResultClearing {
    /// Values that the client requests (F.3).
    fn default() -> Self {
        Self { trigger: Tokens(180_000), keep: Tokens(40_000), clear_at_least: Tokens(140_000) }
    }
}

/// State before a request is sent.
pub(super) struct Moment {
    pub(super) index: usize,
    /// Milliseconds since the last answer.
    pub(super) idle: i64,
}

/// Results that are cleared before a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clearing {
    /// Last result that is cleared, with all before it.
    pub(super) until: PieceId,
    /// True if the service deletes the results, so that no byte changes.
    pub(super) is_deletion: bool,
}

/// Results that the rule clears, or `None` if it clears nothing new.
pub(super) fn clearing(
    parts: &Parts,
    results: &PieceTree,
    conversation: &Conversation,
    moment: &Moment,
) -> Option<Clearing> {
    if let Some(Microcompaction { by_time, by_service }) = parts.microcompaction {
        let by_time = by_time.and_then(|rule| rule.clears(results, conversation, moment));
        let by_time = by_time.map(|until| Clearing { until, is_deletion: false });
        return by_time.or_else(|| {
            let until = by_service?.deletes(results, conversation, moment)?;
            Some(Clearing { until, is_deletion: true })
        });
    }
    // As specified in F.3.
    let ResultClearing { trigger, keep, clear_at_least } = parts.clearing?;
    let last = conversation.results.filter(|_| conversation.total > trigger);
    let all = results.tokens(last);
    let until = results.newest(last, |stretch| all.saturating_sub(stretch.tokens) >= keep)?;
    // Results that are cleared already save nothing a second time, so they do not count
    // towards the least saving.
    let saved = new_savings(results, until, conversation.cleared);
    let is_enough = saved > Tokens::ZERO && saved >= clear_at_least;
    is_enough.then_some(Clearing { until, is_deletion: false })
}

impl ByTime {
    /// F.1: clears if the last assistant message is older than the gap.
    fn clears(
        self,
        results: &PieceTree,
        conversation: &Conversation,
        moment: &Moment,
    ) -> Option<PieceId> {
        let last = conversation.results.filter(|_| moment.idle > self.gap);
        // A client keeps one result even if its setting says none.
        let until = all_but(self.keep_recent.max(1), results, last)?;
        let saved = new_savings(results, until, conversation.replaced);
        (saved > Tokens::ZERO).then_some(until)
    }
}

impl ByService {
    /// F.2; by E.5 only results before the last message can be referred to.
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

/// Last of all results but the newest few.
fn all_but(kept: u32, results: &PieceTree, last: Option<PieceId>) -> Option<PieceId> {
    let count = results.count(last).saturating_sub(kept);
    results.newest(last, |stretch| stretch.count <= count)
}

/// Tokens that clearing saves beyond the results that were cleared before.
fn new_savings(results: &PieceTree, until: PieceId, before: Option<PieceId>) -> Tokens {
    results.savings(Some(until)).saturating_sub(results.savings(before))
}

/// Budget for the results that come in with a request (D.3), in every conversation.
///
/// A result is replaced by the same bytes in all later requests, and one that was sent in full
/// stays, so no cached byte changes. Results of `Read` are counted but not replaced, since the
/// model would read the file again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ResultBudget {
    /// Largest number of characters of a result that stays.
    #[serde(with = "Length")]
    pub each: u64,
    /// Largest number of characters of one user message's results together.
    ///
    /// Beyond it the largest results are replaced, until the sum fits or none is left.
    #[serde(with = "Length")]
    pub message: u64,
    /// Characters of preview and pointer together.
    #[serde(with = "Length")]
    pub preview: u64,
}

impl Default for ResultBudget {
    /// Values of the client; the preview is known to have about two kilobytes.
    fn default() -> Self {
        Self { each: 50_000, message: 200_000, preview: 2_000 }
    }
}

/// Result that comes in.
#[derive(Debug)]
pub(super) struct Incoming<'a> {
    pub(super) content: &'a mut Content,
    /// True if the result may be replaced.
    pub(super) is_replaceable: bool,
}

impl ResultBudget {
    /// Applies the budget to the results of one user message, and returns the number of those that it replaced and the
    /// tokens saved.
    pub(super) fn replace(self, results: Vec<Incoming<'_>>) -> (u64, Tokens) {
        let (mut replaced, mut saved) = (0, Tokens::ZERO);
        let mut sum: u64 = results.iter().map(|result| result.content.characters).sum();
        let mut largest_first: Vec<&mut Content> = results
            .into_iter()
            .filter(|result| result.is_replaceable && result.content.characters > self.preview)
            .map(|result| result.content)
            .collect();
        largest_first.order_by_key(|content| std::cmp::Reverse(content.characters));
        for content in largest_first {
            // Largest first, so no later result is over its own limit either.
            if content.characters <= self.each && sum <= self.message {
                break;
            }
            sum -= content.characters - self.preview;
            replaced += 1;
            saved += content.tokens.saturating_sub(content.preview);
            content.tokens = content.tokens.min(content.preview);
            content.placeholder = content.placeholder.min(content.preview);
            content.characters = self.preview;
            content.rough = Tokens(self.preview / 4);
        }
        (replaced, saved)
    }
}
