//! Least number of pieces that make up a marked text.

use super::pieces::Pieces;

/// Size of the ring of positions: more bytes than the longest piece has.
pub(super) const WINDOW: usize = 256;

/// Dynamic programming over positions of a text, with the fewest pieces up to each, for the length of a piece.
pub(super) struct Tiling {
    fewest: Box<[u64; WINDOW]>,
}

impl Tiling {
    pub(super) fn new() -> Self {
        Self { fewest: Box::new([u64::MAX; WINDOW]) }
    }

    /// Least number of pieces that make up a text. Any byte is a piece.
    ///
    /// A piece ends at the end of a character, and the first bytes of some characters are pieces; the rest of such a
    /// character is counted byte by byte. So tiling by characters or by bytes gives the same number.
    pub(super) fn fewest(&mut self, pieces: &Pieces, text: &[u8]) -> u64 {
        let fewest = &mut self.fewest;
        fewest[0] = 0;
        for at in 0..text.len() {
            // The slot becomes free for a later position.
            let here = std::mem::replace(&mut fewest[at % WINDOW], u64::MAX) + 1;
            let mut reach = |length: usize| {
                let place = &mut fewest[(at + length) % WINDOW];
                *place = here.min(*place);
            };
            reach(1);
            pieces.beginning(&text[at..], reach);
        }
        std::mem::replace(&mut fewest[text.len() % WINDOW], u64::MAX)
    }
}
