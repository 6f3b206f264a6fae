//! Client's additions to the conversation between two requests.
//!
//! The trail has the lines of the file that may explain the next request's read, and the content that came
//! in.
//!
//! An entry is kept once, linked to the one before it on its path; branches share the entries before they
//! part.

use std::num::NonZeroU32;

use rustc_hash::FxHashMap;

use super::rewrite::{Lines, Rewrite};
use crate::base::{EntryId, Millis, Ordinal, Symbol, TextSize, Vocabulary, has_symbols};
use crate::read::agent::Piece;
use crate::read::transcript::{
    ContentKind, ContentSource, Entry, EntryKind, PermissionMode, PromptSnapshot, Sign, Signs,
    UserMessage,
};

/// Summary of the entries between a request and its predecessor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // independent facts, not states of one machine
pub struct Between {
    /// Time of the newest user-side entry, the best guess of the request's start.
    pub newest_user_entry: Option<Millis>,
    /// Number of user messages, including tool results.
    pub user_messages: u32,
    /// Size of their text and results, in bytes of JSON.
    pub user_bytes: u64,
    /// Number of images and documents.
    pub media: u32,
    /// Number of attachments, most of which become reminders.
    pub attachments: u32,
    /// Number of messages that carry tool results.
    pub tool_result_messages: u32,
    /// Positions that the additions take in the prompt, by the lines. Context of hooks around a tool's call
    /// is not counted.
    pub positions: u32,
    /// True if a hook around a tool's call gave context.
    pub has_tool_hook: bool,
    /// True if a tool search loaded deferred tools.
    pub loads_tools: bool,
    /// True if a prompt was typed, so that a turn ended before it.
    pub has_prompt: bool,
    /// Newest permission mode that a prompt names, with its line.
    pub permission_mode: Option<(PermissionMode, u64)>,
    /// End of the turn before, including its hooks.
    pub turn_end: Option<Millis>,
    /// Time at which a background request last wrote a recap.
    pub away_summary: Option<Millis>,
    /// True if the conversation was summarised.
    pub has_compaction: bool,
    /// True if old tool results were cleared.
    pub has_microcompaction: bool,
    /// True if entries were cut out.
    pub has_snip: bool,
    /// True if a part of the conversation was replaced by a summary.
    pub has_collapse: bool,
    /// True if results that had been sent were replaced by previews.
    pub has_replacement: bool,
    /// Part of the prompt before that is left after a rewrite.
    pub rewrite: Rewrite,
    /// True if a line says that the session was left or resumed.
    pub has_resume: bool,
    /// True if the user interrupted.
    pub has_interruption: bool,
    /// True if the service refused an attempt.
    pub has_api_error: bool,
    /// Attempt that the user interrupted before any of its answer was written.
    pub unanswered: Option<Box<Unanswered>>,
    /// True if the answer before is not sent again: it has nothing but thinking or white space, or calls that
    /// nobody answered before the session was resumed.
    pub drops_answer: bool,
    /// True if something is missing: an entry that another one names, or an answer without usage.
    pub has_hole: bool,
    /// Last entry with a sign or with content, in the trail of the request's file.
    pub trail: Option<TrailIndex>,
}

/// Request that was sent, and interrupted before a line of its answer was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unanswered {
    /// Start time of the request.
    pub sent: Millis,
    /// Time for which the client waited for the answer, in milliseconds.
    pub waited: u32,
    /// Client's additions since, in bytes of text and of attachments.
    pub bytes_since: u32,
    /// Number of messages and attachments since.
    pub messages_since: u32,
}

/// Events that keep a request from continuing the end of the one before.
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
    /// Adds an entry that is between the two requests.
    pub(super) fn add(&mut self, entry: &Entry, trail: &mut Trail, calls: &Calls) {
        self.trail = trail.go_on(self.trail, entry, calls);
        self.add_up(entry);
    }

    /// Adds a result that was found beside the path. A result between the lines of an answer is on the trail
    /// already.
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
        self.has_api_error |= entry.signs.contains(Sign::ApiError);
        self.note_unanswered(entry);
        self.has_tool_hook |= entry.signs.contains(Sign::ToolHookContext);
        self.loads_tools |= entry.signs.contains(Sign::ToolsLoaded);
        match &entry.kind {
            EntryKind::User(user) => {
                self.user_messages += 1;
                self.user_bytes += user.size.bytes();
                self.media += user.media;
                self.positions = self.positions.saturating_add(positions_of(user));
                let mode = user.permission_mode.map(|mode| (mode, entry.line));
                self.permission_mode = mode.or(self.permission_mode);
                if user.tool_results.is_empty() {
                    self.has_prompt |= !user.is_meta;
                } else {
                    self.tool_result_messages += 1;
                }
                self.note_time(entry.timestamp);
            }
            EntryKind::Attachment { size, .. } => {
                self.attachments += 1;
                let is_counted = size.bytes() > 0 && !entry.signs.contains(Sign::ToolHookContext);
                self.positions = self.positions.saturating_add(is_counted.into());
                self.note_time(entry.timestamp);
            }
            // A local command is sent with the next prompt, and sends no request itself: its time is no
            // start.
            EntryKind::LocalCommand { size } => {
                self.user_messages += 1;
                self.positions = self.positions.saturating_add(1);
                self.user_bytes += size.bytes();
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

    /// Notes an interruption before any answer: the attempt's time and the additions since.
    fn note_unanswered(&mut self, entry: &Entry) {
        // An interrupted tool means that an answer had been written.
        let interrupts =
            entry.signs.contains(Sign::Interrupted) && !entry.signs.contains(Sign::ToolInterrupted);
        if interrupts && self.unanswered.is_none() {
            let times = self.newest_user_entry.zip(entry.timestamp);
            let unanswered = |(sent, interrupted): (Millis, Millis)| Unanswered {
                sent,
                waited: u32::try_from(interrupted.since(sent)).unwrap_or(u32::MAX),
                bytes_since: 0,
                messages_since: 0,
            };
            self.unanswered = times.map(unanswered).map(Box::new);
        }
        let bytes = match &entry.kind {
            EntryKind::User(user) => user.size.bytes(),
            EntryKind::Attachment { size, .. } | EntryKind::LocalCommand { size } => size.bytes(),
            _ => return,
        };
        if let Some(unanswered) = &mut self.unanswered {
            let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
            unanswered.bytes_since = unanswered.bytes_since.saturating_add(bytes);
            unanswered.messages_since = unanswered.messages_since.saturating_add(1);
        }
    }

    fn note_time(&mut self, time: Option<Millis>) {
        self.newest_user_entry = self.newest_user_entry.max(time);
    }

    /// Takes over the interruptions of an earlier stretch in another file: they happened before the next
    /// request as well.
    pub(super) fn continues_from(&mut self, earlier: Interruptions) {
        self.has_hole |= earlier.has_hole;
        self.has_compaction |= earlier.has_compaction;
        self.has_microcompaction |= earlier.has_microcompaction;
        self.has_snip |= earlier.has_snip;
        self.has_collapse |= earlier.has_collapse;
        self.has_replacement |= earlier.has_replacement;
        // The place of the rewrite is known in that file only.
        if earlier.rewrites_history() {
            self.rewrite = self.rewrite.and(Rewrite::Unplaced);
        }
    }

    /// Interruptions that keep the next request from continuing the end of the last one; a gap in the chain
    /// is one as well.
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

    /// Returns true if the turn before broke off and another process continued: a line says so, or a prompt
    /// was typed without an interruption.
    pub(super) fn resumes(&self) -> bool {
        let was_abandoned =
            self.has_prompt && self.tool_result_messages == 0 && !self.has_interruption;
        self.has_resume || was_abandoned
    }

    /// Returns true if the next request may have lost earlier messages.
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

/// Number of the message's blocks: each result, each image, and its text.
fn positions_of(user: &UserMessage) -> u32 {
    let results: u64 = user.tool_results.iter().map(|(_, size)| size.bytes()).sum();
    let count = u32::try_from(user.tool_results.len()).unwrap_or(u32::MAX);
    count.saturating_add(user.media).saturating_add(u32::from(user.size.bytes() > results))
}

/// Number of entries within which a recovered entry may be on the trail already.
const LATEST: usize = 64;

/// Most entries before a request whose content is counted; the rest, in hostile files, stays unattributed.
const MOST_CONTENTS: usize = 2_000;

/// Most entries before a request whose signs are looked at, as hostile files may have any number.
const LONGEST_STRETCH: usize = 500;

/// Calls of a file.
pub(super) type Calls = FxHashMap<EntryId, Call>;

/// Call of a tool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) tool: Option<Symbol>,
    /// Response that makes the call, by its index in the file; `None` inside progress lines.
    pub(super) caller: Option<Ordinal>,
}

/// Position of an entry in a [`Trail`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrailIndex(pub(super) NonZeroU32);

/// Entry with a sign or with content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrailEntry {
    /// Entry before this one, since the last request.
    pub before: Option<TrailIndex>,
    /// Line of the entry in the file.
    pub line: u64,
    /// Signs that the entry shows.
    pub signs: Signs,
    first_content: u32,
    contents: u32,
    first_lines: u32,
    lines: u32,
}

/// Piece of content that a client added to the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrailContent {
    /// Source of the piece.
    pub source: ContentSource,
    /// Size of the piece; the bytes of media are not known, and zero.
    pub size: TextSize,
}

/// Signs and contents between the requests of one file.
#[derive(Clone, Debug, Default)]
pub struct Trail {
    entries: Vec<TrailEntry>,
    contents: Vec<TrailContent>,
    lines: Vec<Lines>,
    /// Vocabulary in which the contents were counted, if they were.
    pub vocabulary: Option<Vocabulary>,
    /// Records of the prompt in front of the messages, in file order.
    pub snapshots: Vec<PromptSnapshot>,
    /// True if nothing is kept, as nobody will look at the trail.
    is_left_out: bool,
}

has_symbols!(Trail { contents, snapshots } beside { entries, lines, vocabulary, is_left_out });
has_symbols!(TrailContent { source } beside { size });

impl Trail {
    /// Creates an empty trail, which stays empty unless it is kept.
    pub(super) fn new(is_kept: bool) -> Self {
        Self { is_left_out: !is_kept, ..Self::default() }
    }

    /// Snapshot whose tools hold at a line.
    pub fn tools_at(&self, line: u64) -> Option<&PromptSnapshot> {
        let has_tools = |snapshot: &&PromptSnapshot| !snapshot.tools.is_empty();
        let (before, behind) = self.snapshots_around(line);
        // The client's second record has the tools, and may come after the first answer.
        before.last().filter(has_tools).or_else(|| behind.first().filter(has_tools))
    }

    /// Snapshot whose system prompt holds at a line.
    pub fn system_at(&self, line: u64) -> Option<&PromptSnapshot> {
        self.snapshots_around(line).0.iter().rev().find(|snapshot| !snapshot.system.is_empty())
    }

    fn snapshots_around(&self, line: u64) -> (&[PromptSnapshot], &[PromptSnapshot]) {
        self.snapshots.split_at(self.snapshots.partition_point(|snapshot| snapshot.line < line))
    }

    /// Continues from `before` with an entry. An entry without signs and content leaves no trace.
    pub(super) fn go_on(
        &mut self,
        before: Option<TrailIndex>,
        entry: &Entry,
        calls: &Calls,
    ) -> Option<TrailIndex> {
        if self.is_left_out {
            return None;
        }
        let first = self.contents.len();
        match &entry.kind {
            EntryKind::User(user) => self.add_user(user, calls),
            EntryKind::Attachment { kind, size, .. } => {
                self.add_content(ContentSource::Text(*kind), *size);
            }
            EntryKind::LocalCommand { size } => {
                self.add_content(ContentSource::Text(ContentKind::Command), *size);
            }
            EntryKind::Collapse(collapse) => {
                self.add_content(ContentSource::Text(ContentKind::Summary), collapse.size);
            }
            _ => {}
        }
        if entry.signs.is_empty() && self.contents.len() == first {
            return before;
        }
        Some(self.add_entry(before, entry.line, entry.signs, first))
    }

    /// Continues from `before` with a user message that has no line of its own.
    pub(super) fn go_on_with_user(
        &mut self,
        before: Option<TrailIndex>,
        line: u64,
        user: &UserMessage,
        calls: &Calls,
    ) -> Option<TrailIndex> {
        if self.is_left_out {
            return None;
        }
        let first = self.contents.len();
        self.add_user(user, calls);
        Some(self.add_entry(before, line, Signs::new(), first))
    }

    /// Trail of another agent's session, whose pieces of content each have an entry of their own.
    pub(super) fn of_pieces(pieces: &[Piece]) -> Self {
        let mut trail = Self::default();
        for piece in pieces {
            let first = trail.contents.len();
            trail
                .contents
                .push(TrailContent { source: piece.source, size: TextSize::of_bytes(piece.bytes) });
            trail.add_entry(piece.before.map(TrailIndex), piece.line, Signs::new(), first);
        }
        trail
    }

    fn add_entry(
        &mut self,
        before: Option<TrailIndex>,
        line: u64,
        signs: Signs,
        first_content: usize,
    ) -> TrailIndex {
        self.entries.push(TrailEntry {
            before,
            line,
            signs,
            first_content: position(first_content),
            contents: position(self.contents.len() - first_content),
            first_lines: 0,
            lines: 0,
        });
        // Positions are counted from 1, so that this one is the last entry's.
        TrailIndex(NonZeroU32::new(position(self.entries.len())).expect("an entry was added"))
    }

    /// Notes the lines that the last added entry names.
    pub(super) fn name_lines(&mut self, lines: &[Lines]) {
        if let Some(entry) = self.entries.last_mut() {
            entry.first_lines = position(self.lines.len());
            entry.lines = position(lines.len());
            self.lines.extend_from_slice(lines);
        }
    }

    /// Returns true if the trail is kept.
    pub(super) fn is_kept(&self) -> bool {
        !self.is_left_out
    }

    fn add_user(&mut self, user: &UserMessage, calls: &Calls) {
        let mut results = 0;
        for (call, size) in &user.tool_results {
            results += size.bytes();
            let tool = calls.get(call).and_then(|call| call.tool);
            self.contents.push(TrailContent { source: ContentSource::Tool(tool), size: *size });
        }
        // The size of a message includes its results.
        let text = user.size.with_bytes(user.size.bytes().saturating_sub(results));
        self.add_content(ContentSource::Text(user.text_kind), text);
        let tokens = u64::from(user.media_tokens).checked_div(user.media.into()).unwrap_or(0);
        let media = TrailContent {
            source: ContentSource::Media,
            size: TextSize::ZERO.counted(tokens, false),
        };
        self.contents.extend(std::iter::repeat_n(media, user.media as usize));
    }

    fn add_content(&mut self, source: ContentSource, size: TextSize) {
        if size.bytes() > 0 {
            self.contents.push(TrailContent { source, size });
        }
    }

    fn path(&self, last: Option<TrailIndex>) -> impl Iterator<Item = &TrailEntry> {
        let entry = |index: TrailIndex| &self.entries[index.0.get() as usize - 1];
        std::iter::successors(last.map(entry), move |this| this.before.map(entry))
    }

    /// Returns true if the entry of a line is among the last ones up to `last`.
    pub(super) fn has_line(&self, last: Option<TrailIndex>, line: u64) -> bool {
        self.path(last).take(LATEST).any(|entry| entry.line == line)
    }

    /// Entries with signs up to `last`, newest first, limited to those that may still affect the next
    /// request.
    pub fn back_from(&self, last: Option<TrailIndex>) -> impl Iterator<Item = &TrailEntry> {
        self.path(last).take(LONGEST_STRETCH).filter(|entry| !entry.signs.is_empty())
    }

    /// Lines that an entry names: those that it changed, or that it kept if it is a compaction.
    pub fn lines_named_by(&self, entry: &TrailEntry) -> &[Lines] {
        let first = entry.first_lines as usize;
        &self.lines[first..first + entry.lines as usize]
    }

    /// Content that came in up to `last`, each with its line, the newest entry first, without the content
    /// that a compaction replaced.
    pub fn contents_back_from(
        &self,
        last: Option<TrailIndex>,
    ) -> impl Iterator<Item = (u64, &TrailContent)> {
        let is_after = |entry: &&TrailEntry| !entry.signs.contains(Sign::Compacted);
        let after = self.path(last).take(MOST_CONTENTS).take_while(is_after);
        after.flat_map(|entry| self.contents_of(entry))
    }

    /// Content that came in before the last compaction up to `last`, which replaced all but the part it kept;
    /// in the same order.
    pub fn contents_before_compaction(
        &self,
        last: Option<TrailIndex>,
    ) -> impl Iterator<Item = (u64, &TrailContent)> {
        let is_after = |entry: &&TrailEntry| !entry.signs.contains(Sign::Compacted);
        let before = self.path(last).take(MOST_CONTENTS).skip_while(is_after);
        before.flat_map(|entry| self.contents_of(entry))
    }

    fn contents_of(&self, entry: &TrailEntry) -> impl Iterator<Item = (u64, &TrailContent)> {
        let (line, first) = (entry.line, entry.first_content as usize);
        let contents = &self.contents[first..first + entry.contents as usize];
        contents.iter().map(move |content| (line, content))
    }
}

/// # Panics
/// Never in practice: a file would need 2³² lines.
fn position(index: usize) -> u32 {
    u32::try_from(index).expect("fewer than 2^32 entries")
}
