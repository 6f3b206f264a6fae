//! System prompts whose stable paragraphs stand first.

use rustc_hash::FxHashSet;

use super::blocks::PromptBlock;
use super::contents::{ContentId, Contents};
use super::paragraphs::{Paragraphs, Piece};
use super::static_text::StaticTexts;
use crate::read::capture::{Part, text_block};
use crate::requests::conversation::RequestIndex;

/// How far a piece of a system prompt stays the same, the most stable first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stability {
    /// In several conversations.
    Shared,
    /// In its conversation.
    Static,
    /// It changes.
    Changing,
}

/// The pieces of all system prompts.
#[derive(Default)]
pub(super) struct StableParagraphs {
    paragraphs: Paragraphs,
    statics: StaticTexts<Piece>,
    shared: FxHashSet<Piece>,
}

/// A system prompt with its stable paragraphs first.
pub(super) struct StableFirst {
    pub(super) blocks: Vec<PromptBlock>,
    /// For each block as sent where the last one is that holds something of it.
    pub(super) places: Vec<usize>,
    /// The last stable block; nothing where all are stable, or none.
    pub(super) last_stable: Option<usize>,
}

impl StableParagraphs {
    /// Takes the system prompt of a request of a conversation into account.
    pub(super) fn add(
        &mut self,
        opening: RequestIndex,
        system: &[ContentId],
        contents: &Contents<'_>,
    ) {
        for block in system {
            self.paragraphs.add(*block, contents);
        }
        let pieces = system.iter().flat_map(|block| self.paragraphs.of(*block)).copied();
        self.statics.add(opening, pieces);
    }

    /// Finds what several conversations have, once all requests were taken into account.
    pub(super) fn finish(&mut self) {
        self.shared = self.statics.shared();
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

    /// The system prompt of a request of a conversation with its stable paragraphs first; `None` where it
    /// stays as sent.
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
        cut.sort_by_key(|(stability, ..)| *stability);
        if cut.iter().map(|(.., block)| block).eq(system) {
            return None;
        }
        let place = |of: usize| cut.iter().rposition(|(_, place, _)| *place == of).unwrap_or(of);
        let stable = cut.partition_point(|(stability, ..)| *stability < Stability::Changing);
        Some(StableFirst {
            places: (0..system.len()).map(place).collect(),
            last_stable: stable.checked_sub(1).filter(|_| stable < cut.len()),
            blocks: cut.into_iter().map(|(.., block)| block).collect(),
        })
    }

    /// A block cut into one of each stability that its pieces have.
    fn parts(
        &self,
        opening: RequestIndex,
        block: PromptBlock,
        contents: &mut Contents<'_>,
    ) -> Vec<(Stability, PromptBlock)> {
        let mut pieces = self.paragraphs.of(block.content).to_vec();
        pieces.sort_by_key(|piece| self.stability(opening, *piece));
        let most = pieces.first().map(|piece| self.stability(opening, *piece));
        let least = pieces.last().map(|piece| self.stability(opening, *piece));
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
