//! What is compared: the sizes of the parts of forks, and the state of the parent's prefix.

use super::equivalents::Equivalents;
use crate::base::ttl::Ttl;
use crate::base::units::Tokens;

/// The most children of a plan.
pub const MOST_CHILDREN: usize = 10_000;

/// The most tokens of one part; with it no sum over all children overflows.
pub const MOST_TOKENS: u64 = 1_000_000_000_000;

/// A parent and its children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkPlan {
    /// The parent's prompt as far as its last marker: tools, system prompt, messages.
    pub parent: Tokens,
    /// The parent's last answer, which stands after that marker.
    pub assistant: Tokens,
    /// The placeholders for the results of its calls, all together.
    pub placeholders: Tokens,
    /// The directive of each child.
    pub directives: Vec<Tokens>,
    /// How much of the parent's prompt children still share, as far as a marker, where they decide
    /// anew which of its results are replaced.
    pub kept: Tokens,
    /// Whether the parent's prefix is still cached when the children start.
    pub parent_is_warm: bool,
    /// The TTL of all markers.
    pub ttl: Ttl,
    /// What a token written weighs, in tokens sent in full; `None` for what its TTL usually costs.
    /// Prices of a model hold over it.
    pub write_weight: Option<Equivalents>,
    /// The shortest prefix that the model caches.
    pub minimum: Tokens,
}

/// Why a plan makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Nothing to share with.
    #[error("there are no children; give at least one directive")]
    NoChildren,
    /// More than anyone forks.
    #[error("{0} children are too many; {MOST_CHILDREN} are the most")]
    TooManyChildren(usize),
    /// A part that cannot be empty is.
    #[error("{0} cannot have 0 tokens")]
    Empty(&'static str),
    /// More of the parent is kept than it has.
    #[error("a parent of {} tokens cannot keep {}", parent.0, kept.0)]
    KeepsTooMuch {
        /// The parent's size.
        parent: Tokens,
        /// What of it is kept.
        kept: Tokens,
    },
    /// A part is larger than any prompt.
    #[error("{part} cannot have {} tokens; {MOST_TOKENS} are the most", tokens.0)]
    TooLarge {
        /// The part.
        part: &'static str,
        /// Its size.
        tokens: Tokens,
    },
}

impl ForkPlan {
    /// The size of a child's prompt.
    #[must_use]
    pub fn prompt(&self, directive: Tokens) -> Tokens {
        self.parent + self.assistant + self.placeholders + directive
    }

    /// Whether there is something to compare.
    pub(super) fn check(&self) -> Result<(), PlanError> {
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
