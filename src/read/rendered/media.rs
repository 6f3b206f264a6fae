//! Token counts of images and documents.
//!
//! An image has one token for each 28 × 28 pixels, after the service has scaled it down to the limits of the
//! tokenizer. Documents are assumed to have a page for each page object, of 2,250 tokens.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use crate::base::Tokenizer;

/// Edge of a token's square, in pixels.
const TOKEN_EDGE: u64 = 28;

/// Tokens of an image whose size cannot be read: those of a screenshot.
const USUAL_IMAGE: u64 = 1_560;

/// Tokens of a page: the middle of the documented 1,500 to 3,000.
const TOKENS_A_PAGE: u64 = 2_250;

/// Bytes of an image that are decoded: its size is near the beginning.
const READ_BYTES: usize = 256 * 1024;

/// Tokens of an image in base64.
pub(crate) fn image_tokens(data: &str, tokenizer: &Tokenizer) -> u64 {
    pixels(data).map_or(USUAL_IMAGE, |(width, height)| pixel_tokens(width, height, tokenizer))
}

/// Width and height of an image in base64; `None` if they cannot be read.
pub(crate) fn pixels(data: &str) -> Option<(u64, u64)> {
    // Base64 can be cut between groups of four characters only.
    let begin = &data.as_bytes()[..data.len().min(READ_BYTES * 4 / 3) / 4 * 4];
    let size = imagesize::blob_size(&decode(begin)).ok()?;
    Some((size.width as u64, size.height as u64))
}

/// Tokens of an image of this width and height.
fn pixel_tokens(width: u64, height: u64, tokenizer: &Tokenizer) -> u64 {
    // A damaged header may claim a size of zero, or one that overflows the products below.
    let (width, height) = (width.clamp(1, 1 << 20), height.clamp(1, 1 << 20));
    let long = width.max(height);
    // The edge shrinks square by square until the image fits.
    let mut edge = long.min(tokenizer.image_edge.get());
    loop {
        let squares = |side: u64| (side * edge / long).max(1).div_ceil(TOKEN_EDGE);
        let tokens = squares(width) * squares(height);
        if tokens <= tokenizer.image_tokens.get() {
            return tokens;
        }
        edge = edge.saturating_sub(TOKEN_EDGE);
    }
}

/// Tokens of a document in base64.
pub(crate) fn document_tokens(data: &str) -> u64 {
    // A document whose page objects cannot be found still has a page.
    (page_count(data).max(1) as u64) * TOKENS_A_PAGE
}

/// Number of page objects of a document in base64.
pub(crate) fn page_count(data: &str) -> usize {
    let bytes = decode(data.as_bytes());
    memchr::memmem::find_iter(&bytes, b"/Type /Page")
        .chain(memchr::memmem::find_iter(&bytes, b"/Type/Page"))
        .filter(|at| {
            !bytes[*at..].starts_with(b"/Type /Pages") && !bytes[*at..].starts_with(b"/Type/Pages")
        })
        .count()
}

/// Decoded bytes; none if the text is not base64.
fn decode(text: &[u8]) -> Vec<u8> {
    let end = text.iter().rposition(|byte| *byte != b'=').map_or(0, |last| last + 1);
    STANDARD_NO_PAD.decode(&text[..end]).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::base::Models;

    fn tokenizer(model: &str) -> Arc<Tokenizer> {
        Models::built_in().facts(model).tokenizer
    }

    #[test]
    fn the_documented_examples() {
        // 1000 × 1000, 1920 × 1080 and 3840 × 2160 in the service's documentation.
        let (earlier, later) = (tokenizer("claude-opus-4-5"), tokenizer("claude-opus-5"));
        let tokens = |width, height| {
            (pixel_tokens(width, height, &earlier), pixel_tokens(width, height, &later))
        };
        assert_eq!(tokens(1_000, 1_000), (1_296, 1_296));
        assert_eq!(tokens(1_920, 1_080), (1_560, 2_691));
        assert_eq!(tokens(3_840, 2_160), (1_560, 4_784));
        assert_eq!(tokens(1, 1), (1, 1));
    }

    #[test]
    fn the_size_is_read_from_the_image() {
        // The first 26 bytes of a PNG of 56 × 29 pixels.
        let header = [
            0x89, b'P', b'N', b'G', 13, 10, 26, 10, 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0,
            56, 0, 0, 0, 29, 8, 6,
        ];
        let later = tokenizer("claude-opus-5");
        let data = base64::engine::general_purpose::STANDARD.encode(header);
        assert_eq!(image_tokens(&data, &later), 4);
        assert_eq!(image_tokens("no image", &later), USUAL_IMAGE);
    }

    #[test]
    fn pages_are_counted() {
        let document = "<< /Type /Pages >> << /Type /Page >> << /Type/Page >>";
        let data = base64::engine::general_purpose::STANDARD.encode(document);
        assert_eq!(document_tokens(&data), 2 * TOKENS_A_PAGE);
        assert_eq!(document_tokens("%"), TOKENS_A_PAGE);
    }
}
