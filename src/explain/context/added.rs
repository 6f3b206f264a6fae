//! Future segments of a prompt, and the division of a total among several.

use super::segment::ItemId;
use crate::base::Basis;
use crate::requests::content::share;

/// Content that will become a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewSegment {
    pub(super) item: ItemId,
    pub(super) tokens: u64,
    pub(super) basis: Basis,
    /// True if it was counted, and all of it is in its line.
    pub(super) is_counted: bool,
}

impl NewSegment {
    /// Segment of an estimated size.
    pub(super) fn estimated(item: ItemId, tokens: u64) -> Self {
        Self { item, tokens, basis: Basis::Estimated, is_counted: false }
    }
}

pub(super) fn sum(pieces: &[NewSegment]) -> u64 {
    pieces.iter().map(|piece| piece.tokens).sum()
}

/// Pieces scaled to `total` tokens together.
pub(super) fn scaled(pieces: &[NewSegment], total: u64) -> Vec<NewSegment> {
    let weights: Vec<u64> = pieces.iter().map(|piece| piece.tokens).collect();
    let with = |(piece, tokens): (&NewSegment, u64)| NewSegment {
        tokens,
        basis: Basis::Estimated,
        ..*piece
    };
    pieces.iter().zip(share(total, &weights)).map(with).collect()
}

/// Pieces of `total` tokens together: counted ones keep their sizes, if that leaves tokens for the others.
pub(super) fn shared(pieces: &[NewSegment], total: u64) -> Vec<NewSegment> {
    let (counted, others): (Vec<NewSegment>, Vec<NewSegment>) =
        pieces.iter().partition(|piece| piece.is_counted);
    let left = total.checked_sub(sum(&counted)).filter(|_| !others.is_empty());
    // Counts that exceed the total, or leave a rest that nobody takes, are scaled like estimates.
    let Some(left) = left else { return scaled(pieces, total) };
    let mut others = scaled(&others, left).into_iter();
    let of = |piece: &NewSegment| {
        if piece.is_counted { *piece } else { others.next().unwrap_or(*piece) }
    };
    pieces.iter().map(of).collect()
}

/// Pieces scaled only if they exceed `total` tokens together.
pub(super) fn fitted(pieces: &[NewSegment], total: u64) -> Vec<NewSegment> {
    if sum(pieces) <= total { pieces.to_vec() } else { scaled(pieces, total) }
}
