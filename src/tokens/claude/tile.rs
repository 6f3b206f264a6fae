//! A marked text → the fewest pieces that make it up.

use super::pieces::Pieces;

/// More than the longest piece has bytes.
pub(super) const WINDOW: usize = 256;

/// The fewest pieces to each position of a text, of which only those within a piece's length are kept.
pub(super) struct Tiling {
    fewest: Box<[u64; WINDOW]>,
}

impl Tiling {
    pub(super) fn new() -> Self {
        Self { fewest: Box::new([u64::MAX; WINDOW]) }
    }

    /// How many pieces make up a text, at least. Any byte is a piece.
    ///
    /// A piece ends where a character ends, and the first bytes of some characters are pieces; what they leave of
    /// the character is counted byte by byte. So it is the same whether characters or bytes are looked at.
    pub(super) fn fewest(&mut self, pieces: &Pieces, text: &[u8]) -> u64 {
        let fewest = &mut self.fewest;
        fewest[0] = 0;
        for at in 0..text.len() {
            // The place is free for a later position.
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
