//! Cache misses that should not have been: what was lost, why, and what it cost.
//!
//! Every request is held against what the one before it had left in the cache. Where it read less,
//! rules look for causes in what lies between the two and in the length that was still readable.
//!
//! Every request is held against the end of the cached prefix of its predecessor, recorded or,
//! where no usage was, replayed. What was still readable (`readable.rs`) is compared with the
//! landmarks of its chain and of other sessions: what first requests and expiries left (the shared
//! prefix), what compactions left (all of tools and system prompt), the ends and reads of earlier
//! requests. Rules (`rules/`) then each look for one cause in the step, the signs between the two
//! requests and that length, and say how sure it is; the surest wins, the order of the rules
//! decides among equals. A rule names a mechanism (tools are rendered first; a process renders its
//! prompt anew; an entry lives so long), never a session. Of captured requests the differences of
//! the bodies take the place of signs (`captured.rs`). The service's verdict is joined last, so
//! that what is inferred without it is known. The excess of a break is the price of what was sent
//! again less that of reading it; the part that the replay pays too is kept apart, so that billed
//! − replay = (excess − predicted) + unexplained. What lies after a hole (`Between::has_hole`) is
//! not compared. A captured branch, or another conversation, whose bytes do not come back is held
//! against the longest prefix of its own that had been marked.
//!
//! Why a request missed the cache, by the names of the contract.
//!
//! A cause that fits, with what speaks for it.

mod captured;
mod case;
mod find;
mod patterns;
mod readable;
mod rules;
mod summary;

pub use find::{Break, Breaks, DetectionRule, Options, find};
pub use patterns::{Ground, Pattern, patterns};
pub use readable::{Class, Readable};
pub use summary::{Analysis, Counted, Reconciliation, Sum, Summary, VerdictAgreement};

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::ttl::Ttl;
use crate::read::transcript::Sign;
use crate::requests::conversation::Request;
use crate::requests::difference::DifferenceKind;

/// Why a request read less than it could have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The entry was for five minutes, and older.
    #[serde(rename = "ttl_expired_5m")]
    TtlExpired5m,
    /// The entry was for an hour, and older.
    #[serde(rename = "ttl_expired_1h")]
    TtlExpired1h,
    /// Another model, which has caches of its own.
    ModelChanged,
    /// Another effort.
    EffortChanged,
    /// Fast mode was switched.
    FastModeChanged,
    /// Tools came, went or changed.
    ToolsChanged,
    /// The system prompt differs.
    SystemPromptChanged,
    /// Earlier messages differ from what had been sent.
    MessagesRewritten,
    /// The conversation goes on from an earlier point.
    Rewound,
    /// Images appeared, went or were sent in another form.
    ImageChanged,
    /// The thinking settings differ.
    ThinkingChanged,
    /// `tool_choice` differs.
    ToolChoiceChanged,
    /// Beta headers differ.
    BetasChanged,
    /// A marker's scope differs.
    ScopeChanged,
    /// The markers ask for another TTL.
    TtlTierChanged,
    /// Auto mode was switched.
    AutoModeChanged,
    /// The account went into or out of overage.
    OverageChanged,
    /// Cached microcompaction was switched, or its edits differ.
    CachedMicrocompactionChanged,
    /// Other fields of the body differ.
    ExtraBodyChanged,
    /// The conversation was summarised.
    Compaction,
    /// Old tool results were cleared.
    Microcompaction,
    /// Another process went on with the session.
    Resumed,
    /// Another version of the client went on.
    ClientVersionChanged,
    /// The model drops the thinking of earlier turns.
    ThinkingStripped,
    /// The prompt is shorter than what the model caches.
    BelowMinimum,
    /// More blocks were added than a marker looks back.
    LookbackExceeded,
    /// The earlier response had not begun, so that its write could not be read yet.
    WriteNotVisible,
    /// The prompt did not change: the entry was dropped by the service.
    LikelyServerSide,
    /// Nothing tells.
    Unknown,
}

/// What each difference between two captured requests is called.
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
    /// Every cause.
    pub const ALL: [Self; 29] = [
        Self::TtlExpired5m,
        Self::TtlExpired1h,
        Self::ModelChanged,
        Self::EffortChanged,
        Self::FastModeChanged,
        Self::ToolsChanged,
        Self::SystemPromptChanged,
        Self::MessagesRewritten,
        Self::Rewound,
        Self::ImageChanged,
        Self::ThinkingChanged,
        Self::ToolChoiceChanged,
        Self::BetasChanged,
        Self::ScopeChanged,
        Self::TtlTierChanged,
        Self::AutoModeChanged,
        Self::OverageChanged,
        Self::CachedMicrocompactionChanged,
        Self::ExtraBodyChanged,
        Self::Compaction,
        Self::Microcompaction,
        Self::Resumed,
        Self::ClientVersionChanged,
        Self::ThinkingStripped,
        Self::BelowMinimum,
        Self::LookbackExceeded,
        Self::WriteNotVisible,
        Self::LikelyServerSide,
        Self::Unknown,
    ];

    /// The expiry of a TTL.
    #[must_use]
    pub fn expiry(ttl: Ttl) -> Self {
        match ttl {
            Ttl::FiveMinutes => Self::TtlExpired5m,
            Ttl::OneHour => Self::TtlExpired1h,
        }
    }

    /// The name in every output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TtlExpired5m => "ttl_expired_5m",
            Self::TtlExpired1h => "ttl_expired_1h",
            Self::ModelChanged => "model_changed",
            Self::EffortChanged => "effort_changed",
            Self::FastModeChanged => "fast_mode_changed",
            Self::ToolsChanged => "tools_changed",
            Self::SystemPromptChanged => "system_prompt_changed",
            Self::MessagesRewritten => "messages_rewritten",
            Self::Rewound => "rewound",
            Self::ImageChanged => "image_changed",
            Self::ThinkingChanged => "thinking_changed",
            Self::ToolChoiceChanged => "tool_choice_changed",
            Self::BetasChanged => "betas_changed",
            Self::ScopeChanged => "scope_changed",
            Self::TtlTierChanged => "ttl_tier_changed",
            Self::AutoModeChanged => "auto_mode_changed",
            Self::OverageChanged => "overage_changed",
            Self::CachedMicrocompactionChanged => "cached_microcompaction_changed",
            Self::ExtraBodyChanged => "extra_body_changed",
            Self::Compaction => "compaction",
            Self::Microcompaction => "microcompaction",
            Self::Resumed => "resumed",
            Self::ClientVersionChanged => "client_version_changed",
            Self::ThinkingStripped => "thinking_stripped",
            Self::BelowMinimum => "below_minimum",
            Self::LookbackExceeded => "lookback_exceeded",
            Self::WriteNotVisible => "write_not_visible",
            Self::LikelyServerSide => "likely_server_side",
            Self::Unknown => "unknown",
        }
    }

    /// In a few words.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::TtlExpired5m => "an entry for five minutes expired",
            Self::TtlExpired1h => "an entry for an hour expired",
            Self::ModelChanged => "another model",
            Self::EffortChanged => "another effort",
            Self::FastModeChanged => "fast mode was switched",
            Self::ToolsChanged => "the tools changed",
            Self::SystemPromptChanged => "the system prompt changed",
            Self::MessagesRewritten => "earlier messages changed their form",
            Self::Rewound => "the conversation was rewound",
            Self::ImageChanged => "images came, went or changed",
            Self::ThinkingChanged => "the thinking settings changed",
            Self::ToolChoiceChanged => "tool_choice changed",
            Self::BetasChanged => "beta headers changed",
            Self::ScopeChanged => "a marker's scope changed",
            Self::TtlTierChanged => "the TTL of the markers changed",
            Self::AutoModeChanged => "auto mode was switched",
            Self::OverageChanged => "usage credits began or ended",
            Self::CachedMicrocompactionChanged => "cached microcompaction changed",
            Self::ExtraBodyChanged => "other fields of the body changed",
            Self::Compaction => "the conversation was summarised",
            Self::Microcompaction => "old tool results were cleared",
            Self::Resumed => "the session was left and resumed",
            Self::ClientVersionChanged => "another version of the client",
            Self::ThinkingStripped => "the model dropped earlier thinking",
            Self::BelowMinimum => "the prompt is too short to be cached",
            Self::LookbackExceeded => "an entry was beyond a marker's reach",
            Self::WriteNotVisible => "the last write could not be read yet",
            Self::LikelyServerSide => "the service dropped the entry",
            Self::Unknown => "nothing tells why",
        }
    }

    /// The cause of a name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cause| cause.name() == name)
    }

    /// Whether the miss follows from what was done, so that nobody is surprised: a compaction, an
    /// expiry.
    #[must_use]
    pub fn is_expected(self) -> bool {
        matches!(self, Self::Compaction | Self::TtlExpired5m | Self::TtlExpired1h)
    }

    /// Whether it is a change in the messages, which leaves tools and system prompt readable.
    #[must_use]
    pub fn is_of_messages(self) -> bool {
        matches!(
            self,
            Self::MessagesRewritten
                | Self::Rewound
                | Self::ImageChanged
                | Self::ThinkingStripped
                | Self::Microcompaction
        )
    }

    /// Whether it says what changed.
    #[must_use]
    pub fn is_named(self) -> bool {
        !matches!(self, Self::LikelyServerSide | Self::Unknown)
    }

    /// Whether a verdict of the service says the same; `None` where it says nothing. (The contract's
    /// table.)
    #[must_use]
    pub fn agrees_with(self, reason: &str) -> Option<bool> {
        let agreeing: &[Self] = match reason {
            "tools_changed" => &[Self::ToolsChanged],
            "system_changed" => {
                &[Self::SystemPromptChanged, Self::ClientVersionChanged, Self::Resumed]
            }
            "messages_changed" => &[
                Self::MessagesRewritten,
                Self::Rewound,
                Self::ImageChanged,
                Self::Microcompaction,
                Self::Compaction,
                Self::ThinkingStripped,
                Self::Resumed,
            ],
            "model_changed" => &[Self::ModelChanged],
            "previous_message_not_found" => &[Self::TtlExpired5m, Self::TtlExpired1h],
            _ => return None,
        };
        Some(agreeing.contains(&self))
    }
}

/// How sure a cause is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// The length that was still readable allows it; nothing else speaks for it.
    Low,
    /// Something was seen that often has this effect, or a length that names the level.
    Medium,
    /// What was seen has this effect by the rules.
    High,
}

impl Confidence {
    /// The word used in every output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// What speaks for a cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// What was seen, without a word of anybody's text.
    pub meaning: String,
    /// The file that shows it, as a position in the history's.
    pub file: usize,
    /// The line of that file.
    pub line: u64,
    /// The field of that line.
    pub field: &'static str,
    /// The sign that the line shows.
    pub sign: Option<Sign>,
    /// Names and words of the prompt, to be shown only on request.
    pub text: Option<String>,
}

impl Evidence {
    /// Something that a line shows.
    fn of_sign(file: usize, line: u64, sign: Sign) -> Self {
        let meaning = sign.meaning().to_owned();
        Self { meaning, file, line, field: sign.field(), sign: Some(sign), text: None }
    }

    /// What a field of an answer's line, or of a captured request's, shows.
    fn of_field(request: &Request, field: &'static str, meaning: impl Into<String>) -> Self {
        let (file, line) = (request.file, request.line);
        Self { meaning: meaning.into(), file, line, field, sign: None, text: None }
    }
}

/// A cause that fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The cause.
    pub cause: Cause,
    /// How sure it is.
    pub confidence: Confidence,
    /// What speaks for it.
    pub evidence: Vec<Evidence>,
}

impl Candidate {
    fn new(cause: Cause, confidence: Confidence, evidence: Vec<Evidence>) -> Self {
        Self { cause, confidence, evidence }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_written_as_it_is_named() {
        for cause in [
            Cause::TtlExpired5m,
            Cause::TtlExpired1h,
            Cause::CachedMicrocompactionChanged,
            Cause::LikelyServerSide,
            Cause::ThinkingStripped,
        ] {
            let written = serde_json::to_string(&cause).expect("JSON");
            assert_eq!(written, format!("\"{}\"", cause.name()));
        }
    }

    #[test]
    fn every_kind_of_difference_has_a_cause() {
        let causes: std::collections::BTreeSet<&str> =
            DifferenceKind::ALL.iter().map(|kind| Cause::from(*kind).name()).collect();
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
