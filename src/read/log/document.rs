//! Log that is one JSON document, read into one buffer.

use std::io::Read;

use crate::read::input::{Diagnostics, Exceeded, Extent, Kind, OpenSource};

/// Bytes of a document, and the extent that was read.
pub(super) struct Document {
    bytes: Vec<u8>,
    pub(super) extent: Extent,
}

impl Document {
    /// Reads a source to its end. Lines may have any length if the source can be opened again.
    pub(super) fn read(open: &mut OpenSource, diagnostics: &mut Diagnostics) -> Self {
        // A pipe cannot be opened again, and its first lines are already in a buffer.
        if open.source().is_read_once() {
            return Self::of_lines(open, diagnostics);
        }
        let mut bytes = Vec::with_capacity(usize::try_from(open.source().size).unwrap_or(0));
        let result = open.source().open().and_then(|mut file| file.read_to_end(&mut bytes));
        let is_cut = result.is_err();
        if let Err(error) = result {
            let detail = format!("{error}; what was read before it is used");
            diagnostics.add(Exceeded::kind(&error), &open.label, 0, detail);
        }
        let lines = memchr::memchr_iter(b'\n', &bytes).count();
        let has_open_line = bytes.last().is_some_and(|byte| *byte != b'\n');
        let lines = lines as u64 + u64::from(has_open_line);
        let extent = Extent { bytes: bytes.len() as u64, lines, is_cut };
        Self { bytes, extent }
    }

    fn of_lines(open: &mut OpenSource, diagnostics: &mut Diagnostics) -> Self {
        let mut bytes = Vec::new();
        let extent = open.read_in_order(diagnostics, |_, line| {
            bytes.extend_from_slice(line);
            bytes.push(b'\n');
        });
        Self { bytes, extent }
    }

    /// Text of the document, up to the first bytes that are not UTF-8.
    pub(super) fn text(&self, open: &OpenSource, diagnostics: &mut Diagnostics) -> &str {
        let text = match simdutf8::compat::from_utf8(&self.bytes) {
            Ok(text) => text,
            Err(error) => {
                let detail = "what stands before it is used";
                diagnostics.add(Kind::NotUtf8, &open.label, 0, detail);
                let valid = self.bytes.get(..error.valid_up_to()).unwrap_or_default();
                str::from_utf8(valid).unwrap_or_default()
            }
        };
        text.trim_start_matches('\u{feff}').trim()
    }
}
