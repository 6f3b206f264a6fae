//! What makes the prefixes of captured prompts unstable, where to the byte, and what it costs.

mod conditionals;
mod finding;
mod markers;
mod recurring;
mod rule;
mod run;
mod stability;
mod tools;
mod trace;
mod variants;
mod volatile_text;

pub use finding::Finding;
pub use rule::{Rule, Severity};
pub use run::lint;
