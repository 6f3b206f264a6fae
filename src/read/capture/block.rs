//! One block of a prompt: what kind it is, how it is marked, and what its size rests on.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::record::CacheControl;
use super::size::{document_tokens, image_tokens, text_tokens};
use crate::base::model::Tokenizer;
use crate::read::input::{Flag, Listed, Shape, Text};

/// What frames each block. The overheads were measured on real exchanges.
const BLOCK_OVERHEAD: u64 = 3;

/// What frames a call besides its name and input.
const CALL_OVERHEAD: u64 = 30;

/// What frames a result besides its content.
const RESULT_OVERHEAD: u64 = 20;

/// A reference to a deferred tool stands for its definition, whose size is unknown here.
const REFERENCED_TOOL: u64 = 80;

/// Tools that the service defines, by the beginning of their type: documented figures, and for the
/// others one that was measured.
const SERVICE_TOOLS: [(&str, u64); 4] =
    [("bash_", 325), ("text_editor_", 700), ("computer_", 4_500), ("", 130)];

/// Thinking is sent back encrypted: bytes of a signature for a token of the thinking after it.
const SIGNATURE_BYTES_PER_TOKEN: u64 = 4;

/// The kind of a block, as far as the rules tell kinds apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BlockKind {
    /// A tool's definition.
    Tool,
    /// A call; a run of them is one position.
    ToolUse,
    /// A result; a run of them is one position.
    ToolResult,
    /// Thinking, open or redacted, which cannot be marked.
    Thinking,
    /// An image or a document.
    Media,
    /// A text of the model's.
    Answer,
    /// Anything else, unknown types among it.
    #[default]
    Other,
}

impl BlockKind {
    /// Whether this block, after one of kind `before`, is at the same position.
    #[must_use]
    pub fn continues_run(self, before: Self) -> bool {
        matches!(self, Self::ToolUse | Self::ToolResult) && self == before
    }
}

/// The fields of a block that matter.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Block<'a> {
    #[serde(borrow)]
    r#type: Text<'a>,
    #[serde(borrow)]
    pub(super) name: Text<'a>,
    #[serde(borrow)]
    cache_control: Shape<CacheControl<'a>>,
    pub(super) defer_loading: Flag,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    thinking: Option<&'a RawValue>,
    #[serde(borrow)]
    signature: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    source: Shape<Source<'a>>,
    citations: Shape<Citations>,
    #[serde(borrow)]
    tool_use_id: Text<'a>,
    #[serde(borrow)]
    cache_reference: Text<'a>,
    #[serde(borrow)]
    edits: Listed<Shape<Edit<'a>>>,
}

/// A deletion inside a `cache_edits` block.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Edit<'a> {
    #[serde(borrow)]
    r#type: Text<'a>,
    #[serde(borrow)]
    cache_reference: Text<'a>,
}

/// A block that is a text and nothing else.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlainText {
    r#type: String,
    text: String,
}

/// The text of a block, given by its canonical bytes; `None` where it is, or may be, more than a text.
pub(crate) fn plain_text(canonical: &str) -> Option<String> {
    let block: PlainText = serde_json::from_str(canonical).ok()?;
    (block.r#type == "text").then_some(block.text)
}

/// The canonical bytes of a block with a text.
pub(crate) fn text_block(text: &str) -> String {
    format!("{{\"type\":\"text\",\"text\":{}}}", serde_json::Value::from(text))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Source<'a> {
    #[serde(borrow)]
    r#type: Text<'a>,
    #[serde(borrow)]
    data: Text<'a>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Citations {
    enabled: Flag,
}

impl<'a> Block<'a> {
    /// The blocks inside a tool result, with their JSON.
    fn inner(&self) -> Vec<(&'a str, Block<'a>)> {
        let list = self.content.filter(|content| content.get().starts_with('['));
        let list = list.and_then(|list| serde_json::from_str::<Vec<&RawValue>>(list.get()).ok());
        let block = |raw: &'a RawValue| {
            let shape: Shape<Block<'a>> = serde_json::from_str(raw.get()).unwrap_or_default();
            (raw.get(), shape.0.unwrap_or_default())
        };
        list.unwrap_or_default().into_iter().map(block).collect()
    }

    /// The kind of a block of the system prompt or of a message.
    pub(super) fn kind(&self) -> BlockKind {
        match self.r#type.as_str() {
            Some("tool_use") => BlockKind::ToolUse,
            Some("tool_result") => BlockKind::ToolResult,
            Some("thinking" | "redacted_thinking") => BlockKind::Thinking,
            Some("image" | "document") => BlockKind::Media,
            _ => BlockKind::Other,
        }
    }

    /// By what edits refer to it, if it is a result: its `cache_reference`, or the id of its call, which
    /// clients take for it, where it has none.
    pub(super) fn reference(&self) -> Option<&str> {
        let is_result = self.kind() == BlockKind::ToolResult;
        let name = self.cache_reference.as_str().or(self.tool_use_id.as_str());
        name.filter(|_| is_result)
    }

    /// What a `cache_edits` block deletes, by reference; `None` for any other block.
    pub(super) fn deletions(&self) -> Option<impl Iterator<Item = &str>> {
        if !self.r#type.is("cache_edits") {
            return None;
        }
        let edits = self.edits.0.iter().flatten().filter_map(|edit| edit.0.as_ref());
        let deletes = edits.filter(|edit| edit.r#type.is("delete"));
        Some(deletes.filter_map(|edit| edit.cache_reference.as_str()))
    }

    /// Its marker. One on the last block inside a tool result counts for the result.
    pub(super) fn marker(&self) -> Option<CacheControl<'a>> {
        if let Some(own) = &self.cache_control.0 {
            return Some(CacheControl::clone(own));
        }
        let is_result = self.kind() == BlockKind::ToolResult;
        let inner = is_result.then(|| self.inner().pop()).flatten()?;
        inner.1.cache_control.0
    }

    /// Whether it is an image or a result that holds one.
    pub(super) fn has_image(&self) -> bool {
        let is_image = |block: &Block<'_>| block.r#type.is("image");
        is_image(self)
            || (self.kind() == BlockKind::ToolResult
                && self.inner().iter().any(|(_, inner)| is_image(inner)))
    }

    /// Whether it asks for citations, which the service writes into the system prompt.
    pub(super) fn has_citations(&self) -> bool {
        let asks = |block: &Block<'_>| {
            block.citations.0.as_ref().is_some_and(|citations| citations.enabled.0)
        };
        asks(self)
            || (self.kind() == BlockKind::ToolResult
                && self.inner().iter().any(|(_, inner)| asks(inner)))
    }

    /// The tokens of a tool that the service defines by its type; `None` for any other block.
    pub(super) fn service_tool(&self) -> Option<u64> {
        let name = self.r#type.as_str().filter(|name| *name != "custom")?;
        let known = SERVICE_TOOLS.iter().find(|(beginning, _)| name.starts_with(beginning));
        known.map(|(_, tokens)| *tokens)
    }

    /// Its tokens, estimated; `canonical` are its canonical bytes.
    pub(super) fn estimated_tokens(&self, canonical: &str, tokenizer: &Tokenizer) -> u64 {
        BLOCK_OVERHEAD + self.content_tokens(canonical, tokenizer)
    }

    fn content_tokens(&self, canonical: &str, tokenizer: &Tokenizer) -> u64 {
        let text = |raw: Option<&RawValue>| raw.map_or(0, |raw| text_tokens(raw.get(), tokenizer));
        match self.r#type.as_str() {
            Some("text") => text(self.text),
            Some("thinking") => text(self.thinking).max(self.hidden_thinking()),
            Some("tool_use" | "server_tool_use" | "mcp_tool_use") => {
                let name = self.name.as_str().unwrap_or_default();
                CALL_OVERHEAD + text_tokens(name, tokenizer) + text(self.input)
            }
            Some("tool_result") => RESULT_OVERHEAD + self.result_tokens(tokenizer),
            Some("tool_reference") => REFERENCED_TOOL,
            Some("image") => image_tokens(self.source_data(), tokenizer),
            Some("document") => self.document_tokens(tokenizer),
            _ => text_tokens(canonical, tokenizer),
        }
    }

    fn source_data(&self) -> &str {
        self.source.0.as_ref().and_then(|source| source.data.as_str()).unwrap_or_default()
    }

    /// Of a PDF its pages; of a text, or of blocks, what is written there.
    fn document_tokens(&self, tokenizer: &Tokenizer) -> u64 {
        let Some(source) = &self.source.0 else { return 0 };
        let data = source.data.as_str().unwrap_or_default();
        match (source.r#type.as_str(), source.content) {
            (Some("text"), _) => text_tokens(data, tokenizer),
            (_, Some(content)) => text_tokens(content.get(), tokenizer),
            _ => document_tokens(data),
        }
    }

    fn hidden_thinking(&self) -> u64 {
        let bytes = self.signature.map_or(0, |signature| signature.get().len() as u64);
        bytes / SIGNATURE_BYTES_PER_TOKEN
    }

    fn result_tokens(&self, tokenizer: &Tokenizer) -> u64 {
        let inner = self.inner();
        if inner.is_empty() {
            return self.content.map_or(0, |content| text_tokens(content.get(), tokenizer));
        }
        inner.iter().map(|(json, block)| block.content_tokens(json, tokenizer)).sum()
    }
}
