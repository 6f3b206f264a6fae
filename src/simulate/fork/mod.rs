//! What sharing a prefix among forked agents saves: sizes → the requests of each way to fork, put
//! through the rules, in tokens, input-token equivalents and money.
//!
//! A fork's prompt is the parent's, the parent's whole last answer, one constant placeholder for
//! the result of each of its calls, and the directive, in which alone siblings differ. So what
//! siblings have in common ends at the last placeholder. With a marker there the first child
//! writes what the others read; the directives are input. A parent of 100,000 tokens, an answer
//! of 500, placeholders of 200 and three directives of 100, with reads at 0.1 and writes at 1.25:
//!
//! ```text
//! without sharing  3 × (100,000 + 500 + 200 + 100)             = 302,400
//!
//! first child      100,000 × 0.1 + (500 + 200) × 1.25 + 100    =  10,975
//! each sibling     (100,000 + 500 + 200) × 0.1 + 100           =  10,170
//! with sharing     10,975 + 2 × 10,170                         =  31,315
//! ```
//!
//! The prompts have one marker each, and a parent that is warm has its own. Left out is the marker
//! of the system prompt: in front of a warm parent it changes nothing; after a cold one it would
//! let siblings that share nothing else share tools and system prompt. No marker is so far after
//! the parent's that the lookback would not reach it, so an answer is taken to have fewer than
//! twenty positions.
//!
//! Forks have no input but sizes: each variant is a small `PromptTrace` of the parent's request
//! and its children's, which the simulator treats like any other, so the calculator cannot
//! disagree with the rules. Equivalents are whole millionths of a token sent in full.

mod compare;
mod equivalents;
mod plan;
mod trace;

pub use compare::{Charge, Comparison, ForkError, ForkPrices, ForkTable, compare};
pub use equivalents::{Equivalents, Multipliers};
pub use plan::{ForkPlan, MOST_CHILDREN, MOST_TOKENS, PlanError, VARIANTS, Variant};
