//! Images and documents: opaque bytes, replaced so that everything that measures them gets the same
//! size.

use super::mapping::Mapping;
use crate::read::rendered::{page_count, pixels};

/// Beginning of a PNG, up to its width.
const PNG: [u8; 16] = *b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

/// Marker that is counted as a page of a document.
const PAGE: &[u8] = b"/Type/Page";

/// Limit on replacing data again that looks like an image by chance.
const MOST_ATTEMPTS: usize = 8;

/// Replaces the base64 of an image or a document, or its text. An image becomes the header of
/// another image of the same width and height, and a document keeps its number of pages. The rest
/// is replaced like text, so that base64 stays base64.
pub(super) fn replace_media(mapping: &Mapping, data: &mut [u8]) {
    let measured = std::str::from_utf8(data).ok().map(|text| (pixels(text), page_count(text)));
    let Some((size, pages)) = measured else { return mapping.text(data) };
    for _ in 0..MOST_ATTEMPTS {
        replace_text(mapping, data);
        if let Some(header) = header(size, pages).filter(|header| header.len() <= data.len()) {
            data[..header.len()].copy_from_slice(&header);
            return;
        }
        if std::str::from_utf8(data).is_ok_and(|text| pixels(text) == size) {
            return;
        }
    }
}

/// Replaces text. The last character of base64 whose length is no multiple of four stays, as its
/// unused bits must be zero.
fn replace_text(mapping: &Mapping, data: &mut [u8]) {
    let end = data.iter().rposition(|byte| *byte != b'=').map_or(0, |last| last + 1);
    if end % 4 < 2 {
        mapping.text(data);
    } else {
        mapping.text_but(data, std::slice::from_ref(&(end - 1..end)));
    }
}

/// Base64 with the measured size of an image or the pages of a document.
fn header(size: Option<(u64, u64)>, pages: usize) -> Option<Vec<u8>> {
    use base64::Engine as _;

    let mut bytes = match size {
        Some((width, height)) => {
            let side = |side: u64| u32::try_from(side).map(u32::to_be_bytes).ok();
            [PNG.as_slice(), &side(width)?, &side(height)?].concat()
        }
        None => PAGE.repeat(pages),
        // Whole groups of three bytes need no padding, which would end the base64 in the middle of the data.
    };
    bytes.resize(bytes.len().next_multiple_of(3), b' ');
    let text = base64::engine::general_purpose::STANDARD.encode(bytes);
    Some(text.into_bytes()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::super::key::KeyMaker;
    use super::super::words::Words;
    use super::*;

    fn replaced(data: &str) -> String {
        let mapping = Mapping { key: KeyMaker::default().finish(), words: Words::default() };
        let mut bytes = data.as_bytes().to_vec();
        replace_media(&mapping, &mut bytes);
        String::from_utf8(bytes).expect("base64")
    }

    #[test]
    fn pictures_keep_their_sizes_and_nothing_else() {
        // A GIF of 300 × 200 with a comment.
        let gif = [b"GIF89a\x2c\x01\xc8\0\0\0\0".as_slice(), &[7; 400], b"secret"].concat();
        let data = STANDARD.encode(gif);
        let after = replaced(&data);
        assert_eq!(pixels(&data), Some((300, 200)));
        assert_eq!((pixels(&after), after.len()), (Some((300, 200)), data.len()));
        let other = data.replacen("BwcH", "BwcI", 1);
        assert_ne!(replaced(&other), after);
    }

    #[test]
    fn documents_keep_their_pages() {
        let document = "%PDF << /Type /Pages >> << /Type /Page >> secret << /Type/Page >> text";
        let data = STANDARD.encode(document);
        let after = replaced(&data);
        assert_eq!((page_count(&data), page_count(&after)), (2, 2));
        let bytes = STANDARD.decode(&after).expect("still base64");
        assert!(!String::from_utf8_lossy(&bytes).contains("secret"));
        for text in ["a plain text", "aaaa", "", "QQ=="] {
            assert_eq!(pixels(&replaced(text)), None, "{text}");
            assert_eq!(STANDARD.decode(replaced(text)).is_ok(), STANDARD.decode(text).is_ok());
        }
    }
}
