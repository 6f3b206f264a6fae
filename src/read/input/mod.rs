//! What every input format shares: which files there are, their lines within a memory limit, a fast
//! deserialiser, values of unexpected types, the API's usage object, and what was wrong with the input.

mod diagnostics;
mod discover;
mod lenient;
mod lines;
mod skim;
mod stretches;
mod usage;

pub use diagnostics::{Diagnostic, Diagnostics, Kind};
pub use discover::{Discovered, Location, Source, discover};
pub(crate) use lenient::{
    Content, Count, Flag, JsonLength, List, Listed, Number, Shape, Text, moment,
    replace_lone_surrogates,
};
pub(crate) use lines::{CHUNK, Chunk, LONGEST_LINE};
pub(crate) use skim::{first_value, only_value};
pub(crate) use stretches::{Expected, Format, InOrder, OpenSource, Stretch, locked};
pub use stretches::{Extent, read_lines};
pub use usage::{Iteration, PriceTier, PromptSplit, Usage, UsageProblem};
pub(crate) use usage::{UsageObject, read_usage};
