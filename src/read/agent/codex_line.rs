//! Lines of a Codex rollout, with the fields that are read.

use super::{Percent, Size, millis, open_until};
use crate::base::{EntryId, Millis};
use crate::read::input::{Count, List, Shape, Text, lenient};

lenient! {
    pub(super) struct Line<'a> {
        pub(super) timestamp: Text<'a>,
        pub(super) r#type: Text<'a>,
        pub(super) payload: Shape<Payload<'a>>,
    }

    /// Payload with the fields of all line types.
    pub(super) struct Payload<'a> {
        pub(super) r#type: Text<'a>,
        /// Thread id, in `session_meta` as the fields below.
        pub(super) id: Text<'a>,
        pub(super) session_id: Text<'a>,
        pub(super) parent_thread_id: Text<'a>,
        pub(super) forked_from_id: Text<'a>,
        pub(super) source: Shape<ThreadSource<'a>>,
        pub(super) cwd: Text<'a>,
        pub(super) cli_version: Text<'a>,
        pub(super) model_provider: Text<'a>,
        /// Model of a turn.
        pub(super) model: Text<'a>,
        /// Effort of a turn, and its mode of working together with the user.
        pub(super) effort: Text<'a>,
        pub(super) collaboration_mode: Shape<CollaborationMode<'a>>,
        /// Permissions of a turn, and the folders that they are about.
        pub(super) approval_policy: Text<'a>,
        pub(super) sandbox_policy: Shape<SandboxPolicy<'a>>,
        pub(super) workspace_roots: List<Text<'a>>,
        /// Settings of a thread.
        pub(super) thread_settings: Shape<ThreadSettings<'a>>,
        /// Author of a message, and its content.
        pub(super) role: Text<'a>,
        pub(super) content: Size,
        /// Id of a tool's call, in the call and in its result.
        pub(super) call_id: Text<'a>,
        pub(super) name: Text<'a>,
        pub(super) output: Size,
        /// Summary of a compaction; the history is everything that is sent from then on.
        pub(super) message: Size,
        #[serde(rename = "replacement_history")]
        pub(super) history: Size,
        /// Usage in a `token_count` event.
        pub(super) info: Shape<UsageInfo>,
        /// Usage in a `token_usage_record`.
        pub(super) usage: Shape<TokenUsage>,
        pub(super) response_id: Text<'a>,
        /// Used share of the plan's limits, in a `token_count` event.
        pub(super) rate_limits: Shape<RateLimits<'a>>,
    }

    pub(super) struct CollaborationMode<'a> {
        pub(super) mode: Text<'a>,
    }

    pub(super) struct SandboxPolicy<'a> {
        pub(super) r#type: Text<'a>,
    }

    pub(super) struct ThreadSettings<'a> {
        pub(super) service_tier: Text<'a>,
    }

    /// Origin of a thread that no user started.
    pub(super) struct ThreadSource<'a> {
        pub(super) subagent: Shape<SubAgent<'a>>,
    }

    pub(super) struct SubAgent<'a> {
        pub(super) thread_spawn: Shape<ThreadSpawn<'a>>,
    }

    pub(super) struct ThreadSpawn<'a> {
        pub(super) parent_thread_id: Text<'a>,
    }

    pub(super) struct UsageInfo {
        pub(super) total_token_usage: Shape<TokenUsage>,
        pub(super) last_token_usage: Shape<TokenUsage>,
    }

    #[derive(Clone, Copy, PartialEq, Eq, Hash)]
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

    /// Limits of a plan: the window of one is longer than that of the other.
    pub(super) struct RateLimits<'a> {
        pub(super) limit_id: Text<'a>,
        pub(super) plan_type: Text<'a>,
        pub(super) primary: Shape<LimitWindow>,
        pub(super) secondary: Shape<LimitWindow>,
    }

    #[derive(Clone, Copy)]
    pub(super) struct LimitWindow {
        #[serde(rename = "used_percent")]
        pub(super) used: Percent,
        #[serde(rename = "window_minutes")]
        pub(super) minutes: Count,
        /// End of the window, in seconds since 1970.
        pub(super) resets_at: Count,
        /// Time until the end of the window, in seconds, as older clients write it.
        #[serde(rename = "resets_in_seconds")]
        pub(super) resets_in: Count,
    }
}

impl<'a> Payload<'a> {
    /// Digest of the permissions of a turn; `None` if the line names none.
    pub(super) fn permissions(&self) -> Option<EntryId> {
        let sandbox = self.sandbox_policy.0.as_ref().and_then(|policy| policy.r#type.as_str());
        let words = [self.approval_policy.as_str(), sandbox];
        let roots = self.workspace_roots.0.iter().map(Text::as_str);
        let all: Vec<&str> = words.into_iter().chain(roots).flatten().collect();
        (!all.is_empty()).then(|| EntryId::of(&all.join("\n")))
    }

    /// Thread that started this one.
    pub(super) fn parent(&self) -> Option<&Text<'a>> {
        let spawn = self.source.0.as_ref().and_then(|source| source.subagent.0.as_ref());
        let spawned_by = spawn.map(|spawn| match &spawn.thread_spawn.0 {
            Some(spawn) => &spawn.parent_thread_id,
            None => &self.session_id,
        });
        Some(&self.parent_thread_id).filter(|parent| parent.as_str().is_some()).or(spawned_by)
    }
}

impl TokenUsage {
    /// Growth since an earlier total; `None` if a counter began anew.
    pub(super) fn since(&self, earlier: &Self) -> Option<Self> {
        let added = |of: fn(&Self) -> Count| match (of(self), of(earlier)) {
            (Count::Value(now), Count::Value(before)) => now.checked_sub(before).map(Count::Value),
            (now, _) => Some(now),
        };
        Some(Self {
            input: added(|one| one.input)?,
            cached: added(|one| one.cached)?,
            written: added(|one| one.written)?,
            output: added(|one| one.output)?,
            reasoning: added(|one| one.reasoning)?,
        })
    }
}

impl LimitWindow {
    /// Length in milliseconds and end of a window that was reported at a moment.
    ///
    /// `None` if either is missing or is no time.
    pub(super) fn length_and_end(&self, told: Millis) -> Option<(i64, Millis)> {
        let length = millis(self.minutes, 60_000)?;
        // Older clients record only the time left, which counts from the line's own time.
        let later = || told.get().checked_add(millis(self.resets_in, 1_000)?);
        let end = millis(self.resets_at, 1_000).or_else(later)?;
        Some((length, open_until(end, length, told)?))
    }
}
