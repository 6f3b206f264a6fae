//! Captured requests → paths through a tree of prefixes, with their markers.
//!
//! The bytes are known, so prefixes are exact: blocks have canonical bytes, and a prefix is known by
//! a chain of hashes over them. Text is kept only where it is asked for.

mod answer;
mod attribution;
mod betas;
mod block;
mod body;
mod canonical;
mod image_size;
mod landmarks;
mod load;
mod other_fields;
mod parse;
mod prefix;
mod record;
mod seconds;
mod size;
mod text_size;
mod tree;

pub(crate) use attribution::ATTRIBUTION;
pub use attribution::AttributionKey;
pub use block::BlockKind;
pub(crate) use block::{plain_text, text_block};
pub use body::{Likeness, WireMarker};
pub(crate) use image_size::{page_count, pixels};
pub use landmarks::Landmark;
pub(crate) use landmarks::{landmarks, shared};
pub use load::{BlockParts, CaptureOptions, Captures};
pub(crate) use load::{load_bundles, load_captures};
pub use parse::{AttributionPart, WireRequest};
pub(crate) use parse::{FORK_TAG, MESSAGES_ENDPOINTS};
pub use prefix::PrefixHash;
pub(crate) use record::BETA_HEADER;
pub use size::TokenCounting;
pub(crate) use text_size::TokenizerFamily;
pub use tree::{Part, WireNode, WireNodeId, WireTree};
