//! How large the parts of a prompt are, in tokens: counted in the model's vocabulary (`counted.rs`), or estimated by kind of
//! text (`estimate.rs`); of images and documents by their sides and pages.

mod counted;
mod estimate;

use std::fmt;
use std::num::NonZeroU64;

use counted::Counted;
pub(super) use counted::{Deferred, DeferredTool, Place, Role};

use super::block::Block;
use crate::base::model::Facts;
use crate::read::input::Shape;

/// How tokens are counted (`--tokens`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TokenCounting {
    /// In the model's vocabulary; estimated where that is not known. Recorded usage corrects it.
    #[default]
    Exact,
    /// Estimated by kind of content and model family, and corrected by recorded usage.
    Estimated,
    /// So many canonical bytes are a token, rounded up for each block.
    Bytes(NonZeroU64),
}

impl TokenCounting {
    /// Whether bytes are taken for tokens, so that sizes are exact and usage says nothing of them.
    #[must_use]
    pub fn is_bytes(self) -> bool {
        matches!(self, Self::Bytes(_))
    }
}

impl fmt::Display for TokenCounting {
    /// As `--tokens` takes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact => f.write_str("exact"),
            Self::Estimated => f.write_str("estimated"),
            Self::Bytes(bytes) => write!(f, "bytes:{bytes}"),
        }
    }
}

/// The size of a part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub(super) tokens: u64,
    /// Whether it was counted in the model's vocabulary, and its frame is known.
    pub(super) is_counted: bool,
}

impl Size {
    /// What has no size that is known.
    pub(super) const UNKNOWN: Self = Self { tokens: 0, is_counted: false };
}

/// Sizes for the prompts of one model.
#[derive(Clone, Copy)]
pub(super) struct Sizes<'a> {
    counting: TokenCounting,
    facts: &'a Facts,
    /// What counts, where tokens are counted.
    counted: Option<Counted<'a>>,
}

impl<'a> Sizes<'a> {
    pub(super) fn new(counting: TokenCounting, facts: &'a Facts) -> Self {
        let counted = (counting == TokenCounting::Exact).then(|| Counted::new(facts)).flatten();
        Self { counting, facts, counted }
    }

    /// The size of a block in its place, given by its canonical bytes: how it was escaped on its way does
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

    /// What frames every prompt of the model.
    pub(super) fn frame(&self) -> Size {
        match &self.counted {
            Some(counted) => self.size(counted.frame()),
            None => self.of_tokens(self.facts.frame.0),
        }
    }

    /// What the service adds to the system prompt where there are tools.
    pub(super) fn tool_overhead(&self) -> Size {
        self.of_tokens(self.facts.tools_prompt.0)
    }

    /// What asking for extended thinking with a budget adds.
    pub(super) fn thinking_budget(&self) -> Size {
        self.size(self.counted.map_or(0, |counted| counted.thinking_budget()))
    }

    /// The tokens of a tool's name; zero where tokens are not counted.
    pub(super) fn name(&self, name: &str) -> u64 {
        self.counted.map_or(0, |counted| counted.name(name))
    }

    /// What has no size.
    pub(super) fn nothing(&self) -> Size {
        self.size(0)
    }

    /// What the service adds has no bytes.
    fn of_tokens(&self, tokens: u64) -> Size {
        self.size(if self.counting.is_bytes() { 0 } else { tokens })
    }

    /// A size that is as good as this way to count is.
    fn size(&self, tokens: u64) -> Size {
        Size { tokens, is_counted: self.counted.is_some() }
    }
}
