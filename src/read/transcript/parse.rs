//! Parser of one line of bytes into entries and diagnostics. Each value is parsed once.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::content::{attachment, json_length, user_message};
use super::cost_state::{CostState, cost_state};
use super::counted::Measure;
use super::novel::{self, NovelPart, Novelty};
use super::prompt_snapshot::{PromptSnapshot, prompt_snapshot};
use super::sign::{
    Signs, collapse, compact_boundary, content_replacement, is_text, microcompact_boundary, signs,
    snip,
};
use super::title::{Title, title};
use super::wire::{Block, Line, Message, ProgressData, ServerDiagnostics};
use super::{
    AgentNote, Entry, EntryKind, NestedContent, NestedMessage, ResponseLine, ServerVerdict,
    StopReason, ToolUse, agent_notes,
};
use crate::base::{EntryId, Symbol, Symbols, TextSize};
use crate::read::input::{
    Content, Diagnostics, Kind, ObjectReader, Text, UsageObject, moment, read_usage,
};

/// Model name of messages that the client made itself.
pub(crate) const SYNTHETIC_MODEL: &str = "<synthetic>";

/// Types of lines that belong to a session without being part of its chain. A file that holds
/// nothing but these is still a transcript.
const SESSION_LINE_TYPES: [&str; 8] = [
    "summary",
    "custom-title",
    "ai-title",
    "mode",
    "permission-mode",
    "queue-operation",
    "file-history-snapshot",
    "last-prompt",
];

/// Contents of a stretch of lines.
#[derive(Debug, Default)]
pub(super) struct ParsedLines {
    /// Entries in file order, their symbols in `symbols`.
    pub(super) entries: Vec<Entry>,
    /// Contents of the entries that are lines of responses, in their order.
    pub(super) response_lines: Vec<ResponseLine>,
    /// Notes on the types of sub-agents, in file order.
    pub(super) agent_notes: Vec<AgentNote>,
    /// Counts of the client, in file order.
    pub(super) cost_states: Vec<CostState>,
    /// Records of the prompt in front of the messages, in file order.
    pub(super) snapshots: Vec<PromptSnapshot>,
    /// Unknown names.
    pub(super) novelties: Vec<Novelty>,
    /// Titles in file order, if they are kept.
    pub(super) titles: Vec<Title>,
    /// Strings of this stretch.
    pub(super) symbols: Symbols,
    /// Rejected or repaired places.
    pub(super) diagnostics: Diagnostics,
    /// Versions of the client that name the role in which an attachment was sent, so that one without was not.
    pub(super) with_roles: FxHashSet<Option<Symbol>>,
    /// Number of objects that only a Claude Code transcript has.
    pub(super) native: u64,
    /// Number of objects of any kind.
    pub(super) objects: u64,
}

/// Contents of a transcript that are kept besides those that every reader needs.
#[derive(Clone, Default)]
pub(crate) struct Keeping {
    /// True if the titles of sessions are kept.
    pub(crate) titles: bool,
    /// Token counter for the contents, if they are counted.
    pub(crate) measure: Option<Measure>,
}

/// Parser of lines into [`ParsedLines`].
pub(super) struct LineParser<'a> {
    file: &'a Arc<str>,
    keeping: &'a Keeping,
    latest: Latest,
    parsed: ParsedLines,
}

/// Values that most lines repeat from the line before.
#[derive(Default)]
struct Latest {
    agent: Option<Symbol>,
    session: Option<Symbol>,
    client_version: Option<Symbol>,
    project: Option<Symbol>,
    branch: Option<Symbol>,
    message: Option<Symbol>,
    request: Option<Symbol>,
    model: Option<Symbol>,
}

impl<'a> LineParser<'a> {
    /// Parser into `parsed`, which is empty and may have room.
    pub(super) fn new(file: &'a Arc<str>, keeping: &'a Keeping, parsed: ParsedLines) -> Self {
        Self { file, keeping, latest: Latest::default(), parsed }
    }

    pub(super) fn finish(self) -> ParsedLines {
        self.parsed
    }

    fn add(&mut self, object: &Line<'_>, line: u64) {
        self.parsed.objects += 1;
        let mut signs_of_content = Signs::new();
        let kind = match object.r#type.as_str() {
            // A line whose content is unusable is still a link of its chain.
            Some("user") => Some(user(object).unwrap_or(EntryKind::System)),
            Some("assistant") => {
                Some(self.assistant(object, line).unwrap_or(EntryKind::UnusableAnswer))
            }
            Some("system") => Some(self.system(object)),
            Some("attachment") => {
                let kind;
                let has_role = object.rendered_role.as_str().is_some();
                let unknown;
                (kind, signs_of_content, unknown) = attachment(object.attachment, has_role);
                self.count_unknown(object, NovelPart::Attachment, unknown.as_deref());
                Some(kind)
            }
            Some("progress") => Some(EntryKind::Progress(self.progress(object))),
            // Old third-party exports have this form.
            Some("compact_boundary") => Some(compact_boundary(object)),
            Some("last-prompt") => object
                .leaf_uuid
                .as_str()
                .map(|leaf| EntryKind::LastPrompt { leaf: EntryId::of(leaf) }),
            Some("content-replacement") => Some(content_replacement(object)),
            Some("marble-origami-commit") => Some(collapse(object)),
            Some("fork-context-ref") => {
                let up_to = entry_id(&object.up_to_message_id);
                up_to
                    .or_else(|| entry_id(&object.parent_last_uuid))
                    .map(|up_to| EntryKind::ForkContext { up_to })
            }
            Some("agent-setting") => {
                self.symbol(&object.agent_setting).map(EntryKind::AgentSetting)
            }
            name => {
                self.count_unknown(object, NovelPart::Line, name);
                None
            }
        };
        let Some(kind) = kind else {
            let is_session_line =
                object.r#type.as_str().is_some_and(|name| SESSION_LINE_TYPES.contains(&name));
            self.parsed.native += u64::from(is_session_line);
            return;
        };
        self.parsed.native += u64::from(matches!(
            kind,
            EntryKind::User(_)
                | EntryKind::Response
                | EntryKind::Synthetic { .. }
                | EntryKind::CompactBoundary(_)
                | EntryKind::LastPrompt { .. }
                | EntryKind::ForkContext { .. }
                | EntryKind::Progress(Some(_))
        ));
        let ParsedLines { symbols, agent_notes: notes, .. } = &mut self.parsed;
        agent_notes(object, symbols, notes);
        let entry = self.entry(object, line, kind, signs_of_content | signs(object));
        self.parsed.entries.push(entry);
    }

    fn entry(&mut self, object: &Line<'_>, line: u64, kind: EntryKind, signs: Signs) -> Entry {
        let Self { latest, parsed: ParsedLines { symbols, .. }, .. } = self;
        let agent = repeated(symbols, &object.agent_id, &mut latest.agent);
        let may_be_root = object.is_sidechain.0 && agent.is_none();
        let id = entry_id(&object.uuid);
        let is_unusual = |uuid: &&str| id.is_some_and(|id| !id.is_uuid(uuid));
        let unusual_uuid = object.uuid.as_str().filter(|_| may_be_root).filter(is_unusual);
        Entry {
            line,
            id,
            parent: entry_id(&object.parent_uuid),
            logical_parent: entry_id(&object.logical_parent_uuid),
            timestamp: moment(&object.timestamp),
            is_sidechain: object.is_sidechain.0,
            is_forked: object.forked_from.0.is_some(),
            agent,
            unusual_uuid: unusual_uuid.map(|uuid| symbols.intern(uuid)),
            session: repeated(symbols, &object.session_id, &mut latest.session),
            client_version: repeated(symbols, &object.version, &mut latest.client_version),
            project: repeated(symbols, &object.cwd, &mut latest.project),
            branch: repeated(symbols, &object.git_branch, &mut latest.branch),
            signs,
            kind,
        }
    }

    /// Counts a line with a name that is not known.
    fn count_unknown(&mut self, object: &Line<'_>, part: NovelPart, name: Option<&str>) {
        let Some(name) = name.filter(|name| !novel::is_known(part, name)) else { return };
        let Self { latest, parsed: ParsedLines { symbols, novelties, .. }, .. } = self;
        let version = repeated(symbols, &object.version, &mut latest.client_version);
        novel::count(novelties, part, name, version, symbols);
    }

    fn symbol(&mut self, text: &Text<'_>) -> Option<Symbol> {
        let text = text.as_str().filter(|text| !text.is_empty())?;
        Some(self.parsed.symbols.intern(text))
    }

    fn assistant(&mut self, object: &Line<'_>, line: u64) -> Option<EntryKind> {
        let message = object.message.0.as_ref()?;
        if message.model.is(SYNTHETIC_MODEL) {
            return Some(EntryKind::Synthetic { message: self.symbol(&message.id) });
        }
        let mut response = self.response(message, &object.request_id);
        if response.message.is_none() && response.request.is_none() {
            // Without usage there was no billed request, so nothing is lost.
            message.usage.0.as_ref()?;
            self.reject(Kind::MissingMessageId, line, "its place tells it from others");
        }
        for key in message.usage.0.iter().flat_map(UsageObject::unknown_keys) {
            self.count_unknown(object, NovelPart::Usage, Some(&key));
        }
        response.effort = self.symbol(&object.effort);
        self.parsed.response_lines.push(response);
        Some(EntryKind::Response)
    }

    fn response(&mut self, message: &Message<'_>, request: &Text<'_>) -> ResponseLine {
        let Self { latest, parsed: ParsedLines { symbols, .. }, .. } = self;
        let id = repeated(symbols, &message.id, &mut latest.message);
        let request = repeated(symbols, request, &mut latest.request);
        let model = message.model.as_str().unwrap_or("unknown");
        let model = symbols.intern_repeated(model, &mut latest.model);
        let blocks = match &message.content {
            Content::Blocks(blocks) => blocks.as_slice(),
            Content::Absent | Content::Text(_) => &[],
        };
        let tool_uses = blocks
            .iter()
            .filter(|block| block.r#type.is("tool_use"))
            .filter_map(|block| {
                Some(ToolUse { id: entry_id(&block.id)?, tool: self.symbol(&block.name) })
            })
            .collect();
        let is_thinking =
            |block: &Block<'_>| block.r#type.is("thinking") || block.r#type.is("redacted_thinking");
        ResponseLine {
            message: id,
            request,
            model,
            stop: message.stop_reason.as_str().map(|reason| {
                if reason == "tool_use" { StopReason::ToolUse } else { StopReason::Other }
            }),
            tool_uses,
            counted: 0,
            has_thinking: blocks.iter().any(is_thinking),
            has_text: blocks.is_empty() || blocks.iter().any(is_text),
            came_at_once: message.context_management.0.is_some(),
            effort: None,
            verdict: self.verdict(message.diagnostics.0.as_ref()),
            usage: read_usage(message.usage.0.as_ref()),
        }
    }

    fn verdict(&mut self, diagnostics: Option<&ServerDiagnostics<'_>>) -> Option<ServerVerdict> {
        let reason = diagnostics?.cache_miss_reason.0.as_ref()?;
        Some(ServerVerdict { reason: self.symbol(&reason.r#type)? })
    }

    fn system(&mut self, object: &Line<'_>) -> EntryKind {
        match object.subtype.as_str() {
            Some("compact_boundary") => compact_boundary(object),
            Some("microcompact_boundary") => {
                microcompact_boundary(object.microcompact_metadata.0.as_deref())
            }
            Some("away_summary") => EntryKind::AwaySummary,
            Some("stop_hook_summary" | "turn_duration") => EntryKind::TurnEnd,
            Some("local_command") => {
                EntryKind::LocalCommand { size: TextSize::of_bytes(json_length(object.content)) }
            }
            Some("model_refusal_fallback") => EntryKind::RefusalFallback {
                request: self.symbol(&object.request_id),
                original_model: self.symbol(&object.original_model),
            },
            name => snip(object).unwrap_or_else(|| {
                self.count_unknown(object, NovelPart::System, name);
                EntryKind::System
            }),
        }
    }

    fn progress(&mut self, object: &Line<'_>) -> Option<Box<NestedMessage>> {
        let data: &ProgressData<'_> = object.data.0.as_ref()?;
        if !data.r#type.is("agent_progress") {
            return None;
        }
        let nested = data.message.0.as_ref()?;
        let message = nested.message.0.as_ref();
        let content = match nested.r#type.as_str() {
            Some("assistant") => {
                let message = message.filter(|message| !message.model.is(SYNTHETIC_MODEL))?;
                let line = self.response(message, &nested.request_id);
                // Whether it is a copy shows in its id alone.
                line.message?;
                NestedContent::Response(line)
            }
            Some("user") => {
                let user = message.and_then(|message| user_message(message, object));
                NestedContent::User(user.unwrap_or_default())
            }
            _ => return None,
        };
        let agent = self.symbol(&data.agent_id).or_else(|| self.symbol(&object.parent_tool_use_id));
        Some(Box::new(NestedMessage { agent, content }))
    }
}

impl ObjectReader for LineParser<'_> {
    type Object<'a> = Line<'a>;
    const FILE: &'static str = "a transcript";

    fn object(&mut self, object: &Line<'_>, text: &str, line: u64) {
        let ParsedLines { entries, response_lines, .. } = &self.parsed;
        let before = (entries.len(), response_lines.len());
        self.add(object, line);
        if let Some(measure) = &self.keeping.measure {
            let ParsedLines { entries, response_lines, .. } = &mut self.parsed;
            measure.line(text, &mut entries[before.0..], &mut response_lines[before.1..]);
        }
        let cost_state = cost_state(object, text, line, &mut self.parsed.symbols);
        self.parsed.cost_states.extend(cost_state);
        let (symbols, measure) = (&mut self.parsed.symbols, self.keeping.measure.as_ref());
        let snapshot = |json| prompt_snapshot(json, line, symbols, measure);
        self.parsed.snapshots.extend(object.attachment.and_then(snapshot));
        if self.keeping.titles {
            self.parsed.titles.extend(title(object, text));
        }
    }

    fn reject(&mut self, kind: Kind, line: u64, detail: impl Into<String>) {
        self.parsed.diagnostics.add(kind, self.file, line, detail);
    }
}

/// Symbol of a text that mostly repeats the one before; nothing for an empty one.
fn repeated(symbols: &mut Symbols, text: &Text<'_>, latest: &mut Option<Symbol>) -> Option<Symbol> {
    let text = text.as_str().filter(|text| !text.is_empty())?;
    Some(symbols.intern_repeated(text, latest))
}

fn entry_id(text: &Text<'_>) -> Option<EntryId> {
    text.as_str().map(EntryId::of)
}

fn user(object: &Line<'_>) -> Option<EntryKind> {
    user_message(object.message.0.as_ref()?, object).map(EntryKind::User)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{Millis, Tokens};

    fn parse(lines: &[&[u8]]) -> ParsedLines {
        let file: Arc<str> = "test.jsonl".into();
        let keeping = Keeping::default();
        let mut parser = LineParser::new(&file, &keeping, ParsedLines::default());
        for (line, number) in lines.iter().zip(1..) {
            parser.line(line, number);
        }
        parser.finish()
    }

    #[test]
    fn a_response_line_keeps_ids_usage_and_calls() {
        let parsed = parse(&[br#"{"type":"assistant","uuid":"a","parentUuid":null,"requestId":"req_1","timestamp":"2026-07-28T10:00:02.900Z","message":{"id":"msg_1","model":"claude-opus-5","stop_reason":"tool_use","content":[{"type":"tool_use","id":"toolu_A","input":{}}],"usage":{"input_tokens":2,"cache_read_input_tokens":40895,"cache_creation_input_tokens":412,"output_tokens":96}}}"#]);
        let entry = &parsed.entries[0];
        assert_eq!(entry.timestamp, Some(Millis::new(1_785_232_802_900)));
        assert!(matches!(entry.kind, EntryKind::Response));
        let [response] = &parsed.response_lines[..] else { panic!("a response") };
        let calls: Vec<EntryId> = response.tool_uses.iter().map(|call| call.id).collect();
        assert_eq!(calls, [EntryId::of("toolu_A")]);
        assert_eq!(response.stop, Some(StopReason::ToolUse));
        assert_eq!(response.message.map(|id| parsed.symbols.text(id)), Some("msg_1"));
        let usage = response.usage.as_ref().expect("usage");
        assert_eq!(usage.prompt.total(), Tokens(41_309));
    }

    #[test]
    fn a_nested_response_is_found_in_a_progress_line() {
        let parsed = parse(&[br#"{"type":"progress","uuid":"g","parentToolUseID":"toolu_T","data":{"type":"agent_progress","message":{"type":"assistant","requestId":"req_2","message":{"id":"msg_2","model":"m","content":[],"usage":{"cache_read_input_tokens":5}}}}}"#]);
        let EntryKind::Progress(Some(nested)) = &parsed.entries[0].kind else { panic!("nested") };
        assert!(matches!(nested.content, NestedContent::Response(_)));
        assert_eq!(nested.agent.map(|agent| parsed.symbols.text(agent)), Some("toolu_T"));
    }

    #[test]
    fn a_fork_names_its_parents_entry_in_two_forms() {
        let parsed = parse(&[
            br#"{"type":"fork-context-ref","agentId":"f","forkedSessionId":"s","upToMessageId":"p"}"#,
            br#"{"type":"fork-context-ref","agentId":"f","parentSessionId":"s","parentLastUuid":"p","contextLength":7}"#,
        ]);
        for entry in &parsed.entries {
            let EntryKind::ForkContext { up_to } = entry.kind else { panic!("a fork") };
            assert_eq!(up_to, EntryId::of("p"));
        }
        assert_eq!(parsed.entries.len(), 2);
    }

    #[test]
    fn deep_nesting_is_no_danger() {
        let mut line = br#"{"type":"user","uuid":"a","toolUseResult":"#.to_vec();
        line.extend(std::iter::repeat_n(b'[', 200_000));
        line.extend(std::iter::repeat_n(b']', 200_000));
        line.push(b'}');
        parse(&[&line]);
        parse(&[&line[..100_000]]);
    }
}
