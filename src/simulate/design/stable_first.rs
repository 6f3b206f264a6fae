//! System prompts with their stable paragraphs first: the static parts (every request of a
//! conversation has them), and the paragraphs of texts, equal if they differ only in the order of
//! their lists. Of paragraphs that have most lines in common each line is a part of its own.

use std::borrow::Cow;
use std::hash::Hash;

use rustc_hash::{FxHashMap, FxHashSet};

use super::blocks::{ContentId, Contents, PromptBlock};
use crate::base::{EntryId, Order as _};
use crate::read::capture::{Part, plain_text, text_block};
use crate::requests::conversation::RequestIndex;

/// Stability of a piece of a system prompt, most stable first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stability {
    /// Several conversations have the piece.
    Shared,
    /// Its conversation has the piece throughout.
    Static,
    /// The piece changes.
    Changing,
}

/// Pieces of all system prompts.
pub(super) struct StableParagraphs {
    paragraphs: Paragraphs,
    statics: StaticTexts<Piece>,
    shared: FxHashSet<Piece>,
}

/// System prompt with its stable paragraphs first.
pub(super) struct StableFirst {
    pub(super) blocks: Vec<PromptBlock>,
    /// Last place that holds any part of each block as sent.
    pub(super) places: Vec<usize>,
    /// Last block that several conversations share, if others follow it.
    pub(super) last_shared: Option<usize>,
    /// Last stable block, or `None` if all or none are stable.
    pub(super) last_stable: Option<usize>,
}

impl StableParagraphs {
    /// Pieces of the system prompts of all requests, each with its conversation.
    pub(super) fn new(systems: &[(RequestIndex, Vec<ContentId>)], contents: &Contents<'_>) -> Self {
        let mut paragraphs = Paragraphs::default();
        for block in systems.iter().flat_map(|(_, system)| system) {
            paragraphs.add(*block, contents);
        }
        paragraphs.cut_versions();
        let mut statics = StaticTexts::default();
        for (opening, system) in systems {
            statics.add(*opening, system.iter().flat_map(|block| paragraphs.of(*block)).copied());
        }
        Self { shared: statics.shared(), paragraphs, statics }
    }

    fn stability(&self, opening: RequestIndex, piece: Piece) -> Stability {
        if !self.statics.is_static(opening, piece) {
            Stability::Changing
        } else if self.shared.contains(&piece) {
            Stability::Shared
        } else {
            Stability::Static
        }
    }

    /// System prompt of a request with its stable paragraphs first, or `None` if it stays as sent.
    pub(super) fn lay_out(
        &self,
        opening: RequestIndex,
        system: &[PromptBlock],
        contents: &mut Contents<'_>,
    ) -> Option<StableFirst> {
        let mut cut: Vec<(Stability, usize, PromptBlock)> = Vec::new();
        for (place, block) in system.iter().enumerate() {
            let parts = self.parts(opening, *block, contents);
            cut.extend(parts.into_iter().map(|(stability, part)| (stability, place, part)));
        }
        // A stable sort keeps the order as sent within each stability.
        cut.order_by_key(|(stability, ..)| *stability);
        if cut.iter().map(|(.., block)| block).eq(system) {
            return None;
        }
        // Last part of each block, or the block's own place if nothing is left of it.
        let mut places: Vec<usize> = (0..system.len()).collect();
        for (at, (_, of, _)) in cut.iter().enumerate() {
            places[*of] = at;
        }
        let last = |most| {
            let end = cut.partition_point(|(stability, ..)| *stability <= most);
            end.checked_sub(1).filter(|_| end < cut.len())
        };
        Some(StableFirst {
            places,
            last_shared: last(Stability::Shared),
            last_stable: last(Stability::Static),
            blocks: cut.into_iter().map(|(.., block)| block).collect(),
        })
    }

    /// Cuts a block into one block for each stability among its pieces.
    fn parts(
        &self,
        opening: RequestIndex,
        block: PromptBlock,
        contents: &mut Contents<'_>,
    ) -> Vec<(Stability, PromptBlock)> {
        let mut pieces = self.paragraphs.of(block.content).to_vec();
        pieces.order_by_key(|piece| self.stability(opening, *piece));
        let most = pieces.first().map(|piece| self.stability(opening, *piece));
        let least = pieces.last().map(|piece| self.stability(opening, *piece));
        // A block of one stability is cut only if a list of it was sorted: other cuts would change
        // bytes for nothing.
        let is_kept = most == least && self.paragraphs.are_as_sent(block.content, contents);
        if let Some(one) = most.filter(|_| is_kept) {
            return vec![(one, block)];
        }
        let parts = pieces
            .chunk_by(|one, next| self.stability(opening, *one) == self.stability(opening, *next));
        let part = |part: &[Piece]| {
            let bytes = text_block(&self.paragraphs.text(part));
            let length = bytes.len() as u64;
            let content = contents.of_block(Part::System, bytes.into_bytes());
            let block = PromptBlock { content, bytes: Some(length), ..block };
            (self.stability(opening, part[0]), block)
        };
        parts.map(part).collect()
    }
}

/// Parts (blocks, or pieces of them) of each conversation's system prompts.
///
/// A conversation is identified by its first request.
pub(super) struct StaticTexts<T> {
    conversations: FxHashMap<RequestIndex, Conversation<T>>,
}

struct Conversation<T> {
    /// Parts that every request has.
    common: FxHashSet<T>,
    /// True if any request has other parts.
    has_changes: bool,
}

impl<T> Default for StaticTexts<T> {
    fn default() -> Self {
        Self { conversations: FxHashMap::default() }
    }
}

impl<T: Copy + Eq + Hash> StaticTexts<T> {
    /// Adds the system prompt of a request of a conversation.
    pub(super) fn add(&mut self, opening: RequestIndex, system: impl Iterator<Item = T>) {
        let parts: FxHashSet<T> = system.collect();
        let Some(conversation) = self.conversations.get_mut(&opening) else {
            let conversation = Conversation { common: parts, has_changes: false };
            self.conversations.insert(opening, conversation);
            return;
        };
        // Compared before the intersection: a part that is added later is a change, too.
        conversation.has_changes |= conversation.common != parts;
        conversation.common.retain(|part| parts.contains(part));
    }

    /// Static parts of a conversation, or `None` if no part ever changes.
    pub(super) fn of(&self, opening: RequestIndex) -> Option<&FxHashSet<T>> {
        let conversation = self.conversations.get(&opening)?;
        conversation.has_changes.then_some(&conversation.common)
    }

    /// Returns true if every request of a conversation has a part.
    pub(super) fn is_static(&self, opening: RequestIndex, part: T) -> bool {
        self.conversations
            .get(&opening)
            .is_some_and(|conversation| conversation.common.contains(&part))
    }

    /// Parts that are static in several conversations.
    pub(super) fn shared(&self) -> FxHashSet<T> {
        let mut seen = FxHashSet::default();
        let all = self.conversations.values().flat_map(|conversation| &conversation.common);
        all.filter(|part| !seen.insert(**part)).copied().collect()
    }
}

/// Beginnings of a list's lines.
const BULLETS: [&str; 3] = ["- ", "* ", "• "];

/// Piece of a system prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Piece {
    /// Paragraph of a text, or a line of one.
    Text(usize),
    /// Block that is more than a text.
    Block(ContentId),
}

/// Paragraphs of all texts that were added.
#[derive(Default)]
pub(super) struct Paragraphs {
    /// Ids by the hash of the text with sorted lists.
    ids: FxHashMap<EntryId, usize>,
    /// Text of each piece: as sent, or with sorted lists if it was sent in several orders. The end of a paragraph
    /// is a line end.
    written: Vec<String>,
    of_blocks: FxHashMap<ContentId, Vec<Piece>>,
}

impl Paragraphs {
    /// Adds a block.
    pub(super) fn add(&mut self, block: ContentId, contents: &Contents<'_>) {
        if self.of_blocks.contains_key(&block) {
            return;
        }
        let pieces = match text(block, contents) {
            Some(text) => {
                let id = |paragraph: &str| Piece::Text(self.id(format!("{paragraph}\n")));
                paragraphs(&text).into_iter().map(id).collect()
            }
            None => Vec::new(),
        };
        let is_whole = pieces.is_empty();
        self.of_blocks.insert(block, if is_whole { vec![Piece::Block(block)] } else { pieces });
    }

    /// Cuts paragraphs that have most of their text in lines of others: they are versions of one. Of the rest no line
    /// is moved, as it means something after the ones before it.
    fn cut_versions(&mut self) {
        let mut versions: FxHashMap<&str, usize> = FxHashMap::default();
        for paragraph in &self.written {
            for line in paragraph.split('\n').collect::<FxHashSet<_>>() {
                *versions.entry(line).or_default() += 1;
            }
        }
        let is_version = |paragraph: &String| {
            let recurring = paragraph.split('\n').filter(|line| versions[line] > 1).map(str::len);
            2 * recurring.sum::<usize>() > paragraph.len()
        };
        let found = self.written.iter().map(|one| is_version(one).then(|| one.clone()));
        let found: Vec<Option<String>> = found.collect();
        let mut piece = |line: &str| Piece::Text(self.id(line.to_owned()));
        let mut lines = |paragraph: String| paragraph.split('\n').map(&mut piece).collect();
        let cut: Vec<Option<Vec<Piece>>> =
            found.into_iter().map(|paragraph| paragraph.map(&mut lines)).collect();
        for pieces in self.of_blocks.values_mut() {
            let cut = |piece: &Piece| match piece {
                Piece::Text(id) => cut[*id].clone().unwrap_or_else(|| vec![*piece]),
                Piece::Block(_) => vec![*piece],
            };
            *pieces = pieces.iter().flat_map(cut).collect();
        }
    }

    /// Pieces of a block that was added.
    pub(super) fn of(&self, block: ContentId) -> &[Piece] {
        self.of_blocks.get(&block).map_or(&[], Vec::as_slice)
    }

    /// Returns true if the text of a block equals the text of its pieces.
    pub(super) fn are_as_sent(&self, block: ContentId, contents: &Contents<'_>) -> bool {
        let Some(sent) = text(block, contents) else { return true };
        let own = self.written(self.of(block)).flat_map(|piece| piece.split('\n'));
        // Lines alone: those that are blank are the ends of paragraphs.
        let is_line = |line: &&str| !line.trim().is_empty();
        sent.split('\n').filter(is_line).eq(own.filter(is_line))
    }

    /// Text of pieces, with blank lines between paragraphs.
    pub(super) fn text(&self, pieces: &[Piece]) -> String {
        let mut text = String::new();
        for piece in self.written(pieces) {
            text.push_str(piece);
            text.push('\n');
        }
        text.truncate(text.trim_end_matches('\n').len());
        text
    }

    fn written(&self, pieces: &[Piece]) -> impl Iterator<Item = &str> {
        pieces.iter().filter_map(|piece| match piece {
            Piece::Text(id) => Some(self.written[*id].as_str()),
            Piece::Block(_) => None,
        })
    }

    fn id(&mut self, text: String) -> usize {
        let sorted = with_sorted_lists(&text);
        let id = EntryId::of(&sorted);
        if let Some(known) = self.ids.get(&id).copied() {
            if self.written[known] != text {
                self.written[known] = sorted.into_owned();
            }
            return known;
        }
        self.ids.insert(id, self.written.len());
        self.written.push(text);
        self.written.len() - 1
    }
}

/// Text of a block that is nothing but a text.
fn text(block: ContentId, contents: &Contents<'_>) -> Option<String> {
    std::str::from_utf8(contents.bytes(block)).ok().and_then(plain_text)
}

/// Paragraphs between blank lines.
fn paragraphs(text: &str) -> Vec<&str> {
    let (mut paragraphs, mut start, mut at) = (Vec::new(), None, 0);
    for line in text.split('\n') {
        if !line.trim().is_empty() {
            start.get_or_insert(at);
        } else if let Some(start) = start.take() {
            paragraphs.push(&text[start..at - 1]);
        }
        at += line.len() + 1;
    }
    paragraphs.extend(start.map(|start| &text[start..]));
    paragraphs
}

/// Paragraph with the lines of each list sorted.
///
/// It stays as it is if any line is indented, since that line belongs to the one before it.
fn with_sorted_lists(paragraph: &str) -> Cow<'_, str> {
    let all = || paragraph.split('\n');
    let is_indented = |line: &str| line.starts_with([' ', '\t']);
    if all().any(is_indented) || all().all(|line| bullet(line).is_none()) {
        return paragraph.into();
    }
    let is_one_list =
        |one: &&str, next: &&str| bullet(one).is_some() && bullet(one) == bullet(next);
    let mut lines: Vec<&str> = all().collect();
    lines.chunk_by_mut(is_one_list).for_each(<[&str]>::sort_unstable);
    lines.join("\n").into()
}

/// Bullet of a line of a list.
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
        // Another bullet begins another list.
        assert_eq!(sorted("- b\n* c\n* a"), "- b\n* a\n* c");
    }
}
