//! Block of a prompt: its kind, its markers, and the fields that its size follows from.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::record::CacheControl;
use crate::base::Refusal;
use crate::read::input::{Flag, Listed, Shape, Text, decoded, lenient, replace_lone_surrogates};

/// Kind of a block, in the distinctions that the rules make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BlockKind {
    /// Definition of a tool.
    Tool,
    /// Call; a run of calls is one position.
    ToolUse,
    /// Result; a run of results is one position.
    ToolResult,
    /// Thinking, open or redacted, which cannot be marked.
    Thinking,
    /// Image or document.
    Media,
    /// Text of the model's.
    Answer,
    /// Anything else, including unknown types.
    #[default]
    Other,
}

impl BlockKind {
    /// Returns true if this block, after one of kind `before`, is at the same position.
    pub fn continues_run(self, before: Self) -> bool {
        matches!(self, Self::ToolUse | Self::ToolResult) && self == before
    }
}

lenient! {
    /// Fields of a block that matter.
    pub(super) struct Block<'a> {
        pub(super) r#type: Text<'a>,
        pub(super) name: Text<'a>,
        cache_control: Shape<CacheControl<'a>>,
        pub(super) defer_loading: Flag,
        pub(super) text: Option<&'a RawValue>,
        pub(super) thinking: Option<&'a RawValue>,
        pub(super) signature: Option<&'a RawValue>,
        pub(super) input: Option<&'a RawValue>,
        pub(super) description: Option<&'a RawValue>,
        pub(super) input_schema: Option<&'a RawValue>,
        pub(super) tool_name: Text<'a>,
        pub(super) id: Text<'a>,
        pub(super) is_error: Flag,
        pub(super) content: Option<&'a RawValue>,
        pub(super) source: Shape<Source<'a>>,
        citations: Shape<Citations>,
        pub(super) tool_use_id: Text<'a>,
        cache_reference: Text<'a>,
        edits: Listed<Shape<Edit<'a>>>,
    }

    /// Deletion inside a `cache_edits` block.
    struct Edit<'a> {
        r#type: Text<'a>,
        cache_reference: Text<'a>,
    }

    pub(super) struct Source<'a> {
        pub(super) r#type: Text<'a>,
        pub(super) data: Text<'a>,
        pub(super) content: Option<&'a RawValue>,
    }

    struct Citations {
        enabled: Flag,
    }
}

/// Block that is a text and nothing else.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlainText<'t> {
    r#type: &'t str,
    #[serde(borrow)]
    text: &'t RawValue,
}

/// Text of a block, from its canonical bytes; `None` if it is, or may be, more than a text.
pub(crate) fn plain_text(canonical: &str) -> Option<String> {
    let block: PlainText<'_> = serde_json::from_str(canonical).ok()?;
    let inside = block.text.get().strip_prefix('"')?.strip_suffix('"')?;
    // Half a surrogate pair is no text.
    let is_text = block.r#type == "text" && replace_lone_surrogates(inside).is_none();
    is_text.then(|| decoded(inside))
}

/// Canonical bytes of a block with a text.
pub(crate) fn text_block(text: &str) -> String {
    format!("{{\"type\":\"text\",\"text\":{}}}", serde_json::Value::from(text))
}

impl<'a> Block<'a> {
    /// Blocks inside a tool result, or inside a document made of blocks, with their JSON.
    pub(super) fn inner(&self) -> Vec<(&'a str, Block<'a>)> {
        let own = self.content.or_else(|| self.source.0.as_ref()?.content);
        let list = own.filter(|content| content.get().starts_with('['));
        let list = list.and_then(|list| serde_json::from_str::<Vec<&RawValue>>(list.get()).ok());
        let block = |raw: &'a RawValue| {
            let shape: Shape<Block<'a>> = serde_json::from_str(raw.get()).unwrap_or_default();
            (raw.get(), shape.0.unwrap_or_default())
        };
        list.unwrap_or_default().into_iter().map(block).collect()
    }

    /// Kind of a block of the system prompt or of a message.
    pub(super) fn kind(&self) -> BlockKind {
        match self.r#type.as_str() {
            Some("tool_use") => BlockKind::ToolUse,
            Some("tool_result") => BlockKind::ToolResult,
            Some("thinking" | "redacted_thinking") => BlockKind::Thinking,
            Some("image" | "document") => BlockKind::Media,
            // A text does not say whose it is: the walk knows the role of its message.
            _ => BlockKind::Other,
        }
    }

    /// Name of a result for edits: its `cache_reference`, or else the id of its call, which
    /// clients take for it.
    pub(super) fn reference(&self) -> Option<&str> {
        let is_result = self.kind() == BlockKind::ToolResult;
        let name = self.cache_reference.as_str().or(self.tool_use_id.as_str());
        name.filter(|_| is_result)
    }

    /// Id of a call, or of the call that a result belongs to.
    pub(super) fn call(&self) -> Option<&str> {
        match self.kind() {
            BlockKind::ToolUse => self.id.as_str(),
            BlockKind::ToolResult => self.tool_use_id.as_str(),
            _ => None,
        }
    }

    /// References that a `cache_edits` block deletes; `None` for any other block.
    pub(super) fn deletions(&self) -> Option<impl Iterator<Item = &str>> {
        if !self.r#type.is("cache_edits") {
            return None;
        }
        let edits = self.edits.0.iter().flatten().filter_map(|edit| edit.0.as_ref());
        let deletes = edits.filter(|edit| edit.r#type.is("delete"));
        Some(deletes.filter_map(|edit| edit.cache_reference.as_str()))
    }

    /// Reason for which the service refuses a marker of the block, or inside it: on an empty text, or inside a result
    /// but not on its last block.
    pub(super) fn refused_marker(&self) -> Option<Refusal> {
        let is_marked = |block: &Self| block.cache_control.0.is_some();
        let is_empty = self.text.is_some_and(|text| text.get() == "\"\"");
        let holds_markers = || self.content.is_some_and(|raw| raw.get().contains("cache_control"));
        let is_inside = self.kind() == BlockKind::ToolResult && holds_markers() && {
            let inner = self.inner();
            inner.iter().rev().skip(1).any(|(_, block)| is_marked(block))
        };
        ((is_empty && is_marked(self)) || is_inside).then_some(Refusal::UnmarkableBlock)
    }

    /// Marker of the block. One on the last block inside a tool result or a document counts for it.
    pub(super) fn marker(&self) -> Option<CacheControl<'a>> {
        if let Some(own) = &self.cache_control.0 {
            return Some(CacheControl::clone(own));
        }
        let holds_blocks = [BlockKind::ToolResult, BlockKind::Media].contains(&self.kind());
        let inner = holds_blocks.then(|| self.inner().pop()).flatten()?;
        inner.1.cache_control.0
    }

    /// Returns true for an image, or a result that holds one.
    pub(super) fn has_image(&self) -> bool {
        let is_image = |block: &Block<'_>| block.r#type.is("image");
        is_image(self)
            || (self.kind() == BlockKind::ToolResult
                && self.inner().iter().any(|(_, inner)| is_image(inner)))
    }

    /// Returns true if it asks for citations, which the service writes into the system prompt.
    pub(super) fn has_citations(&self) -> bool {
        let asks = |block: &Block<'_>| {
            block.citations.0.as_ref().is_some_and(|citations| citations.enabled.0)
        };
        asks(self)
            || (self.kind() == BlockKind::ToolResult
                && self.inner().iter().any(|(_, inner)| asks(inner)))
    }

    /// Data of a media block.
    pub(super) fn source_data(&self) -> &str {
        self.source.0.as_ref().and_then(|source| source.data.as_str()).unwrap_or_default()
    }
}
