//! Blocks of a prompt: tools and the parts of a message's content. A marker that a block came with is not the
//! harness's and is removed.
//!
//! Cached microcompaction (Claude Code 2.1.88, as documented): the service deletes old results from the cached
//! prefix on request, and their bytes stay. A deletion is repeated in the same message of every later request, so
//! that these bytes stay the same, too.

use std::borrow::Cow;

use rustc_hash::FxHashSet;
use serde_json::value::RawValue;

use super::message::{Message, Role};
use super::raw::{Member, Object, ObjectWriter, list, quoted, write_list, write_object};
use super::tool::COMPACTABLE_TOOLS;
use super::ttl::{CACHE_CONTROL, Marker};

/// Key under which a result names itself for deletions.
const CACHE_REFERENCE: &str = "cache_reference";

/// Block as it will be sent.
#[derive(Debug)]
pub(super) struct Block<'a> {
    pub(super) kind: BlockKind<'a>,
    form: Form<'a>,
    /// True if the block carries the marker of the messages.
    pub(super) is_marked: bool,
    /// True if the block names itself for deletions.
    pub(super) has_reference: bool,
}

/// Properties of a block that the rules use.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BlockKind<'a> {
    /// Text, of white space or more.
    Text {
        is_blank: bool,
    },
    Thinking,
    /// Call, with its id and the name of its tool.
    Call {
        id: Id<'a>,
        tool: Option<Cow<'a, str>>,
    },
    /// Result of a call.
    Result {
        call: Id<'a>,
    },
    /// Image or document.
    Media,
    /// Instruction file of a folder further down, as the client found it.
    NestedMemory,
    Other,
}

/// Id as written, and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Id<'a> {
    json: &'a str,
    pub(super) text: Cow<'a, str>,
}

#[derive(Debug)]
enum Form<'a> {
    /// Block of the bundle. Without an object it is of another type and goes out as it is.
    Given { raw: &'a RawValue, object: Option<Object<'a>>, came_with_marker: bool },
    /// Keys and values, as JSON.
    Made(Vec<(Cow<'a, str>, Cow<'a, str>)>),
}

impl<'a> Block<'a> {
    /// Reads a block; `path` is for errors.
    pub(super) fn read(raw: &'a RawValue, path: &'static str) -> Self {
        let object = Object::read(raw, path);
        let came_with_marker = object
            .as_ref()
            .is_some_and(|object| object.members.iter().any(|member| member.is(CACHE_CONTROL)));
        let kind = object.as_ref().map_or(BlockKind::Other, BlockKind::of);
        Self::new(kind, Form::Given { raw, object, came_with_marker })
    }

    /// Text block; the text is already JSON.
    pub(super) fn text(json: impl Into<Cow<'a, str>>, is_blank: bool) -> Self {
        Self::made(
            BlockKind::Text { is_blank },
            [("type", "\"text\"".into()), ("text", json.into())],
        )
    }

    /// Error as the result of a call that has none.
    pub(super) fn missing_result(call: &Id<'a>, text: &str) -> Self {
        let members = [
            ("type", "\"tool_result\"".into()),
            ("tool_use_id", call.json.into()),
            ("content", quoted(text).into()),
            ("is_error", "true".into()),
        ];
        Self::made(BlockKind::Result { call: call.clone() }, members)
    }

    /// Block that asks the service to delete results from the cached prefix, by their references.
    pub(super) fn cache_edits(references: &[String]) -> Self {
        let mut edits = String::new();
        write_list(&mut edits, references, |text, reference| {
            write_object(text, |edit| {
                edit.member("type").push_str("\"delete\"");
                edit.member(CACHE_REFERENCE).push_str(&quoted(reference));
            });
        });
        let members = [("type", "\"cache_edits\"".into()), ("edits", edits.into())];
        Self::made(BlockKind::Other, members)
    }

    fn made<const N: usize>(kind: BlockKind<'a>, members: [(&str, Cow<'a, str>); N]) -> Self {
        let members = members.into_iter().map(|(key, value)| (quoted(key).into(), value));
        Self::new(kind, Form::Made(members.collect()))
    }

    fn new(kind: BlockKind<'a>, form: Form<'a>) -> Self {
        Self { kind, form, is_marked: false, has_reference: false }
    }

    pub(super) fn object(&self) -> Option<&Object<'a>> {
        match &self.form {
            Form::Given { object, .. } => object.as_ref(),
            Form::Made(_) => None,
        }
    }

    /// Returns true if the block is sent in another form than the bundle's.
    pub(super) fn is_changed(&self) -> bool {
        let is_as_given = matches!(self.form, Form::Given { came_with_marker: false, .. });
        !is_as_given || self.is_marked || self.has_reference
    }

    pub(super) fn can_be_marked(&self) -> bool {
        let is_object = match &self.form {
            Form::Given { object, .. } => object.is_some(),
            Form::Made(_) => true,
        };
        // The service accepts no marker on thinking.
        is_object && self.kind != BlockKind::Thinking
    }

    /// Parts of a result whose content is a list.
    pub(super) fn parts(&self) -> Option<Vec<Block<'a>>> {
        let content = self.object()?.get("content")?;
        Some(list(content)?.into_iter().map(|part| Block::read(part, "")).collect())
    }

    /// Replaces the parts of a result.
    pub(super) fn set_parts(&mut self, parts: &[Block<'_>]) {
        let Some(object) = self.object() else { return };
        let mut content = String::new();
        write_list(&mut content, parts, |text, part| part.write(text, None));
        let value = |member: &Member<'a>| {
            let is_content = member.is("content");
            if is_content { content.clone().into() } else { member.value.get().into() }
        };
        // A marker that the result came with goes, as everywhere.
        let members = object.members.iter().filter(|member| !member.is(CACHE_CONTROL));
        let members = members.map(|member| (member.key.get().into(), value(member))).collect();
        self.form = Form::Made(members);
    }

    /// Appends the block, with `marker` if it is the marked one, and with no other marker.
    pub(super) fn write(&self, text: &mut String, marker: Option<Marker>) {
        let marker = marker.filter(|_| self.is_marked);
        match &self.form {
            Form::Given { raw, object, came_with_marker } => match object {
                Some(object) if *came_with_marker || self.has_reference || marker.is_some() => {
                    let members = object.members.iter();
                    let members = members.filter(|member| !self.is_replaced(member));
                    let members = members.map(|member| (member.key.get(), member.value.get()));
                    self.write_members(text, members, marker);
                }
                _ => text.push_str(raw.get()),
            },
            Form::Made(members) => {
                let members = members.iter().map(|(key, value)| (&**key, &**value));
                self.write_members(text, members, marker);
            }
        }
    }

    fn is_replaced(&self, member: &Member<'_>) -> bool {
        member.is(CACHE_CONTROL) || self.has_reference && member.is(CACHE_REFERENCE)
    }

    fn write_members<'m>(
        &self,
        text: &mut String,
        members: impl Iterator<Item = (&'m str, &'m str)>,
        marker: Option<Marker>,
    ) {
        write_object(text, |block| {
            members.for_each(|(key, value)| block.copy(key, value));
            self.write_reference(block);
            if let Some(marker) = marker {
                marker.write(block);
            }
        });
    }

    fn write_reference(&self, block: &mut ObjectWriter<'_>) {
        if let BlockKind::Result { call } = &self.kind
            && self.has_reference
        {
            block.member(CACHE_REFERENCE).push_str(call.json);
        }
    }
}

impl<'a> BlockKind<'a> {
    fn of(block: &Object<'a>) -> Self {
        let kind = block.string("type").ok().flatten().unwrap_or_default();
        let known = match &*kind {
            "text" => block.string("text").ok().flatten().map(|text| Self::of_text(&text)),
            "thinking" | "redacted_thinking" => Some(Self::Thinking),
            "tool_use" => Id::read(block, "id")
                .map(|id| Self::Call { id, tool: block.string("name").ok().flatten() }),
            "tool_result" => Id::read(block, "tool_use_id").map(|call| Self::Result { call }),
            "image" | "document" => Some(Self::Media),
            "nested_memory" => Some(Self::NestedMemory),
            _ => None,
        };
        known.unwrap_or(Self::Other)
    }

    pub(super) fn of_text(text: &str) -> Self {
        Self::Text { is_blank: text.trim().is_empty() }
    }
}

impl<'a> Id<'a> {
    fn read(block: &Object<'a>, name: &str) -> Option<Self> {
        let text = block.string(name).ok().flatten()?;
        Some(Self { json: block.get(name)?.get(), text })
    }
}

/// Results to delete, as a bundle names them.
#[derive(Debug)]
pub(super) enum Deletion {
    /// All but the newest `keep_recent`, once there are more than `trigger` results of tools that can be called again.
    Beyond { trigger: usize, keep_recent: usize },
    /// Results of these calls.
    Of(Vec<String>),
}

/// Deletions that a session has asked the service for.
#[derive(Debug, Default)]
pub(super) struct CacheEdits {
    /// Latched: once on, it stays on.
    is_on: bool,
    pinned: Vec<Pinned>,
}

/// Deletions, and the index of the message that holds them in every request.
#[derive(Debug)]
struct Pinned {
    message: usize,
    references: Vec<String>,
}

impl CacheEdits {
    /// Puts the deletions of earlier requests and of this one into the messages, and gives the results in front of the
    /// marked message their references.
    pub(super) fn apply(
        &mut self,
        messages: &mut [Message<'_>],
        marked: Option<usize>,
        deletion: Option<&Deletion>,
    ) {
        self.is_on |= deletion.is_some();
        if !self.is_on {
            return;
        }
        let references = deletion.map_or_else(Vec::new, |deletion| self.chosen(messages, deletion));
        let last = messages.iter().rposition(|message| message.is_of(Role::User));
        if let Some(message) = last.filter(|_| !references.is_empty()) {
            self.pinned.push(Pinned { message, references });
        }
        // At the same index in every later request, so that the bytes of the prefix stay the same.
        for Pinned { message, references } in &self.pinned {
            let message = messages.get_mut(*message).filter(|message| message.is_of(Role::User));
            if let Some(message) = message {
                message.insert_behind_results(Block::cache_edits(references));
            }
        }
        for message in &mut messages[..marked.unwrap_or(0)] {
            message.refer_to_results();
        }
    }

    /// Results to delete now; none is deleted twice.
    fn chosen(&self, messages: &[Message<'_>], deletion: &Deletion) -> Vec<String> {
        let pinned = self.pinned.iter().flat_map(|pinned| &pinned.references);
        let mut deleted: FxHashSet<&str> = pinned.map(String::as_str).collect();
        match deletion {
            Deletion::Of(calls) => {
                let calls = calls.iter().filter(|call| deleted.insert(call));
                calls.cloned().collect()
            }
            Deletion::Beyond { trigger, keep_recent } => {
                let mut active = compactable_results(messages);
                active.retain(|call| !deleted.contains(call.as_str()));
                let kept = if active.len() > *trigger { *keep_recent } else { active.len() };
                active.truncate(active.len().saturating_sub(kept));
                active
            }
        }
    }
}

/// Calls whose results a microcompaction may clear, the oldest first.
fn compactable_results(messages: &[Message<'_>]) -> Vec<String> {
    let calls = messages.iter().flat_map(Message::calls);
    let compactable =
        calls.filter(|(_, tool)| tool.is_some_and(|tool| COMPACTABLE_TOOLS.contains(&tool)));
    let compactable: FxHashSet<&str> = compactable.map(|(id, _)| &*id.text).collect();
    let results = messages.iter().flat_map(Message::results);
    let results = results.filter(|call| compactable.contains(&*call.text));
    results.map(|call| call.text.clone().into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Ttl;
    use crate::read::harness::ttl::Scope;

    const MARKER: Marker = Marker { ttl: Ttl::OneHour, scope: Scope::Global };

    fn written(block: &str, marker: Option<Marker>) -> String {
        let mut text = String::new();
        let raw: &RawValue = serde_json::from_str(block).expect("JSON");
        let mut block = Block::read(raw, "it");
        block.is_marked = true;
        block.write(&mut text, marker);
        text
    }

    #[test]
    fn a_block_without_markers_is_not_touched() {
        let block = r#"{ "type":"text" , "n":1.50,"in":{"cache_control":{}} }"#;
        assert_eq!(written(block, None), block);
        assert_eq!(written("[1, 2]", Some(MARKER)), "[1, 2]");
    }

    #[test]
    fn the_marker_is_the_last_key_and_the_only_one() {
        let block = r#"{"cache_control":{"type":"x"},"b":1.50,"cache\u005fcontrol":null,"a":"é"}"#;
        assert_eq!(written(block, None), r#"{"b":1.50,"a":"é"}"#);
        assert_eq!(
            written(block, Some(MARKER)),
            r#"{"b":1.50,"a":"é","cache_control":{"type":"ephemeral","ttl":"1h","scope":"global"}}"#
        );
        let only = Marker { ttl: Ttl::FiveMinutes, scope: Scope::Organisation };
        assert_eq!(written("{}", Some(only)), r#"{"cache_control":{"type":"ephemeral"}}"#);
    }

    #[test]
    fn thinking_is_never_marked() {
        for (block, can_be_marked) in [
            (r#"{"type":"text"}"#, true),
            (r#"{"type":"thinking"}"#, false),
            (r#"{"type":"redacted_thinking"}"#, false),
            (r#"{"type":7}"#, true),
            ("{}", true),
            ("\"text\"", false),
        ] {
            let raw: &RawValue = serde_json::from_str(block).expect("JSON");
            assert_eq!(Block::read(raw, "it").can_be_marked(), can_be_marked, "{block}");
        }
    }
}
