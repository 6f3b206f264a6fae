//! Token counts of a line's contents: read from the line a second time, for commands that need them.
//!
//! Texts, results and calls are counted as they are written into a prompt (`read/rendered`); of an attachment, the
//! fields that hold its text. A result is counted as the only one of its message, as its line does not show others.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::content::is_sent;
use super::{Entry, EntryKind, NestedContent, ResponseLine, UserMessage};
use crate::base::{Models, Tokenizer, Vocabulary};
use crate::read::input::{Chunk, Flag, List, Shape, Text, lenient, only_value};
use crate::read::rendered::{Scale, document_tokens, image_tokens, written};

/// Count of an answer that was not counted in full: larger than any real one.
pub(crate) const NOT_COUNTED: u32 = u32::MAX;

/// Token counter for the lines of a file.
#[derive(Clone)]
pub(crate) struct Measure {
    /// Vocabulary of the file's first model.
    pub(crate) vocabulary: Vocabulary,
    scale: Scale,
    tokenizer: Arc<Tokenizer>,
}

impl Measure {
    /// Counter for a file with this beginning; `None` if its first model has no known vocabulary.
    pub(crate) fn of_file(beginning: &Chunk, models: &Models) -> Option<Self> {
        let facts = models.facts(first_model(beginning.bytes())?);
        let vocabulary = facts.vocabulary?;
        Some(Self { vocabulary, scale: Scale::of(vocabulary)?, tokenizer: facts.tokenizer })
    }
}

/// First of Claude's models that a file names.
fn first_model(bytes: &[u8]) -> Option<&str> {
    const FIELD: &[u8] = b"\"model\"";
    memchr::memmem::find_iter(bytes, FIELD).find_map(|place| {
        let after = bytes[place + FIELD.len()..].trim_ascii_start().strip_prefix(b":")?;
        let name = after.trim_ascii_start().strip_prefix(b"\"")?;
        let name = std::str::from_utf8(&name[..memchr::memchr(b'"', name)?]).ok()?;
        name.contains("claude-").then_some(name)
    })
}

lenient! {
    /// Fields of a line that hold text.
    struct Line<'a> {
        message: Shape<Message<'a>>,
        attachment: Shape<Attachment<'a>>,
        content: Option<&'a RawValue>,
        data: Shape<Progress<'a>>,
        summary: Option<&'a RawValue>,
    }

    struct Progress<'a> {
        message: Shape<Nested<'a>>,
    }

    struct Nested<'a> {
        message: Shape<Message<'a>>,
    }

    struct Message<'a> {
        content: Option<&'a RawValue>,
    }

    struct Block<'a> {
        r#type: Text<'a>,
        text: Option<&'a RawValue>,
        name: Text<'a>,
        input: Option<&'a RawValue>,
        tool_use_id: Text<'a>,
        content: Option<&'a RawValue>,
        is_error: Flag,
        source: Shape<Source<'a>>,
    }

    struct Source<'a> {
        data: Text<'a>,
    }

    #[serde(rename_all = "camelCase")]
    struct Attachment<'a> {
        r#type: Text<'a>,
        hook_event: Text<'a>,
        content: Option<&'a RawValue>,
        snippet: Option<&'a RawValue>,
        prompt: Option<&'a RawValue>,
        added_lines: Option<&'a RawValue>,
        added_blocks: Option<&'a RawValue>,
    }
}

fn content<'a>(message: &Shape<Message<'a>>) -> Option<&'a RawValue> {
    message.0.as_ref().and_then(|message| message.content)
}

/// Blocks of a content that is a list.
fn blocks(content: Option<&RawValue>) -> Vec<Block<'_>> {
    let list = content.filter(|content| content.get().starts_with('['));
    let list: Option<List<Shape<Block<'_>>>> = list.and_then(|list| only_value(list.get()).ok());
    list.unwrap_or_default().0.into_iter().filter_map(|block| block.0).collect()
}

impl Measure {
    /// Tokens of a text.
    pub(super) fn text(&self, text: &str) -> u64 {
        self.scale.text(text)
    }

    /// Counts the contents of a line: those of its entries and of the lines of responses among them.
    pub(super) fn line(&self, line: &str, entries: &mut [Entry], responses: &mut [ResponseLine]) {
        // A line is parsed again only if it holds something to count.
        if responses.is_empty() && !entries.iter().any(|entry| has_content(&entry.kind)) {
            return;
        }
        let Ok(Shape(Some(line))) = only_value::<Shape<Line<'_>>>(line) else { return };
        for entry in entries {
            self.entry(&line, &mut entry.kind);
        }
        for response in responses {
            self.answer(response, content(&line.message));
        }
    }

    fn entry(&self, line: &Line<'_>, kind: &mut EntryKind) {
        match kind {
            EntryKind::User(user) => self.user(user, content(&line.message)),
            EntryKind::Attachment { size, has_role, .. } => {
                let attachment = line.attachment.0.as_ref();
                let tokens = attachment.and_then(|one| self.attachment(one, *has_role));
                *size = size.counted(tokens.unwrap_or(0), false);
            }
            EntryKind::LocalCommand { size } => {
                *size = size.counted(self.scale.value(line.content), true);
            }
            EntryKind::Collapse(collapse) => {
                collapse.size = collapse.size.counted(self.scale.value(line.summary), true);
            }
            EntryKind::Progress(Some(nested)) => {
                let nested_line = line.data.0.as_ref().and_then(|data| data.message.0.as_ref());
                let content = nested_line.and_then(|nested| content(&nested.message));
                match &mut nested.content {
                    NestedContent::User(user) => self.user(user, content),
                    NestedContent::Response(response) => self.answer(response, content),
                }
            }
            _ => {}
        }
    }

    fn user(&self, user: &mut UserMessage, content: Option<&RawValue>) {
        let mut texts = (0, true);
        let mut media = 0;
        let mut results = user.tool_results.iter_mut();
        if content.is_some_and(|content| content.get().starts_with('"')) {
            texts.0 = self.scale.value(content);
        }
        for block in blocks(content) {
            match block.r#type.as_str() {
                Some("tool_result") => {
                    let known = block.tool_use_id.as_str().and_then(|_| results.next());
                    if let Some((_, size)) = known {
                        let (tokens, is_whole) = self.result(&block);
                        *size = size.counted(tokens, is_whole);
                    }
                }
                Some("image" | "document") => media += self.media(&block),
                Some("text") => texts.0 += self.scale.value(block.text),
                _ => texts.1 = false,
            }
        }
        // Content with an unknown block has its bytes alone.
        let (tokens, is_whole) = texts;
        user.size = user.size.counted(if is_whole { tokens } else { 0 }, is_whole);
        user.media_tokens = u32::try_from(media).unwrap_or(u32::MAX);
    }

    /// Tokens of a result as the only one of its message, with the images in it, and true if it is text alone. Zero for
    /// unknown content.
    fn result(&self, block: &Block<'_>) -> (u64, bool) {
        let Some(content) = block.content else {
            return (self.scale.result("", block.is_error.0), true);
        };
        if !content.get().starts_with('[') {
            return (self.scale.result(&written(content), block.is_error.0), true);
        }
        let blocks = blocks(Some(content));
        let is = |block: &Block<'_>, kinds: &[&str]| kinds.iter().any(|kind| block.r#type.is(kind));
        if !blocks.iter().all(|block| is(block, &["text", "image", "document"])) {
            return (0, false);
        }
        let texts: String = blocks.iter().filter_map(|block| block.text.map(written)).collect();
        let media = blocks.iter().filter(|block| !is(block, &["text"]));
        let media: u64 = media.map(|block| self.media(block)).sum();
        if texts.is_empty() && media > 0 {
            return (self.scale.frames.result + media, false);
        }
        (self.scale.result(&texts, block.is_error.0) + media, media == 0)
    }

    /// Tokens of an image by its sides, or of a document by its pages.
    fn media(&self, block: &Block<'_>) -> u64 {
        let data =
            block.source.0.as_ref().and_then(|source| source.data.as_str()).unwrap_or_default();
        if block.r#type.is("document") {
            document_tokens(data)
        } else {
            image_tokens(data, &self.tokenizer)
        }
    }

    /// Counts texts and calls, each call with the line feed before it; nothing if there is anything else.
    /// Thinking is sent back hidden, so its size is unknown.
    fn answer(&self, response: &mut ResponseLine, content: Option<&RawValue>) {
        let tokens = |block: Block<'_>| match block.r#type.as_str() {
            Some("text") => Some(self.scale.value(block.text)),
            Some("tool_use") => {
                let name = block.name.as_str().unwrap_or_default();
                Some(self.scale.further_call(name, block.input))
            }
            _ => None,
        };
        let tokens: Option<u64> = blocks(content).into_iter().map(tokens).sum();
        response.counted =
            tokens.map_or(NOT_COUNTED, |tokens| u32::try_from(tokens).unwrap_or(NOT_COUNTED));
    }

    /// Tokens of an attachment's text fields, as the client writes them; `None` without any, or if
    /// they hold anything else.
    fn attachment(&self, attachment: &Attachment<'_>, has_role: bool) -> Option<u64> {
        let name = attachment.r#type.as_str().unwrap_or_default();
        let hook_event = attachment.hook_event.as_str().unwrap_or_default();
        if !is_sent(name, hook_event, has_role) {
            return None;
        }
        let fields = [
            attachment.content,
            attachment.snippet,
            attachment.prompt,
            attachment.added_lines,
            attachment.added_blocks,
        ];
        // Two bytes are an empty text or list.
        let is_text = |field: &&RawValue| !field.get().starts_with('{') && field.get().len() > 2;
        let texts: Vec<&RawValue> =
            fields.into_iter().flatten().filter(|field| field.get() != "null").collect();
        if texts.is_empty() || !texts.iter().all(is_text) {
            return None;
        }
        Some(texts.into_iter().map(|field| self.scale.text(&lines_of(field))).sum())
    }
}

/// Returns true if an entry has content that is counted.
fn has_content(kind: &EntryKind) -> bool {
    matches!(
        kind,
        EntryKind::User(_)
            | EntryKind::Attachment { .. }
            | EntryKind::LocalCommand { .. }
            | EntryKind::Collapse(_)
            | EntryKind::Progress(Some(_))
    )
}

/// Text of a field: each text of a list is a line.
fn lines_of(field: &RawValue) -> Cow<'_, str> {
    if !field.get().starts_with('[') {
        return written(field);
    }
    let lines: Option<List<Text<'_>>> = only_value(field.get()).ok();
    let lines = lines.unwrap_or_default().0;
    let texts: Vec<&str> = lines.iter().filter_map(Text::as_str).collect();
    if texts.is_empty() { written(field) } else { texts.join("\n").into() }
}
