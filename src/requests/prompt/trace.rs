//! Prompts as paths through a tree of prefixes.
//!
//! A node is the end of a prefix: of a block where the bytes are known, of what a request had cached
//! where only its usage is. Requests of a conversation share the nodes before them, and so do
//! forks, and sessions with equal bytes; memory grows with new content, not with requests times
//! history.
//!
//! A [`Prompt`] carries of its own recorded usage only what a simulation may know: the total, the
//! TTLs of its markers, and, for the first request of a chain or after a change of model, the read
//! that shows what was already warm. Its split into read, written and input is not here.

use std::num::NonZeroU32;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::paths::Paths;
use super::split::{Landmarks, SplitTrace};
use crate::base::id::Symbol;
use crate::base::ttl::Ttl;
use crate::base::units::{Basis, Millis, Tokens};

/// How many positions a marker looks back for an entry, its own counted.
pub const LOOKBACK: u32 = 20;

/// A node of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(NonZeroU32);

impl NodeId {
    /// The node of a position in [`PromptTrace::nodes`].
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
    /// The prefix that this one extends; always an earlier node.
    pub parent: Option<NodeId>,
    /// The size of the whole prefix. A request whose own marker stands here knows better.
    pub end: Tokens,
    /// What the size rests on.
    pub basis: Basis,
    /// How many positions the prefix has: every block is one, a run of tool calls or of tool
    /// results one together.
    pub positions: u32,
    /// How many blocks the prefix has.
    pub blocks: u32,
    /// Where the prefix ends.
    pub level: Level,
    /// Whether a marker may stand at its end.
    pub is_markable: bool,
    /// The session that wrote it, where sessions may be taken apart.
    pub session: Option<Symbol>,
}

/// A marker (`cache_control`), as recorded or where a policy may put one.
#[derive(Clone, Copy, Debug)]
pub struct Marker {
    /// The prefix it marks.
    pub node: NodeId,
    /// The size of that prefix as this request knows it.
    pub end: Tokens,
    /// What the size rests on.
    pub basis: Basis,
    /// Its recorded TTL; `None` where none was recorded.
    pub ttl: Option<Ttl>,
    /// Whether it has `scope: global`: its entries are shared by all scopes.
    pub is_global: bool,
    /// Whether it is the request's own (automatic caching) and not a block's.
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
}

/// What is known of the edits of a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edits {
    /// The deleted results, in the order of the prefix. Where there are none, what is deleted comes off
    /// whatever is found.
    pub deletions: Vec<Deletion>,
    /// The first result that the request before had deleted, and that is back: what was cached from
    /// there on does not have it.
    pub restored: Option<NodeId>,
}

/// A result that the service deletes of a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deletion {
    /// The prefix that ends with it.
    pub node: NodeId,
    /// How large it was.
    pub tokens: Tokens,
}

/// How a break is repaired: the request finds what the one before it had cached.
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
    /// When its response began, from which on its writes can be read.
    pub readable_from: Millis,
    /// The model, of which each has caches of its own.
    pub model: Symbol,
    /// The organisation or workspace whose cache it uses.
    pub scope: Option<Symbol>,
    /// The set of beta features that it asks for, by a number that only equal sets share; `None` where it
    /// is not known.
    pub betas: Option<u32>,
    /// The session it belongs to, where sessions may be taken apart.
    pub session: Option<Symbol>,
    /// The prompt before it in its conversation, by its place in [`PromptTrace::prompts`].
    pub predecessor: Option<usize>,
    /// Whether it is a sub-agent's.
    pub is_agent: bool,
    /// The size of the whole prompt.
    pub total: Tokens,
    /// What the service deletes of the prefixes in front of it, by edits that change no byte
    /// (`cache_edits`).
    pub deleted: Tokens,
    /// What that size rests on.
    pub basis: Basis,
    /// The shortest prefix its model caches.
    pub minimum: Tokens,
    /// Where its own prefix ends, or the part of it that is cached.
    pub node: NodeId,
    /// Its markers in [`PromptTrace::markers`], in the order of the prefix.
    pub markers: Range<usize>,
    /// The size of tools and system prompt, which survive a rewritten conversation; calibrated.
    pub system_prefix: Tokens,
    /// What other traffic keeps warm when every entry of its own has expired.
    pub shared_prefix: Tokens,
    /// What that size rests on.
    pub shared_prefix_basis: Basis,
    /// What few prompts have; `None` where it has nothing of it.
    pub rare: Option<Box<Rare>>,
}

/// What few prompts have, kept apart so that the others are small.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rare {
    /// Where the deleted tokens stood, where that is known.
    pub edits: Edits,
    /// A background request since the one before.
    pub background: Option<BackgroundWrite>,
    /// What was warm when its chain began or changed its model; measured.
    pub opening: Option<Tokens>,
    /// What was read in a break inside the TTL, for counterfactuals that keep it; measured.
    pub broken_read: Option<Tokens>,
    /// Whether what its predecessor had cached is found whatever was recorded, for counterfactuals that
    /// repair a break.
    pub repair: Option<Repair>,
}

impl Rare {
    /// What a prompt keeps of it: nothing where it has nothing.
    #[must_use]
    pub fn kept(self) -> Option<Box<Self>> {
        (self != Self::default()).then(|| Box::new(self))
    }
}

impl Prompt {
    /// A prompt without markers, of a main conversation's first request, that can be read from its start
    /// on and of which nothing else is known.
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

    /// A background request since the one before.
    #[must_use]
    pub fn background(&self) -> Option<BackgroundWrite> {
        self.rare.as_ref()?.background
    }

    /// What was warm when its chain began or changed its model; measured.
    #[must_use]
    pub fn opening(&self) -> Option<Tokens> {
        self.rare.as_ref()?.opening
    }

    /// What was read in a break inside the TTL; measured.
    #[must_use]
    pub fn broken_read(&self) -> Option<Tokens> {
        self.rare.as_ref()?.broken_read
    }

    /// Whether what its predecessor had cached is found whatever was recorded.
    #[must_use]
    pub fn repair(&self) -> Option<Repair> {
        self.rare.as_ref()?.repair
    }

    /// Where the deleted tokens stood, where that is known.
    #[must_use]
    pub fn edits(&self) -> Option<&Edits> {
        Some(&self.rare.as_ref()?.edits)
    }

    /// What few prompts have, as this one has it.
    #[must_use]
    pub fn to_rare(&self) -> Rare {
        self.rare.as_deref().cloned().unwrap_or_default()
    }

    /// What a request besides the recorded ones has of it that goes on from this one: the edits.
    #[must_use]
    pub fn rare_of_next(&self) -> Option<Box<Rare>> {
        Rare { edits: self.edits()?.clone(), ..Rare::default() }.kept()
    }

    /// Changes what few prompts have, of a prompt that has any of it.
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

    /// The deleted tokens of a prefix of this prompt.
    #[must_use]
    pub fn deleted_until(&self, node: NodeId) -> Tokens {
        let Some(edits) = self.edits().filter(|edits| !edits.deletions.is_empty()) else {
            return self.deleted;
        };
        // Ids rise on a path.
        let inside = edits.deletions.iter().filter(|deletion| deletion.node <= node);
        inside.map(|deletion| deletion.tokens).sum()
    }
}

/// All requests of a run against one cache, in the order in which they were sent.
#[derive(Clone, Debug, Default)]
pub struct PromptTrace {
    /// The tree, parents before their children.
    pub nodes: Vec<Node>,
    /// The markers of all prompts.
    pub markers: Vec<Marker>,
    /// The prompts, in the order of the history's requests.
    pub prompts: Vec<Prompt>,
    /// What is known of the bytes of blocks.
    landmarks: Landmarks,
    /// Shared by copies, which mostly differ in their markers alone.
    paths: OnceLock<Arc<Paths>>,
    /// The same prompts over a tree that is split inside of blocks, where that is another one.
    split: OnceLock<Option<Arc<SplitTrace>>>,
}

impl PromptTrace {
    /// A trace of its parts.
    #[must_use]
    pub fn new(nodes: Vec<Node>, markers: Vec<Marker>, prompts: Vec<Prompt>) -> Self {
        Self { nodes, markers, prompts, ..Self::default() }
    }

    /// Its first prompts alone.
    #[must_use]
    pub fn first(&self, count: usize) -> Self {
        let prompts = self.prompts[..count].to_vec();
        Self { prompts, split: OnceLock::new(), ..self.clone() }
    }

    /// Notes what is known of the bytes of its blocks.
    pub(crate) fn set_landmarks(&mut self, landmarks: Landmarks) {
        self.split.take();
        self.landmarks = landmarks;
    }

    /// What is known of the bytes of its blocks.
    pub(crate) fn landmarks(&self) -> &Landmarks {
        &self.landmarks
    }

    /// The same prompts over a tree that is split inside of blocks; `None` where no two blocks after one
    /// prefix are known to share a part. Made once.
    pub(crate) fn split(&self) -> Option<&SplitTrace> {
        self.split.get_or_init(|| SplitTrace::new(self, &self.landmarks).map(Arc::new)).as_deref()
    }

    /// The node of an id.
    #[must_use]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// Adds a node after those there are; its parent is one of them.
    pub fn add_node(&mut self, node: Node) -> NodeId {
        // A copy of a trace brings along the paths of the tree as it was.
        self.paths.take();
        self.split.take();
        self.nodes.push(node);
        NodeId::at(self.nodes.len() - 1)
    }

    /// For each node the nearest one at or before it that may be marked.
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

    /// The size that a prefix has in a prompt which does not mark it itself.
    #[must_use]
    pub fn end_in(&self, prompt: &Prompt, node: NodeId) -> Tokens {
        self.node(node).end.saturating_sub(prompt.deleted_until(node)).min(prompt.total)
    }

    /// A node and all before it, from its end to the root.
    pub fn path(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(Some(node), |node| self.node(*node).parent)
    }

    /// The longest prefix that two have in common.
    #[must_use]
    pub fn common(&self, one: NodeId, other: NodeId) -> Option<NodeId> {
        self.paths().common(one, other)
    }

    /// The longest prefix of a node for which something holds that holds for all before it.
    #[must_use]
    pub fn last_on_the_way(&self, node: NodeId, holds: impl Fn(NodeId) -> bool) -> Option<NodeId> {
        self.paths().last_on_the_way(node, holds)
    }

    /// The longest prefix of a node that has at most so many blocks.
    #[must_use]
    pub fn ancestor_with_blocks(&self, node: NodeId, blocks: u32) -> Option<NodeId> {
        self.last_on_the_way(node, |node| self.node(node).blocks <= blocks)
    }

    /// The tree cut into long paths; made once for a tree.
    pub(crate) fn paths(&self) -> &Paths {
        self.paths.get_or_init(|| Arc::new(Paths::new(&self.nodes)))
    }
}
