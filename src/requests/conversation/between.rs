//! What the client added to the conversation between two requests.

use super::rewrite::Rewrite;
use super::trail::{Calls, Trail, TrailIndex};
use crate::base::units::Millis;
use crate::read::transcript::{Entry, EntryKind, Sign};

/// The entries between a request and its predecessor, summed up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // independent facts, not states of one machine
pub struct Between {
    /// The newest user-side entry: when the request was sent, as nearly as a transcript tells.
    pub newest_user_entry: Option<Millis>,
    /// User messages, tool results among them.
    pub user_messages: u32,
    /// The size of their text and results in bytes of JSON.
    pub user_bytes: u64,
    /// Images and documents.
    pub media: u32,
    /// Attachments, most of which become reminders.
    pub attachments: u32,
    /// Messages that carry tool results.
    pub tool_result_messages: u32,
    /// Whether a prompt was typed, so that a turn ended before it.
    pub has_prompt: bool,
    /// When the turn before was over, hooks and all.
    pub turn_end: Option<Millis>,
    /// When a background request wrote a recap, the last time it did.
    pub away_summary: Option<Millis>,
    /// Whether the conversation was summarised.
    pub has_compaction: bool,
    /// Whether old tool results were cleared.
    pub has_microcompaction: bool,
    /// Whether entries were cut out.
    pub has_snip: bool,
    /// Whether a part of the conversation was replaced by a summary.
    pub has_collapse: bool,
    /// Whether results that had been sent were replaced by previews.
    pub has_replacement: bool,
    /// What is left of the prompt before, where it was rewritten.
    pub rewrite: Rewrite,
    /// Whether a line says that the session was left or resumed.
    pub has_resume: bool,
    /// Whether the user interrupted.
    pub has_interruption: bool,
    /// Whether the answer before is not sent again: it has nothing but thinking or white space, or
    /// calls that nobody answered before the session was resumed.
    pub drops_answer: bool,
    /// Whether something is missing: an entry that another names, or an answer without usage.
    pub has_hole: bool,
    /// The last entry that shows something or brings content, in the trail of the request's file.
    pub trail: Option<TrailIndex>,
}

/// What keeps a request from going on as the one before it ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // independent facts, as in `Between`
pub struct Interruptions {
    has_hole: bool,
    has_compaction: bool,
    has_microcompaction: bool,
    has_snip: bool,
    has_collapse: bool,
    has_replacement: bool,
}

impl Between {
    /// Adds an entry that lies between the two requests.
    pub(super) fn add(&mut self, entry: &Entry, trail: &mut Trail, calls: &Calls) {
        self.trail = trail.go_on(self.trail, entry, calls);
        self.add_up(entry);
    }

    /// Adds a result that was found beside the path. One between the lines of an answer is on the
    /// trail already.
    pub(super) fn add_recovered(&mut self, entry: &Entry, trail: &mut Trail, calls: &Calls) {
        if !trail.has_line(self.trail, entry.line) {
            self.trail = trail.go_on(self.trail, entry, calls);
        }
        self.add_up(entry);
    }

    fn add_up(&mut self, entry: &Entry) {
        let resumes = Sign::SessionResumed | Sign::Exit | Sign::TurnResumed;
        self.has_resume |= !entry.signs.is_disjoint(resumes);
        self.has_interruption |= entry.signs.contains(Sign::Interrupted);
        match &entry.kind {
            EntryKind::User(user) => {
                self.user_messages += 1;
                self.user_bytes += user.bytes;
                self.media += user.media;
                if user.tool_results.is_empty() {
                    self.has_prompt |= !user.is_meta;
                } else {
                    self.tool_result_messages += 1;
                }
                self.note_time(entry.timestamp);
            }
            EntryKind::Attachment { .. } => {
                self.attachments += 1;
                self.note_time(entry.timestamp);
            }
            EntryKind::LocalCommand { bytes } => {
                self.user_messages += 1;
                self.user_bytes += bytes;
            }
            EntryKind::TurnEnd => self.turn_end = self.turn_end.max(entry.timestamp),
            EntryKind::AwaySummary => self.away_summary = self.away_summary.max(entry.timestamp),
            EntryKind::CompactBoundary(_) => self.has_compaction = true,
            EntryKind::MicrocompactBoundary(_) => self.has_microcompaction = true,
            EntryKind::Snip(_) => self.has_snip = true,
            EntryKind::Collapse(_) => self.has_collapse = true,
            EntryKind::ContentReplacement(late) => self.has_replacement |= !late.is_empty(),
            EntryKind::UnusableAnswer => self.has_hole = true,
            EntryKind::Response
            | EntryKind::Synthetic { .. }
            | EntryKind::RefusalFallback { .. }
            | EntryKind::System
            | EntryKind::Progress(_)
            | EntryKind::LastPrompt { .. }
            | EntryKind::AgentSetting(_)
            | EntryKind::ForkContext { .. } => {}
        }
    }

    fn note_time(&mut self, time: Option<Millis>) {
        self.newest_user_entry = self.newest_user_entry.max(time);
    }

    /// What happened before this stretch in another file happened before the next request, too.
    pub(super) fn goes_on_from(&mut self, earlier: Interruptions) {
        self.has_hole |= earlier.has_hole;
        self.has_compaction |= earlier.has_compaction;
        self.has_microcompaction |= earlier.has_microcompaction;
        self.has_snip |= earlier.has_snip;
        self.has_collapse |= earlier.has_collapse;
        self.has_replacement |= earlier.has_replacement;
        // Where it began is known in that file only.
        if earlier.rewrites_history() {
            self.rewrite = self.rewrite.and(Rewrite::Untold);
        }
    }

    /// What of it keeps the next request from going on as the last one ended; a gap in the chain does,
    /// too.
    pub(super) fn interruptions(&self, has_gap: bool) -> Interruptions {
        Interruptions {
            has_hole: self.has_hole || has_gap,
            has_compaction: self.has_compaction,
            has_microcompaction: self.has_microcompaction,
            has_snip: self.has_snip,
            has_collapse: self.has_collapse,
            has_replacement: self.has_replacement,
        }
    }

    /// Whether the turn before broke off and another process went on: a line says so, or a prompt was
    /// typed though nobody had interrupted.
    pub(super) fn resumes(&self) -> bool {
        let was_abandoned =
            self.has_prompt && self.tool_result_messages == 0 && !self.has_interruption;
        self.has_resume || was_abandoned
    }

    /// Whether the next request may have lost what stood in the messages.
    #[must_use]
    pub fn rewrites_history(&self) -> bool {
        self.interruptions(false).rewrites_history()
    }
}

impl Interruptions {
    fn rewrites_history(self) -> bool {
        self.has_compaction
            || self.has_microcompaction
            || self.has_snip
            || self.has_collapse
            || self.has_replacement
    }
}
