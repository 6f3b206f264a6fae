//! Chunks of a stream of bytes that end at line borders, within a fixed memory limit.

use std::io::{self, Read};

/// Longest line that is read, in bytes. Images of 20 MB make longer lines than any text does.
pub(crate) const LONGEST_LINE: usize = 64 * 1024 * 1024;

/// Bytes read at a time: few enough that they are still in a core's own cache when they are parsed.
pub(crate) const CHUNK: usize = 512 * 1024;

/// Room for a chunk and the beginning of a usual line that the last chunk did not end, in bytes.
const LARGEST_ROOM: usize = CHUNK + CHUNK / 4;

/// First room for a file of unknown size, in bytes. Most are small, and room is cleared before it is read into.
const FIRST_ROOM: usize = 32 * 1024;

/// Beginnings of lines that no reader looks into, and that can be most of a file: copies of edited
/// files. (A client writes the type first.) If such a line does not fit into a chunk, it is
/// skipped without being held, and only its beginning is passed on.
const SKIPPED_BEGINNINGS: [&str; 2] =
    [r#"{"type":"file-history-snapshot""#, r#"{"type":"attribution-snapshot""#];

/// Beginnings of files without lines, for which a chunk is enough: `SQLite` databases and Parquet.
const WITHOUT_LINES: [&[u8]; 2] = [b"SQLite format 3\0", b"PAR1"];

/// Beginnings of documents that may be one line of any length: lists, answers of APIs, HAR files. Their readers
/// open the source once more; the part that was read is enough to choose one.
const ONE_LINE: [&[u8]; 3] = [b"[", b"{\"data\"", b"{\"log\""];

/// Largest buffer that is kept for other lines, in bytes. A larger one grew for a long line.
const LARGEST_SPARE: usize = 4 * CHUNK;

/// Whole lines of a file, and their numbers. The memory is used again.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    bytes: Vec<u8>,
    /// Number of `bytes` that were read; the rest is room.
    filled: usize,
    /// Number of them in whole lines; the rest belongs to the next chunk.
    complete: usize,
    /// Number of the chunk's first line, from 1 on.
    first_line: u64,
}

impl Chunk {
    /// Lines with their numbers, without newlines.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let bytes = &self.bytes[..self.complete];
        let body = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let mut start = (!bytes.is_empty()).then_some(0);
        let mut number = self.first_line;
        std::iter::from_fn(move || {
            let from = start?;
            let line = if let Some(length) = memchr::memchr(b'\n', &body[from..]) {
                start = Some(from + length + 1);
                &body[from..from + length]
            } else {
                start = None;
                &body[from..]
            };
            number += 1;
            Some((number - 1, line))
        })
    }

    /// Bytes of all lines.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.complete]
    }

    /// Empty chunk with the same memory.
    pub(crate) fn emptied(mut self) -> Self {
        if self.bytes.len() > LARGEST_SPARE {
            self.bytes = Vec::new();
        }
        Self { bytes: self.bytes, ..Self::default() }
    }

    fn begin(&mut self, carried: &[u8], first_line: u64) {
        if self.bytes.len() < carried.len() {
            self.bytes.resize(carried.len(), 0);
        }
        self.bytes[..carried.len()].copy_from_slice(carried);
        self.filled = carried.len();
        self.complete = 0;
        self.first_line = first_line;
    }

    fn put_in_front(&mut self, text: &str) {
        self.bytes.truncate(self.filled);
        self.bytes.splice(..0, text.bytes());
        self.filled = self.bytes.len();
    }

    fn read(&self) -> &[u8] {
        &self.bytes[..self.filled]
    }

    /// Makes room for more bytes, up to `full` and for a small file less.
    fn make_room(&mut self, full: usize) {
        if self.filled >= CHUNK {
            self.bytes.resize(full, 0);
            return;
        }
        // New memory is clear already, and little is moved there.
        let more = (4 * self.filled).max(FIRST_ROOM);
        let mut bytes = vec![0; if more < CHUNK { more } else { full.max(LARGEST_ROOM) }];
        bytes[..self.filled].copy_from_slice(self.read());
        self.bytes = bytes;
    }

    /// Reads until one more chunk is there or the source ends, and returns the number of bytes.
    fn read_from(&mut self, source: &mut impl Read) -> io::Result<usize> {
        let before = self.filled;
        let full = before + CHUNK;
        while self.filled < full {
            if self.filled == self.bytes.len() {
                self.make_room(full);
            }
            let room = self.bytes.len().min(full);
            match source.read(&mut self.bytes[self.filled..room]) {
                Ok(0) => break,
                Ok(count) => self.filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.filled - before)
    }
}

/// Line that was skipped because it is longer than [`LONGEST_LINE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LongLine {
    pub(crate) line: u64,
    pub(crate) bytes: u64,
}

/// Divider of a stream into [`Chunk`]s.
pub(crate) struct Chunks<R> {
    source: R,
    /// Beginning of a line that the last chunk did not end.
    carried: Vec<u8>,
    next_line: u64,
    bytes_read: u64,
    long_lines: Vec<LongLine>,
    is_at_end: bool,
    /// Chunk that was read ahead and not taken yet, with its result.
    peeked: Option<(Chunk, io::Result<bool>)>,
}

impl<R: Read> Chunks<R> {
    pub(crate) fn new(source: R) -> Self {
        Self {
            source,
            carried: Vec::new(),
            next_line: 1,
            bytes_read: 0,
            long_lines: Vec::new(),
            is_at_end: false,
            peeked: None,
        }
    }

    /// Fills `chunk`, reusing its memory; `false` at the end of the stream.
    ///
    /// An error ends the stream, and the bytes before it are still passed on.
    pub(crate) fn fill(&mut self, chunk: &mut Chunk) -> io::Result<bool> {
        if let Some((peeked, result)) = self.peeked.take() {
            *chunk = peeked;
            return result;
        }
        self.fill_next(chunk)
    }

    /// Reads the chunk ahead that is filled next, in the memory of `buffer`.
    pub(crate) fn peek(&mut self, mut buffer: Chunk) {
        let result = self.fill_next(&mut buffer);
        self.peeked = Some((buffer, result));
    }

    /// Chunk that was read ahead and not taken yet.
    pub(crate) fn peeked(&self) -> Option<&Chunk> {
        self.peeked.as_ref().map(|(chunk, _)| chunk)
    }

    fn fill_next(&mut self, chunk: &mut Chunk) -> io::Result<bool> {
        chunk.begin(&self.carried, self.next_line);
        self.carried.clear();
        let mut result = Ok(());
        // Carried bytes have no newline.
        let mut searched = chunk.filled;
        while chunk.complete == 0 && !self.is_at_end {
            match self.read_into(chunk) {
                // Only the end of the stream yields less than a chunk.
                Ok(count) => self.is_at_end = count < CHUNK,
                Err(error) => {
                    self.is_at_end = true;
                    result = Err(error);
                }
            }
            if let Some(newline) = memchr::memrchr(b'\n', &chunk.read()[searched..]) {
                chunk.complete = searched + newline + 1;
                break;
            }
            // A search for a newline would read all of such a file into memory.
            if self.next_line == 1 && WITHOUT_LINES.iter().any(|one| chunk.read().starts_with(one))
            {
                break;
            }
            let is_document = || ONE_LINE.iter().any(|one| chunk.read().starts_with(one));
            if self.next_line == 1 && chunk.filled > LONGEST_LINE && is_document() {
                break;
            }
            searched = chunk.filled;
            let beginning = skipped_beginning(chunk.read());
            if chunk.filled > LONGEST_LINE || (beginning.is_some() && !self.is_at_end) {
                if let Err(error) = self.skip_line(chunk, beginning) {
                    self.is_at_end = true;
                    result = Err(error);
                }
                chunk.first_line = self.next_line;
                searched = 0;
            }
        }
        // The last line of a stream may lack its newline.
        if chunk.complete == 0 {
            chunk.complete = chunk.filled;
        }
        self.carried.extend_from_slice(&chunk.read()[chunk.complete..]);
        let complete = &chunk.bytes[..chunk.complete];
        let lines = memchr::memchr_iter(b'\n', complete).count() as u64;
        let has_open_line = complete.last().is_some_and(|byte| *byte != b'\n');
        self.next_line += lines + u64::from(has_open_line);
        result.map(|()| chunk.complete > 0 || !self.is_at_end)
    }

    /// Lines skipped so far.
    pub(crate) fn long_lines(&self) -> &[LongLine] {
        &self.long_lines
    }

    /// Bytes read so far, after decompression.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// Lines seen so far.
    pub(crate) fn lines(&self) -> u64 {
        self.next_line - 1
    }

    fn read_into(&mut self, chunk: &mut Chunk) -> io::Result<usize> {
        let before = chunk.filled;
        let result = chunk.read_from(&mut self.source);
        self.bytes_read += (chunk.filled - before) as u64;
        result
    }

    /// Reads to the end of a line, holding no more than one buffer of it.
    ///
    /// A line that no reader looks into is replaced by its beginning; another one is too long.
    fn skip_line(&mut self, chunk: &mut Chunk, beginning: Option<&str>) -> io::Result<()> {
        let mut length = chunk.filled as u64;
        let mut last = chunk.read().last().copied();
        // The buffer grew with the line, and its memory is given back.
        if length > CHUNK as u64 * 2 {
            *chunk = Chunk::default();
        }
        loop {
            chunk.filled = 0;
            let read = self.read_into(chunk).inspect_err(|_| chunk.filled = 0)?;
            let newline = memchr::memchr(b'\n', chunk.read());
            let of_line = &chunk.read()[..newline.unwrap_or(read)];
            length += of_line.len() as u64;
            last = of_line.iter().rfind(|byte| !byte.is_ascii_whitespace()).copied().or(last);
            if let Some(newline) = newline {
                chunk.bytes.copy_within(newline + 1..chunk.filled, 0);
                chunk.filled -= newline + 1;
                break;
            }
            if read < CHUNK {
                self.is_at_end = true;
                chunk.filled = 0;
                break;
            }
        }
        if let Some(beginning) = beginning {
            // A torn line stays torn.
            let end = if last == Some(b'}') { "}\n" } else { "\n" };
            chunk.put_in_front(&[beginning, end].concat());
        } else {
            self.long_lines.push(LongLine { line: self.next_line, bytes: length });
            self.next_line += 1;
        }
        Ok(())
    }
}

/// Known beginning of a line that no reader looks into.
fn skipped_beginning(line: &[u8]) -> Option<&'static str> {
    SKIPPED_BEGINNINGS.into_iter().find(|beginning| line.starts_with(beginning.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    type NumberedLines = Vec<(u64, Vec<u8>)>;

    fn read_all(source: impl Read) -> (NumberedLines, Vec<LongLine>, u64) {
        let mut chunks = Chunks::new(source);
        let mut chunk = Chunk::default();
        let mut lines = Vec::new();
        while chunks.fill(&mut chunk).expect("no read error") {
            lines.extend(chunk.lines().map(|(number, line)| (number, line.to_vec())));
        }
        (lines, chunks.long_lines().to_vec(), chunks.lines())
    }

    #[test]
    fn lines_keep_their_numbers_with_and_without_a_final_newline() {
        for (text, expected) in [
            ("", vec![]),
            ("a", vec![(1, "a")]),
            ("a\n", vec![(1, "a")]),
            ("a\n\nb", vec![(1, "a"), (2, ""), (3, "b")]),
            ("\n\n", vec![(1, ""), (2, "")]),
        ] {
            let (lines, _, count) = read_all(text.as_bytes());
            let lines: Vec<_> = lines
                .iter()
                .map(|(number, line)| (*number, std::str::from_utf8(line).expect("text")))
                .collect();
            assert_eq!(lines, expected, "{text:?}");
            assert_eq!(count, expected.len() as u64, "{text:?}");
        }
    }

    #[test]
    fn lines_longer_than_a_chunk_are_whole() {
        let long = "x".repeat(CHUNK * 2 + 17);
        let text = format!("a\n{long}\nb\n{long}");
        let (lines, _, _) = read_all(text.as_bytes());
        let lengths: Vec<_> = lines.iter().map(|(number, line)| (*number, line.len())).collect();
        assert_eq!(lengths, [(1, 1), (2, long.len()), (3, 1), (4, long.len())]);
    }

    #[test]
    fn a_line_beyond_the_limit_is_skipped_with_its_size() {
        let length = LONGEST_LINE + 3 * CHUNK + 5;
        let endless = io::repeat(b'x').take(length as u64);
        let (lines, long, count) = read_all(b"a\n".chain(endless).chain(&b"\nb\n"[..]));
        assert_eq!(lines, [(1, b"a".to_vec()), (3, b"b".to_vec())]);
        assert_eq!(long, [LongLine { line: 2, bytes: length as u64 }]);
        assert_eq!(count, 3);
    }

    #[test]
    fn of_a_long_line_that_nobody_looks_into_the_beginning_is_given() {
        let beginning = r#"{"type":"file-history-snapshot""#;
        let snapshot =
            |end: &str| format!(r#"{beginning},"snapshot":"{}"{end}"#, "x".repeat(3 * CHUNK));
        let short = format!(r#"{beginning},"snapshot":""}}"#);
        let other = format!(r#"{{"type":"user","text":"{}"}}"#, "x".repeat(3 * CHUNK));
        let lines = [
            "a".to_owned(),
            snapshot("} "),
            short.clone(),
            snapshot(""),
            other.clone(),
            snapshot("}"),
            "b".to_owned(),
            snapshot("}"),
        ];
        let whole = format!("{beginning}}}");
        let given = ["a", &whole, &short, beginning, &other, &whole, "b", &whole];
        for end in ["", "\n"] {
            let (read, long, count) = read_all((lines.join("\n") + end).as_bytes());
            let expected: Vec<(u64, &[u8])> = (1..).zip(given.map(str::as_bytes)).collect();
            let read: Vec<(u64, &[u8])> = read.iter().map(|(at, line)| (*at, &**line)).collect();
            assert!(read == expected);
            assert_eq!((long.len(), count), (0, 8));
        }
    }

    #[test]
    fn what_came_before_a_read_error_is_given() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("broken"))
            }
        }
        let mut chunks = Chunks::new(b"a\nb".chain(Broken));
        let mut chunk = Chunk::default();
        assert!(chunks.fill(&mut chunk).is_err());
        assert_eq!(chunk.lines().map(|(number, _)| number).collect::<Vec<_>>(), [1]);
        assert!(chunks.fill(&mut chunk).expect("the rest"));
        assert_eq!(chunk.lines().collect::<Vec<_>>(), [(2, &b"b"[..])]);
        assert!(!chunks.fill(&mut chunk).expect("the end"));
    }
}
