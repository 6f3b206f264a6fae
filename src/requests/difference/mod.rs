//! In what two captured prompts differ: which of their parts, and from which byte on.

mod beta_features;
mod bytes;
mod compare;
mod extra_body;
mod kind;
mod markers;
mod messages;
mod overlap;
mod settings;
mod system;
mod tools;
mod value;
mod view;

pub(crate) use beta_features::{BETA_FAMILIES, beta_differences};
pub use bytes::ByteDifference;
pub(crate) use bytes::{context, first_difference};
pub use compare::{Difference, Divergence, differences, divergence};
pub use kind::{DifferenceKind, Dimension};
pub(crate) use markers::ttl_difference;
pub(crate) use messages::{CLEARED, deletion_difference};
pub(crate) use overlap::{common_end, differing, same_ends};
pub(crate) use settings::{Setting, disables_thinking, rewrite_settings, setting_changes};
pub(crate) use system::{begins_with_attribution, is_attribution};
pub(crate) use tools::{ToolChange, ToolChangeKind, tool_changes, tool_name};
pub(crate) use value::{SAME_IN_OTHER_BYTES, says_the_same};
pub(crate) use view::PromptView;
