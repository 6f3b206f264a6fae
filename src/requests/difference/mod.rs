//! In what two captured prompts differ: which of their parts, and from which byte on.
//!
//! Two captured requests are compared part by part, by bytes: first what is part of the prefix, in
//! its order, so that the first difference stands where their paths part; then what stands beside
//! it: scope, TTL and places of markers, beta features, and other fields of the body, which the
//! service may make part of the key without saying so. Header names and such fields are interned,
//! since they rarely change; the values of the fields are kept only with the bytes. `lint`
//! compares with the same functions, but only as far as the earlier request was cached.

mod beta_features;
mod compare;
mod extra_body;
mod markers;
mod messages;
mod settings;
mod tools;
mod view;

pub(crate) use beta_features::{BETA_FAMILIES, beta_differences};
pub use compare::{Difference, DifferenceKind, Dimension, Divergence, differences, divergence};
pub(crate) use markers::ttl_difference;
pub(crate) use messages::{CLEARED, common_end, deletion_difference, differing, same_ends};
pub(crate) use settings::{Setting, disables_thinking, rewrite_settings, setting_changes};
pub(crate) use tools::{
    ToolChange, ToolChangeKind, begins_with_attribution, is_attribution, tool_changes, tool_name,
};
pub use view::ByteDifference;
pub(crate) use view::{PromptView, SAME_IN_OTHER_BYTES, context, first_difference, says_the_same};
