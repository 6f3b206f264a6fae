//! Chains → the trace that the cache rules are applied to: prompts as paths through a tree of
//! prefixes, with sizes that are measured, derived or calibrated.

mod background;
mod build;
mod calibrate;
mod captured;
mod minimum;
mod paths;
mod recorded_break;
mod shared_prefix;
mod step;
mod tail;
mod tally;
mod thinking;
mod trace;
mod version;

pub use build::{SharedPrefix, build};
pub(crate) use captured::node_behind;
pub use minimum::minimum_prefix;
pub(crate) use paths::Paths;
pub use recorded_break::{is_break, recorded_shortfall};
pub use step::{Step, StepKind, steps};
pub use tail::LARGEST_CONSTANT_TAIL;
pub use trace::{
    BackgroundWrite, Deletion, Edits, Level, Marker, Node, NodeId, Prompt, PromptTrace,
};
