//! Causes of cache misses: their names, and the facts about each.
//!
//! A new cause is a variant with its facts here, and a rule in `rules/`.

use serde::Deserialize;

use crate::base::{Ttl, words};
use crate::requests::difference::DifferenceKind;

words! {
    /// Cause of a read that fell short.
    #[derive(Deserialize)]
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub enum Cause {
        /// The entry was for five minutes, and older.
        TtlExpired5m = "ttl_expired_5m", "an entry for five minutes expired";
        /// The entry was for an hour, and older.
        TtlExpired1h = "ttl_expired_1h", "an entry for an hour expired";
        /// The service keeps entries for a time of its own, and the pause was longer.
        IdleTooLong = "idle_too_long", "the pause outlasted the entries";
        /// Another model, which has caches of its own.
        ModelChanged = "model_changed", "another model";
        /// Another effort.
        EffortChanged = "effort_changed", "another effort";
        /// Fast mode was switched.
        FastModeChanged = "fast_mode_changed", "fast mode was switched";
        /// Tools came, went or changed.
        ToolsChanged = "tools_changed", "the tools changed";
        /// The system prompt differs.
        SystemPromptChanged = "system_prompt_changed", "the system prompt changed";
        /// Earlier messages differ from those sent before.
        MessagesRewritten = "messages_rewritten", "earlier messages changed their form";
        /// The context that hooks gave around tools' calls is sent at another place.
        HookContextMoved = "hook_context_moved", "the context of hooks moved at a new prompt";
        /// The conversation restarts at an earlier point.
        Rewound = "rewound", "the conversation was rewound";
        /// Images appeared, went or were sent in another form.
        ImageChanged = "image_changed", "images came, went or changed";
        /// The thinking settings differ.
        ThinkingChanged = "thinking_changed", "the thinking settings changed";
        /// The client clears earlier thinking, since the session paused for an hour.
        ThinkingCleared = "thinking_cleared", "the client cleared earlier thinking";
        /// Another permission mode.
        PermissionModeChanged = "permission_mode_changed", "the permission mode changed";
        /// `tool_choice` differs.
        ToolChoiceChanged = "tool_choice_changed", "tool_choice changed";
        /// Beta headers differ.
        BetasChanged = "betas_changed", "beta headers changed";
        /// A marker's scope differs.
        ScopeChanged = "scope_changed", "a marker's scope changed";
        /// The markers ask for another TTL.
        TtlTierChanged = "ttl_tier_changed", "the TTL of the markers changed";
        /// Auto mode was switched.
        AutoModeChanged = "auto_mode_changed", "auto mode was switched";
        /// The account went into or out of overage.
        OverageChanged = "overage_changed", "usage credits began";
        /// Cached microcompaction was switched, or its edits differ.
        CachedMicrocompactionChanged = "cached_microcompaction_changed",
            "cached microcompaction changed";
        /// Other fields of the body differ.
        ExtraBodyChanged = "extra_body_changed", "other fields of the body changed";
        /// The conversation was summarised.
        Compaction = "compaction", "the conversation was summarised";
        /// Old tool results were cleared.
        Microcompaction = "microcompaction", "old tool results were cleared";
        /// Another process continued the session.
        Resumed = "resumed", "the session was left and resumed";
        /// Another client version continued it.
        ClientVersionChanged = "client_version_changed", "another version of the client";
        /// The thinking of earlier turns is gone: the model drops it, the service clears it, or the client left it out.
        ThinkingStripped = "thinking_stripped", "earlier thinking left the prompt";
        /// The prompt is shorter than the model caches.
        BelowMinimum = "below_minimum", "the prompt is too short to be cached";
        /// More blocks were added than a marker looks back.
        LookbackExceeded = "lookback_exceeded", "an entry was beyond a marker's reach";
        /// The earlier response had not begun, so that its write could not be read yet.
        WriteNotVisible = "write_not_visible", "the last write could not be read yet";
        /// The prompt did not change: the entry was dropped by the service.
        LikelyServerSide = "likely_server_side", "the service dropped the entry";
        /// The cache is the service's own, and not Anthropic's.
        OwnCache = "own_cache", "the service's own cache did not find it";
        /// No evidence.
        Unknown = "unknown", "nothing tells why";
    }
    /// Meaning in a few words.
    pub fn meaning;
}

/// Cause for each difference between two captured requests.
impl From<DifferenceKind> for Cause {
    fn from(kind: DifferenceKind) -> Self {
        match kind {
            DifferenceKind::Model => Self::ModelChanged,
            DifferenceKind::ToolAdded
            | DifferenceKind::ToolRemoved
            | DifferenceKind::ToolChanged
            | DifferenceKind::ToolMoved
            | DifferenceKind::ToolRespelled => Self::ToolsChanged,
            DifferenceKind::Citations
            | DifferenceKind::Attribution
            | DifferenceKind::SystemPrompt => Self::SystemPromptChanged,
            DifferenceKind::FastMode => Self::FastModeChanged,
            DifferenceKind::Thinking => Self::ThinkingChanged,
            DifferenceKind::ToolChoice => Self::ToolChoiceChanged,
            DifferenceKind::Effort => Self::EffortChanged,
            DifferenceKind::Image => Self::ImageChanged,
            DifferenceKind::MessageRewritten => Self::MessagesRewritten,
            DifferenceKind::ResultsCleared => Self::Microcompaction,
            DifferenceKind::ThinkingStripped => Self::ThinkingStripped,
            DifferenceKind::Rewound => Self::Rewound,
            DifferenceKind::MessagesReplaced => Self::Compaction,
            DifferenceKind::CachedMicrocompaction => Self::CachedMicrocompactionChanged,
            DifferenceKind::Scope => Self::ScopeChanged,
            DifferenceKind::Overage => Self::OverageChanged,
            DifferenceKind::TtlTier => Self::TtlTierChanged,
            DifferenceKind::MarkersMoved => Self::LookbackExceeded,
            DifferenceKind::Betas => Self::BetasChanged,
            DifferenceKind::AutoMode => Self::AutoModeChanged,
            DifferenceKind::OutputFormat | DifferenceKind::ExtraBody => Self::ExtraBodyChanged,
        }
    }
}

impl Cause {
    /// Remedy against the cause.
    ///
    /// `None` for compactions, which are intended, for expiries, against which there are lifetimes and pings,
    /// and for a cache whose rules nobody knows.
    #[allow(clippy::too_many_lines)] // one arm for each cause
    pub fn remedy(self) -> Option<Remedy> {
        Some(match self {
            Self::TtlExpired5m
            | Self::TtlExpired1h
            | Self::IdleTooLong
            | Self::Compaction
            | Self::OwnCache => return None,
            Self::ModelChanged => user(
                "Choose the model before the first prompt",
                "`/model`, or --model at the start",
            )
            .at_most()
            .seen_in(&["switches"]),
            Self::EffortChanged => user("Choose the effort before the first prompt", "`/effort`")
                .seen_in(&["switches"]),
            Self::FastModeChanged => {
                user("Choose the speed before the first prompt", "`/fast`").seen_in(&["switches"])
            }
            Self::ToolsChanged => user(
                "Load all tools before the first prompt",
                "ENABLE_TOOL_SEARCH=false, or `alwaysLoad` for a server",
            )
            .or_field("`tools`: the same list, in the same order, for the whole conversation")
            .at_most()
            .seen_in(&["loaded_tools", "changed_tools"]),
            Self::SystemPromptChanged => builder(
                "Keep one system prompt for a conversation",
                "`system`: the same bytes; what changes goes into the last message",
            )
            .at_most()
            .by("Capture two such requests, and let `cachesim lint` name the first byte \
                 that differs."),
            Self::MessagesRewritten => {
                builder("Send earlier messages again as they were sent", "`messages`: append only")
                    .at_most()
                    .by("Look at what the client does between the turns that `cachesim breaks` \
                 lists: hooks, reminders, results that come in once more.")
            }
            Self::HookContextMoved => user(
                "Update the client, or give no context in hooks around tools",
                "`claude update` (2.1.233), `hookSpecificOutput.additionalContext`",
            ),
            Self::Rewound => user("Rewind to points that are still cached", "`/rewind`").at_most(),
            Self::ImageChanged => builder(
                "Send images again as they were sent",
                "`messages[].content[].source`: the same bytes",
            ),
            Self::ThinkingChanged => user(
                "Keep the thinking settings for a conversation",
                "`alwaysThinkingEnabled`, MAX_THINKING_TOKENS",
            )
            .or_field("`thinking`: the same for the whole conversation"),
            Self::ThinkingCleared => user(
                "Update the client, which clears thinking after an hour's pause",
                "`claude update` (2.1.113)",
            ),
            Self::PermissionModeChanged => user(
                "Choose the permission mode before the first prompt",
                "shift+tab, `permissions.defaultMode`, or `claude update` (2.1.100)",
            ),
            Self::ToolChoiceChanged => builder(
                "Leave `tool_choice` the same",
                "`tool_choice`: the same for the conversation",
            ),
            Self::BetasChanged => builder(
                "Send the same beta features on every request",
                "`anthropic-beta`: the same set for the conversation",
            ),
            Self::ScopeChanged => {
                builder("Leave the scope of markers the same", "`cache_control.scope`: the same")
            }
            Self::TtlTierChanged => user(
                "Fix the lifetime, so that it does not change",
                "`promptCacheTtl` (since 2.1.243)",
            )
            .or_field("`cache_control.ttl`: the same for the whole conversation"),
            Self::AutoModeChanged => user("Switch auto mode before the first prompt", "shift+tab"),
            Self::OverageChanged => user(
                "Stay out of usage credits in a conversation",
                "`/usage` shows how far the limit is",
            )
            .at_most(),
            Self::CachedMicrocompactionChanged => builder(
                "Send each edit again where it was first",
                "`cache_edits`: pinned for the conversation",
            ),
            Self::ExtraBodyChanged => builder(
                "Leave other fields of the body the same",
                "the body's other fields: the same",
            ),
            Self::Microcompaction => builder(
                "Clear old results seldom and many at once",
                "`clear_at_least` of `context_management.edits`",
            )
            .at_most(),
            Self::Resumed => user(
                "Resume with a version that keeps the prompt",
                "`claude update`, or a session that stays open",
            )
            .seen_in(&["resume_misses"]),
            Self::ClientVersionChanged => user(
                "Update the client between sessions",
                "DISABLE_AUTOUPDATER=1, and `claude update` between sessions",
            )
            .seen_in(&["updates"]),
            Self::ThinkingStripped => user(
                "Use a model that keeps earlier thinking",
                "`/model` (Opus since 4.5, Sonnet since 4.6)",
            )
            .seen_in(&["stripped_thinking"]),
            Self::BelowMinimum => builder(
                "Send prompts that are long enough to be cached",
                "`messages`: above the model's least length",
            )
            .at_most(),
            Self::LookbackExceeded => builder(
                "Set a marker for every 20 added positions",
                "`cache_control`: up to four a request",
            ),
            Self::WriteNotVisible => builder(
                "Let an answer begin before the next request",
                "the order of requests: wait for `message_start`",
            )
            .at_most(),
            Self::LikelyServerSide => {
                nobody("Nothing helps: the service dropped entries of unchanged prompts")
            }
            Self::Unknown => nobody("Nothing is known to help: nothing recorded tells why"),
        })
    }

    /// Cause for an expired TTL.
    pub fn expiry(ttl: Ttl) -> Self {
        match ttl {
            Ttl::FiveMinutes => Self::TtlExpired5m,
            Ttl::OneHour => Self::TtlExpired1h,
        }
    }

    /// Returns true if the miss follows from what was done, and surprises nobody: a compaction or an expiry.
    pub fn is_expected(self) -> bool {
        // Exactly these have no remedy, and the misses of an unknown cache.
        self.remedy().is_none() && self != Self::OwnCache
    }

    /// Returns true for a change in the messages, which leaves tools and system prompt readable.
    pub fn is_of_messages(self) -> bool {
        matches!(
            self,
            Self::MessagesRewritten
                | Self::HookContextMoved
                | Self::Rewound
                | Self::ImageChanged
                | Self::Microcompaction
                | Self::ThinkingStripped
                | Self::ThinkingCleared
        )
    }

    /// Returns true if the cause names what changed.
    pub fn is_named(self) -> bool {
        !matches!(self, Self::LikelyServerSide | Self::OwnCache | Self::Unknown)
    }

    /// Agreement with a verdict of the service, or `None` if the verdict says nothing.
    pub fn agrees_with(self, reason: &str) -> Option<bool> {
        let says = |cause: Self| cause.verdicts().contains(&reason);
        Self::ALL.into_iter().any(says).then(|| says(self))
    }

    /// Verdicts of the service with the same meaning.
    fn verdicts(self) -> &'static [&'static str] {
        match self {
            Self::TtlExpired5m | Self::TtlExpired1h => &["previous_message_not_found"],
            Self::ModelChanged => &["model_changed"],
            Self::ToolsChanged => &["tools_changed"],
            Self::SystemPromptChanged | Self::ClientVersionChanged => &["system_changed"],
            // Another process may render system prompt or reminders again: either level is named.
            Self::Resumed => &["system_changed", "messages_changed"],
            Self::Compaction => &["messages_changed"],
            _ if self.is_of_messages() => &["messages_changed"],
            _ => &[],
        }
    }
}

words! {
    /// Maker of a change.
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub enum Who {
        /// The user of a client, by a setting or by how it is used.
        User = "user", "you";
        /// Builder of the agent that sends the requests.
        Builder = "builder", "the agent's builder";
        /// Nobody but the service.
        Nobody = "nobody", "nobody";
    }
    /// Name for people.
    pub fn label;
}

/// Remedy against a cause of breaks.
#[derive(Clone, Copy, Debug)]
pub struct Remedy {
    /// Action to take.
    pub label: &'static str,
    /// Role that can act.
    pub who: Who,
    /// Setting or command, for a user.
    pub setting: Option<&'static str>,
    /// Field of the request, for a builder.
    pub field: Option<&'static str>,
    /// True if only an unknown part of the breaks is avoided.
    pub is_at_most: bool,
    /// Instructions, if the label is not enough.
    pub advice: Option<&'static str>,
    /// Names of the patterns about the same thing.
    pub patterns: &'static [&'static str],
}

/// A remedy for users of a client.
fn user(label: &'static str, setting: &'static str) -> Remedy {
    Remedy {
        label,
        who: Who::User,
        setting: Some(setting),
        field: None,
        is_at_most: false,
        advice: None,
        patterns: &[],
    }
}

/// A remedy for builders of agents.
fn builder(label: &'static str, field: &'static str) -> Remedy {
    Remedy { who: Who::Builder, setting: None, field: Some(field), ..user(label, "") }
}

/// A remedy that only the service has.
fn nobody(label: &'static str) -> Remedy {
    Remedy { who: Who::Nobody, setting: None, is_at_most: true, ..user(label, "") }
}

impl Remedy {
    fn at_most(self) -> Self {
        Self { is_at_most: true, ..self }
    }

    fn seen_in(self, patterns: &'static [&'static str]) -> Self {
        Self { patterns, ..self }
    }

    fn by(self, advice: &'static str) -> Self {
        Self { advice: Some(advice), ..self }
    }

    fn or_field(self, field: &'static str) -> Self {
        Self { field: Some(field), ..self }
    }
}

#[cfg(test)]
mod tests {
    use enumset::EnumSet;

    use super::*;

    #[test]
    fn every_kind_of_difference_has_a_cause() {
        let causes: std::collections::BTreeSet<&str> =
            EnumSet::all().iter().map(|kind: DifferenceKind| Cause::from(kind).name()).collect();
        assert_eq!(causes.len(), 21);
        assert!(!causes.contains("unknown") && !causes.contains("likely_server_side"));
    }

    #[test]
    fn verdicts_agree_by_the_contract() {
        assert_eq!(Cause::Resumed.agrees_with("system_changed"), Some(true));
        assert_eq!(Cause::Resumed.agrees_with("messages_changed"), Some(true));
        assert_eq!(Cause::Resumed.agrees_with("tools_changed"), Some(false));
        assert_eq!(Cause::TtlExpired1h.agrees_with("previous_message_not_found"), Some(true));
        assert_eq!(Cause::ToolsChanged.agrees_with("unavailable"), None);
        assert_eq!(Cause::ToolsChanged.agrees_with("something new"), None);
    }
}
