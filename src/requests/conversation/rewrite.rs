//! Rewrites of messages that a client had sent before, as lines report them: the part that a compaction kept,
//! results that were cleared or replaced, entries that were taken out or summarised.
//!
//! A rewrite has a place if lines report it: a compaction that keeps the beginning, cleared or late replaced
//! results, entries that were cut out or summarised. The next prompt continues the last request whose whole
//! prompt is before the first changed entry (`requests/prompt/build.rs`), and each request since whose
//! messages are sent again counts for two positions at least; so a far one is out of the lookback's reach. If
//! lines do not report the place, only tools and system prompt remain. An answer that is not sent again
//! (`Between::drops_answer`) is no part of the next prompt.

use std::iter;

use super::{Gathered, Graph};
use crate::base::{EntryId, Ordinal};
use crate::read::transcript::{Collapse, Entry, EntryKind, Preserved};

/// Number of responses after the last entry that a compaction kept that are looked at, and of entries before
/// each.
const NEAR: usize = 16;

/// Part of the prompt before that is left after messages were rewritten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rewrite {
    /// No line reports a rewrite.
    #[default]
    None,
    /// Lines report a rewrite, but not its place.
    Unplaced,
    /// Lines report the place of the rewrite.
    At(Place),
}

/// Place of a rewrite and the part it leaves, by the numbers of requests: in a file those of its responses,
/// in a history those of its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Last request whose whole prompt is before the first entry that changed; `None` if only tools and
    /// system prompt are.
    pub kept: Option<u32>,
    /// Last request whose prompt ends before the messages that are sent again; `None` if none are.
    pub resumes_at: Option<u32>,
    /// True if messages are back that an earlier rewrite had taken out.
    pub is_taken_back: bool,
}

impl Rewrite {
    /// Replacement of all messages.
    const ALL: Self = Self::At(Place { kept: None, resumes_at: None, is_taken_back: false });

    /// Returns true if lines report the place of the rewrite.
    pub fn is_placed(self) -> bool {
        matches!(self, Self::At(_))
    }

    /// Both rewrites, one after the other.
    pub(super) fn and(self, later: Self) -> Self {
        match (self, later) {
            (Self::None, only) | (only, Self::None) => only,
            (Self::Unplaced, _) | (_, Self::Unplaced) => Self::Unplaced,
            (Self::At(one), Self::At(other)) => Self::At(Place {
                // `None` is less than any number.
                kept: one.kept.min(other.kept),
                resumes_at: one
                    .resumes_at
                    .and_then(|resumes_at| Some(resumes_at.max(other.resumes_at?))),
                is_taken_back: one.is_taken_back || other.is_taken_back,
            }),
        }
    }

    /// The same with other numbers; without one, the place becomes unknown.
    pub(super) fn renumbered(self, number: impl Fn(u32) -> Option<u32>) -> Self {
        let Self::At(place) = self else { return self };
        let renumber = |one: Option<u32>| one.map_or(Some(None), |one| number(one).map(Some));
        match (renumber(place.kept), renumber(place.resumes_at)) {
            (Some(kept), Some(resumes_at)) => Self::At(Place { kept, resumes_at, ..place }),
            _ => Self::Unplaced,
        }
    }
}

/// Range of lines of a file, the last one included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lines {
    /// First line.
    pub first: u64,
    /// Last line.
    pub last: u64,
}

impl Lines {
    fn one(line: u64) -> Self {
        Self { first: line, last: line }
    }

    /// Returns true if a line is one of them.
    pub fn contain(&self, line: u64) -> bool {
        (self.first..=self.last).contains(&line)
    }
}

/// Facts about a file while its entries are folded.
pub(super) struct Known<'a, F> {
    pub(super) entries: &'a [Entry],
    pub(super) graph: &'a Graph,
    pub(super) gathered: &'a Gathered,
    /// Response at or before an entry.
    pub(super) response_at: F,
}

impl<F: Fn(usize) -> Option<u32>> Known<'_, F> {
    /// Part that an entry leaves of the prompt before it.
    pub(super) fn rewrite_by(&self, position: usize) -> Rewrite {
        match &self.entries[position].kind {
            EntryKind::CompactBoundary(preserved) => {
                let preserved = preserved.as_deref();
                preserved.map_or(Rewrite::ALL, |preserved| self.compacted(position, preserved))
            }
            EntryKind::MicrocompactBoundary(cleared) => {
                let attachments = self.positions(position, cleared.attachments.iter());
                self.cleared(position, cleared.calls.iter(), attachments)
            }
            EntryKind::ContentReplacement(results) if results.is_empty() => Rewrite::None,
            EntryKind::ContentReplacement(results) => {
                self.cleared(position, results.iter().map(|(call, _)| call), iter::empty())
            }
            EntryKind::Snip(removed) => self.removed(position, removed.iter()),
            EntryKind::Collapse(collapse) => match **collapse {
                Collapse { first: Some(first), last: Some(last), .. } => {
                    self.removed(position, [first, last].iter())
                }
                _ => Rewrite::Unplaced,
            },
            _ => Rewrite::None,
        }
    }

    /// Rewrite by a compaction.
    ///
    /// One that keeps the end of the conversation puts the summary before it, so that all is rewritten; one
    /// that keeps the beginning puts the summary after it.
    fn compacted(&self, boundary: usize, preserved: &Preserved) -> Rewrite {
        let tail = self.kept_entries(boundary, preserved).max();
        match tail.filter(|_| self.keeps_the_beginning(boundary, preserved)) {
            Some(tail) => {
                let kept = self.sent_up_to(tail, boundary);
                let whole = self.before_collapses(boundary).filter(|whole| Some(*whole) < kept);
                Rewrite::At(Place {
                    kept: whole.or(kept),
                    resumes_at: whole,
                    is_taken_back: whole.is_some(),
                })
            }
            None => Rewrite::ALL,
        }
    }

    /// Last request before the summaries that replaced parts of the conversation, if a boundary voids any: what they
    /// had archived is sent again.
    fn before_collapses(&self, boundary: usize) -> Option<u32> {
        let agent = self.entries[boundary].agent;
        let first = self.gathered.voided_by(agent, boundary)?;
        let beginnings = &self.gathered.beginnings;
        let behind = beginnings.partition_point(|beginning| beginning.first() < first);
        let is_own = |response: &usize| {
            let beginning = &self.entries[beginnings[*response].first()];
            beginning.agent == agent
        };
        let response = (0..behind).rev().take(NEAR).find(is_own)?;
        u32::try_from(response).ok()
    }

    fn keeps_the_beginning(&self, boundary: usize, preserved: &Preserved) -> bool {
        self.entries[boundary].id == Some(preserved.anchor)
    }

    /// Entries that a compaction kept in their places. Entries that were written again after it are on its
    /// path anyway.
    fn kept_entries(&self, boundary: usize, kept: &Preserved) -> impl Iterator<Item = usize> {
        self.positions(boundary, kept.entries.iter())
    }

    /// Last request before a boundary whose prompt ends with an entry, or before it.
    fn sent_up_to(&self, tail: usize, boundary: usize) -> Option<u32> {
        let beginnings = &self.gathered.beginnings;
        let next = beginnings.partition_point(|beginning| beginning.first() <= tail);
        let is_before = |response: &usize| beginnings[*response].first() < boundary;
        let behind = (next..beginnings.len()).take(NEAR).take_while(is_before);
        let mut ending = behind.filter(|response| {
            let parent = |position: usize| self.graph.links[position].parent();
            let before = std::iter::successors(parent(beginnings[*response].first()), |here| {
                parent(*here).filter(|_| *here != tail && is_silent(&self.entries[*here]))
            });
            before.take(NEAR).any(|here| here == tail)
        });
        ending.next().and_then(|response| u32::try_from(response).ok()).or((self.response_at)(tail))
    }

    /// Rewrite that clears or replaces results and attachments: the part before the first of them is
    /// unchanged, and the part after it is sent again.
    ///
    /// Calls that the file does not have are unknown, so the place is the latest possible.
    fn cleared<'i>(
        &self,
        position: usize,
        calls: impl Iterator<Item = &'i EntryId>,
        attachments: impl Iterator<Item = usize>,
    ) -> Rewrite {
        let is_before =
            |caller: &Ordinal| self.gathered.beginnings[caller.index()].first() < position;
        let caller = |call| self.gathered.calls.get(call)?.caller.filter(is_before);
        let callers = calls.filter_map(caller).map(|caller| Some(caller.number()));
        // `None` is less than any number.
        match callers.chain(attachments.map(|entry| (self.response_at)(entry))).min() {
            Some(first) => {
                Rewrite::At(Place { kept: first, resumes_at: first, is_taken_back: false })
            }
            None => Rewrite::Unplaced,
        }
    }

    /// Rewrite that takes entries out, or archives all from the first to the last of two.
    fn removed<'i>(&self, position: usize, removed: impl Iterator<Item = &'i EntryId>) -> Rewrite {
        let before: Vec<Option<u32>> =
            self.positions(position, removed).map(|entry| (self.response_at)(entry)).collect();
        // `None` is less than any number.
        let ends = before.iter().min().zip(before.iter().max());
        ends.map_or(Rewrite::Unplaced, |(kept, resumes_at)| {
            Rewrite::At(Place { kept: *kept, resumes_at: *resumes_at, is_taken_back: false })
        })
    }

    /// Positions of the entries that an entry names. Later lines are not part of its changes.
    fn positions<'i>(
        &self,
        position: usize,
        entries: impl Iterator<Item = &'i EntryId>,
    ) -> impl Iterator<Item = usize> {
        let known = entries.filter_map(|entry| self.gathered.positions.get(entry).copied());
        known.filter(move |entry| *entry < position)
    }

    /// Lines that an entry names: those that it changes, or that it keeps if it is a compaction. A response
    /// is identified by its first line.
    pub(super) fn lines_named_by(&self, position: usize) -> Vec<Lines> {
        match &self.entries[position].kind {
            EntryKind::CompactBoundary(Some(kept)) => {
                let lines = self.kept_entries(position, kept).map(|entry| self.line(entry));
                let lines: Vec<u64> = lines.collect();
                let from_beginning = self.keeps_the_beginning(position, kept).then_some(0);
                let first = from_beginning.or(lines.iter().min().copied());
                let last = lines.iter().max().copied();
                first.zip(last).map(|(first, last)| Lines { first, last }).into_iter().collect()
            }
            EntryKind::MicrocompactBoundary(cleared) => {
                let attachments = self.positions(position, cleared.attachments.iter());
                let attachments = attachments.map(|entry| Lines::one(self.line(entry)));
                let mut lines = self.result_lines(cleared.calls.iter());
                lines.extend(attachments);
                lines.sort_unstable_by_key(|lines| lines.first);
                lines
            }
            EntryKind::ContentReplacement(results) => {
                self.result_lines(results.iter().map(|(call, _)| call))
            }
            EntryKind::Snip(removed) => {
                let entries = self.positions(position, removed.iter());
                entries.map(|entry| Lines::one(self.line(entry))).collect()
            }
            EntryKind::Collapse(collapse) => {
                let line = |entry: Option<EntryId>| {
                    self.positions(position, entry.iter()).next().map(|entry| self.line(entry))
                };
                let ends = line(collapse.first).zip(line(collapse.last));
                ends.map(|(first, last)| Lines { first, last }).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    fn line(&self, position: usize) -> u64 {
        let response = self.gathered.response_of(position);
        let own = self.entries[position].line;
        response.map_or(own, |response| self.gathered.responses[response].lines.first_line)
    }

    fn result_lines<'i>(&self, calls: impl Iterator<Item = &'i EntryId>) -> Vec<Lines> {
        let lines = calls.filter_map(|call| self.gathered.changed_results.get(call).copied());
        lines.flatten().map(Lines::one).collect()
    }
}

/// Returns true if the model sees nothing of an entry.
fn is_silent(entry: &Entry) -> bool {
    match &entry.kind {
        EntryKind::User(_)
        | EntryKind::Response
        | EntryKind::UnusableAnswer
        | EntryKind::LocalCommand { .. }
        | EntryKind::Synthetic { .. }
        | EntryKind::CompactBoundary(_) => false,
        EntryKind::Attachment { size, .. } => size.bytes() == 0,
        _ => true,
    }
}
