//! The status of a repository as the client tells it: cut where it is long, so that many changed
//! files do not fill the system prompt.
//!
//! That the text of the status is cut at 2,000 characters is documented; what is the text of the
//! status, and the words that stand for the rest, are assumed: each paragraph is cut by itself, its
//! label (a first line that ends with a colon) aside, so that the branch in front and the commits
//! after stay.

use std::borrow::Cow;

/// The most characters of a paragraph.
const MOST_CHARACTERS: usize = 2_000;

/// What stands in place of the rest.
const NOTICE: &str = "\n... (cut at 2,000 characters)";

/// What the line in place of the rest begins with, whoever cut it.
const CUT: &str = "\n...";

/// The status with its long paragraphs cut. What was cut already stays as it is.
pub(super) fn cut(status: &str) -> Cow<'_, str> {
    if status.len() <= MOST_CHARACTERS {
        return Cow::Borrowed(status);
    }
    let paragraphs: Vec<Cow<'_, str>> = status.split("\n\n").map(cut_paragraph).collect();
    Cow::Owned(paragraphs.join("\n\n"))
}

fn cut_paragraph(paragraph: &str) -> Cow<'_, str> {
    let label = paragraph.split_inclusive('\n').next().filter(|line| line.ends_with(":\n"));
    let label = label.map_or(0, str::len);
    let mut characters = paragraph[label..].char_indices();
    let Some((end, _)) = characters.nth(MOST_CHARACTERS) else { return paragraph.into() };
    let (kept, rest) = paragraph.split_at(label + end);
    let was_cut = rest.starts_with(CUT) && !rest[1..].contains('\n');
    if was_cut { paragraph.into() } else { format!("{kept}{NOTICE}").into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_is_cut_and_what_stands_around_it_is_not() {
        let status = |text: &str| format!("Branch: main\n\nStatus:\n{text}\n\nCommits:\na1 b");
        let short = status(&"é".repeat(2_000));
        assert_eq!(cut(&short), short);
        let once = cut(&status(&"é".repeat(2_001))).into_owned();
        assert_eq!(once, status(&format!("{}{NOTICE}", "é".repeat(2_000))));
        assert_eq!(cut(&once), once);
        let by_client = status(&format!("{}\n... (more)", "m".repeat(2_000)));
        assert_eq!(cut(&by_client), by_client);
    }

    #[test]
    fn a_status_alone_is_cut() {
        assert_eq!(cut(&"m".repeat(2_500)), format!("{}{NOTICE}", "m".repeat(2_000)));
        let lines = " M a.rs\n".repeat(300);
        assert_eq!(cut(&lines), format!("{}{NOTICE}", &lines[..2_000]));
    }
}
