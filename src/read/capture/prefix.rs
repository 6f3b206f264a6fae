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

use blake2::Blake2b;
use blake2::digest::Digest;
use blake2::digest::consts::U32;

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

#[cfg(test)]
mod tests {
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
}
