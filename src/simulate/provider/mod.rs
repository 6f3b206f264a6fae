//! Providers with automatic prefix caches: their rules, what is assumed where they publish none,
//! their prices, how their token counts compare with Claude's, and how well the rules agree with
//! what Codex recorded.
//!
//! Left out: Gemini's explicit caches, whose rules need a client that creates and deletes cache
//! objects, and whose price of storage is not reliably known.
//!
//! The same trace without its markers: a request reads the longest beginning that an earlier one
//! of its model and scope sent, in whole steps, while it lives; some providers have entries only
//! where a request ended, and charge for them. Two prompts share what lies before the deepest node
//! that both pass, and tokens match inside of blocks: captures keep digests along each distinct
//! block (`read/capture/landmarks.rs`), and where blocks after one prefix share some, the tree is
//! split there (`requests/prompt/split.rs`). A use of a prefix is one of all its beginnings, so
//! each path remembers uses instead of a clock for each node. Token counts are converted by a
//! stated ratio. What a provider does not document is an assumption with a text, which goes with
//! every figure.

mod agreement;
mod catalogue;

pub use agreement::{Agreement, agreement, recorded_step};
pub use catalogue::{
    ALL, MATCHING_ASSUMPTION, Provider, VOCABULARY_ASSUMPTION, by_name, token_ratio,
};
