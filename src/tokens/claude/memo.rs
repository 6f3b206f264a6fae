//! The tokens of short texts that came up before.

/// A text of at most [`MOST_BYTES`] bytes, and of which sort it is, as one number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Key(u128);

/// The most bytes of a text that is remembered.
const MOST_BYTES: usize = 15;

impl Key {
    /// A word as it is written.
    pub(super) fn of_word(word: &[u8]) -> Option<Self> {
        Self::of(word, 0x80)
    }

    /// A text with its markers.
    pub(super) fn of_marked(text: &[u8]) -> Option<Self> {
        Self::of(text, 0)
    }

    fn of(text: &[u8], sort: u8) -> Option<Self> {
        let length = text.len();
        let (low, high) = match length {
            0 | 16.. => return None,
            // Of two reads that overlap, the later one loses what the first one has.
            8.. => (eight(text), (eight(&text[length - 8..]) >> 8) >> (8 * (MOST_BYTES - length))),
            4.. => (four(text), four(&text[length - 4..])),
            _ => {
                (u64::from(text[0]) | u64::from(text[length / 2]) << 8, u64::from(text[length - 1]))
            }
        };
        let sorted = u64::from(sort) | length as u64;
        Some(Self(u128::from(low) | u128::from(high | sorted << 56) << 64))
    }

    fn slot(self) -> usize {
        let [low, high] = bytemuck::cast::<u128, [u64; 2]>(self.0);
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

/// 32,768 texts: half a megabyte, which stays in a core's cache.
const SLOT_BITS: u32 = 15;

/// What came up last in each slot, so that memory is bounded.
pub(super) struct Memo {
    slots: Box<[(Key, u8)]>,
}

impl Memo {
    pub(super) fn new() -> Self {
        Self { slots: vec![(Key(0), 0); 1 << SLOT_BITS].into_boxed_slice() }
    }

    /// The tokens of a text, counted where it is not the last one of its slot.
    pub(super) fn get(&mut self, key: Key, count: impl FnOnce() -> u64) -> u64 {
        let slot = &mut self.slots[key.slot()];
        if slot.0 != key {
            // Small letters have at most half as many bytes again as their capitals, and markers are three.
            *slot = (key, u8::try_from(count()).expect("few bytes are fewer tokens"));
        }
        u64::from(slot.1)
    }
}
