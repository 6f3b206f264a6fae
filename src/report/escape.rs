//! Escapes for names from transcripts, which are other people's text: nothing in them may control a
//! terminal, a spreadsheet or a page.

use std::borrow::Cow;

/// Replaces everything a terminal may act on: control characters (which begin escape sequences),
/// and marks that change the direction of text or hide it.
#[must_use]
pub fn terminal_safe(text: &str) -> Cow<'_, str> {
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if !is_plain && text.chars().any(is_unsafe) {
        Cow::Owned(text.chars().map(|c| if is_unsafe(c) { '\u{fffd}' } else { c }).collect())
    } else {
        Cow::Borrowed(text)
    }
}

pub(super) fn is_unsafe(c: char) -> bool {
    c.is_control()
        || c == '\u{61c}'
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Escapes text for a cell of a Markdown table. In a comment it must neither mention somebody
/// (`@name`) nor refer to something (`#12`, an address).
pub(super) fn markdown_cell(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let safe = terminal_safe(text);
    let mut characters = safe.chars().peekable();
    while let Some(c) = characters.next() {
        let next = characters.peek();
        match c {
            '@' => escaped.push_str("&#64;"),
            '#' if next.is_some_and(char::is_ascii_digit) => escaped.push_str("&#35;"),
            ':' if next == Some(&'/') => escaped.push_str("&#58;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '|' | '`' | '*' | '_' | '[' | ']' | '\\' | '~' | '!' => {
                escaped.push('\\');
                escaped.push(c);
            }
            _ => escaped.push(c),
        }
    }
    escaped
}

/// Escapes text inside an HTML element.
pub(super) fn html_text(text: &str) -> String {
    terminal_safe(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Escapes text in an attribute of an HTML or SVG element.
pub(super) fn html_attribute(text: &str) -> String {
    html_text(text).replace('"', "&quot;").replace('\'', "&#39;")
}

/// Escapes text for a CSV cell, so that a spreadsheet does not take it for a formula.
pub(super) fn csv_cell(text: &str) -> Cow<'_, str> {
    let text = terminal_safe(text);
    if text.starts_with(['=', '+', '-', '@']) { Cow::Owned(format!("'{text}")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_lose_their_escape() {
        assert_eq!(terminal_safe("a\u{1b}[31mb\u{7}\u{9b}"), "a\u{fffd}[31mb\u{fffd}\u{fffd}");
        assert_eq!(terminal_safe("x\u{202e}y"), "x\u{fffd}y");
        assert!(matches!(terminal_safe("naïve 日本"), Cow::Borrowed(_)));
    }

    #[test]
    fn markdown_and_spreadsheets_get_plain_text() {
        assert_eq!(markdown_cell("a|b<script>`x`\n"), "a\\|b&lt;script&gt;\\`x\\`\u{fffd}");
        assert_eq!(csv_cell("=1+1"), "'=1+1");
        assert_eq!(csv_cell("a=1"), "a=1");
        assert_eq!(csv_cell("a\u{1b}[2J"), "a\u{fffd}[2J");
    }
}
