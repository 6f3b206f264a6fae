//! The parts of a system prompt, and the session's memory of its sections (Claude Code 2.1.88, as
//! documented): a section is computed once and keeps its text until the conversation is cleared;
//! one that is volatile is computed for each request, and must say why.

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use serde_json::value::RawValue;

use super::error::BundleError;
use super::raw::{Object, string, unexpected};

/// One element of a system prompt. A text that is null is empty, which is as good as left out.
#[derive(Debug)]
pub(super) enum Part<'a> {
    /// A string.
    Plain(Cow<'a, str>),
    /// A section that is computed once.
    Memoised { name: Cow<'a, str>, text: Cow<'a, str> },
    /// A section that is computed for each request.
    Volatile { text: Cow<'a, str>, has_reason: bool },
}

impl<'a> Part<'a> {
    pub(super) fn read(part: &'a RawValue) -> Result<Self, BundleError> {
        if let Some(text) = string(part) {
            return Ok(Self::Plain(text));
        }
        let path = "prompt.system[…]";
        let expected = "a string, or a section with its name and text";
        let section =
            Object::read(part, path).ok_or_else(|| unexpected(path, Some(part), expected))?;
        let name =
            section.string("section")?.ok_or_else(|| section.unexpected("section", "a string"))?;
        let text = section.string("text")?.unwrap_or_default();
        if section.boolean("volatile")?.unwrap_or(false) {
            let has_reason = section.string("reason")?.is_some_and(|reason| !reason.is_empty());
            Ok(Self::Volatile { text, has_reason })
        } else {
            Ok(Self::Memoised { name, text })
        }
    }

    pub(super) fn lacks_reason(&self) -> bool {
        matches!(self, Self::Volatile { has_reason: false, .. })
    }
}

/// The sections that a session has computed.
#[derive(Debug, Default)]
pub(super) struct Sections {
    texts: FxHashMap<String, String>,
}

impl Sections {
    /// The texts of the parts, as this session has them. Empty ones are left out.
    pub(super) fn texts<'s>(&'s mut self, parts: &'s [Part<'_>]) -> Vec<&'s str> {
        self.remember(parts);
        parts.iter().map(|part| self.text(part)).filter(|text| !text.is_empty()).collect()
    }

    fn remember(&mut self, parts: &[Part<'_>]) {
        for part in parts {
            if let Part::Memoised { name, text } = part
                && !self.texts.contains_key(&**name)
            {
                self.texts.insert(name.clone().into_owned(), text.clone().into_owned());
            }
        }
    }

    fn text<'s>(&'s self, part: &'s Part<'_>) -> &'s str {
        match part {
            Part::Plain(text) | Part::Volatile { text, .. } => text,
            Part::Memoised { name, text } => self.texts.get(&**name).map_or(text, String::as_str),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(json: &str) -> Vec<Part<'_>> {
        let parts: Vec<&RawValue> = serde_json::from_str(json).expect("a list");
        parts.into_iter().map(|part| Part::read(part).expect("a part")).collect()
    }

    #[test]
    fn a_section_keeps_its_first_text() {
        let mut sections = Sections::default();
        let first = parts(
            r#"["a",{"section":"s","text":"1"},{"section":"n"},"",
            {"section":"s","text":"2"}]"#,
        );
        assert_eq!(sections.texts(&first), ["a", "1", "1"]);
        let second = parts(r#"[{"section":"n","text":"3"},{"section":"s","text":null}]"#);
        assert_eq!(sections.texts(&second), ["1"]);
    }

    #[test]
    fn a_volatile_section_is_neither_kept_nor_replaced() {
        let mut sections = Sections::default();
        for text in ["1", "2"] {
            let json =
                format!(r#"[{{"section":"s","text":"{text}","volatile":true,"reason":"r"}}]"#);
            assert_eq!(sections.texts(&parts(&json)), [text]);
        }
        assert_eq!(sections.texts(&parts(r#"[{"section":"s","text":"3"}]"#)), ["3"]);
    }

    #[test]
    fn a_volatile_section_needs_a_reason() {
        for (reason, lacks_reason) in [
            ("", true),
            (r#","reason":null"#, true),
            (r#","reason":"""#, true),
            (r#","reason":"servers connect""#, false),
        ] {
            let json = format!(r#"[{{"section":"s","volatile":true{reason}}}]"#);
            assert_eq!(parts(&json)[0].lacks_reason(), lacks_reason, "{json}");
        }
    }

    #[test]
    fn anything_else_is_no_part() {
        for part in ["7", "null", "[]", "{}", r#"{"section":7}"#, r#"{"section":"s","text":[]}"#] {
            let raw = serde_json::from_str(part).expect("JSON");
            assert!(Part::read(raw).is_err(), "{part}");
        }
    }
}
