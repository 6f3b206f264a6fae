//! Prompts with known bytes as paths through one tree, in which equal prefixes are one node.
//!
//! A node is known by its [`PrefixHash`], so it does not matter in which order, by which thread or
//! from which file the prompts come.
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
//! Where the attribution line is no part of the key, of its block only the name of the line is among the
//! canonical bytes, and what follows the line. `cache_edits` are no nodes.
//!
//! Equal hashes are equal prefixes, whatever the order in which files and threads came to them.
//!
//! Digests along the bytes of a block, by which two blocks show how much of their beginnings is the same
//! once their text is gone.
//!
//! A landmark is a digest of all bytes before it. Two blocks share as many as both have in front of their
//! first difference; so the common beginning is known to the distance of two landmarks.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use blake2::Blake2b;
use blake2::digest::Digest;
use blake2::digest::consts::U32;
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use super::block::BlockKind;
use super::size::TokenCounting;

use crate::base::words::words;

/// A node, as a position in [`WireTree::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WireNodeId(pub u32);

words! {
    /// What a node adds to the prompt.
    pub enum Part {
        /// The model, of which each has caches of its own.
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
    /// Whether it is a block of a message.
    #[must_use]
    pub fn is_message(self) -> bool {
        matches!(self, Self::MessageStart | Self::Block)
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
    /// Whether these and the tokens of all before it were counted in the model's vocabulary, with frames that are
    /// known, and none of them was estimated.
    pub is_counted: bool,
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
        if self.nodes.is_empty() {
            // Bytes and landmarks are kept for nodes alone.
            *self = other;
            return (0..).map(WireNodeId).take(self.nodes.len()).collect();
        }
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

const VERSION: &[u8] = b"cachesim.prefix/v1";

/// The hash of a prefix.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PrefixHash(pub [u8; 32]);

impl PrefixHash {
    /// What stands in front of a root.
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

/// The distance where tokens are no bytes: some ten tokens, a sixth of the smallest step of a provider that
/// has steps.
const ESTIMATED_DISTANCE: usize = 32;

/// A digest of a block up to a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Landmark(u64);

/// The landmarks of a block, the last one at its end. Where tokens are bytes there is one after each
/// token, so that the common beginning of two blocks is exact. Settings have none: they are no text.
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
    let mut state = digest(part as u64, role);
    let next = |piece: &[u8]| {
        state = digest(state, piece);
        Landmark(state)
    };
    bytes.chunks(distance).map(next).collect()
}

/// A digest of a piece after what another digest stands for.
fn digest(before: u64, piece: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u64(before);
    hasher.write_usize(piece.len());
    hasher.write(piece);
    hasher.finish()
}

/// How many landmarks two blocks share.
pub(crate) fn shared(one: &[Landmark], other: &[Landmark]) -> usize {
    let pairs = one.len().min(other.len());
    // Each stands for all before it, so that after a difference all differ.
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
