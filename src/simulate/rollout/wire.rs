//! The fields of a rollout's lines that matter, as they are spelled in the file.

use serde::Deserialize;

use crate::read::input::{Count, Shape, Text};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Line<'a> {
    #[serde(borrow)]
    pub(super) timestamp: Text<'a>,
    #[serde(borrow)]
    pub(super) r#type: Text<'a>,
    #[serde(borrow)]
    pub(super) payload: Shape<Payload<'a>>,
}

/// What the payloads of all types have together.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Payload<'a> {
    #[serde(borrow)]
    pub(super) r#type: Text<'a>,
    /// Of a session.
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    #[serde(borrow)]
    pub(super) forked_from_id: Text<'a>,
    /// Of a turn.
    #[serde(borrow)]
    pub(super) model: Text<'a>,
    /// Of a message.
    #[serde(borrow)]
    pub(super) role: Text<'a>,
    /// Of a report of usage.
    pub(super) info: Shape<UsageInfo>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct UsageInfo {
    pub(super) total_token_usage: Shape<TokenUsage>,
    pub(super) last_token_usage: Shape<TokenUsage>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default)]
pub(super) struct TokenUsage {
    #[serde(rename = "input_tokens")]
    pub(super) input: Count,
    #[serde(rename = "cached_input_tokens")]
    pub(super) cached: Count,
    #[serde(rename = "cache_write_input_tokens")]
    pub(super) written: Count,
    #[serde(rename = "output_tokens")]
    pub(super) output: Count,
    #[serde(rename = "reasoning_output_tokens")]
    pub(super) reasoning: Count,
}
