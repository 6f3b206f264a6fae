//! Return of an earlier prompt in a later one that is not its continuation byte for byte: a step that was altered
//! on its way back, or blocks behind a setting that changed. A side query, a rewound message and another
//! conversation do not come back.

use std::num::NonZeroU64;

use rustc_hash::FxHashSet;

use crate::read::capture::{Part, WireNode, WireNodeId, WireTree};

/// Returns true if something of the earlier prompt comes back after the first difference of both, or if a longer
/// conversation has an edited block, or another one behind blocks of the same message.
pub(crate) fn comes_back(tree: &WireTree, before: WireNodeId, after: WireNodeId) -> bool {
    let shared = tree.shared(before, after);
    let behind = |leaf: WireNodeId| -> Vec<&WireNode> {
        let path = tree.path(leaf).take_while(|node| Some(*node) != shared);
        path.map(|id| tree.node(id)).collect()
    };
    // Both lists lead from the end to the shared prefix.
    let (old, new) = (behind(before), behind(after));
    let Some((first, rest)) = old.split_last() else { return true };
    let sent: FxHashSet<u64> =
        new.iter().filter(|node| node.part.is_block()).map(|node| node.sketch.bytes()).collect();
    let calls: FxHashSet<NonZeroU64> = new.iter().filter_map(|node| node.sketch.call()).collect();
    let returns = |node: &WireNode| node.part.is_block() && sent.contains(&node.sketch.bytes());
    let is_called = |node: &&WireNode| node.sketch.call().is_some_and(|call| calls.contains(&call));
    if rest.iter().any(|node| returns(node)) || old.iter().any(is_called) {
        return true;
    }
    let messages =
        |nodes: &[&WireNode]| nodes.iter().filter(|node| node.part == Part::MessageStart).count();
    let is_edited = || new.last().is_some_and(|other| first.sketch.is_alike(other.sketch));
    first.part.is_message()
        && messages(&new) > messages(&old)
        && (first.part == Part::Block || returns(first) || is_edited())
}
