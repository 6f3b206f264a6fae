//! First divergence of the messages of two requests, and the fate of the earlier messages.
//!
//! Also the common start and end of two sequences.

use std::ops::Range;

use rustc_hash::FxHashSet;
use serde_json::Value;

use super::view::{PromptView, SAME_IN_OTHER_BYTES, says_the_same};
use super::{Difference, DifferenceKind, Pair};
use crate::read::capture::{BlockKind, Part, WireNodeId};

/// Text with which Claude Code replaces an old result.
pub(crate) const CLEARED: &str = "[Old tool result content cleared]";

/// First difference between the earlier request's messages and the same ones of the later request.
///
/// Added messages are no difference.
pub(super) fn message_difference(pair: Pair<'_>) -> Option<Difference> {
    let position = pair.parting()?;
    let tails = Tails {
        before: pair.before.tail(position),
        after: pair.after.tail(position),
        is_in_first_message: pair.before.message_of(position).0 == 0,
        has_grown: pair.after.messages() > pair.before.messages(),
    };
    let (kind, detail) = tails.change();
    let (before, after) =
        (pair.before.blocks.get(position).copied(), pair.after.blocks.get(position).copied());
    let place = match (before, after) {
        (_, Some(after)) => pair.after.place(after),
        (Some(before), None) => pair.before.place(before),
        (None, None) => return None,
    };
    let difference = Difference::new(kind, place, detail).between(before, after);
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
    fn change(&self) -> (DifferenceKind, &'static str) {
        let (Some(old), Some(new)) = (self.before.first(), self.after.first()) else {
            return (DifferenceKind::Rewound, "what was sent after it is gone");
        };
        if old.text == new.text {
            let detail = "the same bytes in a message with another role or other borders";
            return (DifferenceKind::MessageRewritten, detail);
        }
        // Stripped thinking and replaced messages also change the first block, so both are tested before it.
        if self.is_thinking_stripped() {
            return (DifferenceKind::ThinkingStripped, "thinking of earlier turns is gone");
        }
        if self.is_in_first_message && self.is_replaced() {
            let detail = "next to nothing of what was sent from here on comes back";
            return (DifferenceKind::MessagesReplaced, detail);
        }
        if let Some(change) = block_change(old.text, new.text) {
            return change;
        }
        // A request with more messages was continued, so that its block was rewritten, not rewound.
        let starts = old.is_start && new.is_start;
        if starts && !self.has_grown && self.returning() == 0 {
            return (
                DifferenceKind::Rewound,
                "another message stands where the earlier ones stood",
            );
        }
        if says_the_same(old.text, new.text) {
            (DifferenceKind::MessageRewritten, SAME_IN_OTHER_BYTES)
        } else {
            let detail = "the block differs from what was sent before";
            (DifferenceKind::MessageRewritten, detail)
        }
    }

    /// Returns true if only thinking is missing.
    fn is_thinking_stripped(&self) -> bool {
        self.before.first().is_some_and(|block| block.kind == BlockKind::Thinking)
            && without_thinking(&self.after).starts_with(&without_thinking(&self.before))
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

/// Named change of a block, if it has a name.
fn block_change(before: &str, after: &str) -> Option<(DifferenceKind, &'static str)> {
    let value = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let (old, new) = (value(before), value(after));
    if !before.contains(CLEARED) && after.contains(CLEARED) && new["type"] == "tool_result" {
        return Some((DifferenceKind::ResultsCleared, "a placeholder stands for the old result"));
    }
    match (has_image(&old), has_image(&new)) {
        (true, false) => Some((DifferenceKind::Image, "an image is gone")),
        (false, true) => Some((DifferenceKind::Image, "an image is new")),
        _ => None,
    }
}

fn has_image(block: &Value) -> bool {
    let is_image = |block: &Value| block["type"] == "image";
    is_image(block) || block["content"].as_array().is_some_and(|inner| inner.iter().any(is_image))
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
