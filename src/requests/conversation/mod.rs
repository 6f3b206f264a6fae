//! Entries → chains: which lines are one response, which request came before which, and what the
//! client added between them.
//!
//! `Graph` links entries to their parents: across compact boundaries by `logicalParentUuid`,
//! through old progress lines, around dangling parents (continued at the line before, or in the
//! file that has them) and circles (cut). Walking that tree once from its roots gives every
//! response its predecessor and what lies between, whatever the shape of the file. Messages that a
//! compaction preserved stay where they were written, so following the logical parent finds them
//! without relinking. Results of parallel calls that hang off the linear path are added back. A
//! response inside a progress line counts where its message has no line of its own anywhere;
//! copies in resumed and forked sessions count where they began (`origin.rs`).
//!
//! When a request was sent is not recorded. It is taken to be the time of the newest user-side
//! entry before the answer, never earlier than the request before.

mod agent_types;
mod between;
mod captured;
mod file;
mod fold;
mod gathered;
mod graph;
mod history;
mod join;
mod origin;
mod read;
mod results;
mod rewrite;

pub use between::{Between, ContentSource, Trail, TrailContent, TrailEntry, TrailIndex};
pub use captured::CapturedPrompts;
pub use file::{FileConversation, FileResponse, build};
pub use gathered::{ResponseKey, ResponseLines};
pub(crate) use history::project_names;
pub use history::{ConversationKey, History, InputFile, Request, RequestIndex};
pub use join::join;
pub use read::{ReadOptions, read};
pub use rewrite::{Lines, Place, Rewrite};
