//! Tables: rows of cells with a delimiter between them, some cells in quotes.
//!
//! A cell is walked through in its place, by the field of its column. Quotes and delimiters stay.

use super::escapes::edit_quoted;
use super::scribe::Scribe;
use super::shape::{Field, Shape};
use super::walk::{Nesting, walk_on};
use crate::read::log::{NOTHING, delimiter};

/// Position of a walk through a table.
#[derive(Default)]
pub(super) struct Table {
    delimiter: Option<u8>,
    /// Kind of the cells of each column.
    columns: Vec<Field>,
    column: usize,
    /// True if a cell in quotes continues on the next line.
    is_quoted: bool,
    has_header: bool,
    nesting: Nesting,
}

impl Table {
    /// Walks through the next line. The first one has the names of the columns.
    pub(super) fn walk(
        &mut self,
        line: &mut [u8],
        columns: &'static Shape,
        scribe: &mut Scribe<'_>,
    ) {
        let between = *self.delimiter.get_or_insert_with(|| delimiter(line).unwrap_or(b','));
        let is_end = |byte: &u8| *byte == between || matches!(byte, b'\r' | b'\n');
        let mut at = 0;
        while at < line.len() || self.is_quoted {
            if self.is_quoted || line[at] == b'"' {
                at += usize::from(!self.is_quoted);
                let length = quoted_length(&line[at..]);
                let is_open = at + length == line.len();
                let cell = &mut line[at..at + length];
                edit_quoted(cell, |cell| self.cell(cell, columns, scribe));
                at = (at + length + 1).min(line.len());
                self.is_quoted = is_open;
                if is_open {
                    return;
                }
            }
            // A cell without quotes, or text after the closing quote of one: both are replaced.
            let length = line[at..].iter().position(is_end).unwrap_or(line.len() - at);
            self.cell(&mut line[at..at + length], columns, scribe);
            at += length;
            if line.get(at) == Some(&between) {
                self.column += 1;
                self.nesting = Nesting::default();
                at += 1;
            } else {
                break;
            }
        }
        self.column = 0;
        self.nesting = Nesting::default();
        self.has_header = true;
    }

    fn cell(&mut self, text: &mut [u8], columns: &'static Shape, scribe: &mut Scribe<'_>) {
        if !self.has_header {
            // A byte order mark precedes some tables.
            let trimmed = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text).trim_ascii();
            if trimmed.is_empty() {
                return;
            }
            let end = text.trim_ascii_end().len();
            let start = end - trimmed.len();
            self.columns.resize(self.column, Field::Free);
            self.columns.push(scribe.name(&mut text[start..end], columns));
            return;
        }
        let field = self.columns.get(self.column).copied().unwrap_or(Field::Free);
        // Readers take these words for a missing value.
        if std::str::from_utf8(text).is_ok_and(|text| NOTHING.contains(&text.trim())) {
            return;
        }
        match field {
            Field::Json(_) => walk_on(text, field, &mut self.nesting, scribe),
            _ => scribe.plain(text, field),
        }
    }
}

/// Length of the inside of a cell in quotes, up to its closing quote.
fn quoted_length(rest: &[u8]) -> usize {
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'"', &rest[at..]) {
        at += found;
        if rest.get(at + 1) != Some(&b'"') {
            return at;
        }
        at += 2;
    }
    rest.len()
}
