//! The attribution line with which each session began.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::base::id::Symbol;
use crate::read::capture::{Part, WireNodeId, WireTree};
use crate::requests::conversation::History;
use crate::requests::difference::begins_with_attribution;

/// The blocks that begin with the line, and the first one of each session.
#[derive(Default)]
pub(super) struct Attributions {
    blocks: FxHashSet<WireNodeId>,
    first: FxHashMap<Symbol, WireNodeId>,
}

impl Attributions {
    /// Those of all captured requests.
    pub(super) fn of(history: &History) -> Self {
        let tree = &history.captured.tree;
        let blocks: FxHashSet<WireNodeId> = (0..)
            .map(WireNodeId)
            .take(tree.nodes.len())
            .filter(|id| is_attribution(tree, *id))
            .collect();
        let mut first = FxHashMap::default();
        if !blocks.is_empty() {
            let sent = &history.requests[history.of_transcripts().len()..];
            for (request, wire) in sent.iter().zip(&history.captured.requests) {
                if first.contains_key(&request.session) {
                    continue;
                }
                // The one in front where there are several.
                if let Some(block) = tree.path(wire.leaf).filter(|id| blocks.contains(id)).last() {
                    first.insert(request.session, block);
                }
            }
        }
        Self { blocks, first }
    }

    /// What stands in a session in the place of a block as sent.
    pub(super) fn instead_of(&self, block: WireNodeId, session: Symbol) -> WireNodeId {
        let first = self.first.get(&session).filter(|_| self.blocks.contains(&block));
        first.copied().unwrap_or(block)
    }
}

fn is_attribution(tree: &WireTree, id: WireNodeId) -> bool {
    let node = tree.node(id);
    node.part == Part::System && begins_with_attribution(node.text())
}
