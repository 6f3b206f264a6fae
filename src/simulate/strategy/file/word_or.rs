//! Values that are a word or a table.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// A word, or a table.
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(untagged, rename = "{W}Or{T}"))]
pub(crate) enum WordOr<W, T> {
    Word(W),
    Table(T),
}

/// Words in whose place a table may be.
pub(crate) trait Words {
    /// Phrase for the words and the table.
    const EXPECTED: &'static str;
}

// Serde's own choice between types would lose the places and reasons of errors.
impl<'de, W: Words + Deserialize<'de>, T: Deserialize<'de>> Deserialize<'de> for WordOr<W, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WordOrTable(PhantomData))
    }
}

struct WordOrTable<W, T>(PhantomData<(W, T)>);

impl<'de, W: Words + Deserialize<'de>, T: Deserialize<'de>> Visitor<'de> for WordOrTable<W, T> {
    type Value = WordOr<W, T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(W::EXPECTED)
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Self::Value, E> {
        W::deserialize(word.into_deserializer()).map(WordOr::Word)
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(table)).map(WordOr::Table)
    }
}
