//! Captured requests → paths through a tree of prefixes, with their markers.
//!
//! The bytes are known, so prefixes are exact: blocks have canonical bytes, and a prefix is known by
//! a chain of hashes over them. Text is kept only where it is asked for.

mod answer;
mod betas;
mod block;
mod body;
mod canonical;
mod image_size;
mod load;
mod other_fields;
mod parse;
mod prefix;
mod record;
mod seconds;
mod size;
mod text_size;
mod tree;

pub use block::BlockKind;
pub use body::{Likeness, WireMarker};
pub(crate) use image_size::{page_count, pixels};
pub use load::{CaptureOptions, Captures};
pub(crate) use load::{load_bundles, load_captures};
pub use parse::WireRequest;
pub(crate) use parse::{FORK_TAG, MESSAGES_ENDPOINTS};
pub use prefix::PrefixHash;
pub use size::TokenCounting;
pub(crate) use text_size::TokenizerFamily;
pub use tree::{Part, WireNode, WireNodeId, WireTree};
