//! The tokens of what a line brings: read from the line a second time, for those who ask for them.
//!
//! Texts, results and calls are counted as they are written into a prompt (`read/rendered`); of an attachment, the
//! fields that hold its text. A result is counted as if it were the only one of its message, which its line does not tell.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::content::is_sent;
use super::{EntryKind, NestedContent, ResponseLine, UserMessage};
use crate::base::model::{Models, Tokenizer};
use crate::base::vocabulary::Vocabulary;
use crate::read::input::{Chunk, Flag, List, Shape, Text, only_value};
use crate::read::rendered::{Scale, image_tokens, written};

/// What counts the lines of a file.
#[derive(Clone)]
pub(crate) struct Measure {
    /// The vocabulary of the file's first model.
    pub(crate) vocabulary: Vocabulary,
    scale: Scale,
    tokenizer: Arc<Tokenizer>,
}

impl Measure {
    /// What counts a file that begins so; `None` where its first model has no vocabulary that is known.
    pub(crate) fn of_file(beginning: &Chunk, models: &Models) -> Option<Self> {
        let facts = models.facts(first_model(beginning.bytes())?);
        let vocabulary = facts.vocabulary?;
        Some(Self { vocabulary, scale: Scale::of(vocabulary)?, tokenizer: facts.tokenizer })
    }
}

/// The first model that a file names.
fn first_model(bytes: &[u8]) -> Option<&str> {
    const FIELD: &[u8] = b"\"model\":\"claude-";
    let place = memchr::memmem::find(bytes, FIELD)? + b"\"model\":\"".len();
    let name = bytes.get(place..)?;
    std::str::from_utf8(&name[..memchr::memchr(b'"', name)?]).ok()
}

/// The fields of a line that hold text.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Line<'a> {
    #[serde(borrow)]
    message: Shape<Message<'a>>,
    #[serde(borrow)]
    attachment: Shape<Attachment<'a>>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    data: Shape<Progress<'a>>,
    #[serde(borrow)]
    summary: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Progress<'a> {
    #[serde(borrow)]
    message: Shape<Nested<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Nested<'a> {
    #[serde(borrow)]
    message: Shape<Message<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Block<'a> {
    #[serde(borrow)]
    r#type: Text<'a>,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_use_id: Text<'a>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    is_error: Flag,
    #[serde(borrow)]
    source: Shape<Source<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Source<'a> {
    #[serde(borrow)]
    data: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Attachment<'a> {
    #[serde(borrow)]
    r#type: Text<'a>,
    #[serde(borrow)]
    hook_event: Text<'a>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    snippet: Option<&'a RawValue>,
    #[serde(borrow)]
    prompt: Option<&'a RawValue>,
    #[serde(borrow)]
    added_lines: Option<&'a RawValue>,
    #[serde(borrow)]
    added_blocks: Option<&'a RawValue>,
}

fn content<'a>(message: &Shape<Message<'a>>) -> Option<&'a RawValue> {
    message.0.as_ref().and_then(|message| message.content)
}

/// The blocks of a content that is a list.
fn blocks(content: Option<&RawValue>) -> Vec<Block<'_>> {
    let list = content.filter(|content| content.get().starts_with('['));
    let list: Option<List<Shape<Block<'_>>>> = list.and_then(|list| only_value(list.get()).ok());
    list.unwrap_or_default().0.into_iter().filter_map(|block| block.0).collect()
}

impl Measure {
    /// Counts what a line brings.
    pub(super) fn entry(&self, line: &str, kind: &mut EntryKind) {
        let Ok(Shape(Some(line))) = only_value::<Shape<Line<'_>>>(line) else { return };
        match kind {
            EntryKind::User(user) => self.user(user, content(&line.message)),
            EntryKind::Attachment { size, .. } => {
                let tokens = line.attachment.0.as_ref().map_or(0, |one| self.attachment(one));
                *size = size.counted(tokens);
            }
            EntryKind::LocalCommand { size } => {
                *size = size.counted(self.scale.value(line.content));
            }
            EntryKind::Collapse(collapse) => {
                collapse.size = collapse.size.counted(self.scale.value(line.summary));
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

    /// Counts what a line of a response holds.
    pub(super) fn response(&self, line: &str, response: &mut ResponseLine) {
        let Ok(Shape(Some(line))) = only_value::<Shape<Line<'_>>>(line) else { return };
        self.answer(response, content(&line.message));
    }

    fn user(&self, user: &mut UserMessage, content: Option<&RawValue>) {
        let mut texts = 0;
        let mut results = user.tool_results.iter_mut();
        let mut of_results = 0;
        let mut media = 0;
        if content.is_some_and(|content| content.get().starts_with('"')) {
            texts = self.scale.value(content);
        }
        for block in blocks(content) {
            match block.r#type.as_str() {
                Some("tool_result") => {
                    let tokens = self.result(&block);
                    of_results += tokens;
                    let known = block.tool_use_id.as_str().and_then(|_| results.next());
                    if let Some((_, size)) = known {
                        *size = size.counted(tokens);
                    }
                }
                Some("image") => media += self.image(&block),
                Some("document") => {}
                _ => texts += self.scale.value(block.text),
            }
        }
        user.size = user.size.counted(texts + of_results);
        user.media_tokens = u32::try_from(media).unwrap_or(u32::MAX);
    }

    /// A result as the only one of its message, with the images in it.
    fn result(&self, block: &Block<'_>) -> u64 {
        let Some(content) = block.content else { return self.scale.result("", block.is_error.0) };
        if !content.get().starts_with('[') {
            return self.scale.result(&written(content), block.is_error.0);
        }
        let blocks = blocks(Some(content));
        let texts: String = blocks.iter().filter_map(|block| block.text.map(written)).collect();
        let images = blocks.iter().filter(|block| block.r#type.is("image"));
        let images: u64 = images.map(|block| self.image(block)).sum();
        if texts.is_empty() && images > 0 {
            return self.scale.frames.result + images;
        }
        self.scale.result(&texts, block.is_error.0) + images
    }

    fn image(&self, block: &Block<'_>) -> u64 {
        let data = block.source.0.as_ref().and_then(|source| source.data.as_str());
        image_tokens(data.unwrap_or_default(), &self.tokenizer)
    }

    /// Texts and calls, each call with what parts it from what stands before it. Thinking is sent back
    /// hidden, so its size is not known.
    fn answer(&self, response: &mut ResponseLine, content: Option<&RawValue>) {
        let tokens = |block: Block<'_>| match block.r#type.as_str() {
            Some("text") => self.scale.value(block.text),
            Some("tool_use") => {
                self.scale.further_call(block.name.as_str().unwrap_or_default(), block.input)
            }
            _ => 0,
        };
        let tokens: u64 = blocks(content).into_iter().map(tokens).sum();
        response.counted = u32::try_from(tokens).unwrap_or(u32::MAX);
    }

    /// The fields of an attachment that hold its text, as the client writes them.
    fn attachment(&self, attachment: &Attachment<'_>) -> u64 {
        let name = attachment.r#type.as_str().unwrap_or_default();
        if !is_sent(name, attachment.hook_event.as_str().unwrap_or_default()) {
            return 0;
        }
        let fields = [
            attachment.content,
            attachment.snippet,
            attachment.prompt,
            attachment.added_lines,
            attachment.added_blocks,
        ];
        fields.into_iter().flatten().map(|field| self.scale.text(&lines_of(field))).sum()
    }
}

/// The text of a field: of a list of texts, each is a line.
fn lines_of(field: &RawValue) -> Cow<'_, str> {
    if !field.get().starts_with('[') {
        return written(field);
    }
    let lines: Option<List<Text<'_>>> = only_value(field.get()).ok();
    let lines = lines.unwrap_or_default().0;
    let texts: Vec<&str> = lines.iter().filter_map(Text::as_str).collect();
    if texts.is_empty() { written(field) } else { texts.join("\n").into() }
}
