//! Messages, and the one of them that carries a marker (Claude Code 2.1.88, as documented): the
//! last one, on its last block, so that the next request can read all of this one.

use serde_json::value::RawValue;

use super::block::{Block, BlockKind, Id};
use super::bundle::Context;
use super::place::BundleError;
use super::raw::{Member, Object, is_string, list, quoted, string, write_list, write_object};
use super::ttl::Marker;
use crate::base::order::Order as _;

/// Where a message stands, for errors.
const PATH: &str = "prompt.messages[…]";

/// Where a part of a message's content stands.
const BLOCK_PATH: &str = "prompt.messages[…].content[…]";

/// What stands where a message would have no content. Its text is assumed: it is what transcripts
/// show in such places.
const FILLER: &str = "\"(no content)\"";

/// A message as it is going to be sent.
#[derive(Debug)]
pub(super) struct Message<'a> {
    role: Role,
    /// Nothing where the bundle does not have it, or has it in parts.
    raw: Option<&'a RawValue>,
    /// As the bundle has them; none where it does not.
    members: Vec<Member<'a>>,
    /// Nothing where it is missing or of another type, which goes out as it is.
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
    /// The JSON of a string, where the content is still one.
    string: Option<&'a RawValue>,
    /// Of a string, the text block that it stands for.
    blocks: Vec<Block<'a>>,
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
        let role = match object.string("role").ok().flatten().as_deref() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            _ => Role::Other,
        };
        let content = object.get("content").and_then(Content::read);
        Ok(Self { role, raw: Some(raw), members: object.members, content })
    }

    /// The message that stands in front of all others, where there is anything to tell.
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

    /// A user message that the bundle does not have.
    pub(super) fn of_user(blocks: Vec<Block<'a>>) -> Self {
        let content = Some(Content { string: None, blocks });
        Self { role: Role::User, raw: None, members: Vec::new(), content }
    }

    /// Whether it has this role, and content that can be worked on.
    pub(super) fn is_of(&self, role: Role) -> bool {
        self.role == role && self.content.is_some()
    }

    /// Adds the content of another message after its own. The results of calls come first.
    pub(super) fn absorb(&mut self, mut other: Self) {
        let mut others = std::mem::take(other.blocks_mut());
        let blocks = self.blocks_mut();
        blocks.append(&mut others);
        blocks.order_by_key(|block| !matches!(block.kind, BlockKind::Result { .. }));
    }

    /// The blocks of the content.
    pub(super) fn blocks(&self) -> &[Block<'a>] {
        self.content.as_ref().map_or(&[], |content| &content.blocks)
    }

    /// The blocks of the content, to be changed. A string becomes the text block it stands for.
    pub(super) fn blocks_mut(&mut self) -> &mut Vec<Block<'a>> {
        self.raw = None;
        let content = self.content.get_or_insert_default();
        content.string = None;
        &mut content.blocks
    }

    /// Whether it says nothing: text of white space alone, or thinking alone.
    pub(super) fn says_nothing(&self) -> bool {
        let (blank, thinking) = (BlockKind::Text { is_blank: true }, BlockKind::Thinking);
        let all = |kind: &BlockKind<'_>| self.blocks().iter().all(|block| block.kind == *kind);
        !self.blocks().is_empty() && (all(&blank) || all(&thinking))
    }

    /// Puts a filler where there is no content. Says whether there was none.
    pub(super) fn fill(&mut self) -> bool {
        let is_empty = self.content.is_some() && self.blocks().is_empty();
        if is_empty {
            *self.blocks_mut() = vec![Block::text(FILLER, false)];
        }
        is_empty
    }

    /// The ids of the calls in it, and the names of their tools.
    pub(super) fn calls(&self) -> impl Iterator<Item = (&Id<'a>, Option<&str>)> {
        self.blocks().iter().filter_map(|block| match &block.kind {
            BlockKind::Call { id, tool } => Some((id, tool.as_deref())),
            _ => None,
        })
    }

    /// The ids of the calls whose results stand in it.
    pub(super) fn results(&self) -> impl Iterator<Item = &Id<'a>> {
        self.blocks().iter().filter_map(|block| match &block.kind {
            BlockKind::Result { call } => Some(call),
            _ => None,
        })
    }

    /// Puts a block right after the results, in front of all else.
    pub(super) fn insert_behind_results(&mut self, block: Block<'a>) {
        let blocks = self.blocks_mut();
        let is_result = |block: &Block<'_>| matches!(block.kind, BlockKind::Result { .. });
        let place = blocks.iter().rposition(is_result).map_or(0, |last| last + 1);
        blocks.insert(place, block);
    }

    /// Has each result say by what name it can be deleted.
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

    /// Has the last block carry the marker.
    pub(super) fn mark(&mut self) {
        if let Some(last) = self.blocks_mut().last_mut() {
            last.is_marked = true;
        }
    }

    /// Appends the message, with this marker where a block of it is marked, and with no other.
    pub(super) fn write(&self, text: &mut String, marker: Option<Marker>) {
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

    /// Whether a block of it is sent otherwise than the bundle has it.
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

/// A text as the client tells it to the model beside what a user says.
pub(super) fn reminder(text: &str) -> String {
    format!("<system-reminder>\n{text}</system-reminder>")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ttl::Ttl;
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
