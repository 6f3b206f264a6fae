//! What of a file's entries can be put together in the order of its lines, while the file is still
//! being read: which entry has which identity, and which lines make up a response.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::between::Between;
use super::file::FileResponse;
use super::response::{ResponseKey, ResponseLines};
use super::trail::{Call, Calls};
use crate::id::{EntryId, Symbol};
use crate::input::{Diagnostics, Kind};
use crate::transcript::{Entry, EntryKind, ResponseLine};
use crate::units::Millis;

/// Room is made for no more entries than this before they are there.
const MOST_EXPECTED: usize = 1_000_000;

/// What the entries so far show.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    /// The first entry of each identity.
    pub(super) positions: FxHashMap<EntryId, usize>,
    /// Of each entry, whether it repeats the identity of an earlier one and counts for nothing.
    pub(super) is_duplicate: Vec<bool>,
    /// The responses in the order of their first lines.
    pub(super) responses: Vec<FileResponse>,
    /// Where each of them begins.
    pub(super) beginnings: Vec<Beginning>,
    /// Of each entry, the response that it is a line of.
    pub(super) response_of: Vec<Option<usize>>,
    /// The calls that the responses make.
    pub(super) calls: Calls,
    /// Entries that were there before.
    pub(super) diagnostics: Diagnostics,
    /// The newest message of the main conversation, and its time.
    pub(super) newest: Option<(Option<Millis>, usize)>,
    /// Where the live branch was when that was last written down.
    pub(super) leaf: Option<EntryId>,
    /// Whether results were sent as previews.
    pub(super) has_replacements: bool,
    by_key: FxHashMap<ResponseKey, usize>,
    agent_setting: Option<Symbol>,
    expected_stretches: usize,
}

/// The entry where a response begins.
#[derive(Debug)]
pub(super) struct Beginning {
    /// Of its lines, the first that hangs off something else; until that is known, the first.
    pub(super) entry: usize,
    /// Whether it is known.
    pub(super) is_placed: bool,
}

impl Gathered {
    /// Nothing yet of a file whose entries come in about so many stretches.
    pub(super) fn of_stretches(expected_stretches: usize) -> Self {
        Self { expected_stretches, ..Self::default() }
    }

    /// Makes room for about so many entries, so that lists need not be moved when they grow. Room
    /// that is not used takes no memory. (In a hash table it would: that has entries everywhere.)
    fn expect(&mut self, entries: usize) {
        // Most responses have two lines and are answered by one.
        let responses = entries / 3;
        self.is_duplicate.reserve_exact(entries);
        self.response_of.reserve_exact(entries);
        self.responses.reserve_exact(responses);
        self.beginnings.reserve_exact(responses);
    }

    /// Adds the next entries of a file, and takes over what the lines of responses hold.
    pub(super) fn add(&mut self, entries: &mut [Entry], file: &Arc<str>) {
        if self.is_duplicate.is_empty() && self.expected_stretches > 1 {
            self.expect(entries.len().saturating_mul(self.expected_stretches).min(MOST_EXPECTED));
        }
        self.positions.reserve(entries.len());
        for entry in entries {
            let position = self.is_duplicate.len();
            let is_duplicate = self.is_known(entry, position);
            if is_duplicate {
                let detail = "the first of them counts";
                self.diagnostics.add(Kind::DuplicateLine, file, entry.line, detail);
            }
            self.is_duplicate.push(is_duplicate);
            self.note(entry, position, is_duplicate);
            let line = take_line(entry, is_duplicate);
            let response = line.map(|line| self.add_line(*line, entry, position));
            self.response_of.push(response);
        }
    }

    fn note(&mut self, entry: &Entry, position: usize, is_duplicate: bool) {
        match entry.kind {
            EntryKind::AgentSetting(agent) => self.agent_setting = Some(agent),
            EntryKind::LastPrompt { leaf } => self.leaf = Some(leaf),
            EntryKind::ContentReplacement(_) => self.has_replacements = true,
            _ => {}
        }
        if is_message(entry) && !is_duplicate {
            self.newest = self.newest.max(Some((entry.timestamp, position)));
        }
    }

    /// Whether an earlier entry has the same identity; else it is this one's from here on.
    fn is_known(&mut self, entry: &Entry, position: usize) -> bool {
        entry.id.is_some_and(|id| *self.positions.entry(id).or_insert(position) != position)
    }

    fn add_line(&mut self, line: ResponseLine, entry: &Entry, position: usize) -> usize {
        let key = ResponseKey::of(&line, entry.session);
        let next = self.responses.len();
        let response = *self.by_key.entry(key).or_insert(next);
        self.note_calls(response, &line);
        if response == next {
            let agent_setting = self.agent_setting;
            self.responses.push(FileResponse { agent_setting, ..begin_response(key, line, entry) });
            self.beginnings.push(Beginning { entry: position, is_placed: false });
        } else {
            self.responses[response].lines.add(&line, entry.timestamp);
        }
        // Those of sub-agents have no branches of their own.
        self.responses[response].is_live |= entry.is_sidechain;
        response
    }

    /// Notes the calls of a response. One that several responses make is the first one's, and calls
    /// the tool that was named last.
    fn note_calls(&mut self, response: usize, line: &ResponseLine) {
        for call in &line.tool_uses {
            let noted = Call { tool: call.tool, caller: Some(response) };
            self.calls
                .entry(call.id)
                .and_modify(|known| {
                    known.tool = call.tool;
                    known.caller = known.caller.map(|caller| caller.min(response));
                })
                .or_insert(noted);
        }
    }
}

/// What a line of a response holds, unless the line counts for nothing.
fn take_line(entry: &mut Entry, is_duplicate: bool) -> Option<Box<ResponseLine>> {
    match std::mem::replace(&mut entry.kind, EntryKind::GatheredLine) {
        EntryKind::Response(line) if !is_duplicate => Some(line),
        other => {
            entry.kind = other;
            None
        }
    }
}

/// Whether an entry is a message of the main conversation.
pub(super) fn is_message(entry: &Entry) -> bool {
    !entry.is_sidechain
        && matches!(
            entry.kind,
            EntryKind::User(_) | EntryKind::Response(_) | EntryKind::GatheredLine
        )
}

fn begin_response(key: ResponseKey, line: ResponseLine, entry: &Entry) -> FileResponse {
    FileResponse {
        key,
        file: 0,
        lines: ResponseLines::begin(line, entry.line, entry.timestamp),
        session: entry.session,
        agent: entry.agent,
        is_sidechain: entry.is_sidechain,
        is_forked: entry.is_forked,
        client_version: entry.client_version,
        project: entry.project,
        agent_setting: None,
        predecessor: None,
        continues: None,
        has_gap: false,
        between: Between::default(),
        recovered_results: 0,
        is_live: false,
        is_nested: false,
    }
}
