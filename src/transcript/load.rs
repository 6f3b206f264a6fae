//! One source → its entries.

use std::sync::Arc;

use super::entry::{Entry, remap_symbols};
use super::parse::{LineParser, ParsedLines};
use super::title::Title;
use crate::id::Symbols;
use crate::input::{Diagnostics, Extent, Kind, OpenSource, Source, Stretch};

/// The content of one file.
#[derive(Debug)]
pub struct Transcript {
    /// The file's name.
    pub label: Arc<str>,
    /// The file's name without folders and endings.
    pub stem: String,
    /// Its entries in file order.
    pub entries: Vec<Entry>,
    /// The titles in it, in file order; `None` where none are kept.
    pub titles: Option<Vec<Title>>,
    /// The strings the entries name.
    pub symbols: Symbols,
    /// What was rejected or repaired.
    pub diagnostics: Diagnostics,
    /// Bytes read, after decompression.
    pub bytes: u64,
    /// Lines read.
    pub lines: u64,
}

/// Reads a whole source as a transcript, holding no more of its text than a few chunks, and keeping
/// none.
#[must_use]
pub fn load(source: &Source) -> Transcript {
    match OpenSource::open(source) {
        Ok(open) => load_open(open, false),
        Err(error) => {
            let mut joined = ParsedLines::default();
            joined.diagnostics.add(Kind::UnreadableFile, &source.label, 0, error.to_string());
            finish(joined, Arc::clone(&source.label), source.stem().to_owned(), Extent::default())
        }
    }
}

/// Reads an open source as a transcript, with the titles in it where they are wanted.
pub(crate) fn load_open(mut open: OpenSource, keeps_titles: bool) -> Transcript {
    let label = Arc::clone(&open.label);
    let mut joined = ParsedLines::default();
    let extent = open.read(&mut joined, |chunk| {
        let mut parser = LineParser::new(&label, keeps_titles);
        for (number, line) in chunk.lines() {
            parser.line(line, number);
        }
        parser.finish()
    });
    reject_foreign(&mut joined, &label);
    let titles = keeps_titles.then(|| std::mem::take(&mut joined.titles));
    Transcript { titles, ..finish(joined, label, open.stem, extent) }
}

fn finish(joined: ParsedLines, label: Arc<str>, stem: String, extent: Extent) -> Transcript {
    Transcript {
        label,
        stem,
        entries: joined.entries,
        titles: None,
        symbols: joined.symbols,
        diagnostics: joined.diagnostics,
        bytes: extent.bytes,
        lines: extent.lines,
    }
}

impl Stretch for ParsedLines {
    fn diagnostics_mut(&mut self) -> &mut Diagnostics {
        &mut self.diagnostics
    }

    fn append(&mut self, part: Self) {
        self.native += part.native;
        self.objects += part.objects;
        self.titles.extend(part.titles);
        self.diagnostics.absorb(part.diagnostics);
        if self.entries.is_empty() {
            self.entries = part.entries;
            self.symbols = part.symbols;
            return;
        }
        let moved = self.symbols.absorb(&part.symbols);
        self.entries.extend(part.entries.into_iter().map(|mut entry| {
            remap_symbols(&mut entry, &moved);
            entry
        }));
    }
}

/// A file in which no object is a Claude Code line belongs to another program.
fn reject_foreign(joined: &mut ParsedLines, label: &Arc<str>) {
    if joined.native > 0 || joined.objects == 0 {
        return;
    }
    joined.entries.clear();
    joined.titles.clear();
    let detail = "no line of this file is a transcript's, a capture's or a bundle's";
    joined.diagnostics.add(Kind::ForeignFormat, label, 0, detail);
    joined.diagnostics.add_count(Kind::ForeignFormat, joined.objects - 1);
}
