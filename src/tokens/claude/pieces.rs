//! Pieces of a vocabulary, as a trie of bytes.
//!
//! A file of pieces is sorted and front-coded: a line has the number of bytes that the piece shares with the one before
//! it, a space, and the rest, with escapes for markers and white space. `models/tokens/from_ctok.py` writes it.

use super::tile::WINDOW;

/// Marker of the beginning of a word.
pub(super) const WORD_BEGINS: u8 = 1;
/// Marker of the end of a word.
pub(super) const WORD_ENDS: u8 = 2;
/// Marker of a word with a capital first letter.
pub(super) const CAPITAL: u8 = 3;
/// Marker of a word of capitals.
pub(super) const CAPITALS: u8 = 4;

/// A set of pieces, each of two bytes or more, as a double-array trie. Single bytes are always pieces.
///
/// The child of a node by a byte is at the sum of the node's base and the byte, if that place names the node as its
/// parent.
#[derive(Debug)]
pub(super) struct Pieces {
    places: Vec<Place>,
}

/// A place of the array, taken by a node or free.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// Place of the parent; [`FREE`] without a node.
    parent: u32,
    /// Twice the base of the children, plus one if a piece ends here.
    base: u32,
}

/// Parent of a free place. No node has it: the root is its own parent, at 0.
const FREE: u32 = u32::MAX;

/// Places that are tried for several children of a node before the places in front count as full.
const MOST_TRIES: usize = 256;

impl Pieces {
    /// Parses a file of pieces.
    ///
    /// # Panics
    /// If the file is damaged: it is part of the program.
    pub(super) fn read(file: &str) -> Self {
        let mut text = Vec::with_capacity(file.len() * 2);
        let mut starts = vec![0];
        let mut before = 0;
        for line in file.lines().filter(|line| !line.starts_with('#')) {
            let (shared, rest) = line.split_once(' ').expect("a count and a rest");
            let shared: usize = shared.parse().expect("a count");
            let start = text.len();
            text.extend_from_within(before..before + shared);
            unescape(rest.as_bytes(), &mut text);
            before = start;
            starts.push(text.len());
        }
        let pieces: Vec<&[u8]> = starts.windows(2).map(|ends| &text[ends[0]..ends[1]]).collect();
        debug_assert!(pieces.is_sorted());
        Self::of(&pieces)
    }

    /// Builds the trie of sorted pieces, level by level.
    fn of(pieces: &[&[u8]]) -> Self {
        let longest = pieces.iter().map(|piece| piece.len()).max().unwrap_or(0);
        assert!(longest < WINDOW, "a piece of {longest} bytes");
        let mut array =
            Array { places: vec![Place { parent: 0, base: 0 }], first_free: 1, begin: 1 };
        // The nodes of a level, each with its pieces, which are neighbours in the sorted list.
        let mut level = vec![(0, pieces)];
        let mut depth = 0;
        while !level.is_empty() {
            let mut next = Vec::new();
            for (node, below) in level {
                let is_piece = below.first().is_some_and(|piece| piece.len() == depth);
                let children: Vec<&[&[u8]]> = below[usize::from(is_piece)..]
                    .chunk_by(|one, other| one[depth] == other[depth])
                    .collect();
                let bytes: Vec<u8> = children.iter().map(|same| same[0][depth]).collect();
                let base = array.add_children(node, &bytes);
                array.places[node].base = base << 1 | u32::from(is_piece);
                let at = |byte: u8| base as usize + usize::from(byte);
                next.extend(bytes.iter().map(|byte| at(*byte)).zip(children));
            }
            level = next;
            depth += 1;
        }
        // Padding, so that no byte leads beyond the end.
        array.places.resize(array.places.len() + 256, Place { parent: FREE, base: 0 });
        Self { places: array.places }
    }

    /// Calls `found` with the length of every piece of two bytes or more at the beginning of a text.
    #[inline]
    pub(super) fn beginning(&self, text: &[u8], mut found: impl FnMut(usize)) {
        let mut node = 0;
        let mut base = self.places[0].base;
        for (place, byte) in text.iter().enumerate() {
            let child = (base >> 1) as usize + usize::from(*byte);
            let Place { parent, base: of_child } = self.places[child];
            if parent != node {
                return;
            }
            (node, base) = (u32::try_from(child).unwrap_or(FREE), of_child);
            if base & 1 == 1 {
                found(place + 1);
            }
        }
    }
}

/// A double array under construction.
struct Array {
    places: Vec<Place>,
    /// Lower bound of the free places.
    first_free: usize,
    /// Place before which few places are free.
    begin: usize,
}

impl Array {
    fn is_free(&self, place: usize) -> bool {
        self.places.get(place).is_none_or(|place| place.parent == FREE)
    }

    /// Gives the children of a node, by their bytes in order, places of their own, and returns their base.
    fn add_children(&mut self, node: usize, bytes: &[u8]) -> u32 {
        let base = match bytes {
            [] => return 0,
            [only] => self.place_for_one(usize::from(*only)),
            [first, ..] => self.place_for_several(usize::from(*first), bytes),
        };
        let parent = u32::try_from(node).expect("fewer than 2^31 places");
        for byte in bytes {
            let place = base + usize::from(*byte);
            if self.places.len() <= place {
                self.places.resize(place + 1, Place { parent: FREE, base: 0 });
            }
            self.places[place].parent = parent;
        }
        u32::try_from(base).expect("fewer than 2^31 places")
    }

    /// Base of an only child, as most nodes have, which fills the first gap.
    fn place_for_one(&mut self, byte: usize) -> usize {
        while !self.is_free(self.first_free) {
            self.first_free += 1;
        }
        let from = self.first_free.max(byte);
        // Places beyond the end are free.
        let end = from.max(self.places.len());
        (from..=end).find(|place| self.is_free(*place)).unwrap_or(end) - byte
    }

    fn place_for_several(&mut self, first: usize, bytes: &[u8]) -> usize {
        let from = self.begin.max(first);
        let fits = |base: &usize| bytes.iter().all(|byte| self.is_free(base + usize::from(*byte)));
        // Places beyond the end are free.
        let end = from.max(self.places.len());
        let base = (from - first..=end).find(fits).unwrap_or(end);
        if base + first > from + MOST_TRIES {
            self.begin = base + first;
        }
        base
    }
}

/// Adds the bytes of an escaped text.
fn unescape(escaped: &[u8], text: &mut Vec<u8>) {
    let mut rest = escaped;
    while let [byte, after @ ..] = rest {
        rest = after;
        match (byte, after) {
            (b'\\', [b'x', high, low, after @ ..]) => {
                let digit = |digit: &u8| (*digit as char).to_digit(16).expect("a digit");
                text.push(u8::try_from(digit(high) * 16 + digit(low)).expect("a byte"));
                rest = after;
            }
            (b'\\', [name, after @ ..]) => {
                text.push(named(*name));
                rest = after;
            }
            _ => text.push(*byte),
        }
    }
}

/// Byte of an escape's name.
fn named(name: u8) -> u8 {
    match name {
        b'b' => WORD_BEGINS,
        b'e' => WORD_ENDS,
        b'u' => CAPITAL,
        b'c' => CAPITALS,
        b'n' => b'\n',
        b't' => b'\t',
        b's' => b' ',
        other => other,
    }
}
