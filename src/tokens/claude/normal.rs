//! Normal form of a text, as the service reads it: composed, without control characters, with one kind of space.

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// Returns true for bytes that normalisation keeps: printable ASCII, tabs and line feeds.
fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\t' | b'\n')
}

/// Normal form of a text.
pub(super) fn normal(text: &str, folds_quotes: bool) -> Cow<'_, str> {
    let plain = plain_beginning(text);
    if plain == text.len() {
        return Cow::Borrowed(text);
    }
    let written = String::with_capacity(text.len());
    let mut normal = Normal { folds_quotes, has_nikhahit: false, text: written };
    let mut rest = text;
    while !rest.is_empty() {
        rest = normal.add_plain(rest);
        rest = normal.add_special(rest);
    }
    normal.flush();
    Cow::Owned(normal.text)
}

/// Number of plain bytes at the beginning of a text.
fn plain_beginning(text: &str) -> usize {
    text.bytes().position(|byte| !is_plain(byte)).unwrap_or(text.len())
}

/// Thai signs: nikhahit and sara aa are written as the one sign sara am.
const NIKHAHIT: char = '\u{0E4D}';
const SARA_AA: char = '\u{0E32}';
const SARA_AM: char = '\u{0E33}';

/// A normal form under construction.
struct Normal {
    folds_quotes: bool,
    /// True if a [`NIKHAHIT`] is still to be written.
    has_nikhahit: bool,
    text: String,
}

impl Normal {
    /// Adds the plain beginning of a text, and returns the rest.
    fn add_plain<'t>(&mut self, text: &'t str) -> &'t str {
        let (plain, rest) = text.split_at(plain_beginning(text));
        if !plain.is_empty() {
            self.flush();
            self.text.push_str(plain);
        }
        rest
    }

    /// Adds the beginning of a text that is not plain, and returns the rest. No ASCII character joins the one before
    /// it, so composition reaches no further than the one character before.
    fn add_special<'t>(&mut self, text: &'t str) -> &'t str {
        let end = text.bytes().position(is_plain).unwrap_or(text.len());
        let (special, rest) = text.split_at(end);
        if is_nfc_quick(special.chars()) == IsNormalized::Yes {
            special.chars().for_each(|character| self.add(character));
            return rest;
        }
        // The last written character is plain, or missing.
        let before = self.text.pop();
        before.into_iter().chain(special.chars()).nfc().for_each(|character| self.add(character));
        rest
    }

    /// Adds a character of the composed text.
    fn add(&mut self, character: char) {
        match character {
            // Control characters vanish, and do not separate the two Thai signs.
            '\u{1}'..='\u{8}' | '\u{B}'..='\u{1F}' | '\u{7F}'..='\u{9F}' => return,
            SARA_AA if self.has_nikhahit => {
                self.has_nikhahit = false;
                self.text.push(SARA_AM);
                return;
            }
            _ => self.flush(),
        }
        match character {
            NIKHAHIT => self.has_nikhahit = true,
            // Private use in the first plane.
            '\u{E000}'..='\u{F8FF}' => {}
            '\0'
            | '\u{A0}'
            | '\u{1680}'
            | '\u{2000}'..='\u{200A}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{202F}'
            | '\u{205F}' => self.text.push(' '),
            '\u{2018}' | '\u{2019}' if self.folds_quotes => self.text.push('\''),
            '\u{201C}' | '\u{201D}' if self.folds_quotes => self.text.push('"'),
            _ => self.text.push(character),
        }
    }

    fn flush(&mut self) {
        if std::mem::take(&mut self.has_nikhahit) {
            self.text.push(NIKHAHIT);
        }
    }
}
