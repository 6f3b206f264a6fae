//! The telling entries between requests: where in the file something was shown that may explain
//! what the next request read.
//!
//! An entry is kept once, linked to the one before it on its path; branches share what lies before
//! they part.

use crate::transcript::{Entry, Signs};

/// The position of an entry in a [`Trail`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrailIndex(u32);

/// An entry that shows something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrailEntry {
    /// The telling entry before it, since the last request.
    pub before: Option<TrailIndex>,
    /// Its line in the file.
    pub line: u64,
    /// What it shows.
    pub signs: Signs,
}

/// The telling entries of one file.
#[derive(Clone, Debug, Default)]
pub struct Trail {
    entries: Vec<TrailEntry>,
}

impl Trail {
    /// Goes on from `before` with an entry. One that shows nothing leaves no trace.
    ///
    /// # Panics
    /// Never in practice: a file would need 2³² lines.
    pub(super) fn go_on(
        &mut self,
        before: Option<TrailIndex>,
        entry: &Entry,
    ) -> Option<TrailIndex> {
        if entry.signs.is_empty() {
            return before;
        }
        let index = u32::try_from(self.entries.len()).expect("fewer than 2^32 entries");
        self.entries.push(TrailEntry { before, line: entry.line, signs: entry.signs });
        Some(TrailIndex(index))
    }

    /// The entries up to `last`, the newest first.
    pub fn back_from(&self, last: Option<TrailIndex>) -> impl Iterator<Item = &TrailEntry> {
        let entry = |index: TrailIndex| &self.entries[index.0 as usize];
        std::iter::successors(last.map(entry), move |this| this.before.map(entry))
    }
}
