//! Sizes of the pages of a Parquet file, from the headers in front of them. The crate that reads pages unpacks each into
//! memory, whatever its size.
//!
//! A header is a struct in Thrift's compact protocol; its second field is the unpacked size, its third the size in
//! the file (<https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift>).

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};

/// Bytes that a page of any file may unpack to.
const MOST_UNPACKED: u64 = 64 << 20;

/// Largest ratio of a page to the whole file beyond that. Prompts are packed to a fifth or a twentieth.
const MOST_RATIO: u64 = 20;

/// Bytes in which a header is looked for, at first and at most: it may hold the smallest and the largest value.
const USUAL_HEADER: u64 = 4 << 10;
const LONGEST_HEADER: u64 = 16 << 20;

/// Deepest nesting of a header; Parquet's has two levels.
const MOST_LEVELS: u8 = 8;

/// Returns true if a page among the bytes of a column unpacks too far for a file of this length.
///
/// # Errors
/// The system's error, or a header that cannot be read.
pub(super) fn unpacks_too_far(
    file: &mut File,
    length: u64,
    column: (u64, u64),
) -> io::Result<bool> {
    let (mut at, packed) = column;
    let end = at.saturating_add(packed).min(length);
    while at < end {
        let page = page_at(file, at, end)?;
        if page.unpacked > MOST_UNPACKED && page.unpacked / MOST_RATIO > length {
            return Ok(true);
        }
        at = at.saturating_add(page.header).saturating_add(page.packed);
    }
    Ok(false)
}

/// Sizes of a page and of its header, in bytes.
#[derive(Debug, PartialEq, Eq)]
struct Page {
    header: u64,
    packed: u64,
    unpacked: u64,
}

fn page_at(file: &mut File, at: u64, end: u64) -> io::Result<Page> {
    let mut room = USUAL_HEADER;
    loop {
        file.seek(SeekFrom::Start(at))?;
        let mut bytes = Vec::new();
        file.by_ref().take(room.min(end - at)).read_to_end(&mut bytes)?;
        if let Some(page) = (Header { bytes: &bytes, at: 0 }).page() {
            return Ok(page);
        }
        if room >= LONGEST_HEADER.min(end - at) {
            return Err(io::Error::other("a page has no readable header"));
        }
        room *= 16;
    }
}

/// Reader of a header.
struct Header<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Header<'_> {
    /// Sizes of the page; `None` if the header goes on behind the bytes or is damaged.
    fn page(mut self) -> Option<Page> {
        let (mut field, mut packed, mut unpacked) = (0, None, None);
        loop {
            let head = self.byte()?;
            if head == 0 {
                break;
            }
            field = if head >> 4 == 0 { self.number()? } else { field + i64::from(head >> 4) };
            match (field, head & 0xf) {
                (2, 5) => unpacked = Some(self.number()?),
                (3, 5) => packed = Some(self.number()?),
                (_, kind) => self.skip(kind, MOST_LEVELS)?,
            }
        }
        let size = |size: Option<i64>| u64::try_from(size?).ok();
        Some(Page { header: self.at as u64, packed: size(packed)?, unpacked: size(unpacked)? })
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn unsigned(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// Number whose sign is its last bit.
    fn number(&mut self) -> Option<i64> {
        let number = self.unsigned()?;
        Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    fn pass(&mut self, bytes: u64) -> Option<()> {
        self.at = self.at.checked_add(usize::try_from(bytes).ok()?)?;
        (self.at <= self.bytes.len()).then_some(())
    }

    /// Skips the value of a field: a flag, a number, a text, a list or a struct.
    fn skip(&mut self, kind: u8, levels: u8) -> Option<()> {
        let levels = levels.checked_sub(1)?;
        match kind {
            1 | 2 => Some(()),
            3 => self.pass(1),
            4..=6 => self.unsigned().map(|_| ()),
            7 => self.pass(8),
            8 => {
                let length = self.unsigned()?;
                self.pass(length)
            }
            9 | 10 => {
                let head = self.byte()?;
                let count = if head >> 4 == 15 { self.unsigned()? } else { (head >> 4).into() };
                // In a list a flag has a byte of its own.
                let kind = if matches!(head & 0xf, 1 | 2) { 3 } else { head & 0xf };
                (0..count).try_for_each(|_| self.skip(kind, levels))
            }
            12 => loop {
                let head = self.byte()?;
                if head == 0 {
                    return Some(());
                }
                if head >> 4 == 0 {
                    self.number()?;
                }
                self.skip(head & 0xf, levels)?;
            },
            // Parquet's headers have no maps.
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_gives_the_sizes_of_its_page() {
        // Field 1 (an enumeration): 0; 2: 300; 3: 20; 5 (a struct): field 1: 7, a text, a list of two flags.
        let bytes = [
            0x15, 0, 0x15, 0xd8, 0x04, 0x15, 0x28, 0x2c, 0x15, 14, 0x18, 2, 9, 9, 0x19, 0x21, 1, 2,
            0, 0, 7,
        ];
        let page = Header { bytes: &bytes, at: 0 }.page();
        assert_eq!(page, Some(Page { header: 20, packed: 20, unpacked: 300 }));
        for cut in 0..20 {
            assert_eq!(Header { bytes: &bytes[..cut], at: 0 }.page(), None, "{cut}");
        }
    }
}
