//! Formats whose records are on a line each in one file, and together in one document in another.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};

use super::document::read_document;
use super::{AgentFile, AgentFormat, DocumentFormat, FirstObject, LineFormat, lines, read_lines};
use crate::read::begins_document;
use crate::read::input::Shape;

/// Entry of a [`LineFormat`] whose files may also be one object over many lines, or a list of objects.
pub(super) const fn records<F: LineFormat>() -> AgentFormat {
    AgentFormat {
        is_document: |begins_document| begins_document,
        read: |open| {
            if open.first_lines().is_some_and(begins_document) {
                read_document::<Whole<F>>(open)
            } else {
                read_lines::<F>(open)
            }
        },
        ..lines::<F>()
    }
}

/// Records of a document, as if each were on a line.
struct Whole<F>(PhantomData<fn() -> F>);

impl<F: LineFormat> DocumentFormat for Whole<F> {
    type Document<'a> = OneOrMany<F::Line<'a>>;
    const FILE: &'static str = F::FILE;

    fn recognises(first: &FirstObject<'_>) -> bool {
        F::recognises(first)
    }

    fn document(document: &Self::Document<'_>, file: &mut AgentFile) {
        let mut format = F::default();
        for (number, record) in (1..).zip(&document.0) {
            file.line = number;
            if let Err((kind, detail)) = format.line(record, file) {
                file.reject(kind, number, detail);
            }
        }
        format.end(file);
    }
}

/// Object, or the objects of a list.
struct OneOrMany<T>(Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneOrManyVisitor(PhantomData)).map(Self)
    }
}

struct OneOrManyVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrManyVisitor<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
        let mut records = Vec::new();
        while let Some(Shape(record)) = list.next_element::<Shape<T>>()? {
            records.extend(record);
        }
        Ok(records)
    }

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<Vec<T>, A::Error> {
        Ok(vec![T::deserialize(MapAccessDeserializer::new(object))?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::input::Count;

    #[test]
    fn one_object_and_a_list_of_objects_are_records() {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Record {
            count: Count,
        }
        for (json, counts) in [
            (r#"{"count":1}"#, &[Count::Value(1)][..]),
            (r#"[{"count":1},7,null,{"count":2}]"#, &[Count::Value(1), Count::Value(2)]),
            ("[]", &[]),
        ] {
            let OneOrMany::<Record>(records) = serde_json::from_str(json).expect("JSON");
            assert!(records.iter().map(|record| record.count).eq(counts.iter().copied()), "{json}");
        }
        assert!(serde_json::from_str::<OneOrMany<Record>>("7").is_err());
    }
}
