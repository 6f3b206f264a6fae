//! The paragraphs of texts, each known by what it says, whatever the order of its lists.

use rustc_hash::FxHashMap;

use super::contents::{ContentId, Contents};
use crate::read::capture::plain_text;

/// How the lines of a list begin.
const BULLETS: [&str; 3] = ["- ", "* ", "• "];

/// A piece of a system prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Piece {
    /// A paragraph of a text.
    Paragraph(usize),
    /// A block that is more than a text.
    Block(ContentId),
}

/// The paragraphs of all texts that were looked at.
#[derive(Default)]
pub(super) struct Paragraphs {
    /// By what they say with their lists sorted.
    ids: FxHashMap<String, usize>,
    /// As they are written: as sent or, where that was in several orders, with their lists sorted.
    written: Vec<String>,
    of_blocks: FxHashMap<ContentId, Vec<Piece>>,
}

impl Paragraphs {
    /// Takes a block into account.
    pub(super) fn add(&mut self, block: ContentId, contents: &Contents<'_>) {
        if self.of_blocks.contains_key(&block) {
            return;
        }
        let pieces = match text(block, contents) {
            Some(text) => {
                let paragraphs = paragraphs(&text);
                paragraphs.into_iter().map(|one| Piece::Paragraph(self.id(one))).collect()
            }
            None => Vec::new(),
        };
        let is_whole = pieces.is_empty();
        self.of_blocks.insert(block, if is_whole { vec![Piece::Block(block)] } else { pieces });
    }

    /// The pieces of a block that was taken into account.
    pub(super) fn of(&self, block: ContentId) -> &[Piece] {
        self.of_blocks.get(&block).map_or(&[], Vec::as_slice)
    }

    /// Whether a block that was taken into account says what its pieces are written as.
    pub(super) fn are_as_sent(&self, block: ContentId, contents: &Contents<'_>) -> bool {
        let sent = text(block, contents).map(|text| paragraphs(&text)).unwrap_or_default();
        sent.is_empty() || sent.join("\n\n") == self.text(self.of(block))
    }

    /// The text of some paragraphs, with blank lines between them.
    pub(super) fn text(&self, pieces: &[Piece]) -> String {
        let written = pieces.iter().filter_map(|piece| match piece {
            Piece::Paragraph(id) => Some(self.written[*id].as_str()),
            Piece::Block(_) => None,
        });
        written.collect::<Vec<_>>().join("\n\n")
    }

    fn id(&mut self, paragraph: String) -> usize {
        let sorted = with_sorted_lists(&paragraph);
        if let Some(known) = self.ids.get(&sorted).copied() {
            if self.written[known] != paragraph {
                self.written[known] = sorted;
            }
            return known;
        }
        self.ids.insert(sorted, self.written.len());
        self.written.push(paragraph);
        self.written.len() - 1
    }
}

/// The text of a block that is a text and nothing else.
fn text(block: ContentId, contents: &Contents<'_>) -> Option<String> {
    std::str::from_utf8(contents.bytes(block)).ok().and_then(plain_text)
}

/// What stands between blank lines.
fn paragraphs(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.split('\n').collect();
    let paragraphs = lines.split(|line| line.trim().is_empty());
    paragraphs.filter(|lines| !lines.is_empty()).map(|lines| lines.join("\n")).collect()
}

/// A paragraph with the lines of each list in order. Where any line is indented it stays as it is: the line
/// belongs to the one in front of it.
fn with_sorted_lists(paragraph: &str) -> String {
    let mut lines: Vec<&str> = paragraph.split('\n').collect();
    if lines.iter().any(|line| line.starts_with([' ', '\t'])) {
        return paragraph.to_owned();
    }
    let is_one_list =
        |one: &&str, next: &&str| bullet(one).is_some() && bullet(one) == bullet(next);
    lines.chunk_by_mut(is_one_list).for_each(<[&str]>::sort_unstable);
    lines.join("\n")
}

/// The bullet of a line of a list.
fn bullet(line: &str) -> Option<&'static str> {
    BULLETS.into_iter().find(|bullet| line.starts_with(bullet))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_stand_between_blank_lines() {
        assert_eq!(paragraphs("a\nb\n\nc\n \t\n\nd\n"), ["a\nb", "c", "d"]);
        assert!(paragraphs("\n \n").is_empty());
        assert_eq!(paragraphs("one"), ["one"]);
    }

    #[test]
    fn lists_are_sorted_and_nothing_else() {
        let sorted = with_sorted_lists;
        assert_eq!(sorted("Repositories:\n- web\n- api"), "Repositories:\n- api\n- web");
        assert_eq!(sorted("b\na"), "b\na");
        assert_eq!(sorted("2. b\n1. a"), "2. b\n1. a");
        assert_eq!(sorted("- c\n- a\n  - of a"), "- c\n- a\n  - of a");
        // A list of another bullet is another list.
        assert_eq!(sorted("- b\n* c\n* a"), "- b\n* a\n* c");
    }
}
