//! A deserialiser for JSON of which a few fields are wanted: what stands between them is skipped at
//! the speed of memory, and strings are borrowed.
//!
//! It knows JSON text as it is usually written. Whatever else it meets (an error, an escape in a
//! name, a fraction, deep nesting) it leaves to `serde_json`, which then reads the value once more
//! and says what is wrong with it. So a value that it does give is the one that `serde_json` gives.

use std::fmt;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};
use wide::{CmpEq, CmpLt, i8x16};

/// The name by which `serde_json` asks for the text of a value. Were it to change, every value with
/// such a field would be left to it.
const RAW_VALUE: &str = "$serde_json::private::RawValue";

/// `serde_json` stops at 128; what is nested deeper than this is left to it.
const DEEPEST: u32 = 64;

/// How many bytes are looked at together.
const BLOCK: usize = 16;

/// The only value of a text.
///
/// # Errors
/// What `serde_json` says.
pub(crate) fn only_value<'de, T: Deserialize<'de>>(text: &'de str) -> serde_json::Result<T> {
    match skim(text) {
        Some((value, end)) if end == text.len() => Ok(value),
        _ => serde_json::from_str(text),
    }
}

/// The first value of a text, and where it ends; `None` where `serde_json` has to read it.
pub(super) fn skim<'de, T: Deserialize<'de>>(text: &'de str) -> Option<(T, usize)> {
    let mut skimmer = Skimmer { text, bytes: text.as_bytes(), at: 0, depth: 0 };
    let value = T::deserialize(&mut skimmer).ok()?;
    Some((value, skimmer.at))
}

/// Something that is left to `serde_json`.
#[derive(Debug)]
struct Unusual;

impl fmt::Display for Unusual {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("left to serde_json")
    }
}

impl std::error::Error for Unusual {}

impl de::Error for Unusual {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

struct Skimmer<'de> {
    text: &'de str,
    bytes: &'de [u8],
    at: usize,
    depth: u32,
}

impl<'de> Skimmer<'de> {
    fn next(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// The next byte that is no white space.
    fn token(&mut self) -> Result<u8, Unusual> {
        while let Some(byte) = self.next() {
            if !matches!(byte, b' ' | b'\n' | b'\t' | b'\r') {
                return Ok(byte);
            }
            self.at += 1;
        }
        Err(Unusual)
    }

    fn expect(&mut self, byte: u8) -> Result<(), Unusual> {
        if self.token()? != byte {
            return Err(Unusual);
        }
        self.at += 1;
        Ok(())
    }

    fn literal(&mut self, literal: &str) -> Result<(), Unusual> {
        if !self.bytes[self.at..].starts_with(literal.as_bytes()) {
            return Err(Unusual);
        }
        self.at += literal.len();
        Ok(())
    }

    /// Goes after a string whose quote was seen, and says whether it has escapes.
    fn skip_string(&mut self) -> Result<bool, Unusual> {
        self.at += 1;
        let mut has_escapes = false;
        loop {
            match self.next_in_string()? {
                b'"' => {
                    self.at += 1;
                    return Ok(has_escapes);
                }
                b'\\' => {
                    has_escapes = true;
                    self.skip_escape()?;
                }
                _ => return Err(Unusual),
            }
        }
    }

    /// Goes to the next byte that ends a string, escapes, or may not stand in one.
    fn next_in_string(&mut self) -> Result<u8, Unusual> {
        let (quote, escape) = (i8x16::splat(b'"'.cast_signed()), i8x16::splat(b'\\'.cast_signed()));
        // Signed, the bytes below a space are those below this once the highest bit is turned.
        let (turned, space) = (i8x16::splat(i8::MIN), i8x16::splat((b' ' ^ 0x80).cast_signed()));
        while let Some(block) = self.bytes[self.at..].first_chunk::<BLOCK>() {
            let block: i8x16 = bytemuck::cast(*block);
            let telling =
                block.cmp_eq(quote) | block.cmp_eq(escape) | (block ^ turned).cmp_lt(space);
            let mask = telling.move_mask();
            if mask != 0 {
                self.at += mask.trailing_zeros() as usize;
                return Ok(self.bytes[self.at]);
            }
            self.at += BLOCK;
        }
        let rest = &self.bytes[self.at..];
        let place = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | ..b' '));
        self.at += place.ok_or(Unusual)?;
        Ok(self.bytes[self.at])
    }

    fn skip_escape(&mut self) -> Result<(), Unusual> {
        let length = match self.bytes.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 2,
            Some(b'u') => {
                let digits = self.bytes.get(self.at + 2..self.at + 6).ok_or(Unusual)?;
                if !digits.iter().all(u8::is_ascii_hexdigit) {
                    return Err(Unusual);
                }
                6
            }
            _ => return Err(Unusual),
        };
        self.at += length;
        Ok(())
    }

    /// A string whose quote was seen, and whether it has escapes.
    fn string(&mut self) -> Result<(&'de str, bool), Unusual> {
        let start = self.at;
        let has_escapes = self.skip_string()?;
        Ok((&self.text[start + 1..self.at - 1], has_escapes))
    }

    /// The digits of a number that is neither negative nor fractional.
    fn whole_number(&mut self) -> Result<u64, Unusual> {
        let start = self.at;
        let mut value = 0_u64;
        while let Some(digit @ b'0'..=b'9') = self.next() {
            let digit = u64::from(digit - b'0');
            value =
                value.checked_mul(10).and_then(|tens| tens.checked_add(digit)).ok_or(Unusual)?;
            self.at += 1;
        }
        let has_leading_zero = self.bytes[start] == b'0' && self.at > start + 1;
        if has_leading_zero || matches!(self.next(), Some(b'.' | b'e' | b'E')) {
            return Err(Unusual);
        }
        Ok(value)
    }

    fn skip_number(&mut self) -> Result<(), Unusual> {
        if self.next() == Some(b'-') {
            self.at += 1;
        }
        let starts_with_zero = self.next() == Some(b'0');
        let whole = self.skip_digits()?;
        if starts_with_zero && whole > 1 {
            return Err(Unusual);
        }
        if self.next() == Some(b'.') {
            self.at += 1;
            self.skip_digits()?;
        }
        if let Some(b'e' | b'E') = self.next() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.next() {
                self.at += 1;
            }
            self.skip_digits()?;
        }
        Ok(())
    }

    fn skip_digits(&mut self) -> Result<usize, Unusual> {
        let count = self.bytes[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        if count > 0 { Ok(count) } else { Err(Unusual) }
    }

    fn skip_value(&mut self) -> Result<(), Unusual> {
        match self.token()? {
            b'"' => self.skip_string().map(|_| ()),
            b'{' => self.skip_elements(b'}', Self::skip_member),
            b'[' => self.skip_elements(b']', Self::skip_value),
            b't' => self.literal("true"),
            b'f' => self.literal("false"),
            b'n' => self.literal("null"),
            _ => self.skip_number(),
        }
    }

    fn skip_member(&mut self) -> Result<(), Unusual> {
        self.expect_name()?;
        self.skip_string()?;
        self.expect(b':')?;
        self.skip_value()
    }

    fn expect_name(&mut self) -> Result<(), Unusual> {
        if self.token()? == b'"' { Ok(()) } else { Err(Unusual) }
    }

    fn skip_elements(
        &mut self,
        end: u8,
        skip: fn(&mut Self) -> Result<(), Unusual>,
    ) -> Result<(), Unusual> {
        self.descend()?;
        let mut is_first = true;
        while self.has_element(end, &mut is_first)? {
            skip(self)?;
        }
        Ok(())
    }

    fn descend(&mut self) -> Result<(), Unusual> {
        self.at += 1;
        self.depth += 1;
        if self.depth > DEEPEST { Err(Unusual) } else { Ok(()) }
    }

    /// Goes to the next element of a list or an object, or after its end.
    #[inline]
    fn has_element(&mut self, end: u8, is_first: &mut bool) -> Result<bool, Unusual> {
        let is_first = std::mem::replace(is_first, false);
        match self.token()? {
            byte if byte == end => {
                self.at += 1;
                self.depth -= 1;
                Ok(false)
            }
            _ if is_first => Ok(true),
            b',' => {
                self.at += 1;
                // A comma in front of the end is an error.
                if self.token()? == end { Err(Unusual) } else { Ok(true) }
            }
            _ => Err(Unusual),
        }
    }

    fn visit_elements<T>(
        &mut self,
        end: u8,
        visit: impl FnOnce(Elements<'_, 'de>) -> Result<T, Unusual>,
    ) -> Result<T, Unusual> {
        let depth = self.depth;
        self.descend()?;
        let value = visit(Elements { skimmer: self, end, is_first: true, is_over: false })?;
        // A visitor may stop in front of the end.
        if self.depth == depth { Ok(value) } else { Err(Unusual) }
    }

    fn visit_string<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Unusual> {
        let start = self.at;
        let (text, has_escapes) = self.string()?;
        if !has_escapes {
            return visitor.visit_borrowed_str(text);
        }
        let quoted = &self.text[start..self.at];
        let decoded: String = serde_json::from_str(quoted).map_err(|_| Unusual)?;
        visitor.visit_str(&decoded)
    }
}

impl<'de> Deserializer<'de> for &mut Skimmer<'de> {
    type Error = Unusual;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unusual> {
        match self.token()? {
            b'"' => self.visit_string(visitor),
            b'{' => self.visit_elements(b'}', |members| visitor.visit_map(members)),
            b'[' => self.visit_elements(b']', |elements| visitor.visit_seq(elements)),
            b't' => self.literal("true").and_then(|()| visitor.visit_bool(true)),
            b'f' => self.literal("false").and_then(|()| visitor.visit_bool(false)),
            b'n' => self.literal("null").and_then(|()| visitor.visit_unit()),
            b'0'..=b'9' => self.whole_number().and_then(|number| visitor.visit_u64(number)),
            _ => Err(Unusual),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unusual> {
        if self.token()? == b'n' {
            self.literal("null")?;
            return visitor.visit_none();
        }
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Unusual> {
        if name != RAW_VALUE {
            return visitor.visit_newtype_struct(self);
        }
        self.token()?;
        let start = self.at;
        self.skip_value()?;
        visitor.visit_map(RawValue { text: Some(&self.text[start..self.at]) })
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unusual> {
        self.skip_value()?;
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct enum identifier
    }
}

/// The elements of a list or the members of an object.
struct Elements<'s, 'de> {
    skimmer: &'s mut Skimmer<'de>,
    end: u8,
    is_first: bool,
    is_over: bool,
}

impl Elements<'_, '_> {
    /// Goes to the next element. Of a list that is over a visitor may ask again.
    #[inline]
    fn advance(&mut self) -> Result<bool, Unusual> {
        if !self.is_over {
            self.is_over = !self.skimmer.has_element(self.end, &mut self.is_first)?;
        }
        Ok(!self.is_over)
    }
}

impl<'de> SeqAccess<'de> for Elements<'_, 'de> {
    type Error = Unusual;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Unusual> {
        if !self.advance()? {
            return Ok(None);
        }
        seed.deserialize(&mut *self.skimmer).map(Some)
    }
}

impl<'de> MapAccess<'de> for Elements<'_, 'de> {
    type Error = Unusual;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Unusual> {
        if !self.advance()? {
            return Ok(None);
        }
        self.skimmer.expect_name()?;
        let (name, has_escapes) = self.skimmer.string()?;
        if has_escapes {
            return Err(Unusual);
        }
        seed.deserialize(BorrowedStrDeserializer::new(name)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Unusual> {
        self.skimmer.expect(b':')?;
        seed.deserialize(&mut *self.skimmer)
    }
}

/// The text of a value, in the form in which `serde_json::value::RawValue` takes it.
struct RawValue<'de> {
    text: Option<&'de str>,
}

impl<'de> MapAccess<'de> for RawValue<'de> {
    type Error = Unusual;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Unusual> {
        if self.text.is_none() {
            return Ok(None);
        }
        seed.deserialize(BorrowedStrDeserializer::new(RAW_VALUE)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Unusual> {
        seed.deserialize(BorrowedStrDeserializer::new(self.text.take().ok_or(Unusual)?))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::de::IgnoredAny;
    use serde_json::value::RawValue as JsonText;

    use super::super::lenient::{Content, Count, Flag, JsonLength, List, Shape, Text};
    use super::*;

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
        length: JsonLength,
        #[serde(borrow)]
        raw: Option<&'a JsonText>,
        #[serde(borrow)]
        inner: Shape<Box<Sample<'a>>>,
        #[serde(borrow)]
        list: List<Shape<Box<Sample<'a>>>>,
        names: List<IgnoredAny>,
        #[serde(borrow)]
        content: Content<Length, Box<Sample<'a>>>,
    }

    /// What `serde_json` gives of the first value, and where it ends.
    fn of_serde_json(text: &str) -> Option<(String, usize)> {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Sample<'_>>();
        let value = values.next()?.ok()?;
        Some((format!("{value:?}"), values.byte_offset()))
    }

    fn skimmed(text: &str) -> Option<(String, usize)> {
        skim::<Sample<'_>>(text).map(|(value, end)| (format!("{value:?}"), end))
    }

    fn is_usual(text: &str) -> bool {
        let skimmed = skimmed(text);
        assert!(skimmed.is_none() || skimmed == of_serde_json(text), "{text}");
        skimmed.is_some()
    }

    #[test]
    fn usual_lines_are_skimmed() {
        for text in [
            "{}",
            r#"{"text":"a","flag":true,"count":7,"length":[1,{"a":"b"}],"raw":"a\n\"b\"","other":null}"#,
            r#" { "text" : "a\u00e9" , "inner" : { "list" : [ { "count" : 0 } , 3 ] } } {"next":1}"#,
            r#"{"content":"two\twords","names":["a",1.5e-3,-0.0,[[]]],"skipped":"\ud83d alone"}"#,
            r#"{"content":[{"text":"ä€🦀, longer than sixteen bytes"},null,"x"],"flag":false}"#,
            r#"{"text":5,"flag":"true","count":{},"inner":[],"list":7,"content":true}"#,
        ] {
            assert!(is_usual(text), "{text}");
        }
    }

    #[test]
    fn the_rest_is_left_to_serde_json() {
        let deep = format!("{{\"other\":{}1{}}}", "[".repeat(200), "]".repeat(200));
        for text in [
            "",
            "{",
            r#"{"text":"a"#,
            r#"{"text":"a",}"#,
            r#"{"other":[1,]}"#,
            r#"{"text" "a"}"#,
            r#"{"text":"a" "flag":true}"#,
            r#"{"te\u0078t":"a"}"#,
            r#"{"text":"\ud83d"}"#,
            r#"{"other":"\q"}"#,
            r#"{"other":"\u12g4"}"#,
            "{\"other\":\"a\tb\"}",
            "{\"other\":\"sixteen bytes and \u{1f} more\"}",
            r#"{"count":-1}"#,
            r#"{"count":1.5}"#,
            r#"{"count":01}"#,
            r#"{"count":99999999999999999999}"#,
            r#"{"other":01}"#,
            r#"{"other":1.}"#,
            r#"{"other":-}"#,
            r#"{"other":1e}"#,
            r#"{"other":nul}"#,
            r#"{"text":"a","text":"b"}"#,
            r"{1:2}",
            deep.as_str(),
        ] {
            assert!(!is_usual(text), "{text}");
        }
    }

    #[test]
    fn strings_of_every_length_end_where_they_end() {
        for length in 0..70 {
            for special in ["", "\\n", "\\\"", "\\\\", "é", "\\u00e9"] {
                let padding = "x".repeat(length);
                let text = format!(r#"{{"other":"{padding}{special}{padding}","count":{length}}}"#);
                assert!(is_usual(&text), "{text}");
            }
        }
    }

    fn value() -> impl Strategy<Value = serde_json::Value> {
        let text = prop_oneof![
            "[a-z\\\\\"\u{e9}\u{1f980}\n\t/ ]{0,40}",
            Just("text".to_owned()),
            Just("\u{1b}[1m".to_owned()),
        ];
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<u64>().prop_map(Into::into),
            any::<i32>().prop_map(Into::into),
            any::<f64>().prop_map(Into::into),
            text.prop_map(Into::into),
        ];
        let name = prop_oneof![
            4 => prop::sample::select(vec![
                "text", "flag", "count", "length", "raw", "inner", "list", "names", "content",
            ])
            .prop_map(str::to_owned),
            1 => "[a-z\"\\\\]{0,6}",
        ];
        leaf.prop_recursive(5, 40, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
                prop::collection::btree_map(name.clone(), inner, 0..6)
                    .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn what_is_skimmed_is_what_serde_json_reads(value in value()) {
            let text = value.to_string();
            is_usual(&text);
            is_usual(&serde_json::to_string_pretty(&value).expect("JSON"));
        }

        #[test]
        fn damage_is_not_skimmed_over(
            value in value(),
            place in any::<prop::sample::Index>(),
            byte in prop::sample::select(b"\"\\{}[],:0-.eu\x1f nt".to_vec()),
            is_inserted in any::<bool>(),
        ) {
            let mut bytes = value.to_string().into_bytes();
            let place = place.index(bytes.len());
            if is_inserted {
                bytes.insert(place, byte);
            } else {
                bytes[place] = byte;
            }
            if let Ok(text) = String::from_utf8(bytes) {
                is_usual(&text);
            }
        }
    }
}
