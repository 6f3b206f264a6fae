//! In what two captured prompts differ: which of their parts, and from which byte on.

mod bytes;
mod overlap;
mod tools;
mod value;
mod view;

pub use bytes::ByteDifference;
pub(crate) use bytes::{context, first_difference};
pub(crate) use overlap::{common_end, common_start};
pub(crate) use tools::{ToolChange, ToolChangeKind, tool_changes, tool_name};
pub(crate) use value::says_the_same;
pub(crate) use view::PromptView;
