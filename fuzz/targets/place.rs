//! What errors say: places that are in the text, and nothing that a terminal obeys.

/// There is such a line, and such a column in it, counted in characters from 1; behind the last one is
/// where something is missing.
#[track_caller]
pub(crate) fn assert_in(text: &str, line: usize, column: usize) {
    let found = line.checked_sub(1).and_then(|before| text.split('\n').nth(before));
    let found = found.unwrap_or_else(|| panic!("no line {line}"));
    assert!((1..=found.chars().count() + 1).contains(&column), "column {column} of line {line}");
}

/// It has no control characters.
#[track_caller]
pub(crate) fn assert_plain(text: &str) {
    assert!(!text.chars().any(char::is_control), "{text:?}");
}
