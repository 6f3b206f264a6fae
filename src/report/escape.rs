//! Names from transcripts are other people's text: nothing of it may steer a terminal, a
//! spreadsheet or a page.

use std::borrow::Cow;

/// Replaces everything a terminal may act on: control characters (escape sequences begin with
/// one), and marks that change the direction of text or hide it.
#[must_use]
pub fn terminal_safe(text: &str) -> Cow<'_, str> {
    if text.chars().any(is_unsafe) {
        Cow::Owned(text.chars().map(|c| if is_unsafe(c) { '\u{fffd}' } else { c }).collect())
    } else {
        Cow::Borrowed(text)
    }
}

fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Text for a cell of a Markdown table.
pub(super) fn markdown_cell(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in terminal_safe(text).chars() {
        match c {
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

/// Text for a cell of a CSV file: a spreadsheet must not take it for a formula.
pub(super) fn csv_cell(text: &str) -> Cow<'_, str> {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        Cow::Owned(format!("'{text}"))
    } else {
        Cow::Borrowed(text)
    }
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
    }
}
