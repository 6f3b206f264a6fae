//! Which of the entries that had been sent a client has changed since, by their lines.

use super::segment::Item;
use crate::read::transcript::Sign;
use crate::requests::conversation::{History, Lines, Request};

/// What lines before a request say of what had been sent.
#[derive(Debug, Default)]
pub(super) struct Changes {
    file: usize,
    /// The entries whose content was cleared or replaced.
    cleared: Vec<Lines>,
    /// Those that were taken out or archived.
    removed: Vec<Lines>,
    /// Those that the last compaction kept.
    pub(super) kept: Option<Lines>,
}

impl Changes {
    /// What changed between a request and the one before it.
    pub(super) fn before(history: &History, request: &Request) -> Self {
        let mut changes = Self { file: request.file, ..Self::default() };
        if !request.between.rewrite.is_told() {
            return changes;
        }
        let trail = &history.files[request.file].trail;
        for entry in trail.back_from(request.between.trail) {
            let lines = trail.lines_named_by(entry);
            if entry.signs.contains(Sign::Compacted) {
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

    /// Whether nothing is known to have changed.
    pub(super) fn is_empty(&self) -> bool {
        self.cleared.is_empty() && self.removed.is_empty()
    }

    /// Whether an item's content was cleared or replaced.
    pub(super) fn has_cleared(&self, item: &Item) -> bool {
        item.file == self.file && contain(&self.cleared, item.line)
    }

    /// Whether an item was taken out.
    pub(super) fn has_removed(&self, item: &Item) -> bool {
        item.file == self.file && contain(&self.removed, item.line)
    }

    /// Whether the last compaction kept an item.
    pub(super) fn has_kept(&self, item: &Item) -> bool {
        item.file == self.file && self.kept.is_some_and(|kept| kept.contain(item.line))
    }
}

/// Lines in their order, those that overlap as one.
fn in_order(mut lines: Vec<Lines>) -> Vec<Lines> {
    lines.sort_by_key(|lines| lines.first);
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
