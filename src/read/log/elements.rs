//! Streaming access to the elements of a list in a JSON document: each is borrowed as written, and none is kept.

use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde_json::value::RawValue;

/// Passes on each element of the list at `path`; with an empty path the document is the list.
///
/// Returns true if there is such a list.
///
/// # Errors
/// The document is not JSON. Elements before the damage were passed on.
pub(super) fn each_element<'a>(
    document: &'a str,
    path: &[&str],
    mut each: impl FnMut(&'a str),
) -> serde_json::Result<bool> {
    let mut is_found = false;
    let mut reader = serde_json::Deserializer::from_str(document);
    let way = Way { path, each: &mut each, is_found: &mut is_found };
    way.deserialize(&mut reader)?;
    // Anything behind the document is damage, though its elements were passed on.
    reader.end()?;
    Ok(is_found)
}

/// Rest of the path to the list.
struct Way<'w, 'a> {
    path: &'w [&'w str],
    each: &'w mut dyn FnMut(&'a str),
    is_found: &'w mut bool,
}

impl<'de> DeserializeSeed<'de> for Way<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Way<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        if !self.path.is_empty() {
            return Err(A::Error::invalid_type(Unexpected::Seq, &self));
        }
        *self.is_found = true;
        while let Some(element) = list.next_element::<&RawValue>()? {
            (self.each)(element.get());
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        let Self { path, each, is_found } = self;
        while let Some(name) = object.next_key::<String>()? {
            match path.split_first() {
                Some((next, rest)) if name == *next => {
                    object.next_value_seed(Way { path: rest, each, is_found })?;
                }
                _ => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elements<'a>(document: &'a str, path: &[&str]) -> (Vec<&'a str>, Option<bool>) {
        let mut all = Vec::new();
        let found = each_element(document, path, |element| all.push(element));
        (all, found.ok())
    }

    #[test]
    fn a_list_is_found_wherever_it_stands() {
        assert_eq!(elements(r#"[1, {"a": 2}]"#, &[]), (vec!["1", r#"{"a": 2}"#], Some(true)));
        let document =
            r#"{"log": {"version": "1.2", "pages": [7], "entries": [{}, []]}, "x": [8]}"#;
        assert_eq!(elements(document, &["log", "entries"]), (vec!["{}", "[]"], Some(true)));
        assert_eq!(elements(r#"{"data": {}}"#, &["data"]), (vec![], Some(false)));
        assert_eq!(elements(r#"{"other": []}"#, &["data"]), (vec![], Some(false)));
    }

    #[test]
    fn what_stands_before_damage_is_handed_on() {
        assert_eq!(elements(r#"{"data": [1, 2, {"a":"#, &["data"]), (vec!["1", "2"], None));
        assert_eq!(elements(r#"{"data": 3}"#, &["data"]), (vec![], None));
        assert_eq!(elements("[1] [2]", &[]), (vec!["1"], None));
        let deep = format!("[{}{}]", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(elements(&deep, &[]).0.len(), 1);
    }
}
