//! Sizes of the parts of a prompt, in tokens: counted in the model's vocabulary (`counted.rs`), or estimated by kind
//! of text (`estimate.rs`); images and documents by their sides and pages.

mod counted;
mod estimate;

use std::fmt;
use std::num::NonZeroU64;

use serde_json::value::RawValue;

use counted::Counted;
pub(super) use counted::{Deferred, DeferredTool, Place, Role};

use super::block::Block;
use crate::base::Facts;
use crate::read::input::Shape;

/// Method of counting tokens (`--tokens`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TokenCounting {
    /// In the model's vocabulary; estimated if it is unknown. Recorded usage corrects it.
    #[default]
    Exact,
    /// Estimated by kind of content and model family, and corrected by recorded usage.
    Estimated,
    /// Canonical bytes for each token, rounded up for each block.
    Bytes(NonZeroU64),
}

impl TokenCounting {
    /// Returns true if bytes are taken for tokens, so that sizes are exact and usage says nothing of them.
    pub fn is_bytes(self) -> bool {
        matches!(self, Self::Bytes(_))
    }
}

impl fmt::Display for TokenCounting {
    /// Value of `--tokens`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact => f.write_str("exact"),
            Self::Estimated => f.write_str("estimated"),
            Self::Bytes(bytes) => write!(f, "bytes:{bytes}"),
        }
    }
}

/// Size of a part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub(super) tokens: u64,
    /// True if it was counted in the model's vocabulary, and its frame is known.
    pub(super) is_counted: bool,
}

impl Size {
    /// Unknown size.
    pub(super) const UNKNOWN: Self = Self { tokens: 0, is_counted: false };

    /// Size of two parts.
    pub(super) fn with(self, other: Self) -> Self {
        Self { tokens: self.tokens + other.tokens, is_counted: self.is_counted && other.is_counted }
    }
}

/// Sizes for the prompts of one model.
#[derive(Clone, Copy)]
pub(super) struct Sizes<'a> {
    counting: TokenCounting,
    facts: &'a Facts,
    /// Counter, if tokens are counted.
    counted: Option<Counted<'a>>,
}

impl<'a> Sizes<'a> {
    pub(super) fn new(counting: TokenCounting, facts: &'a Facts) -> Self {
        let counted = (counting == TokenCounting::Exact).then(|| Counted::new(facts)).flatten();
        Self { counting, facts, counted }
    }

    /// Size of a block in its place, from its canonical bytes: its escapes on its way do
    /// not matter.
    pub(super) fn block(&self, place: Place, canonical: &[u8], deferred: &Deferred<'_>) -> Size {
        if let TokenCounting::Bytes(bytes) = self.counting {
            return self.size((canonical.len() as u64).div_ceil(bytes.get()));
        }
        let text = std::str::from_utf8(canonical).unwrap_or_default();
        let block: Shape<Block<'_>> = serde_json::from_str(text).unwrap_or_default();
        let block = block.0.unwrap_or_default();
        match &self.counted {
            Some(counted) => {
                let is_counted = counted.is_known(&block, place, text);
                Size { tokens: counted.block(&block, place, text, deferred), is_counted }
            }
            None => {
                self.size(estimate::block_tokens(&block, place.part, text, &self.facts.tokenizer))
            }
        }
    }

    /// Frame of every prompt of the model.
    pub(super) fn frame(&self) -> Size {
        match &self.counted {
            Some(counted) => self.size(counted.frame()),
            None => self.of_tokens(self.facts.frame.0),
        }
    }

    /// Tokens that the service adds to the system prompt if there are tools.
    pub(super) fn tool_overhead(&self) -> Size {
        self.of_tokens(self.facts.tools_prompt.0)
    }

    /// Tokens that the service adds if the model has to call a tool, or the one of a name.
    pub(super) fn forced_choice(&self, name: Option<&str>) -> Size {
        let known = self.facts.forced_choice.map(|tokens| self.of_tokens(tokens.0));
        let named = match (&self.counted, name) {
            (Some(counted), Some(name)) => {
                counted.named_choice(name).map_or(Size::UNKNOWN, |tokens| self.size(tokens))
            }
            _ => self.nothing(),
        };
        known.unwrap_or(Size::UNKNOWN).with(named)
    }

    /// Tokens that a request for extended thinking with a budget adds.
    pub(super) fn thinking_budget(&self) -> Size {
        self.size(self.counted.map_or(0, |counted| counted.thinking_budget()))
    }

    /// Tokens that a request for an answer by a schema adds.
    pub(super) fn format(&self, format: &RawValue) -> Size {
        let tokens = self.counted.and_then(|counted| counted.format(format));
        tokens.map_or(Size::UNKNOWN, |tokens| self.size(tokens))
    }

    /// Tokens of a tool's name; zero if tokens are not counted.
    pub(super) fn name(&self, name: &str) -> u64 {
        self.counted.map_or(0, |counted| counted.name(name))
    }

    /// Size of a part without tokens.
    pub(super) fn nothing(&self) -> Size {
        self.size(0)
    }

    /// Size of text that the service adds: it has no bytes.
    fn of_tokens(&self, tokens: u64) -> Size {
        self.size(if self.counting.is_bytes() { 0 } else { tokens })
    }

    /// Size that is as exact as this way to count.
    fn size(&self, tokens: u64) -> Size {
        Size { tokens, is_counted: self.counted.is_some() }
    }
}
