//! What makes the prefixes of captured prompts unstable, where to the byte, and what it costs.
//!
//! Lint reads captures with their bytes kept (each block once), compares each request with the one
//! it goes on from part by part, as far as that one was cached, simulates the trace as it is and
//! with an unlimited lookback, and prices what came back, was still cached and was not read
//! (`recurring.rs`), at the TTL under which it was written again. No token has two prices: of
//! several differences the first in the prefix has it, what only the limit of the lookback lost
//! has another, and variants of a prefix are priced where a conversation begins.

mod markers;
mod recurring;
mod rule;
mod run;
mod stability;
mod variants;
mod volatile_text;

pub use rule::{Finding, Rule, Severity};
pub use run::lint;
