//! Bytes → entries: reads a session file as a stream and keeps of each line only its identities,
//! sizes and usage.
//!
//! Reading never fails a run: entries and diagnostics come back together.

mod entry;
mod load;
mod parse;
mod wire;

pub use entry::{Entry, EntryKind, NestedMessage, ResponseLine, StopReason, UserMessage};
pub(crate) use load::load_open;
pub use load::{Transcript, load};
