//! What a text or a prompt weighs, for people and for programs.

use std::io::{self, Write};

#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

use super::document::{Align, Document, Grid};
use super::json::write_document;
use super::number::{counted, dollars, grouped, percent, share, tokens};
use crate::base::units::{Basis, Tokens};
use crate::base::vocabulary::Vocabulary;
use crate::explain::weights::{Division, Weights};
use crate::simulate::pricing::Rates;

pub(super) const SCHEMA: &str = "cachesim.tokens/v1";

/// A text in a vocabulary.
#[derive(Clone, Copy, Debug)]
pub struct WeighedText {
    /// The vocabulary.
    pub vocabulary: Vocabulary,
    /// The tokens of the text.
    pub tokens: Tokens,
    /// The prompt that it is as the only message, where the frame of one is known.
    pub message: Option<Tokens>,
}

/// A prompt and what is known of it.
#[derive(Clone, Copy, Debug)]
pub struct WeighedPrompt<'a> {
    /// The file.
    pub file: &'a str,
    /// Which of the file's requests it is, from 1 on, and how many there are.
    pub place: (usize, usize),
    /// Its model.
    pub model: &'a str,
    /// The vocabulary in which it was counted; `None` where it was estimated.
    pub vocabulary: Option<Vocabulary>,
    /// Whether no part of it was estimated.
    pub is_counted: bool,
    /// What it weighs.
    pub weights: &'a Weights,
    /// By what it is divided.
    pub division: Division,
    /// The prompt as it was recorded.
    pub recorded: Option<Tokens>,
    /// The prices of its model, where they are known.
    pub rates: Option<&'a Rates>,
}

/// A text for people.
#[must_use]
pub fn text_document(file: &str, texts: &[WeighedText]) -> Document {
    let mut document = Document::default();
    document.heading(format!("Tokens of {file}"));
    let mut grid = Grid::new(&[
        ("vocabulary", Align::Left),
        ("models", Align::Wrapped),
        ("text", Align::Right),
        ("as a prompt", Align::Right),
    ]);
    for text in texts {
        grid.add(vec![
            text.vocabulary.name().to_owned(),
            text.vocabulary.models().to_owned(),
            tokens(text.tokens),
            text.message.map_or_else(|| "–".to_owned(), tokens),
        ]);
    }
    document.grid(grid);
    document
}

/// A prompt for people.
#[must_use]
pub fn prompt_document(prompt: &WeighedPrompt<'_>) -> Document {
    let mut document = Document::default();
    document.heading(format!("{} tokens in {}", tokens(prompt.weights.total), prompt.file));
    document.text(how(prompt));
    let mut columns = vec![
        (prompt.division.name(), Align::Wrapped),
        ("pieces", Align::Right),
        ("tokens", Align::Right),
        ("share", Align::Right),
    ];
    if prompt.rates.is_some() {
        columns.extend([("1,000 reads", Align::Right), ("1,000 writes", Align::Right)]);
    }
    let mut grid = Grid::new(&columns);
    for part in &prompt.weights.parts {
        let mut row = vec![
            part.name.clone(),
            grouped(part.pieces),
            tokens(part.tokens),
            percent(share(part.tokens.0, prompt.weights.total.0)),
        ];
        if let Some(rates) = prompt.rates {
            let priced = [rates.cache_read, rates.cache_write_5m];
            let times = Tokens(part.tokens.0.saturating_mul(1_000));
            row.extend(priced.map(|rate| dollars(Some(rate.times(times)))));
        }
        grid.add(row);
    }
    if prompt.weights.parts.is_empty() {
        document.text("It defines no tools.");
    } else {
        document.grid(grid);
    }
    if prompt.rates.is_some() {
        document.text("What a thousand requests pay that read the part from the cache, or write it for five minutes.");
    }
    document
}

/// How a prompt was counted.
fn how(prompt: &WeighedPrompt<'_>) -> String {
    let mut text = match prompt.vocabulary {
        Some(vocabulary) => format!("Counted for {} in the vocabulary {vocabulary}", prompt.model),
        None => format!(
            "Estimated for {}, whose vocabulary is not known, from the kinds of its texts: 10 to 15 % off for a \
             part",
            prompt.model
        ),
    };
    if prompt.vocabulary.is_some() && !prompt.is_counted {
        text.push_str("; a part is estimated, as its size is not known (images, thinking, tools of the service)");
    }
    if let Some(recorded) = prompt.recorded {
        text.push_str("; its usage says ");
        text.push_str(&counted(recorded.0, "token", "tokens"));
        if recorded.0 > prompt.weights.total.0 * 3 / 2 {
            text.push_str(", which adds up several prompts where the service ran tools");
        }
    }
    text.push('.');
    let (place, all) = prompt.place;
    if all > 1 {
        let which = format!(" It is request {place} of {all}; --request N shows another.");
        text.push_str(&which);
    }
    text
}

/// What `tokens` writes for programs.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct TokensObject<'a> {
    /// The format and its version.
    schema: &'static str,
    /// The version of the program.
    tool_version: &'static str,
    /// The file.
    file: &'a str,
    /// The text in each vocabulary, where the input is no prompt.
    text: Option<Vec<TextObject>>,
    /// The prompt, where it is one.
    prompt: Option<PromptObject<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[cfg_attr(test, schemars(rename = "TextTokens"))]
struct TextObject {
    /// The vocabulary.
    vocabulary: &'static str,
    /// The tokens of the text.
    tokens: u64,
    /// The prompt that it is as the only message; null where the frame of one is not known.
    as_prompt: Option<u64>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[cfg_attr(test, schemars(rename = "PromptTokens"))]
struct PromptObject<'a> {
    /// Which of the file's requests it is, from 1 on.
    request: usize,
    /// How many requests the file has.
    requests: usize,
    /// The model.
    model: &'a str,
    /// The vocabulary in which it was counted; null where it was estimated.
    vocabulary: Option<&'static str>,
    /// What the figures are based on: a count is derived from the bytes by the vocabulary and measured frames.
    basis: Basis,
    /// The whole prompt.
    tokens: u64,
    /// The prompt by its recorded usage, which adds up several prompts where the service ran tools; null under `--model`.
    recorded_tokens: Option<u64>,
    /// By what it is divided.
    by: &'static str,
    /// The parts.
    parts: Vec<PartObject<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[cfg_attr(test, schemars(rename = "PartTokens"))]
struct PartObject<'a> {
    /// Its name.
    name: &'a str,
    /// Of how many pieces it is made.
    pieces: u64,
    /// Its tokens.
    tokens: u64,
    /// What one request pays to read it from the cache, in dollars; null where the model has no price.
    read_usd: Option<String>,
    /// What one request pays to write it for five minutes.
    write_5m_usd: Option<String>,
}

/// Writes a text for programs.
///
/// # Errors
/// Writing to `out` fails.
pub fn write_text(file: &str, texts: &[WeighedText], out: &mut dyn Write) -> io::Result<()> {
    let object = |text: &WeighedText| TextObject {
        vocabulary: text.vocabulary.name(),
        tokens: text.tokens.0,
        as_prompt: text.message.map(|tokens| tokens.0),
    };
    write(file, Some(texts.iter().map(object).collect()), None, out)
}

/// Writes a prompt for programs.
///
/// # Errors
/// Writing to `out` fails.
pub fn write_prompt(prompt: &WeighedPrompt<'_>, out: &mut dyn Write) -> io::Result<()> {
    let object = PromptObject {
        request: prompt.place.0,
        requests: prompt.place.1,
        model: prompt.model,
        vocabulary: prompt.vocabulary.map(Vocabulary::name),
        basis: if prompt.is_counted { Basis::Derived } else { Basis::Estimated },
        tokens: prompt.weights.total.0,
        recorded_tokens: prompt.recorded.map(|tokens| tokens.0),
        by: prompt.division.name(),
        parts: prompt
            .weights
            .parts
            .iter()
            .map(|part| PartObject {
                name: &part.name,
                pieces: part.pieces,
                tokens: part.tokens.0,
                read_usd: prompt.rates.map(|rates| rates.cache_read.times(part.tokens).to_string()),
                write_5m_usd: prompt
                    .rates
                    .map(|rates| rates.cache_write_5m.times(part.tokens).to_string()),
            })
            .collect(),
    };
    write(prompt.file, None, Some(object), out)
}

fn write(
    file: &str,
    text: Option<Vec<TextObject>>,
    prompt: Option<PromptObject<'_>>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let tool_version = env!("CARGO_PKG_VERSION");
    write_document(&TokensObject { schema: SCHEMA, tool_version, file, text, prompt }, out)
}
