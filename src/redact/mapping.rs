//! Replacements for strings, numbers and bare text.
//!
//! Each character is replaced by another one of its class, chosen by the key and by everything
//! Each character is replaced by another one of its class, chosen by the key and by everything
//! before it in its string. So equal strings get equal replacements, different strings get
//! different ones with exactly as long a common prefix, and the same word in another place gets
//! another replacement.
//!
//! All characters of a class have the same length in UTF-8 and are alike letters, digits,
//! ideographs or none of these, so that no measurement or comparison of text sees a difference.
//! Within that, classes are as large as possible, so that not even the script shows. White space,
//! punctuation, symbols and control characters stay.

use std::ops::Range;
use std::sync::OnceLock;

use super::key::{Key, Prefix, Purpose};
use super::words::{Word, Words};

/// Length limit of ordinary numbers, in bytes. A longer number may exceed the largest float; its length
/// and first digits decide whether it can be read, so these stay.
const LONG_NUMBER: usize = 300;

/// Leading bytes of a long number that stay.
const KEPT_DIGITS: usize = 20;

/// Replacement of a byte that is not UTF-8; it is not UTF-8 either.
const NO_TEXT: u8 = 0xff;

/// Mapping from characters to their replacements.
pub(super) struct Mapping {
    pub(super) key: Key,
    pub(super) words: Words,
}

/// Position in a string, by the text before it.
struct Place {
    prefix: Prefix,
    /// Word up to here, original and replaced.
    word: Word,
    image: Word,
}

impl Mapping {
    /// Replaces a decoded string in place. Bytes that are not UTF-8 stay invalid.
    pub(super) fn text(&self, text: &mut [u8]) {
        self.text_but(text, &[]);
    }

    /// Replaces a decoded string after its first `kept` bytes.
    pub(super) fn text_behind(&self, text: &mut [u8], kept: usize) {
        self.text_but(text, std::slice::from_ref(&(0..kept)));
    }

    /// Replaces a decoded string outside of the ranges in `kept`, which are in order.
    pub(super) fn text_but(&self, text: &mut [u8], kept: &[Range<usize>]) {
        let mut place = Place::begin(self.key.prefix(Purpose::Text));
        let mut kept = kept.iter().peekable();
        let mut at = 0;
        while at < text.len() {
            while kept.next_if(|range| range.end <= at).is_some() {}
            let stays = kept.peek().is_some_and(|range| range.contains(&at));
            at += match character_at(text, at) {
                Some(character) if stays => place.keep(character),
                Some(character) => {
                    let image = self.image(&place, character);
                    place.go_on(character, image);
                    image.encode_utf8(&mut text[at..]).len()
                }
                None => {
                    text[at] = NO_TEXT;
                    place.go_on(char::REPLACEMENT_CHARACTER, char::REPLACEMENT_CHARACTER);
                    1
                }
            };
        }
    }

    fn image(&self, place: &Place, character: char) -> char {
        match Class::of(character) {
            Class::Kept => character,
            Class::Lower(letter) => char::from(b'a' + self.letter(place, letter)),
            Class::Upper(letter) => char::from(b'A' + self.letter(place, letter)),
            Class::Digit(digit) => {
                let digits = self.key.digits(place.prefix.choice());
                char::from(b'0' + digits[usize::from(digit)])
            }
            Class::Other(class, position) => {
                let members = members(class);
                let others = members.len() as u64 - 1;
                // A shift of at least one and less than a full circle never gives the same
                // character.
                let moved = u64::from(position) + 1 + place.prefix.choice() % others.max(1);
                let image = usize::try_from(moved % (others + 1)).unwrap_or(0);
                members[image]
            }
        }
    }

    /// Image of a letter, under the first permutation, from the chosen one on, that turns no word that
    /// occurs here into a word of the input.
    #[inline]
    fn letter(&self, place: &Place, letter: u8) -> u8 {
        let choice = place.prefix.choice();
        let chosen = self.key.letters(choice);
        if place.word.is_long() {
            let avoided = self.words.last_letters(place.image);
            if avoided != 0 {
                return self.letter_but(place, letter, choice, avoided);
            }
        }
        chosen[usize::from(letter)]
    }

    // All letters that occur here share one permutation, so that different letters keep different
    // images.
    fn letter_but(&self, place: &Place, letter: u8, choice: u64, avoided: u32) -> u8 {
        let occurring = self.words.last_letters(place.word);
        let is_clear = |images: &&[u8; 26]| {
            let mut completing = (0..26).filter(|letter| occurring & (1 << letter) != 0);
            completing.all(|letter: usize| avoided & (1 << images[letter]) == 0)
        };
        let clear = self.key.letters_from(choice).find(is_clear);
        clear.unwrap_or_else(|| self.key.letters(choice))[usize::from(letter)]
    }

    /// Replaces the nonzero digits of a number. Zeros, exponents and the form stay, so that equal
    /// numbers stay equal, whether they can be read or not.
    pub(super) fn number(&self, number: &mut [u8]) {
        let mut prefix = self.key.prefix(Purpose::Number);
        let end = number.iter().position(|byte| matches!(byte, b'e' | b'E'));
        let end = end.unwrap_or(number.len());
        let start = if number.len() > LONG_NUMBER { KEPT_DIGITS } else { 0 };
        for (at, byte) in number[..end].iter_mut().enumerate() {
            let original = *byte;
            if at >= start && matches!(original, b'1'..=b'9') {
                // A step of 1 to 8 among nine digits never gives the same digit.
                let step = u8::try_from(prefix.choice() % 8).unwrap_or(0) + 1;
                *byte = b'1' + (original - b'1' + step) % 9;
            }
            prefix.add(u64::from(original));
        }
    }
}

impl Place {
    fn begin(prefix: Prefix) -> Self {
        Self { prefix, word: Word::default(), image: Word::default() }
    }

    /// Appends a character that stays, and returns its length.
    fn keep(&mut self, character: char) -> usize {
        self.go_on(character, character);
        character.len_utf8()
    }

    #[inline]
    fn go_on(&mut self, character: char, image: char) {
        self.prefix.add(u64::from(u32::from(character)));
        if is_letter(character) {
            self.word.add(small(character));
            self.image.add(small(image));
        } else {
            self.word = Word::default();
            self.image = Word::default();
        }
    }
}

/// Collects the words of a decoded string.
pub(super) fn learn(words: &mut Words, text: &[u8]) {
    let mut word = Word::default();
    let mut last = None;
    let mut at = 0;
    while at < text.len() {
        let character = character_at(text, at);
        at += character.map_or(1, char::len_utf8);
        if let Some(letter) = character.filter(|one| is_letter(*one)).map(small) {
            last = (word.is_long() && letter.is_ascii()).then(|| (word, letter as u8 - b'a'));
            word.add(letter);
        } else {
            words.complete(last.take());
            word = Word::default();
        }
    }
    words.complete(last);
}

#[inline]
fn is_letter(character: char) -> bool {
    character.is_ascii_alphabetic() || (!character.is_ascii() && Class::of(character).is_letter())
}

/// Letter in lower case.
#[inline]
fn small(letter: char) -> char {
    if letter.is_ascii() {
        letter.to_ascii_lowercase()
    } else {
        letter.to_lowercase().next().unwrap_or(letter)
    }
}

/// Character that begins at a position, or `None` if the bytes are not UTF-8.
#[inline]
pub(super) fn character_at(text: &[u8], at: usize) -> Option<char> {
    let first = *text.get(at)?;
    let length = match first {
        0..0x80 => return Some(char::from(first)),
        0xc2..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0..0xf5 => 4,
        _ => return None,
    };
    // Not the whole text at once: damaged strings are valid in parts.
    std::str::from_utf8(text.get(at..at + length)?).ok()?.chars().next()
}

/// Number of classes beyond ASCII: four kinds for each of four groups of lengths.
const CLASSES: usize = 16;

/// Class of a character, which decides its replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Any character that stays.
    Kept,
    /// Lower-case Latin letter, by its place in the alphabet.
    Lower(u8),
    /// Upper-case Latin letter, by its place in the alphabet.
    Upper(u8),
    /// ASCII digit.
    Digit(u8),
    /// Character beyond ASCII: its class, and the position in it.
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

    /// Returns true if it belongs to a word.
    pub(super) fn is_letter(self) -> bool {
        match self {
            Self::Kept | Self::Digit(_) => false,
            Self::Lower(_) | Self::Upper(_) => true,
            Self::Other(class, _) => class % 4 != Kind::Numeric as u8,
        }
    }
}

/// Characters of a class, in order.
pub(super) fn members(class: u8) -> &'static [char] {
    &tables()[usize::from(class) % CLASSES]
}

/// Kinds of letters and digits beyond ASCII.
#[derive(Clone, Copy)]
enum Kind {
    Lower = 0,
    Upper = 1,
    /// Letter of a script without capitals.
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

/// Class of a character: four kinds for each length in UTF-8, and for ideographs.
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

/// Returns true for an ideograph, by the ranges that text sizes are estimated by
/// (`read/capture/size.rs`).
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
    use proptest::prelude::*;

    use super::super::key::KeyMaker;
    use super::*;

    /// Mapping of a run that read these texts.
    fn mapping(texts: &[&str]) -> Mapping {
        let (mut key, mut words) = (KeyMaker::default(), Words::default());
        for text in texts {
            key.add(text.as_bytes());
            learn(&mut words, text.as_bytes());
        }
        Mapping { key: key.finish(), words }
    }

    fn image(mapping: &Mapping, text: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        mapping.text(&mut bytes);
        String::from_utf8(bytes).expect("characters become characters")
    }

    fn common(one: &str, other: &str) -> usize {
        one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count()
    }

    /// Properties of a character that are visible to others.
    fn class(character: char) -> (usize, bool, bool, bool, bool) {
        (
            character.len_utf8(),
            character.is_alphabetic(),
            character.is_alphanumeric(),
            character.is_uppercase(),
            character.is_ascii_digit(),
        )
    }

    #[test]
    fn a_word_behind_something_else_becomes_something_else() {
        let mapping = mapping(&["a"]);
        let images = ["word", " word", "a word", "b word"].map(|text| image(&mapping, text));
        let words: std::collections::BTreeSet<&str> =
            images.iter().filter_map(|image| image.split(' ').next_back()).collect();
        assert_eq!(words.len(), 4);
    }

    #[test]
    fn no_word_of_the_input_comes_out() {
        // Every five-letter word that begins with `aaaa`, save `aaaaz`.
        let words: Vec<String> = ('a'..='y').map(|last| format!("aaaa{last}")).collect();
        let texts: Vec<&str> = words.iter().map(String::as_str).collect();
        let mapping = mapping(&texts);
        for text in texts.iter().copied().chain(["Aaaab", "x aaaac", "aaaa", "aaaaz"]) {
            let image = image(&mapping, text).to_lowercase();
            let found = image.split(' ').find(|word| words.iter().any(|known| known == word));
            assert_eq!(found, None, "{text}");
        }
    }

    #[test]
    fn numbers_of_equal_value_keep_equal_values() {
        let mapping = mapping(&["a"]);
        let image = |number: &str| {
            let mut bytes = number.as_bytes().to_vec();
            mapping.number(&mut bytes);
            String::from_utf8(bytes).expect("digits")
        };
        let value = |number: &str| image(number).parse::<f64>().expect("a number");
        assert_eq!(value("1.5").to_bits(), value("1.50").to_bits());
        assert_eq!(value("100.0").to_bits(), value("1e2").to_bits());
        assert_eq!(image("0"), "0");
        assert_ne!(image("12"), "12");
        assert!(image("-1.25e+7").ends_with("e+7"));
    }

    proptest! {
        #[test]
        fn strings_keep_their_form(text in "\\PC{0,40}") {
            let mapping = mapping(&[&text]);
            let image = image(&mapping, &text);
            let classes = |text: &str| text.chars().map(class).collect::<Vec<_>>();
            prop_assert_eq!(classes(&image), classes(&text));
            for (one, other) in text.chars().zip(image.chars()) {
                prop_assert_eq!(one == other, !one.is_alphanumeric(), "{} {}", one, other);
            }
        }

        #[test]
        fn strings_keep_their_common_beginnings(
            front in "[a-cA-C0-2é字 .]{0,12}",
            one in "[a-cA-C0-2é字 .]{0,12}",
            other in "[a-cA-C0-2é字 .]{0,12}",
        ) {
            let (one, other) = (front.clone() + &one, front + &other);
            let mapping = mapping(&[&one, &other]);
            let images = (image(&mapping, &one), image(&mapping, &other));
            prop_assert_eq!(common(&images.0, &images.1), common(&one, &other));
            prop_assert_eq!(images.0 == images.1, one == other);
        }

        #[test]
        fn what_is_no_text_stays_none(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let mapping = mapping(&["a"]);
            let mut image = bytes.clone();
            mapping.text(&mut image);
            prop_assert_eq!(image.len(), bytes.len());
            prop_assert_eq!(std::str::from_utf8(&image).is_ok(), std::str::from_utf8(&bytes).is_ok());
        }
    }

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
