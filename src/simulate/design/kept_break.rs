//! Whether a break of the record would have happened under a design, too.

use super::blocks::BlockTree;
use crate::requests::prompt::NodeId;

/// Two requests of which the later one goes on from the earlier one.
pub(super) struct Pair {
    /// The last prefix that the earlier one marked.
    pub(super) marked: NodeId,
    /// The later prompt.
    pub(super) prompt: NodeId,
}

/// Whether bytes that differed as sent explain a break and a design has more of them in common. A break
/// where they did not differ is the service's, and no design prevents it; one that a design leaves
/// as it was happens again.
pub(super) fn prevents_break(tree: &BlockTree<'_>, sent: &Pair, designed: &Pair) -> bool {
    let shared = |pair: &Pair| tree.shared(pair.marked, pair.prompt);
    let as_sent = shared(sent);
    let blocks = |node: Option<NodeId>| node.map_or(0, |node| tree.nodes[node.index()].blocks);
    as_sent != Some(sent.marked) && blocks(shared(designed)) > blocks(as_sent)
}
