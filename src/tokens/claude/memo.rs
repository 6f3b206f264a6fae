//! Memo of the tokens of short texts.

/// A text of at most [`MOST_BYTES`] bytes and its sort, as one number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Key(u128);

/// Most bytes of a remembered text.
const MOST_BYTES: usize = 15;

impl Key {
    /// Key of a word as it is written.
    pub(super) fn of_word(word: &[u8]) -> Option<Self> {
        Self::of(word, 0x80)
    }

    /// Key of a text with its markers.
    pub(super) fn of_marked(text: &[u8]) -> Option<Self> {
        Self::of(text, 0)
    }

    fn of(text: &[u8], sort: u8) -> Option<Self> {
        let length = text.len();
        let (low, high) = match length {
            0 | 16.. => return None,
            // The two reads overlap; the second drops the bytes that the first has.
            8.. => (eight(text), (eight(&text[length - 8..]) >> 8) >> (8 * (MOST_BYTES - length))),
            4.. => (four(text), four(&text[length - 4..])),
            _ => {
                (u64::from(text[0]) | u64::from(text[length / 2]) << 8, u64::from(text[length - 1]))
            }
        };
        // The top byte separates texts of different lengths and sorts.
        let sorted = u64::from(sort) | length as u64;
        Some(Self(u128::from(low) | u128::from(high | sorted << 56) << 64))
    }

    fn slot(self) -> usize {
        let [low, high] = bytemuck::cast::<u128, [u64; 2]>(self.0);
        // Fibonacci hashing: 2^64 divided by the golden ratio.
        let mixed = (low ^ high.rotate_left(29)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed >> (u64::BITS - SLOT_BITS)) as usize
    }
}

fn eight(text: &[u8]) -> u64 {
    text.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

fn four(text: &[u8]) -> u64 {
    text.first_chunk().map_or(0, |bytes| u64::from(u32::from_le_bytes(*bytes)))
}

/// Bits for 32,768 texts: half a megabyte, which stays in a core's cache.
const SLOT_BITS: u32 = 15;

/// Direct-mapped cache: the last text of each slot, so that memory is bounded.
pub(super) struct Memo {
    slots: Box<[(Key, u8)]>,
}

impl Memo {
    pub(super) fn new() -> Self {
        Self { slots: vec![(Key(0), 0); 1 << SLOT_BITS].into_boxed_slice() }
    }

    /// Tokens of a text, counted unless it is the last text of its slot.
    pub(super) fn get(&mut self, key: Key, count: impl FnOnce() -> u64) -> u64 {
        let slot = &mut self.slots[key.slot()];
        if slot.0 != key {
            // Small letters take at most half as many bytes again as their capitals, and there are three
            // markers.
            *slot = (key, u8::try_from(count()).expect("few bytes are fewer tokens"));
        }
        u64::from(slot.1)
    }
}
