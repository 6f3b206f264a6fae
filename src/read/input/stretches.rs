//! Lines of an open source, parsed chunk by chunk: by several threads if the file is large,
//! and joined in file order, so that the result does not depend on the number of threads.
//!
//! Parts that several threads make are passed on in their order, whichever is done first.

use std::collections::VecDeque;
use std::io;
use std::io::Read;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::bounds::{Exceeded, MemoryBound};
use super::discover::Source;
use super::lines::{CHUNK, Chunk, Chunks, LONGEST_LINE};
use super::relined::Form;
use super::{Diagnostics, Kind};

/// Most things that are expected of a source; room for further ones is made later.
const MOST_EXPECTED: usize = 1_000_000;

/// Reads a source line by line, each with its number, and returns the extent. Lines that are too
/// long are left out.
///
/// # Errors
/// The source cannot be opened or read.
pub fn read_lines(source: &Source, mut each: impl FnMut(u64, &[u8])) -> io::Result<Extent> {
    let mut chunks = Chunks::new(source.open()?);
    let mut chunk = Chunk::default();
    while chunks.fill(&mut chunk)? {
        chunk.lines().for_each(|(number, line)| each(number, line));
    }
    Ok(Extent { bytes: chunks.bytes_read(), lines: chunks.lines(), is_cut: false })
}

/// Parsed stretch of lines.
pub(crate) trait Stretch: Send {
    /// Diagnostics of the lines.
    fn diagnostics_mut(&mut self) -> &mut Diagnostics;
}

/// Estimated number of stretches of a source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    stretches: usize,
}

impl Expected {
    /// Number of things in all stretches, estimated from the first one; `None` if there are no others.
    ///
    /// A list with enough room need not be moved when it grows, and room that is not
    /// used takes no memory. (In a hash table it would: its entries are everywhere.)
    pub(crate) fn of_first(self, things: usize) -> Option<usize> {
        let all = || things.saturating_mul(self.stretches).min(MOST_EXPECTED);
        (self.stretches > 1).then(all)
    }
}

/// Source with its first lines read.
pub(crate) struct OpenSource {
    chunks: Chunks<Box<dyn Read + Send>>,
    /// Name to show.
    pub(crate) label: Arc<str>,
    /// Name without folders and endings.
    pub(crate) stem: String,
    /// Location and size.
    source: Source,
    /// Memory that the next source can use.
    spare: Chunk,
}

/// Amount of input that was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Bytes, after decompression.
    pub bytes: u64,
    /// Lines, or rows of a table.
    pub lines: u64,
    /// True if reading ended with an error, so that lines may be missing.
    pub is_cut: bool,
}

impl OpenSource {
    /// Opens a source.
    ///
    /// # Errors
    /// The system cannot open it.
    pub(crate) fn open(source: &Source) -> io::Result<Self> {
        Self::open_into(source, Chunk::default())
    }

    /// Opens a source whose lines are read into the memory of `buffer`.
    ///
    /// # Errors
    /// The system cannot open it.
    pub(crate) fn open_into(source: &Source, buffer: Chunk) -> io::Result<Self> {
        let mut chunks = Chunks::new(source.open()?);
        chunks.peek(buffer);
        let form = chunks.peeked().and_then(|chunk| Form::of(chunk.bytes()));
        let open = Self {
            chunks,
            label: Arc::clone(&source.label),
            stem: source.stem().to_owned(),
            source: source.clone(),
            spare: Chunk::default(),
        };
        match form {
            Some(form) => open.relined(form),
            None => Ok(open),
        }
    }

    /// Returns true if the source begins with a list.
    pub(crate) fn begins_list(&self) -> bool {
        self.first_lines().is_some_and(|chunk| chunk.bytes().trim_ascii_start().starts_with(b"["))
    }

    /// Same source with the objects of a list as its lines.
    ///
    /// # Errors
    /// The system cannot open it once more.
    pub(crate) fn of_list(self) -> io::Result<Self> {
        self.relined(Form::List)
    }

    /// Same source in another form. A pipe stays as it is, since it is read once.
    fn relined(mut self, form: Form) -> io::Result<Self> {
        if !self.source.is_read_once() {
            self.chunks = Chunks::new(form.open(&self.source)?);
            self.chunks.peek(Chunk::default());
        }
        Ok(self)
    }

    /// First lines, which show the format; `None` once they were read.
    pub(crate) fn first_lines(&self) -> Option<&Chunk> {
        self.chunks.peeked()
    }

    /// Names of the folders that the source is in, the nearest first.
    pub(crate) fn folders(&self) -> Vec<String> {
        self.source.folders()
    }

    /// Source itself, for formats that are not read from their beginning to their end.
    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    /// Estimated number of stretches of the source. With bounded memory, room is made only when it
    /// is needed.
    pub(crate) fn expected(&self) -> Expected {
        if MemoryBound::of_process().is_some() {
            return Expected { stretches: 1 };
        }
        let chunks = usize::try_from(self.source.size / CHUNK as u64).unwrap_or(usize::MAX);
        Expected { stretches: chunks.saturating_add(1) }
    }

    /// Memory that the source was read into.
    pub(crate) fn into_buffer(self) -> Chunk {
        self.spare.emptied()
    }

    /// Reads to the end on `threads` threads: `parse` makes a part of each chunk, and `join` gets the parts in file
    /// order.
    pub(crate) fn read<S: Stretch>(
        &mut self,
        threads: usize,
        diagnostics: &mut Diagnostics,
        parse: impl Fn(&Chunk) -> S + Sync,
        join: impl FnMut(S) + Send,
    ) -> Extent {
        let reader = Mutex::new(Reader { chunks: &mut self.chunks, filled: 0, is_cut: false });
        let in_order = InOrder::new(join);
        let label = &self.label;
        let work = |mut buffer: Chunk| {
            loop {
                // A binding of its own, so that the lock is held for no longer than reading takes.
                let filled = locked(&reader).fill(&mut buffer);
                let Some(Filled { number, error }) = filled else { break };
                let mut part = parse(&buffer);
                if let Some((kind, line, detail)) = error {
                    part.diagnostics_mut().add(kind, label, line, detail);
                }
                in_order.add(number, part);
            }
            buffer
        };
        if threads > 1 {
            rayon::scope(|scope| {
                (0..threads).for_each(|_| scope.spawn(|_| drop(work(Chunk::default()))));
            });
        } else {
            // Small files are read on one thread each, which reuses the buffer for the next one.
            self.spare = work(Chunk::default());
        }
        in_order.finish();
        let is_cut = locked(&reader).is_cut;
        self.finish(is_cut, diagnostics)
    }

    /// Reads to the end, line by line: for results that depend on the lines before.
    pub(crate) fn read_in_order(
        &mut self,
        diagnostics: &mut Diagnostics,
        mut each: impl FnMut(u64, &[u8]),
    ) -> Extent {
        let mut buffer = Chunk::default();
        let mut reader = Reader { chunks: &mut self.chunks, filled: 0, is_cut: false };
        while let Some(Filled { error, .. }) = reader.fill(&mut buffer) {
            if let Some((kind, line, detail)) = error {
                diagnostics.add(kind, &self.label, line, detail);
            }
            for (number, line) in buffer.lines() {
                each(number, line);
            }
        }
        let is_cut = reader.is_cut;
        self.finish(is_cut, diagnostics)
    }

    /// Reports the lines that were skipped, and returns the extent.
    fn finish(&self, is_cut: bool, diagnostics: &mut Diagnostics) -> Extent {
        for long in self.chunks.long_lines() {
            let detail = format!("{} bytes; the limit is {LONGEST_LINE}", long.bytes);
            diagnostics.add(Kind::TooLong, &self.label, long.line, detail);
        }
        Extent { bytes: self.chunks.bytes_read(), lines: self.chunks.lines(), is_cut }
    }
}

/// Source of chunks for several threads, in file order.
struct Reader<'a> {
    chunks: &'a mut Chunks<Box<dyn Read + Send>>,
    filled: usize,
    /// True if reading ended with an error.
    is_cut: bool,
}

/// Chunk that was filled.
struct Filled {
    /// Number of the chunk, from 0 on.
    number: usize,
    /// Kind, line and detail of an error that ended reading. The input before it is in this chunk and
    /// the next.
    error: Option<(Kind, u64, String)>,
}

impl Reader<'_> {
    /// Fills a buffer; `None` at the end.
    fn fill(&mut self, buffer: &mut Chunk) -> Option<Filled> {
        let error = match self.chunks.fill(buffer) {
            Ok(true) => None,
            Ok(false) => return None,
            Err(error) => {
                self.is_cut = true;
                Some((
                    Exceeded::kind(&error),
                    self.chunks.lines(),
                    format!(
                        "{error}; what was read before it is used, and the output of the last answer is a lower bound"
                    ),
                ))
            }
        };
        self.filled += 1;
        Some(Filled { number: self.filled - 1, error })
    }
}

/// Queue that passes on numbered parts, from 0 without gaps.
pub(crate) struct InOrder<Part, Join> {
    waiting: Mutex<Waiting<Part>>,
    join: Mutex<Join>,
}

/// Parts that are not passed on yet.
struct Waiting<Part> {
    /// Number of the part that is passed on next.
    next: usize,
    /// Parts from the next one on; `None` is for those that are still to come.
    parts: VecDeque<Option<Part>>,
}

impl<Part> Waiting<Part> {
    fn add(&mut self, number: usize, part: Part) {
        let place = number - self.next;
        while self.parts.len() <= place {
            self.parts.push_back(None);
        }
        self.parts[place] = Some(part);
    }

    /// The next part, if it is there.
    fn take(&mut self) -> Option<Part> {
        let part = self.parts.front_mut()?.take()?;
        self.parts.pop_front();
        self.next += 1;
        Some(part)
    }
}

impl<Part, Join: FnMut(Part)> InOrder<Part, Join> {
    /// Passes parts on to `join`, one at a time, on the thread that adds one.
    pub(crate) fn new(join: Join) -> Self {
        let waiting = Waiting { next: 0, parts: VecDeque::new() };
        Self { waiting: Mutex::new(waiting), join: Mutex::new(join) }
    }

    /// Adds a part, and passes on the parts that are next.
    pub(crate) fn add(&self, number: usize, part: Part) {
        locked(&self.waiting).add(number, part);
        self.join_ready();
    }

    /// Passes on the rest when all threads are done.
    pub(crate) fn finish(self) {
        // A part may have come in while another thread was about to let go of the joiner.
        self.join_ready();
    }

    /// Passes on the parts that are next. If another thread does so already, it continues, and this
    /// one need not wait.
    fn join_ready(&self) {
        let Ok(mut join) = self.join.try_lock() else { return };
        loop {
            // The parts are locked for the removal alone, and others may add some during the join.
            let part = locked(&self.waiting).take();
            let Some(part) = part else { break };
            join(part);
        }
    }
}

/// Waits for a lock. A panic of another thread is passed on by the scope; the value that it held is not used
/// again.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_passed_on_in_order_whichever_comes_first() {
        let mut passed = Vec::new();
        let in_order = InOrder::new(|part| passed.push(part));
        in_order.add(1, "b");
        in_order.add(0, "a");
        in_order.add(3, "d");
        in_order.add(2, "c");
        in_order.finish();
        assert_eq!(passed, ["a", "b", "c", "d"]);
    }

    #[test]
    fn threads_that_add_at_once_lose_nothing() {
        let mut passed = Vec::new();
        let in_order = InOrder::new(|part: usize| passed.push(part));
        std::thread::scope(|scope| {
            for first in 0..4 {
                let in_order = &in_order;
                let own = (first..1_000).step_by(4);
                scope.spawn(move || own.for_each(|part| in_order.add(part, part)));
            }
        });
        in_order.finish();
        assert!(passed.into_iter().eq(0..1_000));
    }
}
