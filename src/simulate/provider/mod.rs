//! Providers with automatic prefix caches: their rules, what is assumed where they publish none,
//! their prices, how their token counts compare with Claude's, and how well the rules agree with
//! what Codex recorded.
//!
//! Left out: Gemini's explicit caches, whose rules need a client that creates and deletes cache
//! objects, and whose price of storage is not reliably known.

mod agreement;
mod catalogue;
mod definition;
mod vocabulary;

pub use agreement::{Agreement, agreement, recorded_step};
pub use catalogue::{ALL, by_name};
pub use definition::{MATCHING_ASSUMPTION, Provider};
pub use vocabulary::{VOCABULARY_ASSUMPTION, token_ratio};
