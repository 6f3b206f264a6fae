//! The lines of a source with every byte of theirs, one at a time.

use std::io::{self, BufRead, BufReader, Read};

use crate::read::input::{CHUNK, LONGEST_LINE, Source};

/// No reader takes in a line as long as this, wherever its chunks begin.
const LIMIT: usize = LONGEST_LINE + 4 * CHUNK;

/// A piece of a source.
pub(super) enum Piece<'p> {
    /// A line, with its end if it has one.
    Line(&'p mut [u8]),
    /// A part of a line that is too long to be read by anything.
    PartOfLongLine(&'p mut [u8]),
}

/// What was read of a source.
#[derive(Default)]
pub(super) struct Reading {
    pub(super) lines: u64,
    pub(super) bytes: u64,
    /// What ended it early. What was read before it is used.
    pub(super) error: Option<io::Error>,
}

/// Hands every piece of a source on.
///
/// # Errors
/// That the source cannot be opened, or what `each` says.
pub(super) fn read_pieces(
    source: &Source,
    mut each: impl FnMut(Piece<'_>) -> io::Result<()>,
) -> io::Result<Reading> {
    let mut reader = BufReader::with_capacity(CHUNK, source.open()?);
    let mut reading = Reading::default();
    let mut line = Vec::new();
    let mut is_in_long_line = false;
    while reading.error.is_none() {
        line.clear();
        reading.error = (&mut reader).take(LIMIT as u64).read_until(b'\n', &mut line).err();
        if line.is_empty() {
            break;
        }
        reading.bytes += line.len() as u64;
        reading.lines += u64::from(!is_in_long_line);
        let is_long = line.len() == LIMIT && !line.ends_with(b"\n");
        if is_long || is_in_long_line {
            is_in_long_line = !line.ends_with(b"\n");
            each(Piece::PartOfLongLine(&mut line))?;
        } else {
            each(Piece::Line(&mut line))?;
        }
    }
    Ok(reading)
}
