//! Changes of the markers of a request template: in words, and as a patch.

use std::borrow::Cow;
use std::ops::Range;

use imara_diff::{Algorithm, Diff, Hunk, InternedInput, Token};

use super::{Document, terminal_safe};
use crate::settings::MarkerChange;

/// Mark in place of the middle of a line that is too long for a terminal.
const GAP: &str = " … ";

/// Change of markers: its title, and each marker before and afterwards.
pub fn markers_document(title: &str, file: &str, changes: &[MarkerChange], end: &str) -> Document {
    let mut document = Document::default();
    document.text(title);
    document.heading(file);
    for MarkerChange { place, before, after } in changes {
        let [before, after] = [before, after].map(|lifetime| lifetime.unwrap_or("no marker"));
        document.text(format!("{place}: {before} → {after}"));
    }
    document.text(end);
    document
}

/// Number of lines around a change in a patch.
const AROUND: u32 = 3;

/// Patch from one text to another, as `patch` takes it: by the histogram algorithm, as in Git.
pub fn patch(file: &str, before: &str, after: &str) -> String {
    // Lines end with LF alone, as `patch` has them: any other line end is part of a line.
    let input = InternedInput::new(before, after);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let hunks: Vec<Hunk> = diff.hunks().collect();
    let name = terminal_safe(file);
    // A tab ends a name with a space in it.
    let end = if name.contains(' ') { "\t" } else { "" };
    let mut patch = String::new();
    if !hunks.is_empty() {
        patch += &["--- ", &*name, end, "\n+++ ", &*name, end, "\n"].concat();
    }
    // Changes share a hunk if the lines around them would touch or overlap.
    for together in hunks.chunk_by(|one, next| next.before.start - one.before.end <= 2 * AROUND) {
        write_hunk(&mut patch, &input, together);
    }
    patch
}

/// Writes a hunk of neighbouring changes, with the lines around them.
fn write_hunk(patch: &mut String, input: &InternedInput<&str>, changes: &[Hunk]) {
    let [Some(first), Some(last)] = [changes.first(), changes.last()] else { return };
    let above = first.before.start.min(AROUND);
    let below = AROUND.min(lines_of(&input.before) - last.before.end);
    let [before, after] = [
        first.before.start - above..last.before.end + below,
        first.after.start - above..last.after.end + below,
    ];
    *patch += &["@@ -", &place(&before), " +", &place(&after), " @@\n"].concat();
    let mut add = |mark: &str, lines: &[Token], range: Range<u32>| {
        for token in &lines[range.start as usize..range.end as usize] {
            let line = input.interner[*token];
            let end = if line.ends_with('\n') { "" } else { WITHOUT_END };
            *patch += &[mark, line, end].concat();
        }
    };
    let mut unchanged = before.start;
    for change in changes {
        add(" ", &input.before, unchanged..change.before.start);
        add("-", &input.before, change.before.clone());
        add("+", &input.after, change.after.clone());
        unchanged = change.before.end;
    }
    add(" ", &input.before, unchanged..before.end);
}

#[allow(clippy::cast_possible_truncation)] // the diff numbers lines in 31 bits
fn lines_of(tokens: &[Token]) -> u32 {
    tokens.len() as u32
}

/// Range of lines as the head of a hunk has it: the first line, from 1 on, and the count, unless that is one.
///
/// An empty range has the line in front of it.
fn place(lines: &Range<u32>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => (lines.start + 1).to_string(),
        length => format!("{},{length}", lines.start + 1),
    }
}

/// Text after a last line that has no line end.
const WITHOUT_END: &str = "\n\\ No newline at end of file\n";

/// Patch for a terminal, without anything that controls it.
///
/// Long lines keep the beginning and the end, where markers are.
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
    // The end gets two thirds of the room, since markers are there.
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
        assert_eq!(patch("a.json", "", "1\n"), "--- a.json\n+++ a.json\n@@ -0,0 +1 @@\n+1\n");
        // Six lines between two changes are one hunk, seven are two.
        let lines =
            |first: &str, between: usize| format!("{first}\n{}{first}\n", "-\n".repeat(between));
        for (between, hunks) in [(6, 1), (7, 2)] {
            let made = patch("a", &lines("1", between), &lines("2", between));
            assert_eq!(made.matches("@@ -").count(), hunks, "{made}");
        }
    }

    #[test]
    fn long_lines_keep_both_ends_and_control_nothing() {
        assert_eq!(
            readable("+abcdefghijklmnopqrstuvwxyz\n-\u{1b}[m\n", 15),
            "+abc … stuvwxyz\n-�[m\n"
        );
    }
}
