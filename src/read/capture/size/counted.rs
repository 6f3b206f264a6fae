//! Blocks in the vocabulary of a model: their texts as they are written into the prompt, and what frames them.
//!
//! How blocks are written is known from recorded exchanges (`docs/accuracy.md` says how well it holds): tools as
//! lines of JSON in tags, calls as tags with a line for each argument, results as their text.

use rustc_hash::FxHashMap;
use serde_json::value::RawValue;

use super::super::block::{Block, BlockKind};
use super::super::tree::Part;
use super::estimate::hidden_thinking;
use super::media::{document_tokens, image_tokens};
use crate::base::model::{Facts, Tokenizer};
use crate::base::vocabulary::Vocabulary;
use crate::tokens::{Count, counter};

/// Where a block stands.
#[derive(Clone, Copy, Debug)]
pub(in crate::read::capture) struct Place {
    /// The part of the prompt that it is.
    pub(in crate::read::capture) part: Part,
    /// The kind of the block before it.
    pub(in crate::read::capture) before: BlockKind,
    /// Whether its message is the system's, in the middle of a conversation.
    pub(in crate::read::capture) is_of_system: bool,
}

/// The definitions of tools that are no part of the prompt before a result refers to them, by name.
pub(in crate::read::capture) type Deferred<'a> = FxHashMap<String, &'a RawValue>;

/// What frames the parts of a prompt, in tokens, beside their texts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frames {
    /// The turn of a message.
    pub(crate) message: u64,
    /// That of a system message in the middle of a conversation.
    system_message: u64,
    /// A run of calls.
    calls: u64,
    /// Whether the tags around a run of calls are written as text.
    writes_call_tags: bool,
    /// A result, with the turn of its message.
    pub(crate) result: u64,
    /// A further result of the same message.
    pub(crate) further_result: u64,
    /// A text after results.
    pub(crate) text_after_result: u64,
    /// A reference to a deferred tool, beside its definition.
    reference: u64,
    /// The result of a tool that the service ran.
    server_result: u64,
    /// A file that is uploaded into a container.
    container: u64,
    /// That a request asks for extended thinking with a budget.
    thinking_budget: u64,
    /// Tools that the service defines, by the beginning of their type.
    service_tools: [(&'static str, u64); 8],
}

impl Frames {
    /// Claude 3 to the 4.6 models.
    const CLAUDE_3: Self = Self {
        message: 3,
        system_message: 1,
        calls: 1,
        writes_call_tags: true,
        result: 11,
        further_result: 31,
        text_after_result: 5,
        reference: 21,
        server_result: 19,
        container: 6,
        thinking_budget: 29,
        service_tools: [
            ("bash_", 244),
            ("text_editor_", 745),
            ("memory_", 1_068),
            ("tool_search_", 188),
            ("code_execution_20250522", 421),
            ("code_execution_", 1_739),
            ("computer_", 4_500),
            ("", 130),
        ],
    };

    /// Opus 4.7 and later.
    const CLAUDE_4_7: Self = Self {
        message: 3,
        system_message: 1,
        calls: 4,
        writes_call_tags: false,
        result: 5,
        further_result: 31,
        text_after_result: 3,
        reference: 17,
        server_result: 16,
        container: 10,
        thinking_budget: 0,
        service_tools: [
            ("bash_", 325),
            ("text_editor_", 970),
            ("memory_", 1_390),
            ("tool_search_", 243),
            ("code_execution_20250522", 550),
            ("code_execution_", 2_571),
            ("computer_", 4_500),
            ("", 170),
        ],
    };

    /// The frames of a vocabulary's prompts; those of other makers are not known, and taken for the newer ones.
    pub(crate) fn of(vocabulary: Vocabulary) -> &'static Self {
        match vocabulary {
            Vocabulary::Claude3 => &Self::CLAUDE_3,
            Vocabulary::Claude47 | Vocabulary::Claude48 | Vocabulary::O200k => &Self::CLAUDE_4_7,
        }
    }
}

/// What counts the prompts of one model.
#[derive(Clone, Copy)]
pub(super) struct Counted<'a> {
    counter: &'static dyn Count,
    frames: &'static Frames,
    facts: &'a Facts,
}

impl<'a> Counted<'a> {
    /// `None` where the model's vocabulary is not known, or not there.
    pub(super) fn new(facts: &'a Facts) -> Option<Self> {
        let vocabulary = facts.vocabulary?;
        Some(Self { counter: counter(vocabulary)?, frames: Frames::of(vocabulary), facts })
    }

    fn tokenizer(&self) -> &'a Tokenizer {
        &self.facts.tokenizer
    }

    /// What frames a prompt besides its messages: with one message it is the model's frame.
    pub(super) fn frame(&self) -> u64 {
        self.facts.frame.0.saturating_sub(self.frames.message)
    }

    /// What asking for extended thinking with a budget adds.
    pub(super) fn thinking_budget(&self) -> u64 {
        self.frames.thinking_budget
    }

    fn text(&self, text: &str) -> u64 {
        self.counter.tokens(text)
    }

    /// The tokens of a string's text, or of another value's JSON.
    fn value(&self, raw: Option<&RawValue>) -> u64 {
        raw.map_or(0, |raw| self.text(&written(raw)))
    }

    /// The tokens of a block in its place.
    pub(super) fn block(
        &self,
        block: &Block<'_>,
        place: Place,
        canonical: &str,
        deferred: &Deferred<'_>,
    ) -> u64 {
        if place.part == Part::Tool {
            return self.tool(block);
        }
        let starts = place.part == Part::MessageStart;
        let turn = match (starts, place.is_of_system) {
            (false, _) => 0,
            (true, false) => self.frames.message,
            (true, true) => self.frames.system_message,
        };
        match block.r#type.as_str() {
            Some("tool_use" | "server_tool_use" | "mcp_tool_use") => {
                self.call(block, starts, place)
            }
            Some("tool_result") => self.result(block, starts, place, deferred),
            Some(name) if name.ends_with("_tool_result") => {
                self.server_result(block) + self.frames.server_result
            }
            Some("thinking") => self.value(block.thinking).max(hidden_thinking(block)) + 1,
            Some("text") => {
                let follows_result =
                    place.part.is_message() && place.before == BlockKind::ToolResult;
                let turn = if follows_result { self.frames.text_after_result } else { turn };
                turn + self.value(block.text)
            }
            _ => turn + self.content(block, canonical),
        }
    }

    /// The tokens of a block that needs no frame of its own.
    fn content(&self, block: &Block<'_>, canonical: &str) -> u64 {
        match block.r#type.as_str() {
            Some("text") => self.value(block.text),
            Some("image") => image_tokens(block.source_data(), self.tokenizer()),
            Some("document") => self.document(block),
            Some("container_upload") => self.frames.container,
            _ => self.text(canonical),
        }
    }

    /// Of a PDF its pages; of a text, or of blocks, what is written there.
    fn document(&self, block: &Block<'_>) -> u64 {
        let Some(source) = &block.source.0 else { return 0 };
        let data = source.data.as_str().unwrap_or_default();
        match (source.r#type.as_str(), source.content) {
            (Some("text"), _) => self.text(data),
            (_, Some(content)) => self.value(Some(content)),
            _ => document_tokens(data),
        }
    }

    /// A tool's line, or what the service writes for one of its own.
    fn tool(&self, block: &Block<'_>) -> u64 {
        if let Some(name) = block.r#type.as_str().filter(|name| *name != "custom") {
            let known =
                self.frames.service_tools.iter().find(|(beginning, _)| name.starts_with(beginning));
            return 1 + known.map_or(0, |(_, tokens)| *tokens);
        }
        // A line feed parts it from the one before it.
        1 + self.text(&tool_line(block))
    }

    fn call(&self, block: &Block<'_>, starts: bool, place: Place) -> u64 {
        let call = call_lines(block);
        if !starts && place.before == BlockKind::ToolUse {
            return self.text(&call);
        }
        let tags = if self.frames.writes_call_tags {
            self.text(&format!("<{TAG}function_calls>\n{call}</{TAG}function_calls>"))
        } else {
            self.text(&call)
        };
        let frame = tags + self.frames.calls;
        // The turn is in the frame of the calls, and a text before them has it, too.
        let has_turn = !starts && place.before == BlockKind::Answer;
        if has_turn { frame.saturating_sub(self.frames.message) } else { frame }
    }

    fn result(
        &self,
        block: &Block<'_>,
        starts: bool,
        place: Place,
        deferred: &Deferred<'_>,
    ) -> u64 {
        let inner = block.inner();
        let content: u64 = if inner.is_empty() {
            self.value(block.content)
        } else {
            inner.iter().map(|(json, block)| self.part_of_result(block, json, deferred)).sum()
        };
        let is_further = !starts && place.before == BlockKind::ToolResult;
        let frame = if is_further { self.frames.further_result } else { self.frames.result };
        content + frame
    }

    fn part_of_result(&self, block: &Block<'_>, json: &str, deferred: &Deferred<'_>) -> u64 {
        if !block.r#type.is("tool_reference") {
            return self.content(block, json);
        }
        let name = block.tool_name.as_str().unwrap_or_default();
        let tool =
            deferred.get(name).and_then(|raw| serde_json::from_str::<Block<'_>>(raw.get()).ok());
        let line = tool.map_or(0, |tool| self.text(&tool_line(&tool)));
        // The frame of the result around it is taken off.
        line + self.frames.reference.saturating_sub(self.frames.result)
    }

    /// What a tool that the service ran printed; of other results, their JSON.
    fn server_result(&self, block: &Block<'_>) -> u64 {
        let Some(content) = block.content else { return 0 };
        let printed: Option<Printed<'_>> = serde_json::from_str(content.get()).ok();
        match printed.filter(|printed| printed.stdout.is_some() || printed.stderr.is_some()) {
            Some(printed) => self.value(printed.stdout) + self.value(printed.stderr),
            None => self.text(content.get()),
        }
    }
}

/// What a tool that the service ran printed.
#[derive(serde::Deserialize)]
struct Printed<'a> {
    #[serde(borrow, default)]
    stdout: Option<&'a RawValue>,
    #[serde(borrow, default)]
    stderr: Option<&'a RawValue>,
}

/// What the tags of calls begin with.
const TAG: &str = concat!("ant", "ml:");

/// A tool as the service writes it: a line of JSON with a space after each comma and colon. A description that
/// is empty is left out.
fn tool_line(block: &Block<'_>) -> String {
    let mut line = String::from("<function>{");
    if let Some(description) = block.description.filter(|text| text.get().len() > 2) {
        line.push_str("\"description\": ");
        line.push_str(description.get());
        line.push_str(", ");
    }
    let name = serde_json::Value::from(block.name.as_str().unwrap_or_default());
    line.push_str(&format!("\"name\": {name}, \"parameters\": "));
    line.push_str(&spaced(block.input_schema.map_or("{}", RawValue::get)));
    line.push_str("}</function>\n");
    line
}

/// A call as the service writes it, with a line for each argument.
fn call_lines(block: &Block<'_>) -> String {
    let name = block.name.as_str().unwrap_or_default();
    let mut lines = format!("<{TAG}invoke name=\"{name}\">\n");
    for (argument, value) in arguments(block.input) {
        lines.push_str(&format!("<{TAG}parameter name=\"{argument}\">"));
        lines.push_str(&written(value));
        lines.push_str(&format!("</{TAG}parameter>\n"));
    }
    lines.push_str(&format!("</{TAG}invoke>\n"));
    lines
}

/// The members of an object, in their order.
fn arguments(input: Option<&RawValue>) -> Vec<(String, &RawValue)> {
    struct Members;
    impl<'de> serde::de::Visitor<'de> for Members {
        type Value = Vec<(String, &'de RawValue)>;

        fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            formatter.write_str("an object")
        }

        fn visit_map<A: serde::de::MapAccess<'de>>(
            self,
            mut map: A,
        ) -> Result<Self::Value, A::Error> {
            let mut members = Vec::new();
            while let Some(member) = map.next_entry()? {
                members.push(member);
            }
            Ok(members)
        }
    }
    let members = input.and_then(|input| {
        serde::Deserializer::deserialize_map(
            &mut serde_json::Deserializer::from_str(input.get()),
            Members,
        )
        .ok()
    });
    members.unwrap_or_default()
}

/// A value as it is written into a prompt: the text of a string, and the JSON of anything else.
fn written(raw: &RawValue) -> String {
    serde_json::from_str::<String>(raw.get()).unwrap_or_else(|_| spaced(raw.get()))
}

/// JSON with a space after each comma and colon outside of strings, and no other there.
fn spaced(json: &str) -> String {
    let mut text = String::with_capacity(json.len() + json.len() / 8);
    let mut is_in_string = false;
    let mut is_escaped = false;
    for character in json.chars() {
        if !is_in_string && character.is_ascii_whitespace() {
            continue;
        }
        text.push(character);
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' if is_in_string => is_escaped = true,
            '"' => is_in_string = !is_in_string,
            ',' | ':' if !is_in_string => text.push(' '),
            _ => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_spaced_outside_of_strings() {
        let json = r#"{"a" :[1,2],"b":"x,y:\"z\"","c":{}}"#;
        assert_eq!(spaced(json), r#"{"a": [1, 2], "b": "x,y:\"z\"", "c": {}}"#);
    }
}
