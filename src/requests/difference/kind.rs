//! What kinds of differences there are, and which dimension each belongs to.

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
    /// Results deleted on the server: `cache_edits` in messages, `context_management`, and the beta feature `cache-editing-…`.
    CachedMicrocompaction,
    /// `output_config.effort`.
    Effort,
    /// Fields of the body that nothing else here looks at.
    ExtraBody,
    /// The messages, and the settings in front of them.
    Messages,
}

/// The kind of a difference. Each belongs to one [`Dimension`]:
///
/// | kind | dimension |
/// | --- | --- |
/// | `Model` | model |
/// | `ToolAdded`, `ToolRemoved`, `ToolChanged`, `ToolMoved`, `ToolRespelled` | tools |
/// | `Citations`, `Attribution`, `SystemPrompt` | system prompt |
/// | `FastMode` | fast mode |
/// | `Thinking` | messages |
/// | `ToolChoice` | messages |
/// | `Effort` | effort |
/// | `OutputFormat` | extra body |
/// | `Image` | messages |
/// | `MessageRewritten` | messages |
/// | `ResultsCleared` | messages |
/// | `ThinkingStripped` | messages |
/// | `Rewound` | messages |
/// | `MessagesReplaced` | messages |
/// | `CachedMicrocompaction` | cached microcompaction |
/// | `Scope` | scope |
/// | `Overage` | overage |
/// | `TtlTier` | cache control |
/// | `MarkersMoved` | cache control |
/// | `Betas` | betas |
/// | `AutoMode` | auto mode |
/// | `ExtraBody` | extra body |
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
    /// The client's attribution line in the system prompt, where it is part of the key: Anthropic's own
    /// service leaves it out of the prefix, others do not.
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
    /// Results are deleted on the server, or are not any more.
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
}
