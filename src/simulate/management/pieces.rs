//! Pieces of content in prompts, as paths through a tree that lets branching conversations share
//! earlier pieces, and the client's additions before each request, in tokens.
//!
//! The growth of the prompt beyond the answer is shared among the added pieces by their bytes, as
//! in `context`. If that is not possible, the bytes alone give an estimate.

use smallvec::SmallVec;

use super::PLACEHOLDER;
use crate::base::{Ordinal, Tokens};
use crate::read::harness::COMPACTABLE_TOOLS;
use crate::read::transcript::{ContentKind, ContentSource};
use crate::requests::content::{FRAME_BYTES, Ratios, is_explained, share, weight};
use crate::requests::conversation::{History, Request, TrailContent};

/// Index of a piece in a [`PieceTree`]; it also represents all pieces before it on its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PieceId(Ordinal);

/// Piece of content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Request with which the piece came in.
    pub(super) request: usize,
    /// Size of the piece.
    pub(super) tokens: Tokens,
    /// Size of the rest after clearing.
    pub(super) cleared: Tokens,
}

/// Piece with prefix sums over its path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    pub(super) piece: Piece,
    before: Option<PieceId>,
    /// Number of pieces.
    pub(super) count: u32,
    /// Tokens of the pieces.
    pub(super) tokens: Tokens,
    /// Tokens that clearing them saves.
    pub(super) savings: Tokens,
    /// Jump pointer to a piece further up, or to itself at the root.
    jump: PieceId,
}

/// Tree of pieces, each after an earlier one.
#[derive(Debug, Default)]
pub(super) struct PieceTree(Vec<Stretch>);

impl PieceTree {
    pub(super) fn get(&self, id: PieceId) -> &Stretch {
        &self.0[id.0.index()]
    }

    pub(super) fn count(&self, last: Option<PieceId>) -> u32 {
        last.map_or(0, |last| self.get(last).count)
    }

    pub(super) fn tokens(&self, last: Option<PieceId>) -> Tokens {
        last.map_or(Tokens::ZERO, |last| self.get(last).tokens)
    }

    pub(super) fn savings(&self, last: Option<PieceId>) -> Tokens {
        last.map_or(Tokens::ZERO, |last| self.get(last).savings)
    }

    /// Adds a piece after another one.
    pub(super) fn add(&mut self, before: Option<PieceId>, piece: Piece) -> PieceId {
        let own = PieceId(Ordinal::at(self.0.len()));
        let saving = piece.tokens.saturating_sub(piece.cleared);
        self.0.push(Stretch {
            piece,
            before,
            count: self.count(before) + 1,
            tokens: self.tokens(before) + piece.tokens,
            savings: self.savings(before) + saving,
            jump: before.map_or(own, |before| self.jump_behind(before)),
        });
        own
    }

    /// Target of the jump pointer after `before`.
    ///
    /// If the last two jumps have equal lengths, one jump replaces both, like a carry in a
    /// skew-binary number.
    fn jump_behind(&self, before: PieceId) -> PieceId {
        let count = |id: PieceId| self.get(id).count;
        let first = self.get(before).jump;
        let second = self.get(first).jump;
        let is_equal = count(before) - count(first) == count(first) - count(second);
        if is_equal { second } else { before }
    }

    /// Newest of the pieces up to `last` for which `holds` is true, by jump pointers in O(log n) steps.
    ///
    /// It must be true for all pieces before that one.
    #[inline]
    pub(super) fn newest(
        &self,
        last: Option<PieceId>,
        holds: impl Fn(&Stretch) -> bool,
    ) -> Option<PieceId> {
        let mut here = last?;
        while !holds(self.get(here)) {
            let jump = self.get(here).jump;
            // A jump is taken only if `holds` is false at its end, too, so that it never passes the newest.
            let is_too_far = jump == here || holds(self.get(jump));
            here = if is_too_far { self.get(here).before? } else { jump };
        }
        Some(here)
    }

    /// Pieces up to `last`, newest first.
    pub(super) fn back_from(&self, last: Option<PieceId>) -> impl Iterator<Item = &Piece> {
        let stretch = |id: PieceId| self.get(id);
        let all = std::iter::successors(last.map(stretch), move |this| this.before.map(stretch));
        all.map(|stretch| &stretch.piece)
    }
}

/// Piece of content that a client added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) source: ContentSource,
    /// Size in tokens.
    pub(super) tokens: Tokens,
    /// Size in characters. Unknown for media.
    pub(super) characters: u64,
    /// Size of the placeholder that replaces the piece.
    pub(super) placeholder: Tokens,
    /// Size of a preview that takes its place.
    pub(super) preview: Tokens,
    /// Client's own estimate of the size.
    pub(super) rough: Tokens,
}

/// Additions of a client before a request: mostly the result of one call.
pub(super) type AddedContents = SmallVec<[Content; 2]>;

/// History and ratios for the sizes of contents.
pub(super) struct Contents<'a> {
    history: &'a History,
    ratios: &'a Ratios,
    /// Characters of a preview.
    preview: u64,
}

impl<'a> Contents<'a> {
    pub(super) fn new(history: &'a History, ratios: &'a Ratios, preview: u64) -> Self {
        Self { history, ratios, preview }
    }

    /// Contents that came in with a request, oldest first, with estimated sizes.
    pub(super) fn estimated(&self, request: &Request) -> AddedContents {
        let ratio = self.ratios.of(self.history, request);
        let frame = |bytes: u64| Tokens(ratio.tokens(bytes + FRAME_BYTES));
        let (placeholder, preview) = (frame(PLACEHOLDER.len() as u64), frame(self.preview));
        let content = |(_, content): (u64, &TrailContent)| Content {
            source: content.source,
            tokens: Tokens(ratio.tokens(weight(content))),
            characters: content.size.characters(),
            placeholder,
            preview,
            rough: rough(content),
        };
        let mut contents: AddedContents =
            self.history.contents_before(request).map(content).collect();
        contents.reverse();
        contents
    }

    /// The same contents, corrected if the growth of the prompt beyond the answer is more exact.
    pub(super) fn measured(&self, request: &Request, previous: &Request) -> AddedContents {
        let mut contents = self.estimated(request);
        let growth = request.prompt_total().saturating_sub(previous.prompt_total());
        let estimate = sum(&contents);
        let carried = request.carried_output(previous);
        // The recorded output is the least that the answer had; the growth may show more.
        let is_more = previous.output_is_lower_bound && !request.between.drops_answer;
        let answer = if is_more { carried.max(growth.saturating_sub(estimate)) } else { carried };
        let added = growth.saturating_sub(answer);
        if is_explained(added.0, estimate.0) {
            fit(&mut contents, added);
        }
        contents
    }

    /// Returns true if a piece is the result of a compactable tool.
    pub(super) fn is_compactable(&self, content: &Content) -> bool {
        self.tool(content).is_some_and(|tool| COMPACTABLE_TOOLS.contains(&tool))
    }

    /// Returns true if a piece is a file.
    pub(super) fn is_file(&self, content: &Content) -> bool {
        content.source == ContentSource::Text(ContentKind::File) || self.is_read(content)
    }

    /// Returns true if a piece is a file that was read by a tool.
    pub(super) fn is_read(&self, content: &Content) -> bool {
        self.tool(content) == Some("Read")
    }

    fn tool(&self, content: &Content) -> Option<&'a str> {
        match content.source {
            ContentSource::Tool(Some(tool)) => Some(self.history.symbols.text(tool)),
            ContentSource::Tool(None) | ContentSource::Text(_) | ContentSource::Media => None,
        }
    }
}

/// Client's estimate of an image or a document, whatever its size (I.1).
const MEDIA: Tokens = Tokens(2_000);

/// Client's own estimate of contents that no answer has counted yet (I.1).
pub(super) fn rough(content: &TrailContent) -> Tokens {
    if content.source == ContentSource::Media {
        MEDIA
    } else {
        Tokens(content.size.characters() / 4)
    }
}

/// Returns true if a piece is the result of a tool.
pub(super) fn is_result(content: &Content) -> bool {
    matches!(content.source, ContentSource::Tool(_))
}

/// Tokens of all pieces.
pub(super) fn sum(contents: &[Content]) -> Tokens {
    contents.iter().map(|content| content.tokens).sum()
}

/// Scales pieces to a total.
pub(super) fn fit(contents: &mut [Content], total: Tokens) {
    if let [only] = contents {
        only.tokens = total;
        return;
    }
    let weights: Vec<u64> = contents.iter().map(|content| content.tokens.0).collect();
    for (content, tokens) in contents.iter_mut().zip(share(total.0, &weights)) {
        content.tokens = Tokens(tokens);
    }
}

/// Returns true if a piece belongs to a compaction: the summary, or an attachment after it.
pub(super) fn is_of_compaction(content: &Content) -> bool {
    matches!(
        content.source,
        ContentSource::Text(ContentKind::Summary | ContentKind::File | ContentKind::Reminder)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(request: usize) -> Piece {
        Piece { request, tokens: Tokens(10), cleared: Tokens(4) }
    }

    #[test]
    fn the_newest_is_found_from_everywhere() {
        let mut tree = PieceTree::default();
        let mut path: Vec<PieceId> = Vec::new();
        for request in 0..70 {
            path.push(tree.add(path.last().copied(), piece(request)));
        }
        for (place, last) in path.iter().enumerate() {
            for (limit, expected) in path[..=place].iter().enumerate() {
                let found = tree.newest(Some(*last), |stretch| stretch.piece.request <= limit);
                assert_eq!(found, Some(*expected), "{limit} from {place}");
            }
            assert_eq!(tree.newest(Some(*last), |_| false), None);
        }
    }

    #[test]
    fn branches_share_what_lies_before() {
        let mut tree = PieceTree::default();
        let first = tree.add(None, piece(0));
        let one = tree.add(Some(first), piece(1));
        let other = tree.add(Some(first), piece(2));
        assert_eq!((tree.count(Some(one)), tree.count(Some(other))), (2, 2));
        assert_eq!(tree.savings(Some(other)), Tokens(12));
        let requests: Vec<usize> = tree.back_from(Some(other)).map(|piece| piece.request).collect();
        assert_eq!(requests, [2, 0]);
    }
}
