//! Rows of a JSON log: one per line, a list of rows, or an answer of an API, with the rows in its member `data`.
//! Answers may also be lines: one for each page that was asked for.

use std::marker::PhantomData;
use std::sync::Arc;

use serde::Deserialize;

use super::document::Document;
use super::elements::each_element;
use super::{Log, LogReader};
use crate::read::agent::Rejected;
use crate::read::begins_document;
use crate::read::capture::CaptureOptions;
use crate::read::input::{Diagnostics, Extent, Kind, ObjectReader, OpenSource};

/// Format with a request in each row.
pub(super) trait RowFormat {
    /// Fields of a row that are read.
    type Row<'a>: Deserialize<'a>;

    /// Description of the file for people: "a HAR file".
    const FILE: &'static str;

    /// Adds the request of a row; `line` is its line, or its number in a document.
    ///
    /// # Errors
    /// The row has no request, or it cannot be used.
    fn row(log: &mut LogReader<'_>, row: &Self::Row<'_>, line: u64) -> Result<(), Rejected>;
}

/// Reader of the rows of a format.
pub(super) struct RowReader<'a, F> {
    pub(super) log: LogReader<'a>,
    format: PhantomData<fn() -> F>,
}

impl<'a, F: RowFormat> RowReader<'a, F> {
    pub(super) fn new(log: LogReader<'a>) -> Self {
        Self { log, format: PhantomData }
    }
}

impl<F: RowFormat> ObjectReader for RowReader<'_, F> {
    type Object<'a> = F::Row<'a>;
    const FILE: &'static str = F::FILE;

    fn object(&mut self, row: &F::Row<'_>, _: &str, line: u64) {
        if let Err((kind, detail)) = F::row(&mut self.log, row, line) {
            self.log.reject(kind, line, detail);
        }
    }

    fn reject(&mut self, kind: Kind, line: u64, detail: impl Into<String>) {
        self.log.reject(kind, line, detail);
    }
}

/// Reads a log of rows to its end.
pub(super) fn read_log<F: RowFormat>(open: &mut OpenSource, options: &CaptureOptions) -> Log {
    let label = Arc::clone(&open.label);
    let mut reader = RowReader::<F>::new(LogReader::new(open, &label, options));
    let mut diagnostics = Diagnostics::default();
    let extent = read_rows(open, &mut diagnostics, &mut reader);
    reader.log.file.diagnostics.absorb(diagnostics);
    reader.log.finish(open, extent)
}

/// Reads a log that is one document to its end: the rows of the list at one of these paths. A text that is no JSON
/// becomes it by `as_json`.
pub(super) fn read_document<F: RowFormat>(
    open: &mut OpenSource,
    options: &CaptureOptions,
    paths: &[&[&str]],
    as_json: fn(&str) -> Result<String, Rejected>,
) -> Log {
    let label = Arc::clone(&open.label);
    let mut reader = RowReader::<F>::new(LogReader::new(open, &label, options));
    let mut diagnostics = Diagnostics::default();
    let document = Document::read(open, &mut diagnostics);
    let text = document.text(open, &mut diagnostics);
    let converted = (!text.starts_with('{')).then(|| as_json(text));
    let text = match &converted {
        None => text,
        Some(Ok(json)) => json,
        Some(Err((kind, detail))) => {
            reader.log.reject(*kind, 1, *detail);
            ""
        }
    };
    // Of several lists a file has one.
    let is_there = |path: &&&[&str]| path.iter().all(|name| text.contains(name));
    if let Some(path) = paths.iter().find(is_there) {
        rows_at(text, path, &mut reader, |number| number);
    }
    reader.log.file.diagnostics.absorb(diagnostics);
    reader.log.finish(open, document.extent)
}

/// Path to the rows in an API's answer.
const IN_ANSWER: [&str; 1] = ["data"];

/// Passes the rows of a source to a reader, each with the number of its line, or its number in a document.
pub(super) fn read_rows(
    open: &mut OpenSource,
    diagnostics: &mut Diagnostics,
    reader: &mut impl ObjectReader,
) -> Extent {
    // Only a document is held as a whole: its rows may span lines.
    if open.first_lines().is_some_and(begins_document) {
        let document = Document::read(open, diagnostics);
        let text = document.text(open, diagnostics);
        document_rows(text, reader);
        return document.extent;
    }
    open.read_in_order(diagnostics, |number, line| match str::from_utf8(line) {
        Ok(text) if rows_of_answer(text).is_some() => {
            rows_at(text, &IN_ANSWER, reader, |_| number);
        }
        _ => reader.line(line, number),
    })
}

/// Reads a document: a list, an answer, or a row that spans lines.
fn document_rows(text: &str, reader: &mut impl ObjectReader) {
    if text.starts_with('[') {
        rows_at(text, &[], reader, |number| number);
    } else if rows_of_answer(text).is_some() {
        rows_at(text, &IN_ANSWER, reader, |number| number);
    } else {
        reader.text(text, 1);
    }
}

fn rows_at(
    text: &str,
    path: &[&str],
    reader: &mut impl ObjectReader,
    line_of: impl Fn(u64) -> u64,
) {
    let mut number = 0;
    let read = each_element(text, path, |row| {
        number += 1;
        reader.text(row, line_of(number));
    });
    if let Err(error) = read {
        let kind = if error.is_eof() { Kind::TornLine } else { Kind::NotJson };
        let detail = format!("bad JSON at column {}; the rows before it are used", error.column());
        reader.reject(kind, line_of(error.line() as u64), detail);
    }
}

/// Text of an API's answer from its list of rows on; `None` for any other text.
pub(super) fn rows_of_answer(text: &str) -> Option<&str> {
    let members = text.trim_start_matches('\u{feff}').trim_start().strip_prefix('{')?;
    let behind_name = members.trim_start().strip_prefix("\"data\"")?;
    let rows = behind_name.trim_start().strip_prefix(':')?.trim_start();
    rows.starts_with('[').then_some(rows)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::read::input::{Count, Source};

    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Row {
        n: Count,
    }

    #[derive(Default)]
    struct Numbers {
        read: Vec<(u64, Count)>,
        rejected: Vec<Kind>,
    }

    impl ObjectReader for Numbers {
        type Object<'a> = Row;
        const FILE: &'static str = "a list of numbers";

        fn object(&mut self, row: &Row, _: &str, line: u64) {
            self.read.push((line, row.n));
        }

        fn reject(&mut self, kind: Kind, _: u64, _: impl Into<String>) {
            self.rejected.push(kind);
        }
    }

    fn read(text: &str) -> Numbers {
        let mut open = OpenSource::open(&Source::in_memory("log.json", text.as_bytes()))
            .expect("bytes in memory");
        let mut numbers = Numbers::default();
        read_rows(&mut open, &mut Diagnostics::default(), &mut numbers);
        numbers
    }

    #[test]
    fn rows_are_read_however_they_stand() {
        let rows = [(1, Count::Value(1)), (2, Count::Value(2))];
        for text in [
            "{\"n\":1}\n{\"n\":2}\n",
            "[{\"n\":1},{\"n\":2}]",
            "\u{feff}[\n{\"n\":1},\n{\"n\":2}\n]\n",
            "{\n \"data\": [{\"n\":1}, {\"n\":2}], \"total\": 2\n}",
            "{\"data\":[{\"n\":1}]}\n{\"data\":[{\"n\":2}],\"page\":2}",
        ] {
            let read = read(text);
            assert_eq!(read.read, rows, "{text}");
            assert!(read.rejected.is_empty(), "{text}: {:?}", read.rejected);
        }
        assert_eq!(read("{\n\"n\": 3\n}").read, [(1, Count::Value(3))]);
    }

    #[test]
    fn rows_in_front_of_damage_are_used() {
        let torn = read("[\n{\"n\":1},\n{\"n\":");
        assert_eq!((torn.read.len(), torn.rejected), (1, vec![Kind::TornLine]));
        let damaged = read("[{\"n\":1},\n4,\n{\"n\":2} x]");
        assert_eq!(damaged.read.len(), 2);
        assert_eq!(damaged.rejected, [Kind::NotAnObject, Kind::NotJson]);
    }
}
