//! What every input format shares: which files there are, their lines within a memory limit, a fast
//! deserialiser, values of unexpected types, the API's usage object, and what was wrong with the input.

mod diagnostics;
mod discover;
mod format;
mod in_order;
mod lenient;
mod lines;
mod moment;
mod skim;
mod source;
mod stretches;
mod surrogates;
mod usage;

pub use diagnostics::{Diagnostic, Diagnostics, Kind};
pub use discover::{Discovered, discover};
pub(crate) use format::Format;
pub(crate) use in_order::{InOrder, locked};
pub(crate) use lenient::{Content, Count, Flag, JsonLength, List, Listed, Number, Shape, Text};
pub(crate) use lines::{CHUNK, Chunk, LONGEST_LINE};
pub(crate) use moment::moment;
pub(crate) use skim::{first_value, only_value};
pub use source::{Location, Source};
pub(crate) use stretches::{Expected, OpenSource, Stretch};
pub use stretches::{Extent, read_lines};
pub(crate) use surrogates::replace_lone_surrogates;
pub use usage::{Iteration, PriceTier, PromptSplit, Usage, UsageProblem};
pub(crate) use usage::{UsageObject, read_usage};
