//! Estimated tokens of a text, from its kind and the model's tokenizer. For one block the estimate is
//! good to 10 to 15 %.

use serde_json::value::RawValue;

use super::super::block::Block;
use super::super::tree::Part;
use crate::base::Tokenizer;
use crate::read::rendered::{document_tokens, image_tokens};

/// Frame of each block, in tokens. The overheads were measured on real exchanges.
const BLOCK_OVERHEAD: u64 = 3;

/// Frame of a call besides its name and input, in tokens.
const CALL_OVERHEAD: u64 = 30;

/// Frame of a result besides its content, in tokens.
const RESULT_OVERHEAD: u64 = 20;

/// Tokens of a reference to a deferred tool, in place of its definition, whose size is unknown here.
const REFERENCED_TOOL: u64 = 80;

/// Tools that the service defines, by the prefix of their type: documented figures, and for the
/// others one that was measured.
const SERVICE_TOOLS: [(&str, u64); 4] =
    [("bash_", 325), ("text_editor_", 700), ("computer_", 4_500), ("", 130)];

/// Bytes of a signature for a token of the thinking that it hides: thinking is sent back encrypted.
const SIGNATURE_BYTES_PER_TOKEN: u64 = 4;

/// Tokens of a tool that the service defines, by its type; `None` for any other block.
fn service_tool(block: &Block<'_>) -> Option<u64> {
    let name = block.r#type.as_str().filter(|name| *name != "custom")?;
    let known = SERVICE_TOOLS.iter().find(|(beginning, _)| name.starts_with(beginning));
    known.map(|(_, tokens)| *tokens)
}

/// Tokens of a block, given with its canonical bytes.
pub(super) fn block_tokens(
    block: &Block<'_>,
    part: Part,
    canonical: &str,
    tokenizer: &Tokenizer,
) -> u64 {
    let service = if part == Part::Tool { service_tool(block) } else { None };
    service.unwrap_or_else(|| BLOCK_OVERHEAD + content_tokens(block, canonical, tokenizer))
}

fn content_tokens(block: &Block<'_>, canonical: &str, tokenizer: &Tokenizer) -> u64 {
    let text = |raw: Option<&RawValue>| raw.map_or(0, |raw| text_tokens(raw.get(), tokenizer));
    match block.r#type.as_str() {
        Some("text") => text(block.text),
        Some("thinking") => text(block.thinking).max(hidden_thinking(block)),
        Some("tool_use" | "server_tool_use" | "mcp_tool_use") => {
            let name = block.name.as_str().unwrap_or_default();
            CALL_OVERHEAD + text_tokens(name, tokenizer) + text(block.input)
        }
        Some("tool_result") => RESULT_OVERHEAD + result_tokens(block, tokenizer),
        Some("tool_reference") => REFERENCED_TOOL,
        Some("image") => image_tokens(block.source_data(), tokenizer),
        Some("document") => text_of_document(block, tokenizer),
        _ => text_tokens(canonical, tokenizer),
    }
}

/// Tokens of a document: the pages of a PDF, or the content of a text or of blocks.
fn text_of_document(block: &Block<'_>, tokenizer: &Tokenizer) -> u64 {
    let Some(source) = &block.source.0 else { return 0 };
    let data = source.data.as_str().unwrap_or_default();
    match (source.r#type.as_str(), source.content) {
        (Some("text"), _) => text_tokens(data, tokenizer),
        (_, Some(content)) => text_tokens(content.get(), tokenizer),
        _ => document_tokens(data),
    }
}

/// Tokens of thinking that is sent back encrypted.
fn hidden_thinking(block: &Block<'_>) -> u64 {
    let bytes = block.signature.map_or(0, |signature| signature.get().len() as u64);
    bytes / SIGNATURE_BYTES_PER_TOKEN
}

fn result_tokens(block: &Block<'_>, tokenizer: &Tokenizer) -> u64 {
    let inner = block.inner();
    if inner.is_empty() {
        return block.content.map_or(0, |content| text_tokens(content.get(), tokenizer));
    }
    inner.iter().map(|(json, block)| content_tokens(block, json, tokenizer)).sum()
}

/// Kind of a text by its characters; in the order of [`Tokenizer::KINDS`].
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

/// Percentage of digits in the texts that were measured; further ones are about a token each.
const USUAL_DIGITS_PERCENT: u64 = 3;

impl TextKind {
    /// Returns true if the measured texts of the kind had few digits.
    fn has_usual_digits(self) -> bool {
        matches!(self, Self::Prose | Self::Code | Self::Json)
    }

    /// Characters for a hundred tokens.
    fn hundredths(self, tokenizer: &Tokenizer) -> u64 {
        tokenizer.characters_per_100[self as usize].get()
    }
}

/// Counts of a text's characters by class.
#[derive(Clone, Copy, Debug, Default)]
struct Characters {
    all: u64,
    letters: u64,
    digits: u64,
    spaces: u64,
    /// Quotation marks, brackets, colons and commas, which are many in JSON.
    structure: u64,
    symbols: u64,
    ideographs: u64,
}

impl Characters {
    fn count(text: &str) -> Self {
        let mut characters = Self::default();
        let mut is_escaped = false;
        for character in text.chars() {
            // An escape sequence is one character.
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
            // Long and almost without spaces or punctuation: encoded data.
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

/// Tokens of a text, which may be the inside of a JSON string; at least 1 if there is any.
fn text_tokens(text: &str, tokenizer: &Tokenizer) -> u64 {
    let characters = Characters::count(text);
    let kind = characters.kind();
    let single = if kind.has_usual_digits() {
        characters.digits.saturating_sub(characters.all * USUAL_DIGITS_PERCENT / 100)
    } else {
        0
    };
    ((characters.all - single) * 100).div_ceil(kind.hundredths(tokenizer)) + single
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::base::Models;

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
}
