//! What happens to the markers of a request template: in words, and as a patch.

use std::borrow::Cow;

use similar::udiff::UnifiedHunkHeader;
use similar::{Algorithm, TextDiff};

use super::document::Document;
use super::escape::terminal_safe;
use crate::base::ttl::Ttl;
use crate::settings::MarkerChange;

/// The width of what is left out of a line on a terminal.
const GAP: &str = " … ";

/// A change of markers: what it is, and each marker before and afterwards.
#[must_use]
pub fn markers_document(title: &str, file: &str, changes: &[MarkerChange], end: &str) -> Document {
    let mut document = Document::default();
    document.text(title);
    document.heading(file);
    for MarkerChange { place, before, after } in changes {
        document.text(format!("{place}: {} → {}", lifetime(*before), lifetime(*after)));
    }
    document.text(end);
    document
}

fn lifetime(ttl: Option<Ttl>) -> &'static str {
    match ttl {
        None => "no marker",
        Some(Ttl::FiveMinutes) => "five minutes",
        Some(Ttl::OneHour) => "an hour",
    }
}

/// How many lines around a change a patch has.
const AROUND: usize = 3;

/// The patch that makes one text from another, as `patch` takes it.
#[must_use]
pub fn patch(file: &str, before: &str, after: &str) -> String {
    // Lines end with LF alone, as `patch` has them: what other line ends there are is part of a line.
    let lines = |text| str::split_inclusive(text, '\n').collect::<Vec<&str>>();
    let (before, after) = (lines(before), lines(after));
    let diff = TextDiff::configure().algorithm(Algorithm::Patience).diff_slices(&before, &after);
    let hunks = diff.grouped_ops(AROUND);
    let name = terminal_safe(file);
    // A tab ends a name with a space in it.
    let end = if name.contains(' ') { "\t" } else { "" };
    let mut patch = String::new();
    if !hunks.is_empty() {
        patch += &["--- ", &*name, end, "\n+++ ", &*name, end, "\n"].concat();
    }
    for hunk in &hunks {
        patch += &UnifiedHunkHeader::new(hunk).to_string();
        patch.push('\n');
        for change in hunk.iter().flat_map(|op| diff.iter_changes(op)) {
            let end = if change.value().ends_with('\n') { "" } else { WITHOUT_END };
            patch += &[&*change.tag().to_string(), change.value(), end].concat();
        }
    }
    patch
}

/// What stands after a line without an end.
const WITHOUT_END: &str = "\n\\ No newline at end of file\n";

/// A patch for a terminal: nothing that controls it, and of long lines the beginning and the end, where markers are.
#[must_use]
pub fn readable(patch: &str, width: u16) -> String {
    patch
        .lines()
        .map(|line| shortened(&terminal_safe(line), width.into()).into_owned() + "\n")
        .collect()
}

fn shortened(line: &str, width: usize) -> Cow<'_, str> {
    let length = line.chars().count();
    if length <= width {
        return line.into();
    }
    let kept = width.saturating_sub(GAP.chars().count());
    let first: String = line.chars().take(kept / 3).collect();
    let last: String = line.chars().skip(length - (kept - kept / 3)).collect();
    (first + GAP + &last).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_has_three_lines_around_each_change() {
        let before = "1\n2\n3\n4\n5\r\n6\n7\n8\n9";
        let after = "1\n2\n3\n4\nfive\r\n6\n7\n8\n9";
        let expected =
            "--- a.json\n+++ a.json\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\r\n+five\r\n 6\n 7\n 8\n";
        assert_eq!(patch("a.json", before, after), expected);
        let end = patch("a.json", "1", "1\n");
        assert_eq!(
            end,
            "--- a.json\n+++ a.json\n@@ -1 +1 @@\n-1\n\\ No newline at end of file\n+1\n"
        );
        let end = patch("a b.json", "1\r", "2\r");
        let expected = "-1\r\n\\ No newline at end of file\n+2\r\n\\ No newline at end of file\n";
        assert_eq!(end, format!("--- a b.json\t\n+++ a b.json\t\n@@ -1 +1 @@\n{expected}"));
        assert_eq!(patch("a.json", before, before), "");
    }

    #[test]
    fn long_lines_keep_both_ends_and_control_nothing() {
        assert_eq!(
            readable("+abcdefghijklmnopqrstuvwxyz\n-\u{1b}[m\n", 15),
            "+abc … stuvwxyz\n-�[m\n"
        );
    }
}
