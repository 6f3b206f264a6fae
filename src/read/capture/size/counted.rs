//! Token counts of blocks in the vocabulary of a model: as they are written into the prompt (`read/rendered`), with
//! the frames of their places.

use std::cell::OnceCell;

use rustc_hash::FxHashMap;
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::block::{Block, BlockKind};
use super::super::canonical::write_canonical;
use super::super::tree::Part;
use crate::base::{ByKey, Facts, Tokenizer, Vocabulary};
use crate::read::input::Shape;
use crate::read::rendered::{Frames, Scale, document_tokens, image_tokens, tool_line, written};

/// Place of a block in a prompt.
#[derive(Clone, Copy, Debug)]
pub(in crate::read::capture) struct Place {
    /// Part of the prompt.
    pub(in crate::read::capture) part: Part,
    /// Kind of the block before it.
    pub(in crate::read::capture) before: BlockKind,
    /// Number of results right before it in its message.
    pub(in crate::read::capture) results_before: u64,
    /// Tokens of the tool names that it is written with: its own, and for the second of several
    /// results the first one's, too.
    pub(in crate::read::capture) names: u64,
    /// Role of its message.
    pub(in crate::read::capture) role: Role,
}

/// Role of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::read::capture) enum Role {
    /// User, and any other role.
    User,
    /// Model.
    Assistant,
    /// System, in the middle of a conversation.
    System,
}

/// Definitions of tools that are no part of the prompt before a result refers to them, by name.
pub(in crate::read::capture) type Deferred<'a> = FxHashMap<String, DeferredTool<'a>>;

/// Deferred tool, which is counted when it is first asked for.
#[derive(Debug)]
pub(in crate::read::capture) struct DeferredTool<'a> {
    definition: &'a RawValue,
    tokens: OnceCell<u64>,
}

impl<'a> DeferredTool<'a> {
    pub(in crate::read::capture) fn new(definition: &'a RawValue) -> Self {
        Self { definition, tokens: OnceCell::new() }
    }

    /// Tokens of its line, however its definition was escaped on its way.
    fn tokens(&self, scale: Scale) -> u64 {
        *self.tokens.get_or_init(|| {
            let mut canonical = Vec::new();
            let is_valid = write_canonical(self.definition.get(), &mut canonical).is_ok();
            let block = std::str::from_utf8(&canonical).ok().filter(|_| is_valid);
            let block = block.and_then(|text| serde_json::from_str::<Block<'_>>(text).ok());
            block.map_or(0, |block| scale.text(&line_of(&block)))
        })
    }
}

/// Token counter for the prompts of one model.
#[derive(Clone, Copy)]
pub(super) struct Counted<'a> {
    scale: Scale,
    facts: &'a Facts,
}

impl<'a> Counted<'a> {
    /// Counter for a model; `None` if its vocabulary is unknown, or missing in this build.
    pub(super) fn new(facts: &'a Facts) -> Option<Self> {
        Some(Self { scale: Scale::of(facts.vocabulary?)?, facts })
    }

    fn frames(&self) -> &'static Frames {
        self.scale.frames
    }

    fn tokenizer(&self) -> &'a Tokenizer {
        &self.facts.tokenizer
    }

    /// Frame of a prompt besides its messages: with one message it is the model's frame.
    pub(super) fn frame(&self) -> u64 {
        self.facts.frame.0.saturating_sub(self.frames().user_turn)
    }

    /// Tokens that a request for extended thinking with a budget adds.
    pub(super) fn thinking_budget(&self) -> u64 {
        self.frames().thinking_budget
    }

    /// Tokens that the choice of a tool by its name adds to those of any forced choice; `None` if they are unknown.
    pub(super) fn named_choice(&self, name: &str) -> Option<u64> {
        Some(self.frames().named_choice? + self.name(name))
    }

    /// Tokens that a request for an answer by a schema adds; `None` if they are unknown.
    pub(super) fn format(&self, format: &RawValue) -> Option<u64> {
        let frame = self.frames().format?;
        let format: Shape<Format> = serde_json::from_str(format.get()).ok()?;
        let schema = serde_json::to_string_pretty(&format.0?.schema?).ok()?;
        Some(frame + self.scale.text(&schema))
    }

    /// Returns true if the size of a block is counted and no part of it estimated: texts, tools of the client's,
    /// calls and results with texts are.
    pub(super) fn is_known(&self, block: &Block<'_>, place: Place, canonical: &str) -> bool {
        let is_text = |block: &Block<'_>| block.r#type.is("text");
        match block.r#type.as_str() {
            // Frames of other makers' prompts are not known.
            _ if self.facts.vocabulary == Some(Vocabulary::O200k) => false,
            None | Some("custom") => place.part == Part::Tool && has_known_fields(canonical),
            Some("text" | "tool_use") => true,
            Some("tool_result") => block.inner().iter().all(|(_, inner)| is_text(inner)),
            Some(_) => false,
        }
    }

    /// Tokens of a tool's name.
    pub(super) fn name(&self, name: &str) -> u64 {
        self.scale.text(name)
    }

    /// Tokens of a block in its place.
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
        match block.r#type.as_str() {
            Some("tool_use" | "server_tool_use" | "mcp_tool_use") => self.call(block, place),
            Some("tool_result") => self.result(block, place, deferred),
            Some(name) if name.ends_with("_tool_result") => {
                self.server_result(block) + self.frames().server_result
            }
            Some("thinking") => self.thinking(block),
            _ => self.turn(place) + self.content(block, canonical),
        }
    }

    /// Tokens that the message of a block adds, if the block is the first one or follows results.
    fn turn(&self, place: Place) -> u64 {
        let frames = self.frames();
        match place.part {
            Part::MessageStart | Part::Block if place.before == BlockKind::ToolResult => {
                frames.text_after_results
            }
            Part::MessageStart => match place.role {
                Role::User => frames.user_turn,
                Role::Assistant => frames.assistant_turn,
                Role::System => frames.system_turn,
            },
            _ => 0,
        }
    }

    /// Tokens of thinking that is written out, or that its signature hides.
    fn thinking(&self, block: &Block<'_>) -> u64 {
        let frames = self.frames();
        let written = self.scale.value(block.thinking);
        if written > 0 {
            return written + frames.thinking;
        }
        let bytes = block.signature.map_or(0, |signature| signature.get().len() as u64);
        let (per_hundred, without) = frames.signature;
        bytes.saturating_sub(without) * 100 / per_hundred + frames.thinking
    }

    /// Tokens of a block that needs no frame of its own.
    fn content(&self, block: &Block<'_>, canonical: &str) -> u64 {
        match block.r#type.as_str() {
            Some("text") => self.scale.value(block.text),
            Some("image") => image_tokens(block.source_data(), self.tokenizer()),
            Some("document") => self.document(block),
            Some("container_upload") => self.frames().container,
            _ => self.scale.text(canonical),
        }
    }

    /// Tokens of a document: the pages of a PDF, or the content of a text or of blocks.
    fn document(&self, block: &Block<'_>) -> u64 {
        let Some(source) = &block.source.0 else { return 0 };
        let data = source.data.as_str().unwrap_or_default();
        match (source.r#type.as_str(), source.content) {
            (Some("text"), _) => self.scale.text(data),
            (_, Some(content)) => self.scale.value(Some(content)),
            _ => document_tokens(data),
        }
    }

    /// Tokens of a tool's line, or of the service's text for a tool of its own.
    fn tool(&self, block: &Block<'_>) -> u64 {
        if let Some(name) = block.r#type.as_str().filter(|name| *name != "custom") {
            let known = self
                .frames()
                .service_tools
                .iter()
                .find(|(beginning, _)| name.starts_with(beginning));
            return 1 + known.map_or(0, |(_, tokens)| *tokens);
        }
        // A line feed separates it from the one before it.
        1 + self.scale.text(&line_of(block))
    }

    fn call(&self, block: &Block<'_>, place: Place) -> u64 {
        let name = block.name.as_str().unwrap_or_default();
        let starts = place.part == Part::MessageStart;
        match place.before {
            BlockKind::ToolUse if !starts => self.scale.further_call(name, block.input),
            // A blank line separates calls from a text, and the turn is in their frame.
            BlockKind::Answer if !starts => (self.scale.first_call(name, block.input) + 1)
                .saturating_sub(self.frames().assistant_turn),
            _ => self.scale.first_call(name, block.input),
        }
    }

    fn result(&self, block: &Block<'_>, place: Place, deferred: &Deferred<'_>) -> u64 {
        let inner = block.inner();
        let is_text = |block: &Block<'_>| block.r#type.is("text");
        let texts: String = inner
            .iter()
            .filter(|(_, block)| is_text(block))
            .filter_map(|(_, block)| block.text.map(written))
            .collect();
        let content = match block.content {
            Some(content) if inner.is_empty() => written(content),
            _ => texts.into(),
        };
        let others = inner.iter().filter(|(_, block)| !is_text(block));
        let others: Vec<u64> =
            others.map(|(json, block)| self.part_of_result(block, json, deferred)).collect();
        let result = if content.is_empty() && !others.is_empty() {
            self.frames().result
        } else {
            self.scale.result(&content, block.is_error.0)
        };
        result + others.iter().sum::<u64>() + self.scale.beside(place.results_before, place.names)
    }

    fn part_of_result(&self, block: &Block<'_>, json: &str, deferred: &Deferred<'_>) -> u64 {
        if !block.r#type.is("tool_reference") {
            return self.content(block, json);
        }
        let name = block.tool_name.as_str().unwrap_or_default();
        let line = deferred.get(name).map_or(0, |tool| tool.tokens(self.scale));
        // The frame of the result around it is subtracted.
        line + self.frames().reference.saturating_sub(self.frames().result)
    }

    /// Tokens of the output of a tool that the service ran; of other results, of their JSON.
    fn server_result(&self, block: &Block<'_>) -> u64 {
        let Some(content) = block.content else { return 0 };
        let printed: Option<Printed<'_>> = serde_json::from_str(content.get()).ok();
        match printed.filter(|printed| printed.stdout.is_some() || printed.stderr.is_some()) {
            Some(printed) => self.scale.value(printed.stdout) + self.scale.value(printed.stderr),
            None => self.scale.text(content.get()),
        }
    }
}

/// Fields of a tool that are written into its line, or nowhere.
const TOOL_FIELDS: [&str; 7] = [
    "name",
    "description",
    "input_schema",
    "type",
    "strict",
    "defer_loading",
    "eager_input_streaming",
];

/// Returns true if a tool has only fields that are known to be written into its line, or nowhere.
fn has_known_fields(canonical: &str) -> bool {
    let fields: Option<ByKey<&str, &RawValue>> = serde_json::from_str(canonical).ok();
    fields.is_some_and(|fields| fields.keys().all(|field| TOOL_FIELDS.contains(field)))
}

/// Line of a tool.
fn line_of(block: &Block<'_>) -> String {
    tool_line(block.name.as_str().unwrap_or_default(), block.description, block.input_schema)
}

/// Format of an answer.
#[derive(serde::Deserialize)]
struct Format {
    schema: Option<Value>,
}

/// Output of a tool that the service ran.
#[derive(serde::Deserialize)]
struct Printed<'a> {
    #[serde(borrow, default)]
    stdout: Option<&'a RawValue>,
    #[serde(borrow, default)]
    stderr: Option<&'a RawValue>,
}
