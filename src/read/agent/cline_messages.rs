//! Cline and Roo Code: the messages that were sent in a task, `api_conversation_history.json`.
//!
//! The file has the messages without the system prompt and the tools, and no usage. A message is stamped
//! right after the entry of its request, so a [request](super::cline) takes all messages until the next
//! one. The client describes its environment at the end of each message; Roo names the model nowhere
//! else. Results are texts under a heading with the tool's name, or blocks that answer a call.

use std::ops::Range;

use rustc_hash::FxHashMap;
use serde_json::value::RawValue;

use super::halves::{Half, Said};
use super::{AgentFile, DocumentFormat, FirstObject, Happened, Layout, Size, Time};
use crate::base::{Millis, Symbol};
use crate::read::input::{Flag, Kind, List, Shape, Text, lenient, only_value};
use crate::read::transcript::{ContentKind, ContentSource};

/// Start of the description of the environment.
const SURROUNDINGS: &str = "<environment_details>";

/// Tags around the name of the model.
const MODEL: [&str; 2] = ["<model>", "</model>"];

/// End of the heading of a result.
const RESULT: &str = "] Result:";

/// Longest heading, in bytes. A longer text before the end is not a heading.
const LONGEST_HEADING: usize = 2_000;

/// Starts of texts that the user wrote, whatever result precedes them.
const BY_USER: [&str; 4] = ["<task>", "<feedback>", "<user_message>", "<answer>"];

/// Starts of texts that the client writes after an error or an interruption.
const BY_CLIENT: [&str; 2] = ["[ERROR]", "[TASK RESUMPTION]"];

/// All phrases that identify texts, besides the names of tools.
pub(crate) const PHRASES: [&str; 10] = [
    SURROUNDINGS,
    MODEL[0],
    MODEL[1],
    RESULT,
    BY_USER[0],
    BY_USER[1],
    BY_USER[2],
    BY_USER[3],
    BY_CLIENT[0],
    BY_CLIENT[1],
];

/// Tools that headings name. All tools of servers share one name.
pub(crate) const TOOLS: [&str; 25] = [
    "access_mcp_resource",
    "apply_diff",
    "ask_followup_question",
    "attempt_completion",
    "browser_action",
    "codebase_search",
    "edit_file",
    "execute_command",
    "fetch_instructions",
    "generate_image",
    "insert_content",
    "list_code_definition_names",
    "list_files",
    "load_mcp_documentation",
    "new_task",
    "plan_mode_respond",
    "read_file",
    "replace_in_file",
    "search_and_replace",
    "search_files",
    "switch_mode",
    "update_todo_list",
    "use_mcp_tool",
    "web_fetch",
    "write_to_file",
];

/// Format of the messages of a task.
pub(super) struct ClineMessages;

impl DocumentFormat for ClineMessages {
    type Document<'a> = List<Shape<Message<'a>>>;
    const FILE: &'static str = "the messages of a task of Cline or Roo Code";
    const LAYOUT: Option<Layout> = Some(Layout::ClineMessages);

    fn recognises(first: &FirstObject<'_>) -> bool {
        first.is_one_of("role", &["user"]) && first.has_member("content") && first.has_member("ts")
    }

    fn document(messages: &List<Shape<Message<'_>>>, file: &mut AgentFile) {
        let mut calls = Calls::default();
        let mut said = Vec::new();
        for (number, message) in (1..).zip(&messages.0) {
            let Some(message) = &message.0 else { continue };
            file.line = number;
            let blocks = message.blocks();
            if message.is_clients() {
                match message.at.0 {
                    Some(at) => said.push(message.said(at, &blocks, &calls, file)),
                    // Without a time a message cannot be matched with its request.
                    None => file.reject(Kind::MissingTimestamp, number, "the message is left out"),
                }
            } else {
                calls.note(&blocks, file);
            }
        }
        file.half = Half::Messages(said);
    }
}

/// Tools of the calls, by the ids that results name.
#[derive(Default)]
struct Calls(FxHashMap<String, Symbol>);

impl Calls {
    fn note(&mut self, blocks: &[(Size, Block<'_>)], file: &mut AgentFile) {
        for (_, block) in blocks.iter().filter(|(_, block)| block.r#type.is("tool_use")) {
            let name = file.symbol(&block.name);
            self.0.extend(block.id.as_str().map(str::to_owned).zip(name));
        }
    }
}

/// Position in a message: the result that the next text belongs to, if any.
#[derive(Clone, Copy)]
enum Part {
    Text,
    Result(Option<Symbol>),
}

lenient! {
    pub(super) struct Message<'a> {
        #[serde(rename = "ts")]
        at: Time,
        role: Text<'a>,
        content: Option<&'a RawValue>,
        /// True if the message replaces all before it.
        #[serde(rename = "isSummary")]
        is_summary: Flag,
    }

    struct Block<'a> {
        r#type: Text<'a>,
        text: Option<&'a RawValue>,
        /// Id of a tool call.
        id: Text<'a>,
        name: Text<'a>,
        #[serde(rename = "tool_use_id")]
        answers: Text<'a>,
    }
}

impl<'a> Message<'a> {
    /// Returns true for a message of the client. It writes summaries under the model's role.
    fn is_clients(&self) -> bool {
        self.role.is("user") || self.is_summary.0
    }

    /// Blocks of the content, with their sizes. A plain text is one block.
    fn blocks(&self) -> Vec<(Size, Block<'a>)> {
        let Some(content) = self.content else { return Vec::new() };
        if content.get().starts_with('"') {
            let block = Block { text: Some(content), ..Block::default() };
            return vec![(Size::of_value(content), block)];
        }
        let blocks: Vec<&RawValue> = only_value(content.get()).unwrap_or_default();
        let read =
            |block: &'a RawValue| Some((Size::of_value(block), only_value(block.get()).ok()?));
        blocks.into_iter().filter_map(read).collect()
    }

    fn said(
        &self,
        at: Millis,
        blocks: &[(Size, Block<'_>)],
        calls: &Calls,
        file: &mut AgentFile,
    ) -> Said {
        let mut happened = Happened::default();
        let (mut part, mut model) = (Part::Text, None);
        for (size, block) in blocks {
            let source = if self.is_summary.0 {
                ContentSource::Text(ContentKind::Summary)
            } else {
                block.source(&mut part, calls, file)
            };
            model = block.model(file).or(model);
            file.bring(&mut happened, source, *size);
        }
        Said { at, brought: happened.brought, model, is_summary: self.is_summary.0 }
    }
}

impl Block<'_> {
    /// Source of the block, after the blocks before it in its message.
    fn source(&self, part: &mut Part, calls: &Calls, file: &mut AgentFile) -> ContentSource {
        if self.r#type.is("tool_result") {
            let call = self.answers.as_str().and_then(|id| calls.0.get(id));
            return ContentSource::Tool(call.copied());
        }
        let text = self.text();
        let begins_with = |known: &[&str]| known.iter().any(|one| text.starts_with(one));
        if begins_with(&[SURROUNDINGS]) || begins_with(&BY_CLIENT) {
            return ContentSource::Text(ContentKind::Reminder);
        }
        // A result may span several texts, so `part` stays until the user speaks or a heading comes.
        if begins_with(&BY_USER) {
            *part = Part::Text;
        } else if let Some(tool) = heading(text) {
            *part = Part::Result(tool.map(|name| file.symbols.intern(&text[name])));
        }
        match *part {
            Part::Text => ContentSource::Text(ContentKind::UserText),
            Part::Result(tool) => ContentSource::Tool(tool),
        }
    }

    /// Model that the description of the environment names.
    fn model(&self, file: &mut AgentFile) -> Option<Symbol> {
        let text = self.text();
        model_name(text).map(|name| file.symbols.intern(&text[name]))
    }

    /// Text as JSON, without quotes.
    fn text(&self) -> &str {
        let json = self.text.map_or("", RawValue::get);
        json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or_default()
    }
}

/// Range of the tool's name in a text that begins with the heading of a result.
///
/// The inner option is `None` for an unknown tool.
#[allow(clippy::option_option)] // a result of a tool that is not known is one
fn heading(text: &str) -> Option<Option<Range<usize>>> {
    let inner = text.strip_prefix('[')?;
    inner.find(RESULT).filter(|end| *end < LONGEST_HEADING)?;
    let name = inner.split([' ', ']']).next().unwrap_or_default();
    // An unknown name may be any text of the session, and no text is kept.
    Some(TOOLS.contains(&name).then_some(1..1 + name.len()))
}

/// Ranges of a text that identify it, besides the name of the model.
pub(crate) fn marks(text: &str) -> Vec<Range<usize>> {
    let is_first = |known: &&str| text.starts_with(*known);
    let first = BY_USER.iter().chain(&BY_CLIENT).chain(&[SURROUNDINGS]).copied().find(is_first);
    let mut marks: Vec<Range<usize>> = first.map(|known| 0..known.len()).into_iter().collect();
    if let Some(tool) = heading(text) {
        let end = text.find(RESULT).map(|at| at..at + RESULT.len());
        marks.push(0..tool.map_or(1, |name| name.end + 1));
        marks.extend(end);
    }
    if let Some(name) = model_name(text) {
        marks
            .extend([name.start - MODEL[0].len()..name.start, name.end..name.end + MODEL[1].len()]);
    }
    marks
}

/// Range of the model's name in a description of the environment.
pub(crate) fn model_name(text: &str) -> Option<Range<usize>> {
    let [begin, end] = MODEL;
    let _ = text.strip_prefix(SURROUNDINGS)?;
    let start = text.find(begin)? + begin.len();
    let length = text[start..].find(end)?;
    (length > 0).then_some(start..start + length)
}
