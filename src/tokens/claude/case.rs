//! Marking of words: borders of a word, and case of its letters.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use super::pieces::{CAPITAL, CAPITALS, WORD_BEGINS};
use super::traits::NEW_CASES;

/// Capital theta symbol: a capital in Unicode, but not to the models.
const UNCASED: char = '\u{03F4}';

/// Turkish capital, which stays as it is in a word with a capital.
const DOTTED_I: char = 'İ';

/// Capital sharp s: a word that contains it stays as it is.
const SHARP_S: char = 'ẞ';

/// Treatment of a word's capitals.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    /// All capitals stay.
    Literal,
    /// The first letter is the only capital, and a marker records it.
    First,
    /// All letters are capitals, and a marker records them.
    All,
}

/// Adds a word without its end. `capitals_from` is the least length of a word of capitals that gets a marker.
pub(super) fn add_word(word: &str, begins: bool, capitals_from: Option<usize>, to: &mut Vec<u8>) {
    let case = case(word, capitals_from);
    match case {
        Case::Literal => {}
        Case::First => to.push(CAPITAL),
        Case::All => to.push(CAPITALS),
    }
    if begins {
        to.push(WORD_BEGINS);
    }
    if case == Case::Literal {
        to.extend_from_slice(word.as_bytes());
        return;
    }
    // Most words are ASCII, and each of their letters is one byte.
    if word.is_ascii() {
        to.extend(word.bytes().map(|byte| byte.to_ascii_lowercase()));
        return;
    }
    for character in word.chars() {
        let mut buffer = [0; 4];
        let mut push =
            |character: char| to.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
        if character == DOTTED_I { push(character) } else { lower(character, push) }
    }
}

fn case(word: &str, capitals_from: Option<usize>) -> Case {
    let mut letters = word.chars();
    let Some(first) = letters.next() else { return Case::Literal };
    if word.contains(SHARP_S) {
        return Case::Literal;
    }
    let has_dotted = word.contains(DOTTED_I);
    let is_all = capitals_from.is_some_and(|least| word.chars().take(least).count() == least)
        && !has_dotted
        && is_capitals(word);
    if is_all {
        return Case::All;
    }
    let has_more = letters.any(|letter| letter != DOTTED_I && is_upper(letter));
    if is_upper(first) && first != DOTTED_I && !has_more { Case::First } else { Case::Literal }
}

/// Returns true if a word has capitals, and no other letter or mark.
fn is_capitals(word: &str) -> bool {
    let mut has_capital = false;
    for character in word.chars() {
        if is_upper(character) {
            has_capital = true;
        } else if is_lower(character) || is_letter(character) {
            return false;
        }
    }
    has_capital
}

/// Returns true for a letter or a mark.
fn is_letter(character: char) -> bool {
    let group = character.general_category_group();
    matches!(group, GeneralCategoryGroup::Letter | GeneralCategoryGroup::Mark)
}

/// Returns true for a capital: a character with another form as a small letter.
fn is_upper(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_uppercase();
    }
    if character == UNCASED {
        return false;
    }
    let is_new = NEW_CASES.iter().any(|(capital, _)| *capital == character);
    is_new || (character.is_uppercase() && !character.to_lowercase().eq([character]))
}

fn is_lower(character: char) -> bool {
    character.is_lowercase() || NEW_CASES.iter().any(|(_, small)| *small == character)
}

/// Small form of a character, which may be several characters.
fn lower(character: char, mut push: impl FnMut(char)) {
    if character == UNCASED {
        return push(character);
    }
    match NEW_CASES.iter().find(|(capital, _)| *capital == character) {
        Some((_, small)) => push(*small),
        None => character.to_lowercase().for_each(push),
    }
}
