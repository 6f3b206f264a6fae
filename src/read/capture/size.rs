//! How large the parts of a prompt are, in tokens.

use std::fmt;
use std::num::NonZeroU64;

use super::block::Block;
use super::text_size::TokenizerFamily;
use super::tree::Part;
use crate::base::model::canonical_name;
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

/// What the service adds for tools, by model: with tool choice `auto` or `none`, as documented.
const TOOL_OVERHEAD: [(&str, u64); 14] = [
    ("claude-opus-5", 286),
    ("claude-opus-4-8", 290),
    ("claude-opus-4-7", 675),
    ("claude-opus-4-6", 497),
    ("claude-opus-4-5", 496),
    ("claude-opus-4", 313),
    ("claude-sonnet-5", 354),
    ("claude-sonnet-4-6", 497),
    ("claude-sonnet-4-5", 496),
    ("claude-sonnet-4", 313),
    ("claude-haiku-4-5", 496),
    ("claude-3-5-haiku", 264),
    ("claude-3-haiku", 264),
    ("claude-3", 346),
];

/// Where the documentation names no figure.
const USUAL_TOOL_OVERHEAD: u64 = 354;

/// Sizes for the prompts of one model.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes<'a> {
    counting: TokenCounting,
    model: &'a str,
    family: TokenizerFamily,
}

impl<'a> Sizes<'a> {
    pub(super) fn new(counting: TokenCounting, model: &'a str) -> Self {
        Self { counting, model: canonical_name(model), family: TokenizerFamily::of(model) }
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
                service.unwrap_or_else(|| block.estimated_tokens(text, self.family))
            }
        }
    }

    /// What frames every prompt of the model; measured for prompts of a single message.
    pub(super) fn frame(&self) -> u64 {
        match (self.counting, self.family) {
            (TokenCounting::Bytes(_), _) => 0,
            (TokenCounting::Estimated, TokenizerFamily::Third) => 7,
            (TokenCounting::Estimated, TokenizerFamily::Later) => {
                if self.model.starts_with("claude-opus-4") { 11 } else { 6 }
            }
        }
    }

    /// What the service adds to the system prompt where there are tools.
    pub(super) fn tool_overhead(&self) -> u64 {
        match self.counting {
            TokenCounting::Bytes(_) => 0,
            TokenCounting::Estimated => TOOL_OVERHEAD
                .iter()
                .find(|(family, _)| self.model.starts_with(family))
                .map_or(USUAL_TOOL_OVERHEAD, |(_, tokens)| *tokens),
        }
    }
}
