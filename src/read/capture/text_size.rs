//! How many tokens a text has, estimated from its kind and the model's family.
//!
//! The ratios are characters for a token as measured with a reconstruction of the tokenizers that
//! reproduces the API's own counts (samples of 12,000 characters of each kind). For one block the
//! estimate is good to 10 to 15 %.

use crate::base::model::canonical_name;

/// Models that share a tokenizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenizerFamily {
    /// Claude 3 to Opus 4.6, Sonnet 4.6 and Haiku 4.5.
    Third,
    /// Opus 4.7 and later, the 5 series among them.
    Later,
}

/// The beginnings of the ids of the third family's models.
const THIRD_FAMILY: [&str; 9] = [
    "claude-2",
    "claude-3",
    "claude-instant",
    "claude-opus-4-1",
    "claude-opus-4-2",
    "claude-opus-4-5",
    "claude-opus-4-6",
    "claude-sonnet-4",
    "claude-haiku-4",
];

impl TokenizerFamily {
    /// The family of a model; an unknown one is taken for a recent one.
    pub(crate) fn of(model: &str) -> Self {
        let name = canonical_name(model);
        let is_third = THIRD_FAMILY.iter().any(|family| name.starts_with(family))
            || matches!(name, "claude-opus-4" | "claude-opus-4-0");
        if is_third { Self::Third } else { Self::Later }
    }
}

/// What a text is like, as far as its characters show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextKind {
    Prose,
    Code,
    Json,
    /// Listings with numbers and hashes.
    Listing,
    /// UUIDs and the like.
    Identifiers,
    /// Chinese, Japanese or Korean, with what else there is.
    Ideographs,
    Base64,
}

/// The share of digits in the texts that were measured; further ones are about a token each.
const USUAL_DIGITS_PERCENT: u64 = 3;

impl TextKind {
    /// Whether the measured texts of the kind had few digits.
    fn has_usual_digits(self) -> bool {
        matches!(self, Self::Prose | Self::Code | Self::Json)
    }

    /// Characters for a token, in hundredths.
    fn hundredths(self, family: TokenizerFamily) -> u64 {
        let (third, later) = match self {
            Self::Prose => (453, 322),
            Self::Code => (325, 255),
            Self::Json => (282, 214),
            Self::Listing => (204, 173),
            Self::Identifiers => (148, 137),
            Self::Ideographs => (201, 168),
            Self::Base64 => (116, 106),
        };
        match family {
            TokenizerFamily::Third => third,
            TokenizerFamily::Later => later,
        }
    }
}

/// How many of which characters a text has.
#[derive(Clone, Copy, Debug, Default)]
struct Characters {
    all: u64,
    letters: u64,
    digits: u64,
    spaces: u64,
    /// Quotation marks, brackets, colons and commas, of which JSON has many.
    structure: u64,
    symbols: u64,
    ideographs: u64,
}

impl Characters {
    fn count(text: &str) -> Self {
        let mut characters = Self::default();
        let mut is_escaped = false;
        for character in text.chars() {
            // Two characters of an escape sequence stand for one.
            if !is_escaped && character == '\\' {
                is_escaped = true;
                continue;
            }
            characters.add(character, is_escaped);
            is_escaped = false;
        }
        characters
    }

    fn add(&mut self, character: char, is_escaped: bool) {
        self.all += 1;
        match character {
            'n' | 't' | 'r' if is_escaped => self.spaces += 1,
            ' ' | '\n' | '\t' => self.spaces += 1,
            'a'..='z' | 'A'..='Z' => self.letters += 1,
            '0'..='9' => self.digits += 1,
            '"' | '{' | '}' | '[' | ']' | ':' | ',' => self.structure += 1,
            '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' => {
                self.ideographs += 1;
            }
            '!'..='~' => self.symbols += 1,
            _ => self.letters += 1,
        }
    }

    fn kind(&self) -> TextKind {
        let is_over = |part: u64, percent: u64| part * 100 > self.all * percent;
        if is_over(self.ideographs, 20) {
            TextKind::Ideographs
        } else if self.all > 200 && !is_over(self.spaces + self.structure, 1) {
            TextKind::Base64
        } else if is_over(self.digits, 40) {
            TextKind::Identifiers
        } else if is_over(self.digits, 18) {
            TextKind::Listing
        } else if is_over(self.structure, 12) {
            TextKind::Json
        } else if is_over(self.symbols + self.structure, 8) {
            TextKind::Code
        } else {
            TextKind::Prose
        }
    }
}

/// The tokens of a text, which may be the inside of a JSON string; at least 1 where there is any.
pub(super) fn text_tokens(text: &str, family: TokenizerFamily) -> u64 {
    let characters = Characters::count(text);
    let kind = characters.kind();
    let single = if kind.has_usual_digits() {
        characters.digits.saturating_sub(characters.all * USUAL_DIGITS_PERCENT / 100)
    } else {
        0
    };
    ((characters.all - single) * 100).div_ceil(kind.hundredths(family)) + single
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_follow_the_models() {
        for model in ["claude-3-5-sonnet-20240620", "claude-sonnet-4-5", "claude-opus-4-20250514"] {
            assert_eq!(TokenizerFamily::of(model), TokenizerFamily::Third, "{model}");
        }
        for model in ["claude-opus-4-7", "claude-opus-4-8", "claude-sonnet-5", "something-new"] {
            assert_eq!(TokenizerFamily::of(model), TokenizerFamily::Later, "{model}");
        }
    }

    #[test]
    fn the_kind_shows_in_the_characters() {
        let kind = |text: &str| Characters::count(text).kind();
        assert_eq!(kind("A sentence of plain words, and another one."), TextKind::Prose);
        assert_eq!(kind("fn main() { let x = f(1) + g(&y)?; }"), TextKind::Code);
        assert_eq!(kind(r#"{"a":1,"b":["c","d"],"e":{"f":null}}"#), TextKind::Json);
        assert_eq!(kind("6fe4e511-70ab-4c00-8000-000000000001"), TextKind::Identifiers);
        assert_eq!(kind(&"iVBORw0KGgoAAAANSUhEUg".repeat(20)), TextKind::Base64);
        assert_eq!(kind("缓存前缀 means prefix"), TextKind::Ideographs);
    }

    #[test]
    fn tokens_are_characters_by_the_measured_ratio() {
        let numbered = "a line of words with a number such as 4711 in it\n".repeat(100);
        // 4,900 characters, 147 of 400 digits usual: 4,647 / 4.53 and 253 more.
        assert_eq!(text_tokens(&numbered, TokenizerFamily::Third), 1_026 + 253);
        let prose = "word ".repeat(906);
        assert_eq!(text_tokens(&prose, TokenizerFamily::Third), 1_000);
        assert_eq!(text_tokens("", TokenizerFamily::Third), 0);
        assert_eq!(text_tokens("a", TokenizerFamily::Third), 1);
    }
}
