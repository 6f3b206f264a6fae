//! A stream of bytes → chunks that end at line borders, within a fixed memory limit.

use std::io::{self, Read};

/// The longest line that is taken in. Images of 20 MB make longer lines than any text does.
pub(crate) const LONGEST_LINE: usize = 64 * 1024 * 1024;

/// How much is read at a time.
pub(crate) const CHUNK: usize = 1024 * 1024;

/// Whole lines of a file, and where they stand.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    bytes: Vec<u8>,
    /// How many of `bytes` are whole lines; the rest belongs to the next chunk.
    complete: usize,
    /// The number of the chunk's first line, counted from 1.
    first_line: u64,
}

impl Chunk {
    /// The lines with their numbers, without newlines.
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
}

/// A line that was skipped because it is longer than [`LONGEST_LINE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LongLine {
    pub(crate) line: u64,
    pub(crate) bytes: u64,
}

/// Cuts a stream into [`Chunk`]s.
pub(crate) struct Chunks<R> {
    source: R,
    /// The beginning of a line that the last chunk did not end.
    carried: Vec<u8>,
    next_line: u64,
    bytes_read: u64,
    long_lines: Vec<LongLine>,
    is_at_end: bool,
    /// A chunk that was looked at and not taken yet, with what was said of it.
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
    /// After an error the stream is over, and what came before it is still given.
    pub(crate) fn fill(&mut self, chunk: &mut Chunk) -> io::Result<bool> {
        if let Some((peeked, result)) = self.peeked.take() {
            *chunk = peeked;
            return result;
        }
        self.fill_next(chunk)
    }

    /// The chunk that is filled next.
    pub(crate) fn peek(&mut self) -> &Chunk {
        if self.peeked.is_none() {
            let mut chunk = Chunk::default();
            let result = self.fill_next(&mut chunk);
            self.peeked = Some((chunk, result));
        }
        &self.peeked.as_ref().expect("it was just filled").0
    }

    fn fill_next(&mut self, chunk: &mut Chunk) -> io::Result<bool> {
        chunk.bytes.clear();
        chunk.bytes.append(&mut self.carried);
        chunk.complete = 0;
        chunk.first_line = self.next_line;
        let mut result = Ok(());
        // What is carried over has no newline.
        let mut searched = chunk.bytes.len();
        while chunk.complete == 0 && !self.is_at_end {
            match self.read_into(&mut chunk.bytes) {
                Ok(0) => self.is_at_end = true,
                Ok(_) => {}
                Err(error) => {
                    self.is_at_end = true;
                    result = Err(error);
                }
            }
            if let Some(newline) = memchr::memrchr(b'\n', &chunk.bytes[searched..]) {
                chunk.complete = searched + newline + 1;
            }
            searched = chunk.bytes.len();
            if chunk.complete > 0 {
                break;
            }
            if chunk.bytes.len() > LONGEST_LINE {
                if let Err(error) = self.skip_line(&mut chunk.bytes) {
                    self.is_at_end = true;
                    result = Err(error);
                }
                chunk.first_line = self.next_line;
                searched = 0;
            }
        }
        if chunk.complete == 0 {
            chunk.complete = chunk.bytes.len();
        }
        self.carried.extend_from_slice(&chunk.bytes[chunk.complete..]);
        let lines = memchr::memchr_iter(b'\n', &chunk.bytes[..chunk.complete]).count() as u64;
        let has_open_line = chunk.bytes[..chunk.complete].last().is_some_and(|byte| *byte != b'\n');
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

    fn read_into(&mut self, bytes: &mut Vec<u8>) -> io::Result<usize> {
        let before = bytes.len();
        let result = (&mut self.source).take(CHUNK as u64).read_to_end(bytes);
        self.bytes_read += (bytes.len() - before) as u64;
        result
    }

    /// Reads on to the end of a line that is too long, holding no more than one buffer of it.
    fn skip_line(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        let mut length = bytes.len() as u64;
        loop {
            bytes.clear();
            let read = self.read_into(bytes).inspect_err(|_| bytes.clear())?;
            if read == 0 {
                self.is_at_end = true;
                break;
            }
            if let Some(newline) = memchr::memchr(b'\n', bytes) {
                length += newline as u64;
                bytes.drain(..=newline);
                break;
            }
            length += read as u64;
        }
        bytes.shrink_to(CHUNK);
        self.long_lines.push(LongLine { line: self.next_line, bytes: length });
        self.next_line += 1;
        Ok(())
    }
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
