//! Digests along the bytes of a block, by which two blocks show how much of their beginnings is the same
//! once their text is gone.
//!
//! A landmark is a digest of all bytes before it. Two blocks share as many as both have in front of their
//! first difference; so the common beginning is known to the distance of two landmarks.

use std::hash::Hasher;

use rustc_hash::FxHasher;

use super::size::TokenCounting;
use super::tree::Part;

/// The distance where tokens are estimated: some ten tokens, a sixth of the smallest step of a provider that
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
        TokenCounting::Estimated => ESTIMATED_DISTANCE,
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

    use super::*;

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
