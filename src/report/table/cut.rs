//! Texts cut, and sentences broken into lines, to a width of a terminal.

use std::borrow::Cow;

use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Breaks a text without line breaks into lines of a width, at spaces. Longer words are cut.
pub(in crate::report) fn wrap(text: &str, width: usize) -> Vec<String> {
    let options = Options::new(width)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    let text = breakable(text, width);
    textwrap::wrap(&text, options).iter().map(|line| unbound(line)).collect()
}

/// Text whose words fit a width: longer ones are cut, and a number stays with its per cent sign until [`unbound`].
pub(super) fn breakable(text: &str, width: usize) -> String {
    let text = text.replace(" %", BOUND_PER_CENT);
    let words = text.split(' ').map(|word| shortened(word.into(), width));
    words.collect::<Vec<_>>().join(" ")
}

/// A line of a [`breakable`] text as it is shown.
pub(super) fn unbound(line: &str) -> String {
    line.replace(BOUND_PER_CENT, " %")
}

/// Per cent sign after a space at which no line is broken.
const BOUND_PER_CENT: &str = "\u{a0}%";

/// Cuts a text to a width. A path, or a line in a file, keeps its end; anything else keeps as many whole words as fit.
pub(crate) fn shortened(text: Cow<'_, str>, width: usize) -> Cow<'_, str> {
    if display_width(&text) <= width {
        return text;
    }
    let room = width.saturating_sub(1);
    if is_place(&text) {
        Cow::Owned(format!("…{}", end_of(&text, room)))
    } else {
        let kept = beginning_of(&text, room);
        // Whole words, unless almost nothing would be left.
        let words = kept.rsplit_once(' ').map(|(words, _)| words);
        let kept = words.filter(|words| display_width(words) * 2 > room).unwrap_or(kept);
        Cow::Owned(format!("{}…", kept.trim_end_matches([',', ';', ':'])))
    }
}

/// Cuts the middle out of a name, as names with the same beginning mostly differ at their ends.
pub(super) fn shortened_name(name: &str, width: usize) -> Cow<'_, str> {
    if display_width(name) <= width {
        return name.into();
    }
    let room = width.saturating_sub(1);
    let beginning = beginning_of(name, room.div_ceil(2)).trim_end();
    let end = end_of(name, room / 2).trim_start();
    Cow::Owned(format!("{beginning}…{end}"))
}

/// Longest beginning of a text that fits a width.
fn beginning_of(text: &str, width: usize) -> &str {
    &text[..fitting(text.char_indices().map(|(at, one)| (at + one.len_utf8(), one)), width)
        .unwrap_or(0)]
}

/// Longest end of a text that fits a width.
fn end_of(text: &str, width: usize) -> &str {
    &text[fitting(text.char_indices().rev(), width).unwrap_or(text.len())..]
}

/// Place of the last of the characters that fit a width.
fn fitting(characters: impl Iterator<Item = (usize, char)>, width: usize) -> Option<usize> {
    let mut taken = 0;
    let fits = |(_, character): &(usize, char)| {
        taken += character.width().unwrap_or_default();
        taken <= width
    };
    characters.take_while(fits).last().map(|(place, _)| place)
}

/// Returns true for a path, or a file with a line.
fn is_place(text: &str) -> bool {
    let has_line = text.rsplit_once(':').is_some_and(|(_, line)| {
        !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit())
    });
    !text.contains(' ') && (has_line || text.contains('/'))
}

/// Number of terminal columns that a text takes.
pub(super) fn display_width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.width() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_path_the_end_is_shown() {
        assert_eq!(shortened("projects/demo/session.jsonl".into(), 14), "…session.jsonl");
        assert_eq!(shortened("long_name.jsonl:121".into(), 12), "…e.jsonl:121");
        assert_eq!(shortened("messages_rewritten".into(), 10), "messages_…");
        assert_eq!(
            wrap("see projects/demo/session.jsonl twice", 16),
            ["see", "…o/session.jsonl", "twice"]
        );
    }

    #[test]
    fn of_a_long_name_both_ends_are_shown() {
        assert_eq!(shortened_name("results of mcp__linear__list_labels", 18), "results o…t_labels");
        assert_eq!(shortened_name("short", 18), "short");
        for width in 1..40 {
            let cut = shortened_name("名前が長い名前 of something", width);
            assert!(cut.width() <= width, "{width}: {cut}");
        }
    }
}
