//! What lines tell of the types of sub-agents: a call asks for one, and its result says which agent it
//! was.

use super::wire::{Block, Line};
use crate::base::id::{EntryId, Moved, Symbol, Symbols};
use crate::read::input::{Content, Text};

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

impl AgentNote {
    /// The same note in another table of symbols.
    #[must_use]
    pub fn map(self, to: impl Fn(Symbol) -> Symbol) -> Self {
        match self {
            Self::Called { call, kind } => Self::Called { call, kind: to(kind) },
            Self::Started { agent, call, kind } => {
                Self::Started { agent: to(agent), call, kind: kind.map(to) }
            }
        }
    }
}

/// Moves the symbols of a note into another table.
pub(super) fn move_agent_note(note: &mut AgentNote, moved: &Moved) {
    *note = note.map(|symbol| moved.symbol(symbol));
}

/// Adds what a line tells.
pub(super) fn agent_notes(line: &Line<'_>, symbols: &mut Symbols, notes: &mut Vec<AgentNote>) {
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
