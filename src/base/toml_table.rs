//! Tables of the program's TOML files, as serde reads them: in the order of the file, with errors that have a place, the
//! key and the nearest known names.

use std::fmt;

use serde::de::value::{BorrowedStrDeserializer, MapAccessDeserializer, SeqDeserializer};
use serde::de::{
    self, Deserialize, DeserializeSeed, Expected, IntoDeserializer, MapAccess, Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use super::toml_text::{Entry, Fault, entries, found, no_key, unknown};

/// Reads a table. `of` is the owner of its keys, as in `a budget`.
pub(crate) fn read<'a, T: Deserialize<'a>>(
    table: &'a DeTable<'a>,
    offset: usize,
    of: &str,
) -> Result<T, Fault> {
    T::deserialize(MapAccessDeserializer::new(Entries::of(table)))
        .map_err(|problem: Problem| problem.fault(offset, of))
}

/// Offset of a dotted key's value, or of the first value if it is a table.
pub(crate) fn place(table: &DeTable<'_>, key: &str) -> Option<usize> {
    let (first, rest) =
        key.split_once('.').map_or((key, None), |(first, rest)| (first, Some(rest)));
    let value = table.get(first)?;
    match (rest, value.get_ref()) {
        (Some(rest), DeValue::Table(table)) => place(table, rest),
        (Some(_), _) => None,
        (None, DeValue::Table(table)) => {
            let (first, _) = *entries(table).first()?;
            place(table, first.get_ref())
        }
        (None, _) => Some(value.span().start),
    }
}

/// Error on its way from a value to the table that is read; it gains its place and its key on the way.
#[derive(Debug)]
struct Problem {
    offset: Option<usize>,
    /// Keys down to the value, the innermost first.
    keys: Vec<String>,
    kind: ProblemKind,
}

#[derive(Debug)]
enum ProblemKind {
    /// Words about the key's value.
    Value(String),
    /// Kind of value that is expected.
    Mistyped(String),
    /// Missing key of the table.
    Missing(&'static str),
    /// The innermost key is not one of these.
    UnknownKey(&'static [&'static str]),
}

impl Problem {
    fn new(kind: ProblemKind) -> Self {
        Self { offset: None, keys: Vec::new(), kind }
    }

    fn mistyped(expected: impl fmt::Display) -> Self {
        Self::new(ProblemKind::Mistyped(expected.to_string()))
    }

    /// Adds the place, unless the problem is deeper in the value.
    fn at(mut self, value: &Spanned<DeValue<'_>>) -> Self {
        if self.offset.is_none() {
            self.offset = Some(value.span().start);
            if let ProblemKind::Mistyped(expected) = self.kind {
                let found = found(value.get_ref());
                self.kind = ProblemKind::Value(format!(" is {expected}, not {found}"));
            }
        }
        self
    }

    fn fault(mut self, offset: usize, of: &str) -> Fault {
        let offset = self.offset.unwrap_or(offset);
        let last = match self.kind {
            ProblemKind::UnknownKey(_) => self.keys.drain(..1).next(),
            _ => None,
        };
        self.keys.reverse();
        let path = self.keys.join(".");
        let owner = if path.is_empty() { of.to_owned() } else { format!("`{path}`") };
        let message = match (self.kind, last) {
            (ProblemKind::UnknownKey(known), Some(key)) => no_key(&key, known, &owner),
            (ProblemKind::Missing(key), _) => format!("{owner} needs `{key}`"),
            (ProblemKind::Value(words) | ProblemKind::Mistyped(words), _) => {
                format!("{owner}{words}")
            }
            (ProblemKind::UnknownKey(_), None) => format!("{owner} has an unknown key"),
        };
        Fault::at(offset, message)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.kind)
    }
}

impl std::error::Error for Problem {}

impl de::Error for Problem {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(ProblemKind::Value(format!(": {message}")))
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::mistyped(expected)
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::mistyped(expected)
    }

    fn unknown_variant(word: &str, known: &'static [&'static str]) -> Self {
        Self::custom(unknown(word, known))
    }

    fn unknown_field(_: &str, known: &'static [&'static str]) -> Self {
        Self::new(ProblemKind::UnknownKey(known))
    }

    fn missing_field(key: &'static str) -> Self {
        Self::new(ProblemKind::Missing(key))
    }
}

#[derive(Clone, Copy)]
struct Node<'a>(&'a Spanned<DeValue<'a>>);

impl<'a> IntoDeserializer<'a, Problem> for Node<'a> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> de::Deserializer<'de> for Node<'de> {
    type Error = Problem;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.0.get_ref() {
            DeValue::String(text) => visitor.visit_borrowed_str(text),
            DeValue::Integer(number) => visit_integer(number, visitor),
            DeValue::Float(number) => {
                visitor.visit_f64(number.as_str().parse().unwrap_or(f64::NAN))
            }
            DeValue::Boolean(is) => visitor.visit_bool(*is),
            DeValue::Datetime(moment) => visitor.visit_string(moment.to_string()),
            DeValue::Array(values) => {
                visitor.visit_seq(SeqDeserializer::new(values.iter().map(Node)))
            }
            DeValue::Table(table) => visitor.visit_map(Entries::of(table)),
        }
        .map_err(|problem| problem.at(self.0))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.0.get_ref() {
            DeValue::Boolean(is) => visitor.visit_bool(*is),
            _ => Err(Problem::mistyped("true or false")),
        }
        .map_err(|problem| problem.at(self.0))
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.0.get_ref() {
            DeValue::String(text) => visitor.visit_borrowed_str(text),
            _ => Err(Problem::mistyped(&visitor as &dyn Expected)),
        }
        .map_err(|problem| problem.at(self.0))
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.0.get_ref() {
            DeValue::String(text) => visitor.visit_borrowed_str(text),
            _ => Err(Problem::mistyped("a text")),
        }
        .map_err(|problem| problem.at(self.0))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.0.get_ref() {
            DeValue::Array(_) => self.deserialize_any(visitor),
            _ => Err(Problem::mistyped("a list").at(self.0)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        match self.0.get_ref() {
            DeValue::Table(table) => visitor.visit_map(Entries::of(table)),
            _ => Err(Problem::mistyped("a table")),
        }
        .map_err(|problem| problem.at(self.0))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        match self.0.get_ref() {
            DeValue::String(word) => visitor.visit_enum(BorrowedStrDeserializer::new(word)),
            _ => Err(Problem::mistyped(format!("one of {}", words.join(", ")))),
        }
        .map_err(|problem| problem.at(self.0))
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct tuple
        tuple_struct map identifier ignored_any
    }
}

fn visit_integer<'a, V: Visitor<'a>>(
    number: &DeInteger<'_>,
    visitor: V,
) -> Result<V::Value, Problem> {
    // TOML also has hexadecimal, octal and binary numbers.
    let (digits, radix) = (number.as_str(), number.radix());
    match (u64::from_str_radix(digits, radix), i64::from_str_radix(digits, radix)) {
        (Ok(number), _) => visitor.visit_u64(number),
        (_, Ok(number)) => visitor.visit_i64(number),
        // Larger than any number that a key takes.
        _ => Err(Problem::mistyped(&visitor as &dyn Expected)),
    }
}

/// Entries of a table in the order of the file.
struct Entries<'a> {
    entries: std::vec::IntoIter<Entry<'a, 'a>>,
    /// Entry whose value comes next.
    next: Option<Entry<'a, 'a>>,
}

impl<'a> Entries<'a> {
    fn of(table: &'a DeTable<'a>) -> Self {
        Self { entries: entries(table).into_iter(), next: None }
    }
}

impl<'a> MapAccess<'a> for Entries<'a> {
    type Error = Problem;

    fn next_key_seed<K: DeserializeSeed<'a>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Problem> {
        self.next = self.entries.next();
        let Some((key, _)) = self.next else { return Ok(None) };
        let read = seed.deserialize(BorrowedStrDeserializer::new(key.get_ref()));
        read.map(Some).map_err(|mut problem: Problem| {
            problem.offset = Some(key.span().start);
            if matches!(problem.kind, ProblemKind::UnknownKey(_)) {
                problem.keys.push(key.get_ref().to_string());
            }
            problem
        })
    }

    fn next_value_seed<T: DeserializeSeed<'a>>(&mut self, seed: T) -> Result<T::Value, Problem> {
        let missing = || <Problem as de::Error>::custom("a key without a value");
        let (key, value) = self.next.take().ok_or_else(missing)?;
        seed.deserialize(Node(value)).map_err(|problem| {
            let mut problem = problem.at(value);
            problem.keys.push(key.get_ref().to_string());
            problem
        })
    }
}
