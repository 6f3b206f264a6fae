//! Formats that keep a session as one JSON document.

use serde::Deserialize;
use serde_json::error::Category;

use super::{AgentFile, AgentFormat, FirstObject, Layout};
use crate::read::input::{Diagnostics, Kind, Malformed, OpenSource, repaired_value};

/// Format whose files are one JSON value each.
pub(super) trait DocumentFormat {
    /// Fields that are read.
    type Document<'a>: Deserialize<'a>;

    /// Description of the file, for people.
    const FILE: &'static str;

    /// Layout by which redaction finds the fields to keep.
    const LAYOUT: Option<Layout> = None;

    /// Returns true if a file with these first members has the format.
    ///
    /// They are the members of its object, or of the first object of its list.
    fn recognises(first: &FirstObject<'_>) -> bool;

    /// Reads the document.
    fn document(document: &Self::Document<'_>, file: &mut AgentFile);
}

/// Entry of a [`DocumentFormat`] in the list of formats.
pub(super) const fn documents<F: DocumentFormat>() -> AgentFormat {
    AgentFormat {
        recognises: F::recognises,
        file: F::FILE,
        layout: F::LAYOUT,
        is_document: |_| true,
        read: read_document::<F>,
    }
}

/// Reads a file that is one JSON value.
pub(super) fn read_document<F: DocumentFormat>(open: &mut OpenSource) -> AgentFile {
    let mut file = AgentFile::of(open);
    let mut diagnostics = Diagnostics::default();
    let mut bytes = Vec::with_capacity(usize::try_from(open.source().size).unwrap_or(0));
    file.extent = open.read_in_order(&mut diagnostics, |_, line| {
        bytes.extend_from_slice(line);
        bytes.push(b'\n');
    });
    file.diagnostics.absorb(diagnostics);
    let Ok(text) = simdutf8::basic::from_utf8(&bytes) else {
        file.reject(Kind::NotUtf8, 0, "the file is skipped");
        return file;
    };
    let text = text.trim_start_matches('\u{feff}').trim();
    let mut repaired = None;
    match repaired_value::<F::Document<'_>>(text, &mut repaired) {
        Ok(document) => F::document(&document, &mut file),
        Err(Malformed { category, line, column, is_long }) => {
            let kind = match category {
                _ if is_long => Kind::TooLong,
                Category::Eof => Kind::TornLine,
                _ => Kind::NotJson,
            };
            let detail = format!("bad JSON at column {column}; the file is skipped");
            file.reject(kind, line as u64, detail);
        }
    }
    file
}
