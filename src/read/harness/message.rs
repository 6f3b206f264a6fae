//! Messages, and the one that carries a marker (Claude Code 2.1.88, as documented): the last one, on its last block,
//! so that the next request can read all of this one.

use serde_json::value::RawValue;

use super::block::{Block, BlockKind, Id};
use super::bundle::Context;
use super::place::BundleError;
use super::raw::{Member, Object, is_string, list, quoted, string, write_list, write_object};
use super::ttl::Marker;
use crate::base::Order as _;

/// Path of a message, for errors.
const PATH: &str = "prompt.messages[…]";

/// Path of a part of a message's content, for errors.
const BLOCK_PATH: &str = "prompt.messages[…].content[…]";

/// Content of a message that would have none. Its text is assumed: transcripts show it in such places.
const FILLER: &str = "\"(no content)\"";

/// Message as it will be sent.
#[derive(Debug)]
pub(super) struct Message<'a> {
    role: Role,
    /// JSON of the bundle; nothing for a message that was added or opened for a change.
    raw: Option<&'a RawValue>,
    /// Members as in the bundle; empty for a message that was added.
    members: Vec<Member<'a>>,
    /// Content; nothing if it is missing or of another type, which goes out as it is.
    content: Option<Content<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    User,
    Assistant,
    Other,
}

#[derive(Debug, Default)]
struct Content<'a> {
    /// JSON of a string, while the content is one.
    string: Option<&'a RawValue>,
    /// Blocks of the content; for a string the text block of the same meaning.
    blocks: Vec<Block<'a>>,
}

/// Index of the message with the marker: the last one, or the one before if the last one is not to be cached.
///
/// `None` if that message does not exist or cannot carry a marker: no other does instead.
pub(super) fn marked(messages: &[Message<'_>], skips_cache_write: bool) -> Option<usize> {
    // The tail of a side branch is never read again, so the marker is one message earlier.
    let index = messages.len().checked_sub(if skips_cache_write { 2 } else { 1 })?;
    messages[index].can_be_marked().then_some(index)
}

impl<'a> Message<'a> {
    pub(super) fn read(raw: &'a RawValue) -> Result<Self, BundleError> {
        let object = Object::read_or_fail(raw, PATH)?;
        let role = match object.string("role").ok().flatten().as_deref() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            _ => Role::Other,
        };
        let content = object.get("content").and_then(Content::read);
        Ok(Self { role, raw: Some(raw), members: object.members, content })
    }

    /// Message in front of all others, if there is any context.
    pub(super) fn of_user_context(context: &Context<'_>) -> Option<Self> {
        if context.is_empty() {
            return None;
        }
        let mut text = String::new();
        for (name, value) in context {
            text.extend(["# ", name, "\n", value, "\n"]);
        }
        Some(Self::of_user(vec![Block::text(quoted(&reminder(&text)), false)]))
    }

    /// User message that is not in the bundle.
    pub(super) fn of_user(blocks: Vec<Block<'a>>) -> Self {
        let content = Some(Content { string: None, blocks });
        Self { role: Role::User, raw: None, members: Vec::new(), content }
    }

    /// Returns true if the message has this role, and content that can be changed.
    pub(super) fn is_of(&self, role: Role) -> bool {
        self.role == role && self.content.is_some()
    }

    /// Appends the content of another message. The results of calls come first.
    pub(super) fn absorb(&mut self, mut other: Self) {
        let mut others = std::mem::take(other.blocks_mut());
        let blocks = self.blocks_mut();
        blocks.append(&mut others);
        blocks.order_by_key(|block| !matches!(block.kind, BlockKind::Result { .. }));
    }

    /// Blocks of the content.
    pub(super) fn blocks(&self) -> &[Block<'a>] {
        self.content.as_ref().map_or(&[], |content| &content.blocks)
    }

    /// Blocks of the content, to be changed. A string becomes its text block.
    pub(super) fn blocks_mut(&mut self) -> &mut Vec<Block<'a>> {
        self.raw = None;
        let content = self.content.get_or_insert_default();
        content.string = None;
        &mut content.blocks
    }

    /// Returns true if the message has only white space or only thinking.
    pub(super) fn says_nothing(&self) -> bool {
        let (blank, thinking) = (BlockKind::Text { is_blank: true }, BlockKind::Thinking);
        let all = |kind: &BlockKind<'_>| self.blocks().iter().all(|block| block.kind == *kind);
        !self.blocks().is_empty() && (all(&blank) || all(&thinking))
    }

    /// Fills a message without content. Returns true if it had none.
    pub(super) fn fill(&mut self) -> bool {
        let is_empty = self.content.is_some() && self.blocks().is_empty();
        if is_empty {
            *self.blocks_mut() = vec![Block::text(FILLER, false)];
        }
        is_empty
    }

    /// Ids of the calls in the message, and the names of their tools.
    pub(super) fn calls(&self) -> impl Iterator<Item = (&Id<'a>, Option<&str>)> {
        self.blocks().iter().filter_map(|block| match &block.kind {
            BlockKind::Call { id, tool } => Some((id, tool.as_deref())),
            _ => None,
        })
    }

    /// Ids of the calls whose results are in the message.
    pub(super) fn results(&self) -> impl Iterator<Item = &Id<'a>> {
        self.blocks().iter().filter_map(|block| match &block.kind {
            BlockKind::Result { call } => Some(call),
            _ => None,
        })
    }

    /// Inserts a block right behind the results, in front of all else.
    pub(super) fn insert_behind_results(&mut self, block: Block<'a>) {
        let blocks = self.blocks_mut();
        let is_result = |block: &Block<'_>| matches!(block.kind, BlockKind::Result { .. });
        let place = blocks.iter().rposition(is_result).map_or(0, |last| last + 1);
        blocks.insert(place, block);
    }

    /// Gives each result its name for deletions.
    pub(super) fn refer_to_results(&mut self) {
        if self.results().next().is_some() {
            for block in self.blocks_mut() {
                block.has_reference = matches!(block.kind, BlockKind::Result { .. });
            }
        }
    }

    fn can_be_marked(&self) -> bool {
        self.blocks().last().is_some_and(Block::can_be_marked)
    }

    /// Puts the marker on the last block.
    pub(super) fn mark(&mut self) {
        if let Some(last) = self.blocks_mut().last_mut() {
            last.is_marked = true;
        }
    }

    /// Appends the message, with `marker` on a marked block, and with no other marker.
    pub(super) fn write(&self, text: &mut String, marker: Option<Marker>) {
        // An untouched message keeps its bytes, white space included.
        if let Some(raw) = self.raw.filter(|_| !self.is_changed()) {
            return text.push_str(raw.get());
        }
        write_object(text, |message| {
            if self.members.is_empty() {
                message.member("role").push_str("\"user\"");
                self.write_content(message.member("content"), marker);
            }
            for member in &self.members {
                if member.is("content") {
                    self.write_content(message.member("content"), marker);
                } else {
                    message.copy(member.key.get(), member.value.get());
                }
            }
        });
    }

    /// Returns true if a block is sent in another form than the bundle's.
    fn is_changed(&self) -> bool {
        let blocks = self.content.as_ref().filter(|content| content.string.is_none());
        blocks.is_some_and(|content| content.blocks.iter().any(Block::is_changed))
    }

    fn write_content(&self, text: &mut String, marker: Option<Marker>) {
        match self.content.as_ref().and_then(|content| content.string) {
            Some(string) => text.push_str(string.get()),
            None => write_list(text, self.blocks(), |text, block| block.write(text, marker)),
        }
    }
}

impl<'a> Content<'a> {
    fn read(raw: &'a RawValue) -> Option<Self> {
        if is_string(raw) {
            let is_blank = string(raw).is_some_and(|text| text.trim().is_empty());
            return Some(Self {
                string: Some(raw),
                blocks: vec![Block::text(raw.get(), is_blank)],
            });
        }
        let blocks = list(raw)?.into_iter().map(|block| Block::read(block, BLOCK_PATH)).collect();
        Some(Self { string: None, blocks })
    }
}

/// Reminder: a text that the client adds for the model, besides a user's words.
pub(super) fn reminder(text: &str) -> String {
    format!("<system-reminder>\n{text}</system-reminder>")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Ttl;
    use crate::read::harness::ttl::Scope;

    const MARKER: Marker = Marker { ttl: Ttl::FiveMinutes, scope: Scope::Organisation };

    fn message(json: &str) -> Message<'_> {
        Message::read(serde_json::from_str(json).expect("JSON")).expect("a message")
    }

    fn written(json: &str, marker: Option<Marker>) -> String {
        let (mut message, mut text) = (message(json), String::new());
        if marker.is_some() {
            message.mark();
        }
        message.write(&mut text, marker);
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
