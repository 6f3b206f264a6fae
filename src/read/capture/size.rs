//! How large the parts of a prompt are, in tokens.
//!
//! How many tokens a text has, estimated from its kind and the model's tokenizer. For one block the
//! estimate is good to 10 to 15 %.
//!
//! How many tokens an image has: one for each 28 × 28 pixels, after the service has scaled it down
//! to the limits of the tokenizer. Documents are taken to have a page for each page object, of 2,250
//! tokens.

use std::fmt;
use std::num::NonZeroU64;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use super::block::Block;
use super::tree::Part;
use crate::base::model::{Facts, Tokenizer};
use crate::base::units::Tokens;
use crate::read::input::Shape;

/// How tokens are counted (`--tokens`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TokenCounting {
    /// Estimated by kind of content and model family, and calibrated to recorded usage.
    #[default]
    Estimated,
    /// So many canonical bytes are a token, rounded up for each block.
    Bytes(NonZeroU64),
}

impl fmt::Display for TokenCounting {
    /// As `--tokens` takes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Estimated => f.write_str("auto"),
            Self::Bytes(bytes) => write!(f, "bytes:{bytes}"),
        }
    }
}

/// Sizes for the prompts of one model.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes<'a> {
    counting: TokenCounting,
    facts: &'a Facts,
}

impl<'a> Sizes<'a> {
    pub(super) fn new(counting: TokenCounting, facts: &'a Facts) -> Self {
        Self { counting, facts }
    }

    /// The tokens of a block, given by its canonical bytes: how it was escaped on its way does not
    /// matter.
    pub(super) fn block(&self, part: Part, canonical: &[u8]) -> u64 {
        match self.counting {
            TokenCounting::Bytes(bytes) => (canonical.len() as u64).div_ceil(bytes.get()),
            TokenCounting::Estimated => {
                let text = std::str::from_utf8(canonical).unwrap_or_default();
                let block: Shape<Block<'_>> = serde_json::from_str(text).unwrap_or_default();
                let block = block.0.unwrap_or_default();
                let service = if part == Part::Tool { block.service_tool() } else { None };
                service.unwrap_or_else(|| block.estimated_tokens(text, &self.facts.tokenizer))
            }
        }
    }

    /// What frames every prompt of the model.
    pub(super) fn frame(&self) -> u64 {
        self.if_estimated(self.facts.frame)
    }

    /// What the service adds to the system prompt where there are tools.
    pub(super) fn tool_overhead(&self) -> u64 {
        self.if_estimated(self.facts.tools_prompt)
    }

    /// What the service adds has no bytes.
    fn if_estimated(&self, tokens: Tokens) -> u64 {
        match self.counting {
            TokenCounting::Bytes(_) => 0,
            TokenCounting::Estimated => tokens.0,
        }
    }
}

/// What a text is like, as far as its characters show; in the order of [`Tokenizer::KINDS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextKind {
    Prose,
    Code,
    Json,
    Listing,
    Identifiers,
    /// Chinese, Japanese or Korean.
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

    /// Characters for a hundred tokens.
    fn hundredths(self, tokenizer: &Tokenizer) -> u64 {
        tokenizer.characters_per_100[self as usize].get()
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
pub(super) fn text_tokens(text: &str, tokenizer: &Tokenizer) -> u64 {
    let characters = Characters::count(text);
    let kind = characters.kind();
    let single = if kind.has_usual_digits() {
        characters.digits.saturating_sub(characters.all * USUAL_DIGITS_PERCENT / 100)
    } else {
        0
    };
    ((characters.all - single) * 100).div_ceil(kind.hundredths(tokenizer)) + single
}

/// Pixels along the edge of a token's square.
const TOKEN_EDGE: u64 = 28;

/// Where the size cannot be read: a screenshot's.
const USUAL_IMAGE: u64 = 1_560;

/// The middle of the documented 1,500 to 3,000.
const TOKENS_A_PAGE: u64 = 2_250;

/// The sizes of images stand near their beginning.
const READ_BYTES: usize = 256 * 1024;

/// The tokens of an image given as base64.
pub(super) fn image_tokens(data: &str, tokenizer: &Tokenizer) -> u64 {
    pixels(data).map_or(USUAL_IMAGE, |(width, height)| pixel_tokens(width, height, tokenizer))
}

/// The width and height of an image given as base64; `None` where they cannot be read.
pub(crate) fn pixels(data: &str) -> Option<(u64, u64)> {
    let begin = &data.as_bytes()[..data.len().min(READ_BYTES * 4 / 3) / 4 * 4];
    let size = imagesize::blob_size(&decode(begin)).ok()?;
    Some((size.width as u64, size.height as u64))
}

/// The tokens of an image of so many pixels.
fn pixel_tokens(width: u64, height: u64, tokenizer: &Tokenizer) -> u64 {
    let (width, height) = (width.clamp(1, 1 << 20), height.clamp(1, 1 << 20));
    let long = width.max(height);
    // The edge shrinks square by square until the image fits.
    let mut edge = long.min(tokenizer.image_edge.get());
    loop {
        let squares = |side: u64| (side * edge / long).max(1).div_ceil(TOKEN_EDGE);
        let tokens = squares(width) * squares(height);
        if tokens <= tokenizer.image_tokens.get() {
            return tokens;
        }
        edge = edge.saturating_sub(TOKEN_EDGE);
    }
}

/// The tokens of a document given as base64.
pub(super) fn document_tokens(data: &str) -> u64 {
    (page_count(data).max(1) as u64) * TOKENS_A_PAGE
}

/// How many page objects a document has, given as base64.
pub(crate) fn page_count(data: &str) -> usize {
    let bytes = decode(data.as_bytes());
    memchr::memmem::find_iter(&bytes, b"/Type /Page")
        .chain(memchr::memmem::find_iter(&bytes, b"/Type/Page"))
        .filter(|at| {
            !bytes[*at..].starts_with(b"/Type /Pages") && !bytes[*at..].starts_with(b"/Type/Pages")
        })
        .count()
}

/// The bytes as far as they are base64.
fn decode(text: &[u8]) -> Vec<u8> {
    let end = text.iter().rposition(|byte| *byte != b'=').map_or(0, |last| last + 1);
    STANDARD_NO_PAD.decode(&text[..end]).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::base::model::Models;

    fn tokenizer(model: &str) -> Arc<Tokenizer> {
        Models::built_in().facts(model).tokenizer
    }

    #[test]
    fn kinds_of_text_have_the_names_of_the_table() {
        let kinds = [
            TextKind::Prose,
            TextKind::Code,
            TextKind::Json,
            TextKind::Listing,
            TextKind::Identifiers,
            TextKind::Ideographs,
            TextKind::Base64,
        ];
        for (kind, name) in kinds.into_iter().zip(Tokenizer::KINDS) {
            assert_eq!(format!("{kind:?}").to_lowercase(), name);
        }
        assert_eq!(TextKind::Listing.hundredths(&tokenizer("claude-opus-4-5")), 204);
        assert_eq!(TextKind::Base64.hundredths(&tokenizer("claude-opus-5")), 106);
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
        let earlier = tokenizer("claude-opus-4-5");
        let numbered = "a line of words with a number such as 4711 in it\n".repeat(100);
        // 4,900 characters, 147 of 400 digits usual: 4,647 / 4.53 and 253 more.
        assert_eq!(text_tokens(&numbered, &earlier), 1_026 + 253);
        let prose = "word ".repeat(906);
        assert_eq!(text_tokens(&prose, &earlier), 1_000);
        assert_eq!(text_tokens("", &earlier), 0);
        assert_eq!(text_tokens("a", &earlier), 1);
    }

    #[test]
    fn the_documented_examples() {
        // 1000 × 1000, 1920 × 1080 and 3840 × 2160 in the service's documentation.
        let (earlier, later) = (tokenizer("claude-opus-4-5"), tokenizer("claude-opus-5"));
        let tokens = |width, height| {
            (pixel_tokens(width, height, &earlier), pixel_tokens(width, height, &later))
        };
        assert_eq!(tokens(1_000, 1_000), (1_296, 1_296));
        assert_eq!(tokens(1_920, 1_080), (1_560, 2_691));
        assert_eq!(tokens(3_840, 2_160), (1_560, 4_784));
        assert_eq!(tokens(1, 1), (1, 1));
    }

    #[test]
    fn the_size_is_read_from_the_image() {
        // The first 26 bytes of a PNG of 56 × 29 pixels.
        let header = [
            0x89, b'P', b'N', b'G', 13, 10, 26, 10, 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0,
            56, 0, 0, 0, 29, 8, 6,
        ];
        let later = tokenizer("claude-opus-5");
        let data = base64::engine::general_purpose::STANDARD.encode(header);
        assert_eq!(image_tokens(&data, &later), 4);
        assert_eq!(image_tokens("no image", &later), USUAL_IMAGE);
    }

    #[test]
    fn pages_are_counted() {
        let document = "<< /Type /Pages >> << /Type /Page >> << /Type/Page >>";
        let data = base64::engine::general_purpose::STANDARD.encode(document);
        assert_eq!(document_tokens(&data), 2 * TOKENS_A_PAGE);
        assert_eq!(document_tokens("%"), TOKENS_A_PAGE);
    }
}
