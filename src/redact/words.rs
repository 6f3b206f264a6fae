//! The words of the input, so that no replacement is one of them by chance.
//!
//! Of 26 letters so many words of five can be made that among millions of random ones some would be
//! words of the input. Therefore a letter that may be the last of a word is replaced with an eye on
//! all words: by which letters would what stands before it become one of them? That cannot be avoided
//! where words of the input have nearly every letter after the same beginning, as the random letters
//! of signatures do; in text no beginning comes near it.

use rustc_hash::FxHashMap;

/// Shorter words do not matter: there are too few of them to avoid.
pub(super) const SHORTEST_WORD: u32 = 5;

/// So many beginnings of words are remembered, in about 70 MB; of an input with more, which is not
/// text any more, the rest is left to chance.
const MOST_BEGINNINGS: usize = 2_000_000;

/// The words of five letters or more, whatever their case: for each the letters that complete what
/// stands in front of its last one.
#[derive(Default)]
pub(super) struct Words {
    last_letters: FxHashMap<u64, u32>,
}

/// Letters that follow each other.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Word {
    hash: u64,
    letters: u32,
}

impl Word {
    /// Goes on with a letter, which is small or has no case.
    #[inline]
    pub(super) fn add(&mut self, letter: char) {
        // A prime near the golden ratio of 2⁶⁴ spreads the bits.
        let mixed = self.hash.rotate_left(23) ^ u64::from(u32::from(letter));
        self.hash = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.letters += 1;
    }

    /// Whether one more letter may make it long enough to matter.
    #[inline]
    pub(super) fn is_long(self) -> bool {
        self.letters + 1 >= SHORTEST_WORD
    }
}

impl Words {
    /// Takes in a word that is over, if it is long enough: what stands in front of its last letter, and
    /// that letter's place in the alphabet.
    pub(super) fn complete(&mut self, word: Option<(Word, u8)>) {
        let Some((front, last)) = word else { return };
        let is_full = self.last_letters.len() >= MOST_BEGINNINGS;
        match self.last_letters.get_mut(&front.hash) {
            Some(letters) => *letters |= 1 << last,
            None if is_full => {}
            None => {
                self.last_letters.insert(front.hash, 1 << last);
            }
        }
    }

    /// The letters that complete a word, as bits.
    #[inline]
    pub(super) fn last_letters(&self, front: Word) -> u32 {
        self.last_letters.get(&front.hash).copied().unwrap_or(0)
    }

    /// Whether a run of letters is a word of the input.
    pub(super) fn contains(&self, run: &str) -> bool {
        let mut front = Word::default();
        let mut letters = run.chars().flat_map(char::to_lowercase).peekable();
        while let Some(letter) = letters.next() {
            if letters.peek().is_none() && letter.is_ascii_lowercase() {
                return self.last_letters(front) & (1 << (letter as u8 - b'a')) != 0;
            }
            front.add(letter);
        }
        false
    }
}
