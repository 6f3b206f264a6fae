//! Conversion of bundles into capture records: the prompt that a harness is about to send, with the cache markers
//! where Claude Code puts them.
//!
//! A bundle names the parts of a prompt; its `flags` are the state of the client at that moment.
//! [`Harness::place`] assembles the system prompt, sorts the tools, places the markers and prints
//! the request as it would go over the wire. The rules are those of Claude Code 2.1.88, as
//! documented. Parts that they do not touch are copied as written.

mod base;
mod block;
mod bundle;
mod flags;
mod headers;
mod memory;
mod message;
mod normal_form;
mod place;
mod raw;
mod system;
mod tool;
mod ttl;

pub(crate) use flags::{DEFAULT_ALLOW_LIST, IDENTITIES};
pub use normal_form::Repairs;
pub use place::{BundleError, Harness, Placed};
pub(crate) use raw::place_lines;
pub(crate) use system::BOUNDARY;
pub(crate) use tool::{COMPACTABLE_TOOLS, ToolRank, tool_rank};
