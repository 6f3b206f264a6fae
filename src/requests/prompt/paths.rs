//! Tree of prefixes cut into paths, so that operations on a whole prefix take few steps.
//!
//! Heavy-path decomposition: each node's path continues with the child that has the most descendants. From
//! any node to the root there are at most log₂(nodes) paths, however the conversations branch.

use super::{Node, NodeId};

/// Place in the tree: a path, and a depth below the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) path: u32,
    /// Number of nodes before this one on the way from the root.
    pub(crate) depth: u32,
}

/// Paths of a tree.
#[derive(Debug)]
pub(crate) struct Paths {
    places: Vec<Place>,
    /// For each path, the node before its first one.
    before: Vec<Option<NodeId>>,
    /// Nodes of each path, from the root down.
    nodes: Vec<Vec<NodeId>>,
}

impl Paths {
    /// Decomposes a tree whose parents come before their children.
    pub(crate) fn new(nodes: &[Node]) -> Self {
        let heavy = heavy_children(nodes);
        let mut places: Vec<Place> = Vec::with_capacity(nodes.len());
        let mut before = Vec::new();
        let mut on_path: Vec<Vec<NodeId>> = Vec::new();
        for (index, node) in nodes.iter().enumerate() {
            let depth = node.parent.map_or(0, |parent| places[parent.index()].depth + 1);
            let continued =
                node.parent.filter(|parent| heavy[parent.index()] == Some(NodeId::at(index)));
            let path = continued.map_or_else(
                || {
                    before.push(node.parent);
                    on_path.push(Vec::new());
                    u32::try_from(before.len() - 1).expect("fewer than 2^32 nodes")
                },
                |parent| places[parent.index()].path,
            );
            on_path[path as usize].push(NodeId::at(index));
            places.push(Place { path, depth });
        }
        Self { places, before, nodes: on_path }
    }

    /// Place of a node.
    pub(crate) fn place(&self, node: NodeId) -> Place {
        self.places[node.index()]
    }

    /// Longest prefix that two nodes share (lowest common ancestor).
    pub(crate) fn common(&self, one: NodeId, other: NodeId) -> Option<NodeId> {
        let others: Vec<Place> = self.pieces(other).collect();
        // Depths decrease from piece to piece, so the first common path is the deepest one.
        self.pieces(one).find_map(|piece| {
            let met = others.iter().find(|other| other.path == piece.path)?;
            self.at(Place { depth: piece.depth.min(met.depth), ..piece })
        })
    }

    /// Last node on the way from the root to this one that satisfies `holds` (binary search).
    ///
    /// `holds` must be true for a prefix of the way and for nothing after it.
    pub(crate) fn last_on_the_way(
        &self,
        node: NodeId,
        holds: impl Fn(NodeId) -> bool,
    ) -> Option<NodeId> {
        self.pieces(node).find_map(|piece| {
            let nodes = &self.nodes[piece.path as usize];
            let first_depth = self.place(nodes[0]).depth;
            let nodes = &nodes[..=(piece.depth - first_depth) as usize];
            // `holds` is true for a prefix of the way, so the first path with any such node decides.
            let count = nodes.partition_point(|node| holds(*node));
            count.checked_sub(1).map(|last| nodes[last])
        })
    }

    fn at(&self, place: Place) -> Option<NodeId> {
        let nodes = &self.nodes[place.path as usize];
        let first_depth = self.place(*nodes.first()?).depth;
        nodes.get(place.depth.checked_sub(first_depth)? as usize).copied()
    }

    /// Pieces of paths from a node to the root, each with the depth that the prefix reaches on it.
    pub(crate) fn pieces(&self, node: NodeId) -> impl Iterator<Item = Place> + '_ {
        self.ends(node).map(|(_, piece)| piece)
    }

    /// The same pieces, each with its last node.
    pub(crate) fn ends(&self, node: NodeId) -> impl Iterator<Item = (NodeId, Place)> + '_ {
        let with_place = |node| (node, self.place(node));
        std::iter::successors(Some(with_place(node)), move |(_, piece)| {
            self.before[piece.path as usize].map(with_place)
        })
    }
}

/// For each node, the child with the most descendants, the first one of equals.
fn heavy_children(nodes: &[Node]) -> Vec<Option<NodeId>> {
    let mut sizes = vec![1_u32; nodes.len()];
    let mut heavy: Vec<Option<NodeId>> = vec![None; nodes.len()];
    // Children come after their parents, so the reverse order sums up whole subtrees in one pass.
    for (index, node) in nodes.iter().enumerate().rev() {
        let Some(parent) = node.parent else { continue };
        sizes[parent.index()] += sizes[index];
        let is_heaviest =
            heavy[parent.index()].is_none_or(|other| sizes[index] >= sizes[other.index()]);
        if is_heaviest {
            heavy[parent.index()] = Some(NodeId::at(index));
        }
    }
    heavy
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Tokens;

    fn tree(parents: &[Option<usize>]) -> Vec<Node> {
        let node = |parent: &Option<usize>| Node::new(parent.map(NodeId::at), Tokens::ZERO);
        parents.iter().map(node).collect()
    }

    #[test]
    fn a_conversation_with_a_short_branch_is_one_path() {
        // 0 ─ 1 ─ 2 ─ 4
        //      └─ 3
        let paths = Paths::new(&tree(&[None, Some(0), Some(1), Some(1), Some(2)]));
        let pieces: Vec<_> = paths.pieces(NodeId::at(4)).collect();
        assert_eq!(pieces, [Place { path: 0, depth: 3 }]);
        let pieces: Vec<_> = paths.pieces(NodeId::at(3)).collect();
        assert_eq!(pieces, [Place { path: 1, depth: 2 }, Place { path: 0, depth: 1 }]);
    }

    #[test]
    fn branches_have_what_lies_before_them_in_common() {
        // 0 ─ 1 ─ 2 ─ 4
        //      └─ 3        5
        let paths = Paths::new(&tree(&[None, Some(0), Some(1), Some(1), Some(2), None]));
        assert_eq!(paths.common(NodeId::at(3), NodeId::at(4)), Some(NodeId::at(1)));
        assert_eq!(paths.common(NodeId::at(2), NodeId::at(4)), Some(NodeId::at(2)));
        assert_eq!(paths.common(NodeId::at(3), NodeId::at(3)), Some(NodeId::at(3)));
        assert_eq!(paths.common(NodeId::at(5), NodeId::at(4)), None);
        let up_to = |last: usize| paths.last_on_the_way(NodeId::at(3), |node| node.index() <= last);
        assert_eq!(up_to(0), Some(NodeId::at(0)));
        assert_eq!(up_to(2), Some(NodeId::at(1)));
        assert_eq!(up_to(3), Some(NodeId::at(3)));
    }

    #[test]
    fn a_comb_has_few_pieces_to_the_root() {
        // Every node has a dead end as its first child and goes on with its second.
        let mut parents = vec![None];
        for step in 0..500 {
            parents.push(Some(step * 2));
            parents.push(Some(step * 2));
        }
        let paths = Paths::new(&tree(&parents));
        assert!(paths.pieces(NodeId::at(1_000)).count() <= 10);
    }
}
