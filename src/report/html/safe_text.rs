//! Text in a page, escaped for HTML or for the JSON that the script reads, and the content security policy of the page:
//! its own script and style sheet, identified by their hashes, and fonts inside of the latter.
//!
//! Escaped text can neither end its container nor change the direction of the text around it.

use std::io::Write;
use std::{fmt, io};

use askama::filters::Escaper;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::ser::{CharEscape, Formatter};
use sha2::{Digest, Sha256};

use crate::report::is_unsafe;

/// Replacement of a character that must not be shown.
const REPLACEMENT: char = '\u{fffd}';

/// Escaper of every template, for elements and for quoted attributes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PageText;

impl Escaper for PageText {
    fn write_escaped_str<W: fmt::Write>(&self, mut dest: W, text: &str) -> fmt::Result {
        let mut plain = 0;
        for (at, c) in text.char_indices() {
            let Some(escaped) = escape(c) else { continue };
            dest.write_str(&text[plain..at])?;
            dest.write_str(escaped)?;
            plain = at + c.len_utf8();
        }
        dest.write_str(&text[plain..])
    }
}

/// Text as the content of an element, with the parts between backquotes as code.
pub(super) fn coded(text: &str) -> String {
    let mut markup = String::new();
    // With an unpaired backquote all of them are text.
    let is_paired = text.matches('`').count().is_multiple_of(2);
    for (place, part) in text.split(|c| c == '`' && is_paired).enumerate() {
        let (open, close) = if place % 2 == 1 { ("<code>", "</code>") } else { ("", "") };
        markup.push_str(open);
        // Writing to a string cannot fail.
        let _infallible = PageText.write_escaped_str(&mut markup, part);
        markup.push_str(close);
    }
    markup
}

fn escape(c: char) -> Option<&'static str> {
    match c {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '"' => Some("&quot;"),
        '\'' => Some("&#39;"),
        c if is_unsafe(c) => Some("\u{fffd}"),
        _ => None,
    }
}

/// Data as the text of a `<script type="application/json">`.
///
/// # Errors
/// The data cannot be JSON.
pub(super) fn data_block(data: &impl Serialize) -> io::Result<String> {
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, BlockFormat);
    data.serialize(&mut serializer)?;
    String::from_utf8(bytes).map_err(io::Error::other)
}

/// Compact JSON without characters that HTML could take for the end of the block.
struct BlockFormat;

impl Formatter for BlockFormat {
    fn write_string_fragment<W: Write + ?Sized>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut plain = 0;
        for (at, c) in fragment.char_indices() {
            if !matches!(c, '<' | '>' | '&') && !is_unsafe(c) {
                continue;
            }
            writer.write_all(&fragment.as_bytes()[plain..at])?;
            let shown = if is_unsafe(c) { REPLACEMENT } else { c };
            write!(writer, "\\u{:04x}", u32::from(shown))?;
            plain = at + c.len_utf8();
        }
        writer.write_all(&fragment.as_bytes()[plain..])
    }

    fn write_char_escape<W: Write + ?Sized>(
        &mut self,
        writer: &mut W,
        escape: CharEscape,
    ) -> io::Result<()> {
        match escape {
            CharEscape::Quote => writer.write_all(b"\\\""),
            CharEscape::ReverseSolidus => writer.write_all(b"\\\\"),
            // All other escapes are control characters.
            _ => write!(writer, "\\u{:04x}", u32::from(REPLACEMENT)),
        }
    }
}

/// Content of the page's `<meta http-equiv="Content-Security-Policy">`.
///
/// The texts are those between the tags, byte for byte. (CSP Level 3, 6.7.3.3.)
pub(super) fn content_policy(script: &str, style: &str) -> String {
    format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; font-src data:; base-uri 'none'; form-action 'none'",
        source_hash(script),
        source_hash(style),
    )
}

fn source_hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "\"><script>'&\u{202e}\u{1b}[2J\n\u{2028}é\\";

    #[test]
    fn text_cannot_leave_its_element_or_attribute() {
        let mut page = String::new();
        PageText.write_escaped_str(&mut page, HOSTILE).expect("a string takes everything");
        let expected = "&quot;&gt;&lt;script&gt;&#39;&amp;\u{fffd}\u{fffd}[2J\u{fffd}\u{fffd}é\\";
        assert_eq!(page, expected);
    }

    #[test]
    fn what_stands_between_backticks_is_code() {
        assert_eq!(coded("`5m`, `<b>`: no"), "<code>5m</code>, <code>&lt;b&gt;</code>: no");
        assert_eq!(coded("one ` alone <"), "one ` alone &lt;");
    }

    #[test]
    fn data_cannot_end_their_block() {
        let block = data_block(&[HOSTILE, "</script><!--"]).expect("JSON");
        assert!(!block.contains(['<', '>', '&', '\u{2028}', '\u{202e}']), "{block}");
        let read: Vec<String> = serde_json::from_str(&block).expect("JSON");
        let replaced = "\"><script>'&\u{fffd}\u{fffd}[2J\u{fffd}\u{fffd}é\\";
        assert_eq!(read, [replaced, "</script><!--"]);
    }

    #[test]
    fn hashes_are_those_of_the_specification() {
        // The example of CSP Level 2, 7.17: `alert('Hello, world.');`.
        let expected = "sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng=";
        assert_eq!(source_hash("alert('Hello, world.');"), expected);
    }
}
