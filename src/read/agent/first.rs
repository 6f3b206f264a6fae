//! Beginning of a file, by which its format is recognised.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::base::ByKey;

/// Members of the first object of a file. A member that is cut off has no value.
#[derive(Debug)]
pub(crate) struct FirstObject<'a> {
    members: ByKey<String, Option<&'a RawValue>>,
    /// Text that holds the object.
    text: &'a str,
}

/// Byte order mark of some editors, and the zeros that a crash leaves in front of a line.
const IN_FRONT: [char; 2] = ['\u{feff}', '\0'];

impl<'a> FirstObject<'a> {
    /// Object at the start of a line, if there is one.
    pub(crate) fn of_line(line: &'a [u8]) -> Option<Self> {
        let line = str::from_utf8(line).ok()?.trim_start_matches(IN_FRONT);
        // Several values may be run together on a line.
        let mut values = serde_json::Deserializer::from_str(line).into_iter();
        Some(Self { members: values.next()?.ok()?, text: line })
    }

    /// Object at the start of a document, or the first object of its list, with the members that are
    /// there.
    pub(crate) fn of_document(beginning: &'a [u8]) -> Option<Self> {
        let text = match str::from_utf8(beginning) {
            Ok(text) => text,
            Err(error) => str::from_utf8(&beginning[..error.valid_up_to()]).ok()?,
        };
        let text = text.trim_start_matches(IN_FRONT).trim_start();
        let text = text.strip_prefix('[').unwrap_or(text).trim_start();
        let mut members = ByKey::new();
        // Parsing fails at the end of the text, after the members that are complete.
        let mut reader = serde_json::Deserializer::from_str(text);
        Members(&mut members).deserialize(&mut reader).ok();
        (!members.is_empty()).then_some(Self { members, text })
    }

    /// Returns true if there is a member of that name, of any type.
    pub(crate) fn has_member(&self, name: &str) -> bool {
        self.members.contains_key(name)
    }

    /// JSON of a member, unless it is cut off.
    pub(crate) fn json(&self, name: &str) -> Option<&'a str> {
        Some((*self.members.get(name)?)?.get())
    }

    /// Returns true for an object or a list at a path: `message.parts`.
    pub(crate) fn has(&self, path: &str) -> bool {
        let (name, rest) = path.split_once('.').unwrap_or((path, ""));
        let Some(value) = self.members.get(name) else { return false };
        let Some(value) = value else { return rest.is_empty() };
        if rest.is_empty() {
            return value.get().starts_with(['{', '[']);
        }
        Self::inside(value.get()).is_some_and(|inner| inner.has(rest))
    }

    /// Returns true if the text at a path is one of `texts`.
    pub(crate) fn is_one_of(&self, path: &str, texts: &[&str]) -> bool {
        self.text(path).is_some_and(|text| texts.contains(&text.as_str()))
    }

    /// Text at a path: `info.id`.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        let (name, rest) = path.split_once('.').unwrap_or((path, ""));
        let value = (*self.members.get(name)?)?.get();
        if rest.is_empty() {
            return serde_json::from_str(value).ok();
        }
        Self::inside(value)?.text(rest)
    }

    /// First object of a list of that name, with the members that are there.
    pub(crate) fn first_of(&self, name: &str) -> Option<FirstObject<'a>> {
        let list = if let Some(whole) = *self.members.get(name)? {
            whole.get()
        } else {
            // A list that is cut off is the last member: its name comes after all whole values.
            let (_, behind) = self.behind_whole_values()?.split_once(&format!("\"{name}\""))?;
            behind.trim_start().strip_prefix(':')?.trim_start()
        };
        list.starts_with('[').then(|| Self::of_document(list.as_bytes())).flatten()
    }

    /// Text after the last member that is not cut off.
    fn behind_whole_values(&self) -> Option<&'a str> {
        let end = |value: &&RawValue| value.get().as_bytes().as_ptr_range().end.addr();
        let end = self.members.values().flatten().map(end).max();
        self.text.get(end.map_or(0, |end| end - self.text.as_ptr().addr())..)
    }

    /// Object in a value.
    fn inside(value: &'a str) -> Option<Self> {
        Some(Self { members: serde_json::from_str(value).ok()?, text: value })
    }
}

/// Collects the members of an object that are there.
struct Members<'m, 'a>(&'m mut ByKey<String, Option<&'a RawValue>>);

impl<'de: 'a, 'a> DeserializeSeed<'de> for Members<'_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de: 'a, 'a> Visitor<'de> for Members<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        while let Some(name) = object.next_key::<String>()? {
            // First without a value: the value may be cut off, and the name still counts.
            self.0.insert(name.clone(), None);
            let value = object.next_value()?;
            self.0.insert(name, Some(value));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_known_by_what_is_there_of_it() {
        let first =
            FirstObject::of_document(b" {\n \"info\": {\"id\": \"ses_1\"},\n \"messages\": [{\"a")
                .expect("members");
        assert!(first.has("info") && first.has("messages") && !first.has("info.id"));
        let first = FirstObject::of_document(br#"[{"ts":1,"type":"say"},{"#).expect("members");
        assert!(first.has_member("ts") && first.is_one_of("type", &["say", "ask"]));
        assert!(FirstObject::of_document(b"# notes").is_none());
    }

    #[test]
    fn the_first_object_of_a_list_is_known_though_the_list_is_cut_off() {
        for text in [
            r#"{"data": [{"type":"SPAN","a":{}}, 7]}"#,
            r#"{"data": [ {"type":"SPAN","a":{"#,
            r#"{"name":"data","of":["data"],"data": [ {"type":"SPAN","a":{"#,
        ] {
            let first = FirstObject::of_document(text.as_bytes()).expect("members");
            let inner = first.first_of("data").expect("an object");
            assert!(inner.is_one_of("type", &["SPAN"]) && inner.has_member("a"), "{text}");
        }
        for text in
            [r#"{"data":{"type":"SPAN"}}"#, r#"{"data":[7]}"#, r#"{"data":[]}"#, r#"{"a":1}"#]
        {
            let first = FirstObject::of_document(text.as_bytes()).expect("members");
            assert!(first.first_of("data").is_none(), "{text}");
        }
    }
}
