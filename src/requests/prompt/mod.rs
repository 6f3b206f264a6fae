//! Chains → the trace that the cache rules are applied to: prompts as paths through a tree of
//! prefixes, with sizes that are measured, derived or calibrated.
//!
//! A `Prompt` holds the request's total, the TTLs of its markers, and, for the first request of a
//! chain and the first after a change of model, the recorded read, which shows what was already
//! warm. Its own split is not in the type, so it cannot leak. What others than the request itself
//! show goes in through calibration (`calibrate.rs`), which looks at earlier requests of the chain
//! and at other sessions only:
//!
//! - `tail.rs`: what stands after the last marker is what the last request of the same kind had;
//! - `background.rs`: whether the client sent an unrecorded request between two turns, which wrote
//!   the answer and started the clock anew: a habit of version, session and recap, learnt turn by
//!   turn;
//! - `shared_prefix.rs`: how large tools and system prompt are (what is still read when the
//!   messages were rewritten), and what of them outlives an expiry because other traffic keeps it
//!   warm.
//!
//! Where a request's cached prefix ends (read + written) becomes known to the requests after it:
//! that is the node it adds to the tree. Where the service deletes tokens of prefixes that stay
//! valid (`cache_deleted_input_tokens`), nodes keep the size that they would have without it, and
//! `Prompt::deleted` comes off.

mod background;
mod build;
mod calibrate;
mod captured;
mod paths;
mod shared_prefix;
mod split;
mod step;
mod trace;

pub use build::{Kept, SharedPrefix, build, minimum_prefix};
pub use calibrate::LARGEST_CONSTANT_TAIL;
pub(crate) use captured::{level, node_behind};
pub(crate) use paths::Paths;
pub(crate) use split::Landmarks;
pub use step::{Step, StepKind, is_break, recorded_shortfall, steps};
pub use trace::{
    BackgroundWrite, Deletion, Edits, LOOKBACK, Level, Marker, Node, NodeId, Prompt, PromptTrace,
    Rare, Repair,
};
