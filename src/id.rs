//! Identities: entries and tool calls as fixed-size numbers, repeated strings as symbols.

use std::num::NonZeroU128;

use blake2::Blake2b;
use blake2::digest::Digest;
use blake2::digest::consts::U16;
use rustc_hash::FxHashMap;

/// The identity of a transcript line or of a tool call.
///
/// A UUID is its own 128-bit value; any other string is the first 128 bits of its `BLAKE2b` hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId(NonZeroU128);

impl EntryId {
    /// The identity that `text` names.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let value = parse_uuid(text.as_bytes())
            .unwrap_or_else(|| u128::from_be_bytes(Blake2b::<U16>::digest(text).into()));
        Self(NonZeroU128::new(value).unwrap_or(NonZeroU128::MIN))
    }
}

fn parse_uuid(text: &[u8]) -> Option<u128> {
    if text.len() != 36 {
        return None;
    }
    let mut value = 0_u128;
    for (position, byte) in text.iter().enumerate() {
        if matches!(position, 8 | 13 | 18 | 23) {
            if *byte != b'-' {
                return None;
            }
            continue;
        }
        let digit = char::from(*byte).to_digit(16)?;
        value = value << 4 | u128::from(digit);
    }
    Some(value)
}

/// A string that occurs often, as an index into a [`Symbols`] table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol(u32);

impl Symbol {
    /// The position in the table.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A table of strings, each kept once.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    strings: Vec<Box<str>>,
    by_string: FxHashMap<Box<str>, Symbol>,
}

impl Symbols {
    /// The symbol of `text`, new or known.
    ///
    /// # Panics
    /// Never in practice: a table would need 2³² different strings.
    pub fn intern(&mut self, text: &str) -> Symbol {
        if let Some(symbol) = self.by_string.get(text) {
            return *symbol;
        }
        let symbol = Symbol(u32::try_from(self.strings.len()).expect("fewer than 2^32 symbols"));
        self.strings.push(text.into());
        self.by_string.insert(text.into(), symbol);
        symbol
    }

    /// The string behind a symbol of this table.
    #[must_use]
    pub fn text(&self, symbol: Symbol) -> &str {
        &self.strings[symbol.index()]
    }

    /// Takes every string of `other` over and says which symbol each has here.
    pub fn absorb(&mut self, other: &Self) -> Vec<Symbol> {
        other.strings.iter().map(|text| self.intern(text)).collect()
    }
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
    fn other_names_are_hashed() {
        assert_ne!(EntryId::of("u-1"), EntryId::of("u-2"));
        assert_eq!(EntryId::of("u-1"), EntryId::of("u-1"));
    }

    #[test]
    fn symbols_survive_a_merge() {
        let mut left = Symbols::default();
        let mut right = Symbols::default();
        left.intern("a");
        let b = right.intern("b");
        let a = right.intern("a");
        let moved = left.absorb(&right);
        assert_eq!(left.text(moved[b.index()]), "b");
        assert_eq!(left.text(moved[a.index()]), "a");
        assert_eq!(moved[a.index()], left.intern("a"));
    }
}
