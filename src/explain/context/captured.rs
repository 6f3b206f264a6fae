//! Prompts of captured requests, whose blocks are known.

use rustc_hash::FxHashMap;

use super::segment::{ContextKind, Item, SegmentId, SegmentTree};
use crate::base::{Basis, Tokens};
use crate::read::capture::{BlockKind, Part, WireNode, WireNodeId};
use crate::requests::conversation::{History, RequestIndex};
use crate::requests::prompt::{NodeId, PromptTrace};

/// Builder of the prompts of a session's captured requests.
pub(super) struct CapturedPaths<'a> {
    history: &'a History,
    trace: &'a PromptTrace,
    /// First node of the trace that belongs to a capture.
    first_node: usize,
    /// Last segment of each prefix.
    last_of: FxHashMap<WireNodeId, Option<SegmentId>>,
}

impl<'a> CapturedPaths<'a> {
    pub(super) fn new(history: &'a History, trace: &'a PromptTrace) -> Self {
        let first_node = trace.nodes.len() - history.captured.tree.nodes.len();
        Self { history, trace, first_node, last_of: FxHashMap::default() }
    }

    /// Adds the prompt of a request with `total` tokens. Tokens after its last block are the
    /// service's own.
    pub(super) fn add(
        &mut self,
        tree: &mut SegmentTree,
        index: RequestIndex,
        total: Tokens,
    ) -> Option<SegmentId> {
        let captured = index.get() - self.history.of_transcripts().len();
        let leaf = self.history.captured.requests[captured].leaf;
        let last = self.prefix(tree, index, leaf);
        // Sizes of blocks may be estimates that exceed the recorded total.
        let last = tree.cut(last, total.0);
        let rest = total.0 - tree.end(last);
        if rest == 0 {
            return last;
        }
        let request = self.history.request(index);
        let (file, line) = (request.file, request.line);
        let item = tree.add_item(Item { kind: ContextKind::Unattributed, file, line });
        tree.add(last, item, Tokens(rest), Basis::Estimated)
    }

    /// Last segment of a prefix. Its new segments came in with this request.
    fn prefix(
        &mut self,
        tree: &mut SegmentTree,
        index: RequestIndex,
        leaf: WireNodeId,
    ) -> Option<SegmentId> {
        let wire = &self.history.captured.tree;
        let is_new = |id: &WireNodeId| !self.last_of.contains_key(id);
        let mut new: Vec<WireNodeId> = wire.path(leaf).take_while(is_new).collect();
        new.reverse();
        let first = new.first().copied();
        let known = first.map_or(Some(leaf), |first| wire.node(first).parent);
        let mut last = known.and_then(|known| self.last_of.get(&known).copied().flatten());
        let request = self.history.request(index);
        for id in new {
            let node = self.trace.node(NodeId::at(self.first_node + id.0 as usize));
            let tokens = node.end.saturating_sub(Tokens(tree.end(last)));
            if tokens > Tokens::ZERO {
                let kind = kind(wire.node(id));
                let item = tree.add_item(Item { kind, file: request.file, line: request.line });
                last = tree.add(last, item, tokens, node.basis);
            }
            self.last_of.insert(id, last);
        }
        last
    }
}

fn kind(node: &WireNode) -> ContextKind {
    match node.part {
        Part::Tool => ContextKind::Tools,
        Part::Model | Part::SystemSettings | Part::System | Part::MessageSettings => {
            ContextKind::SystemPrompt
        }
        Part::MessageStart | Part::Block => match node.kind {
            BlockKind::ToolUse | BlockKind::Thinking | BlockKind::Answer => ContextKind::Answers,
            BlockKind::ToolResult => ContextKind::ToolResults(None),
            BlockKind::Media => ContextKind::Media,
            BlockKind::Tool | BlockKind::Other => ContextKind::UserText,
        },
    }
}
