//! Classes of characters: what is replaced, and by what kind of character.
//!
//! A character is replaced by one of its class. The classes are chosen so that nothing that measures
//! or tells texts apart can see a difference: all of a class have the same length in UTF-8, and are
//! letters, digits, ideographs or neither alike. Within that they are as large as possible, so that
//! not even the script shows. White space, punctuation, symbols and control characters stay.

use std::sync::OnceLock;

/// The classes of characters beyond ASCII, of which each has thousands.
const CLASSES: usize = 16;

/// What becomes of a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// It stays.
    Kept,
    /// A small Latin letter: its place in the alphabet.
    Lower(u8),
    /// A capital Latin letter: its place in the alphabet.
    Upper(u8),
    /// A digit.
    Digit(u8),
    /// Beyond ASCII: the class, and its place there.
    Other(u8, u32),
}

impl Class {
    pub(super) fn of(character: char) -> Self {
        match character {
            'a'..='z' => Self::Lower(character as u8 - b'a'),
            'A'..='Z' => Self::Upper(character as u8 - b'A'),
            '0'..='9' => Self::Digit(character as u8 - b'0'),
            '\0'..='\x7f' => Self::Kept,
            _ => other(character),
        }
    }

    /// Whether it is part of a word.
    pub(super) fn is_letter(self) -> bool {
        match self {
            Self::Kept | Self::Digit(_) => false,
            Self::Lower(_) | Self::Upper(_) => true,
            Self::Other(class, _) => class % 4 != Kind::Numeric as u8,
        }
    }
}

/// The characters of a class, in their order.
pub(super) fn members(class: u8) -> &'static [char] {
    &tables()[usize::from(class) % CLASSES]
}

/// What a letter beyond ASCII is.
#[derive(Clone, Copy)]
enum Kind {
    Lower = 0,
    Upper = 1,
    /// Of a script without capitals.
    Plain = 2,
    Numeric = 3,
}

fn other(character: char) -> Class {
    let Some(class) = class_number(character) else { return Class::Kept };
    match members(class).binary_search(&character) {
        Ok(place) => Class::Other(class, u32::try_from(place).unwrap_or(0)),
        Err(_) => Class::Kept,
    }
}

/// The number of a class: four kinds for each length in UTF-8, and for ideographs.
fn class_number(character: char) -> Option<u8> {
    if !character.is_alphanumeric() {
        return None;
    }
    let kind = if !character.is_alphabetic() {
        Kind::Numeric
    } else if character.is_lowercase() {
        Kind::Lower
    } else if character.is_uppercase() {
        Kind::Upper
    } else {
        Kind::Plain
    };
    let group = match character.len_utf8() {
        2 => 0,
        3 if is_ideograph(character) => 1,
        3 => 2,
        _ => 3,
    };
    Some(group * 4 + kind as u8)
}

/// What sizes of texts are estimated by (`capture/text_size.rs`).
fn is_ideograph(character: char) -> bool {
    matches!(character,
        '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}')
}

fn tables() -> &'static [Vec<char>; CLASSES] {
    static TABLES: OnceLock<[Vec<char>; CLASSES]> = OnceLock::new();
    TABLES.get_or_init(|| {
        let mut tables: [Vec<char>; CLASSES] = Default::default();
        for character in '\u{80}'..=char::MAX {
            if let Some(class) = class_number(character) {
                tables[usize::from(class)].push(character);
            }
        }
        tables
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_of_one_length_and_has_company() {
        for class in 0..16 {
            let members = members(class);
            assert!(members.len() != 1, "{class}: nothing could take its place");
            let lengths: std::collections::BTreeSet<usize> =
                members.iter().map(|one| one.len_utf8()).collect();
            assert!(lengths.len() <= 1, "{class}");
        }
    }

    #[test]
    fn what_is_no_letter_stays() {
        for character in ['\n', ' ', '_', '"', '…', '\u{feff}', '🦀', '«'] {
            assert_eq!(Class::of(character), Class::Kept, "{character}");
        }
        for character in ['é', 'Ж', '字', '한', '𐐀', '²'] {
            assert!(matches!(Class::of(character), Class::Other(..)), "{character}");
        }
        assert!(Class::of('字').is_letter() && !Class::of('²').is_letter());
    }
}
