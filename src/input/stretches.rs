//! The lines of an open source, parsed chunk by chunk: in parallel where the file is large, and
//! joined in file order, so that the result does not depend on the number of threads.

use std::io::{self, Read};
use std::sync::Arc;

use rayon::prelude::*;

use super::diagnostics::{Diagnostics, Kind};
use super::format::Format;
use super::lines::{Chunk, Chunks, LONGEST_LINE};
use super::source::Source;

/// What a stretch of lines gives.
pub(crate) trait Stretch: Send {
    /// Puts what a later stretch gave behind this one.
    fn append(&mut self, later: Self);

    /// What was wrong with the lines.
    fn diagnostics_mut(&mut self) -> &mut Diagnostics;
}

/// A source with its first lines read and its format known.
pub(crate) struct OpenSource {
    chunks: Chunks<Box<dyn Read + Send>>,
    pub(crate) format: Format,
    /// The name shown.
    pub(crate) label: Arc<str>,
    /// The name without folders and endings.
    pub(crate) stem: String,
    threads: usize,
}

/// How much was read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extent {
    /// Bytes, after decompression.
    pub(crate) bytes: u64,
    /// Lines.
    pub(crate) lines: u64,
}

impl OpenSource {
    /// Opens a source.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn open(source: &Source) -> io::Result<Self> {
        let mut chunks = Chunks::new(source.open()?);
        let format = Format::of(chunks.peek());
        Ok(Self {
            chunks,
            format,
            label: Arc::clone(&source.label),
            stem: source.stem().to_owned(),
            threads: if source.is_large() { rayon::current_num_threads().max(1) } else { 1 },
        })
    }

    /// Reads to the end: `parse` makes of each chunk what is then joined onto `joined`.
    pub(crate) fn read<S: Stretch>(
        &mut self,
        joined: &mut S,
        parse: impl Fn(&Chunk) -> S + Sync,
    ) -> Extent {
        let mut buffers: Vec<Chunk> = (0..self.threads).map(|_| Chunk::default()).collect();
        let mut is_over = false;
        while !is_over {
            let filled;
            (filled, is_over) = self.fill(&mut buffers, joined.diagnostics_mut());
            let parsed: Vec<S> = buffers[..filled].par_iter().map(&parse).collect();
            for part in parsed {
                joined.append(part);
            }
        }
        self.finish(joined.diagnostics_mut())
    }

    /// Reads to the end, line by line: for what depends on the lines before.
    pub(crate) fn read_in_order(
        &mut self,
        diagnostics: &mut Diagnostics,
        mut each: impl FnMut(u64, &[u8]),
    ) -> Extent {
        let mut buffer = [Chunk::default()];
        let mut is_over = false;
        while !is_over {
            let filled;
            (filled, is_over) = self.fill(&mut buffer, diagnostics);
            for (number, line) in buffer[..filled].iter().flat_map(Chunk::lines) {
                each(number, line);
            }
        }
        self.finish(diagnostics)
    }

    /// Names the lines that were skipped, and says how much was read.
    fn finish(&self, diagnostics: &mut Diagnostics) -> Extent {
        for long in self.chunks.long_lines() {
            let detail = format!("{} bytes; the limit is {LONGEST_LINE}", long.bytes);
            diagnostics.add(Kind::TooLong, &self.label, long.line, detail);
        }
        Extent { bytes: self.chunks.bytes_read(), lines: self.chunks.lines() }
    }

    /// Fills buffers, and says how many and whether nothing follows.
    fn fill(&mut self, buffers: &mut [Chunk], diagnostics: &mut Diagnostics) -> (usize, bool) {
        for (filled, buffer) in buffers.iter_mut().enumerate() {
            match self.chunks.fill(buffer) {
                Ok(true) => {}
                Ok(false) => return (filled, true),
                Err(error) => {
                    let detail = format!("{error}; what was read before it is used");
                    let line = self.chunks.lines();
                    diagnostics.add(Kind::UnreadableFile, &self.label, line, detail);
                    return (filled + 1, false);
                }
            }
        }
        (buffers.len(), false)
    }
}
