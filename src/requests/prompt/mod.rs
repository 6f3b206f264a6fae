//! Chains → the trace that the cache rules are applied to: prompts as paths through a tree of
//! prefixes, with sizes that are measured, derived or calibrated.

mod background;
mod build;
mod calibrate;
mod captured;
mod kept;
mod minimum;
mod paths;
mod recorded_break;
mod shared_prefix;
mod split;
mod step;
mod tail;
mod tally;
mod thinking;
mod trace;
mod version;

pub use build::{SharedPrefix, build};
pub(crate) use captured::{level, node_behind};
pub use kept::Kept;
pub use minimum::minimum_prefix;
pub(crate) use paths::Paths;
pub use recorded_break::{is_break, recorded_shortfall};
pub(crate) use split::Landmarks;
pub use step::{Step, StepKind, steps};
pub use tail::LARGEST_CONSTANT_TAIL;
pub use trace::{
    BackgroundWrite, Deletion, Edits, LOOKBACK, Level, Marker, Node, NodeId, Prompt, PromptTrace,
    Rare, Repair,
};
