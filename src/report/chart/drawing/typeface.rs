//! The bundled font: widths of text, cutting and line breaks.

use std::sync::LazyLock;

use skrifa::instance::{LocationRef, Size};
use skrifa::{FontRef, MetadataProvider};

use crate::report::terminal_safe;

/// Name by which charts request the font.
pub(super) const FAMILY: &str = "Inter";

/// Inter with Latin, Greek and Cyrillic letters (`fonts/README.md`).
pub(super) const FONT: &[u8] = include_bytes!("../../../../fonts/Inter-Regular.otf");

/// Latin part of the font, compressed for browsers.
pub(super) const LATIN_WOFF2: &[u8] = include_bytes!("../../../../fonts/Inter-Regular-latin.woff2");

/// Widths of characters at a size of one pixel.
struct Typeface {
    font: FontRef<'static>,
}

static TYPEFACE: LazyLock<Typeface> =
    LazyLock::new(|| Typeface { font: FontRef::new(FONT).expect("the bundled font is one") });

impl Typeface {
    fn width(&self, character: char) -> f32 {
        // A whole em, the width in most scripts that the font lacks.
        const UNKNOWN: f32 = 1.0;
        let glyph = self.font.charmap().map(character);
        let metrics = self.font.glyph_metrics(Size::new(1.0), LocationRef::default());
        glyph.and_then(|glyph| metrics.advance_width(glyph)).unwrap_or(UNKNOWN)
    }
}

/// Width of text in pixels, rounded up.
pub(super) fn width(text: &str, size: u8) -> i32 {
    let width: f32 = text.chars().map(|character| TYPEFACE.width(character)).sum();
    #[allow(clippy::cast_possible_truncation)] // labels are no longer than a few thousand pixels
    let pixels = (width * f32::from(size)).ceil() as i32;
    pixels
}

/// Text that a picture may contain: without characters that XML forbids or that control the display of text, without
/// backquotes, and of readable length.
pub(super) fn clean(text: &str) -> String {
    const LONGEST: usize = 2_000;
    let is_noncharacter = |one: char| u32::from(one) & 0xFFFE == 0xFFFE;
    let characters =
        terminal_safe(text).chars().filter(|one| *one != '`').take(LONGEST).collect::<Vec<_>>();
    let shown = |one: char| if is_noncharacter(one) { '\u{fffd}' } else { one };
    characters.into_iter().map(shown).collect()
}

/// Text cut to a width, with an ellipsis if it was cut.
pub(super) fn fitted(text: &str, size: u8, most: i32) -> String {
    let text = clean(text);
    if width(&text, size) <= most {
        return text;
    }
    let room = most - width("…", size);
    let mut kept = String::new();
    for character in text.chars() {
        kept.push(character);
        if width(&kept, size) > room {
            kept.pop();
            break;
        }
    }
    kept.trim_end().to_owned() + "…"
}

/// Text broken into lines of at most a width.
pub(super) fn lines(text: &str, size: u8, most: i32) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in clean(text).split_whitespace() {
        let word = fitted(word, size, most);
        match lines.last_mut() {
            Some(line) if width(line, size) + width(" ", size) + width(&word, size) <= most => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_measured_as_the_font_says() {
        // Inter's zero is 1,744 of 2,816 units wide, and its full stop 768.
        let digits = width("0000000000", 100);
        assert!((615..=625).contains(&digits), "{digits}");
        assert!(width("iiii", 12) < width("MMMM", 12));
        assert_eq!(width("", 12), 0);
        assert_eq!(width("漢", 12), 12, "what the font does not have is an em wide");
    }

    #[test]
    fn long_text_is_cut_where_there_is_no_more_room() {
        assert_eq!(fitted("short", 12, 200), "short");
        let cut = fitted(&"word ".repeat(100), 12, 200);
        assert!(cut.ends_with('…') && width(&cut, 12) <= 200, "{cut}");
        for line in lines(&"some words and a_very_long_one".repeat(20), 12, 150) {
            assert!(width(&line, 12) <= 150, "{line}");
        }
    }

    #[test]
    fn nothing_that_xml_forbids_is_left() {
        assert_eq!(
            clean("a\u{0}\u{1b}[31m\u{fffe}\u{202e}b"),
            "a\u{fffd}\u{fffd}[31m\u{fffd}\u{fffd}b"
        );
    }
}
