//! Fields of an object that its struct does not have.

use std::borrow::Cow;

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, IntoDeserializer, MapAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::lenient::Text;

/// Place for other fields.
pub(crate) trait Aside<'de> {
    /// Takes a field, whose value is next.
    fn take<A: MapAccess<'de>>(&mut self, name: Text<'de>, object: &mut A) -> Result<(), A::Error>;
}

/// Names of other fields. Their values are skipped.
#[derive(Debug, Default)]
pub(super) struct OtherNames<'a>(Vec<Cow<'a, str>>);

impl OtherNames<'_> {
    /// Names after a prefix.
    pub(super) fn after<'s>(&'s self, prefix: &'s str) -> impl Iterator<Item = String> + 's {
        self.0.iter().map(move |name| format!("{prefix}{name}"))
    }
}

impl<'de> Aside<'de> for OtherNames<'de> {
    fn take<A: MapAccess<'de>>(&mut self, name: Text<'de>, object: &mut A) -> Result<(), A::Error> {
        self.0.extend(name.0);
        object.next_value::<IgnoredAny>()?;
        Ok(())
    }
}

/// Reads a struct whose derived reader is its own (`remote = "Self"`), with the fields that it does not name in `other`.
macro_rules! sifted {
    ($object:ident) => {
        impl<'de: 'a, 'a> serde::Deserialize<'de> for $object<'a> {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let mut other = Default::default();
                let sieve = $crate::read::input::Sieve::new(deserializer, &mut other);
                let object = $object::deserialize(sieve)?;
                Ok($object { other, ..object })
            }
        }
    };
}

pub(crate) use sifted;

/// Deserialiser of a struct that sets aside the fields that the struct does not have.
pub(crate) struct Sieve<'o, D, O> {
    inner: D,
    other: &'o mut O,
}

impl<'o, D, O> Sieve<'o, D, O> {
    pub(crate) fn new(inner: D, other: &'o mut O) -> Self {
        Self { inner, other }
    }
}

// `#[serde(flatten)]` would copy every value, and cannot take raw ones.
impl<'de, D: Deserializer<'de>, O: Aside<'de>> Deserializer<'de> for Sieve<'_, D, O> {
    type Error = D::Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.inner.deserialize_map(SieveVisitor { fields, visitor, other: self.other })
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

struct SieveVisitor<'o, V, O> {
    fields: &'static [&'static str],
    visitor: V,
    other: &'o mut O,
}

impl<'de, V: Visitor<'de>, O: Aside<'de>> Visitor<'de> for SieveVisitor<'_, V, O> {
    type Value = V::Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.visitor.expecting(f)
    }

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<V::Value, A::Error> {
        let name = Text::default();
        self.visitor.visit_map(SieveMap { fields: self.fields, object, other: self.other, name })
    }
}

struct SieveMap<'o, 'de, A, O> {
    fields: &'static [&'static str],
    object: A,
    other: &'o mut O,
    /// Name of the value that is next.
    name: Text<'de>,
}

impl<'de, A: MapAccess<'de>, O: Aside<'de>> MapAccess<'de> for SieveMap<'_, 'de, A, O> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        let Some(name) = self.object.next_key()? else { return Ok(None) };
        self.name = name;
        seed.deserialize(StrDeserializer::new(self.name.as_str().unwrap_or_default())).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        // The derived reader ignores the value of a name that it does not know. Only for a value of no size, which may be
        // such a one, is the name compared with all others.
        let is_ignored = size_of::<S::Value>() == size_of::<IgnoredAny>();
        if is_ignored && self.name.as_str().is_none_or(|name| !self.fields.contains(&name)) {
            self.other.take(std::mem::take(&mut self.name), &mut self.object)?;
            return seed.deserialize(().into_deserializer());
        }
        self.object.next_value_seed(seed)
    }
}
