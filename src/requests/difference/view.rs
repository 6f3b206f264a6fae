//! Prompt split into parts as a person would name them, with comparisons of their texts: by JSON value, and
//! by the first different byte.

use serde_json::Value;

use super::messages::common_start;
use crate::read::capture::{BlockKind, Part, WireNodeId, WireTree};

/// Blocks of a prompt, by part.
#[derive(Debug)]
pub(crate) struct PromptView<'a> {
    tree: &'a WireTree,
    pub(crate) model: WireNodeId,
    pub(crate) tools: Vec<WireNodeId>,
    pub(crate) system_settings: Option<WireNodeId>,
    pub(crate) system: Vec<WireNodeId>,
    pub(crate) message_settings: Option<WireNodeId>,
    /// Blocks of all messages.
    pub(crate) blocks: Vec<WireNodeId>,
    /// Indices in `blocks` of the blocks that begin a message.
    starts: Vec<usize>,
}

impl<'a> PromptView<'a> {
    /// View of the prompt that ends at `leaf`.
    pub(crate) fn new(tree: &'a WireTree, leaf: WireNodeId) -> Self {
        let mut path: Vec<WireNodeId> = tree.path(leaf).collect();
        path.reverse();
        let mut view = Self {
            tree,
            model: path[0],
            tools: Vec::new(),
            system_settings: None,
            system: Vec::new(),
            message_settings: None,
            blocks: Vec::new(),
            starts: Vec::new(),
        };
        for id in path {
            match tree.node(id).part {
                Part::Model => view.model = id,
                Part::Tool => view.tools.push(id),
                Part::SystemSettings => view.system_settings = Some(id),
                Part::System => view.system.push(id),
                Part::MessageSettings => view.message_settings = Some(id),
                Part::MessageStart => {
                    view.starts.push(view.blocks.len());
                    view.blocks.push(id);
                }
                Part::Block => view.blocks.push(id),
            }
        }
        view
    }

    /// Part of the prompt that a node belongs to.
    pub(super) fn part(&self, id: WireNodeId) -> Part {
        self.tree.node(id).part
    }

    /// Kind of a node's block.
    pub(crate) fn kind(&self, id: WireNodeId) -> BlockKind {
        self.tree.node(id).kind
    }

    /// Number of messages.
    pub(super) fn messages(&self) -> usize {
        self.starts.len()
    }

    /// Canonical bytes of a node, as text.
    pub(crate) fn text(&self, id: WireNodeId) -> &'a str {
        // Captures read without their bytes have nodes without a text.
        let bytes = self.tree.node(id).bytes.as_deref().unwrap_or_default();
        // Canonical bytes are made from text, so they are UTF-8.
        std::str::from_utf8(bytes).unwrap_or_default()
    }

    /// Canonical texts of several nodes.
    pub(crate) fn texts(&self, ids: &[WireNodeId]) -> Vec<&'a str> {
        ids.iter().map(|id| self.text(*id)).collect()
    }

    /// Place of a node in the prompt, as a person would write it.
    pub(crate) fn place(&self, id: WireNodeId) -> String {
        // Ids rise along a path, so that each list is sorted.
        let position = |ids: &[WireNodeId]| ids.binary_search(&id).ok();
        if let Some(tool) = position(&self.tools) {
            return format!("tools[{tool}]");
        }
        if let Some(block) = position(&self.system) {
            return format!("system[{block}]");
        }
        if let Some(block) = position(&self.blocks) {
            let (message, inside) = self.message_of(block);
            return format!("messages[{message}].content[{inside}]");
        }
        "the settings".to_owned()
    }

    /// Message that holds a block, and the block's place in the message.
    pub(super) fn message_of(&self, block: usize) -> (usize, usize) {
        let messages = self.starts.partition_point(|start| *start <= block);
        let start = messages.checked_sub(1).map_or(0, |last| self.starts[last]);
        (messages.saturating_sub(1), block - start)
    }
}

/// Detail for values that differ only in the order of keys or the spelling of numbers.
pub(crate) const SAME_IN_OTHER_BYTES: &str = "the same in other bytes";

/// Returns true if two JSON texts have the same value.
pub(crate) fn says_the_same(before: &str, after: &str) -> bool {
    let value = |text: &str| serde_json::from_str::<Value>(text).ok();
    value(before).is_some_and(|before| value(after) == Some(before))
}

/// Path of the first field that differs between two values, whatever the order of keys, or `None` if they are
/// equal.
pub(crate) fn changed_field(before: &Value, after: &Value) -> Option<String> {
    changed_below(before, after, String::new())
}

fn changed_below(before: &Value, after: &Value, path: String) -> Option<String> {
    let below =
        |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match (before, after) {
        // Texts that could not be parsed may differ anywhere.
        (Value::Null, Value::Null) if path.is_empty() => Some("the definition".to_owned()),
        (Value::Object(old), Value::Object(new)) => {
            let names = old.keys().chain(new.keys().filter(|name| !old.contains_key(*name)));
            for name in names {
                match (old.get(name), new.get(name)) {
                    (Some(old), Some(new)) => {
                        if let Some(field) = changed_below(old, new, below(name)) {
                            return Some(field);
                        }
                    }
                    _ => return Some(below(name)),
                }
            }
            None
        }
        (before, after) if before == after => None,
        _ => Some(if path.is_empty() { "the definition".to_owned() } else { path }),
    }
}

/// Bytes shown on each side of the first difference.
const CONTEXT: usize = 32;

/// First bytes that differ between two versions of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByteDifference {
    /// Offset of these bytes in the canonical bytes of the block.
    pub byte: usize,
    /// Bytes of the earlier version, with a little context.
    pub before: String,
    /// Bytes of the later version, with a little context.
    pub after: String,
}

impl ByteDifference {
    /// First difference of two versions of a block, given by their canonical bytes.
    pub(crate) fn between(before: &str, after: &str) -> Self {
        let byte = first_difference(before, after);
        Self { byte, before: context(before, byte), after: context(after, byte) }
    }
}

/// Offset of the first byte that differs between two texts, on a character boundary of both.
pub(crate) fn first_difference(before: &str, after: &str) -> usize {
    let same = common_start(before.as_bytes(), after.as_bytes());
    (0..=same)
        .rev()
        .find(|at| before.is_char_boundary(*at) && after.is_char_boundary(*at))
        .unwrap_or(0)
}

/// Text around an offset.
pub(crate) fn context(text: &str, at: usize) -> String {
    let from = floor(text, at.saturating_sub(CONTEXT));
    let to = ceil(text, at.saturating_add(CONTEXT));
    let (start, end) = (if from > 0 { "…" } else { "" }, if to < text.len() { "…" } else { "" });
    format!("{start}{}{end}", &text[from..to])
}

fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn ceil(text: &str, at: usize) -> usize {
    (at.min(text.len())..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_stand_on_borders_of_characters() {
        assert_eq!(first_difference("aé", "aè"), 1);
        assert_eq!(first_difference("same", "same"), 4);
        assert_eq!(context(&"ü".repeat(100), 101), format!("…{}…", "ü".repeat(33)));
    }
}
