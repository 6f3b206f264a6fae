//! Transcripts: a session file is read as a stream, and of each line only its identities,
//! sizes and usage are kept, never text.
//!
//! Reading never fails a run: entries and diagnostics come back together.
//!
//! Notes on the types of sub-agents: a call asks for a type, and its result names the agent.

mod content;
mod cost_state;
mod counted;
mod load;
mod novel;
mod parse;
mod prompt_snapshot;
mod sign;
mod title;
mod wire;

pub(crate) use content::{BEGINNINGS, beginning_of};
pub use content::{ContentKind, ContentSource};
pub use cost_state::{CostOfModel, CostState};
pub(crate) use counted::{Measure, NOT_COUNTED};
pub(crate) use load::{Spare, load_open, unreadable};
pub use load::{Transcript, load};
pub(crate) use novel::KNOWN_NAMES;
pub use novel::{KNOWN_UNTIL, NovelPart, Novelty};
pub(crate) use parse::{Keeping, SYNTHETIC_MODEL};
pub use prompt_snapshot::{PromptSnapshot, SnapshotTool};
pub(crate) use sign::{NAME_TAG, command_name, known_commands};
pub use sign::{Sign, Signs};
pub use title::{Title, TitleKind, Titled};

use smallvec::SmallVec;
use wire::{Block, Line};

use crate::base::id::Moved;
use crate::base::{EntryId, HasSymbols, Millis, Symbol, Symbols, TextSize, has_symbols, words};
use crate::read::input::{Content, Text, Usage, UsageProblem};

/// Line of a transcript, without its text.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Line in its file, from 1 on.
    pub line: u64,
    /// `uuid`.
    pub id: Option<EntryId>,
    /// `parentUuid`.
    pub parent: Option<EntryId>,
    /// `logicalParentUuid`: the entry in front of a compact boundary.
    pub logical_parent: Option<EntryId>,
    /// `timestamp`.
    pub timestamp: Option<Millis>,
    /// `isSidechain`.
    pub is_sidechain: bool,
    /// True if the line says that it was copied from another session (`forkedFrom`).
    pub is_forked: bool,
    /// `agentId`.
    pub agent: Option<Symbol>,
    /// `uuid` as written, if [`EntryId::uuid`] does not give it back; kept only in side
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
    /// Signs of changes to later prompts.
    pub signs: Signs,
    /// Kind of the line.
    pub kind: EntryKind,
}

/// Kinds of lines that matter.
#[derive(Clone, Debug)]
pub enum EntryKind {
    /// A user message: a prompt, tool results, a reminder, a summary.
    User(UserMessage),
    /// Line of a response of the API: the next one in the list of response lines.
    Response,
    /// Assistant message made by the client itself; no request.
    Synthetic {
        /// `message.id`.
        message: Option<Symbol>,
    },
    /// Reminder or another attachment.
    Attachment {
        /// Kind of its content.
        kind: ContentKind,
        /// Size of the part that is sent; nothing for one that the model does not see.
        size: TextSize,
        /// `renderedRole`: newer clients name the role of the message in which they sent it.
        has_role: bool,
    },
    /// `compact_boundary`: the conversation was summarised here, except the part that was kept.
    CompactBoundary(Option<Box<Preserved>>),
    /// `microcompact_boundary`: old content was cleared here.
    MicrocompactBoundary(Box<Cleared>),
    /// `away_summary`: a background request wrote a recap.
    AwaySummary,
    /// `stop_hook_summary` or `turn_duration`: a turn is over.
    TurnEnd,
    /// `local_command`: its text is sent to the model.
    LocalCommand {
        /// Size of its JSON.
        size: TextSize,
    },
    /// System line that names entries taken out of the conversation.
    Snip(Vec<EntryId>),
    /// `marble-origami-commit`: a part of the conversation was replaced by a summary.
    Collapse(Box<Collapse>),
    /// `model_refusal_fallback`: the model that refused a request.
    RefusalFallback {
        /// `requestId`.
        request: Option<Symbol>,
        /// `originalModel`.
        original_model: Option<Symbol>,
    },
    /// Line of an answer that cannot be used: the tokens that its request wrote are unknown.
    UnusableAnswer,
    /// System line without anything for the model.
    System,
    /// Progress line. It never reaches the model, but others may point through it.
    Progress(Option<Box<NestedMessage>>),
    /// `last-prompt`: the end of the live branch when it was written.
    LastPrompt {
        /// `leafUuid`.
        leaf: EntryId,
    },
    /// `agent-setting`: the agent whose system prompt is used from here on.
    AgentSetting(Symbol),
    /// `fork-context-ref`: the fork's conversation continues from an entry of its parent's.
    ForkContext {
        /// `upToMessageId` or `parentLastUuid`: an entry, or a message by its id.
        up_to: EntryId,
    },
    /// `content-replacement`: tool results that were sent as a preview.
    ContentReplacement(Vec<(EntryId, TextSize)>),
}

/// Contents that a microcompaction cleared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleared {
    /// Calls whose results it cleared (`compactedToolIds`).
    pub calls: Vec<EntryId>,
    /// Attachments that it cleared (`clearedAttachmentUUIDs`).
    pub attachments: Vec<EntryId>,
}

/// Entries that a compaction kept word for word (`preservedSegment`, `preservedMessages`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preserved {
    /// Entry in front of them: the summary, or the boundary itself if the beginning was kept.
    pub anchor: EntryId,
    /// All of these entries, or the first and the last of them.
    pub entries: Vec<EntryId>,
}

/// Part of a conversation that was replaced by a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collapse {
    /// `firstArchivedUuid`.
    pub first: Option<EntryId>,
    /// `lastArchivedUuid`.
    pub last: Option<EntryId>,
    /// Size of the summary.
    pub size: TextSize,
}

/// User line.
#[derive(Clone, Debug, Default)]
pub struct UserMessage {
    /// Bytes of the text and results, images apart; the counted tokens are those of the text alone.
    pub size: TextSize,
    /// Kind of its text, by its beginning.
    pub text_kind: ContentKind,
    /// Number of images and documents.
    pub media: u32,
    /// Tokens of the images and documents; zero if they were not counted.
    pub media_tokens: u32,

    /// Tool calls that it answers, each with the size of its result.
    pub tool_results: SmallVec<[(EntryId, TextSize); 1]>,
    /// `isMeta`: hidden from the user, sent to the model.
    pub is_meta: bool,
    /// `permissionMode`, if it is a known one.
    pub permission_mode: Option<PermissionMode>,
}

words! {
    /// Mode that decides which calls the client asks about.
    pub enum PermissionMode {
        /// Asks about everything that could do harm.
        Default = "default";
        /// Edits files without asking.
        AcceptEdits = "acceptEdits";
        /// Plans, and changes nothing.
        Plan = "plan";
        /// Lets a model decide.
        Auto = "auto";
        /// Asks about nothing, and refuses the rest.
        DontAsk = "dontAsk";
        /// Asks about nothing.
        BypassPermissions = "bypassPermissions";
    }
}

/// End of a response, if one of its lines reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// `tool_use`.
    ToolUse,
    /// Any other.
    Other,
}

/// Service's own reason for a cache miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerVerdict {
    /// `type`.
    pub reason: Symbol,
}

/// Call of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolUse {
    /// `id`.
    pub id: EntryId,
    /// `name`.
    pub tool: Option<Symbol>,
}

/// Line of a response.
#[derive(Clone, Debug)]
pub struct ResponseLine {
    /// `message.id`; some gateways give none.
    pub message: Option<Symbol>,
    /// `requestId`.
    pub request: Option<Symbol>,
    /// `message.model`.
    pub model: Symbol,
    /// `message.stop_reason`.
    pub stop: Option<StopReason>,
    /// Tools that it calls.
    pub tool_uses: SmallVec<[ToolUse; 1]>,
    /// Tokens of its texts and calls: zero if they were not counted, and all ones if it holds anything
    /// else. Each call has a line feed before it, without the frame around the calls of a message.
    pub counted: u32,
    /// True if it holds thinking.
    pub has_thinking: bool,
    /// True if it holds more than thinking, white space and calls, or has no blocks at all.
    pub has_text: bool,
    /// True if it was not streamed: only then it has a `message.context_management`.
    pub came_at_once: bool,
    /// `effort`.
    pub effort: Option<Symbol>,
    /// `message.diagnostics.cache_miss_reason`.
    pub verdict: Option<ServerVerdict>,
    /// `message.usage`.
    pub usage: Result<Usage, UsageProblem>,
}

/// Sub-agent's message inside a progress line.
#[derive(Clone, Debug)]
pub struct NestedMessage {
    /// Agent, or the tool call that started it.
    pub agent: Option<Symbol>,
    /// Message from the agent, or to it.
    pub content: NestedContent,
}

/// Message of one of the two sides.
#[derive(Clone, Debug)]
pub enum NestedContent {
    /// Line of a response.
    Response(ResponseLine),
    /// User message.
    User(UserMessage),
}

// All fields are named, so that a new one with a symbol cannot be left out.
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
            // No wildcard, so that a new kind with a symbol cannot be left out.
            Self::Progress(None)
            | Self::User(_)
            | Self::Response
            | Self::Attachment { kind: _, size: _, has_role: _ }
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

/// Note on a sub-agent's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentNote {
    /// Call that asks for an agent of a type.
    Called {
        /// Id of the call.
        call: EntryId,
        /// `subagent_type`.
        kind: Symbol,
    },
    /// Agent that was started by a call.
    Started {
        /// `agentId`.
        agent: Symbol,
        /// Id of the call, if the line names it.
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

/// Adds the notes of a line.
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
