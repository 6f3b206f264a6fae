//! Scribe of a pass: collects the words of each piece of a line, or replaces the piece.

use std::ops::Range;

use super::encoded::edit_encoded;
use super::escapes::edit_escaped;
use super::fields::{ANSWER, METADATA, RESPONSE};
use super::literal::{decode, edit_literal};
use super::mapping::{Mapping, learn};
use super::media::replace_media;
use super::phrases::{notice_phrases, spoken_phrases, system_phrases};
use super::shape::{Field, Shape};
use super::vocabulary::{
    USER_PARTS, counter_parts, is_address_part, is_beta, is_figure, is_model, is_moment,
    is_tool_name, is_version, is_word, known_event, known_source, model_ranges, model_start,
    route_names, time_in_id,
};
use super::walk::walk;
use super::words::{Named, Words, replace_identifier};
use crate::read::agent::Vendor;

/// Treatment of tool names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolNames {
    /// Tool names stay. They show what a harness can do, and figures by tool are listed under them.
    #[default]
    Keep,
    /// Only equality stays, and the prefix of tools that an MCP server provides.
    Hash,
}

/// Prefix of the tools of MCP servers.
const MCP: &str = "mcp__";

/// The letters of `true`, `false` and `null`, and the exponent sign.
const LETTERS: &[u8] = b"truefalsnE";

/// Id that logs write for a missing one.
const NO_ID: &[u8] = b"00000000-0000-0000-0000-000000000000";

/// Limit on replacing a text again if its replacement is a known word by chance.
const MOST_STEPS: usize = 64;

/// Mapping and settings that replace the pieces of lines.
pub(super) struct Replacer {
    pub(super) mapping: Mapping,
    pub(super) named: Named,
    pub(super) tool_names: ToolNames,
}

/// Handler of the pieces of lines, by pass.
pub(super) enum Scribe<'s> {
    /// The first pass collects words.
    Learning(&'s mut Words, &'s mut Scratch),
    /// The second pass replaces, and counts strings.
    Replacing(&'s Replacer, &'s mut Scratch),
}

/// Buffer for decoded strings, and the number of strings.
#[derive(Default)]
pub(super) struct Scratch {
    decoded: Vec<u8>,
    pub(super) strings: u64,
}

impl Scribe<'_> {
    /// Handles a field name and returns the kind of its value. Unknown names are replaced.
    pub(super) fn name(&mut self, literal: &mut [u8], shape: &Shape) -> Field {
        let known = decoded_text(literal).and_then(|name| shape.field(&name));
        if let Some(field) = known {
            return field;
        }
        // A replacement that is a known name by chance would change the meaning of the value.
        let is_known = |name: &str| shape.field(name).is_some();
        self.edit(literal, |replacer, name| match shape.names_are {
            Field::Free => replacer.text_until(name, &[], is_known),
            held => replacer.value(name, held),
        });
        shape.others
    }

    /// Handles a string value.
    pub(super) fn string(&mut self, literal: &mut [u8], field: Field) {
        match field {
            Field::Events => self.inside(literal, |scribe, text| events(scribe, text, &RESPONSE)),
            Field::Answer => self.inside(literal, answer),
            Field::User => self.inside(literal, user),
            Field::Json(shape) => self.inside(literal, |scribe, text| json(scribe, text, shape)),
            _ => self.edit(literal, |replacer, text| replacer.value(text, field)),
        }
    }

    /// Handles a part of a text that is not a JSON literal.
    pub(super) fn plain(&mut self, text: &mut [u8], field: Field) {
        match field {
            Field::User => user(self, text),
            _ => self.edit_plain(text, |replacer, text| replacer.value(text, field)),
        }
    }

    /// Handles a number that is replaced.
    pub(super) fn number(&mut self, number: &mut [u8]) {
        if let Self::Replacing(replacer, _) = self {
            replacer.mapping.number(number);
        }
    }

    /// Handles text outside of strings. Its replacement must neither begin like a JSON literal, nor
    /// continue one that begins before it, nor be an exponent.
    pub(super) fn bare(&mut self, text: &mut [u8]) {
        self.edit_plain(text, |replacer, text| {
            replacer.mapping.text(text);
            if let Some(first) = text.first_mut().filter(|first| LETTERS.contains(first)) {
                *first = b'x';
            }
        });
    }

    fn edit(&mut self, literal: &mut [u8], replace: impl FnOnce(&Replacer, &mut [u8])) {
        match self {
            Self::Learning(words, scratch) => {
                decode(literal, &mut scratch.decoded);
                learn(words, &scratch.decoded);
            }
            Self::Replacing(replacer, scratch) => {
                scratch.strings += 1;
                edit_literal(literal, &mut scratch.decoded, |text| replace(replacer, text));
            }
        }
    }

    fn edit_plain(&mut self, text: &mut [u8], replace: impl FnOnce(&Replacer, &mut [u8])) {
        match self {
            Self::Learning(words, _) => learn(words, text),
            Self::Replacing(replacer, _) => replace(replacer, text),
        }
    }

    /// Handles a string whose text has a format of its own.
    fn inside(&mut self, literal: &mut [u8], each: impl FnOnce(&mut Scribe<'_>, &mut [u8])) {
        // Not the scratch buffer: `each` needs that one for the strings inside.
        let mut decoded = Vec::new();
        edit_literal(literal, &mut decoded, |text| each(self, text));
    }
}

/// Decodes a short string, such as a name.
pub(super) fn decoded_text(literal: &[u8]) -> Option<String> {
    let mut decoded = Vec::new();
    decode(literal, &mut decoded);
    String::from_utf8(decoded).ok()
}

/// Handles the events of a streamed answer: lines, some with JSON.
fn events(scribe: &mut Scribe<'_>, text: &mut [u8], shape: &'static Shape) {
    for line in text.split_mut(|byte| *byte == b'\n') {
        if line.starts_with(b"data:") {
            walk(&mut line[5..], Field::Shaped(shape), scribe);
        } else if let Some(value) = line.strip_prefix(b"event:".as_slice()).map(<[u8]>::len) {
            let start = line.len() - value;
            let rest = &mut line[start..];
            let from = rest.iter().position(|byte| *byte != b' ').unwrap_or(rest.len());
            let end = rest.iter().rposition(|byte| *byte != b'\r').map_or(from, |last| last + 1);
            let name = &mut rest[from..end.max(from)];
            scribe.edit_plain(name, |replacer, name| replacer.value(name, Field::Word));
        } else {
            scribe.edit_plain(line, |replacer, line| replacer.mapping.text(line));
        }
    }
}

/// Handles a text that may be a JSON object, also after decoding.
fn json(scribe: &mut Scribe<'_>, text: &mut [u8], shape: &'static Shape) {
    if is_object(text) || is_list(text) {
        return walk(text, Field::Shaped(shape), scribe);
    }
    edit_encoded(text, |text, is_encoded| {
        if is_encoded && is_object(text) {
            return walk(text, Field::Shaped(shape), scribe);
        }
        scribe.edit_plain(text, |replacer, text| replacer.mapping.text(text));
    });
}

/// Handles an answer: an object, or a stream of events.
fn answer(scribe: &mut Scribe<'_>, text: &mut [u8]) {
    edit_encoded(text, |text, _| {
        if is_object(text) {
            walk(text, Field::Shaped(&ANSWER), scribe);
        } else {
            events(scribe, text, &ANSWER);
        }
    });
}

/// Returns true for a list of objects.
fn is_list(text: &[u8]) -> bool {
    text.trim_ascii_start().strip_prefix(b"[").is_some_and(is_object)
}

fn is_object(text: &[u8]) -> bool {
    // Some bodies begin with a byte order mark.
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text).trim_ascii_start().starts_with(b"{")
}

/// Handles `metadata.user_id`: an object, or identifiers with words between them.
fn user(scribe: &mut Scribe<'_>, text: &mut [u8]) {
    if text.trim_ascii_start().starts_with(b"{") {
        return walk(text, Field::Shaped(&METADATA), scribe);
    }
    // Claude Code joins the user, the account and the session with underscores.
    for part in text.split_mut(|byte| *byte == b'_') {
        scribe.edit_plain(part, |replacer, part| {
            if !std::str::from_utf8(part).is_ok_and(|part| USER_PARTS.contains(&part)) {
                replacer.identifier(part);
            }
        });
    }
}

impl Replacer {
    fn identifier(&self, id: &mut [u8]) {
        if id.len() == NO_ID.len() && id == NO_ID {
            return;
        }
        replace_identifier(&self.mapping, &self.named, id);
    }

    /// Replaces a text outside of the ranges in `kept`, until the result is not mistaken for a known one.
    fn text_until(
        &self,
        text: &mut [u8],
        kept: &[Range<usize>],
        is_mistaken: impl Fn(&str) -> bool,
    ) {
        for _ in 0..MOST_STEPS {
            self.mapping.text_but(text, kept);
            if !std::str::from_utf8(text).is_ok_and(&is_mistaken) {
                return;
            }
        }
    }

    /// Replaces a text after its known beginning until no more of it is known.
    fn text_behind(&self, text: &mut [u8], known: fn(&str) -> usize) {
        let kept = std::str::from_utf8(text).map_or(0, known);
        self.text_until(text, std::slice::from_ref(&(0..kept)), |image| known(image) != kept);
    }

    /// Replaces a decoded string value, except for the parts that may stay.
    fn value(&self, bytes: &mut [u8], field: Field) {
        let Ok(text) = std::str::from_utf8(bytes) else { return self.mapping.text(bytes) };
        let kept = match field {
            Field::Spoken | Field::Content => spoken_phrases(text),
            Field::System => system_phrases(text),
            Field::Notice => notice_phrases(text),
            Field::Route => route_names(text),
            Field::Counter => counter_parts(text),
            _ => return self.whole_value(bytes, field),
        };
        self.mapping.text_but(bytes, &kept);
    }

    fn whole_value(&self, bytes: &mut [u8], field: Field) {
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        match field {
            Field::Version if is_version(text) => {}
            Field::Moment if is_moment(text) => {}
            Field::Figure if is_figure(text) => {}
            Field::Figure => self.text_until(bytes, &[], is_figure),
            Field::Word if is_word(text) => {}
            Field::Word => self.text_until(bytes, &[], is_word),
            Field::Identifier => self.identifier(bytes),
            Field::Timed => {
                let kept = time_in_id(text);
                self.mapping.text_behind(bytes, kept);
            }
            Field::Tool => self.tool(bytes),
            Field::Model => self.model(bytes),
            Field::Path => self.parts(bytes, |byte| matches!(byte, b'/' | b'\\'), |_| false),
            Field::Url => edit_escaped(bytes, |address| {
                self.parts(address, |byte| b"/:?#&=.".contains(&byte), is_address_part);
            }),
            Field::Betas => self.parts(bytes, |byte| b", ".contains(&byte), is_beta),
            Field::Hook => self.hook(bytes),
            Field::QuerySource => self.text_behind(bytes, known_source),
            Field::Event => self.text_behind(bytes, known_event),
            Field::Media => replace_media(&self.mapping, bytes),
            _ => self.mapping.text(bytes),
        }
    }

    /// Replaces the name of a tool, and the rule in parentheses after it in lists of allowed tools.
    fn tool(&self, name: &mut [u8]) {
        let end = name.iter().position(|byte| *byte == b'(').unwrap_or(name.len());
        let (name, rule) = name.split_at_mut(end);
        self.mapping.text(rule);
        let text = std::str::from_utf8(name).unwrap_or_default();
        let front = if text.starts_with(MCP) { MCP.len() } else { 0 };
        if self.tool_names == ToolNames::Hash || !is_tool_name(text) {
            self.mapping.text_behind(name, front);
        }
    }

    /// Replaces the front and the unknown words of a model's name. The vendor of a name never changes.
    fn model(&self, name: &mut [u8]) {
        let text = std::str::from_utf8(name).unwrap_or_default();
        let start = model_start(text);
        let vendor = Vendor::of(text);
        let ranges = model_ranges(&text[start..]);
        let is_known = is_model(&text[start..]);
        let (front, name) = name.split_at_mut(start);
        let routes = std::str::from_utf8(front).map(route_names).unwrap_or_default();
        self.mapping.text_but(front, &routes);
        if is_known {
            return;
        }
        self.text_until(name, &ranges, |image| is_model(image) || Vendor::of(image) != vendor);
    }

    /// Replaces the name of a hook: an event, and the tool or reason that it ran for.
    fn hook(&self, name: &mut [u8]) {
        for (place, part) in name.split_mut(|byte| *byte == b':').enumerate() {
            match std::str::from_utf8(part) {
                Ok(text) if is_word(text) => {}
                // The second part names a tool or a reason, as in `PreToolUse:Read`.
                Ok(_) if place == 1 => self.tool(part),
                _ => self.mapping.text(part),
            }
        }
    }

    /// Replaces each part of a text on its own, except for those that stay.
    fn parts(&self, text: &mut [u8], is_border: fn(u8) -> bool, stays: fn(&str) -> bool) {
        for part in text.split_mut(|byte| is_border(*byte)) {
            if !std::str::from_utf8(part).is_ok_and(stays) {
                self.mapping.text(part);
            }
        }
    }
}
