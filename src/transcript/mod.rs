//! Bytes → entries: finds session files, reads them as a stream and keeps of each line only its
//! identities, sizes and usage.
//!
//! Reading never fails a run: entries and diagnostics come back together.

mod diagnostics;
mod discover;
mod entry;
mod lenient;
mod lines;
mod load;
mod parse;
mod source;
mod usage;
mod wire;

pub use diagnostics::{Diagnostic, Diagnostics, Kind};
pub use discover::{Discovered, discover};
pub use entry::{Entry, EntryKind, NestedMessage, ResponseLine, StopReason, UserMessage};
pub use load::{Transcript, load};
pub use source::{Location, Source};
pub use usage::{Iteration, PriceTier, PromptSplit, Usage, UsageProblem};
