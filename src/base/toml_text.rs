//! Reading of the program's TOML files: errors with a line and a column, tables in the order of the file, and values as
//! messages quote them.

use std::borrow::Cow;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::order::Order as _;
use crate::base::wording::{nearest, suggestion};

/// An error at a byte of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Offset in bytes.
    pub(crate) offset: usize,
    /// Error and remedy. Quotes of the file are escaped.
    pub(crate) message: String,
}

/// An error in a file, with its line and column.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct TomlError {
    /// Name of the file.
    pub file: String,
    /// Line, from 1 on.
    pub line: usize,
    /// Column in characters, from 1 on.
    pub column: usize,
    /// Error and remedy.
    pub message: String,
}

impl Fault {
    pub(crate) fn at(offset: usize, message: impl Into<String>) -> Self {
        Self { offset, message: message.into() }
    }

    /// Error for a value of another type or out of range. `expected` is the phrase for a valid value.
    pub(crate) fn mistyped(key: &str, expected: &str, value: &Spanned<DeValue<'_>>) -> Self {
        let found = found(value.get_ref());
        Self::at(value.span().start, format!("`{key}` is {expected}, not {found}"))
    }

    /// Adds the file, line and column to a fault.
    pub(crate) fn in_file(self, file: &str, text: &str) -> TomlError {
        let (line, column) = line_and_column(text, self.offset);
        TomlError { file: file.to_owned(), line, column, message: self.message }
    }
}

/// Parses a file.
pub(crate) fn parsed(text: &str) -> Result<Spanned<DeTable<'_>>, Fault> {
    DeTable::parse(text)
        .map_err(|error| Fault::at(error.span().map_or(0, |span| span.start), error.message()))
}

/// Refuses the first unknown key. `of` is the owner of the keys, as in `a budget`.
pub(crate) fn refuse_unknown_keys(
    table: &DeTable<'_>,
    known: &[&str],
    of: &str,
) -> Result<(), Fault> {
    let is_unknown =
        |(key, _): &(&Spanned<Cow<'_, str>>, _)| !known.contains(&key.get_ref().as_ref());
    let Some((key, _)) = entries(table).into_iter().find(is_unknown) else { return Ok(()) };
    Err(Fault::at(key.span().start, no_key(key.get_ref(), known, of)))
}

/// Message for an unknown key.
pub(crate) fn no_key(key: &str, known: &[&str], of: &str) -> String {
    format!("`{}` is no key of {of}{}", quoted(key), instead(key, known))
}

/// Message for an unknown word.
pub(crate) fn unknown(word: &str, known: &[&str]) -> String {
    format!("`{}` is unknown{}", quoted(word), instead(word, known))
}

/// The names most like a wrong one, and all that there are.
fn instead(name: &str, known: &[&str]) -> String {
    let near = suggestion(&nearest(name, known.iter().copied()));
    format!("{near}; there are {}", known.join(", "))
}

/// Text of a key, with its offset, if the key is present.
pub(crate) fn text<'a>(
    table: &'a DeTable<'_>,
    key: &str,
) -> Result<Option<(&'a str, usize)>, Fault> {
    let Some(value) = table.get(key) else { return Ok(None) };
    match value.get_ref().as_str() {
        Some(text) => Ok(Some((text, value.span().start))),
        None => Err(Fault::mistyped(key, "a text", value)),
    }
}

/// Texts of a key, with their offsets: one text, or a list.
pub(crate) fn texts(table: &DeTable<'_>, key: &str) -> Result<Vec<(String, usize)>, Fault> {
    const EXPECTED: &str = "a text or a list of texts";
    let Some(value) = table.get(key) else { return Ok(Vec::new()) };
    let one = |value: &Spanned<DeValue<'_>>| match value.get_ref().as_str() {
        Some(text) => Ok((text.to_owned(), value.span().start)),
        None => Err(Fault::mistyped(key, EXPECTED, value)),
    };
    match value.get_ref().as_array() {
        Some(values) => values.iter().map(one).collect(),
        None => one(value).map(|text| vec![text]),
    }
}

/// Line and column (in characters) of a byte, both from 1 on.
pub(crate) fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    (line, before[line_start..].chars().count() + 1)
}

/// Key and value.
pub(crate) type Entry<'a, 'i> = (&'a Spanned<Cow<'i, str>>, &'a Spanned<DeValue<'i>>);

/// Entries of a table in the order of the file.
pub(crate) fn entries<'a, 'i>(table: &'a DeTable<'i>) -> Vec<Entry<'a, 'i>> {
    // The parser's table is not in that order, and the first error of a file should be reported.
    let mut entries: Vec<_> = table.iter().collect();
    entries.order_by_key(|(key, _)| key.span().start);
    entries
}

/// Text of a file, shortened and escaped for a message.
pub(crate) fn quoted(text: &str) -> String {
    const MOST: usize = 80;
    let escaped: String = text.chars().take(MOST).flat_map(char::escape_debug).collect();
    if text.chars().nth(MOST).is_some() { format!("{escaped}…") } else { escaped }
}

/// A value as names and messages write it.
pub(crate) fn written(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => quoted(text),
        DeValue::Integer(integer) => quoted(&integer.to_string()),
        DeValue::Float(float) => quoted(&float.to_string()),
        DeValue::Boolean(is) => is.to_string(),
        DeValue::Array(places) => {
            let places: Vec<&str> =
                places.iter().filter_map(|place| place.get_ref().as_str()).collect();
            quoted(&places.join("+"))
        }
        DeValue::Datetime(_) | DeValue::Table(_) => value.type_str().to_owned(),
    }
}

/// A value of the wrong type, as a message names it.
pub(crate) fn found(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(_) => format!("\"{}\"", written(value)),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
        other => written(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one() {
        let text = "ab\r\nçd\n\nx";
        assert_eq!(line_and_column(text, 0), (1, 1));
        assert_eq!(line_and_column(text, 6), (2, 2), "behind a character of two bytes");
        assert_eq!(line_and_column(text, 8), (3, 1));
        assert_eq!(line_and_column(text, text.len()), (4, 2));
        assert_eq!(line_and_column(text, 99), (4, 2), "behind the end is the end");
    }
}
