//! Prompts with known bytes as paths through one tree, with one node for equal prefixes.
//!
//! A node is known by its [`PrefixHash`], so the order of the prompts, their threads and their files
//! do not matter.
//!
//! The identity of a prefix: a chain of hashes over canonical bytes.
//!
//! The byte contract, `cachesim.prefix/v1`:
//!
//! ```text
//! H(node) = BLAKE2b-256( "cachesim.prefix/v1" ‖ H(parent) ‖ label ‖ 0x0A ‖ bytes )
//! ```
//!
//! `H(parent)` is 32 zero bytes for the root. A prompt is this chain of nodes:
//!
//! | label | bytes | how often |
//! | --- | --- | --- |
//! | `model` | the model's id | once, the root |
//! | `tool` | canonical bytes | each tool that is not deferred |
//! | `system-settings` | canonical JSON of the settings in front of the system prompt | once |
//! | `system` | canonical bytes | each block of the system prompt |
//! | `message-settings` | canonical JSON of the settings in front of the messages | once |
//! | `message ` and the role as a JSON string | canonical bytes | the first block of a message |
//! | `block` | canonical bytes | every other block of a message |
//!
//! If the attribution line is no part of the key, only its name is among the canonical bytes of its block, and
//! the text behind the line. `cache_edits` are no nodes.
//!
//! Equal hashes are equal prefixes, whatever the order of files and threads.
//!
//! Landmarks: digests along the bytes of a block, which show how much of their beginnings two blocks share
//! once their text is gone.
//!
//! A landmark is a digest of all bytes before it. Two blocks share as many as both have in front of their
//! first difference; so the common beginning is known to the distance of two landmarks.
//! first difference; so the common beginning is known to the distance of two landmarks.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use blake2::Blake2b;
use blake2::digest::Digest;
use blake2::digest::consts::U32;
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use serde::Deserialize;

use super::block::BlockKind;
use super::size::TokenCounting;
use super::sketch::BlockSketch;

use crate::base::words;

/// Node, as a position in [`WireTree::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WireNodeId(pub u32);

words! {
    /// A node's part of the prompt.
    #[derive(Deserialize)]
    pub enum Part {
        /// The model. Each has caches of its own.
        Model = "model";
        /// A tool.
        Tool = "tool";
        /// Speed and citations, which are in front of the system prompt.
        SystemSettings = "system_settings";
        /// A block of the system prompt.
        System = "system";
        /// Thinking, tool choice, effort, format and the presence of images.
        MessageSettings = "message_settings";
        /// The first block of a message.
        MessageStart = "message";
        /// Another block of a message.
        Block = "block";
    }
}

impl Part {
    /// Returns true for a block of a message.
    pub fn is_message(self) -> bool {
        matches!(self, Self::MessageStart | Self::Block)
    }

    /// Returns true for content, which has a position, and false for a setting.
    pub fn is_block(self) -> bool {
        !matches!(self, Self::Model | Self::SystemSettings | Self::MessageSettings)
    }
}

/// End of a prefix.
#[derive(Clone, Debug)]
pub struct WireNode {
    /// Identity of the whole prefix.
    pub hash: PrefixHash,
    /// Prefix in front; always an earlier node.
    pub parent: Option<WireNodeId>,
    /// Part of the prompt that this node adds.
    pub part: Part,
    /// Kind of its block.
    pub kind: BlockKind,
    /// Its block, whatever is in front of it.
    pub sketch: BlockSketch,
    /// Tokens of its own, as counted.
    pub tokens: u64,
    /// True if these and the tokens of all before it were counted in the model's vocabulary, with known
    /// frames, and none of them was estimated.
    pub is_counted: bool,
    /// Canonical bytes, if they are kept.
    pub bytes: Option<Arc<[u8]>>,
    /// Role of the message that begins here as canonical JSON, if bytes are kept.
    pub role: Option<Arc<[u8]>>,
    /// Landmarks of its bytes, if they are kept.
    pub landmarks: Option<Arc<[Landmark]>>,
}

impl WireNode {
    /// Canonical bytes as text; empty if they are not kept.
    pub fn text(&self) -> &str {
        // Canonical bytes are made from text, so they are UTF-8.
        std::str::from_utf8(self.bytes.as_deref().unwrap_or_default()).unwrap_or_default()
    }
}

/// Tree of prefixes.
#[derive(Debug, Default)]
pub struct WireTree {
    /// Nodes, parents before their children.
    pub nodes: Vec<WireNode>,
    by_hash: FxHashMap<PrefixHash, WireNodeId>,
    /// Kept bytes, each once, whatever is in front of them.
    contents: FxHashSet<Arc<[u8]>>,
    /// Landmarks, each list once.
    landmarks: FxHashSet<Arc<[Landmark]>>,
}

impl WireTree {
    /// Node of an id.
    pub fn node(&self, id: WireNodeId) -> &WireNode {
        &self.nodes[id.0 as usize]
    }

    /// Node and all before it, from its end to the root.
    pub fn path(&self, id: WireNodeId) -> impl Iterator<Item = WireNodeId> + '_ {
        std::iter::successors(Some(id), |id| self.node(*id).parent)
    }

    /// Last node that two paths share; `None` if not even the model is the same.
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

    /// Node with a hash.
    pub fn find(&self, hash: PrefixHash) -> Option<WireNodeId> {
        self.by_hash.get(&hash).copied()
    }

    /// Shared copy of some bytes.
    pub(super) fn keep(&mut self, bytes: &[u8]) -> Arc<[u8]> {
        keep_once(&mut self.contents, bytes)
    }

    /// Shared copy of some landmarks.
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

    /// Takes over every node of `other`, and returns the id of each here.
    pub fn absorb(&mut self, other: Self) -> Vec<WireNodeId> {
        if self.nodes.is_empty() {
            // Bytes and landmarks are kept for nodes alone, so this tree has none.
            *self = other;
            return (0..).map(WireNodeId).take(self.nodes.len()).collect();
        }
        let mut moved: Vec<WireNodeId> = Vec::with_capacity(other.nodes.len());
        for mut node in other.nodes {
            let here = self.find(node.hash).unwrap_or_else(|| {
                // Parents come before their children, so their places here are known.
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
    // Looked up by the slice, so that a known list is not copied.
    if let Some(known) = kept.get(list) {
        return Arc::clone(known);
    }
    let own: Arc<[T]> = list.into();
    kept.insert(Arc::clone(&own));
    own
}

const VERSION: &[u8] = b"cachesim.prefix/v1";

/// Hash of a prefix.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PrefixHash(pub [u8; 32]);

impl PrefixHash {
    /// Parent of a root.
    pub const NOTHING: Self = Self([0; 32]);

    /// The hash of the prefix that extends this one by `bytes`.
    #[must_use]
    pub fn extend(self, label: &str, bytes: &[u8]) -> Self {
        let mut hasher = Blake2b::<U32>::new();
        hasher.update(VERSION);
        hasher.update(self.0);
        hasher.update(label);
        hasher.update(b"\n");
        hasher.update(bytes);
        Self(hasher.finalize().into())
    }
}

impl std::fmt::Display for PrefixHash {
    /// Lower-case hexadecimal digits.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl std::fmt::Debug for PrefixHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

/// Distance of landmarks in bytes, if tokens are no bytes: some ten tokens, a sixth of the smallest step of a
/// provider that has steps.
const ESTIMATED_DISTANCE: usize = 32;

/// Digest of a block up to a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Landmark(u64);

/// Landmarks of a block, the last one at its end.
///
/// If tokens are bytes there is one after each token, so that the common beginning of two blocks is exact.
/// Settings have none: they are no text.
pub(crate) fn landmarks(
    part: Part,
    role: &[u8],
    bytes: &[u8],
    counting: TokenCounting,
) -> Vec<Landmark> {
    if !part.is_block() {
        return Vec::new();
    }
    let distance = match counting {
        TokenCounting::Exact | TokenCounting::Estimated => ESTIMATED_DISTANCE,
        TokenCounting::Bytes(bytes) => usize::try_from(bytes.get()).unwrap_or(usize::MAX),
    };
    // The same bytes in another part or under another role are not the same prefix.
    let mut state = digest(part as u64, role);
    let next = |piece: &[u8]| {
        state = digest(state, piece);
        Landmark(state)
    };
    bytes.chunks(distance).map(next).collect()
}

/// Digest of a piece, chained to the digest before it.
fn digest(before: u64, piece: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u64(before);
    hasher.write_usize(piece.len());
    hasher.write(piece);
    hasher.finish()
}

/// Number of landmarks that two blocks share.
pub(crate) fn shared(one: &[Landmark], other: &[Landmark]) -> usize {
    let pairs = one.len().min(other.len());
    // Binary search: each landmark covers all before it, so that after a difference all differ.
    let (mut same, mut end) = (0, pairs);
    while same < end {
        let middle = same + (end - same) / 2;
        if one[middle] == other[middle] {
            same = middle + 1;
        } else {
            end = middle;
        }
    }
    same
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use blake2::Blake2b512;

    use super::*;

    #[test]
    fn blake2b_is_that_of_rfc_7693() {
        // Appendix A: BLAKE2b-512 of "abc".
        let expected = "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1\
                        7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923";
        let digest = Blake2b512::digest(b"abc");
        let expected: Vec<u8> = (0..expected.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&expected[at..at + 2], 16).expect("a byte"))
            .collect();
        assert_eq!(digest.as_slice(), expected);
    }

    /// Computed with Python's `hashlib.blake2b(…, digest_size=32)` over the byte contract.
    #[test]
    fn a_chain_of_prefixes_has_the_hashes_of_the_contract() {
        let model = PrefixHash::NOTHING.extend("model", b"claude-opus-5");
        assert_eq!(
            model.to_string(),
            "88da3a623593d2bb5e435595bd6e95721898b1ba80810964bf0463fe9de8239a"
        );
        let tool = model.extend("tool", br#"{"name":"Read","input_schema":{"type":"object"}}"#);
        assert_eq!(
            tool.to_string(),
            "975991e8ec2da948e04c27900010f9d4d50c4f153d244c7f77b00448f1095ef0"
        );
    }

    fn shared_of(one: &str, other: &str, counting: TokenCounting) -> usize {
        let of = |text: &str| landmarks(Part::System, b"", text.as_bytes(), counting);
        shared(&of(one), &of(other))
    }

    #[test]
    fn the_common_beginning_is_known_to_the_token() {
        let by = |bytes| TokenCounting::Bytes(NonZeroU64::new(bytes).expect("not zero"));
        assert_eq!(shared_of("abcdefgh", "abcdexyz", by(1)), 5);
        assert_eq!(shared_of("abcdefgh", "abcdexyz", by(2)), 2);
        assert_eq!(shared_of("abcdefgh", "abcdexyz", by(8)), 0);
        // "ef" is a token of one and the beginning of a token of the other.
        assert_eq!(shared_of("abcdef", "abcdefgh", by(4)), 1);
        assert_eq!(shared_of("", "abc", by(1)), 0);
        let long = "a".repeat(6_000);
        assert_eq!(shared_of(&format!("{long}x"), &format!("{long}y"), by(1)), 6_000);
        // 187 × 32 = 5,984.
        let estimated = TokenCounting::Estimated;
        assert_eq!(shared_of(&format!("{long}x"), &format!("{long}y"), estimated), 187);
    }

    #[test]
    fn parts_and_roles_are_told_apart() {
        let of = |part, role: &str| {
            landmarks(part, role.as_bytes(), b"same", TokenCounting::Bytes(NonZeroU64::MIN))
        };
        let user = of(Part::MessageStart, "\"user\"");
        assert_eq!(shared(&user, &of(Part::MessageStart, "\"user\"")), 4);
        assert_eq!(shared(&user, &of(Part::MessageStart, "\"assistant\"")), 0);
        assert_eq!(shared(&user, &of(Part::Block, "")), 0);
        assert_eq!(of(Part::MessageSettings, ""), []);
    }
}
