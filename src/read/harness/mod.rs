//! Bundles → capture records: what a harness is about to send, with the cache markers where Claude
//! Code puts them.
//!
//! A bundle names the parts of a prompt; its `flags` say what the client would know at that moment.
//! [`Harness::place`] assembles the system prompt, sorts the tools, places the markers and prints
//! the request as it would go over the wire. The rules are those of Claude Code 2.1.88, as
//! documented. Whatever they do not touch is copied as it is written.

mod base;
mod block;
mod bundle;
mod flags;
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
