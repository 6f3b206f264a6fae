//! Captured requests as paths through a tree of prefixes, with their markers.
//!
//! The bytes are known, so prefixes are exact: blocks have canonical bytes, and a prefix is known by
//! a chain of hashes over them. Text is kept only on request.
//!
//! A line is parsed by a typed parser; each block's canonical bytes (`canonical.rs`) extend the
//! hash of the prefix before it, and a prefix that is in the tree already is that node. So memory
//! follows new content, and equal prefixes of any sessions, scopes and files are one. Settings that are
//! part of the key are nodes of their own, without a size and a position: the model is the
//! root, speed and citations are in front of the system prompt, thinking, tool choice, effort,
//! format and the presence of images in front of the messages. Deferred tools are no part of the
//! prefix, nor are `cache_edits`: the deleted results stay in the tree and come off the sizes of
//! the prompt (`Prompt::edits`), and only the name of the attribution line is hashed if the
//! service replaces it (`read/capture/attribution.rs`). Beta features are no node: they separate
//! caches (`Partition`), as the model and the scope do, and so does a marker's TTL under
//! `--ttl-change loses`. Bundles are placed and then read as captures; exchanges of a claude-trace
//! log are unwrapped. A single line may be 64 MiB.

mod attribution;
mod block;
mod body;
mod canonical;
mod load;
mod other_fields;
mod parse;
mod record;
mod settings;
mod size;
mod sketch;
mod tree;
mod unsent;

pub(crate) use attribution::ATTRIBUTION;
pub use attribution::AttributionKey;
pub use block::BlockKind;
pub(crate) use block::{plain_text, text_block};
pub use body::{Likeness, WireMarker};
pub(super) use load::RecordReader;
pub use load::{BlockParts, CaptureOptions, Captures};
pub(crate) use load::{load_bundles, load_captures};
pub(crate) use other_fields::feature_names;
pub use parse::{AttributionPart, Elsewhere, WireRequest};
pub(crate) use parse::{FORK_TAG, MESSAGES_ENDPOINTS};
pub(super) use parse::{is_messages_endpoint, session_of_user};
pub(crate) use record::BETA_HEADER;
pub use size::TokenCounting;
pub use sketch::BlockSketch;
pub use tree::{Landmark, Part, PrefixHash, WireNode, WireNodeId, WireTree};
pub(crate) use tree::{landmarks, shared};
pub(crate) use unsent::as_records;
