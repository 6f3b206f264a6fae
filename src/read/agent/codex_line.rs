//! The lines of a Codex rollout, as far as they are read.

use serde::Deserialize;

use super::limit::{Percent, millis, open_until};
use super::pieces::Size;
use crate::base::units::Millis;
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
    pub(super) session_id: Text<'a>,
    #[serde(borrow)]
    pub(super) parent_thread_id: Text<'a>,
    #[serde(borrow)]
    pub(super) forked_from_id: Text<'a>,
    #[serde(borrow)]
    pub(super) source: Shape<ThreadSource<'a>>,
    #[serde(borrow)]
    pub(super) cwd: Text<'a>,
    #[serde(borrow)]
    pub(super) cli_version: Text<'a>,
    #[serde(borrow)]
    pub(super) model_provider: Text<'a>,
    /// Of a turn.
    #[serde(borrow)]
    pub(super) model: Text<'a>,
    /// Of a thread's settings.
    #[serde(borrow)]
    pub(super) thread_settings: Shape<ThreadSettings<'a>>,
    /// Of a message.
    #[serde(borrow)]
    pub(super) role: Text<'a>,
    pub(super) content: Size,
    /// Of a tool's call, and of its result.
    #[serde(borrow)]
    pub(super) call_id: Text<'a>,
    #[serde(borrow)]
    pub(super) name: Text<'a>,
    pub(super) output: Size,
    /// Of a compaction: the summary, and all that is sent from then on.
    pub(super) message: Size,
    #[serde(rename = "replacement_history")]
    pub(super) history: Size,
    /// Of a report of usage.
    pub(super) info: Shape<UsageInfo>,
    /// Of a record of usage.
    pub(super) usage: Shape<TokenUsage>,
    #[serde(borrow)]
    pub(super) response_id: Text<'a>,
    /// Of a report of usage: how much of the plan's limits is used.
    #[serde(borrow)]
    pub(super) rate_limits: Shape<RateLimits<'a>>,
}

impl<'a> Payload<'a> {
    /// The thread that started this one.
    pub(super) fn parent(&self) -> Option<&Text<'a>> {
        let spawn = self.source.0.as_ref().and_then(|source| source.subagent.0.as_ref());
        let spawned_by = spawn.map(|spawn| match &spawn.thread_spawn.0 {
            Some(spawn) => &spawn.parent_thread_id,
            None => &self.session_id,
        });
        Some(&self.parent_thread_id).filter(|parent| parent.as_str().is_some()).or(spawned_by)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ThreadSettings<'a> {
    #[serde(borrow)]
    pub(super) service_tier: Text<'a>,
}

/// How a thread was started, if not by a user.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ThreadSource<'a> {
    #[serde(borrow)]
    pub(super) subagent: Shape<SubAgent<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SubAgent<'a> {
    #[serde(borrow)]
    pub(super) thread_spawn: Shape<ThreadSpawn<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ThreadSpawn<'a> {
    #[serde(borrow)]
    pub(super) parent_thread_id: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct UsageInfo {
    pub(super) total_token_usage: Shape<TokenUsage>,
    pub(super) last_token_usage: Shape<TokenUsage>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Hash)]
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

/// The limits of a plan, of which one is for a longer time than the other.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RateLimits<'a> {
    #[serde(borrow)]
    pub(super) limit_id: Text<'a>,
    #[serde(borrow)]
    pub(super) plan_type: Text<'a>,
    pub(super) primary: Shape<LimitWindow>,
    pub(super) secondary: Shape<LimitWindow>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct LimitWindow {
    #[serde(rename = "used_percent")]
    pub(super) used: Percent,
    #[serde(rename = "window_minutes")]
    pub(super) minutes: Count,
    /// In seconds since 1970.
    pub(super) resets_at: Count,
    /// In seconds from then on, as older clients wrote it.
    #[serde(rename = "resets_in_seconds")]
    pub(super) resets_in: Count,
}

impl LimitWindow {
    /// Its length in milliseconds and its end, of one that was told at a moment. `None` where either is not told, or is
    /// no time.
    pub(super) fn length_and_end(&self, told: Millis) -> Option<(i64, Millis)> {
        let length = millis(self.minutes, 60_000)?;
        let later = || told.get().checked_add(millis(self.resets_in, 1_000)?);
        let end = millis(self.resets_at, 1_000).or_else(later)?;
        Some((length, open_until(end, length, told)?))
    }
}
