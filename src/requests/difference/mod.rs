//! In what two captured prompts differ: which of their parts, and from which byte on.
//!
//! Two captured requests are compared part by part, by bytes: first what is part of the prefix, in
//! its order, so that the first difference stands where their paths part; then what stands beside
//! it: scope, TTL and places of markers, beta features, and other fields of the body, which the
//! service may make part of the key without saying so. Header names and such fields are interned,
//! since they rarely change; the values of the fields are kept only with the bytes. `lint`
//! compares with the same functions, but only as far as the earlier request was cached.

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
