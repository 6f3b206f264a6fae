//! Bytes of a part of a file, with the starts of its lines.

use std::fs::File;
use std::hash::Hasher as _;
use std::io::{self, Read as _, Seek as _, SeekFrom};

use rustc_hash::FxHasher;

/// Bytes of a file from an offset to its known end.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) bytes: Vec<u8>,
    /// Offset of the bytes in the file.
    pub(super) from: u64,
    /// Number of the line that begins at this offset.
    first_line: u64,
    /// Places of line starts in the bytes, from the first whole line on.
    starts: Vec<usize>,
}

impl Part {
    /// Reads the bytes between two offsets; the first has to be a line start. `None` if the file is shorter by now.
    pub(super) fn read(
        file: &mut File,
        from: u64,
        until: u64,
        first_line: u64,
    ) -> io::Result<Option<Self>> {
        let Some(bytes) = read_between(file, from, until)? else { return Ok(None) };
        let starts = std::iter::once(0).chain(after_line_feeds(&bytes)).collect();
        Ok(Some(Self { bytes, from, first_line, starts }))
    }

    /// Reads from the first whole line among the last `most` bytes on, of a file with `until` bytes and `lines` lines.
    pub(super) fn read_end(
        file: &mut File,
        until: u64,
        lines: u64,
        most: u64,
    ) -> io::Result<Option<Self>> {
        let from = until.saturating_sub(most);
        if from == 0 {
            return Self::read(file, 0, until, 1);
        }
        let Some(bytes) = read_between(file, from, until)? else { return Ok(None) };
        let starts: Vec<usize> = after_line_feeds(&bytes).collect();
        // A start at the very end is not a line yet.
        let whole = starts.iter().filter(|start| **start < bytes.len()).count() as u64;
        let first_line = (lines + 1).checked_sub(whole);
        Ok(first_line.map(|first_line| Self { bytes, from, first_line, starts }))
    }

    /// Place of a line in the bytes. `None` if the line is before or after them.
    pub(super) fn start(&self, line: u64) -> Option<usize> {
        let place = usize::try_from(line.checked_sub(self.first_line)?).ok()?;
        self.starts.get(place).copied()
    }

    /// Offset in the file of a place in the bytes.
    pub(super) fn offset(&self, place: usize) -> u64 {
        self.from + place as u64
    }
}

fn read_between(file: &mut File, from: u64, until: u64) -> io::Result<Option<Vec<u8>>> {
    let Ok(length) = usize::try_from(until.saturating_sub(from)) else { return Ok(None) };
    let mut bytes = Vec::with_capacity(length);
    file.seek(SeekFrom::Start(from))?;
    file.take(length as u64).read_to_end(&mut bytes)?;
    Ok((bytes.len() == length).then_some(bytes))
}

fn after_line_feeds(bytes: &[u8]) -> impl Iterator<Item = usize> {
    memchr::memchr_iter(b'\n', bytes).map(|place| place + 1)
}

/// Hash of bytes to notice a change. It protects from accidents, not from intent.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(bytes);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn lines_keep_their_numbers_from_either_end() {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(b"one\ntwo\n\nfour\nfi").expect("written");
        let mut end = |most| Part::read_end(&mut file, 16, 5, most).expect("read").expect("there");
        let starts = |part: &Part| {
            (1..=6).map(|line| part.start(line).map(|at| part.offset(at))).collect::<Vec<_>>()
        };
        let all = [Some(0), Some(4), Some(8), Some(9), Some(14), None];
        assert_eq!(starts(&end(100)), all);
        // From the middle of `two`, and from the line feed after it.
        assert_eq!(starts(&end(10))[1..], [None, Some(8), Some(9), Some(14), None]);
        assert_eq!(starts(&end(9))[1..], [None, Some(8), Some(9), Some(14), None]);
        assert_eq!(starts(&end(1)), [None; 6]);
    }

    #[test]
    fn a_line_that_has_ended_is_not_followed_by_an_empty_one() {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(b"one\ntwo\n").expect("written");
        let end = Part::read_end(&mut file, 8, 2, 5).expect("read").expect("there");
        assert_eq!(end.start(2).map(|at| end.offset(at)), Some(4));
        let shorter = Part::read(&mut file, 4, 9, 2).expect("read");
        assert!(shorter.is_none());
    }
}
