//! Bytes → entries: reads a session file as a stream and keeps of each line only its identities,
//! sizes and usage.
//!
//! Reading never fails a run: entries and diagnostics come back together.

mod content;
mod entry;
mod load;
mod parse;
mod rewrite_reading;
mod sign;
mod title;
mod wire;

pub use content::ContentKind;
pub(crate) use content::{BEGINNINGS, beginning_of};
pub use entry::{
    AgentNote, Cleared, Collapse, Entry, EntryKind, NestedContent, NestedMessage, Preserved,
    ResponseLine, ServerVerdict, StopReason, ToolUse, UserMessage,
};
pub(crate) use load::{Spare, load_open, unreadable};
pub use load::{Transcript, load};
pub(crate) use parse::SYNTHETIC_MODEL;
pub(crate) use sign::{NAME_TAG, command_name, known_commands};
pub use sign::{Sign, Signs};
pub use title::{Title, TitleKind, Titled};
