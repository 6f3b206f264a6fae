//! Ascent in a tree of prefixes to the highest one of at least a given size.
//!
//! Sizes come from different requests, so they need not fall towards the root, and thousands of
//! prefixes on a path may all be as long. A jump pointer from each node over many others, with the
//! least size among them, makes the ascent logarithmic (the skew-binary jumps of Myers, 1983).

use crate::base::Tokens;
use crate::requests::prompt::{Node, NodeId};

/// Jump pointer of a node.
#[derive(Clone, Copy, Debug)]
struct Jump {
    to: NodeId,
    /// Least size of the nodes that the jump passes, including its target.
    least: Tokens,
    /// Number of nodes that the jump passes.
    length: u32,
}

/// Jump pointer of each node towards the root; a root has none.
#[derive(Debug)]
pub(super) struct Ascent<'a> {
    nodes: &'a [Node],
    jumps: Vec<Option<Jump>>,
}

impl<'a> Ascent<'a> {
    /// Builds the jumps of a tree whose parents come before their children.
    pub(super) fn new(nodes: &'a [Node]) -> Self {
        let mut jumps: Vec<Option<Jump>> = Vec::with_capacity(nodes.len());
        for node in nodes {
            let jump = node.parent.map(|parent| {
                let step = Jump { to: parent, least: nodes[parent.index()].end, length: 1 };
                let first = jumps[parent.index()];
                let second = first.and_then(|first| jumps[first.to.index()]);
                match (first, second) {
                    // Two jumps of one length become one.
                    (Some(first), Some(second)) if first.length == second.length => Jump {
                        to: second.to,
                        least: step.least.min(first.least).min(second.least),
                        length: 1 + first.length + second.length,
                    },
                    _ => step,
                }
            });
            jumps.push(jump);
        }
        Self { nodes, jumps }
    }

    /// Highest node that is reached from this one by parents of at least this size; the node itself
    /// if its parent is shorter.
    pub(super) fn highest(&self, node: NodeId, least: Tokens) -> NodeId {
        self.way(node, least).last().unwrap_or(node)
    }

    /// Nodes on which the ascent rests.
    fn way(&self, node: NodeId, least: Tokens) -> impl Iterator<Item = NodeId> {
        std::iter::successors(Some(node), move |node| {
            let far = self.jumps[node.index()].filter(|jump| jump.least >= least);
            let near = || {
                let parent = self.nodes[node.index()].parent;
                parent.filter(|parent| self.nodes[parent.index()].end >= least)
            };
            far.map(|jump| jump.to).or_else(near)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tree(nodes: impl IntoIterator<Item = (Option<usize>, u64)>) -> Vec<Node> {
        let node =
            |(parent, end): (Option<usize>, u64)| Node::new(parent.map(NodeId::at), Tokens(end));
        nodes.into_iter().map(node).collect()
    }

    /// Reference: one parent after the other.
    fn step_by_step(nodes: &[Node], node: NodeId, least: Tokens) -> NodeId {
        let mut highest = node;
        while let Some(parent) =
            nodes[highest.index()].parent.filter(|parent| nodes[parent.index()].end >= least)
        {
            highest = parent;
        }
        highest
    }

    proptest! {
        #[test]
        fn jumps_lead_where_steps_lead(
            drawn in prop::collection::vec((0_usize..4, any::<prop::sample::Index>(), 0_u64..8), 1..80),
        ) {
            // A quarter of the nodes branch off anywhere, few are roots, sizes rise and fall.
            let nodes = tree(drawn.iter().enumerate().map(|(place, (kind, any, end))| {
                let parent = match kind {
                    _ if place == 0 => None,
                    0 => Some(any.index(place + 1)).filter(|parent| *parent < place),
                    _ => Some(place - 1),
                };
                (parent, *end)
            }));
            let ascent = Ascent::new(&nodes);
            for node in (0..nodes.len()).map(NodeId::at) {
                for least in (0..=8).map(Tokens) {
                    prop_assert_eq!(ascent.highest(node, least), step_by_step(&nodes, node, least));
                }
            }
        }
    }

    #[test]
    fn a_long_way_takes_few_steps() {
        // 100,000 prefixes one after the other, each longer than the one before it.
        let nodes =
            tree((0_usize..100_000).zip(0..).map(|(place, end)| (place.checked_sub(1), end)));
        let ascent = Ascent::new(&nodes);
        // An ascent rests on at most three nodes for each binary digit of its start (Myers, 1983),
        // wherever it ends.
        let sizes = || (0..100_000).step_by(9_973);
        for (node, least) in
            (0..nodes.len()).step_by(97).flat_map(|node| sizes().map(move |least| (node, least)))
        {
            let steps = ascent.way(NodeId::at(node), Tokens(least)).count();
            assert!(steps <= 3 * 17, "{node} {least}: {steps}");
        }
        let highest =
            |node: usize, least: u64| ascent.highest(NodeId::at(node), Tokens(least)).index();
        assert_eq!(highest(99_999, 0), 0);
        assert_eq!(highest(99_999, 54_321), 54_321);
        assert_eq!(highest(99_999, 99_999), 99_999);
        assert_eq!(highest(50_000, 99_999), 50_000);
    }
}
