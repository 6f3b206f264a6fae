//! A prompt taken apart into the parts that a person would name.

use crate::read::capture::{BlockKind, Part, WireNodeId, WireTree};

/// The blocks of a prompt by part.
#[derive(Debug)]
pub(crate) struct PromptView<'a> {
    tree: &'a WireTree,
    pub(crate) model: WireNodeId,
    pub(crate) tools: Vec<WireNodeId>,
    pub(crate) system_settings: Option<WireNodeId>,
    pub(crate) system: Vec<WireNodeId>,
    pub(crate) message_settings: Option<WireNodeId>,
    /// Every block of every message.
    pub(crate) blocks: Vec<WireNodeId>,
}

impl<'a> PromptView<'a> {
    /// The view of the prompt that ends at `leaf`.
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
        };
        for id in path {
            match tree.node(id).part {
                Part::Model => view.model = id,
                Part::Tool => view.tools.push(id),
                Part::SystemSettings => view.system_settings = Some(id),
                Part::System => view.system.push(id),
                Part::MessageSettings => view.message_settings = Some(id),
                Part::MessageStart | Part::Block => view.blocks.push(id),
            }
        }
        view
    }

    /// What a node adds to the prompt.
    pub(super) fn part(&self, id: WireNodeId) -> Part {
        self.tree.node(id).part
    }

    /// The kind of a node's block.
    pub(super) fn kind(&self, id: WireNodeId) -> BlockKind {
        self.tree.node(id).kind
    }

    /// How many messages there are.
    pub(super) fn messages(&self) -> usize {
        self.blocks.iter().filter(|id| self.part(**id) == Part::MessageStart).count()
    }

    /// The canonical bytes of a node.
    pub(crate) fn text(&self, id: WireNodeId) -> &'a str {
        let bytes = self.tree.node(id).bytes.as_deref().unwrap_or_default();
        // Canonical bytes are made from text.
        std::str::from_utf8(bytes).unwrap_or_default()
    }

    /// The texts of several nodes.
    pub(crate) fn texts(&self, ids: &[WireNodeId]) -> Vec<&'a str> {
        ids.iter().map(|id| self.text(*id)).collect()
    }

    /// How a person would name a node's place in the prompt.
    pub(crate) fn place(&self, id: WireNodeId) -> String {
        let position = |ids: &[WireNodeId]| ids.iter().position(|other| *other == id);
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

    /// The message that a block is in, and its place there.
    pub(super) fn message_of(&self, block: usize) -> (usize, usize) {
        let is_start = |id: &WireNodeId| self.part(*id) == Part::MessageStart;
        let upto = &self.blocks[..=block];
        let messages = upto.iter().filter(|id| is_start(id)).count();
        let start = upto.iter().rposition(is_start).unwrap_or(0);
        (messages.saturating_sub(1), block - start)
    }
}
