//! Zstandard (RFC 8878): reader of all frames of a source.

use std::io::{self, BufRead, BufReader, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// Unpacked bytes of a source. Frames follow each other, as in files that were appended to; skippable ones are skipped;
/// a frame with a checksum is held against it.
pub(crate) struct Unpacked<R> {
    source: BufReader<R>,
    decoder: FrameDecoder,
    /// True inside a frame that has not ended.
    is_in_frame: bool,
}

impl<R: Read> Unpacked<R> {
    /// Refuses frames that refer to more than `largest_window` bytes before a position: memory grows with the window.
    pub(crate) fn new(source: R, largest_window: u64) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(largest_window);
        Self { source: BufReader::new(source), decoder, is_in_frame: false }
    }

    /// Begins the next frame that has data. Returns true if there is one.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let length = u64::from(length);
                    let skipped = io::copy(&mut (&mut self.source).take(length), &mut io::sink())?;
                    if skipped < length {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(damaged(error)),
            }
        }
        Ok(false)
    }

    /// Ends the frame, after all its bytes were passed on.
    fn end(&mut self) -> io::Result<()> {
        self.is_in_frame = false;
        let written = self.decoder.get_checksum_from_data();
        if written.is_some() && written != self.decoder.get_calculated_checksum() {
            return Err(damaged("the checksum of a frame is not that of its data"));
        }
        Ok(())
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.is_in_frame {
                self.is_in_frame = self.begin()?;
                if !self.is_in_frame {
                    return Ok(0);
                }
            }
            // One block at a time, so that no more is unpacked than the caller takes.
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let block = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.source, block).map_err(damaged)?;
            }
            let count = self.decoder.read(buffer)?;
            if count > 0 {
                return Ok(count);
            }
            self.end()?;
        }
    }
}

fn damaged(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::Index;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    /// Frame by RFC 8878: the magic number, a descriptor of a single segment with a checksum, a size of 4, one raw
    /// block that is the last and has 4 bytes, and the low bytes of XXH64 of "abc\n".
    const FRAME: [u8; 17] = *b"\x28\xb5\x2f\xfd\x24\x04\x21\x00\x00abc\n\x2d\x6e\x4c\x82";

    /// Frame to be skipped, with 3 bytes.
    const SKIPPED: [u8; 11] = *b"\x5a\x2a\x4d\x18\x03\x00\x00\x00\x09\x09\x09";

    fn unpacked(parts: &[&[u8]]) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = Unpacked::new(&parts.concat()[..], 1 << 20).read_to_end(&mut bytes);
        read.map(|_| bytes)
    }

    #[test]
    fn all_frames_are_read_and_those_to_be_skipped_are() {
        let read = unpacked(&[&SKIPPED, &FRAME, &SKIPPED, &FRAME]).expect("four frames");
        assert_eq!(read, b"abc\nabc\n");
        assert_eq!(unpacked(&[]).expect("no frame"), b"");
    }

    #[test]
    fn damage_is_an_error() {
        for length in 1..FRAME.len() {
            assert!(unpacked(&[&FRAME, &FRAME[..length]]).is_err(), "{length} bytes of a frame");
        }
        for length in 1..SKIPPED.len() {
            assert!(unpacked(&[&SKIPPED[..length]]).is_err(), "{length} bytes to be skipped");
        }
        let mut other = FRAME;
        other[9] = b'b';
        let error = unpacked(&[&other]).expect_err("another text under the same checksum");
        assert_eq!(error.to_string(), "the checksum of a frame is not that of its data");
        // A window of 2 MiB (an exponent of 11), where 1 MiB is allowed.
        assert!(unpacked(&[b"\x28\xb5\x2f\xfd\x00\x58\x01\x00\x00"]).is_err());
        assert!(unpacked(&[b"\x28\xb5\x2f\xfd\x00\x50\x01\x00\x00"]).is_ok());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(
            changes in vec((any::<Index>(), any::<u8>()), 1..4),
            length in any::<Index>(),
        ) {
            let text = b"a line that is like a line before\n".repeat(40);
            let mut frame = compress_to_vec(&text[..], CompressionLevel::Fastest);
            for (at, byte) in changes {
                let at = at.index(frame.len());
                frame[at] = byte;
            }
            frame.truncate(length.index(frame.len()));
            drop(unpacked(&[&frame]));
        }
    }
}
