//! Deferred tools.
//!
//! Their definitions are outside of the prefix until they are searched for, and from then on in the
//! conversation, before the first answer that calls them.

use rustc_hash::{FxHashMap, FxHashSet};

use super::blocks::{Contents, PromptBlock};
use super::layout::Layout;
use super::{Deferral, Deferred};
use crate::base::Tokens;
use crate::read::capture::{BlockKind, Part, WireNodeId, WireTree};
use crate::read::harness::tool_rank;

/// Placeholder of the deferred definitions; its bytes never change.
const SEARCH_TOOL: &[u8] = b"the tool that searches, and the names of those that are deferred";

/// Deferred tool, identified by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ToolId(usize);

/// Definitions in the conversation before an answer.
#[derive(Clone, Debug)]
pub(super) struct Expansion {
    /// Index of the last definition among the blocks of the design.
    pub(super) place: usize,
    /// Tools that the definitions describe.
    pub(super) tools: Vec<ToolId>,
}

/// Blocks that define or call deferred tools.
pub(super) struct DeferredTools {
    search: Tokens,
    of_nodes: FxHashMap<WireNodeId, ToolId>,
}

impl DeferredTools {
    /// Finds the deferred tools of a tree.
    pub(super) fn of(tree: &WireTree, deferral: Deferral) -> Self {
        let mut names = FxHashMap::default();
        let mut of_nodes = FxHashMap::default();
        for (id, node) in (0..).map(WireNodeId).zip(&tree.nodes) {
            if node.part != Part::Tool {
                continue;
            }
            let (is_mcp, name) = tool_rank(node.text());
            if is_mcp || deferral.tools == Deferred::All {
                let next = ToolId(names.len());
                of_nodes.insert(id, *names.entry(name).or_insert(next));
            }
        }
        // In a second pass, as calls may have lower ids than a definition that was first sent later.
        for (id, node) in (0..).map(WireNodeId).zip(&tree.nodes) {
            if node.kind == BlockKind::ToolUse {
                let (_, name) = tool_rank(node.text());
                of_nodes.extend(names.get(&name).map(|tool| (id, *tool)));
            }
        }
        Self { search: deferral.search, of_nodes }
    }

    /// Takes the deferred definitions out of a prompt, and inserts the ones that its messages call for.
    pub(super) fn defer<'a>(
        &self,
        tree: &'a WireTree,
        contents: &mut Contents<'a>,
        layout: &mut Layout,
    ) {
        let part = |block: &PromptBlock| tree.node(block.source).part;
        let mut definitions: FxHashMap<ToolId, PromptBlock> = FxHashMap::default();
        for block in layout.blocks.iter().filter(|block| part(block) == Part::Tool) {
            if let Some(tool) = self.of_nodes.get(&block.source) {
                let bytes = tree.node(block.source).bytes.as_deref().unwrap_or_default();
                let content = contents.of_block(Part::Block, bytes);
                definitions.entry(*tool).or_insert(PromptBlock {
                    content,
                    part: Part::Block,
                    ..*block
                });
            }
        }
        // A prompt without deferred tools needs no search tool.
        let Some(any) = definitions.values().next() else { return };
        let search = PromptBlock {
            content: contents.of_block(Part::Tool, SEARCH_TOOL),
            part: Part::Tool,
            size: Some(self.search),
            ..*any
        };
        let mut blocks: Vec<PromptBlock> = Vec::with_capacity(layout.blocks.len() + 1);
        // New place of each block. A removed definition has the place of the block after it.
        let mut places: Vec<usize> = Vec::with_capacity(layout.blocks.len());
        let mut has_search = false;
        for (place, block) in layout.blocks.iter().enumerate() {
            let part = part(block);
            // The search tool comes after the other tools, so that they stay in the prefix as they were.
            if !has_search && !matches!(part, Part::Model | Part::Tool) {
                has_search = true;
                blocks.push(search);
            }
            if part == Part::MessageStart {
                let called = self.called_in_message(tree, &layout.blocks[place..]);
                let tools: Vec<ToolId> =
                    called.into_iter().filter(|tool| definitions.contains_key(tool)).collect();
                blocks.extend(tools.iter().filter_map(|tool| definitions.remove(tool)));
                if !tools.is_empty() {
                    layout.expansions.push(Expansion { place: blocks.len() - 1, tools });
                }
            }
            places.push(blocks.len());
            if part != Part::Tool || !self.of_nodes.contains_key(&block.source) {
                blocks.push(*block);
            }
        }
        for marker in &mut layout.markers {
            marker.designed = places[marker.designed];
        }
        // The range of an empty system prompt stays as it is.
        if let Some(last) = layout.system.clone().last() {
            layout.system = places[layout.system.start]..places[last] + 1;
        }
        layout.blocks = blocks;
    }

    /// Deferred tools that a message calls, each once; the message begins with the first block.
    fn called_in_message(&self, tree: &WireTree, blocks: &[PromptBlock]) -> Vec<ToolId> {
        let rest = blocks.iter().skip(1);
        let rest = rest.take_while(|block| tree.node(block.source).part != Part::MessageStart);
        let of_message = blocks.first().into_iter().chain(rest);
        let mut known = FxHashSet::default();
        of_message
            .filter_map(|block| self.of_nodes.get(&block.source).copied())
            .filter(|tool| known.insert(*tool))
            .collect()
    }
}
