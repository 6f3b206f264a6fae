//! JSON text taken apart one level at a time. What is not looked at stays as it is written, and is
//! never decoded: neither numbers nor the order of keys change, and depth costs nothing.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::error::BundleError;

/// A key and its value, as they are written.
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

#[derive(Debug)]
struct Members<'a>(Vec<Member<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;
        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((key, value)) = object.next_entry()? {
                    members.push(Member { key, value });
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(MembersVisitor)
    }
}

/// The members of an object in their order. Of a key that occurs more than once, the last counts.
/// A null is as good as absent wherever a type is asked for.
#[derive(Debug)]
pub(super) struct Object<'a> {
    /// Where it stands, for errors.
    path: &'static str,
    pub(super) members: Vec<Member<'a>>,
}

impl<'a> Object<'a> {
    pub(super) fn empty(path: &'static str) -> Self {
        Self { path, members: Vec::new() }
    }

    /// The value's members, or nothing where it is no object.
    pub(super) fn read(value: &'a RawValue, path: &'static str) -> Option<Self> {
        let Members(members) = serde_json::from_str(value.get()).ok()?;
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

    /// A whole number that is not negative; nothing for anything else.
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

    /// The error that something else stands there than what is expected.
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

/// The text of a string; nothing for another type, or where half of a surrogate pair is escaped,
/// which stands for no character.
pub(super) fn string(value: &RawValue) -> Option<Cow<'_, str>> {
    let inner = value.get().strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        serde_json::from_str(value.get()).ok().map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(inner))
    }
}

/// A key as text. One that stands for no text is shown as it is written.
pub(super) fn key<'a>(member: &Member<'a>) -> Cow<'a, str> {
    string(member.key).unwrap_or(Cow::Borrowed(member.key.get()))
}

/// The elements of a list; nothing for another type.
pub(super) fn list(value: &RawValue) -> Option<Vec<&RawValue>> {
    serde_json::from_str(value.get()).ok()
}

/// The error that something else stands in a field than what is expected.
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
}
