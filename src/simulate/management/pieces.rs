//! The pieces of content that stand in prompts, as paths through a tree: conversations that branch
//! share what lies before they part.

use crate::base::units::Tokens;

/// A piece of a [`PieceTree`]; it also stands for all before it on its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PieceId(usize);

/// A piece of content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// The request with which it came in.
    pub(super) request: usize,
    /// Its size.
    pub(super) tokens: Tokens,
    /// What is left of it when it is cleared.
    pub(super) cleared: Tokens,
}

/// A piece, and the sums over all up to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    pub(super) piece: Piece,
    before: Option<PieceId>,
    /// How many pieces.
    pub(super) count: u32,
    /// Their size.
    pub(super) tokens: Tokens,
    /// What clearing them saves.
    pub(super) savings: Tokens,
    /// A piece further up; its own where there is none.
    jump: PieceId,
}

/// Pieces, each after an earlier one.
#[derive(Debug, Default)]
pub(super) struct PieceTree(Vec<Stretch>);

impl PieceTree {
    pub(super) fn get(&self, id: PieceId) -> &Stretch {
        &self.0[id.0]
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
        let own = PieceId(self.0.len());
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

    /// Two jumps of equal length are joined to one, as carries are in a skew-binary number.
    fn jump_behind(&self, before: PieceId) -> PieceId {
        let count = |id: PieceId| self.get(id).count;
        let first = self.get(before).jump;
        let second = self.get(first).jump;
        let is_equal = count(before) - count(first) == count(first) - count(second);
        if is_equal { second } else { before }
    }

    /// The newest of the pieces up to `last` for which something holds that holds for all before
    /// it, too. Takes a logarithm of steps.
    pub(super) fn newest(
        &self,
        last: Option<PieceId>,
        holds: impl Fn(&Stretch) -> bool,
    ) -> Option<PieceId> {
        let mut here = last?;
        while !holds(self.get(here)) {
            let jump = self.get(here).jump;
            let is_too_far = jump == here || holds(self.get(jump));
            here = if is_too_far { self.get(here).before? } else { jump };
        }
        Some(here)
    }

    /// The pieces up to `last`, the newest first.
    pub(super) fn back_from(&self, last: Option<PieceId>) -> impl Iterator<Item = &Piece> {
        let stretch = |id: PieceId| self.get(id);
        let all = std::iter::successors(last.map(stretch), move |this| this.before.map(stretch));
        all.map(|stretch| &stretch.piece)
    }
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
