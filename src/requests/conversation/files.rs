//! The conversations of all files, put together file by file, so that what a file was read into can
//! be used again for the next.

use std::sync::Arc;

use super::between::Interruptions;
use super::file::{FileConversation, FileResponse};
use super::history::{History, InputFile};
use super::origin::Places;
use crate::base::id::{EntryId, Moved, Symbol, Symbols};
use crate::read::transcript::{AgentNote, Title};

/// What the files so far hold.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// The responses, one file after the other.
    pub(super) responses: Vec<FileResponse>,
    /// Where each of them stands.
    pub(super) places: Places,
    /// The response at or before each entry, by its place among all, and what lies between.
    pub(super) index: Vec<(EntryId, u32, Interruptions)>,
    /// Of each file, the results that were sent as previews, each with the line that says so.
    pub(super) replaced: Vec<Vec<(EntryId, u64)>>,
    /// Messages that have lines of their own but are no requests.
    pub(super) other_messages: Vec<Symbol>,
    /// What is told of the types of sub-agents.
    pub(super) agent_notes: Vec<AgentNote>,
    /// The titles of sessions, where they are kept.
    pub(super) titles: Vec<Title>,
    /// The session of each entry, where titles are kept.
    pub(super) entry_sessions: Vec<(EntryId, Symbol)>,
    /// The history as far as each file tells of itself.
    pub(super) history: History,
}

impl Files {
    /// Adds the next file.
    pub(super) fn add(&mut self, mut file: FileConversation) {
        move_symbols(&mut file, &mut self.history.symbols);
        let first = self.responses.len();
        let number = self.history.files.len();
        self.places.expect(file.responses.len());
        for (place, response) in (first..).zip(&mut file.responses) {
            response.file = number;
            response.predecessor = response.predecessor.map(|predecessor| first + predecessor);
            let of_all = |number: u32| u32::try_from(first + number as usize).ok();
            response.between.rewrite = response.between.rewrite.renumbered(of_all);
            self.places.add(response.key, place);
        }
        put_behind(&mut self.responses, file.responses);
        let first = u32::try_from(first).expect("fewer than 2^32 responses");
        for (_, response, _) in &mut file.index {
            *response += first;
        }
        put_behind(&mut self.index, file.index);
        self.other_messages.append(&mut file.other_messages);
        self.agent_notes.append(&mut file.agent_notes);
        self.titles.append(&mut file.titles);
        self.entry_sessions.append(&mut file.entry_sessions);
        self.history.bytes += file.bytes;
        self.history.lines += file.lines;
        self.history.files.push(InputFile { label: Arc::clone(&file.label), trail: file.trail });
        self.replaced.push(file.replaced);
        self.history.refusals.extend(file.refusals);
        self.history.diagnostics.absorb(file.diagnostics);
    }
}

/// Often there is one file, whose list need not be copied.
fn put_behind<T>(all: &mut Vec<T>, mut more: Vec<T>) {
    if all.is_empty() {
        *all = more;
    } else {
        all.append(&mut more);
    }
}

fn move_symbols(file: &mut FileConversation, symbols: &mut Symbols) {
    let moved = symbols.absorb(std::mem::take(&mut file.symbols));
    if !moved.is_identity() {
        move_each(file, &moved);
    }
    for response in &mut file.responses {
        let session = response.session.unwrap_or_else(|| symbols.intern(&file.stem));
        response.session = Some(session);
        response.key = response.key.in_session(Some(session));
    }
}

fn move_each(file: &mut FileConversation, moved: &Moved) {
    let to = |symbol: Symbol| moved.symbol(symbol);
    for response in &mut file.responses {
        response.key = response.key.map(to);
        response.lines.message = to(response.lines.message);
        response.lines.model = to(response.lines.model);
        response.lines.request = response.lines.request.map(to);
        response.session = response.session.map(to);
        response.agent = response.agent.map(to);
        response.client_version = response.client_version.map(to);
        response.project = response.project.map(to);
        response.branch = response.branch.map(to);
        response.agent_setting = response.agent_setting.map(to);
        response.lines.effort = response.lines.effort.map(to);
        if let Some(verdict) = &mut response.lines.verdict {
            verdict.reason = to(verdict.reason);
        }
    }
    file.trail.move_symbols(to);
    file.agent_notes.iter_mut().for_each(|note| *note = note.map(to));
    file.entry_sessions.iter_mut().for_each(|(_, session)| *session = to(*session));
    file.other_messages.iter_mut().for_each(|message| *message = to(*message));
    for (request, model) in &mut file.refusals {
        (*request, *model) = (to(*request), to(*model));
    }
}
