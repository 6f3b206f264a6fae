//! JSON text parsed one level at a time. Values that are not looked at stay as written, and are
//! never decoded: neither numbers nor the order of keys change, and depth costs nothing.
//!
//! Writers of JSON text from parts as written.
//!
//! Placement of the lines of a file of bundles.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;

use super::place::{BundleError, Harness, Placed};
use crate::base::words::identifier;
use crate::read::input::{Diagnostics, Extent, Kind, ObjectReader, OpenSource, Pairs, only_value};

/// Most unknown keys of an object that are named.
const MOST_UNKNOWN: usize = 16;

/// Key and value as written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member<'a> {
    pub(super) key: &'a RawValue,
    pub(super) value: &'a RawValue,
}

impl Member<'_> {
    pub(super) fn is(&self, name: &str) -> bool {
        string(self.key).as_deref() == Some(name)
    }
}

/// Members of an object in their order. The last value of a repeated key counts.
/// A null is as good as absent wherever a type is asked for.
#[derive(Debug)]
pub(super) struct Object<'a> {
    /// Path of the object, for errors.
    path: &'static str,
    pub(super) members: Vec<Member<'a>>,
}

impl<'a> Object<'a> {
    pub(super) fn empty(path: &'static str) -> Self {
        Self { path, members: Vec::new() }
    }

    /// Members of a value, or nothing if it is not an object.
    pub(super) fn read(value: &'a RawValue, path: &'static str) -> Option<Self> {
        let Pairs(pairs) = serde_json::from_str(value.get()).ok()?;
        let members = pairs.into_iter().map(|(key, value)| Member { key, value }).collect();
        Some(Self { path, members })
    }

    pub(super) fn read_or_fail(
        value: &'a RawValue,
        path: &'static str,
    ) -> Result<Self, BundleError> {
        Self::read(value, path).ok_or_else(|| unexpected(path, Some(value), "an object"))
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.members.iter().rev().find(|member| member.is(name)).map(|member| member.value)
    }

    pub(super) fn boolean(&self, name: &str) -> Result<Option<bool>, BundleError> {
        self.typed(name, "true or false", |value| serde_json::from_str(value.get()).ok())
    }

    pub(super) fn string(&self, name: &str) -> Result<Option<Cow<'a, str>>, BundleError> {
        self.typed(name, "a string", string)
    }

    /// Whole number that is not negative; nothing for anything else.
    pub(super) fn whole_number(&self, name: &str) -> Option<usize> {
        serde_json::from_str(self.get(name)?.get()).ok()
    }

    pub(super) fn list(&self, name: &str) -> Result<Option<Vec<&'a RawValue>>, BundleError> {
        self.typed(name, "a list", list)
    }

    pub(super) fn strings(&self, name: &str) -> Result<Option<Vec<Cow<'a, str>>>, BundleError> {
        self.typed(name, "a list of strings", |value| {
            list(value)?.into_iter().map(string).collect()
        })
    }

    pub(super) fn object(
        &self,
        name: &str,
        path: &'static str,
    ) -> Result<Option<Self>, BundleError> {
        self.typed(name, "an object", |value| Self::read(value, path))
    }

    /// Names of the first members other than these, each after a prefix.
    pub(super) fn unknown_keys(&self, prefix: &str, known: &[&str]) -> Vec<String> {
        let names = self.members.iter().map(key);
        let unknown = names.filter(|name| !known.contains(&&**name));
        let shown = unknown.map(|name| format!("{prefix}{}", identifier(&name)));
        shown.take(MOST_UNKNOWN).collect()
    }

    /// Error for a member of another type than expected.
    pub(super) fn unexpected(&self, name: &str, expected: &'static str) -> BundleError {
        unexpected(&format!("{}.{name}", self.path), self.get(name), expected)
    }

    fn typed<T>(
        &self,
        name: &str,
        expected: &'static str,
        read: impl FnOnce(&'a RawValue) -> Option<T>,
    ) -> Result<Option<T>, BundleError> {
        match self.get(name) {
            Some(value) if value.get() != "null" => {
                read(value).map(Some).ok_or_else(|| self.unexpected(name, expected))
            }
            _ => Ok(None),
        }
    }
}

pub(super) fn is_string(value: &RawValue) -> bool {
    value.get().starts_with('"')
}

/// Text of a string; nothing for another type, or for an escaped half of a surrogate pair,
/// which is no character.
pub(super) fn string(value: &RawValue) -> Option<Cow<'_, str>> {
    let inner = value.get().strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        serde_json::from_str(value.get()).ok().map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(inner))
    }
}

/// Text of a key. A key that is no text is shown as written.
pub(super) fn key<'a>(member: &Member<'a>) -> Cow<'a, str> {
    string(member.key).unwrap_or(Cow::Borrowed(member.key.get()))
}

/// Elements of a list; nothing for another type.
pub(super) fn list(value: &RawValue) -> Option<Vec<&RawValue>> {
    only_value(value.get()).ok()
}

/// Error for a field of another type than expected.
pub(super) fn unexpected(
    field: &str,
    value: Option<&RawValue>,
    expected: &'static str,
) -> BundleError {
    BundleError::Shape { field: field.to_owned(), found: value.map_or("missing", kind), expected }
}

fn kind(value: &RawValue) -> &'static str {
    match value.get().as_bytes().first() {
        Some(b'n') => "null",
        Some(b't' | b'f') => "a boolean",
        Some(b'"') if string(value).is_none() => "a string with half of a surrogate pair",
        Some(b'"') => "a string",
        Some(b'[') => "a list",
        Some(b'{') => "an object",
        _ => "a number",
    }
}

/// JSON of a string.
pub(super) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Appends an object, whose members are written by the closure.
pub(super) fn write_object(text: &mut String, write_members: impl FnOnce(&mut ObjectWriter<'_>)) {
    text.push('{');
    write_members(&mut ObjectWriter { text, is_empty: true });
    text.push('}');
}

/// Appends a list, whose elements are written by the closure.
pub(super) fn write_list<T>(
    text: &mut String,
    elements: impl IntoIterator<Item = T>,
    mut write_element: impl FnMut(&mut String, T),
) {
    text.push('[');
    for (index, element) in elements.into_iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        write_element(text, element);
    }
    text.push(']');
}

/// Writer of the members of an object.
pub(super) struct ObjectWriter<'t> {
    text: &'t mut String,
    is_empty: bool,
}

impl ObjectWriter<'_> {
    /// Begins a member and returns the text to append its value to. The name must
    /// need no escapes.
    pub(super) fn member(&mut self, name: &str) -> &mut String {
        self.separate();
        self.text.push('"');
        self.text.push_str(name);
        self.text.push_str("\":");
        self.text
    }

    /// Adds a member whose key and value are JSON.
    pub(super) fn copy(&mut self, key: &str, value: &str) {
        self.separate();
        self.text.push_str(key);
        self.text.push(':');
        self.text.push_str(value);
    }

    fn separate(&mut self) {
        if !self.is_empty {
            self.text.push(',');
        }
        self.is_empty = false;
    }
}

/// Places every record of an open source in order, and passes on whether it is sent to the provider's own service.
/// Records that cannot be placed are reported.
pub(crate) fn place_lines(
    open: &mut OpenSource,
    harness: &mut Harness,
    diagnostics: &mut Diagnostics,
    each: impl FnMut(u64, Placed, bool),
) -> Extent {
    let label = Arc::clone(&open.label);
    let mut placing = Placing { harness, label: &label, rejected: Diagnostics::default(), each };
    let extent = open.read_in_order(diagnostics, |number, line| placing.line(line, number));
    diagnostics.absorb(placing.rejected);
    extent
}

/// Reader that places record after record.
struct Placing<'a, Each> {
    harness: &'a mut Harness,
    label: &'a Arc<str>,
    rejected: Diagnostics,
    each: Each,
}

impl<Each: FnMut(u64, Placed, bool)> ObjectReader for Placing<'_, Each> {
    type Object<'a> = &'a RawValue;
    const FILE: &'static str = "a bundle";

    // The harness parses the record itself, so the text is enough.
    fn object(&mut self, _: &&RawValue, text: &str, line: u64) {
        let placed = match self.harness.place(text) {
            Ok(placed) => placed,
            Err(error) => return self.reject(Kind::NotABundle, line, error.to_string()),
        };
        if let [_, ..] = self.harness.unknown_keys() {
            self.reject(Kind::UnknownKey, line, self.harness.unknown_keys().join(", "));
        }
        match &placed {
            Placed::Request(_, repairs) if repairs.is_empty() => {}
            Placed::Request(_, repairs) => {
                self.reject(Kind::RepairedMessages, line, repairs.to_string());
            }
            Placed::Refused(_) => {
                let detail = "give the section a `reason`, or leave `volatile` out";
                self.reject(Kind::VolatileWithoutReason, line, detail);
            }
        }
        (self.each)(line, placed, self.harness.is_first_party());
    }

    fn reject(&mut self, kind: Kind, line: u64, detail: impl Into<String>) {
        self.rejected.add(kind, self.label, line, detail);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> &RawValue {
        serde_json::from_str(json).expect("JSON")
    }

    #[test]
    fn of_a_repeated_key_the_last_counts() {
        let object = Object::read(raw(r#"{"a":1,"\u0061":"x"}"#), "it").expect("an object");
        assert_eq!(object.get("a").map(RawValue::get), Some("\"x\""));
        assert!(object.get("b").is_none());
    }

    #[test]
    fn strings_are_decoded() {
        assert_eq!(string(raw(r#""a\n\"\ud83d\ude00""#)).as_deref(), Some("a\n\"😀"));
        assert_eq!(string(raw("\"plain\"")).as_deref(), Some("plain"));
        assert_eq!(string(raw(r#""\ud83d""#)), None);
        assert_eq!(string(raw("7")), None);
    }

    #[test]
    fn an_error_says_what_is_there_and_what_should_be() {
        let object =
            Object::read(raw(r#"{"a":1,"b":[true],"c":"\ud83d","d":false,"e":{},"n":null}"#), "it")
                .expect("an object");
        let message = |error: Option<BundleError>| error.map(|error| error.to_string());
        for (error, expected) in [
            (object.string("a").err(), "`it.a` is a number; expected a string"),
            (object.boolean("b").err(), "`it.b` is a list; expected true or false"),
            (object.strings("b").err(), "`it.b` is a list; expected a list of strings"),
            (
                object.string("c").err(),
                "`it.c` is a string with half of a surrogate pair; expected a string",
            ),
            (object.list("d").err(), "`it.d` is a boolean; expected a list"),
            (object.boolean("e").err(), "`it.e` is an object; expected true or false"),
        ] {
            assert_eq!(message(error).as_deref(), Some(expected));
        }
        assert!(matches!(object.string("n"), Ok(None)));
        let missing = object.unexpected("z", "a string").to_string();
        assert_eq!(missing, "`it.z` is missing; expected a string");
    }

    #[test]
    fn an_object_is_copied_as_it_is_written() {
        let written = r#"{"b":1.00,"a":[ 1e400, -0 ],"\u0063":"\u00e9","b":{}}"#;
        let object =
            Object::read(serde_json::from_str(written).expect("JSON"), "it").expect("an object");
        let mut copy = String::new();
        write_object(&mut copy, |writer| {
            for member in &object.members {
                writer.copy(member.key.get(), member.value.get());
            }
        });
        assert_eq!(copy, written);
    }

    #[test]
    fn text_is_quoted() {
        assert_eq!(quoted("a\n\"é"), r#""a\n\"é""#);
    }
}
