//! Counting of prefixes by a service, and conversion of a trace to its counts.
//!
//! Sizes of a trace are in the tokens of the model that answered. Another service has another
//! vocabulary, stores only whole steps, and has no markers, beta features or edits of the context
//! as Claude's prompts do. [`counted`] converts a trace to that service's view, to which the same
//! rules of markers apply.

use super::TokenRatio;
use crate::base::{Basis, Tokens};
use crate::requests::prompt::{
    BackgroundWrite, Counting, Marker, Node, NodeId, Prompt, PromptTrace, Rare,
};

/// Converts a trace to a service's counts: ends of prefixes in its tokens and whole steps, its
/// minimum, and every block fit for a marker.
///
/// Recorded markers stay, as their requests know the sizes best; a layout replaces them. `ratio`
/// converts the tokens of a prompt's model.
///
/// Models with different ratios get trees of their own. They share no cache anyway.
pub fn counted(
    trace: &PromptTrace,
    counting: &Counting,
    ratio: impl Fn(&Prompt) -> TokenRatio,
) -> PromptTrace {
    let mut ratios: Vec<TokenRatio> = Vec::new();
    let mut tree_of: Vec<usize> = Vec::with_capacity(trace.prompts.len());
    for prompt in &trace.prompts {
        let own = ratio(prompt);
        // Linear search: a trace has as many ratios as vocabularies, which are few.
        let known = ratios.iter().position(|known| *known == own);
        tree_of.push(known.unwrap_or_else(|| {
            ratios.push(own);
            ratios.len() - 1
        }));
    }
    let trees: Vec<Tree> = ratios
        .into_iter()
        .enumerate()
        .map(|(number, ratio)| Tree { counting, ratio, first: number * trace.nodes.len() })
        .collect();
    let nodes = trees.iter().flat_map(|tree| trace.nodes.iter().map(|node| tree.node(node)));
    let nodes: Vec<Node> = nodes.collect();
    let mut markers: Vec<Marker> = Vec::with_capacity(trace.markers.len());
    let prompts = trace.prompts.iter().zip(&tree_of).map(|(prompt, tree)| {
        let tree = &trees[*tree];
        let first = markers.len();
        markers.extend(trace.markers_of(prompt).iter().map(|marker| tree.marker(marker)));
        Prompt { markers: first..markers.len(), ..tree.prompt(prompt) }
    });
    let prompts: Vec<Prompt> = prompts.collect();
    PromptTrace::new(nodes, markers, prompts).counted_by(*counting)
}

/// Marks every prompt at its end only.
pub(super) fn mark_ends(trace: &mut PromptTrace) {
    let ends: Vec<Marker> = trace
        .prompts
        .iter()
        .map(|prompt| {
            let own = trace.markers_of(prompt).iter().find(|marker| marker.node == prompt.node);
            own.copied().unwrap_or_else(|| at_end(prompt.node, trace.node(prompt.node)))
        })
        .collect();
    trace.markers = ends;
    for (place, prompt) in trace.prompts.iter_mut().enumerate() {
        prompt.markers = place..place + 1;
    }
}

/// Marker at the end of a prompt.
fn at_end(node: NodeId, place: &Node) -> Marker {
    Marker {
        node,
        end: place.end,
        basis: place.basis,
        ttl: None,
        is_global: false,
        is_automatic: false,
        is_markable: true,
    }
}

/// Tree of the models with one ratio.
struct Tree<'a> {
    counting: &'a Counting,
    ratio: TokenRatio,
    /// Index of the tree's first node.
    first: usize,
}

impl Tree<'_> {
    fn moved(&self, node: NodeId) -> NodeId {
        NodeId::at(self.first + node.index())
    }

    fn end(&self, end: Tokens) -> Tokens {
        self.counting.whole(self.ratio.of(end.saturating_sub(self.counting.tail)))
    }

    fn stored(&self, tokens: Tokens) -> Tokens {
        self.counting.stored(self.ratio.of(tokens))
    }

    fn basis(&self, basis: Basis) -> Basis {
        if self.ratio == TokenRatio::ONE { basis } else { Basis::Estimated }
    }

    fn node(&self, node: &Node) -> Node {
        Node {
            parent: node.parent.map(|parent| self.moved(parent)),
            end: self.end(node.end),
            basis: self.basis(node.basis),
            is_markable: true,
            ..*node
        }
    }

    fn marker(&self, marker: &Marker) -> Marker {
        Marker {
            node: self.moved(marker.node),
            end: self.end(marker.end),
            basis: self.basis(marker.basis),
            is_global: false,
            is_automatic: false,
            is_markable: true,
            ..*marker
        }
    }

    fn prompt(&self, prompt: &Prompt) -> Prompt {
        let moved =
            |write: BackgroundWrite| BackgroundWrite { node: self.moved(write.node), ..write };
        let rare = Rare {
            background: prompt.background().map(moved),
            opening: prompt.opening().map(|opening| self.stored(opening)),
            broken_read: prompt.broken_read().map(|broken| self.stored(broken)),
            ..Rare::default()
        };
        Prompt {
            // Beta features and deleted results are Anthropic's; no other service counts them.
            betas: None,
            total: self.ratio.of(prompt.total),
            deleted: Tokens::ZERO,
            basis: self.basis(prompt.basis),
            minimum: self.counting.minimum,
            node: self.moved(prompt.node),
            system_prefix: self.stored(prompt.system_prefix),
            shared_prefix: self.stored(prompt.shared_prefix),
            shared_prefix_basis: self.basis(prompt.shared_prefix_basis),
            rare: rare.kept(),
            ..prompt.clone()
        }
    }
}
