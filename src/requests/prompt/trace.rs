//! Prompts as paths through a tree of prefixes.
//!
//! A node is the end of a prefix: of a block where the bytes are known, else of what a request had
//! cached. Requests of a conversation, forks, and sessions with equal bytes share nodes. So memory
//! grows with new content, not with requests times history.
//!
//! A [`Prompt`] carries of its own recorded usage only what a simulation may know: the total, the
//! TTLs of its markers, and, for the first request of a chain or after a change of model, the read
//! that shows what was already warm. It does not have its split into read, written and input.

use std::num::NonZeroU32;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::counting::Counting;
use super::paths::Paths;
use super::split::{Landmarks, SplitTrace};
use crate::base::id::Symbol;
use crate::base::ttl::Ttl;
use crate::base::units::{Basis, Millis, Tokens};

/// How many positions a marker looks back for an entry, including its own.
pub const LOOKBACK: u32 = 20;

/// A node of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(NonZeroU32);

impl NodeId {
    /// The node at a position in [`PromptTrace::nodes`].
    ///
    /// # Panics
    /// Never in practice: a trace would need 2³² nodes.
    #[must_use]
    pub fn at(index: usize) -> Self {
        let number = u32::try_from(index + 1).ok().and_then(NonZeroU32::new);
        Self(number.expect("fewer than 2^32 nodes"))
    }

    /// Its position in [`PromptTrace::nodes`].
    #[must_use]
    pub fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// The part of a prompt that a node belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Tools and system prompt.
    System,
    /// The conversation.
    Messages,
}

/// The end of a prefix.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// The prefix that this one extends, always an earlier node.
    pub parent: Option<NodeId>,
    /// The size of the whole prefix. A request with its own marker here knows the size better.
    pub end: Tokens,
    /// What the size is based on.
    pub basis: Basis,
    /// How many positions the prefix has. Every block is one, and a run of tool calls or of tool
    /// results together is one.
    pub positions: u32,
    /// How many blocks the prefix has.
    pub blocks: u32,
    /// Where the prefix ends.
    pub level: Level,
    /// Whether a marker may stand at its end.
    pub is_markable: bool,
    /// The session that wrote it, where sessions may be kept apart.
    pub session: Option<Symbol>,
}

impl Node {
    /// A prefix that ends in the conversation, without blocks, and with nothing else known of it.
    #[must_use]
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

/// A marker (`cache_control`), as recorded or as a policy may place one.
#[derive(Clone, Copy, Debug)]
pub struct Marker {
    /// The prefix that it marks.
    pub node: NodeId,
    /// The size of that prefix as this request knows it.
    pub end: Tokens,
    /// What the size is based on.
    pub basis: Basis,
    /// Its recorded TTL, if any.
    pub ttl: Option<Ttl>,
    /// Whether it has `scope: global`, so that all scopes share its entries.
    pub is_global: bool,
    /// Whether it belongs to the request (automatic caching) and not to a block.
    pub is_automatic: bool,
    /// Whether its block may carry a marker.
    pub is_markable: bool,
}

/// A request that the client sent without recording it, and that extended the cached prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackgroundWrite {
    /// The prefix it wrote.
    pub node: NodeId,
    /// When it was sent.
    pub at: Millis,
    /// Whether a line tells of it, or the next request's recorded read. No simulation of the recorded
    /// lifetimes looks at this.
    pub was_seen: bool,
}

/// What is known of the context edits of a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edits {
    /// The deleted results, in the order of the prefix. Where none are known, the deleted tokens
    /// come off whatever prefix is found.
    pub deletions: Vec<Deletion>,
    /// The first result that the previous request had deleted and that is back. What was cached
    /// after it lacks it.
    pub restored: Option<NodeId>,
}

/// A result that the service deletes from a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deletion {
    /// The prefix that ends with it.
    pub node: NodeId,
    /// Its size.
    pub tokens: Tokens,
}

/// How a break is repaired: the request finds what its predecessor had cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Repair {
    /// If that is still alive.
    Found,
    /// Even where it has expired.
    KeptAlive,
}

/// One request, as far as a simulation may know it.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// When it was sent.
    pub start: Millis,
    /// When its response began. Its writes can be read from then on.
    pub readable_from: Millis,
    /// The model. Each has its own caches.
    pub model: Symbol,
    /// The organisation or workspace whose cache it uses.
    pub scope: Option<Symbol>,
    /// The number of its set of beta features, the same for equal sets. `None` where it is unknown.
    pub betas: Option<u32>,
    /// The session it belongs to, where sessions may be kept apart.
    pub session: Option<Symbol>,
    /// The previous prompt of its conversation, as an index into [`PromptTrace::prompts`].
    pub predecessor: Option<usize>,
    /// Whether it is a sub-agent's.
    pub is_agent: bool,
    /// The size of the whole prompt.
    pub total: Tokens,
    /// What the service deletes from the prefixes before it, by edits that change no byte
    /// (`cache_edits`).
    pub deleted: Tokens,
    /// What the total is based on.
    pub basis: Basis,
    /// The shortest prefix that its model caches.
    pub minimum: Tokens,
    /// The end of its prefix, or of the part of it that is cached.
    pub node: NodeId,
    /// Its markers in [`PromptTrace::markers`], in the order of the prefix.
    pub markers: Range<usize>,
    /// The size of tools and system prompt, which survive a rewritten conversation. Calibrated.
    pub system_prefix: Tokens,
    /// What other traffic keeps warm after all its own entries have expired.
    pub shared_prefix: Tokens,
    /// What that size is based on.
    pub shared_prefix_basis: Basis,
    /// What few prompts have, or `None` where it has nothing of it.
    pub rare: Option<Box<Rare>>,
}

/// What few prompts have, kept apart so that the others stay small.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rare {
    /// Where the deleted tokens stood, where that is known.
    pub edits: Edits,
    /// A background request since the previous prompt.
    pub background: Option<BackgroundWrite>,
    /// What was warm when its chain began or changed its model. Measured.
    pub opening: Option<Tokens>,
    /// What was read at a break inside the TTL, for counterfactuals that keep it. Measured.
    pub broken_read: Option<Tokens>,
    /// How much longer than their TTL it finds entries for five minutes, in milliseconds.
    pub grace: i64,
    /// Whether the prompt finds what its predecessor had cached whatever was recorded, for
    /// counterfactuals that repair a break.
    pub repair: Option<Repair>,
}

impl Rare {
    /// Boxes it, or drops it where it holds nothing.
    #[must_use]
    pub fn kept(self) -> Option<Box<Self>> {
        (self != Self::default()).then(|| Box::new(self))
    }
}

impl Prompt {
    /// The first prompt of a main conversation, without markers, readable from its start on, and
    /// with nothing else known of it.
    #[must_use]
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

    /// A background request since the previous prompt.
    #[must_use]
    pub fn background(&self) -> Option<BackgroundWrite> {
        self.rare.as_ref()?.background
    }

    /// What was warm when its chain began or changed its model. Measured.
    #[must_use]
    pub fn opening(&self) -> Option<Tokens> {
        self.rare.as_ref()?.opening
    }

    /// What was read at a break inside the TTL. Measured.
    #[must_use]
    pub fn broken_read(&self) -> Option<Tokens> {
        self.rare.as_ref()?.broken_read
    }

    /// How much longer than their TTL it finds entries for five minutes, in milliseconds.
    #[must_use]
    pub fn grace(&self) -> i64 {
        self.rare.as_ref().map_or(0, |rare| rare.grace)
    }

    /// Whether it finds what its predecessor had cached whatever was recorded.
    #[must_use]
    pub fn repair(&self) -> Option<Repair> {
        self.rare.as_ref()?.repair
    }

    /// Where the deleted tokens stood, where that is known.
    #[must_use]
    pub fn edits(&self) -> Option<&Edits> {
        Some(&self.rare.as_ref()?.edits)
    }

    /// What few prompts have, with the values of this one.
    #[must_use]
    pub fn to_rare(&self) -> Rare {
        self.rare.as_deref().cloned().unwrap_or_default()
    }

    /// What an added request that continues this one inherits: the edits.
    #[must_use]
    pub fn rare_of_next(&self) -> Option<Box<Rare>> {
        Rare { edits: self.edits()?.clone(), ..Rare::default() }.kept()
    }

    /// Changes what few prompts have, if this prompt has any of it.
    pub fn change_rare(&mut self, change: impl FnOnce(&mut Rare)) {
        if let Some(rare) = &mut self.rare {
            change(rare);
        }
    }

    /// Whether a prefix of this prompt could be found, as far as deletions go.
    #[must_use]
    pub fn may_find(&self, node: NodeId) -> bool {
        self.edits().and_then(|edits| edits.restored).is_none_or(|restored| node < restored)
    }

    /// The deleted tokens inside of a prefix of this prompt.
    #[must_use]
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
    /// The tree, with parents before their children.
    pub nodes: Vec<Node>,
    /// The markers of all prompts.
    pub markers: Vec<Marker>,
    /// The prompts, in the order of the history's requests.
    pub prompts: Vec<Prompt>,
    /// How the service counts prefixes, where that is not token by token.
    counting: Option<Counting>,
    /// What is known of the bytes of blocks.
    landmarks: Landmarks,
    /// Shared by copies, most of which differ only in their markers.
    paths: OnceLock<Arc<Paths>>,
    /// The same prompts over a tree split inside of blocks, where that differs.
    split: OnceLock<Option<Arc<SplitTrace>>>,
}

impl PromptTrace {
    /// Assembles a trace.
    #[must_use]
    pub fn new(nodes: Vec<Node>, markers: Vec<Marker>, prompts: Vec<Prompt>) -> Self {
        Self { nodes, markers, prompts, ..Self::default() }
    }

    /// The same, for a service that counts prefixes in its own way.
    #[must_use]
    pub fn counted_by(self, counting: Counting) -> Self {
        Self { counting: Some(counting), ..self }
    }

    /// The most that can be cached of a prompt.
    #[must_use]
    #[inline]
    pub fn most_of(&self, prompt: &Prompt) -> Tokens {
        self.counting.map_or(prompt.total, |counting| counting.whole(prompt.total))
    }

    /// A trace of the first `count` prompts.
    #[must_use]
    pub fn first(&self, count: usize) -> Self {
        let prompts = self.prompts[..count].to_vec();
        Self { prompts, split: OnceLock::new(), ..self.clone() }
    }

    /// Sets what is known of the bytes of blocks.
    pub(crate) fn set_landmarks(&mut self, landmarks: Landmarks) {
        self.split.take();
        self.landmarks = landmarks;
    }

    /// What is known of the bytes of its blocks.
    pub(crate) fn landmarks(&self) -> &Landmarks {
        &self.landmarks
    }

    /// The same prompts over a tree split inside of blocks. `None` where no two blocks after one
    /// prefix are known to share a part. Computed once.
    pub(crate) fn split(&self) -> Option<&SplitTrace> {
        self.split.get_or_init(|| SplitTrace::new(self, &self.landmarks).map(Arc::new)).as_deref()
    }

    /// The node with an id.
    #[must_use]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// Adds a node after all others. Its parent must exist.
    pub fn add_node(&mut self, node: Node) -> NodeId {
        // The paths of the tree, which a copy brings along, are no longer valid.
        self.paths.take();
        self.split.take();
        self.nodes.push(node);
        NodeId::at(self.nodes.len() - 1)
    }

    /// For each node, the nearest markable one at or before it.
    #[must_use]
    pub fn nearest_markable(&self) -> Vec<Option<NodeId>> {
        let mut nearest: Vec<Option<NodeId>> = Vec::with_capacity(self.nodes.len());
        for (index, node) in self.nodes.iter().enumerate() {
            let before = node.parent.and_then(|parent| nearest[parent.index()]);
            nearest.push(if node.is_markable { Some(NodeId::at(index)) } else { before });
        }
        nearest
    }

    /// The markers of a prompt.
    #[must_use]
    pub fn markers_of(&self, prompt: &Prompt) -> &[Marker] {
        &self.markers[prompt.markers.clone()]
    }

    /// The size that a prefix has in a prompt that does not mark it itself.
    #[must_use]
    pub fn end_in(&self, prompt: &Prompt, node: NodeId) -> Tokens {
        self.node(node).end.saturating_sub(prompt.deleted_until(node)).min(self.most_of(prompt))
    }

    /// A node and all nodes before it, from its end to the root.
    pub fn path(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(Some(node), |node| self.node(*node).parent)
    }

    /// The longest prefix that two nodes share.
    #[must_use]
    pub fn common(&self, one: NodeId, other: NodeId) -> Option<NodeId> {
        self.paths().common(one, other)
    }

    /// The longest prefix of a node for which `holds`. It must hold for all prefixes before that
    /// one.
    #[must_use]
    pub fn last_on_the_way(&self, node: NodeId, holds: impl Fn(NodeId) -> bool) -> Option<NodeId> {
        self.paths().last_on_the_way(node, holds)
    }

    /// The longest prefix of a node with at most so many blocks.
    #[must_use]
    pub fn ancestor_with_blocks(&self, node: NodeId, blocks: u32) -> Option<NodeId> {
        self.last_on_the_way(node, |node| self.node(node).blocks <= blocks)
    }

    /// The tree cut into long paths. Computed once.
    pub(crate) fn paths(&self) -> &Paths {
        self.paths.get_or_init(|| Arc::new(Paths::new(&self.nodes)))
    }
}
