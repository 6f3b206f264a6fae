//! Traits of characters: part of a word, a digit, punctuation, white space, or a character that is on its own.
//!
//! The listed sets were measured character by character; no category of Unicode gives them.

use std::sync::LazyLock;

use unicode_normalization::char::canonical_combining_class;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

/// Kind of run that a character belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Letters, with their marks.
    Word,
    /// Characters on their own: ideographs, emoji, and everything without another class.
    Hard,
    /// Digits.
    Digit,
    /// Punctuation and the symbols of ASCII.
    Punct,
    /// White space.
    Space,
    /// Marks without a letter before them.
    Stray,
}

/// Sort of a character within a run of the class hard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Character without a marker.
    Letter,
    /// Number outside ASCII, which takes markers.
    Number,
    /// Character that takes markers as punctuation does.
    Punct,
}

/// Traits of a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Traits {
    /// Class of run. Never [`Class::Stray`], which depends on the character before.
    pub(super) class: Class,
    /// Sort within a run of the class hard.
    pub(super) kind: Kind,
    /// True for a mark that opens a word of its own without a letter before it.
    pub(super) is_stray: bool,
    /// True for a variation selector, which stays with the character before it.
    pub(super) is_selector: bool,
    /// True for a decimal digit, one of two kinds of numbers.
    pub(super) is_decimal: bool,
}

impl Traits {
    /// Traits of a character.
    pub(super) fn of(character: char) -> Self {
        // Filled once: text outside of ASCII looks up every character.
        static FIRST_PLANE: LazyLock<Vec<Traits>> = LazyLock::new(|| {
            let traits = |code| char::from_u32(code).map_or(Traits::ASTRAL, Traits::look_up);
            (0..0x1_0000).map(traits).collect()
        });
        FIRST_PLANE.get(character as usize).copied().unwrap_or(Self::ASTRAL)
    }

    /// Traits of every character outside the first plane.
    const ASTRAL: Self = Self {
        class: Class::Hard,
        kind: Kind::Letter,
        is_stray: false,
        is_selector: false,
        is_decimal: false,
    };

    /// Traits of a character of the first plane.
    fn look_up(character: char) -> Self {
        let category = character.general_category();
        let is_selector = matches!(character, '\u{FE00}'..='\u{FE0F}');
        let is_mark = character.general_category_group() == GeneralCategoryGroup::Mark;
        let is_separator = is_mark && !is_selector && !character.is_alphabetic();
        let is_combining = canonical_combining_class(character) != 0;
        Self {
            class: class(character, is_mark),
            kind: kind(character, is_separator),
            is_stray: is_combining && !is_separator && !is_syriac_vowel(character),
            is_selector,
            is_decimal: category == GeneralCategory::DecimalNumber,
        }
    }
}

/// Symbols and punctuation outside ASCII that form runs with it.
const PUNCTUATION: &str = "—»«•°„–−£§€…√→（№†└│·─═█";

/// Pairs of capital and small letter that are new in Unicode 16; the models know them.
pub(super) const NEW_CASES: [(char, char); 2] =
    [('\u{1C89}', '\u{1C8A}'), ('\u{A7CB}', '\u{0264}')];

fn class(character: char, is_mark: bool) -> Class {
    if NEW_CASES.iter().any(|(capital, small)| [*capital, *small].contains(&character)) {
        return Class::Word;
    }
    match character {
        '\t' | '\n' => return Class::Space,
        // Golden numbers of runes, Roman numerals, circled letters, numbers of Bamum.
        '\u{16EE}'..='\u{16F0}'
        | '\u{2160}'..='\u{2188}'
        | '\u{24B6}'..='\u{24E9}'
        | '\u{A6E6}'..='\u{A6EF}' => {
            return Class::Word;
        }
        '0'..='9' | '\u{0660}'..='\u{0669}' | '\u{06F0}'..='\u{06F9}' => return Class::Digit,
        '!'..='~' if !character.is_ascii_alphabetic() => return Class::Punct,
        '\u{FE00}'..='\u{FE0F}' => return Class::Hard,
        _ if PUNCTUATION.contains(character) => return Class::Punct,
        _ => {}
    }
    match character.general_category_group() {
        GeneralCategoryGroup::Separator => Class::Space,
        GeneralCategoryGroup::Mark if is_mark && character.is_alphabetic() => Class::Word,
        GeneralCategoryGroup::Letter if !is_ideograph(character) => Class::Word,
        _ => Class::Hard,
    }
}

/// Returns true for letters on their own: ideographs with their marks of repetition, and Hangul.
fn is_ideograph(character: char) -> bool {
    matches!(character,
        '\u{3400}'..='\u{4DBF}'
        | '\u{4E00}'..='\u{9FFF}'
        | '\u{AC00}'..='\u{D7A3}'
        | '\u{F900}'..='\u{FAFF}'
        | '\u{3005}'
        | '\u{3006}'
        | '\u{3031}'..='\u{3035}'
        | '\u{303B}'
        | '\u{303C}')
}

fn kind(character: char, is_separator: bool) -> Kind {
    let category = character.general_category();
    let group = character.general_category_group();
    let is_punctuation =
        matches!(group, GeneralCategoryGroup::Punctuation | GeneralCategoryGroup::Symbol)
            || matches!(category, GeneralCategory::Format | GeneralCategory::Unassigned);
    if is_separator || (is_punctuation && !is_ideographic_punctuation(character)) {
        return Kind::Punct;
    }
    let is_number = category == GeneralCategory::OtherNumber
        || (category == GeneralCategory::DecimalNumber && !character.is_ascii());
    if is_number { Kind::Number } else { Kind::Letter }
}

/// Returns true for punctuation that stays with the ideographs around it.
fn is_ideographic_punctuation(character: char) -> bool {
    let is_listed = "〄〒〓〠〶〷〾〿".contains(character);
    matches!(character, '\u{3001}'..='\u{303F}')
        && (is_listed || character.general_category_group() == GeneralCategoryGroup::Punctuation)
}

/// Returns true for vowels of Syriac, which are letters if nothing carries them.
fn is_syriac_vowel(character: char) -> bool {
    matches!(character, '\u{0711}' | '\u{0730}'..='\u{073F}')
}
