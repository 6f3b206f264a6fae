//! Savings of forked agents by sharing a prefix: builds the requests of each way to fork from
//! sizes, and puts them through the rules, in tokens, input-token equivalents and money.
//!
//! A fork's prompt is the parent's, the parent's whole last answer, one constant placeholder for
//! the result of each of its calls, and the directive, the only part that differs between siblings.
//! So siblings share everything up to the last placeholder. With a marker there, the first child
//! writes the prefix that the others read, and the directives are input. Take a parent of 100,000
//! tokens, an answer of 500, placeholders of 200 and three directives of 100, with reads at 0.1 and
//! writes at 1.25:
//!
//! ```text
//! without sharing  3 × (100,000 + 500 + 200 + 100)             = 302,400
//!
//! first child      100,000 × 0.1 + (500 + 200) × 1.25 + 100    =  10,975
//! each sibling     (100,000 + 500 + 200) × 0.1 + 100           =  10,170
//! with sharing     10,975 + 2 × 10,170                         =  31,315
//! ```
//!
//! The prompts have one marker each, and so does a warm parent. There is no marker on the system
//! prompt: before a warm parent it changes nothing, and after a cold one it would let siblings that
//! share nothing else share tools and system prompt. An answer is assumed to have fewer than twenty
//! positions, so that lookback reaches the parent's marker.
//!
//! Forks have no input but sizes. Each variant is a small `PromptTrace` of the parent's request and
//! its children's, which the simulator treats like any other, so the result cannot disagree with
//! the rules.

mod compare;
mod equivalents;
mod trace;

pub use compare::{ForkCharge, ForkComparison, ForkError, ForkPrices, ForkTable, compare};
pub use equivalents::{Equivalents, Multipliers};

use serde::Serialize;

use crate::base::{Tokens, Ttl};

/// Largest number of children in a plan.
pub const MOST_CHILDREN: usize = 10_000;

/// Largest number of tokens in one part; within it no sum over all children overflows.
pub const MOST_TOKENS: u64 = 1_000_000_000_000;

/// Sizes of a parent and its children.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "PlanObject"))]
pub struct ForkPlan {
    /// Tokens of the parent's prompt up to its last marker: tools, system prompt, messages.
    #[serde(rename = "parent_tokens")]
    pub parent: Tokens,
    /// Tokens of the parent's last answer, after that marker.
    #[serde(rename = "assistant_tokens")]
    pub assistant: Tokens,
    /// Tokens of all placeholders for the results of the answer's calls.
    #[serde(rename = "placeholder_tokens")]
    pub placeholders: Tokens,
    /// Tokens of each child's directive.
    #[serde(rename = "directive_tokens")]
    pub directives: Vec<Tokens>,
    /// Tokens of the parent's prompt, up to a marker, that children share if they decide again which
    /// of its results are replaced.
    #[serde(rename = "kept_tokens")]
    pub kept: Tokens,
    /// True if the parent's prefix is still cached when the children start.
    pub parent_is_warm: bool,
    /// TTL of all markers.
    pub ttl: Ttl,
    /// Weight of a token written, in tokens sent in full, or `None` for the usual one of its TTL.
    /// Prices of a model take precedence.
    #[serde(skip)]
    pub write_weight: Option<Equivalents>,
    /// Tokens that a prefix needs to be cached.
    #[serde(rename = "minimum_prefix_tokens")]
    pub minimum: Tokens,
}

/// Reason for which a plan is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// No children.
    #[error("there are no children; give at least one directive")]
    NoChildren,
    /// More children than anyone forks.
    #[error("{0} children are too many; {MOST_CHILDREN} are the most")]
    TooManyChildren(usize),
    /// An empty part that must not be empty.
    #[error("{0} cannot have 0 tokens")]
    Empty(&'static str),
    /// More kept tokens than the parent has.
    #[error("a parent of {} tokens cannot keep {}", parent.0, kept.0)]
    KeepsTooMuch {
        /// Size of the parent.
        parent: Tokens,
        /// Kept tokens of the parent.
        kept: Tokens,
    },
    /// A part that is larger than any prompt.
    #[error("{part} cannot have {} tokens; {MOST_TOKENS} are the most", tokens.0)]
    TooLarge {
        /// Name of the part.
        part: &'static str,
        /// Size of the part.
        tokens: Tokens,
    },
}

impl ForkPlan {
    /// Size of a child's prompt.
    pub fn prompt(&self, directive: Tokens) -> Tokens {
        self.parent + self.assistant + self.placeholders + directive
    }

    /// Checks that there is something to compare, of possible sizes.
    fn check(&self) -> Result<(), PlanError> {
        if self.directives.is_empty() {
            return Err(PlanError::NoChildren);
        }
        if self.directives.len() > MOST_CHILDREN {
            return Err(PlanError::TooManyChildren(self.directives.len()));
        }
        check_size("the parent", self.parent, false)?;
        if self.kept > self.parent {
            return Err(PlanError::KeepsTooMuch { parent: self.parent, kept: self.kept });
        }
        check_size("the assistant message", self.assistant, true)?;
        check_size("the placeholders", self.placeholders, true)?;
        self.directives
            .iter()
            .try_for_each(|directive| check_size("a directive", *directive, false))
    }
}

fn check_size(part: &'static str, tokens: Tokens, may_be_empty: bool) -> Result<(), PlanError> {
    match tokens.0 {
        0 if !may_be_empty => Err(PlanError::Empty(part)),
        0..=MOST_TOKENS => Ok(()),
        _ => Err(PlanError::TooLarge { part, tokens }),
    }
}

/// Part of a child's prompt after the parent's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Parent's last answer.
    Assistant,
    /// Placeholders for the results of the answer's calls.
    Placeholders,
    /// Task of the child.
    Directive,
}

/// Start of the first child's siblings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    /// Once the response to the first child has begun, so that its writes can be read.
    Staggered,
    /// Together with the first child.
    AtOnce,
}

/// Part of the parent's prompt with which children begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shares {
    /// Nothing: each child has its own prefix.
    Nothing,
    /// Everything before the first result that the children replace differently from the parent.
    ///
    /// Siblings replace the same ones.
    Kept,
    /// All of it.
    Everything,
}

/// Way to fork.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Name in every output.
    pub name: &'static str,
    /// Meaning, in words.
    pub meaning: &'static str,
    /// Part of the parent's bytes with which the prompts begin.
    shares: Shares,
    /// Parts after the parent's prompt, in order.
    parts: [Part; 3],
    /// Part that ends with the marker.
    marker: Option<Part>,
    /// Start of the siblings.
    start: Start,
}

/// Claude Code's order: results come before text in a message.
const DIRECTIVE_LAST: [Part; 3] = [Part::Assistant, Part::Placeholders, Part::Directive];
const DIRECTIVE_FIRST: [Part; 3] = [Part::Assistant, Part::Directive, Part::Placeholders];

const fn fork(name: &'static str, meaning: &'static str, marker: Part, start: Start) -> Variant {
    let parts = DIRECTIVE_LAST;
    Variant { name, meaning, shares: Shares::Everything, parts, marker: Some(marker), start }
}

/// All ways to fork; the others are compared with the first.
pub const VARIANTS: [Variant; 9] = [
    Variant {
        shares: Shares::Nothing,
        marker: None,
        ..fork(
            "separate",
            "prefixes of their own, nothing cached",
            Part::Directive,
            Start::Staggered,
        )
    },
    Variant {
        shares: Shares::Nothing,
        ..fork(
            "separate_cached",
            "prefixes of their own, each written",
            Part::Directive,
            Start::Staggered,
        )
    },
    fork(
        "placeholder",
        "marker on the last placeholder; siblings wait for the first child's response to begin",
        Part::Placeholders,
        Start::Staggered,
    ),
    fork(
        "placeholder_at_once",
        "the same, started together: none can read what another writes",
        Part::Placeholders,
        Start::AtOnce,
    ),
    fork(
        "directive",
        "marker on the directive: each writes all that follows the parent",
        Part::Directive,
        Start::Staggered,
    ),
    Variant {
        parts: DIRECTIVE_FIRST,
        ..fork(
            "directive_first",
            "directive in front of the placeholders, marker on the last of these",
            Part::Placeholders,
            Start::Staggered,
        )
    },
    fork(
        "skip_write",
        "marker on the last message shared with the parent (skip_cache_write)",
        Part::Assistant,
        Start::Staggered,
    ),
    fork("skip_write_at_once", "the same, started together", Part::Assistant, Start::AtOnce),
    Variant {
        shares: Shares::Kept,
        ..fork(
            "fresh_decisions",
            "as placeholder, but children replace other results than the parent did: what it keeps \
             is read, the rest of the parent's prompt is written again",
            Part::Placeholders,
            Start::Staggered,
        )
    },
];
