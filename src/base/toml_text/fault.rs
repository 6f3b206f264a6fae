//! Something in a configuration file that cannot be used.

use std::borrow::Cow;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{entries, found, line_and_column, quoted};
use crate::base::nearest::{nearest, suggestion};

/// What is wrong, at which byte of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The byte.
    pub(crate) offset: usize,
    /// What is wrong and what to do; nothing of the file stands in it unescaped.
    pub(crate) message: String,
}

/// The same, with the place as editors count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct TomlError {
    /// The file.
    pub file: String,
    /// From 1 on.
    pub line: usize,
    /// In characters, from 1 on.
    pub column: usize,
    /// What is wrong and what to do.
    pub message: String,
}

impl Fault {
    pub(crate) fn at(offset: usize, message: impl Into<String>) -> Self {
        Self { offset, message: message.into() }
    }

    /// A value of another type or out of range; `expected` says what the key takes.
    pub(crate) fn mistyped(key: &str, expected: &str, value: &Spanned<DeValue<'_>>) -> Self {
        let found = found(value.get_ref());
        Self::at(value.span().start, format!("`{key}` is {expected}, not {found}"))
    }

    /// What is wrong in a file of some text.
    pub(crate) fn in_file(self, file: &str, text: &str) -> TomlError {
        let (line, column) = line_and_column(text, self.offset);
        TomlError { file: file.to_owned(), line, column, message: self.message }
    }
}

/// Refuses the first key that is none of those known; `of` says whose keys they are, as in
/// `a budget`.
pub(crate) fn refuse_unknown_keys(
    table: &DeTable<'_>,
    known: &[&str],
    of: &str,
) -> Result<(), Fault> {
    let is_unknown =
        |(key, _): &(&Spanned<Cow<'_, str>>, _)| !known.contains(&key.get_ref().as_ref());
    let Some((key, _)) = entries(table).into_iter().find(is_unknown) else { return Ok(()) };
    let name = key.get_ref();
    let near = suggestion(&nearest(name, known.iter().copied()));
    let message =
        format!("`{}` is no key of {of}{near}; there are {}", quoted(name), known.join(", "));
    Err(Fault::at(key.span().start, message))
}

/// The text that a key has, if it is there.
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

/// The texts that a key has: one, or a list of them.
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
