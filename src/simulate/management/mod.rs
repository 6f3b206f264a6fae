//! Context management: the prompts of recorded sessions as they would have been, had the client or
//! the service kept them smaller.
//!
//! A [`Management`] rewrites a trace: prompts shrink, and where bytes of a prefix change, the path
//! of the prompt parts from the old one there. The simulator then knows what is still read. Only
//! totals, outputs and the sizes of contents are looked at, never how a prompt was billed. What the
//! agent would have done differently cannot be known; [`Management::unknowns`] says so, and
//! [`Management::assumptions`] which sizes are assumed.
//!
//! Context management makes another trace of the recorded one, with the same requests. Each
//! request carries its conversation's state (`conversation.rs`): the prompt's recorded size and
//! the present one, and the last compactable result on its path through a tree of pieces
//! (`pieces.rs`) with sums and far pointers, so that "all but the newest five" takes O(log n)
//! however conversations branch. Nodes keep their places (`rewrite.rs`): where bytes change, a
//! request's node gets another parent, the last node in front of what was cleared first, and those
//! that go on from it follow; where the service deletes tokens of a prefix that stays
//! (`cache_edits`), paths stay as they are and `Prompt::deleted` comes off whatever the prompt
//! finds. A result that comes in as a preview changes sizes, and no path. What a prompt grew by in
//! the record it grows by here. A recorded rewrite of which nothing is known keeps the proportion,
//! and what stood before it cannot be cleared any more; a recorded compaction ends what clearing
//! saved, and is undone by a design that compacts by itself, whose own requests are added. Only
//! totals, outputs and contents are looked at, never a recorded split.

mod assumed;
mod clearing;
mod compaction;
mod conversation;
mod manage;
mod pieces;
mod rewrite;
mod rule;

pub use clearing::{ByService, ByTime, Microcompaction, ResultBudget};
pub use compaction::{Attempt, Budget, Compaction, MemoryUpdates, PutInAgain, SessionMemory};
pub use manage::{AddedPrompt, Effects, Managed, Reason, manage};
pub use rule::{Management, Trigger, WindowEnd};
