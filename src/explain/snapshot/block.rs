//! The blocks of captured prompts, by what they are known by.

use std::collections::BTreeMap;
use std::hash::BuildHasher;

use rustc_hash::FxBuildHasher;

use super::fingerprint::{Digest, Fingerprint, Pieces, digest};
use crate::read::capture::{Part, WireNode};

/// A block, as a position in [`Blocks::list`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(pub usize);

/// A block, or a setting that stands in front of some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The one in front; always an earlier one.
    pub parent: Option<BlockId>,
    /// The part of the prompt.
    pub part: Part,
    /// Of a tool its name.
    pub name: Option<String>,
    /// The digests of the fields of a tool, by their places in it.
    pub fields: BTreeMap<String, Digest>,
    /// What its canonical bytes are known by.
    pub fingerprint: Fingerprint,
    /// The digests of its pieces, of tools and the system prompt.
    pub pieces: Pieces,
}

/// All blocks: a tree in which a prefix is there once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    /// The blocks, parents before their children.
    pub list: Vec<Block>,
    prefixes: Vec<Prefix>,
}

/// What stands up to a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prefix {
    /// How many blocks, its own counted.
    pub blocks: usize,
    /// Of all their fingerprints; the same on both sides exactly where all of these are, but for chance.
    pub digest: u64,
}

/// The fields of a tool are told apart down to this depth.
const FIELD_DEPTH: usize = 2;

impl Block {
    /// The fingerprint of a block whose bytes are kept.
    pub(super) fn of_node(node: &WireNode) -> Self {
        let bytes = node.bytes.as_deref().unwrap_or_default();
        // What a person wrote is in the messages.
        let is_written_for_many = matches!(node.part, Part::Tool | Part::System);
        let value = (node.part == Part::Tool).then(|| serde_json::from_slice(bytes).ok()).flatten();
        let value: serde_json::Value = value.unwrap_or_default();
        let mut fields = BTreeMap::new();
        add_fields(&value, "", FIELD_DEPTH, &mut fields);
        Self {
            parent: node.parent.map(|parent| BlockId(parent.0 as usize)),
            part: node.part,
            name: value["name"].as_str().map(str::to_owned),
            fields,
            fingerprint: Fingerprint::of(node.role.as_deref().unwrap_or_default(), bytes),
            pieces: if is_written_for_many { Pieces::of(bytes) } else { Pieces::default() },
        }
    }
}

fn add_fields(
    value: &serde_json::Value,
    place: &str,
    depth: usize,
    fields: &mut BTreeMap<String, Digest>,
) {
    match value.as_object().filter(|_| depth > 0) {
        Some(object) => {
            for (key, value) in object {
                let place = if place.is_empty() { key.clone() } else { format!("{place}.{key}") };
                add_fields(value, &place, depth - 1, fields);
            }
        }
        None if place.is_empty() => {}
        None => {
            fields.insert(place.to_owned(), digest(value.to_string().as_bytes()));
        }
    }
}

impl Blocks {
    /// Blocks whose parents come before them.
    #[must_use]
    pub fn new(list: Vec<Block>) -> Self {
        let mut prefixes: Vec<Prefix> = Vec::with_capacity(list.len());
        for block in &list {
            let parent = block.parent.map_or_else(Prefix::default, |parent| prefixes[parent.0]);
            let own = (parent.digest, block.part, block.fingerprint);
            let digest = FxBuildHasher.hash_one(own);
            prefixes.push(Prefix { blocks: parent.blocks + 1, digest });
        }
        Self { list, prefixes }
    }

    /// What stands up to a block.
    #[must_use]
    pub fn prefix(&self, id: BlockId) -> Prefix {
        self.prefixes[id.0]
    }

    /// The block of an id.
    #[must_use]
    pub fn block(&self, id: BlockId) -> &Block {
        &self.list[id.0]
    }

    /// A block and all before it, from the root on.
    #[must_use]
    pub fn path(&self, id: BlockId) -> Vec<BlockId> {
        let mut path: Vec<BlockId> =
            std::iter::successors(Some(id), |id| self.block(*id).parent).collect();
        path.reverse();
        path
    }
}
