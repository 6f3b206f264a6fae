//! The kinds of content that a prompt is made of.

use crate::base::id::{Symbol, Symbols};
use crate::read::transcript::ContentKind;
use crate::requests::conversation::ContentSource;

/// A kind of content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Tools, system prompt and project context, which a transcript does not hold.
    HiddenPrefix,
    /// The definitions of tools, in a captured prompt.
    Tools,
    /// The system prompt, in a captured prompt.
    SystemPrompt,
    /// What a user wrote; in a sub-agent, its task.
    UserText,
    /// Images and documents.
    Media,
    /// Files that a tool read or the client attached.
    Files,
    /// What sub-agents and background tasks reported.
    AgentReports,
    /// The results of any other tool, by its name where it is known.
    ToolResults(Option<Symbol>),
    /// What the client added for the model alone.
    Reminders,
    /// Commands given to the client, and their output.
    Commands,
    /// Summaries of compacted conversations.
    Summaries,
    /// What the model answered: text, thinking and calls.
    Answers,
    /// What no line of the input accounts for.
    Unattributed,
}

/// Tools whose results are files. The others' may be so, too, but do not say.
const READING_TOOLS: [&str; 4] = ["Read", "NotebookRead", "read_file", "ReadFile"];

/// Tools whose results are the reports of sub-agents.
const AGENT_TOOLS: [&str; 4] = ["Task", "Agent", "TaskOutput", "AgentOutputTool"];

impl Kind {
    /// The kind of what a client added to a conversation.
    pub(crate) fn of(source: ContentSource, symbols: &Symbols) -> Self {
        match source {
            ContentSource::Media => Self::Media,
            ContentSource::Tool(tool) => {
                let name = tool.map_or("", |tool| symbols.text(tool));
                if READING_TOOLS.contains(&name) {
                    Self::Files
                } else if AGENT_TOOLS.contains(&name) {
                    Self::AgentReports
                } else {
                    Self::ToolResults(tool)
                }
            }
            ContentSource::Text(kind) => match kind {
                ContentKind::UserText => Self::UserText,
                ContentKind::File => Self::Files,
                ContentKind::AgentReport => Self::AgentReports,
                ContentKind::Reminder | ContentKind::Skill => Self::Reminders,
                ContentKind::Command => Self::Commands,
                ContentKind::Summary => Self::Summaries,
            },
        }
    }

    /// The name in machine formats; of results, without the tool's.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::HiddenPrefix => "hidden_prefix",
            Self::Tools => "tools",
            Self::SystemPrompt => "system_prompt",
            Self::UserText => "user_text",
            Self::Media => "media",
            Self::Files => "files",
            Self::AgentReports => "agent_reports",
            Self::ToolResults(_) => "tool_results",
            Self::Reminders => "reminders",
            Self::Commands => "commands",
            Self::Summaries => "summaries",
            Self::Answers => "answers",
            Self::Unattributed => "unattributed",
        }
    }

    /// The tool, of a kind that is its results.
    #[must_use]
    pub fn tool(self) -> Option<Symbol> {
        match self {
            Self::ToolResults(tool) => tool,
            _ => None,
        }
    }

    /// Whether its pieces came in on lines of their own, so that each can be named.
    pub(super) fn has_places(self) -> bool {
        !matches!(self, Self::HiddenPrefix | Self::Tools | Self::SystemPrompt | Self::Unattributed)
    }
}
