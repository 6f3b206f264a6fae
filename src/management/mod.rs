//! Context management: the prompts of recorded sessions as they would have been, had the client or
//! the service kept them smaller.
//!
//! A [`Management`] rewrites a trace: prompts shrink, and where bytes of a prefix change, the path
//! of the prompt parts from the old one there. The simulator then knows what is still read. Only
//! totals, outputs and the sizes of contents are looked at, never how a prompt was billed. What the
//! agent would have done differently cannot be known; [`Management::unknowns`] says so.

mod breaker;
mod clearing;
mod compaction;
mod contents;
mod conversation;
mod manage;
mod pieces;
mod rewrite;
mod rule;

pub use manage::{AddedPrompt, Effects, Managed, manage};
pub use rule::{Budget, Compaction, Management, SessionMemory};
