//! Escapes for names from transcripts.
//!
//! These are other people's text: nothing in them may control a terminal, a spreadsheet or a page.

use std::borrow::Cow;
use std::ops::Deref;

/// Text without anything that a terminal or the log of a CI runner acts on.
///
/// Tables and documents hold nothing else, so a name cannot reach an output without its escape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SafeText(String);

impl SafeText {
    pub(super) fn new(text: &str) -> Self {
        Self(terminal_safe(text).into_owned())
    }

    /// Appends text of a place of its own, such as a cell.
    pub(super) fn push(&mut self, text: &str) {
        self.0.push_str(&terminal_safe(text));
    }

    pub(super) fn append(&mut self, other: &Self) {
        self.0.push_str(&other.0);
    }
}

impl Deref for SafeText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// Replaces everything that a terminal may act on: control characters (which begin escape sequences), and
/// marks that change the direction of text or hide it.
///
/// Also the first character of a command of a CI runner: `::` at the start of a word, since a line may be
/// broken there, and `##` anywhere.
pub fn terminal_safe(text: &str) -> Cow<'_, str> {
    // Nearly all text is plain, which one pass over its bytes shows.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b':' | b'#')) {
        return Cow::Borrowed(text);
    }
    // Other harmless text, such as accented names, is not copied either.
    if !text.chars().any(is_unsafe) && !text.contains("::") && !text.contains("##") {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    let mut is_first_of_word = true;
    while let Some(c) = characters.next() {
        let next = characters.peek();
        let is_command = match c {
            ':' => is_first_of_word && next == Some(&':'),
            '#' => next == Some(&'#'),
            _ => false,
        };
        safe.push(if is_command || is_unsafe(c) { '\u{fffd}' } else { c });
        is_first_of_word = c.is_whitespace();
    }
    Cow::Owned(safe)
}

/// Returns true if a character controls a terminal, hides text, changes its direction, or is not allowed in
/// XML.
pub(super) fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Escapes text for Markdown, in a table or elsewhere.
///
/// In a comment it must neither mention somebody (`@name`) nor refer to something (`#12`, an address): such
/// words become code.
pub(super) fn markdown_text(text: &str) -> String {
    terminal_safe(text).split_inclusive(char::is_whitespace).map(markdown_word).collect()
}

/// Escapes a word, with the space after it.
fn markdown_word(text: &str) -> String {
    let word = text.trim_end();
    let space = &text[word.len()..];
    if is_reference(word) {
        // A bar would end a cell, even inside of code.
        let parts: Vec<String> = word.split('|').map(markdown_code).collect();
        return parts.join("\\|") + space;
    }
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '|' | '`' | '*' | '_' | '[' | ']' | '\\' | '~' | '!' => escaped.extend(['\\', c]),
            _ => escaped.push(c),
        }
    }
    escaped
}

/// Returns true if a Markdown page may make a link of a word, also if a code host extends Markdown.
///
/// An escape is no help: links are found after it is undone.
fn is_reference(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    let has_number_after = |mark: &str| {
        lower.split(mark).skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    lower.contains('@')
        || lower.contains("://")
        || lower.contains("www.")
        || ["#", "gh-"].into_iter().any(has_number_after)
}

/// Word as code, between more backticks than it has in a row.
fn markdown_code(word: &str) -> String {
    if word.is_empty() {
        return String::new();
    }
    let runs = word.split(|c| c != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or_default() + 1);
    // Markdown takes one space off both ends, and a backtick next to the fence would extend it.
    let pad = if word.starts_with('`') || word.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{word}{pad}{fence}")
}

/// Escapes text inside an HTML element.
pub(super) fn html_text(text: &str) -> String {
    terminal_safe(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Escapes text in an attribute of an HTML or SVG element.
pub(super) fn html_attribute(text: &str) -> String {
    html_text(text).replace('"', "&quot;").replace('\'', "&#39;")
}

/// Escapes text for a CSV cell.
///
/// A `'` comes before text that a spreadsheet takes for a formula, also in wide forms and after spaces.
pub(super) fn csv_text(text: &str) -> String {
    const FORMULAS: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];
    let is_formula = text.trim_start().starts_with(FORMULAS);
    format!("{}{}", if is_formula { "'" } else { "" }, terminal_safe(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_lose_their_escape() {
        assert_eq!(terminal_safe("a\u{1b}[31mb\u{7}\u{9b}"), "a\u{fffd}[31mb\u{fffd}\u{fffd}");
        assert_eq!(terminal_safe("x\u{202e}y"), "x\u{fffd}y");
        assert_eq!(terminal_safe("\u{fffe}\u{e0041}\u{ad}"), "\u{fffd}\u{fffd}\u{fffd}");
        assert!(matches!(terminal_safe("naïve 日本"), Cow::Borrowed(_)));
    }

    #[test]
    fn commands_of_runners_lose_their_first_character() {
        assert_eq!(terminal_safe("::error::x"), "\u{fffd}:error::x");
        assert_eq!(terminal_safe("a ::b c::d"), "a \u{fffd}:b c::d");
        assert_eq!(terminal_safe("a##[error]"), "a\u{fffd}#[error]");
        assert!(matches!(terminal_safe("line 1: x #1"), Cow::Borrowed(_)));
    }

    #[test]
    fn markdown_and_spreadsheets_get_plain_text() {
        assert_eq!(markdown_text("a|b<script>`x`\n"), "a\\|b&lt;script&gt;\\`x\\`\u{fffd}");
        assert_eq!(csv_text("=1+1"), "'=1+1");
        assert_eq!(csv_text(" ＝1"), "' ＝1");
        assert_eq!(csv_text("a=1"), "a=1");
        assert_eq!(csv_text("a\u{1b}[2J"), "a\u{fffd}[2J");
    }

    #[test]
    fn words_that_would_be_links_are_code() {
        assert_eq!(markdown_text("see www.evil.example now"), "see `www.evil.example` now");
        assert_eq!(markdown_text("a@b|``@c`"), "`a@b`\\|``` ``@c` ```");
        assert_eq!(markdown_text("https://x #12 a_b"), "`https://x` `#12` a\\_b");
    }
}
