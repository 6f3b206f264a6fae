//! Prompts as paths through a tree of prefixes.
//!
//! A node is the end of a prefix: of a block if its bytes are known, otherwise of the part of a prompt that a
//! request had cached. Requests of a conversation, forks, and sessions with equal bytes share nodes, so that
//! memory grows with new content, not with requests times history.
//!
//! A [`Prompt`] carries only the part of its own recorded usage that a simulation may know: the total, the
//! TTLs of its markers, and, for the first request of a chain or after a change of model, the read that shows
//! the prefix that was already warm. It does not have its split into read, written and input.

use std::num::NonZeroU32;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::Landmarks;
use super::counting::Counting;
use super::paths::Paths;
use super::split::SplitTrace;
use crate::base::{Basis, Millis, Refusal, Symbol, Tokens, Ttl};

/// Number of positions that a marker looks back for an entry, including its own.
pub const LOOKBACK: u32 = 20;

/// Id of a node in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(NonZeroU32);

impl NodeId {
    /// Id of the node at a position in [`PromptTrace::nodes`].
    ///
    /// # Panics
    /// Never in practice: a trace would need 2³² nodes.
    pub fn at(index: usize) -> Self {
        let number = u32::try_from(index + 1).ok().and_then(NonZeroU32::new);
        Self(number.expect("fewer than 2^32 nodes"))
    }

    /// Position of the node in [`PromptTrace::nodes`].
    pub fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// Part of a prompt that a node belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Tools and system prompt.
    System,
    /// Messages of the conversation.
    Messages,
}

/// End of a prefix.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// Prefix that this one extends, always an earlier node.
    pub parent: Option<NodeId>,
    /// Size of the whole prefix in tokens. A request with its own marker here knows the size better.
    pub end: Tokens,
    /// Basis of the size.
    pub basis: Basis,
    /// Number of positions in the prefix. Every block is one, and a run of tool calls or of tool results
    /// together is one.
    pub positions: u32,
    /// Number of blocks in the prefix.
    pub blocks: u32,
    /// Part of the prompt in which the prefix ends.
    pub level: Level,
    /// True if a marker may be placed at the end of the prefix.
    pub is_markable: bool,
    /// Session that wrote the prefix, if sessions may be kept apart.
    pub session: Option<Symbol>,
}

impl Node {
    /// Creates a prefix that ends in the conversation, without blocks and without other knowledge.
    pub fn new(parent: Option<NodeId>, end: Tokens) -> Self {
        Self {
            parent,
            end,
            basis: Basis::Derived,
            positions: 0,
            blocks: 0,
            level: Level::Messages,
            is_markable: true,
            session: None,
        }
    }
}

/// Marker (`cache_control`), as recorded or as a policy may place one.
#[derive(Clone, Copy, Debug)]
pub struct Marker {
    /// Prefix that the marker is placed on.
    pub node: NodeId,
    /// Size of that prefix in tokens, as this request knows it.
    pub end: Tokens,
    /// Basis of the size.
    pub basis: Basis,
    /// Recorded TTL, if any.
    pub ttl: Option<Ttl>,
    /// True for `scope: global`: all scopes share the marker's entries.
    pub is_global: bool,
    /// True if the marker belongs to the request (automatic caching) and not to a block.
    pub is_automatic: bool,
    /// True if the marker's block may carry a marker.
    pub is_markable: bool,
}

impl Marker {
    /// Marker of a block, without a TTL.
    pub fn new(node: NodeId, end: Tokens, basis: Basis) -> Self {
        Self {
            node,
            end,
            basis,
            ttl: None,
            is_global: false,
            is_automatic: false,
            is_markable: true,
        }
    }
}

/// Request that the client sent without recording it, and that extended the cached prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackgroundWrite {
    /// Prefix that the request wrote.
    pub node: NodeId,
    /// Time at which the request was sent.
    pub at: Millis,
    /// True if a line reports the request, or the next request's recorded read shows it.
    ///
    /// No simulation of the recorded lifetimes looks at this.
    pub was_seen: bool,
}

/// Context edits of a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edits {
    /// Deleted results, in the order of the prefix. If none are known, the deleted tokens come off whatever
    /// prefix is found.
    pub deletions: Vec<Deletion>,
    /// First result that the previous request had deleted and that is back. The entries cached after it lack
    /// it.
    pub restored: Option<NodeId>,
}

/// Result that the service deletes from a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deletion {
    /// Prefix that ends with the result.
    pub node: NodeId,
    /// Size of the result in tokens.
    pub tokens: Tokens,
}

/// Repair of a break: the request finds the prefix that its predecessor had cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Repair {
    /// Only if that prefix is still alive.
    Found,
    /// Even if that prefix has expired.
    KeptAlive,
}

/// Request, limited to the facts that a simulation may know.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// Start time of the request.
    pub start: Millis,
    /// Time at which the response began. Its writes can be read from then on.
    pub readable_from: Millis,
    /// Model of the request. Each model has its own caches.
    pub model: Symbol,
    /// Organisation or workspace whose cache the request uses.
    pub scope: Option<Symbol>,
    /// Number of the request's set of beta features, the same for equal sets, or `None` if it is unknown.
    pub betas: Option<u32>,
    /// Session of the request, if sessions may be kept apart.
    pub session: Option<Symbol>,
    /// Previous prompt of the conversation, as an index into [`PromptTrace::prompts`].
    pub predecessor: Option<usize>,
    /// True for a sub-agent's request.
    pub is_agent: bool,
    /// Size of the whole prompt in tokens.
    pub total: Tokens,
    /// Tokens that the service deletes from the prefixes before the prompt, by edits that change no byte
    /// (`cache_edits`).
    pub deleted: Tokens,
    /// Basis of the total.
    pub basis: Basis,
    /// Shortest prefix that the model caches, in tokens.
    pub minimum: Tokens,
    /// End of the prompt's prefix, or of its cached part.
    pub node: NodeId,
    /// Range of the prompt's markers in [`PromptTrace::markers`], in the order of the prefix.
    pub markers: Range<usize>,
    /// Size of tools and system prompt, which survive a rewritten conversation. Calibrated.
    pub system_prefix: Tokens,
    /// Tokens that other traffic keeps warm after all entries of the conversation have expired.
    pub shared_prefix: Tokens,
    /// Basis of the shared prefix's size.
    pub shared_prefix_basis: Basis,
    /// Fields that few prompts have, or `None` if the prompt has none of them.
    pub rare: Option<Box<Rare>>,
}

/// Fields that few prompts have, kept apart so that the others stay small.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rare {
    /// Places of the deleted tokens, if they are known.
    pub edits: Edits,
    /// Background request since the previous prompt.
    pub background: Option<BackgroundWrite>,
    /// Tokens that were warm when the chain began or changed its model. Measured.
    pub opening: Option<Tokens>,
    /// Tokens that were read at a break inside the TTL, for counterfactuals that keep it. Measured.
    pub broken_read: Option<Tokens>,
    /// Time beyond their TTL for which entries for five minutes are still found, in milliseconds.
    pub grace: i64,
    /// Repair by which the prompt finds its predecessor's cached prefix whatever was recorded, for
    /// counterfactuals that repair a break.
    pub repair: Option<Repair>,
    /// Reason for which the service refuses the request, whatever its markers.
    pub refusal: Option<Refusal>,
}

impl Rare {
    /// Boxes the fields, or drops them if all are empty.
    pub fn kept(self) -> Option<Box<Self>> {
        (self != Self::default()).then(|| Box::new(self))
    }
}

impl Prompt {
    /// Creates the first prompt of a main conversation, without markers, readable from its start on, and
    /// without other knowledge.
    pub fn new(model: Symbol, start: Millis, node: NodeId, total: Tokens) -> Self {
        Self {
            start,
            readable_from: start,
            model,
            scope: None,
            betas: None,
            session: None,
            predecessor: None,
            is_agent: false,
            total,
            deleted: Tokens::ZERO,
            basis: Basis::Derived,
            minimum: Tokens::ZERO,
            node,
            markers: 0..0,
            system_prefix: Tokens::ZERO,
            shared_prefix: Tokens::ZERO,
            shared_prefix_basis: Basis::Derived,
            rare: None,
        }
    }

    /// Background request since the previous prompt.
    pub fn background(&self) -> Option<BackgroundWrite> {
        self.rare.as_ref()?.background
    }

    /// Tokens that were warm when the chain began or changed its model. Measured.
    pub fn opening(&self) -> Option<Tokens> {
        self.rare.as_ref()?.opening
    }

    /// Tokens that were read at a break inside the TTL. Measured.
    pub fn broken_read(&self) -> Option<Tokens> {
        self.rare.as_ref()?.broken_read
    }

    /// Time beyond their TTL for which entries for five minutes are still found, in milliseconds.
    pub fn grace(&self) -> i64 {
        self.rare.as_ref().map_or(0, |rare| rare.grace)
    }

    /// Repair by which the prompt finds its predecessor's cached prefix whatever was recorded.
    pub fn repair(&self) -> Option<Repair> {
        self.rare.as_ref()?.repair
    }

    /// Reason for which the service refuses the request, whatever its markers.
    pub fn refusal(&self) -> Option<Refusal> {
        self.rare.as_ref()?.refusal
    }

    /// Places of the deleted tokens, if they are known.
    pub fn edits(&self) -> Option<&Edits> {
        Some(&self.rare.as_ref()?.edits)
    }

    /// Copy of the prompt's rare fields, empty if it has none.
    pub fn to_rare(&self) -> Rare {
        self.rare.as_deref().cloned().unwrap_or_default()
    }

    /// Rare fields that an added request continuing this one inherits: the edits.
    pub fn rare_of_next(&self) -> Option<Box<Rare>> {
        Rare { edits: self.edits()?.clone(), ..Rare::default() }.kept()
    }

    /// Changes the rare fields, if the prompt has any.
    pub fn change_rare(&mut self, change: impl FnOnce(&mut Rare)) {
        if let Some(rare) = &mut self.rare {
            change(rare);
        }
    }

    /// Returns true if deletions leave a prefix of this prompt to be found.
    pub fn may_find(&self, node: NodeId) -> bool {
        // Entries after the restored result were written without it, so they do not match.
        self.edits().and_then(|edits| edits.restored).is_none_or(|restored| node < restored)
    }

    /// Deleted tokens inside a prefix of this prompt.
    pub fn deleted_until(&self, node: NodeId) -> Tokens {
        let Some(edits) = self.edits().filter(|edits| !edits.deletions.is_empty()) else {
            return self.deleted;
        };
        // Ids rise along a path.
        let inside = edits.deletions.iter().filter(|deletion| deletion.node <= node);
        inside.map(|deletion| deletion.tokens).sum()
    }
}

/// All requests of a run against one cache, in the order in which they were sent.
#[derive(Clone, Debug, Default)]
pub struct PromptTrace {
    /// Tree of prefixes, with parents before their children.
    pub nodes: Vec<Node>,
    /// Markers of all prompts.
    pub markers: Vec<Marker>,
    /// Prompts, in the order of the history's requests.
    pub prompts: Vec<Prompt>,
    /// Service's way to count prefixes, if it is not token by token.
    counting: Option<Counting>,
    /// Landmarks of the blocks' bytes.
    landmarks: Landmarks,
    /// Paths of the tree, shared by copies, most of which differ only in their markers.
    paths: OnceLock<Arc<Paths>>,
    /// The same prompts over a tree split inside blocks, if that differs.
    split: OnceLock<Option<Arc<SplitTrace>>>,
}

impl PromptTrace {
    /// Creates a trace without counting, landmarks or computed paths.
    pub fn new(nodes: Vec<Node>, markers: Vec<Marker>, prompts: Vec<Prompt>) -> Self {
        Self { nodes, markers, prompts, ..Self::default() }
    }

    /// Sets the service's own way to count prefixes.
    #[must_use]
    pub fn counted_by(self, counting: Counting) -> Self {
        Self { counting: Some(counting), ..self }
    }

    /// Largest part of a prompt that can be cached, in tokens.
    #[inline]
    pub fn most_of(&self, prompt: &Prompt) -> Tokens {
        self.counting.map_or(prompt.total, |counting| counting.whole(prompt.total))
    }

    /// Trace of the first `count` prompts.
    #[must_use]
    pub fn first(&self, count: usize) -> Self {
        let prompts = self.prompts[..count].to_vec();
        // The tree and its paths stay valid; the split trace holds prompts of its own.
        Self { prompts, split: OnceLock::new(), ..self.clone() }
    }

    /// Sets the landmarks of the blocks' bytes.
    pub(crate) fn set_landmarks(&mut self, landmarks: Landmarks) {
        self.split.take();
        self.landmarks = landmarks;
    }

    /// Landmarks of the blocks' bytes.
    pub(crate) fn landmarks(&self) -> &Landmarks {
        &self.landmarks
    }

    /// The same prompts over a tree split inside blocks, computed once.
    ///
    /// `None` if no two blocks after one prefix are known to share a part.
    pub(crate) fn split(&self) -> Option<&SplitTrace> {
        self.split.get_or_init(|| SplitTrace::new(self, &self.landmarks).map(Arc::new)).as_deref()
    }

    /// Node with an id.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// Adds a node after all others. Its parent must exist.
    pub fn add_node(&mut self, node: Node) -> NodeId {
        // A copy brings along the paths of the tree, which are no longer valid.
        self.paths.take();
        self.split.take();
        self.nodes.push(node);
        NodeId::at(self.nodes.len() - 1)
    }

    /// For each node, the nearest markable one at or before it.
    pub fn nearest_markable(&self) -> Vec<Option<NodeId>> {
        let mut nearest: Vec<Option<NodeId>> = Vec::with_capacity(self.nodes.len());
        for (index, node) in self.nodes.iter().enumerate() {
            let before = node.parent.and_then(|parent| nearest[parent.index()]);
            nearest.push(if node.is_markable { Some(NodeId::at(index)) } else { before });
        }
        nearest
    }

    /// Markers of a prompt.
    pub fn markers_of(&self, prompt: &Prompt) -> &[Marker] {
        &self.markers[prompt.markers.clone()]
    }

    /// Size of a prefix in a prompt that does not mark it itself, in tokens.
    pub fn end_in(&self, prompt: &Prompt, node: NodeId) -> Tokens {
        self.node(node).end.saturating_sub(prompt.deleted_until(node)).min(self.most_of(prompt))
    }

    /// Node and all nodes before it, from its end to the root.
    pub fn path(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(Some(node), |node| self.node(*node).parent)
    }

    /// Longest prefix that two nodes share (lowest common ancestor).
    pub fn common(&self, one: NodeId, other: NodeId) -> Option<NodeId> {
        self.paths().common(one, other)
    }

    /// Longest prefix of a node that satisfies `holds`, which must be true for all prefixes before that one.
    pub fn last_on_the_way(&self, node: NodeId, holds: impl Fn(NodeId) -> bool) -> Option<NodeId> {
        self.paths().last_on_the_way(node, holds)
    }

    /// Longest prefix of a node with at most `blocks` blocks.
    pub fn ancestor_with_blocks(&self, node: NodeId, blocks: u32) -> Option<NodeId> {
        self.last_on_the_way(node, |node| self.node(node).blocks <= blocks)
    }

    /// Tree cut into long paths (heavy-path decomposition), computed once.
    pub(crate) fn paths(&self) -> &Paths {
        self.paths.get_or_init(|| Arc::new(Paths::new(&self.nodes)))
    }
}
