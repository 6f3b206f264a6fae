//! Deserialiser for JSON with few wanted fields: the values between them are skipped at
//! the speed of memory, and strings are borrowed.
//!
//! It returns the values that `serde_json` returns. The error of a text that is not JSON comes from `serde_json`,
//! which reads it as any value: types are compiled for this deserialiser alone, as each further one copies all of a
//! type's code.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::{BorrowedStrDeserializer, MapAccessDeserializer, StrDeserializer};
use serde::de::{
    self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde::{Deserialize, forward_to_deserialize_any};
use serde_json::error::Category;
use wide::{CmpEq, CmpLt, i8x32};

use super::lenient::replace_lone_surrogates;

/// Name under which `serde_json` asks for the text of a value, a private constant of that crate:
/// `raw_values_are_asked_for_by_this_name` fails if another version has another name.
const RAW_VALUE: &str = "$serde_json::private::RawValue";

/// Deepest nesting of values that are read, as in `serde_json`.
const DEEPEST: u32 = 127;

/// Deepest nesting of values that are skipped by recursion. `serde_json` skips deeper ones, with a stack of its own.
const DEEPEST_SKIPPED: u32 = 64;

/// Number of bytes that are compared together.
const BLOCK: usize = 32;

/// True for a byte that is an escape behind a backslash.
const ESCAPED: [bool; 256] = {
    let mut escaped = [false; 256];
    let mut bytes: &[u8] = b"\"\\/bfnrt";
    while let [byte, rest @ ..] = bytes {
        escaped[*byte as usize] = true;
        bytes = rest;
    }
    escaped
};

/// Least number of digits of a number that may be beyond 64 bits.
const FEWEST_BEYOND: usize = 20;

/// Reason why a text cannot be read, and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed {
    /// `Eof` if the text ends too early, `Syntax` if it is not JSON, `Data` if it is JSON of another type or has a
    /// key twice.
    pub(crate) category: Category,
    /// Number of the line, from 1 on.
    pub(crate) line: usize,
    /// Bytes of the line in front of the place.
    pub(crate) column: usize,
    /// True for a list of more elements than are read.
    pub(crate) is_long: bool,
}

impl Malformed {
    fn new(text: &str, fault: Fault, at: usize) -> Self {
        // A repeated key is reported at its colon, as by `serde_json`.
        let rest = text.as_bytes()[at..].trim_ascii_start();
        let is_key = fault == Fault::Data && rest.starts_with(b":");
        let at = if is_key { text.len() - rest.len() } else { at };
        let before = &text.as_bytes()[..at];
        let line = memchr::memchr_iter(b'\n', before).count() + 1;
        let column = at - memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
        let is_json = fault != Fault::Syntax;
        let category = if is_json { Category::Data } else { Category::Syntax };
        let here = Self { category, line, column, is_long: fault == Fault::Long };
        if is_json {
            return here;
        }
        match serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>().next() {
            Some(Err(error)) => {
                // `serde_json` does not say if a number that it skips is torn.
                let is_torn = at == text.len() && !text.ends_with(|one: char| one.is_ascii_digit());
                let category = if is_torn { Category::Eof } else { error.classify() };
                Self { category, line: error.line(), column: error.column(), ..here }
            }
            None => Self { category: Category::Eof, ..here },
            // Half a character, a number out of range, or deep nesting: errors only in values that are read.
            Some(Ok(_)) => here,
        }
    }
}

/// Reads the only value of a text. Half a character in it is replaced in the memory of `repaired`.
///
/// # Errors
/// The text has no value, another one, or several, for another reason than half a character.
pub(crate) fn repaired_value<'t, T: Deserialize<'t>>(
    text: &'t str,
    repaired: &'t mut Option<String>,
) -> Result<T, Malformed> {
    let read = only_value(text);
    if read.is_ok() {
        return read;
    }
    *repaired = replace_lone_surrogates(text);
    repaired.as_deref().map_or(read, only_value)
}

/// Reads the only value of a text.
///
/// # Errors
/// The text has no value, another one, or several.
pub(crate) fn only_value<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, Malformed> {
    let (value, end) = first_value(text)?;
    let rest = text[end..].trim_start_matches([' ', '\n', '\t', '\r']);
    if rest.is_empty() {
        return Ok(value);
    }
    Err(Malformed::new(text, Fault::Syntax, text.len() - rest.len() + 1))
}

/// First value of a text, and its end.
///
/// # Errors
/// The text does not begin with a value, or with one of another type.
pub(super) fn first_value<'de, T: Deserialize<'de>>(
    text: &'de str,
) -> Result<(T, usize), Malformed> {
    let mut skimmer =
        Skimmer { text, bytes: text.as_bytes(), at: 0, depth: 0, is_left_early: false };
    match T::deserialize(&mut skimmer) {
        Ok(_) if skimmer.is_left_early => Err(Malformed::new(text, Fault::Syntax, skimmer.at)),
        Ok(value) => Ok((value, skimmer.at)),
        Err(fault) => Err(Malformed::new(text, fault, skimmer.at)),
    }
}

/// Fault of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// Not JSON.
    Syntax,
    /// JSON of another type.
    Data,
    /// A list of more elements than are read.
    Long,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::Syntax { "no JSON" } else { "other JSON" })
    }
}

impl std::error::Error for Fault {}

impl de::Error for Fault {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self::Data
    }

    // The words of these errors are never shown, so the arguments need no formatting.
    fn invalid_type(_: Unexpected<'_>, _: &dyn de::Expected) -> Self {
        Self::Data
    }

    fn invalid_length(_: usize, _: &dyn de::Expected) -> Self {
        Self::Long
    }

    fn unknown_variant(_: &str, _: &'static [&'static str]) -> Self {
        Self::Data
    }
}

/// Returns true if an escape goes on as that of a code of four digits.
#[cold]
fn is_code(escaped: &[u8]) -> bool {
    let digits = escaped.strip_prefix(b"u").and_then(|digits| digits.get(..4));
    digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
}

/// Number as visitors take it.
enum Number {
    Whole(u64),
    BelowZero(i64),
    Fraction(f64),
}

/// Bits of those bytes that end a string, escape, or are not allowed in one.
fn telling(block: &[u8; BLOCK]) -> u32 {
    // Cast as a whole: a loop over the bytes is fast only if it is optimised across modules.
    let block: i8x32 = bytemuck::cast(*block);
    let escape = i8x32::splat(b'\\'.cast_signed());
    // A quote differs from a space in one bit: with it turned, the quote is a space, the space is not, and control
    // characters are below. The comparison has a sign, so the highest bit is turned, too.
    let (turned, end) = (i8x32::splat(TURNED), i8x32::splat(((b' ' + 1) ^ 0x80).cast_signed()));
    ((block ^ turned).cmp_lt(end) | block.cmp_eq(escape)).move_mask().cast_unsigned()
}

/// Bits turned before the comparison of [`telling`].
const TURNED: i8 = (b'"' ^ b' ' ^ 0x80).cast_signed();

struct Skimmer<'de> {
    text: &'de str,
    bytes: &'de [u8],
    at: usize,
    depth: u32,
    /// True if a visitor stopped before the end of a list or an object, which is an error.
    is_left_early: bool,
}

impl<'de> Skimmer<'de> {
    fn next(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Next byte that is not white space.
    fn token(&mut self) -> Result<u8, Fault> {
        while let Some(byte) = self.next() {
            if !matches!(byte, b' ' | b'\n' | b'\t' | b'\r') {
                return Ok(byte);
            }
            self.at += 1;
        }
        Err(Fault::Syntax)
    }

    fn expect(&mut self, byte: u8) -> Result<(), Fault> {
        if self.token()? != byte {
            return Err(Fault::Syntax);
        }
        self.at += 1;
        Ok(())
    }

    fn literal(&mut self, literal: &str) -> Result<(), Fault> {
        if !self.bytes[self.at..].starts_with(literal.as_bytes()) {
            return Err(Fault::Syntax);
        }
        self.at += literal.len();
        Ok(())
    }

    /// Skips a string whose quote was seen. Returns true if it has escapes.
    fn skip_string(&mut self) -> Result<bool, Fault> {
        let mut rest = self.bytes.get(self.at + 1..).unwrap_or_default();
        let mut has_escapes = false;
        let mut padded;
        while !rest.is_empty() {
            let block = if let Some(block) = rest.first_chunk::<BLOCK>() {
                block
            } else {
                padded = [b' '; BLOCK];
                padded[..rest.len()].copy_from_slice(rest);
                &padded
            };
            let mut next = BLOCK;
            let mut telling = telling(block);
            while telling != 0 {
                // The remainder says that it is an index of the block.
                let place = telling.trailing_zeros() as usize % BLOCK;
                match block[place] {
                    b'\\' => {}
                    b'"' => {
                        self.at = self.bytes.len() - rest.len() + place + 1;
                        return Ok(has_escapes);
                    }
                    _ => {
                        self.at = self.bytes.len() - rest.len() + place;
                        return Err(Fault::Syntax);
                    }
                }
                has_escapes = true;
                let escaped = if place + 1 < BLOCK {
                    block[place + 1]
                } else {
                    next = BLOCK + 1;
                    rest.get(BLOCK).copied().unwrap_or_default()
                };
                if !ESCAPED[usize::from(escaped)] && !is_code(&rest[place + 1..]) {
                    self.at = self.bytes.len() - rest.len() + place;
                    return Err(Fault::Syntax);
                }
                telling &= !(0b11 << place);
            }
            rest = rest.get(next..).unwrap_or_default();
        }
        self.at = self.bytes.len();
        Err(Fault::Syntax)
    }

    /// String whose quote was seen.
    fn string(&mut self) -> Result<Cow<'de, str>, Fault> {
        let start = self.at;
        let has_escapes = self.skip_string()?;
        if has_escapes {
            let decoded = serde_json::from_str(&self.text[start..self.at]);
            return decoded.map(Cow::Owned).map_err(|_| Fault::Syntax);
        }
        Ok(Cow::Borrowed(&self.text[start + 1..self.at - 1]))
    }

    /// Number. Short whole ones without a sign, as nearly all are, are read here.
    fn number(&mut self) -> Result<Number, Fault> {
        let start = self.at;
        let mut value = 0_u64;
        while let Some(digit @ b'0'..=b'9') = self.next() {
            // May wrap: numbers with too many digits are read again below.
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            self.at += 1;
        }
        let digits = self.at - start;
        let is_plain = digits > 0 && !matches!(self.next(), Some(b'.' | b'e' | b'E'));
        let has_leading_zero = self.bytes[start] == b'0' && digits > 1;
        if is_plain && digits < FEWEST_BEYOND && !has_leading_zero {
            return Ok(Number::Whole(value));
        }
        // Signs, fractions, leading zeros and long numbers are left to `serde_json`.
        self.at = start;
        self.skip_number()?;
        let number: serde_json::Number =
            serde_json::from_str(&self.text[start..self.at]).map_err(|_| Fault::Syntax)?;
        let below_zero = number.as_i64().map(Number::BelowZero);
        let whole = number.as_u64().map(Number::Whole).or(below_zero);
        whole.or_else(|| number.as_f64().map(Number::Fraction)).ok_or(Fault::Syntax)
    }

    fn skip_number(&mut self) -> Result<(), Fault> {
        if self.next() == Some(b'-') {
            self.at += 1;
        }
        let starts_with_zero = self.next() == Some(b'0');
        let whole = self.skip_digits()?;
        if starts_with_zero && whole > 1 {
            return Err(Fault::Syntax);
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

    fn skip_digits(&mut self) -> Result<usize, Fault> {
        let count = self.bytes[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        if count > 0 { Ok(count) } else { Err(Fault::Syntax) }
    }

    fn skip_value(&mut self) -> Result<(), Fault> {
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

    fn skip_member(&mut self) -> Result<(), Fault> {
        self.expect_name()?;
        self.skip_string()?;
        self.expect(b':')?;
        self.skip_value()
    }

    fn expect_name(&mut self) -> Result<(), Fault> {
        if self.token()? == b'"' { Ok(()) } else { Err(Fault::Syntax) }
    }

    fn skip_elements(
        &mut self,
        end: u8,
        skip: fn(&mut Self) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        if self.depth >= DEEPEST_SKIPPED {
            return self.skip_deep();
        }
        self.descend();
        let mut is_first = true;
        while self.has_element(end, &mut is_first)? {
            skip(self)?;
        }
        Ok(())
    }

    /// Skips a list or an object without recursion.
    fn skip_deep(&mut self) -> Result<(), Fault> {
        let rest = &self.text[self.at..];
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<IgnoredAny>();
        let is_skipped = values.next().is_some_and(|value| value.is_ok());
        self.at += values.byte_offset();
        if is_skipped { Ok(()) } else { Err(Fault::Syntax) }
    }

    fn descend(&mut self) {
        self.at += 1;
        self.depth += 1;
    }

    /// Moves to the next element of a list or an object, or behind its end.
    #[inline]
    fn has_element(&mut self, end: u8, is_first: &mut bool) -> Result<bool, Fault> {
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
                // A comma before the end is an error.
                if self.token()? == end { Err(Fault::Syntax) } else { Ok(true) }
            }
            _ => Err(Fault::Syntax),
        }
    }

    /// Moves to the elements of a list or an object whose bracket was seen. Returns its depth.
    fn enter(&mut self) -> Result<u32, Fault> {
        let depth = self.depth;
        if depth == DEEPEST {
            return Err(Fault::Syntax);
        }
        self.descend();
        Ok(depth)
    }

    /// Records if a visitor stopped before the end of the elements.
    fn leave(&mut self, depth: u32) {
        self.is_left_early |= self.depth != depth;
    }

    /// Next value, or the kind of the next one if it has elements: its bracket is still ahead.
    fn found(&mut self) -> Result<Found<'de>, Fault> {
        Ok(match self.token()? {
            b'"' => Found::Text(self.string()?),
            b'{' => Found::Object,
            b'[' => Found::List,
            b't' => self.literal("true").map(|()| Found::Flag(true))?,
            b'f' => self.literal("false").map(|()| Found::Flag(false))?,
            b'n' => self.literal("null").map(|()| Found::Null)?,
            b'-' | b'0'..=b'9' => Found::Number(self.number()?),
            _ => return Err(Fault::Syntax),
        })
    }

    fn visit_object<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Fault> {
        let depth = self.enter()?;
        let value = visitor.visit_map(Elements::new(self, b'}'));
        self.leave(depth);
        value
    }

    fn visit_list<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Fault> {
        let depth = self.enter()?;
        let value = visitor.visit_seq(Elements::new(self, b']'));
        self.leave(depth);
        value
    }

    /// Error for a value of another type, or for a text without a value.
    fn other<T>(&mut self) -> Result<T, Fault> {
        // Damage inside a value of another type is still an error of syntax.
        self.skip_value()?;
        Err(Fault::Data)
    }
}

/// Value that a visitor is given.
enum Found<'de> {
    Text(Cow<'de, str>),
    Number(Number),
    Flag(bool),
    Null,
    Object,
    List,
}

/// String, as a name or a value.
struct Quoted<'de>(Cow<'de, str>);

impl<'de> Deserializer<'de> for Quoted<'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0 {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_str(&text),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier
        ignored_any
    }
}

impl<'de> Deserializer<'de> for &mut Skimmer<'de> {
    type Error = Fault;

    // Compiled for each type that is read: what needs no visitor is done by [`Skimmer::found`].
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.found()? {
            Found::Text(text) => Quoted(text).deserialize_any(visitor),
            Found::Number(Number::Whole(value)) => visitor.visit_u64(value),
            Found::Number(Number::BelowZero(value)) => visitor.visit_i64(value),
            Found::Number(Number::Fraction(value)) => visitor.visit_f64(value),
            Found::Flag(value) => visitor.visit_bool(value),
            Found::Null => visitor.visit_unit(),
            Found::Object => self.visit_object(visitor),
            Found::List => self.visit_list(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
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
    ) -> Result<V::Value, Fault> {
        if name != RAW_VALUE {
            return visitor.visit_newtype_struct(self);
        }
        self.token()?;
        let start = self.at;
        self.skip_value()?;
        visitor.visit_map(RawValue { text: Some(&self.text[start..self.at]) })
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.skip_value()?;
        visitor.visit_unit()
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if self.token()? == b'{' { self.visit_object(visitor) } else { self.other() }
    }

    /// Reads an object: a list is not taken for the members in their order.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.deserialize_map(visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if self.token()? == b'[' { self.visit_list(visitor) } else { self.other() }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if self.token()? == b'"' {
            Quoted(self.string()?).deserialize_any(visitor)
        } else {
            self.other()
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_str(visitor)
    }

    /// Reads a word, or an object with a member by the name of the variant.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self.token()? {
            b'"' => {
                let word = self.string()?;
                visitor.visit_enum(StrDeserializer::new(&word))
            }
            b'{' => {
                let depth = self.enter()?;
                let members = MapAccessDeserializer::new(Elements::new(self, b'}'));
                let value = visitor.visit_enum(members)?;
                // A variant is the only member.
                let has_more = self.depth > depth && self.has_element(b'}', &mut false)?;
                if has_more { Err(Fault::Data) } else { Ok(value) }
            }
            _ => self.other(),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit
        unit_struct tuple tuple_struct identifier
    }
}

/// Elements of a list, or members of an object.
struct Elements<'s, 'de> {
    skimmer: &'s mut Skimmer<'de>,
    end: u8,
    is_first: bool,
    is_over: bool,
}

impl<'s, 'de> Elements<'s, 'de> {
    fn new(skimmer: &'s mut Skimmer<'de>, end: u8) -> Self {
        Self { skimmer, end, is_first: true, is_over: false }
    }

    /// Moves to the next element. A visitor may ask again after the end.
    #[inline]
    fn advance(&mut self) -> Result<bool, Fault> {
        if !self.is_over {
            self.is_over = !self.skimmer.has_element(self.end, &mut self.is_first)?;
        }
        Ok(!self.is_over)
    }

    /// Name of the next member.
    #[inline]
    fn next_name(&mut self) -> Result<Option<Quoted<'de>>, Fault> {
        if !self.advance()? {
            return Ok(None);
        }
        self.skimmer.expect_name()?;
        self.skimmer.string().map(|name| Some(Quoted(name)))
    }
}

impl<'de> SeqAccess<'de> for Elements<'_, 'de> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Fault> {
        if !self.advance()? {
            return Ok(None);
        }
        seed.deserialize(&mut *self.skimmer).map(Some)
    }
}

impl<'de> MapAccess<'de> for Elements<'_, 'de> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Fault> {
        match self.next_name()? {
            Some(name) => seed.deserialize(name).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        self.skimmer.expect(b':')?;
        seed.deserialize(&mut *self.skimmer)
    }
}

/// Text of a value, in the form that `serde_json::value::RawValue` takes.
struct RawValue<'de> {
    text: Option<&'de str>,
}

impl<'de> MapAccess<'de> for RawValue<'de> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Fault> {
        if self.text.is_none() {
            return Ok(None);
        }
        seed.deserialize(BorrowedStrDeserializer::new(RAW_VALUE)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        seed.deserialize(BorrowedStrDeserializer::new(self.text.take().ok_or(Fault::Syntax)?))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
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

    type Read = Result<(String, usize), Malformed>;

    /// First value as `serde_json` reads it, and its end.
    fn of_serde_json(text: &str) -> Read {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Sample<'_>>();
        let value = values.next().unwrap_or_else(|| serde_json::from_str(text));
        let malformed = |error: serde_json::Error| Malformed {
            category: error.classify(),
            line: error.line(),
            column: error.column(),
            is_long: false,
        };
        let value = value.map_err(malformed)?;
        Ok((format!("{value:?}"), values.byte_offset()))
    }

    /// Reads the first value as `serde_json` does. Returns true if there is one.
    fn is_read(text: &str) -> bool {
        // Readers want objects; `serde_json` would take a list for the members in their order.
        if !text.trim_start().starts_with('{') {
            return first_value::<Sample<'_>>(text).is_ok();
        }
        let mut read =
            first_value::<Sample<'_>>(text).map(|(value, end)| (format!("{value:?}"), end));
        let mut expected = of_serde_json(text);
        // For text that is not JSON the place is the one that `serde_json` reports for any value.
        if let (Err(read), Err(expected)) = (&mut read, &mut expected)
            && expected.category == Category::Syntax
        {
            (read.line, read.column) = (expected.line, expected.column);
            // `serde_json` calls a number that it skips wrong even if the text ends in the middle of it.
            if text.ends_with(['.', 'e', 'E', '+', '-']) {
                expected.category = read.category;
            }
        }
        assert_eq!(read, expected, "{text}");
        read.is_ok()
    }

    #[test]
    fn lines_are_read_as_by_serde_json() {
        let deep = format!("{{\"other\":{}1{}}}", "[".repeat(200), "]".repeat(200));
        for text in [
            "{}",
            r#"{"text":"a","flag":true,"count":7,"length":[1,{"a":"b"}],"raw":"a\n\"b\"","other":null}"#,
            r#" { "text" : "a\u00e9" , "inner" : { "list" : [ { "count" : 0 } , 3 ] } } {"next":1}"#,
            r#"{"content":"two\twords","names":["a",1.5e-3,-0.0,[[]]],"skipped":"\ud83d alone"}"#,
            r#"{"content":[{"text":"ä€🦀, longer than sixteen bytes"},null,"x"],"flag":false}"#,
            r#"{"text":5,"flag":"true","count":{},"inner":[],"list":7,"content":true}"#,
            r#"{"te\u0078t":"a"}"#,
            r#"{"count":-1}"#,
            r#"{"count":1.5}"#,
            r#"{"count":18446744073709551615}"#,
            r#"{"count":99999999999999999999}"#,
            r#"{"count":1.7976931348623157e308,"raw":-0.10e+7}"#,
            deep.as_str(),
        ] {
            assert!(is_read(text), "{text}");
        }
    }

    #[test]
    fn torn_numbers_end_too_early() {
        for text in [r#"{"other":1."#, r#"{"other":-"#, r#"{"count":2e"#, r#"{"list":[3E+"#] {
            let category = first_value::<Sample<'_>>(text).err().map(|fault| fault.category);
            assert_eq!(category, Some(Category::Eof), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_what_serde_json_says() {
        let lists = format!("{{\"list\":{}1{}}}", "[".repeat(200), "]".repeat(200));
        let objects = format!("{}1{}", r#"{"inner":"#.repeat(200), "}".repeat(200));
        for text in [
            "",
            "{",
            r#"{"text":"a"#,
            r#"{"text":"a",}"#,
            r#"{"other":[1,]}"#,
            r#"{"text" "a"}"#,
            r#"{"text":"a" "flag":true}"#,
            r#"{"text":"\ud83d"}"#,
            r#"{"other":"\q"}"#,
            r#"{"other":"\u12g4"}"#,
            "{\"other\":\"a\tb\"}",
            "{\"other\":\"sixteen bytes and \u{1f} more\"}",
            r#"{"count":01}"#,
            r#"{"count":1e999}"#,
            r#"{"other":01}"#,
            r#"{"other":1.}"#,
            r#"{"other":-}"#,
            r#"{"other":1e}"#,
            r#"{"other":nul}"#,
            r#"{"text":"a","text":"b"}"#,
            "{\"text\":\"a\",\n \"text\" :\"b\"}",
            r"{1:2}",
            objects.as_str(),
            &lists[..lists.len() - 1],
        ] {
            assert!(!is_read(text), "{text}");
        }
    }

    #[test]
    fn a_list_is_no_object_and_a_word_is_a_variant() {
        #[derive(Debug, Deserialize, PartialEq)]
        #[serde(rename_all = "snake_case")]
        enum Word {
            One,
            Two(u8),
        }
        let read = only_value::<Vec<Word>>(r#" ["one", {"two": 2}] "#);
        assert_eq!(read.expect("words"), [Word::One, Word::Two(2)]);
        let category = |text| only_value::<Word>(text).expect_err("no word").category;
        assert_eq!(category(r#""three""#), Category::Data);
        assert_eq!(category("7"), Category::Data);
        assert_eq!(category(r#""one" "one""#), Category::Syntax);
        assert_eq!(only_value::<Sample<'_>>("[]").expect_err("a list").category, Category::Data);
    }

    /// Deserialiser that fails with the name of the struct it is asked for.
    struct Asked;

    impl<'de> Deserializer<'de> for Asked {
        type Error = de::value::Error;

        fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
            Err(de::Error::custom("no struct"))
        }

        fn deserialize_newtype_struct<V: Visitor<'de>>(
            self,
            name: &'static str,
            _: V,
        ) -> Result<V::Value, Self::Error> {
            Err(de::Error::custom(name))
        }

        forward_to_deserialize_any! {
            bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
            option unit unit_struct seq tuple tuple_struct map struct enum identifier ignored_any
        }
    }

    #[test]
    fn raw_values_are_asked_for_by_this_name() {
        let asked = <&JsonText>::deserialize(Asked).expect_err("no value");
        assert_eq!(asked.to_string(), RAW_VALUE, "serde_json has renamed its private constant");
    }

    #[test]
    fn strings_of_every_length_end_where_they_end() {
        for length in 0..70 {
            for special in ["", "\\n", "\\\"", "\\\\", "é", "\\u00e9"] {
                let padding = "x".repeat(length);
                let text = format!(r#"{{"other":"{padding}{special}{padding}","count":{length}}}"#);
                assert!(is_read(&text), "{text}");
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
        fn all_values_are_those_of_serde_json(value in value()) {
            is_read(&value.to_string());
            is_read(&serde_json::to_string_pretty(&value).expect("JSON"));
        }

        #[test]
        fn damage_is_what_serde_json_says(
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
                is_read(&text);
            }
        }
    }
}
