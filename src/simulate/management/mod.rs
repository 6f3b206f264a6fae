//! Context management: the prompts of recorded sessions as they would have been, had the client or
//! the service kept them smaller.
//!
//! A [`Management`] rewrites a trace: prompts shrink, and where bytes of a prefix change, the path
//! of the prompt parts from the old one there. The simulator then knows what is still read. Only
//! totals, outputs and the sizes of contents are looked at, never how a prompt was billed. What the
//! agent would have done differently cannot be known; [`Management::unknowns`] says so, and
//! [`Management::assumptions`] which sizes are assumed.

mod assumed;
mod breaker;
mod clearing;
mod compaction;
mod contents;
mod conversation;
mod manage;
mod pieces;
mod result_budget;
mod rewrite;
mod rounds;
mod rule;
mod session_memory;
mod trigger;

pub use clearing::{ByService, ByTime, Microcompaction};
pub use compaction::{Attempt, Budget, Compaction, PutInAgain};
pub use manage::{AddedPrompt, Effects, Managed, Reason, manage};
pub use result_budget::ResultBudget;
pub use rule::Management;
pub use session_memory::{MemoryUpdates, SessionMemory};
pub use trigger::{Trigger, WindowEnd};
