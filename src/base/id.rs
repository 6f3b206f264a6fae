//! Identifiers: entries and tool calls as fixed-size numbers, repeated strings as symbols.

use std::hash::BuildHasher;
use std::num::{NonZeroU32, NonZeroU64};
use std::ops::Range;

use blake2::Blake2b;
use blake2::digest::Digest;
use blake2::digest::consts::U16;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rustc_hash::FxBuildHasher;

/// Index into a list of fewer than 2³² elements; an `Option` of it takes no more room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ordinal(NonZeroU32);

impl Ordinal {
    /// The ordinal of an index.
    ///
    /// # Panics
    /// Never in practice: an input would need 2³² lines.
    #[inline]
    pub fn at(index: usize) -> Self {
        let number = u32::try_from(index + 1).ok().and_then(NonZeroU32::new);
        Self(number.expect("fewer than 2^32 things"))
    }

    /// Index, from 0 on.
    #[inline]
    pub fn index(self) -> usize {
        self.number() as usize
    }

    /// The same element behind `others` that were put before its list.
    #[must_use]
    pub fn after(self, others: usize) -> Self {
        Self::at(others + self.index())
    }

    /// Index in 32 bits.
    #[inline]
    pub fn number(self) -> u32 {
        self.0.get() - 1
    }
}

/// Identity of a transcript line or of a tool call.
///
/// A UUID is its own 128-bit value. Any other string is the first 128 bits of its `BLAKE2b` hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId {
    /// Two halves instead of a `u128`, whose alignment would waste room in larger structs. Nonzero, so
    /// that an `Option` of an id is no larger than the id.
    high: NonZeroU64,
    low: u64,
}

impl EntryId {
    /// The identity of `text`.
    pub fn of(text: &str) -> Self {
        let (high, low) = parse_uuid(text.as_bytes()).unwrap_or_else(|| {
            let hash = u128::from_be_bytes(Blake2b::<U16>::digest(text).into());
            halves(hash)
        });
        // A high half of zero does not fit `NonZeroU64`; 1 takes its place.
        Self { high: NonZeroU64::new(high).unwrap_or(NonZeroU64::MIN), low }
    }

    /// This value as a UUID in lower case.
    pub fn uuid(self) -> String {
        let digits = format!("{:016x}{:016x}", self.high, self.low);
        // `digits` has no dashes, so these are the groups of `UUID_GROUPS` without dashes.
        [0..8, 8..12, 12..16, 16..20, 20..32].map(|group| &digits[group]).join("-")
    }

    /// Returns true if [`EntryId::uuid`] of `text` gives `text` back.
    pub fn is_uuid(self, text: &str) -> bool {
        let has_large_letters = text.bytes().any(|byte| byte.is_ascii_uppercase());
        !has_large_letters && parse_uuid(text.as_bytes()) == Some((self.high.get(), self.low))
    }
}

#[allow(clippy::cast_possible_truncation)] // the halves of 128 bits have 64
fn halves(value: u128) -> (u64, u64) {
    ((value >> 64) as u64, value as u64)
}

/// Groups of hexadecimal digits in a UUID.
const UUID_GROUPS: [Range<usize>; 5] = [0..8, 9..13, 14..18, 19..23, 24..36];

fn parse_uuid(text: &[u8]) -> Option<(u64, u64)> {
    if text.len() != 36 || [8, 13, 18, 23].iter().any(|place| text[*place] != b'-') {
        return None;
    }
    let mut groups = [0; 5];
    for (value, group) in groups.iter_mut().zip(UUID_GROUPS) {
        *value = hexadecimal(&text[group])?;
    }
    let [first, second, third, fourth, fifth] = groups;
    Some((first << 32 | second << 16 | third, fourth << 48 | fifth))
}

/// Value of each byte as a hexadecimal digit, and something larger for other bytes. A table, because the ids are most
/// of the bytes that are read one by one.
const DIGITS: [u8; 256] = {
    let mut digits = [u8::MAX; 256];
    let mut digit = 0;
    while digit < 16 {
        digits[b"0123456789abcdef"[digit as usize] as usize] = digit;
        digits[b"0123456789ABCDEF"[digit as usize] as usize] = digit;
        digit += 1;
    }
    digits
};

fn hexadecimal(digits: &[u8]) -> Option<u64> {
    let (mut value, mut all) = (0, 0);
    for byte in digits {
        let digit = DIGITS[usize::from(*byte)];
        // One check after the loop is enough: any byte that is not a digit sets a high bit.
        all |= digit;
        value = value << 4 | u64::from(digit & 15);
    }
    (all < 16).then_some(value)
}

/// A repeated string, as an index into a [`Symbols`] table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol(NonZeroU32);

impl Symbol {
    /// # Panics
    /// Never in practice: a table would need 2³² different strings.
    fn at(index: usize) -> Self {
        let number = u32::try_from(index + 1).ok().and_then(NonZeroU32::new);
        Self(number.expect("fewer than 2^32 symbols"))
    }

    /// Index in the table.
    pub fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// A table of distinct strings in one piece of memory.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    text: String,
    /// End of each string in `text`, in bytes.
    ends: Vec<usize>,
    by_text: HashTable<Symbol>,
}

impl Symbols {
    /// Returns the symbol of `text`, and adds the string if it is new.
    pub fn intern(&mut self, text: &str) -> Symbol {
        let Self { text: all, ends, by_text } = self;
        let entry = by_text.entry(
            hash(text),
            |known| text_of(all, ends, *known) == text,
            |known| hash(text_of(all, ends, *known)),
        );
        match entry {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(place) => {
                let symbol = Symbol::at(ends.len());
                place.insert(symbol);
                all.push_str(text);
                ends.push(all.len());
                symbol
            }
        }
    }

    /// Like [`Symbols::intern`], but compares with `latest` first, the symbol of the previous call: neighbouring lines
    /// mostly repeat it.
    pub fn intern_repeated(&mut self, text: &str, latest: &mut Option<Symbol>) -> Symbol {
        if let Some(symbol) = latest.filter(|symbol| self.text(*symbol) == text) {
            return symbol;
        }
        *latest.insert(self.intern(text))
    }

    /// String of a symbol of this table.
    #[inline]
    pub fn text(&self, symbol: Symbol) -> &str {
        text_of(&self.text, &self.ends, symbol)
    }

    /// Adds every string of `other` and returns the new symbol of each.
    pub fn absorb(&mut self, mut other: Self) -> Moved {
        self.drain(&mut other)
    }

    /// Adds every string of `other` and returns the new symbol of each. `other` is left empty and keeps its memory.
    pub fn drain(&mut self, other: &mut Self) -> Moved {
        // An empty table takes the other one as a whole, so the symbols stay valid as they are.
        if self.ends.is_empty() {
            std::mem::swap(self, other);
            return Moved(None);
        }
        let symbols = (0..other.ends.len()).map(Symbol::at);
        let moved = symbols.map(|symbol| self.intern(other.text(symbol))).collect();
        other.clear();
        Moved(Some(moved))
    }

    fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
        self.by_text.clear();
    }
}

/// Map from the symbols of one table to those of another.
#[derive(Debug)]
pub struct Moved(Option<Vec<Symbol>>);

impl Moved {
    /// Returns true if every symbol stays the same.
    pub fn is_identity(&self) -> bool {
        self.0.is_none()
    }

    /// The symbol in the other table.
    ///
    /// # Panics
    /// If `symbol` does not belong to the first table.
    pub fn symbol(&self, symbol: Symbol) -> Symbol {
        self.0.as_ref().map_or(symbol, |moved| moved[symbol.index()])
    }
}

/// A value that names strings of a table by their symbols.
pub trait HasSymbols {
    /// Replaces the symbols by those of another table for the same strings.
    fn move_symbols(&mut self, moved: &Moved);
}

impl HasSymbols for Symbol {
    fn move_symbols(&mut self, moved: &Moved) {
        *self = moved.symbol(*self);
    }
}

impl<T: HasSymbols> HasSymbols for Option<T> {
    fn move_symbols(&mut self, moved: &Moved) {
        if let Some(one) = self {
            one.move_symbols(moved);
        }
    }
}

impl<T: HasSymbols> HasSymbols for [T] {
    fn move_symbols(&mut self, moved: &Moved) {
        for one in self {
            one.move_symbols(moved);
        }
    }
}

impl HasSymbols for (Symbol, Symbol) {
    fn move_symbols(&mut self, moved: &Moved) {
        self.0.move_symbols(moved);
        self.1.move_symbols(moved);
    }
}

impl HasSymbols for (EntryId, Symbol) {
    fn move_symbols(&mut self, moved: &Moved) {
        self.1.move_symbols(moved);
    }
}

/// Implements [`HasSymbols`] for a struct. Every field is in one of the two lists, so a new field does not compile
/// until it is in one of them.
macro_rules! has_symbols {
    ($type:ident { $($moved:ident),+ } beside { $($kept:ident),* }) => {
        impl $crate::base::id::HasSymbols for $type {
            fn move_symbols(&mut self, moved: &$crate::base::id::Moved) {
                let Self { $($moved,)+ $($kept: _,)* } = self;
                $($moved.move_symbols(moved);)+
            }
        }
    };
}
pub(crate) use has_symbols;

fn text_of<'a>(all: &'a str, ends: &[usize], symbol: Symbol) -> &'a str {
    // A string begins at the end of the one before it.
    let start = symbol.index().checked_sub(1).map_or(0, |before| ends[before]);
    &all[start..ends[symbol.index()]]
}

fn hash(text: &str) -> u64 {
    FxBuildHasher.hash_one(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_is_its_value_whatever_its_case() {
        let lower = EntryId::of("6fe4e511-70ab-4c00-8000-00000000000a");
        let upper = EntryId::of("6FE4E511-70AB-4C00-8000-00000000000A");
        assert_eq!(lower, upper);
        assert_ne!(lower, EntryId::of("6fe4e511-70ab-4c00-8000-00000000000b"));
    }

    #[test]
    fn a_uuid_in_small_letters_is_given_back() {
        let uuid = "6fe4e511-70ab-4c00-8000-00000000000a";
        assert_eq!(EntryId::of(uuid).uuid(), uuid);
        assert!(EntryId::of(uuid).is_uuid(uuid));
        let large = "6FE4E511-70AB-4C00-8000-00000000000A";
        let almost = "6fe4e511-70ab-4c00-8000-0000000000-a";
        for other in [large, almost, "u-1", &uuid[..35], &format!("{uuid}0")] {
            assert!(!EntryId::of(other).is_uuid(other), "{other}");
        }
        // A high half of zero does not fit `NonZeroU64`: another value takes its place.
        let nothing = "00000000-0000-0000-0000-000000000000";
        assert!(!EntryId::of(nothing).is_uuid(nothing));
    }

    #[test]
    fn other_names_are_hashed() {
        assert_ne!(EntryId::of("u-1"), EntryId::of("u-2"));
        assert_eq!(EntryId::of("u-1"), EntryId::of("u-1"));
    }

    #[test]
    fn a_table_keeps_each_string_once_and_whole() {
        let mut symbols = Symbols::default();
        let texts = ["", "a", "ab", "b", "ä"];
        let first: Vec<Symbol> = texts.iter().map(|text| symbols.intern(text)).collect();
        let mut latest = None;
        for (text, symbol) in texts.iter().zip(&first) {
            assert_eq!(symbols.text(*symbol), *text);
            assert_eq!(symbols.intern(text), *symbol);
            assert_eq!(symbols.intern_repeated(text, &mut latest), *symbol);
            assert_eq!(symbols.intern_repeated(text, &mut latest), *symbol);
        }
    }

    #[test]
    fn symbols_survive_a_merge() {
        let mut left = Symbols::default();
        let mut right = Symbols::default();
        left.intern("a");
        let b = right.intern("b");
        let a = right.intern("a");
        let moved = left.absorb(right.clone());
        assert_eq!(left.text(moved.symbol(b)), "b");
        assert_eq!(left.text(moved.symbol(a)), "a");
        assert_eq!(moved.symbol(a), left.intern("a"));
        assert!(!moved.is_identity());
        let mut empty = Symbols::default();
        assert!(empty.drain(&mut right).is_identity());
        assert_eq!((empty.text(b), empty.text(a)), ("b", "a"));
        assert_eq!(right.intern("c"), b);
    }
}
