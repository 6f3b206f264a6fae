//! Tokens of a text or a prompt, for people and for programs.

use std::io::{self, Write};

use serde::Serialize;

use super::{Columns, Document, counted, share, tokens, write_versioned};
use crate::base::{Basis, Tokens, Vocabulary};
use crate::explain::weights::{Division, Weight, Weights};
use crate::simulate::pricing::Rates;

pub(super) const SCHEMA: &str = "cachesim.tokens/v1";

/// Text counted in a vocabulary.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "TextTokens"))]
pub struct WeighedText {
    /// Vocabulary of the count.
    #[cfg_attr(test, schemars(with = "&str"))]
    pub vocabulary: Vocabulary,
    /// Tokens of the text.
    pub tokens: Tokens,
    /// Size of a prompt with the text as its only message, if the frame of one is known.
    #[serde(rename = "as_prompt")]
    pub message: Option<Tokens>,
}

/// Prompt, with its sizes and the basis of them.
#[derive(Clone, Copy, Debug)]
pub struct WeighedPrompt<'a> {
    /// File of the prompt.
    pub file: &'a str,
    /// Number of the request in its file, from 1 on, and the number of the file's requests.
    pub place: (usize, usize),
    /// Model of the prompt.
    pub model: &'a str,
    /// Vocabulary of the count; `None` if it was estimated.
    pub vocabulary: Option<Vocabulary>,
    /// True if no part was estimated.
    pub is_counted: bool,
    /// Sizes of the parts, in tokens.
    pub weights: &'a Weights,
    /// Division into parts.
    pub division: Division,
    /// Size of the prompt by its recorded usage.
    pub recorded: Option<Tokens>,
    /// Prices of its model, if they are known.
    pub rates: Option<&'a Rates>,
}

/// Tokens of a text for people.
pub fn text_document(file: &str, texts: &[WeighedText]) -> Document {
    let mut document = Document::default();
    document.heading(format!("Tokens of {file}"));
    let mut columns = Columns::<WeighedText>::new();
    columns.left("vocabulary", |text| text.vocabulary.name());
    columns.wrapped("models", |text| text.vocabulary.models());
    columns.right("text", |text| text.tokens);
    columns.right("as a prompt", |text| text.message).unknown("–");
    document.grid(columns.grid(texts));
    document
}

/// Tokens of a prompt for people.
pub fn prompt_document(prompt: &WeighedPrompt<'_>) -> Document {
    let mut document = Document::default();
    document.heading(format!("{} tokens in {}", tokens(prompt.weights.total), prompt.file));
    document.text(how(prompt));
    let mut columns = Columns::<Weight>::new();
    columns.wrapped(prompt.division.name(), |part| part.name.clone());
    columns.right("pieces", |part| part.pieces);
    columns.right("tokens", |part| part.tokens);
    columns.right("share", |part| share(part.tokens.0, prompt.weights.total.0));
    if let Some(rates) = prompt.rates {
        // In a single request most parts cost a fraction of a cent.
        let times = |part: &Weight| Tokens(part.tokens.0.saturating_mul(1_000));
        columns.right("1,000 reads", move |part| Some(rates.cache_read.times(times(part))));
        columns.right("1,000 writes", move |part| Some(rates.cache_write_5m.times(times(part))));
    }
    if prompt.weights.parts.is_empty() {
        document.text("It defines no tools.");
    } else {
        document.grid(columns.grid(&prompt.weights.parts));
    }
    if prompt.rates.is_some() {
        document.text("What a thousand requests pay that read the part from the cache, or write it for five minutes.");
    }
    document
}

/// Basis of a prompt's count, in sentences.
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
        text.push_str("; a part is estimated, as its size is not known (images, thinking, tools of the service, schemas of answers)");
    }
    if let Some(recorded) = prompt.recorded {
        text.push_str("; its usage says ");
        text.push_str(&counted(recorded.0, "token", "tokens"));
        // With tools that the service ran, usage sums the prompts of several samplings.
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

/// Output of `tokens` for programs.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct TokensObject<'a> {
    /// File.
    file: &'a str,
    /// Text in each vocabulary, if the input is no prompt.
    text: Option<&'a [WeighedText]>,
    /// Prompt, if it is one.
    prompt: Option<PromptObject<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "PromptTokens"))]
struct PromptObject<'a> {
    /// Number in the file's requests, from 1 on.
    request: usize,
    /// Number of requests in the file.
    requests: usize,
    /// Model.
    model: &'a str,
    /// Vocabulary of the count; null if it was estimated.
    vocabulary: Option<&'static str>,
    /// Basis of the figures: a count is derived from the bytes by the vocabulary and measured frames.
    basis: Basis,
    /// Whole prompt.
    tokens: u64,
    /// Prompt by its recorded usage, which adds up several prompts if the service ran tools; null under
    /// `--model`.
    recorded_tokens: Option<u64>,
    /// Division.
    by: &'static str,
    /// Parts.
    parts: Vec<PartObject<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "PartTokens"))]
struct PartObject<'a> {
    #[serde(flatten)]
    weight: &'a Weight,
    /// Cost for one request to read it from the cache, in dollars; null if the model has no price.
    read_usd: Option<String>,
    /// Cost for one request to write it for five minutes.
    write_5m_usd: Option<String>,
}

/// Writes the tokens of a text as JSON.
///
/// # Errors
/// Writing to `out` fails.
pub fn write_text(file: &str, texts: &[WeighedText], out: &mut dyn Write) -> io::Result<()> {
    write_versioned(SCHEMA, &TokensObject { file, text: Some(texts), prompt: None }, out)
}

/// Writes the tokens of a prompt as JSON.
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
                weight: part,
                read_usd: prompt.rates.map(|rates| rates.cache_read.times(part.tokens).to_string()),
                write_5m_usd: prompt
                    .rates
                    .map(|rates| rates.cache_write_5m.times(part.tokens).to_string()),
            })
            .collect(),
    };
    let tokens = TokensObject { file: prompt.file, text: None, prompt: Some(object) };
    write_versioned(SCHEMA, &tokens, out)
}
