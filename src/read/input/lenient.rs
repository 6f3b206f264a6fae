//! Lenient deserialisers, which never reject a line for the type of a value.
//!
//! Transcripts are written by many client versions and by other programs; a field of an
//! unexpected type is as good as absent, and must not cost the rest of the line. Text without escapes is
//! borrowed, and long text is measured without being decoded.
//!
//! Times as files write them.
//!
//! Halves of surrogate pairs in JSON, which are no characters.

use std::borrow::Cow;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::escape::{Escaped, escape};
use super::lines::LONGEST_LINE;
use crate::base::Millis;

/// Most blocks of a message or a request. The smallest block takes twenty times its bytes in memory.
pub(crate) const MOST_BLOCKS: usize = 100_000;

/// Completes a `Visitor` that takes any value: those of the named types are read, and yield the default.
macro_rules! default_for {
    ($($shape:ident)*) => {
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("any value")
        }
        $(default_for!(@ $shape);)*
    };
    (@ bool) => {
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> { Ok(Self::Value::default()) }
    };
    (@ number) => {
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> { Ok(Self::Value::default()) }
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> { Ok(Self::Value::default()) }
        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> { Ok(Self::Value::default()) }
    };
    (@ text) => {
        fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> { Ok(Self::Value::default()) }
    };
    (@ null) => {
        fn visit_unit<E>(self) -> Result<Self::Value, E> { Ok(Self::Value::default()) }
    };
    (@ list) => {
        fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
            $crate::read::input::ignore_list(list)?;
            Ok(Self::Value::default())
        }
    };
    (@ object) => {
        fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<Self::Value, A::Error> {
            $crate::read::input::ignore_object(object)?;
            Ok(Self::Value::default())
        }
    };
}

pub(crate) use default_for;

/// Defines structs of the members of an object that are read. Each of them may be missing.
macro_rules! lenient {
    () => {};
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($body:tt)* } $($others:tt)*) => {
        #[derive(Debug, Default, serde::Deserialize)]
        #[serde(default)]
        $(#[$meta])*
        $vis struct $name { $($body)* }
        $crate::read::input::lenient! { $($others)* }
    };
    ($(#[$meta:meta])* $vis:vis struct $name:ident<'a> { $($body:tt)* } $($others:tt)*) => {
        #[derive(Debug, Default, serde::Deserialize)]
        #[serde(default, bound = "'de: 'a")]
        $(#[$meta])*
        $vis struct $name<'a> { $($body)* }
        $crate::read::input::lenient! { $($others)* }
    };
}

pub(crate) use lenient;

/// Reads a list to its end.
pub(crate) fn ignore_list<'de, A: SeqAccess<'de>>(mut list: A) -> Result<(), A::Error> {
    // A list that is left before its end makes the whole text an error.
    while list.next_element::<IgnoredAny>()?.is_some() {}
    Ok(())
}

/// Reads an object to its end.
pub(crate) fn ignore_object<'de, A: MapAccess<'de>>(mut object: A) -> Result<(), A::Error> {
    while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
    Ok(())
}

/// String, or nothing for another type.
#[derive(Clone, Debug, Default)]
pub(crate) struct Text<'a>(pub(crate) Option<Cow<'a, str>>);

impl Text<'_> {
    pub(crate) fn as_str(&self) -> Option<&str> {
        self.0.as_deref()
    }

    pub(crate) fn is(&self, expected: &str) -> bool {
        self.as_str() == Some(expected)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Some(Cow::Borrowed(text))))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Some(Cow::Owned(text.to_owned()))))
            }
            default_for!(bool number null list object);
        }
        deserializer.deserialize_any(TextVisitor)
    }
}

/// Value of any type, without the elements of a list and the members of an object.
#[derive(Debug, Default)]
pub(crate) enum Scalar<'a> {
    Null,
    Flag(bool),
    /// Whole number that is not negative.
    Whole(u64),
    /// Whole number below zero.
    Negative(i64),
    /// Any other number.
    Fraction(f64),
    Text(Cow<'a, str>),
    /// List or object.
    #[default]
    Nested,
}

impl<'de: 'a, 'a> Deserialize<'de> for Scalar<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ScalarVisitor;
        impl<'de> Visitor<'de> for ScalarVisitor {
            type Value = Scalar<'de>;
            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Scalar::Null)
            }
            fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
                Ok(Scalar::Flag(value))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
                Ok(Scalar::Whole(value))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
                Ok(u64::try_from(value).map_or(Scalar::Negative(value), Scalar::Whole))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
                Ok(Scalar::Fraction(value))
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Scalar::Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Scalar::Text(Cow::Owned(text.to_owned())))
            }
            default_for!(list object);
        }
        deserializer.deserialize_any(ScalarVisitor)
    }
}

/// Boolean; anything but `true` is `false`.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(from = "Scalar<'_>")]
pub(crate) struct Flag(pub(crate) bool);

impl From<Scalar<'_>> for Flag {
    fn from(value: Scalar<'_>) -> Self {
        Self(matches!(value, Scalar::Flag(true)))
    }
}

/// Counter as written in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(from = "Scalar<'_>")]
pub(crate) enum Count {
    /// No such key.
    #[default]
    Missing,
    /// `null`.
    Null,
    /// Whole number that is not negative.
    Value(u64),
    /// Negative, fractional, a string, or another type.
    Invalid,
}

impl Count {
    /// Number, if it is one.
    pub(crate) fn value(self) -> Option<u64> {
        if let Self::Value(value) = self { Some(value) } else { None }
    }

    /// This count, or another one if it is missing.
    pub(crate) fn or(self, other: Self) -> Self {
        if matches!(self, Self::Missing | Self::Null) { other } else { self }
    }
}

impl From<Scalar<'_>> for Count {
    fn from(value: Scalar<'_>) -> Self {
        match value {
            Scalar::Null => Self::Null,
            Scalar::Whole(value) => Self::Value(value),
            _ => Self::Invalid,
        }
    }
}

/// Object of a known shape, or nothing for another type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape<T>(pub(crate) Option<T>);

impl<T> Default for Shape<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Shape<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ShapeVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for ShapeVisitor<T> {
            type Value = Shape<T>;
            fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<Self::Value, A::Error> {
                Ok(Shape(Some(T::deserialize(MapAccessDeserializer::new(object))?)))
            }
            // Left to itself, a derived reader takes a list for the members in their order.
            default_for!(bool number text null list);
        }
        deserializer.deserialize_any(ShapeVisitor(PhantomData))
    }
}

/// List of elements that are themselves lenient; empty for another type.
#[derive(Debug)]
pub(crate) struct List<T>(pub(crate) Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Listed::deserialize(deserializer)?.0.unwrap_or_default()))
    }
}

/// List of elements that are themselves lenient; `None` if it is missing or of another type.
#[derive(Debug)]
pub(crate) struct Listed<T>(pub(crate) Option<Vec<T>>);

impl<T> Default for Listed<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Listed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ListedVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for ListedVisitor<T> {
            type Value = Listed<T>;

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut elements = Vec::new();
                while let Some(element) = list.next_element()? {
                    // What an element says takes as many bytes as its place, but for empty ones.
                    if elements.len() * size_of::<T>() > LONGEST_LINE {
                        return Err(A::Error::invalid_length(elements.len(), &"fewer elements"));
                    }
                    elements.push(element);
                }
                Ok(Listed(Some(elements)))
            }

            default_for!(bool number text null object);
        }
        deserializer.deserialize_any(ListedVisitor(PhantomData))
    }
}

/// Number, or nothing for another type.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(from = "Scalar<'_>")]
pub(crate) struct Number(pub(crate) Option<f64>);

impl From<Scalar<'_>> for Number {
    #[allow(clippy::cast_precision_loss)] // moments and codes are small
    fn from(value: Scalar<'_>) -> Self {
        Self(match value {
            Scalar::Whole(value) => Some(value as f64),
            Scalar::Negative(value) => Some(value as f64),
            Scalar::Fraction(value) => Some(value),
            _ => None,
        })
    }
}

/// Length in bytes of a value's JSON text; the value itself is skipped, not decoded.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct JsonLength(pub(crate) u64);

impl<'de> Deserialize<'de> for JsonLength {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        Ok(Self(raw.get().len() as u64))
    }
}

/// Content of a message: a string, reduced to an `S`, or a list of blocks.
#[derive(Debug, Default)]
pub(crate) enum Content<S, T> {
    /// Missing, or of another type.
    #[default]
    Absent,
    /// String, as `S` takes it.
    Text(S),
    /// Blocks in order.
    Blocks(Vec<T>),
}

impl<'de, S, T> Deserialize<'de> for Content<S, T>
where
    S: for<'text> From<&'text str>,
    T: Deserialize<'de>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ContentVisitor<S, T>(PhantomData<(S, T)>);
        impl<'de, S, T> Visitor<'de> for ContentVisitor<S, T>
        where
            S: for<'text> From<&'text str>,
            T: Deserialize<'de>,
        {
            type Value = Content<S, T>;
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Content::Text(text.into()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut blocks = Vec::new();
                while let Some(Shape(block)) = list.next_element::<Shape<T>>()? {
                    if blocks.len() == MOST_BLOCKS {
                        return Err(A::Error::invalid_length(MOST_BLOCKS, &"fewer blocks"));
                    }
                    blocks.extend(block);
                }
                Ok(Content::Blocks(blocks))
            }
            default_for!(bool number null object);
        }
        deserializer.deserialize_any(ContentVisitor(PhantomData))
    }
}

/// Time in RFC 3339; `None` for anything else.
pub(crate) fn moment(text: &Text<'_>) -> Option<Millis> {
    let timestamp: jiff::Timestamp = text.as_str()?.parse().ok()?;
    Some(Millis::new(timestamp.as_millisecond()))
}

/// Time in RFC 3339, or one without a zone, which is in UTC: databases and `datetime.isoformat` omit the zone.
pub(crate) fn moment_in_utc(text: &Text<'_>) -> Option<Millis> {
    moment(text).or_else(|| {
        let civil: jiff::civil::DateTime = text.as_str()?.parse().ok()?;
        let zoned = civil.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
        Some(Millis::new(zoned.timestamp().as_millisecond()))
    })
}

/// Replaces every `\uD800`–`\uDFFF` escape that is not half of a pair; `None` if there are no such escapes.
pub(crate) fn replace_lone_surrogates(text: &str) -> Option<String> {
    let mut repaired = String::new();
    let mut copied = 0;
    let mut position = 0;
    let bytes = text.as_bytes();
    while let Some(found) = memchr::memchr(b'\\', &bytes[position..]) {
        let start = position + found;
        let (escaped, length) = escape(&bytes[start..]).unzip();
        // Behind a backslash that begins no escape comes another byte.
        position = (start + length.unwrap_or(2)).min(bytes.len());
        if let Some(Escaped::Half(_)) = escaped {
            repaired.push_str(&text[copied..start]);
            repaired.push_str("\\ufffd");
            copied = position;
        }
    }
    if copied == 0 {
        return None;
    }
    repaired.push_str(&text[copied..]);
    Some(repaired)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Sample<'a> {
        #[serde(borrow)]
        name: Text<'a>,
        flag: Flag,
        count: Count,
        inner: Shape<Inner>,
        size: JsonLength,
    }

    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Inner {
        count: Count,
    }

    fn sample(json: &str) -> Sample<'_> {
        serde_json::from_str(json).expect("a lenient sample")
    }

    #[test]
    fn values_of_the_expected_type_are_read() {
        let read =
            sample(r#"{"name":"a\nb","flag":true,"count":7,"inner":{"count":1},"size":[1]}"#);
        assert_eq!(read.name.as_str(), Some("a\nb"));
        assert!(read.flag.0);
        assert_eq!(read.count, Count::Value(7));
        assert_eq!(read.inner.0.map(|inner| inner.count), Some(Count::Value(1)));
        assert_eq!(read.size.0, 3);
    }

    #[test]
    fn values_of_any_other_type_are_absent() {
        for other in ["null", "[1,{}]", "{\"a\":[]}", "1.5", "-3", "\"x\"", "false"] {
            let json = format!(
                r#"{{"name":{name},"flag":{other},"count":{count},"inner":{inner}}}"#,
                name = if other == "\"x\"" { "1" } else { other },
                count = if other == "null" { "-1" } else { other },
                inner = if other.starts_with('{') { "[]" } else { other },
            );
            let read = sample(&json);
            assert_eq!(read.name.as_str(), None, "{other}");
            assert!(!read.flag.0, "{other}");
            assert_eq!(read.count, Count::Invalid, "{other}");
            assert!(read.inner.0.is_none(), "{other}");
        }
        assert_eq!(sample("{}").count, Count::Missing);
        assert_eq!(sample(r#"{"count":null}"#).count, Count::Null);
        assert_eq!(sample(r#"{"count":99999999999999999999}"#).count, Count::Invalid);
    }

    #[test]
    fn moments_without_a_zone_are_in_utc() {
        let text = |text: &'static str| Text(Some(text.into()));
        for written in ["2026-09-21T14:13:20Z", "2026-09-21 14:13:20", "2026-09-21T14:13:20.000000"]
        {
            let moment = moment_in_utc(&text(written));
            assert_eq!(moment, Some(Millis::new(1_790_000_000_000)), "{written}");
        }
        assert_eq!(moment(&text("2026-09-21 14:13:20")), None);
        assert_eq!(moment_in_utc(&text("yesterday")), None);
    }
}
