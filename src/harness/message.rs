//! Messages, and the one of them that carries a marker (Claude Code 2.1.88, as documented): the
//! last one, on its last block, so that the next request can read all of this one.

use serde_json::value::RawValue;

use super::block::{Block, write_text_block};
use super::bundle::Context;
use super::error::BundleError;
use super::marker::Marker;
use super::raw::{Object, is_string, list};
use super::writer::{quoted, write_list, write_object};

/// Where a message stands, for errors.
const PATH: &str = "prompt.messages[…]";

/// Where a part of a message's content stands.
const BLOCK_PATH: &str = "prompt.messages[…].content[…]";

/// A message as it is going to be sent.
#[derive(Debug)]
pub(super) enum Message<'a> {
    /// What the client tells the model about its surroundings; the JSON of its only text.
    UserContext(String),
    /// One that the bundle has.
    Given(GivenMessage<'a>),
}

/// A message that the bundle has.
#[derive(Debug)]
pub(super) struct GivenMessage<'a> {
    raw: &'a RawValue,
    object: Object<'a>,
    /// Nothing where it is missing or of another type, which goes out as it is.
    content: Option<Content<'a>>,
}

#[derive(Debug)]
enum Content<'a> {
    /// The JSON of a string.
    Text(&'a RawValue),
    Blocks(Vec<Block<'a>>),
}

/// Which message carries the marker: the last one, or where the last one is not to be cached, the
/// one before. `None` where that one does not exist or cannot carry it: no other does instead.
pub(super) fn marked(messages: &[Message<'_>], skips_cache_write: bool) -> Option<usize> {
    let index = messages.len().checked_sub(if skips_cache_write { 2 } else { 1 })?;
    messages[index].can_be_marked().then_some(index)
}

impl<'a> Message<'a> {
    pub(super) fn read(raw: &'a RawValue) -> Result<Self, BundleError> {
        let object = Object::read_or_fail(raw, PATH)?;
        let content = object.get("content").and_then(Content::read);
        Ok(Self::Given(GivenMessage { raw, object, content }))
    }

    /// The message that stands in front of all others, where there is anything to tell.
    pub(super) fn of_user_context(context: &Context<'_>) -> Option<Self> {
        if context.is_empty() {
            return None;
        }
        let mut text = String::from("<system-reminder>\n");
        for (name, value) in context {
            text.extend(["# ", name, "\n", value, "\n"]);
        }
        text.push_str("</system-reminder>");
        Some(Self::UserContext(quoted(&text)))
    }

    fn can_be_marked(&self) -> bool {
        match self {
            Self::UserContext(_) => true,
            Self::Given(message) => message.content.as_ref().is_some_and(Content::can_be_marked),
        }
    }

    /// Appends the message with this marker and no other.
    pub(super) fn write(&self, text: &mut String, marker: Option<Marker>) {
        match self {
            Self::UserContext(context) => write_object(text, |message| {
                message.member("role").push_str("\"user\"");
                write_only_text(message.member("content"), context, marker);
            }),
            Self::Given(message) => message.write(text, marker),
        }
    }
}

impl GivenMessage<'_> {
    fn write(&self, text: &mut String, marker: Option<Marker>) {
        let content = self.content.as_ref().filter(|content| content.changes(marker));
        let Some(content) = content else {
            text.push_str(self.raw.get());
            return;
        };
        write_object(text, |message| {
            for member in &self.object.members {
                if member.is("content") {
                    content.write(message.member("content"), marker);
                } else {
                    message.copy(member);
                }
            }
        });
    }
}

impl<'a> Content<'a> {
    fn read(raw: &'a RawValue) -> Option<Self> {
        if is_string(raw) {
            return Some(Self::Text(raw));
        }
        let blocks = list(raw)?.into_iter().map(|block| Block::read(block, BLOCK_PATH)).collect();
        Some(Self::Blocks(blocks))
    }

    fn can_be_marked(&self) -> bool {
        match self {
            Self::Text(_) => true,
            Self::Blocks(blocks) => blocks.last().is_some_and(Block::can_be_marked),
        }
    }

    /// Whether it is sent otherwise than it is written.
    fn changes(&self, marker: Option<Marker>) -> bool {
        let comes_with_marker = match self {
            Self::Text(_) => false,
            Self::Blocks(blocks) => blocks.iter().any(Block::came_with_marker),
        };
        marker.is_some() || comes_with_marker
    }

    fn write(&self, text: &mut String, marker: Option<Marker>) {
        match self {
            Self::Text(content) => write_only_text(text, content.get(), marker),
            Self::Blocks(blocks) => {
                let last = blocks.len().saturating_sub(1);
                write_list(text, blocks.iter().enumerate(), |text, (index, block)| {
                    block.write(text, marker.filter(|_| index == last));
                });
            }
        }
    }
}

/// A content of one text block.
fn write_only_text(text: &mut String, json: &str, marker: Option<Marker>) {
    write_list(text, [json], |text, json| write_text_block(text, json, marker));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::marker::Scope;
    use crate::ttl::Ttl;

    const MARKER: Marker = Marker { ttl: Ttl::FiveMinutes, scope: Scope::Organisation };

    fn message(json: &str) -> Message<'_> {
        Message::read(serde_json::from_str(json).expect("JSON")).expect("a message")
    }

    fn written(json: &str, marker: Option<Marker>) -> String {
        let mut text = String::new();
        message(json).write(&mut text, marker);
        text
    }

    #[test]
    fn only_the_marked_block_changes() {
        let json = r#"{"x": 1.0,"content":[{"a": 1},{ "b":2 }],"role":"user"}"#;
        assert_eq!(written(json, None), json);
        assert_eq!(
            written(json, Some(MARKER)),
            concat!(
                r#"{"x":1.0,"content":[{"a": 1},{"b":2,"cache_control":{"type":"ephemeral"}}],"#,
                r#""role":"user"}"#
            )
        );
    }

    #[test]
    fn markers_that_came_along_are_taken_off() {
        let json = r#"{"content":[{"cache_control":{},"a":1},{"b":2}]}"#;
        assert_eq!(written(json, None), r#"{"content":[{"a":1},{"b":2}]}"#);
    }

    #[test]
    fn a_string_becomes_a_block_as_it_is_written() {
        let json = r#"{"role":"user","content":"\u00e9\ud83d"}"#;
        assert_eq!(written(json, None), json);
        assert_eq!(
            written(json, Some(MARKER)),
            concat!(
                r#"{"role":"user","content":[{"type":"text","text":"\u00e9\ud83d","#,
                r#""cache_control":{"type":"ephemeral"}}]}"#
            )
        );
    }

    #[test]
    fn where_the_marker_cannot_be_there_is_none() {
        let text = || message(r#"{"content":"a"}"#);
        assert_eq!(marked(&[], false), None);
        assert_eq!(marked(&[], true), None);
        assert_eq!(marked(&[text()], true), None);
        assert_eq!(marked(&[text(), text()], true), Some(0));
        for last in [
            "{}",
            r#"{"content":null}"#,
            r#"{"content":[]}"#,
            r#"{"content":{"type":"text"}}"#,
            r#"{"content":[{"type":"text"},7]}"#,
            r#"{"content":[{"type":"text"},{"type":"redacted_thinking"}]}"#,
        ] {
            assert_eq!(marked(&[text(), message(last)], false), None, "{last}");
            assert_eq!(written(last, None), last);
        }
    }

    #[test]
    fn an_empty_user_context_is_no_message() {
        assert!(Message::of_user_context(&vec![]).is_none());
    }
}
