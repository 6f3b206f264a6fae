//! Entries of earlier prompts that a client has changed, by its lines.

use super::segment::Item;
use crate::base::Order as _;
use crate::read::transcript::Sign;
use crate::requests::conversation::{History, Lines, Request};

/// Changes of earlier entries that the lines before a request report.
#[derive(Debug, Default)]
pub(super) struct Changes {
    file: usize,
    /// Entries whose content was cleared or replaced.
    cleared: Vec<Lines>,
    /// Entries that were removed or archived.
    removed: Vec<Lines>,
    /// Entries that the last compaction kept.
    pub(super) kept: Option<Lines>,
}

impl Changes {
    /// Collects the changes between a request and its predecessor.
    pub(super) fn before(history: &History, request: &Request) -> Self {
        let mut changes = Self { file: request.file, ..Self::default() };
        if !request.between.rewrite.is_placed() {
            return changes;
        }
        let trail = &history.files[request.file].trail;
        for entry in trail.back_from(request.between.trail) {
            let lines = trail.lines_named_by(entry);
            if entry.signs.contains(Sign::Compacted) {
                // A compaction replaced everything before it, earlier changes included.
                changes.kept = lines.first().copied();
                break;
            } else if !entry.signs.is_disjoint(Sign::ResultsCleared | Sign::ResultsReplaced) {
                changes.cleared.extend_from_slice(lines);
            } else {
                changes.removed.extend_from_slice(lines);
            }
        }
        changes.cleared = in_order(changes.cleared);
        changes.removed = in_order(changes.removed);
        changes
    }

    /// Returns true if no change is known.
    pub(super) fn is_empty(&self) -> bool {
        self.cleared.is_empty() && self.removed.is_empty()
    }

    /// Returns true if an item's content was cleared or replaced.
    pub(super) fn has_cleared(&self, item: &Item) -> bool {
        item.file == self.file && contain(&self.cleared, item.line)
    }

    /// Returns true if an item was removed.
    pub(super) fn has_removed(&self, item: &Item) -> bool {
        item.file == self.file && contain(&self.removed, item.line)
    }

    /// Returns true if the last compaction kept an item.
    pub(super) fn has_kept(&self, item: &Item) -> bool {
        item.file == self.file && self.kept.is_some_and(|kept| kept.contain(item.line))
    }
}

/// Sorts line ranges, and merges overlapping ones.
fn in_order(mut lines: Vec<Lines>) -> Vec<Lines> {
    lines.order_by_key(|lines| lines.first);
    lines.dedup_by(|next, before| {
        let overlaps = next.first <= before.last;
        if overlaps {
            before.last = before.last.max(next.last);
        }
        overlaps
    });
    lines
}

fn contain(lines: &[Lines], line: u64) -> bool {
    let behind = lines.partition_point(|lines| lines.first <= line);
    behind.checked_sub(1).is_some_and(|place| lines[place].contain(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_in_whatever_order_they_were_named() {
        let named = [(7, 9), (2, 2), (8, 12), (2, 3)].map(|(first, last)| Lines { first, last });
        let lines = in_order(named.to_vec());
        assert_eq!(lines.len(), 2);
        let found: Vec<u64> = (0..15).filter(|line| contain(&lines, *line)).collect();
        assert_eq!(found, [2, 3, 7, 8, 9, 10, 11, 12]);
    }
}
