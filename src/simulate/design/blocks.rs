//! Tree of prefixes, to which a design adds prefixes that were never sent, and the contents of
//! blocks, independent of the blocks before them.

use std::borrow::Cow;
use std::hash::BuildHasher as _;
use std::sync::Arc;

use hashbrown::HashTable;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::base::{Basis, Tokens};
use crate::read::capture::{
    BlockKind, Landmark, Part, TokenCounting, WireNodeId, WireTree, landmarks,
};
use crate::requests::conversation::CapturedPrompts;
use crate::requests::prompt::{Landmarks, Node, NodeId, PromptTrace, level, node_behind};

/// Block of a prompt: its content, and the node of a sent request with its kind and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PromptBlock {
    pub(super) source: WireNodeId,
    pub(super) content: ContentId,
    /// Length of the canonical bytes, if the block is a part of the source block.
    pub(super) bytes: Option<u64>,
    /// Part of the prompt that contains the block.
    pub(super) part: Part,
    /// Size of the block, if it differs from the node's.
    pub(super) size: Option<Tokens>,
}

/// Tree of prefixes, sent and designed.
///
/// Blocks keep the sizes that they have as sent, so nothing is measured again.
pub(super) struct BlockTree<'a> {
    wire: &'a WireTree,
    /// Nodes of the trace as sent, followed by the added ones.
    pub(super) nodes: Vec<Node>,
    /// Number of nodes of transcripts; they come first.
    first: usize,
    /// Kind of the last block of each node after the transcripts'.
    kinds: Vec<BlockKind>,
    /// Content of the last block of each of these nodes.
    contents: Vec<ContentId>,
    /// Nodes by parent and last block, except for nodes right after their parents.
    apart: FxHashMap<(Option<NodeId>, ContentId), NodeId>,
    /// Basis of an added prefix's size.
    basis: Basis,
    counting: TokenCounting,
}

impl<'a> BlockTree<'a> {
    /// Builds the tree of the prompts as sent.
    pub(super) fn new(
        captured: &'a CapturedPrompts,
        as_sent: &PromptTrace,
        contents: &Contents<'_>,
    ) -> Self {
        let wire = &captured.tree;
        let is_exact = captured.counting.is_bytes();
        let mut tree = Self {
            wire,
            nodes: as_sent.nodes.clone(),
            first: as_sent.nodes.len() - wire.nodes.len(),
            kinds: wire.nodes.iter().map(|node| node.kind).collect(),
            contents: contents.of_nodes.clone(),
            apart: FxHashMap::default(),
            basis: if is_exact { Basis::Derived } else { Basis::Estimated },
            counting: captured.counting,
        };
        for id in (0..).map(WireNodeId).take(wire.nodes.len()) {
            let node = tree.as_sent(id);
            tree.note(tree.nodes[node.index()].parent, contents.of_node(id), node);
        }
        tree
    }

    /// Lets [`Self::find`] find a node; a node right after its parent needs no entry.
    fn note(&mut self, parent: Option<NodeId>, content: ContentId, node: NodeId) {
        if parent.map(next_id) != Some(node) {
            self.apart.insert((parent, content), node);
        }
    }

    /// Node of a block after a prefix, if there is one.
    ///
    /// Mostly it has the next id, as the blocks of a prompt are added one after the other.
    fn find(&self, parent: Option<NodeId>, content: ContentId) -> Option<NodeId> {
        let is_child = |next: &NodeId| {
            let node = self.nodes.get(next.index());
            node.is_some_and(|node| node.parent == parent)
                && self.contents[next.index() - self.first] == content
        };
        let next = parent.map(next_id).filter(is_child);
        next.or_else(|| self.apart.get(&(parent, content)).copied())
    }

    /// Node of a prompt as sent.
    pub(super) fn as_sent(&self, id: WireNodeId) -> NodeId {
        NodeId::at(self.first + id.0 as usize)
    }

    /// Tokens of a block as sent.
    pub(super) fn size(&self, id: WireNodeId) -> Tokens {
        let node = self.nodes[self.as_sent(id).index()];
        let before = node.parent.map_or(Tokens::ZERO, |parent| self.nodes[parent.index()].end);
        node.end.saturating_sub(before)
    }

    /// Tokens of a block as sent; a part of a block has its share by bytes.
    pub(super) fn size_of(&self, block: &PromptBlock) -> Tokens {
        let whole = block.size.unwrap_or_else(|| self.size(block.source));
        match (block.bytes, self.counting) {
            (None, _) => whole,
            (Some(bytes), TokenCounting::Bytes(of_token)) => Tokens(bytes.div_ceil(of_token.get())),
            (Some(bytes), TokenCounting::Exact | TokenCounting::Estimated) => {
                let all = self.wire.node(block.source).bytes.as_ref().map_or(0, |all| all.len());
                whole.share(bytes, all as u64)
            }
        }
    }

    /// Landmarks of all blocks, if they were kept for the blocks as sent.
    pub(super) fn landmarks(&self, as_sent: &Landmarks, contents: &Contents<'_>) -> Landmarks {
        let mut landmarks = as_sent.clone();
        if landmarks.of_nodes.is_empty() {
            return landmarks;
        }
        // An added prefix repeats the contents of others, so the landmarks of each content are found once.
        let mut known: FxHashMap<ContentId, Arc<[Landmark]>> = FxHashMap::default();
        for content in &self.contents[self.wire.nodes.len()..] {
            let of_content = known
                .entry(*content)
                .or_insert_with(|| contents.landmarks(*content, self.counting).into());
            landmarks.of_nodes.push(Some(Arc::clone(of_content)));
        }
        landmarks
    }

    /// Nodes of a prompt with these blocks, one for each.
    ///
    /// A new prefix has the sizes of its blocks in this prompt.
    pub(super) fn path(&mut self, blocks: &[PromptBlock]) -> Vec<NodeId> {
        let mut path: Vec<NodeId> = Vec::with_capacity(blocks.len());
        let mut end = Tokens::ZERO;
        for block in blocks {
            end += self.size_of(block);
            path.push(self.node_after(path.last().copied(), *block, end));
        }
        path
    }

    fn node_after(&mut self, parent: Option<NodeId>, block: PromptBlock, end: Tokens) -> NodeId {
        if let Some(known) = self.find(parent, block.content) {
            return known;
        }
        let wire = self.wire.node(block.source);
        let before =
            parent.map(|id| (id, &self.nodes[id.index()], self.kinds[id.index() - self.first]));
        let level = level(block.part);
        let basis = if block.size.is_some() { Basis::Estimated } else { self.basis };
        let node = Node { end, basis, level, ..node_behind(before, wire) };
        let id = NodeId::at(self.nodes.len());
        self.nodes.push(node);
        self.contents.push(block.content);
        self.kinds.push(wire.kind);
        self.note(parent, block.content, id);
        id
    }

    /// Returns true if the last block of a prefix may carry a marker.
    pub(super) fn is_markable(&self, node: NodeId) -> bool {
        self.kinds[node.index() - self.first] != BlockKind::Thinking
    }

    /// Last node that two prefixes share, or `None` if not even the model is the same.
    pub(super) fn shared(&self, one: NodeId, other: NodeId) -> Option<NodeId> {
        let (mut one, mut other) = (one, other);
        while one != other {
            // Ids rise along a path, so the later node cannot be on the other one's path.
            let later = if one > other { &mut one } else { &mut other };
            *later = self.nodes[later.index()].parent?;
        }
        Some(one)
    }
}

/// Next id after a node's, which may not be in use yet.
fn next_id(node: NodeId) -> NodeId {
    NodeId::at(node.index() + 1)
}

/// Identity of a content; equal blocks have equal ids, wherever they are in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ContentId(usize);

/// Part of the prompt, role of a message that begins here, and canonical bytes: all inputs of a
/// prefix's hash.
type Content<'a> = (Part, Option<&'a [u8]>, Cow<'a, [u8]>);

/// Interned contents of a tree.
pub(super) struct Contents<'a> {
    /// Ids with their hashes, as a table that grows would otherwise read all bytes once more.
    ids: HashTable<(u64, ContentId)>,
    all: Vec<Content<'a>>,
    of_nodes: Vec<ContentId>,
}

impl<'a> Contents<'a> {
    /// Contents of all nodes, or `None` if their bytes are not kept.
    pub(super) fn of(tree: &'a WireTree) -> Option<Self> {
        let mut contents = Self { ids: HashTable::new(), all: Vec::new(), of_nodes: Vec::new() };
        for node in &tree.nodes {
            let bytes = Cow::Borrowed(node.bytes.as_deref()?);
            let id = contents.id((node.part, node.role.as_deref(), bytes));
            contents.of_nodes.push(id);
        }
        Some(contents)
    }

    /// Content of a node.
    pub(super) fn of_node(&self, id: WireNodeId) -> ContentId {
        self.of_nodes[id.0 as usize]
    }

    /// Content of settings with these canonical bytes.
    pub(super) fn of_settings(&mut self, part: Part, bytes: String) -> ContentId {
        self.id((part, None, Cow::Owned(bytes.into_bytes())))
    }

    /// Content of a block with these canonical bytes in a part.
    pub(super) fn of_block(&mut self, part: Part, bytes: impl Into<Cow<'a, [u8]>>) -> ContentId {
        self.id((part, None, bytes.into()))
    }

    /// Content of the same block at another place in the messages: as the first block of a message
    /// of this role, or after another block.
    pub(super) fn moved(&mut self, content: ContentId, role: Option<&'a [u8]>) -> ContentId {
        let part = if role.is_some() { Part::MessageStart } else { Part::Block };
        let bytes = self.all[content.0].2.clone();
        self.id((part, role, bytes))
    }

    /// Canonical bytes of a content.
    pub(super) fn bytes(&self, content: ContentId) -> &[u8] {
        &self.all[content.0].2
    }

    /// Landmarks of a content.
    pub(super) fn landmarks(&self, content: ContentId, counting: TokenCounting) -> Vec<Landmark> {
        let (part, role, bytes) = &self.all[content.0];
        landmarks(*part, role.unwrap_or_default(), bytes, counting)
    }

    fn id(&mut self, content: Content<'a>) -> ContentId {
        let hash = FxBuildHasher.hash_one(&content);
        if let Some((_, known)) = self.ids.find(hash, |(_, id)| self.all[id.0] == content) {
            return *known;
        }
        let id = ContentId(self.all.len());
        self.ids.insert_unique(hash, (hash, id), |(hash, _)| *hash);
        self.all.push(content);
        id
    }
}
