//! One source → its entries. Lines are parsed in parallel where a file is large, and joined in
//! file order, so the result does not depend on the number of threads.

use std::sync::Arc;

use rayon::prelude::*;

use super::entry::{Entry, remap_symbols};
use super::parse::{LineParser, ParsedLines};
use crate::id::Symbols;
use crate::input::{Chunk, Chunks, Diagnostics, Kind, LONGEST_LINE, Source};

/// The content of one file.
#[derive(Debug)]
pub struct Transcript {
    /// The file's name.
    pub label: Arc<str>,
    /// The file's name without folders and endings.
    pub stem: String,
    /// Its entries in file order.
    pub entries: Vec<Entry>,
    /// The strings the entries name.
    pub symbols: Symbols,
    /// What was rejected or repaired.
    pub diagnostics: Diagnostics,
    /// Bytes read, after decompression.
    pub bytes: u64,
    /// Lines read.
    pub lines: u64,
}

/// Reads a whole source, holding no more of its text than a few chunks.
#[must_use]
pub fn load(source: &Source) -> Transcript {
    let label = Arc::clone(&source.label);
    let mut joined = Joined::default();
    let (bytes, lines) = match source.open() {
        Ok(reader) => {
            let threads = if source.is_large() { rayon::current_num_threads() } else { 1 };
            read_chunks(Chunks::new(reader), &label, threads, &mut joined)
        }
        Err(error) => {
            joined.diagnostics.add(Kind::UnreadableFile, &label, 0, error.to_string());
            (0, 0)
        }
    };
    joined.reject_foreign(&label);
    Transcript {
        stem: source.stem().to_owned(),
        label,
        entries: joined.entries,
        symbols: joined.symbols,
        diagnostics: joined.diagnostics,
        bytes,
        lines,
    }
}

fn read_chunks<R: std::io::Read>(
    mut chunks: Chunks<R>,
    label: &Arc<str>,
    threads: usize,
    joined: &mut Joined,
) -> (u64, u64) {
    let mut buffers: Vec<Chunk> = (0..threads.max(1)).map(|_| Chunk::default()).collect();
    let mut is_over = false;
    let mut named = 0;
    while !is_over {
        let mut filled = 0;
        for buffer in &mut buffers {
            match chunks.fill(buffer) {
                Ok(true) => filled += 1,
                Ok(false) => {
                    is_over = true;
                    break;
                }
                Err(error) => {
                    let detail = format!("{error}; what was read before it is used");
                    joined.diagnostics.add(Kind::UnreadableFile, label, chunks.lines(), detail);
                    filled += 1;
                    break;
                }
            }
        }
        let parsed: Vec<ParsedLines> = buffers[..filled]
            .par_iter()
            .map(|chunk| {
                let mut parser = LineParser::new(label);
                for (number, line) in chunk.lines() {
                    parser.line(line, number);
                }
                parser.finish()
            })
            .collect();
        for part in parsed {
            joined.append(part);
        }
        for long in &chunks.long_lines()[named..] {
            let detail = format!("{} bytes; the limit is {LONGEST_LINE}", long.bytes);
            joined.diagnostics.add(Kind::TooLong, label, long.line, detail);
        }
        named = chunks.long_lines().len();
    }
    (chunks.bytes_read(), chunks.lines())
}

/// Parsed stretches put together again.
#[derive(Default)]
struct Joined {
    entries: Vec<Entry>,
    symbols: Symbols,
    diagnostics: Diagnostics,
    native: u64,
    objects: u64,
}

impl Joined {
    fn append(&mut self, part: ParsedLines) {
        self.native += part.native;
        self.objects += part.objects;
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

    /// A file in which no object is a Claude Code line belongs to another program.
    fn reject_foreign(&mut self, label: &Arc<str>) {
        if self.native > 0 || self.objects == 0 {
            return;
        }
        self.entries.clear();
        let detail = "no line of this file is one of a Claude Code transcript";
        self.diagnostics.add(Kind::ForeignFormat, label, 0, detail);
        self.diagnostics.add_count(Kind::ForeignFormat, self.objects - 1);
    }
}
