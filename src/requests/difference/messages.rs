//! First divergence of the messages of two requests, and the fate of the earlier messages.
//!
//! Also the common start and end of two sequences.

use std::ops::Range;

use rustc_hash::FxHashSet;

use super::altered::{Alteration, GoneFrom, alteration};
use super::{Difference, DifferenceKind, Pair, PromptView};
use crate::base::Order as _;
use crate::read::capture::{BlockKind, Part, WireNodeId};

/// Text with which Claude Code replaces an old result.
pub(crate) const CLEARED: &str = "[Old tool result content cleared]";

/// First difference between the earlier request's messages and the same ones of the later request.
pub(crate) struct MessageChange {
    pub(crate) alteration: Alteration,
    /// First block of the messages that differs, in both requests.
    pub(crate) position: usize,
    /// Place of the block that changed: its old one if another block is there now.
    pub(crate) place: String,
}

/// First difference of the first `sent` blocks of the earlier messages. Added messages are no difference.
pub(crate) fn message_change(
    before: &PromptView<'_>,
    after: &PromptView<'_>,
    sent: usize,
) -> Option<MessageChange> {
    let position = Pair { before, after }.parting().filter(|position| *position < sent)?;
    let tails = Tails {
        before: before.tail(position),
        after: after.tail(position),
        is_in_first_message: before.message_of(position).0 == 0,
        has_grown: after.messages() > before.messages(),
    };
    let alteration = tails.alteration();
    let (old, new) = (before.blocks.get(position), after.blocks.get(position));
    let place = match (old, new) {
        (Some(old), _) if alteration.is_gone() => before.place(*old),
        (_, Some(new)) => after.place(*new),
        (old, None) => before.place(*old?),
    };
    Some(MessageChange { alteration, position, place })
}

/// First difference between the messages, as one of the differences of two requests.
pub(super) fn message_difference(pair: Pair<'_>) -> Option<Difference> {
    let MessageChange { alteration, position, place } =
        message_change(pair.before, pair.after, pair.before.blocks.len())?;
    let (before, after) =
        (pair.before.blocks.get(position).copied(), pair.after.blocks.get(position).copied());
    let difference = Difference::new(alteration.kind(), place, "");
    let difference = difference.altered(Some(alteration)).between(before, after);
    if !alteration.has_counterpart() {
        return Some(difference);
    }
    Some(difference.with_bytes(
        before.map(|before| pair.before.text(before)),
        after.map(|after| pair.after.text(after)),
    ))
}

/// Difference between the results that two requests delete on the server, each list in the order of the
/// prefix.
///
/// Deleting a result does not change the prefix.
pub(crate) fn deletion_difference(
    before: &[WireNodeId],
    after: &[WireNodeId],
) -> Option<Difference> {
    let lacking = |ids: &[WireNodeId], others: &[WireNodeId]| {
        let others: FxHashSet<&WireNodeId> = others.iter().collect();
        ids.iter().filter(|id| !others.contains(id)).count()
    };
    let (new, gone) = (lacking(after, before), lacking(before, after));
    let detail = match (new, gone) {
        (0, 0) => return None,
        (1, 0) => "1 more result is deleted on the server".to_owned(),
        (_, 0) => format!("{new} more results are deleted on the server"),
        (_, 1) => "1 result is not deleted any more".to_owned(),
        _ => format!("{gone} results are not deleted any more"),
    };
    Some(Difference::new(DifferenceKind::CachedMicrocompaction, "cache_edits", detail))
}

impl Pair<'_> {
    /// Index of the first block of the earlier messages that the later request lacks in that place.
    fn parting(self) -> Option<usize> {
        // After a difference before the messages all node ids differ, so only parts and bytes can be
        // compared.
        let is_same_in_front = self.before.message_settings == self.after.message_settings;
        let is_same = |one: WireNodeId, other: WireNodeId| {
            one == other
                || (!is_same_in_front
                    && self.before.part(one) == self.after.part(other)
                    && self.before.text(one) == self.after.text(other))
        };
        let (old, new) = (&self.before.blocks, &self.after.blocks);
        let same = old.iter().zip(new).take_while(|(one, other)| is_same(**one, **other)).count();
        (same < old.len()).then_some(same)
    }
}

/// Block of a message.
struct TailBlock<'a> {
    text: &'a str,
    kind: BlockKind,
    is_start: bool,
}

impl<'a> PromptView<'a> {
    /// Blocks of the messages, starting at `position`.
    fn tail(&self, position: usize) -> Vec<TailBlock<'a>> {
        let block = |id: &WireNodeId| TailBlock {
            text: self.text(*id),
            kind: self.kind(*id),
            is_start: self.part(*id) == Part::MessageStart,
        };
        self.blocks.iter().skip(position).map(block).collect()
    }
}

/// Blocks of both requests after their divergence.
struct Tails<'a> {
    /// Blocks of the earlier request: at least one.
    before: Vec<TailBlock<'a>>,
    after: Vec<TailBlock<'a>>,
    is_in_first_message: bool,
    /// True if the later request has more messages.
    has_grown: bool,
}

impl Tails<'_> {
    fn alteration(&self) -> Alteration {
        let (Some(old), Some(new)) = (self.before.first(), self.after.first()) else {
            return Alteration::Rewound;
        };
        if old.text == new.text {
            return Alteration::Borders;
        }
        // Stripped thinking and replaced messages also change the first block, so both are tested before it.
        if let Some(found) = self.thinking_removed().or_else(|| self.reordered()) {
            return found;
        }
        if let Some(found) = self.moved().or_else(|| self.dropped()).or_else(|| self.inserted()) {
            return found;
        }
        if self.is_in_first_message && self.is_replaced() {
            return Alteration::Replaced;
        }
        let found = alteration(old.text, new.text);
        // A request with more messages was continued, so that its block was rewritten, not rewound.
        let starts = old.is_start && new.is_start;
        let is_plain = found.kind() == DifferenceKind::MessageRewritten;
        if is_plain && starts && !self.has_grown && self.returning() == 0 {
            return Alteration::Redone;
        }
        found
    }

    /// Blocks of a message that differ in their order alone.
    fn reordered(&self) -> Option<Alteration> {
        let rest = |blocks: &[TailBlock<'_>]| -> Vec<String> {
            let others = blocks.iter().skip(1).take_while(|block| !block.is_start);
            blocks.iter().take(1).chain(others).map(|block| block.text.to_owned()).collect()
        };
        let (mut old, mut new) = (rest(&self.before), rest(&self.after));
        old.order();
        new.order();
        (old == new).then_some(Alteration::BlockOrder)
    }

    /// A block that is in the last message now, or in another later one.
    fn moved(&self) -> Option<Alteration> {
        let text = self.before.first()?.text;
        let to = self.after.iter().rposition(|block| block.text == text)?;
        let is_of_last_message =
            |blocks: &[TailBlock<'_>]| !blocks.iter().skip(1).any(|one| one.is_start);
        // Messages in front of all that was sent push it back: they are new, and it did not move.
        let is_short = is_of_last_message(&self.before)
            || self.before.get(1).is_some_and(|next| next.text == self.after[0].text);
        let has_crossed = self.after[1..=to].iter().any(|block| block.is_start);
        let is_to_last = is_of_last_message(&self.after[to..]);
        (is_short && has_crossed).then_some(Alteration::Moved { is_to_last })
    }

    /// Messages or blocks that are gone, with what stood behind them as it was.
    fn dropped(&self) -> Option<Alteration> {
        let next = self.after.first()?;
        let gone = self.before.iter().position(|block| block.text == next.text);
        // A message that ends earlier has lost its last blocks, whatever follows it.
        let is_end = next.is_start && !self.before.iter().any(|block| block.is_start);
        let gone = gone.or(is_end.then_some(self.before.len()))?;
        let same = Self::same_run(&self.before[gone..], &self.after);
        if same * 2 < self.before.len() - gone {
            return None;
        }
        let is_start = |at: usize| self.before.get(at).is_some_and(|block| block.is_start);
        if !is_start(0) || !is_start(gone) {
            return Some(Alteration::BlocksGone(gone));
        }
        let messages = self.before[..gone].iter().filter(|block| block.is_start).count();
        let from = match (self.is_in_first_message, next.kind == BlockKind::ToolResult) {
            (false, _) => GoneFrom::Middle,
            (true, false) => GoneFrom::Front,
            (true, true) => GoneFrom::FrontWithCall,
        };
        Some(Alteration::MessagesGone(messages, from))
    }

    /// Blocks or messages that are new in front of what was sent.
    fn inserted(&self) -> Option<Alteration> {
        let next = self.before.first()?.text;
        let new = self.after.iter().position(|block| block.text == next)?;
        let same = Self::same_run(&self.before, &self.after[new..]);
        let messages = self.after[..new].iter().filter(|block| block.is_start).count();
        let is_whole = self.after[0].is_start && self.after[new].is_start;
        (same * 2 >= self.before.len()).then_some(if is_whole {
            Alteration::MessagesNew(messages)
        } else {
            Alteration::BlocksNew(new)
        })
    }

    fn same_run(before: &[TailBlock<'_>], after: &[TailBlock<'_>]) -> usize {
        before.iter().zip(after).take_while(|(one, other)| one.text == other.text).count()
    }

    /// Thinking that alone is missing.
    fn thinking_removed(&self) -> Option<Alteration> {
        // Thinking in its place that was not there before is altered, not removed.
        let next = self.after.first()?;
        let is_altered = next.kind == BlockKind::Thinking
            && !self.before.iter().any(|block| block.text == next.text);
        let is_removed = self.before.first()?.kind == BlockKind::Thinking
            && !is_altered
            && without_thinking(&self.after).starts_with(&without_thinking(&self.before));
        // A turn begins with a message that has more than answers and results.
        let begins_turn =
            |block: &TailBlock<'_>| matches!(block.kind, BlockKind::Other | BlockKind::Media);
        let is_of_last_turn = !self.after.iter().any(begins_turn);
        is_removed.then_some(Alteration::ThinkingRemoved { is_of_last_turn })
    }

    /// Returns true if less than half of the earlier blocks come back.
    fn is_replaced(&self) -> bool {
        let pair = self.before.first().zip(self.after.first());
        let is_alike = pair.is_some_and(|(old, new)| {
            same_ends(old.text, new.text) * 2 >= old.text.len().max(new.text.len())
        });
        // A first block that mostly agrees was edited, and counts as coming back.
        (self.returning() + usize::from(is_alike)) * 2 < self.before.len()
    }

    /// Number of earlier blocks that come back, at any place.
    fn returning(&self) -> usize {
        let now: FxHashSet<&str> = self.after.iter().map(|block| block.text).collect();
        self.before.iter().filter(|block| now.contains(block.text)).count()
    }
}

fn without_thinking<'a>(tail: &[TailBlock<'a>]) -> Vec<&'a str> {
    let kept = tail.iter().filter(|block| block.kind != BlockKind::Thinking);
    kept.map(|block| block.text).collect()
}

/// Number of equal elements at the start.
pub(crate) fn common_start<T: PartialEq>(one: &[T], other: &[T]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

/// Number of equal elements at the end.
pub(crate) fn common_end<T: PartialEq>(one: &[T], other: &[T]) -> usize {
    one.iter().rev().zip(other.iter().rev()).take_while(|(one, other)| one == other).count()
}

/// Ranges of both sequences between their common start and their common end, or `None` if they are equal.
pub(crate) fn differing<T: PartialEq>(
    one: &[T],
    other: &[T],
) -> Option<(Range<usize>, Range<usize>)> {
    let start = common_start(one, other);
    // The common end is taken from the rest only, as both may overlap in a repeated element.
    let end = common_end(&one[start..], &other[start..]);
    let (one, other) = (start..one.len() - end, start..other.len() - end);
    (!one.is_empty() || !other.is_empty()).then_some((one, other))
}

/// Number of bytes that two different texts share at both ends together.
pub(crate) fn same_ends(before: &str, after: &str) -> usize {
    let (before, after) = (before.as_bytes(), after.as_bytes());
    let same = common_start(before, after);
    same + common_end(&before[same..], &after[same..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_share_their_ends() {
        assert_eq!(same_ends("now 10:00, go", "now 10:05, go"), 12);
        assert_eq!(same_ends("aa", "aaa"), 2);
        assert_eq!(same_ends("ab", "cd"), 0);
    }

    #[test]
    fn what_differs_lies_between_the_ends() {
        assert_eq!(differing(&[1, 2, 3], &[1, 2, 3]), None);
        assert_eq!(differing(&[1, 2, 3], &[1, 4, 5, 3]), Some((1..2, 1..3)));
        assert_eq!(differing(&[1, 1], &[1]), Some((1..2, 1..1)));
    }
}
