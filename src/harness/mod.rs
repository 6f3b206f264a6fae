//! Bundles → capture records: what a harness is about to send, with the cache markers where Claude
//! Code puts them.
//!
//! A bundle names the parts of a prompt; its `flags` say what the client would know at that moment.
//! [`Harness::place`] assembles the system prompt, sorts the tools, places the markers and prints
//! the request as it would go over the wire. The rules are those of Claude Code 2.1.88, as
//! documented. Whatever they do not touch is copied as it is written.

mod block;
mod bundle;
mod error;
mod flags;
mod lines;
mod marker;
mod message;
mod place;
mod raw;
mod section;
mod system;
mod tool;
mod ttl;
mod writer;

pub use error::BundleError;
pub(crate) use flags::{DEFAULT_ALLOW_LIST, IDENTITIES};
pub(crate) use lines::place_lines;
pub use place::{Harness, Placed};
pub(crate) use system::BOUNDARY;
pub(crate) use tool::{ToolRank, tool_rank};
