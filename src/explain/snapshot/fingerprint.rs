//! Fingerprints of blocks of captured prompts, which identify bytes that are gone: length and
//! digest, and digests of pieces, which show the first difference of another version.

use std::fmt;
use std::hash::BuildHasher;
use std::ops::Range;

use blake2::Blake2b;
use blake2::digest::Digest as _;
use blake2::digest::consts::U8;
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};

use crate::base::ByKey;
use crate::read::capture::{Part, WireNode};

/// Digest of bytes: BLAKE2b with an output of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
#[serde(into = "String", try_from = "String")]
pub struct Digest(pub u64);

/// Digest of bytes.
pub(super) fn digest(bytes: &[u8]) -> Digest {
    Digest(u64::from_be_bytes(Blake2b::<U8>::digest(bytes).into()))
}

impl fmt::Display for Digest {
    /// Sixteen hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

impl TryFrom<String> for Digest {
    type Error = &'static str;

    /// Parses the output of [`fmt::Display`].
    fn try_from(text: String) -> Result<Self, Self::Error> {
        let digits = Some(text).filter(|text| is_hexadecimal(text) && text.len() == 16);
        let digest = digits.and_then(|digits| u64::from_str_radix(&digits, 16).ok());
        digest.map(Self).ok_or("a digest has sixteen hexadecimal digits")
    }
}

/// Fingerprint of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Fingerprint {
    /// Length of its canonical bytes.
    pub bytes: u64,
    /// First 64 bits of their BLAKE2b.
    // With the role of the message that begins with it.
    pub digest: Digest,
}

impl Fingerprint {
    pub(super) fn of(role: &[u8], bytes: &[u8]) -> Self {
        let mut hasher = Blake2b::<U8>::new();
        hasher.update(role);
        hasher.update(b"\n");
        hasher.update(bytes);
        let digest = Digest(u64::from_be_bytes(hasher.finalize().into()));
        Self { bytes: bytes.len() as u64, digest }
    }
}

/// Largest number of pieces of a block …
const MOST_PIECES: usize = 64;

/// … each of at least this number of bytes.
const LEAST_PIECE: usize = 16;

/// Digests of the pieces of a block, which have equal lengths except for the last one. Empty for
/// blocks whose pieces must stay unknown, since a short piece could be found by guessing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
#[serde(into = "String", try_from = "String")]
pub struct Pieces(pub(super) Vec<u32>);

impl Pieces {
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self(bytes.chunks(piece_length(bytes.len())).map(piece_digest).collect())
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// First difference of another version of a block from one of `length` bytes with these pieces: the
    /// range of the first different piece. `None` if every piece is the same and the other
    /// version is no longer, or if no pieces are known.
    pub fn first_difference(&self, length: u64, other: &[u8]) -> Option<Range<u64>> {
        let length = usize::try_from(length).ok()?;
        if self.is_empty() && length > 0 {
            return None;
        }
        let piece = piece_length(length);
        let same = self
            .0
            .iter()
            .enumerate()
            .take_while(|(number, digest)| {
                let end = ((number + 1) * piece).min(length);
                other.get(number * piece..end).is_some_and(|bytes| piece_digest(bytes) == **digest)
            })
            .count();
        let from = (same * piece).min(length);
        if same == self.0.len() && other.len() <= length {
            return None;
        }
        let to = (from + piece).min(length.max(other.len()));
        Some(from as u64..to as u64)
    }
}

fn piece_length(length: usize) -> usize {
    length.div_ceil(MOST_PIECES).max(LEAST_PIECE)
}

/// Digest of a piece. A short one suffices, since it only distinguishes two versions of one piece.
fn piece_digest(bytes: &[u8]) -> u32 {
    (digest(bytes).0 >> 32) as u32
}

impl fmt::Display for Pieces {
    /// Eight hexadecimal digits each.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|piece| write!(f, "{piece:08x}"))
    }
}

impl From<Pieces> for String {
    fn from(pieces: Pieces) -> Self {
        pieces.to_string()
    }
}

impl TryFrom<String> for Pieces {
    type Error = &'static str;

    /// Parses the output of [`fmt::Display`].
    fn try_from(text: String) -> Result<Self, Self::Error> {
        const PROBLEM: &str = "a piece has eight hexadecimal digits";
        if !is_hexadecimal(&text) || !text.len().is_multiple_of(8) {
            return Err(PROBLEM);
        }
        let piece = |at| u32::from_str_radix(&text[at..at + 8], 16).map_err(|_| PROBLEM);
        (0..text.len()).step_by(8).map(piece).collect::<Result<_, _>>().map(Self)
    }
}

fn is_hexadecimal(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Index of a block in [`Blocks::list`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
pub struct BlockId(pub usize);

/// Block of a captured prompt, by its identity.
// Some are settings before blocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "BlockObject"))]
pub struct SnapshotBlock {
    /// Block in front, by its place in `blocks`.
    pub parent: Option<BlockId>,
    /// Part of the prompt.
    pub part: Part,
    /// Name of a tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Digests of a tool's fields.
    #[serde(default, skip_serializing_if = "ByKey::is_empty")]
    pub fields: ByKey<String, Digest>,
    /// Fingerprint of its canonical bytes.
    #[serde(flatten)]
    pub fingerprint: Fingerprint,
    /// Digests of up to 64 pieces of equal length, of tools and the system prompt.
    #[serde(default, skip_serializing_if = "Pieces::is_empty")]
    pub pieces: Pieces,
}

/// All blocks, as a tree that has each prefix once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    /// Blocks, parents before their children.
    pub list: Vec<SnapshotBlock>,
    prefixes: Vec<BlockPrefix>,
}

/// Prefix up to a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockPrefix {
    /// Number of blocks, including its own.
    pub blocks: usize,
    /// Digest of all their fingerprints. Equal on both sides exactly if all of these are, but for
    /// collisions.
    pub digest: u64,
    /// Bytes of its tools, system prompt and messages.
    pub bytes: u64,
    /// Bytes of its tools.
    pub tool_bytes: u64,
}

/// Depth of the fields of a tool that are distinguished.
const FIELD_DEPTH: usize = 2;

impl SnapshotBlock {
    /// Block of a node whose bytes are kept.
    pub(super) fn of_node(node: &WireNode) -> Self {
        let bytes = node.bytes.as_deref().unwrap_or_default();
        // Messages contain private text, so their pieces stay unknown.
        let is_written_for_many = matches!(node.part, Part::Tool | Part::System);
        let value = (node.part == Part::Tool).then(|| serde_json::from_slice(bytes).ok()).flatten();
        let value: serde_json::Value = value.unwrap_or_default();
        let mut fields = ByKey::new();
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

    /// Returns true if its parent comes before its own place, and its pieces are those of its length or unknown.
    pub(crate) fn is_sound_at(&self, place: usize) -> bool {
        let is_later = self.parent.is_none_or(|parent| parent.0 < place);
        let length = usize::try_from(self.fingerprint.bytes).ok();
        let pieces = length.map(|length| length.div_ceil(piece_length(length)));
        is_later && (self.pieces.is_empty() || pieces == Some(self.pieces.0.len()))
    }
}

fn add_fields(
    value: &serde_json::Value,
    place: &str,
    depth: usize,
    fields: &mut ByKey<String, Digest>,
) {
    match value.as_object().filter(|_| depth > 0) {
        Some(object) => {
            for (key, value) in object {
                let place = if place.is_empty() { key.clone() } else { format!("{place}.{key}") };
                add_fields(value, &place, depth - 1, fields);
            }
        }
        // A tool that is not an object has no fields.
        None if place.is_empty() => {}
        None => {
            fields.insert(place.to_owned(), digest(value.to_string().as_bytes()));
        }
    }
}

impl Blocks {
    /// Wraps blocks whose parents come before them.
    pub fn new(list: Vec<SnapshotBlock>) -> Self {
        let mut prefixes: Vec<BlockPrefix> = Vec::with_capacity(list.len());
        for block in &list {
            let parent =
                block.parent.map_or_else(BlockPrefix::default, |parent| prefixes[parent.0]);
            let own = (parent.digest, block.part, block.fingerprint);
            // Never saved, so a fast hash suffices that may change between versions.
            let digest = FxBuildHasher.hash_one(own);
            let bytes = block.fingerprint.bytes;
            let own = |counts: bool| if counts { bytes } else { 0 };
            prefixes.push(BlockPrefix {
                blocks: parent.blocks + 1,
                digest,
                bytes: parent.bytes.saturating_add(own(block.part.is_block())),
                tool_bytes: parent.tool_bytes.saturating_add(own(block.part == Part::Tool)),
            });
        }
        Self { list, prefixes }
    }

    /// Prefix up to a block.
    pub fn prefix(&self, id: BlockId) -> BlockPrefix {
        self.prefixes[id.0]
    }

    /// Block of an id.
    pub fn block(&self, id: BlockId) -> &SnapshotBlock {
        &self.list[id.0]
    }

    /// Path to a block, from the root down, including the block.
    pub fn path(&self, id: BlockId) -> Vec<BlockId> {
        let mut path: Vec<BlockId> =
            std::iter::successors(Some(id), |id| self.block(*id).parent).collect();
        path.reverse();
        path
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_difference_is_in_the_piece_that_is_named() {
        let text = b"a description of forty bytes, or so it is";
        let pieces = Pieces::of(text);
        assert_eq!(pieces.first_difference(41, text), None);
        let mut other = *text;
        other[20] = b'O';
        assert_eq!(pieces.first_difference(41, &other), Some(16..32));
        assert_eq!(pieces.first_difference(41, &[&text[..], b"!"].concat()), Some(41..42));
        assert_eq!(pieces.first_difference(41, &text[..33]), Some(32..41));
        assert_eq!(Pieces::of(b"").first_difference(0, b""), None);
        assert_eq!(Pieces::of(b"").first_difference(0, b"abc"), Some(0..3));
    }

    proptest! {
        #[test]
        fn every_change_lies_in_its_piece(
            bytes in prop::collection::vec(any::<u8>(), 1..3_000),
            at in any::<prop::sample::Index>(),
        ) {
            let at = at.index(bytes.len());
            let mut other = bytes.clone();
            other[at] ^= 1;
            let pieces = Pieces::of(&bytes);
            let length = bytes.len() as u64;
            let range = pieces.first_difference(length, &other).expect("a difference");
            prop_assert!(range.contains(&(at as u64)));
            prop_assert!(range.end - range.start <= length.div_ceil(64).max(16));
            prop_assert_eq!(Pieces::try_from(pieces.to_string()), Ok(pieces));
        }
    }
}
