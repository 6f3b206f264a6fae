//! What every input format shares: which files there are, their lines within a memory limit, values
//! of unexpected types, the API's usage object, and what was wrong with the input.

mod diagnostics;
mod discover;
mod lenient;
mod lines;
mod source;
mod usage;

pub use diagnostics::{Diagnostic, Diagnostics, Kind};
pub use discover::{Discovered, discover};
pub(crate) use lenient::{Content, Flag, JsonLength, List, Shape, Text};
pub(crate) use lines::{Chunk, Chunks, LONGEST_LINE};
pub use source::{Location, Source};
pub use usage::{Iteration, PriceTier, PromptSplit, Usage, UsageProblem};
pub(crate) use usage::{UsageObject, read_usage};
