//! Bytes → entries: reads a session file as a stream and keeps of each line only its identities,
//! sizes and usage.
//!
//! Reading never fails a run: entries and diagnostics come back together.
//!
//! What is kept of a transcript line: identities, sizes and usage, never text.
//!
//! What lines tell of the types of sub-agents: a call asks for one, and its result says which agent it
//! was.

mod content;
mod counted;
mod load;
mod parse;
mod sign;
mod title;
mod wire;

pub(crate) use content::{BEGINNINGS, beginning_of};
pub use content::{ContentKind, ContentSource};
pub(crate) use counted::{Measure, NOT_COUNTED};
pub(crate) use load::{Spare, load_open, unreadable};
pub use load::{Transcript, load};
pub(crate) use parse::{Keeping, SYNTHETIC_MODEL};
pub(crate) use sign::{NAME_TAG, command_name, known_commands};
pub use sign::{Sign, Signs};
pub use title::{Title, TitleKind, Titled};

use smallvec::SmallVec;
use wire::{Block, Line};

use crate::base::id::{EntryId, HasSymbols, Moved, Symbol, Symbols, has_symbols};
use crate::base::units::{Millis, TextSize};
use crate::read::input::{Content, Text, Usage, UsageProblem};

/// One line of a transcript, without its text.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The line in its file, counted from 1.
    pub line: u64,
    /// `uuid`.
    pub id: Option<EntryId>,
    /// `parentUuid`.
    pub parent: Option<EntryId>,
    /// `logicalParentUuid`: what stood in front of a compact boundary.
    pub logical_parent: Option<EntryId>,
    /// `timestamp`.
    pub timestamp: Option<Millis>,
    /// `isSidechain`.
    pub is_sidechain: bool,
    /// Whether the line says it was copied from another session (`forkedFrom`).
    pub is_forked: bool,
    /// `agentId`.
    pub agent: Option<Symbol>,
    /// `uuid` as it is written, where [`EntryId::uuid`] does not give it back; kept only in side
    /// conversations without an `agentId`, which are known by their first line.
    pub unusual_uuid: Option<Symbol>,
    /// `sessionId`.
    pub session: Option<Symbol>,
    /// `version`: the client's.
    pub client_version: Option<Symbol>,
    /// `cwd`, which names the project.
    pub project: Option<Symbol>,
    /// `gitBranch`.
    pub branch: Option<Symbol>,
    /// What it shows of things that may change later prompts.
    pub signs: Signs,
    /// What kind of line it is.
    pub kind: EntryKind,
}

/// The kinds of lines that matter.
#[derive(Clone, Debug)]
pub enum EntryKind {
    /// A user message: a prompt, tool results, a reminder, a summary.
    User(UserMessage),
    /// A line of a response of the API: the next of those that stand apart.
    Response,
    /// An assistant message made by the client itself; no request.
    Synthetic {
        /// `message.id`.
        message: Option<Symbol>,
    },
    /// A reminder or another attachment.
    Attachment {
        /// What it holds.
        kind: ContentKind,
        /// The size of its JSON; of one that the model does not see, nothing.
        size: TextSize,
    },
    /// `compact_boundary`: the conversation was summarised here, and this was kept of it.
    CompactBoundary(Option<Box<Preserved>>),
    /// `microcompact_boundary`: old content was cleared here.
    MicrocompactBoundary(Box<Cleared>),
    /// `away_summary`: a background request wrote a recap.
    AwaySummary,
    /// `stop_hook_summary` or `turn_duration`: a turn is over.
    TurnEnd,
    /// `local_command`: its text is sent to the model.
    LocalCommand {
        /// The size of its JSON.
        size: TextSize,
    },
    /// A system line that names entries taken out of the conversation.
    Snip(Vec<EntryId>),
    /// `marble-origami-commit`: a part of the conversation was replaced by a summary.
    Collapse(Box<Collapse>),
    /// `model_refusal_fallback`: which model refused a request.
    RefusalFallback {
        /// `requestId`.
        request: Option<Symbol>,
        /// `originalModel`.
        original_model: Option<Symbol>,
    },
    /// A line of an answer that cannot be used: what its request wrote is not known.
    UnusableAnswer,
    /// A system line of which the model sees nothing.
    System,
    /// A progress line. It never reaches the model, but others may point through it.
    Progress(Option<Box<NestedMessage>>),
    /// `last-prompt`: where the live branch was when it was written.
    LastPrompt {
        /// `leafUuid`.
        leaf: EntryId,
    },
    /// `agent-setting`: the agent whose system prompt is used from here on.
    AgentSetting(Symbol),
    /// `fork-context-ref`: the fork's conversation goes on from an entry of its parent's.
    ForkContext {
        /// `upToMessageId` or `parentLastUuid`: an entry, or a message by its id.
        up_to: EntryId,
    },
    /// `content-replacement`: tool results that were sent as a preview.
    ContentReplacement(Vec<(EntryId, TextSize)>),
}

/// What a microcompaction cleared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleared {
    /// The calls whose results it cleared (`compactedToolIds`).
    pub calls: Vec<EntryId>,
    /// The attachments (`clearedAttachmentUUIDs`).
    pub attachments: Vec<EntryId>,
}

/// What a compaction kept word for word (`preservedSegment`, `preservedMessages`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preserved {
    /// What it stands after: the summary, or the boundary itself where the beginning was kept.
    pub anchor: EntryId,
    /// The entries, or the first and the last of them.
    pub entries: Vec<EntryId>,
}

/// A part of a conversation that was replaced by a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collapse {
    /// `firstArchivedUuid`.
    pub first: Option<EntryId>,
    /// `lastArchivedUuid`.
    pub last: Option<EntryId>,
    /// The size of the summary.
    pub size: TextSize,
}

/// A user line.
#[derive(Clone, Debug, Default)]
pub struct UserMessage {
    /// The bytes of the text and results, images apart; counted is the text alone.
    pub size: TextSize,
    /// What its text is, by its beginning.
    pub text_kind: ContentKind,
    /// How many images and documents it carries.
    pub media: u32,
    /// The tokens of those, as counted; zero where they were not.
    pub media_tokens: u32,

    /// The tool calls it answers, each with the size of its result.
    pub tool_results: SmallVec<[(EntryId, TextSize); 1]>,
    /// `isMeta`: hidden from the user, sent to the model.
    pub is_meta: bool,
}

/// How a response ended, as far as one of its lines says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// `tool_use`.
    ToolUse,
    /// Any other.
    Other,
}

/// The service's own word on why a request missed the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerVerdict {
    /// `type`.
    pub reason: Symbol,
}

/// A call of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolUse {
    /// `id`.
    pub id: EntryId,
    /// `name`.
    pub tool: Option<Symbol>,
}

/// A line of a response.
#[derive(Clone, Debug)]
pub struct ResponseLine {
    /// `message.id`.
    pub message: Symbol,
    /// `requestId`.
    pub request: Option<Symbol>,
    /// `message.model`.
    pub model: Symbol,
    /// `message.stop_reason`.
    pub stop: Option<StopReason>,
    /// The tools it calls.
    pub tool_uses: SmallVec<[ToolUse; 1]>,
    /// The tokens of its texts and calls, as counted: zero where they were not, and all ones where it holds something
    /// else. Each call has a line feed before it, and not what is around the calls of a message.
    pub counted: u32,
    /// Whether it holds thinking.
    pub has_thinking: bool,
    /// Whether it holds more than thinking, white space and calls, as far as its blocks are there.
    pub has_text: bool,
    /// Whether it was not streamed, so that it has a `message.context_management`.
    pub came_at_once: bool,
    /// `effort`.
    pub effort: Option<Symbol>,
    /// `message.diagnostics.cache_miss_reason`.
    pub verdict: Option<ServerVerdict>,
    /// `message.usage`.
    pub usage: Result<Usage, UsageProblem>,
}

/// A sub-agent's message inside a progress line.
#[derive(Clone, Debug)]
pub struct NestedMessage {
    /// The agent, or the tool call that started it.
    pub agent: Option<Symbol>,
    /// What it said, or was told.
    pub content: NestedContent,
}

/// A message of one of the two sides.
#[derive(Clone, Debug)]
pub enum NestedContent {
    /// A line of a response.
    Response(ResponseLine),
    /// A user message.
    User(UserMessage),
}

has_symbols!(Entry { agent, unusual_uuid, session, client_version, project, branch, kind } beside {
    line, id, parent, logical_parent, timestamp, is_sidechain, is_forked, signs
});

impl HasSymbols for EntryKind {
    fn move_symbols(&mut self, moved: &Moved) {
        match self {
            Self::Synthetic { message } => message.move_symbols(moved),
            Self::AgentSetting(agent) => agent.move_symbols(moved),
            Self::RefusalFallback { request, original_model } => {
                request.move_symbols(moved);
                original_model.move_symbols(moved);
            }
            Self::Progress(Some(nested)) => nested.move_symbols(moved),
            Self::Progress(None)
            | Self::User(_)
            | Self::Response
            | Self::Attachment { kind: _, size: _ }
            | Self::CompactBoundary(_)
            | Self::MicrocompactBoundary(_)
            | Self::AwaySummary
            | Self::TurnEnd
            | Self::LocalCommand { size: _ }
            | Self::Snip(_)
            | Self::Collapse(_)
            | Self::UnusableAnswer
            | Self::System
            | Self::LastPrompt { leaf: _ }
            | Self::ForkContext { up_to: _ }
            | Self::ContentReplacement(_) => {}
        }
    }
}

has_symbols!(NestedMessage { agent, content } beside {});

impl HasSymbols for NestedContent {
    fn move_symbols(&mut self, moved: &Moved) {
        match self {
            Self::Response(line) => line.move_symbols(moved),
            Self::User(_) => {}
        }
    }
}

has_symbols!(ResponseLine { message, request, model, tool_uses, effort, verdict } beside {
    stop, counted, has_thinking, has_text, came_at_once, usage
});
has_symbols!(ToolUse { tool } beside { id });
has_symbols!(ServerVerdict { reason } beside {});

/// Something that a line tells of a sub-agent's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentNote {
    /// A call asks for an agent of a type.
    Called {
        /// The call.
        call: EntryId,
        /// `subagent_type`.
        kind: Symbol,
    },
    /// An agent was started by a call.
    Started {
        /// `agentId`.
        agent: Symbol,
        /// The call, where the line names it.
        call: Option<EntryId>,
        /// `agentType`, which not all clients write.
        kind: Option<Symbol>,
    },
}

impl HasSymbols for AgentNote {
    fn move_symbols(&mut self, moved: &Moved) {
        match self {
            Self::Called { call: _, kind } => kind.move_symbols(moved),
            Self::Started { agent, call: _, kind } => {
                agent.move_symbols(moved);
                kind.move_symbols(moved);
            }
        }
    }
}

/// Adds what a line tells.
fn agent_notes(line: &Line<'_>, symbols: &mut Symbols, notes: &mut Vec<AgentNote>) {
    let Some(message) = &line.message.0 else { return };
    let Content::Blocks(blocks) = &message.content else { return };
    match line.r#type.as_str() {
        Some("assistant") => notes.extend(blocks.iter().filter_map(|block| called(block, symbols))),
        Some("user") => notes.extend(started(line, blocks, symbols)),
        _ => {}
    }
}

fn called(block: &Block<'_>, symbols: &mut Symbols) -> Option<AgentNote> {
    let kind = filled(&block.input.0.as_ref()?.subagent_type)?;
    Some(AgentNote::Called { call: EntryId::of(block.id.as_str()?), kind: symbols.intern(kind) })
}

fn started(line: &Line<'_>, blocks: &[Block<'_>], symbols: &mut Symbols) -> Option<AgentNote> {
    let result = line.tool_use_result.0.as_ref()?;
    let agent = symbols.intern(filled(&result.agent_id)?);
    let call = blocks.iter().find_map(|block| filled(&block.tool_use_id));
    let kind = filled(&result.agent_type).map(|kind| symbols.intern(kind));
    Some(AgentNote::Started { agent, call: call.map(EntryId::of), kind })
}

fn filled<'a>(text: &'a Text<'_>) -> Option<&'a str> {
    text.as_str().filter(|text| !text.is_empty())
}
