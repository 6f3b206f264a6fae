//! Prompts with known bytes as paths through one tree, in which equal prefixes are one node.
//!
//! A node is known by its [`PrefixHash`], so it does not matter in which order, by which thread or
//! from which file the prompts come.

use std::cmp::Ordering;
use std::hash::Hash;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::block::BlockKind;
use super::landmarks::Landmark;
use super::prefix::PrefixHash;

/// A node, as a position in [`WireTree::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WireNodeId(pub u32);

/// What a node adds to the prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// The model, of which each has caches of its own.
    Model,
    /// A tool.
    Tool,
    /// Speed and citations, which are in front of the system prompt.
    SystemSettings,
    /// A block of the system prompt.
    System,
    /// Thinking, tool choice, effort, format and the presence of images.
    MessageSettings,
    /// The first block of a message.
    MessageStart,
    /// Another block of a message.
    Block,
}

impl Part {
    /// Every part, in the order of a prompt.
    pub const ALL: [Self; 7] = [
        Self::Model,
        Self::Tool,
        Self::SystemSettings,
        Self::System,
        Self::MessageSettings,
        Self::MessageStart,
        Self::Block,
    ];

    /// The name in every output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Tool => "tool",
            Self::SystemSettings => "system_settings",
            Self::System => "system",
            Self::MessageSettings => "message_settings",
            Self::MessageStart => "message",
            Self::Block => "block",
        }
    }

    /// Whether it is content, which has a position, and no setting.
    #[must_use]
    pub fn is_block(self) -> bool {
        !matches!(self, Self::Model | Self::SystemSettings | Self::MessageSettings)
    }
}

/// The end of a prefix.
#[derive(Clone, Debug)]
pub struct WireNode {
    /// What the whole prefix is known by.
    pub hash: PrefixHash,
    /// The prefix in front; always an earlier node.
    pub parent: Option<WireNodeId>,
    /// What this node adds.
    pub part: Part,
    /// The kind of its block.
    pub kind: BlockKind,
    /// Its own tokens, as counted.
    pub tokens: u64,
    /// Its canonical bytes, where they are kept.
    pub bytes: Option<Arc<[u8]>>,
    /// The role of the message that begins here as canonical JSON, where bytes are kept.
    pub role: Option<Arc<[u8]>>,
    /// Where landmarks are kept, those of its bytes.
    pub landmarks: Option<Arc<[Landmark]>>,
}

impl WireNode {
    /// Its canonical bytes as text; empty where they are not kept.
    #[must_use]
    pub fn text(&self) -> &str {
        // Canonical bytes are made from text.
        std::str::from_utf8(self.bytes.as_deref().unwrap_or_default()).unwrap_or_default()
    }
}

/// The tree.
#[derive(Debug, Default)]
pub struct WireTree {
    /// The nodes, parents before their children.
    pub nodes: Vec<WireNode>,
    by_hash: FxHashMap<PrefixHash, WireNodeId>,
    /// Bytes that are kept, each once, whatever stands in front of them.
    contents: FxHashSet<Arc<[u8]>>,
    /// Landmarks, each list once.
    landmarks: FxHashSet<Arc<[Landmark]>>,
}

impl WireTree {
    /// The node of an id.
    #[must_use]
    pub fn node(&self, id: WireNodeId) -> &WireNode {
        &self.nodes[id.0 as usize]
    }

    /// A node and all before it, from its end to the root.
    pub fn path(&self, id: WireNodeId) -> impl Iterator<Item = WireNodeId> + '_ {
        std::iter::successors(Some(id), |id| self.node(*id).parent)
    }

    /// The last node that two paths share; `None` where not even the model is the same.
    #[must_use]
    pub fn shared(&self, one: WireNodeId, other: WireNodeId) -> Option<WireNodeId> {
        let (mut one, mut other) = (one, other);
        loop {
            match one.cmp(&other) {
                Ordering::Equal => return Some(one),
                // Ids rise on a path, so the later node cannot be on the other one's.
                Ordering::Less => other = self.node(other).parent?,
                Ordering::Greater => one = self.node(one).parent?,
            }
        }
    }

    /// The node with a hash.
    #[must_use]
    pub fn find(&self, hash: PrefixHash) -> Option<WireNodeId> {
        self.by_hash.get(&hash).copied()
    }

    /// The one copy of some bytes.
    pub(super) fn keep(&mut self, bytes: &[u8]) -> Arc<[u8]> {
        keep_once(&mut self.contents, bytes)
    }

    /// The one copy of some landmarks.
    pub(super) fn keep_landmarks(&mut self, landmarks: &[Landmark]) -> Arc<[Landmark]> {
        keep_once(&mut self.landmarks, landmarks)
    }

    /// Adds a node that is not there yet.
    ///
    /// # Panics
    /// Never in practice: a tree would need 2³² nodes.
    pub(super) fn add(&mut self, node: WireNode) -> WireNodeId {
        let id = WireNodeId(u32::try_from(self.nodes.len()).expect("fewer than 2^32 nodes"));
        self.by_hash.insert(node.hash, id);
        self.nodes.push(node);
        id
    }

    /// Takes every node of `other` over and says which each is here.
    pub fn absorb(&mut self, other: Self) -> Vec<WireNodeId> {
        let mut moved: Vec<WireNodeId> = Vec::with_capacity(other.nodes.len());
        for mut node in other.nodes {
            let here = self.find(node.hash).unwrap_or_else(|| {
                node.parent = node.parent.map(|parent| moved[parent.0 as usize]);
                node.bytes = node.bytes.map(|bytes| self.keep(&bytes));
                node.role = node.role.map(|role| self.keep(&role));
                node.landmarks = node.landmarks.map(|marks| self.keep_landmarks(&marks));
                self.add(node)
            });
            moved.push(here);
        }
        moved
    }
}

fn keep_once<T: Copy + Eq + Hash>(kept: &mut FxHashSet<Arc<[T]>>, list: &[T]) -> Arc<[T]> {
    if let Some(known) = kept.get(list) {
        return Arc::clone(known);
    }
    let own: Arc<[T]> = list.into();
    kept.insert(Arc::clone(&own));
    own
}
