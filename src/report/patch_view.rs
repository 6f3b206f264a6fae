//! What happens to the markers of a request template: in words, and as a patch.

use std::borrow::Cow;

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

/// The patch that makes one text from another, as `patch` takes it.
#[must_use]
pub fn patch(file: &str, before: &str, after: &str) -> String {
    // Lines end with LF alone, as `patch` has them; what other line ends there are is part of a line.
    let lines = |text| str::split_inclusive(text, '\n').collect::<Vec<&str>>();
    let (before, after) = (lines(before), lines(after));
    let mut config = TextDiff::configure();
    config.algorithm(Algorithm::Patience).newline_terminated(true);
    let diff = config.diff_slices(&before, &after);
    let name = terminal_safe(file);
    diff.unified_diff().header(&name, &name).to_string()
}

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
