//! Alterations of blocks that come back, in a few words, none of them from the prompt.

use std::fmt;

use serde_json::Value;

use super::messages::common_start;
use super::view::says_the_same;
use super::{CLEARED, DifferenceKind, SAME_IN_OTHER_BYTES};
use crate::base::{Order as _, counted, grouped};

/// What became of a block of an earlier prompt, or of the blocks from it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alteration {
    KeyOrder,
    Spelling,
    LineOrder,
    WordOrder,
    BlockOrder,
    Form,
    Trimmed,
    WhiteSpace,
    /// Characters before and now.
    Cut(usize, usize),
    Grown(usize, usize),
    /// Characters of an old result, and of a text with another beginning in its place.
    Shortened(usize, usize),
    Cleared,
    /// Field of the block, which alone differs.
    Field(&'static str),
    ImageReplaced,
    ImageChanged,
    ImageGone,
    ImageNew,
    ThinkingRemoved {
        is_of_last_turn: bool,
    },
    Moved {
        is_to_last: bool,
    },
    BlocksGone(usize),
    BlocksNew(usize),
    MessagesGone(usize, GoneFrom),
    MessagesNew(usize),
    Borders,
    Replaced,
    Rewound,
    Redone,
    Other,
}

/// Place from which messages are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GoneFrom {
    Front,
    /// They begin with a result without its call.
    FrontWithCall,
    Middle,
}

impl Alteration {
    /// Kind of the difference that it makes.
    pub(super) fn kind(self) -> DifferenceKind {
        match self {
            Self::Cleared => DifferenceKind::ResultsCleared,
            Self::ImageReplaced | Self::ImageChanged | Self::ImageGone | Self::ImageNew => {
                DifferenceKind::Image
            }
            Self::ThinkingRemoved { .. } => DifferenceKind::ThinkingStripped,
            Self::Replaced => DifferenceKind::MessagesReplaced,
            Self::Rewound | Self::Redone => DifferenceKind::Rewound,
            _ => DifferenceKind::MessageRewritten,
        }
    }

    /// Returns true if nothing stands for the block in its old place.
    pub(super) fn is_gone(self) -> bool {
        matches!(
            self,
            Self::ThinkingRemoved { .. }
                | Self::Moved { .. }
                | Self::BlocksGone(_)
                | Self::MessagesGone(..)
        )
    }

    /// Returns true if the block in the same place is another version of it.
    pub(crate) fn has_counterpart(self) -> bool {
        let is_new = matches!(self, Self::BlocksNew(_) | Self::MessagesNew(_) | Self::BlockOrder);
        !is_new && !self.is_gone()
    }

    /// Returns true for thinking of turns before the last, which some models drop by themselves.
    pub(crate) fn is_of_earlier_thinking(self) -> bool {
        self == Self::ThinkingRemoved { is_of_last_turn: false }
    }

    /// Returns true if what was sent does not come back.
    pub(crate) fn is_of_another_conversation(self) -> bool {
        matches!(self, Self::Replaced | Self::Rewound | Self::Redone)
    }

    /// Returns true if an image came or went.
    pub(crate) fn is_of_image(self) -> bool {
        self.kind() == DifferenceKind::Image
    }
}

impl fmt::Display for Alteration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = |characters: usize| grouped(characters as u64);
        let number_of = |number: usize, one, several| counted(number as u64, one, several);
        f.write_str(match *self {
            Self::KeyOrder => "the same JSON in another key order",
            Self::Spelling => SAME_IN_OTHER_BYTES,
            Self::LineOrder => "the same lines in another order",
            Self::WordOrder => "the same words in another order",
            Self::Form => "the same text in another form",
            Self::Trimmed => "text trimmed",
            Self::WhiteSpace => "the same text with other white space",
            Self::Cleared => "a placeholder stands for the old result",
            Self::ImageReplaced => "image replaced by text",
            Self::ImageChanged => "another image stands in its place",
            Self::ImageGone => "an image is gone",
            Self::ImageNew => "an image is new",
            Self::ThinkingRemoved { .. } => "thinking removed",
            Self::Moved { is_to_last: true } => "moved to the last message",
            Self::Moved { is_to_last: false } => "moved to a later message",
            Self::BlockOrder => "the same blocks in another order",
            Self::Borders => "the same bytes in a message with another role or other borders",
            Self::Replaced => "next to nothing of what was sent from here on comes back",
            Self::Rewound => "what was sent after it is gone",
            Self::Redone => "another message stands where the earlier ones stood",
            Self::Other => "the block differs from what was sent before",
            Self::Cut(old, new) => {
                return write!(f, "cut from {} to {} characters", size(old), size(new));
            }
            Self::Grown(old, new) => {
                return write!(f, "grown from {} to {} characters", size(old), size(new));
            }
            Self::Shortened(old, new) => {
                let (old, new) = (size(old), size(new));
                return write!(f, "{new} other characters stand for {old} of the old result");
            }
            Self::Field(name) => return write!(f, "`{name}` of the block differs"),
            Self::BlocksGone(number) => {
                return f.write_str(&number_of(number, "block is gone", "blocks are gone"));
            }
            Self::BlocksNew(number) => {
                let blocks = number_of(number, "block is new", "blocks are new");
                return write!(f, "{blocks} in front of it");
            }
            Self::MessagesNew(number) => {
                let messages = number_of(number, "message is new", "messages are new");
                return write!(f, "{messages} in front of it");
            }
            Self::MessagesGone(number, from) => {
                let messages = number_of(number, "message", "messages");
                let from = match from {
                    GoneFrom::Front => "the front",
                    GoneFrom::FrontWithCall => {
                        "the front; they begin with a result without its call, which the API refuses"
                    }
                    GoneFrom::Middle => "the middle",
                };
                return write!(f, "{messages} gone from {from}");
            }
        })
    }
}

/// Alteration of two texts that say the same in other bytes, or have the same lines or words.
pub(crate) fn reordered(before: &str, after: &str) -> Option<Alteration> {
    if says_the_same(before, after) {
        Some(Alteration::Spelling)
    } else {
        other_order(before, after)
    }
}

/// Alteration of two different texts of the same lines or words.
pub(crate) fn other_order(before: &str, after: &str) -> Option<Alteration> {
    // The text of a block begins and ends with the quotes of its JSON.
    let lines = |text: &str| -> Vec<String> {
        text.replace('"', LINE_END).split(LINE_END).map(str::to_owned).collect()
    };
    if are_reordered(lines(before), lines(after)) {
        return Some(Alteration::LineOrder);
    }
    let words = |text: &'_ str| -> Vec<String> {
        let is_border = |one: char| one.is_whitespace() || matches!(one, ',' | ';' | '"');
        let text = text.replace(LINE_END, " ");
        text.split(is_border).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    are_reordered(words(before), words(after)).then_some(Alteration::WordOrder)
}

/// End of a line in canonical bytes.
const LINE_END: &str = r"\n";

/// Returns true if the parts are the same and their order is another one.
fn are_reordered(mut one: Vec<String>, mut other: Vec<String>) -> bool {
    if one == other {
        return false;
    }
    one.order();
    other.order();
    one == other
}

/// Alteration between two versions of a block, given by their canonical bytes.
pub(super) fn alteration(before: &str, after: &str) -> Alteration {
    let value = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let (old, new) = (value(before), value(after));
    if !before.contains(CLEARED) && after.contains(CLEARED) && new["type"] == "tool_result" {
        return Alteration::Cleared;
    }
    if let Some(change) = image_change(&old, &new) {
        return change;
    }
    if old == new && !old.is_null() {
        return same_value(before, after);
    }
    if let Some(field) = only_field(&old, &new) {
        return Alteration::Field(field);
    }
    let texts = text_of(&old).zip(text_of(&new));
    let change = texts.as_ref().and_then(|(old, new)| text_change(old, new));
    let shortened = || texts.as_ref().filter(|_| new["type"] == "tool_result").and_then(shortened);
    change.or_else(|| other_order(before, after)).or_else(shortened).unwrap_or(Alteration::Other)
}

/// Fields beside what a block says.
const FIELDS: [&str; 7] =
    ["citations", "id", "is_error", "name", "signature", "title", "tool_use_id"];

/// The field that alone differs between two blocks, if it is one of `FIELDS`.
fn only_field(old: &Value, new: &Value) -> Option<&'static str> {
    let without = |block: &Value, field: &str| {
        let mut fields = block.as_object()?.clone();
        fields.remove(field);
        Some(fields)
    };
    FIELDS.into_iter().find(|field| {
        let (old, new) = (without(old, field), without(new, field));
        old.is_some() && old == new
    })
}

/// A short text in place of a long one.
fn shortened((old, new): &(String, String)) -> Option<Alteration> {
    let (old, new) = (old.chars().count(), new.chars().count());
    (new * 2 <= old).then_some(Alteration::Shortened(old, new))
}

/// Alteration of the bytes of one JSON value. With the same bytes in another order only the order differs.
fn same_value(before: &str, after: &str) -> Alteration {
    let sorted = |text: &str| {
        let mut bytes = text.as_bytes().to_vec();
        bytes.order();
        bytes
    };
    if sorted(before) == sorted(after) { Alteration::KeyOrder } else { Alteration::Spelling }
}

fn image_change(old: &Value, new: &Value) -> Option<Alteration> {
    match (has_image(old), has_image(new)) {
        (true, false) if text_of(new).is_some() => Some(Alteration::ImageReplaced),
        (true, false) => Some(Alteration::ImageGone),
        (false, true) => Some(Alteration::ImageNew),
        _ => (images(old) != images(new)).then_some(Alteration::ImageChanged),
    }
}

fn has_image(block: &Value) -> bool {
    !images(block).is_empty()
}

/// The block if it is an image, and the images of a result.
fn images(block: &Value) -> Vec<&Value> {
    let inner = block["content"].as_array().into_iter().flatten();
    std::iter::once(block).chain(inner).filter(|block| block["type"] == "image").collect()
}

/// Text of a block: of a text, of thinking, or of a result, whose parts are joined.
fn text_of(block: &Value) -> Option<String> {
    let own = |block: &Value| {
        let text = block["text"].as_str().or(block["thinking"].as_str());
        text.map(str::to_owned)
    };
    match &block["content"] {
        Value::String(text) => Some(text.clone()),
        Value::Array(inner) => inner.iter().map(own).collect(),
        _ => own(block),
    }
}

/// Alteration of a text; `None` if it is another one.
fn text_change(old: &str, new: &str) -> Option<Alteration> {
    if old == new {
        return Some(Alteration::Form);
    }
    if new == old.trim() || new == old.trim_end() || new == old.trim_start() {
        return Some(Alteration::Trimmed);
    }
    if old.split_whitespace().eq(new.split_whitespace()) {
        return Some(Alteration::WhiteSpace);
    }
    let same = common_start(old.as_bytes(), new.as_bytes());
    let is_cut = new.len() < old.len();
    let shorter = if is_cut { new } else { old };
    let (before, now) = (old.chars().count(), new.chars().count());
    // A note in place of the rest is shorter than what was kept.
    (same * 2 >= shorter.len()
        && !shorter.is_empty()
        && old.len().abs_diff(new.len()) * 10 > shorter.len())
    .then_some(if is_cut { Alteration::Cut(before, now) } else { Alteration::Grown(before, now) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(before: &str, after: &str) -> String {
        alteration(before, after).to_string()
    }

    #[test]
    fn what_became_of_a_block_is_said() {
        let text = |text: &str| format!(r#"{{"type":"text","text":"{text}"}}"#);
        let result = |text: &str| {
            format!(r#"{{"type":"tool_result","tool_use_id":"t","content":"{text}"}}"#)
        };
        let call = r#"{"type":"tool_use","id":"t","input":{"a":1,"b":2}}"#;
        assert_eq!(
            words(call, r#"{"type":"tool_use","id":"t","input":{"b":2,"a":1}}"#),
            "the same JSON in another key order"
        );
        assert_eq!(
            words(call, r#"{"type":"tool_use","id":"t","input":{"a":1.0,"b":2}}"#),
            "the block differs from what was sent before"
        );
        assert_eq!(words(&text("done. "), &text("done.")), "text trimmed");
        assert_eq!(words(&text(r"a\nb"), &text(r"b\na")), "the same lines in another order");
        assert_eq!(words(&text("a, b, c"), &text("b, c, a")), "the same words in another order");
        assert_eq!(other_order(r#""a; b  c""#, r#""a, b c""#), None);
        assert_eq!(words(&text("a  b c"), &text("a b c")), "the same text with other white space");
        let long = "word ".repeat(1_800);
        assert_eq!(
            words(&result(&long), &result(&long[..2_000])),
            "cut from 9,000 to 2,000 characters"
        );
        assert_eq!(
            words(&text("ask"), &text("other")),
            "the block differs from what was sent before"
        );
        let listed =
            r#"{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"ok"}]}"#;
        assert_eq!(words(&result("ok"), listed), "the same text in another form");
        let image = r#"{"type":"image","source":{"type":"base64","data":"AA"}}"#;
        assert_eq!(words(image, &text("[image]")), "image replaced by text");
        assert_eq!(words(image, &image.replace("AA", "BB")), "another image stands in its place");
        let other_id = call.replace(r#""t""#, r#""u""#);
        assert_eq!(words(call, &other_id), "`id` of the block differs");
        assert_eq!(
            words(&result(&long), &result("[gone]")),
            "6 other characters stand for 9,000 of the old result"
        );
        let signed =
            |name: &str| format!(r#"{{"type":"thinking","thinking":"so","signature":"{name}"}}"#);
        assert_eq!(words(&signed("a"), &signed("b")), "`signature` of the block differs");
    }
}
