//! One source → its entries.

use std::io;
use std::sync::Arc;

use super::entry::{Entry, ResponseLine, move_entry, move_response_line};
use super::parse::{LineParser, ParsedLines};
use super::title::Title;
use crate::id::{Moved, Symbols};
use crate::input::{Chunk, Diagnostics, Extent, Kind, OpenSource, Source, Stretch};

/// No more entries than this are expected of a file; what it has beyond is made room for later.
const MOST_EXPECTED: usize = 1_000_000;

/// The content of one file.
#[derive(Debug)]
pub struct Transcript {
    /// The file's name.
    pub label: Arc<str>,
    /// The file's name without folders and endings.
    pub stem: String,
    /// Its entries in file order.
    pub entries: Vec<Entry>,
    /// What the entries that are lines of responses hold, in their order.
    pub response_lines: Vec<ResponseLine>,
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
    let mut response_lines = Vec::new();
    let transcript = match OpenSource::open(source) {
        Ok(mut open) => load_open(&mut open, 1, false, |_, lines| response_lines.extend(lines)),
        Err(error) => unreadable(source, &error),
    };
    Transcript { response_lines, ..transcript }
}

/// A transcript of nothing, which names the source and what the system says.
pub(crate) fn unreadable(source: &Source, error: &io::Error) -> Transcript {
    let mut joined = ParsedLines::default();
    joined.diagnostics.add(Kind::UnreadableFile, &source.label, 0, error.to_string());
    finish(joined, Arc::clone(&source.label), source.stem().to_owned(), Extent::default())
}

/// Reads an open source as a transcript with so many threads, with the titles in it where they are
/// wanted. The lines of responses are not kept: whenever one of the threads has just read some
/// entries, `on_entries` is called with all so far and with the lines of responses among those that it
/// was not called with before, in file order.
pub(crate) fn load_open(
    open: &mut OpenSource,
    threads: usize,
    keeps_titles: bool,
    mut on_entries: impl FnMut(&[Entry], Vec<ResponseLine>) + Send,
) -> Transcript {
    let label = Arc::clone(&open.label);
    let mut joined = ParsedLines::default();
    let mut diagnostics = Diagnostics::default();
    let parse = |chunk: &Chunk| {
        let mut parser = LineParser::new(&label, keeps_titles);
        for (number, line) in chunk.lines() {
            parser.line(line, number);
        }
        parser.finish()
    };
    let expected_chunks = open.expected_chunks();
    let extent = open.read(threads, &mut diagnostics, parse, |part| {
        joined.expect(part.entries.len(), expected_chunks);
        joined.append(part);
        let lines = std::mem::take(&mut joined.response_lines);
        on_entries(&joined.entries, lines);
    });
    joined.diagnostics.absorb(diagnostics);
    reject_foreign(&mut joined, &label);
    let titles = keeps_titles.then(|| std::mem::take(&mut joined.titles));
    Transcript { titles, ..finish(joined, label, open.stem.clone(), extent) }
}

fn finish(joined: ParsedLines, label: Arc<str>, stem: String, extent: Extent) -> Transcript {
    Transcript {
        label,
        stem,
        entries: joined.entries,
        response_lines: joined.response_lines,
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
}

impl ParsedLines {
    /// Makes room for the first stretch and for those after it, so that entries need not be moved
    /// when there are more. Room that is not used takes no memory.
    fn expect(&mut self, entries: usize, stretches: usize) {
        if self.entries.capacity() == 0 && stretches > 1 {
            let expected = entries.saturating_mul(stretches).min(MOST_EXPECTED);
            self.entries.reserve_exact(expected);
        }
    }

    /// Puts what later lines hold behind these.
    fn append(&mut self, part: Self) {
        self.native += part.native;
        self.objects += part.objects;
        self.titles.extend(part.titles);
        self.diagnostics.absorb(part.diagnostics);
        let moved = self.symbols.absorb(part.symbols);
        put_behind(&mut self.entries, part.entries, &moved, move_entry);
        put_behind(&mut self.response_lines, part.response_lines, &moved, move_response_line);
    }
}

/// Puts more behind a list, with its symbols moved. What is put behind nothing is not copied.
fn put_behind<T>(
    list: &mut Vec<T>,
    mut more: Vec<T>,
    moved: &Moved,
    move_symbols: impl Fn(&mut T, &Moved),
) {
    if !moved.is_nowhere() {
        more.iter_mut().for_each(|one| move_symbols(one, moved));
    }
    if list.capacity() == 0 {
        *list = more;
    } else {
        list.append(&mut more);
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
