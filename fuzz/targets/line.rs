//! The skimming reader of lines against `serde_json`: the same fields, the same place where the
//! value ends, and an error where the other has one.

use std::fmt::Write as _;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::lenient::{
    Content, Count, Flag, JsonLength, List, Listed, Number, Shape, Text, replace_lone_surrogates,
};
use super::skim::{first_value, only_value};

/// The length of a text.
#[derive(Debug)]
struct Length(#[allow(dead_code)] usize); // compared by its `Debug`

impl From<&str> for Length {
    fn from(text: &str) -> Self {
        Self(text.len())
    }
}

/// Every kind of field that lines have.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[allow(dead_code)] // compared by its `Debug`
struct Sample<'a> {
    #[serde(borrow)]
    text: Text<'a>,
    flag: Flag,
    count: Count,
    number: Number,
    length: JsonLength,
    #[serde(borrow)]
    raw: Option<&'a RawValue>,
    #[serde(borrow)]
    inner: Shape<Box<Sample<'a>>>,
    #[serde(borrow)]
    list: List<Shape<Box<Sample<'a>>>>,
    names: List<IgnoredAny>,
    #[serde(borrow)]
    texts: Listed<Text<'a>>,
    #[serde(borrow)]
    content: Content<Length, Box<Sample<'a>>>,
}

pub(crate) fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Sample<'_>>();
    match (first_value::<Sample<'_>>(text), values.next()) {
        (Ok((value, end)), other) => {
            let other = other.expect("a value").expect("what was read is JSON");
            assert_eq!(end, values.byte_offset());
            assert_eq!(told(&value), told(&other));
        }
        // A list is taken for the members of an object in their order, by one of them.
        (Err(_), Some(Ok(_))) => assert!(text.trim_start().starts_with('[')),
        (Err(_), Some(Err(_)) | None) => {}
    }
    let is_json = serde_json::from_str::<IgnoredAny>(text).is_ok();
    assert_eq!(only_value::<IgnoredAny>(text).is_ok(), is_json);
    if let Some(repaired) = replace_lone_surrogates(text) {
        assert_eq!(repaired.len(), text.len());
        assert!(replace_lone_surrogates(&repaired).is_none());
    }
}

/// A digest of what it has (FNV-1a).
fn told(value: &Sample<'_>) -> u64 {
    let mut digest = Digest(0xcbf2_9ce4_8422_2325);
    write!(digest, "{value:?}").expect("a digest takes everything");
    digest.0
}

struct Digest(u64);

impl std::fmt::Write for Digest {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Ok(())
    }
}
