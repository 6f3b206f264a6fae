//! Block apart from its place: its bytes, the call that it belongs to, and a sketch of its words.

use std::hash::Hasher;
use std::num::NonZeroU64;

use rustc_hash::FxHasher;

/// Identity of a block apart from its place, by which a block that moved or changed is known again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BlockSketch {
    /// Hash of the canonical bytes.
    bytes: u64,
    /// Hash of the id of a call, or of a result's call.
    call: Option<NonZeroU64>,
    /// Sketch of the words (MinHash): the least hashes of three words in a row, under several seeds.
    words: [u16; SEEDS.len()],
}

/// Seeds of the sketch: odd numbers that spread the bits (those of xxHash and of Knuth's generator).
const SEEDS: [u64; 4] =
    [0x9e37_79b1_85eb_ca87, 0xc2b2_ae3d_27d4_eb4f, 0x1656_67b1_9e37_79f9, 0x5851_f42d_4c95_7f2d];

/// Words in a row that a sketch is made of: single words are common to unrelated texts.
const WORDS_IN_A_ROW: usize = 3;

/// Least number of equal parts of the sketches of two texts that are one text, edited. (Of two texts with half of their
/// words in common two of four agree mostly, and of unrelated ones hardly ever.)
const LEAST_ALIKE: usize = 2;

/// Beginning of the canonical bytes of nearly every text: these words say nothing.
const TEXT_FRAME: &[u8] = br#"{"type":"text","text":"#;

impl BlockSketch {
    /// Sketch of a block with these canonical bytes and, if it has one, the id of its call.
    pub(super) fn new(bytes: &[u8], call: Option<&str>) -> Self {
        let call = call.map(|id| hash(id.as_bytes()) | 1).and_then(NonZeroU64::new);
        Self { bytes: hash(bytes), call, words: sketch(bytes) }
    }

    /// Returns true for the same block: the same bytes, or the same call or result.
    pub fn is_same(self, other: Self) -> bool {
        self.bytes == other.bytes || self.is_of_one_call(other)
    }

    /// Hash of the canonical bytes.
    pub fn bytes(self) -> u64 {
        self.bytes
    }

    /// Hash of the id of the call that it is, or belongs to.
    pub fn call(self) -> Option<NonZeroU64> {
        self.call
    }

    /// Returns true if both have the same bytes.
    pub fn has_bytes_of(self, other: Self) -> bool {
        self.bytes == other.bytes
    }

    /// Returns true if both are the same call, or results of it.
    pub fn is_of_one_call(self, other: Self) -> bool {
        self.call.is_some() && self.call == other.call
    }

    /// Returns true if both have so many words in common that one is the other, edited.
    pub fn is_alike(self, other: Self) -> bool {
        let pairs = self.words.iter().zip(&other.words);
        pairs.filter(|(one, other)| one == other).count() >= LEAST_ALIKE
    }
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(bytes);
    hasher.finish()
}

/// Sketch of the words of a block.
fn sketch(bytes: &[u8]) -> [u16; SEEDS.len()] {
    let text = bytes.strip_prefix(TEXT_FRAME).unwrap_or(bytes);
    let words = text.split(|byte| !byte.is_ascii_alphanumeric() && byte.is_ascii());
    let mut row = [0_u64; WORDS_IN_A_ROW];
    let mut least = [u64::MAX; SEEDS.len()];
    for (number, word) in words.filter(|word| !word.is_empty()).enumerate() {
        row.rotate_left(1);
        row[WORDS_IN_A_ROW - 1] = hash(word);
        if number + 1 < WORDS_IN_A_ROW {
            continue;
        }
        let all = row.iter().fold(0_u64, |all, one| all.rotate_left(21) ^ one);
        for (least, seed) in least.iter_mut().zip(SEEDS) {
            *least =
                (*least).min((all ^ seed).wrapping_mul(seed).rotate_left(29).wrapping_mul(seed));
        }
    }
    // Too few words for a row: the same bytes are the same text.
    if least == [u64::MAX; SEEDS.len()] {
        least = SEEDS.map(|seed| hash(bytes).wrapping_mul(seed));
    }
    least.map(|least| u16::try_from((least >> 48) ^ (least & 0xffff)).unwrap_or(u16::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> BlockSketch {
        BlockSketch::new(format!(r#"{{"type":"text","text":"{text}"}}"#).as_bytes(), None)
    }

    #[test]
    fn an_edited_text_is_alike_and_another_one_is_not() {
        let whole = "The parser drops the last line when the file has no newline at its end, so the count \
                     is one too small; see the test of empty input and of two lines.";
        assert!(text(whole).is_alike(text(&format!("  {whole}  "))));
        assert!(text(whole).is_alike(text(&format!("It is 10:05. {whole}"))));
        assert!(text(whole).is_alike(text(&whole[..110])));
        let title = "Suggest a title for this conversation in at most five words, without quotes.";
        assert!(!text(whole).is_alike(text(title)));
        assert!(!text("Go on.").is_alike(text("Stop here.")));
    }

    #[test]
    fn a_call_is_known_by_its_id() {
        let of = |bytes: &str, call| BlockSketch::new(bytes.as_bytes(), call);
        assert!(of("{}", Some("toolu_1")).is_same(of("[]", Some("toolu_1"))));
        assert!(!of("{}", Some("toolu_1")).is_same(of("[]", Some("toolu_2"))));
        assert!(!of("{}", None).is_same(of("[]", None)));
    }
}
