//! What blocks say, whatever stands in front of them.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::read::capture::{Landmark, Part, TokenCounting, WireNodeId, WireTree, landmarks};

/// A content: equal blocks have equal ones, wherever they stand in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ContentId(usize);

/// The part of the prompt, the role of the message that begins here, and the canonical bytes: what the
/// hash of a prefix is made of.
type Content<'a> = (Part, Option<&'a [u8]>, Cow<'a, [u8]>);

/// The contents of a tree.
pub(super) struct Contents<'a> {
    ids: FxHashMap<Content<'a>, ContentId>,
    all: Vec<Content<'a>>,
    of_nodes: Vec<ContentId>,
}

impl<'a> Contents<'a> {
    /// Those of all nodes; `None` where their bytes are not kept.
    pub(super) fn of(tree: &'a WireTree) -> Option<Self> {
        let mut contents =
            Self { ids: FxHashMap::default(), all: Vec::new(), of_nodes: Vec::new() };
        for node in &tree.nodes {
            let bytes = Cow::Borrowed(node.bytes.as_deref()?);
            let id = contents.id((node.part, node.role.as_deref(), bytes));
            contents.of_nodes.push(id);
        }
        Some(contents)
    }

    /// That of a node.
    pub(super) fn of_node(&self, id: WireNodeId) -> ContentId {
        self.of_nodes[id.0 as usize]
    }

    /// That of settings with these canonical bytes.
    pub(super) fn of_settings(&mut self, part: Part, bytes: String) -> ContentId {
        self.id((part, None, Cow::Owned(bytes.into_bytes())))
    }

    /// That of a block of a part with these canonical bytes.
    pub(super) fn of_block(&mut self, part: Part, bytes: impl Into<Cow<'a, [u8]>>) -> ContentId {
        self.id((part, None, bytes.into()))
    }

    /// That of the same block at another place of the messages: as the first one of a message of this role,
    /// or after another block.
    pub(super) fn moved(&mut self, content: ContentId, role: Option<&'a [u8]>) -> ContentId {
        let part = if role.is_some() { Part::MessageStart } else { Part::Block };
        let bytes = self.all[content.0].2.clone();
        self.id((part, role, bytes))
    }

    /// Its canonical bytes.
    pub(super) fn bytes(&self, content: ContentId) -> &[u8] {
        &self.all[content.0].2
    }

    /// Its landmarks.
    pub(super) fn landmarks(&self, content: ContentId, counting: TokenCounting) -> Vec<Landmark> {
        let (part, role, bytes) = &self.all[content.0];
        landmarks(*part, role.unwrap_or_default(), bytes, counting)
    }

    fn id(&mut self, content: Content<'a>) -> ContentId {
        if let Some(known) = self.ids.get(&content) {
            return *known;
        }
        let id = ContentId(self.all.len());
        self.ids.insert(content.clone(), id);
        self.all.push(content);
        id
    }
}
