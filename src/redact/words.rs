//! Words of the input, which no replacement may be by chance, and the replacement of identifiers.
//!
//! There are so few five-letter words that among millions of random ones some would be words of the
//! input. So a letter that may end a word is chosen among those that complete no word of the input.
//! This fails if the input continues a prefix with nearly every letter, as the random letters of
//! signatures do. No prefix in text comes close.
//!
//! Equal identifiers stay equal, in all files and in file names, and keep their form.

use rustc_hash::FxHashMap;

use super::key::Purpose;
use super::mapping::Mapping;
use super::vocabulary::id_kind;

/// Least length of a word that matters, in letters: there are too few shorter ones to avoid them.
pub(super) const SHORTEST_WORD: u32 = 5;

/// Limit on remembered prefixes of words, about 70 MB. An input with more is not text any more, and
/// the rest is left to chance.
const MOST_BEGINNINGS: usize = 2_000_000;

/// Words of five letters or more, regardless of case: for each prefix, the letters that complete a
/// word.
#[derive(Default)]
pub(super) struct Words {
    last_letters: FxHashMap<u64, u32>,
}

/// Hash and length of a run of letters.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Word {
    hash: u64,
    letters: u32,
}

impl Word {
    /// Appends a letter that is lower-case or has no case.
    #[inline]
    pub(super) fn add(&mut self, letter: char) {
        // An odd constant near 2⁶⁴ divided by the golden ratio spreads the bits.
        let mixed = self.hash.rotate_left(23) ^ u64::from(u32::from(letter));
        self.hash = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.letters += 1;
    }

    /// Returns true if one more letter may make a word long enough to matter.
    #[inline]
    pub(super) fn is_long(self) -> bool {
        self.letters + 1 >= SHORTEST_WORD
    }
}

impl Words {
    /// Adds a complete word, if it is long enough: the run before its last letter, and the position
    /// of that letter in the alphabet.
    pub(super) fn complete(&mut self, word: Option<(Word, u8)>) {
        let Some((front, last)) = word else { return };
        // Known prefixes still take letters, since only new ones cost memory.
        let is_full = self.last_letters.len() >= MOST_BEGINNINGS;
        match self.last_letters.get_mut(&front.hash) {
            Some(letters) => *letters |= 1 << last,
            None if is_full => {}
            None => {
                self.last_letters.insert(front.hash, 1 << last);
            }
        }
    }

    /// Letters that complete a word of the input after `front`, as bits.
    #[inline]
    pub(super) fn last_letters(&self, front: Word) -> u32 {
        self.last_letters.get(&front.hash).copied().unwrap_or(0)
    }

    /// Returns true if a run of letters is a word of the input.
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

/// Length of a UUID with its hyphens, in bytes.
const UUID: usize = 36;

/// Identifiers that are also file names, with their replacements.
#[derive(Default)]
pub(super) struct Named {
    images: FxHashMap<Vec<u8>, Vec<u8>>,
    originals: FxHashMap<Vec<u8>, Vec<u8>>,
}

impl Named {
    /// Adds a name, and for an agent's file also the name without its prefix, as lines have it.
    pub(super) fn add(&mut self, original: &str, image: &str) {
        self.insert(original, image);
        if let (Some(original), Some(image)) =
            (original.strip_prefix("agent-"), image.strip_prefix("agent-"))
        {
            self.insert(original, image);
        }
    }

    fn insert(&mut self, original: &str, image: &str) {
        self.images.insert(original.into(), image.into());
        self.originals.insert(image.into(), original.into());
    }
}

/// Replaces an identifier in place.
pub(super) fn replace_identifier(mapping: &Mapping, named: &Named, id: &mut [u8]) {
    if let Some(image) = named.images.get(&*id).filter(|image| image.len() == id.len()) {
        return id.copy_from_slice(image);
    }
    replace_by_form(mapping, id);
    // An image that is itself a file name is taken already. Continuing with the original of that
    // file name keeps different identifiers different.
    let mut steps = named.originals.len();
    while let Some(original) = named.originals.get(&*id).filter(|one| one.len() == id.len())
        && steps > 0
    {
        id.copy_from_slice(original);
        replace_by_form(mapping, id);
        steps -= 1;
    }
}

/// Limit on replacing an id again that contains a run of letters long enough for a word. Ids are so
/// short that a few attempts suffice.
const MOST_STEPS: u32 = 1_000;

/// Length of the longest hexadecimal id: a digest of 256 bits.
const MOST_DIGITS: usize = 64;

fn replace_by_form(mapping: &Mapping, id: &mut [u8]) {
    let kind = std::str::from_utf8(id).map_or(0, id_kind);
    let rest = &mut id[kind..];
    if is_hexadecimal(rest) {
        replace_hexadecimal(mapping, rest);
        // The six hexadecimal letters spell words, too.
        let mut steps = MOST_STEPS;
        while has_word(rest) && steps > 0 {
            replace_hexadecimal(mapping, rest);
            steps -= 1;
        }
    } else {
        mapping.text(rest);
    }
}

/// Returns true for a UUID, or lower-case hexadecimal with both digits and letters.
fn is_hexadecimal(id: &[u8]) -> bool {
    let is_hyphen = |byte: u8| byte == b'-';
    if id.len() == UUID {
        let is_at_its_place = |(place, byte): (usize, &u8)| {
            matches!(place, 8 | 13 | 18 | 23) == is_hyphen(*byte)
                && (is_hyphen(*byte) || byte.is_ascii_hexdigit())
        };
        return id.iter().enumerate().all(is_at_its_place);
    }
    // Digits alone may be a number and letters alone a word: both are replaced as text.
    id.len() <= MOST_DIGITS
        && id.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b'-'))
        && id.iter().any(u8::is_ascii_digit)
        && id.iter().any(u8::is_ascii_lowercase)
}

/// Replaces hexadecimal digits. A UUID means the same in upper case, so its digits share one case.
fn replace_hexadecimal(mapping: &Mapping, id: &mut [u8]) {
    let is_capital = id.iter().any(u8::is_ascii_uppercase);
    let mut prefix = mapping.key.prefix(Purpose::Identifier);
    for byte in id {
        let Some(digit) = char::from(*byte).to_digit(16) else { continue };
        // A step of 1 to 15 among 16 digits never gives the same digit.
        let step = prefix.choice() % 15 + 1;
        prefix.add(u64::from(digit));
        let image = (digit + u32::try_from(step).unwrap_or(1)) % 16;
        let image = char::from_digit(image, 16).unwrap_or('0');
        *byte = if is_capital { image.to_ascii_uppercase() as u8 } else { image as u8 };
    }
}

fn has_word(id: &[u8]) -> bool {
    let runs = id.split(|byte| !byte.is_ascii_alphabetic());
    runs.map(<[u8]>::len).any(|letters| letters >= SHORTEST_WORD as usize)
}
