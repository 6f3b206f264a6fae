//! The blocks of a prompt: tools and the parts of a message's content. A marker that a block came
//! with is not the harness's and is taken off.

use serde_json::value::RawValue;

use super::marker::{CACHE_CONTROL, Marker};
use super::raw::Object;
use super::writer::write_object;

/// Kinds of blocks that cannot carry a marker.
const THINKING: [&str; 2] = ["thinking", "redacted_thinking"];

/// A block as the bundle has it.
#[derive(Debug)]
pub(super) struct Block<'a> {
    raw: &'a RawValue,
    /// Nothing where it is of another type, which goes out as it is.
    object: Option<Object<'a>>,
    came_with_marker: bool,
}

impl<'a> Block<'a> {
    /// The path is for errors.
    pub(super) fn read(raw: &'a RawValue, path: &'static str) -> Self {
        let object = Object::read(raw, path);
        let came_with_marker = object
            .as_ref()
            .is_some_and(|object| object.members.iter().any(|member| member.is(CACHE_CONTROL)));
        Self { raw, object, came_with_marker }
    }

    pub(super) fn object(&self) -> Option<&Object<'a>> {
        self.object.as_ref()
    }

    pub(super) fn came_with_marker(&self) -> bool {
        self.came_with_marker
    }

    pub(super) fn can_be_marked(&self) -> bool {
        self.object.as_ref().is_some_and(|block| !is_thinking(block))
    }

    /// Appends the block with this marker and no other.
    pub(super) fn write(&self, text: &mut String, marker: Option<Marker>) {
        match &self.object {
            Some(block) if self.came_with_marker || marker.is_some() => {
                write_marked(text, block, marker);
            }
            _ => text.push_str(self.raw.get()),
        }
    }
}

fn is_thinking(block: &Object<'_>) -> bool {
    let kind = block.string("type").ok().flatten();
    kind.is_some_and(|kind| THINKING.contains(&&*kind))
}

fn write_marked(text: &mut String, block: &Object<'_>, marker: Option<Marker>) {
    write_object(text, |written| {
        for member in block.members.iter().filter(|member| !member.is(CACHE_CONTROL)) {
            written.copy(member);
        }
        if let Some(marker) = marker {
            marker.write(written);
        }
    });
}

/// Appends a text block; the text is JSON already.
pub(super) fn write_text_block(text: &mut String, json: &str, marker: Option<Marker>) {
    write_object(text, |block| {
        block.member("type").push_str("\"text\"");
        block.member("text").push_str(json);
        if let Some(marker) = marker {
            marker.write(block);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::marker::Scope;
    use crate::ttl::Ttl;

    const MARKER: Marker = Marker { ttl: Ttl::OneHour, scope: Scope::Global };

    fn written(block: &str, marker: Option<Marker>) -> String {
        let mut text = String::new();
        let raw: &RawValue = serde_json::from_str(block).expect("JSON");
        Block::read(raw, "it").write(&mut text, marker);
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
