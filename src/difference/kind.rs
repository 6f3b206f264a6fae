//! What kinds of differences there are, and which dimension and which cause each belongs to.

/// What a client watches to explain a break: the twelve dimensions of Claude Code's break detector, and
/// the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dimension {
    /// The blocks of the system prompt, and what the service writes into it.
    SystemPrompt,
    /// The tools that are not deferred.
    Tools,
    /// The model.
    Model,
    /// `speed`, and the beta feature that allows it.
    FastMode,
    /// Where markers stand, and their TTLs.
    CacheControl,
    /// Whether a marker has `scope: global`.
    Scope,
    /// The set of beta features.
    Betas,
    /// Whether the client decides by itself which calls need no permission. No field of the prompt says
    /// so; Claude Code adds the beta features `afk-mode-…` and `dangerous-tool-use-…`, and once it
    /// has, keeps them for the session. A capture without headers cannot show it.
    AutoMode,
    /// Whether the subscriber pays for usage beyond the plan. No field says so; its visible effect is
    /// that every marker falls from an hour to five minutes.
    Overage,
    /// Results deleted on the server: `cache_edits` and `cache_reference` in messages,
    /// `context_management`, and the beta feature `cache-editing-…`.
    CachedMicrocompaction,
    /// `output_config.effort`.
    Effort,
    /// Fields of the body that nothing else here looks at.
    ExtraBody,
    /// The messages, and the settings in front of them.
    Messages,
}

/// The kind of a difference. Each belongs to one [`Dimension`] and has one cause in the contract's
/// break row:
///
/// | kind | dimension | cause |
/// | --- | --- | --- |
/// | `Model` | model | `model_changed` |
/// | `ToolAdded`, `ToolRemoved`, `ToolChanged`, `ToolMoved`, `ToolRespelled` | tools | `tools_changed` |
/// | `Citations`, `Attribution`, `SystemPrompt` | system prompt | `system_prompt_changed` |
/// | `FastMode` | fast mode | `fast_mode_changed` |
/// | `Thinking` | messages | `thinking_changed` |
/// | `ToolChoice` | messages | `tool_choice_changed` |
/// | `Effort` | effort | `effort_changed` |
/// | `OutputFormat` | extra body | `extra_body_changed` |
/// | `Image` | messages | `image_changed` |
/// | `MessageRewritten` | messages | `messages_rewritten` |
/// | `ResultsCleared` | messages | `microcompaction` |
/// | `ThinkingStripped` | messages | `thinking_stripped` |
/// | `Rewound` | messages | `rewound` |
/// | `MessagesReplaced` | messages | `compaction` |
/// | `CachedMicrocompaction` | cached microcompaction | `cached_microcompaction_changed` |
/// | `Scope` | scope | `scope_changed` |
/// | `Overage` | overage | `overage_changed` |
/// | `TtlTier` | cache control | `ttl_tier_changed` |
/// | `MarkersMoved` | cache control | `lookback_exceeded` |
/// | `Betas` | betas | `betas_changed` |
/// | `AutoMode` | auto mode | `auto_mode_changed` |
/// | `ExtraBody` | extra body | `extra_body_changed` |
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DifferenceKind {
    /// Another model, which has caches of its own.
    Model,
    /// A tool is new.
    ToolAdded,
    /// A tool is gone.
    ToolRemoved,
    /// A field of a tool says something else.
    ToolChanged,
    /// A tool stands where another one stood.
    ToolMoved,
    /// A tool says the same in other bytes.
    ToolRespelled,
    /// Citations are on or off now, which the service writes into the system prompt.
    Citations,
    /// `speed`, or its beta feature.
    FastMode,
    /// The client's attribution line in the system prompt. Anthropic's own service leaves it out of
    /// the prefix, others do not.
    Attribution,
    /// Another block of the system prompt.
    SystemPrompt,
    /// `thinking`.
    Thinking,
    /// `tool_choice`.
    ToolChoice,
    /// `output_config.effort`.
    Effort,
    /// `output_config.format`.
    OutputFormat,
    /// There are images where there were none, or the other way round: in the whole prompt, or in a
    /// block that was sent before.
    Image,
    /// A block that was sent before is another one now, or stands in another message.
    MessageRewritten,
    /// The content of an old result was replaced by the client's placeholder.
    ResultsCleared,
    /// Thinking of earlier turns is gone, and all else is the same.
    ThinkingStripped,
    /// The last messages are gone; others may stand in their place.
    Rewound,
    /// Next to nothing of what was sent from the first message on comes back: a compaction, or another
    /// conversation.
    MessagesReplaced,
    /// Results are deleted on the server, or referred to so that they can be.
    CachedMicrocompaction,
    /// A marker is global now, or none is any more.
    Scope,
    /// All markers had an hour, and all have five minutes now.
    Overage,
    /// Another TTL on a marker.
    TtlTier,
    /// Markers stand elsewhere, or there are more or fewer. That loses what no marker looks back to.
    MarkersMoved,
    /// Beta features came or went.
    Betas,
    /// The beta features of auto mode came or went.
    AutoMode,
    /// A field of the body that nothing else here looks at.
    ExtraBody,
}

impl DifferenceKind {
    /// Every kind.
    pub const ALL: [Self; 28] = [
        Self::Model,
        Self::ToolAdded,
        Self::ToolRemoved,
        Self::ToolChanged,
        Self::ToolMoved,
        Self::ToolRespelled,
        Self::Citations,
        Self::FastMode,
        Self::Attribution,
        Self::SystemPrompt,
        Self::Thinking,
        Self::ToolChoice,
        Self::Effort,
        Self::OutputFormat,
        Self::Image,
        Self::MessageRewritten,
        Self::ResultsCleared,
        Self::ThinkingStripped,
        Self::Rewound,
        Self::MessagesReplaced,
        Self::CachedMicrocompaction,
        Self::Scope,
        Self::Overage,
        Self::TtlTier,
        Self::MarkersMoved,
        Self::Betas,
        Self::AutoMode,
        Self::ExtraBody,
    ];

    /// The dimension it belongs to.
    #[must_use]
    pub fn dimension(self) -> Dimension {
        match self {
            Self::Model => Dimension::Model,
            Self::ToolAdded
            | Self::ToolRemoved
            | Self::ToolChanged
            | Self::ToolMoved
            | Self::ToolRespelled => Dimension::Tools,
            Self::Citations | Self::Attribution | Self::SystemPrompt => Dimension::SystemPrompt,
            Self::FastMode => Dimension::FastMode,
            Self::Effort => Dimension::Effort,
            Self::Thinking
            | Self::ToolChoice
            | Self::Image
            | Self::MessageRewritten
            | Self::ResultsCleared
            | Self::ThinkingStripped
            | Self::Rewound
            | Self::MessagesReplaced => Dimension::Messages,
            Self::CachedMicrocompaction => Dimension::CachedMicrocompaction,
            Self::Scope => Dimension::Scope,
            Self::Overage => Dimension::Overage,
            Self::TtlTier | Self::MarkersMoved => Dimension::CacheControl,
            Self::Betas => Dimension::Betas,
            Self::AutoMode => Dimension::AutoMode,
            Self::OutputFormat | Self::ExtraBody => Dimension::ExtraBody,
        }
    }

    /// The name that the contract has for a break with this cause.
    #[must_use]
    pub fn cause_name(self) -> &'static str {
        match self {
            Self::Model => "model_changed",
            Self::ToolAdded
            | Self::ToolRemoved
            | Self::ToolChanged
            | Self::ToolMoved
            | Self::ToolRespelled => "tools_changed",
            Self::Citations | Self::Attribution | Self::SystemPrompt => "system_prompt_changed",
            Self::FastMode => "fast_mode_changed",
            Self::Thinking => "thinking_changed",
            Self::ToolChoice => "tool_choice_changed",
            Self::Effort => "effort_changed",
            Self::Image => "image_changed",
            Self::MessageRewritten => "messages_rewritten",
            Self::ResultsCleared => "microcompaction",
            Self::ThinkingStripped => "thinking_stripped",
            Self::Rewound => "rewound",
            Self::MessagesReplaced => "compaction",
            Self::CachedMicrocompaction => "cached_microcompaction_changed",
            Self::Scope => "scope_changed",
            Self::Overage => "overage_changed",
            Self::TtlTier => "ttl_tier_changed",
            Self::MarkersMoved => "lookback_exceeded",
            Self::Betas => "betas_changed",
            Self::AutoMode => "auto_mode_changed",
            Self::OutputFormat | Self::ExtraBody => "extra_body_changed",
        }
    }
}
