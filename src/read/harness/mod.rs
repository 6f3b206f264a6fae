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
mod cache_edits;
mod error;
mod flags;
mod git_status;
mod lines;
mod marker;
mod memory;
mod message;
mod normal_form;
mod pairs;
mod place;
mod raw;
mod schemas;
mod section;
mod system;
mod tool;
mod ttl;
mod writer;

pub use error::BundleError;
pub(crate) use flags::{DEFAULT_ALLOW_LIST, IDENTITIES};
pub(crate) use lines::place_lines;
pub use normal_form::Repairs;
pub use place::{Harness, Placed};
pub(crate) use system::BOUNDARY;
pub(crate) use tool::{COMPACTABLE_TOOLS, ToolRank, tool_rank};
