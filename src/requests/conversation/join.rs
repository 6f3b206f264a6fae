//! Join of the conversations of all files into one history that has every request once.
//!
//! They are put together file by file, so that a file's memory can be used again for the next.

use std::sync::Arc;

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::origin::{Copies, Places, agent_types, find_copies};
use super::{
    Answer, FileConversation, FileResponse, History, InputFile, Interruptions, Request,
    RequestIndex, session_titles, settle_agents,
};
use crate::base::{
    Client, EntryId, HasSymbols, Millis, Models, Ordinal, Symbol, Symbols, side_by_side,
};
use crate::read::agent::Vendor;
use crate::read::input::{Diagnostics, Kind, UsageProblem};
use crate::read::transcript::{AgentNote, Novelty, Title};

/// Joins the conversations of all files.
pub fn join(conversations: Vec<FileConversation>) -> History {
    let mut files = Files::default();
    for conversation in conversations {
        files.add(conversation);
    }
    let mut history = files.join();
    history.set_models(Models::built_in());
    history
}

impl Files {
    /// History of all files together.
    pub(super) fn join(mut self) -> History {
        let mut history = std::mem::take(&mut self.history);
        let places = std::mem::take(&mut self.places).with_lost_ids(&mut self.responses);
        let copies =
            find_copies(&self.responses, places, &self.other_messages, history.files.len());
        copies.complete(&mut self.responses);
        history.duplicates = copies.duplicates;
        history.agent_types = agent_types(&self.agent_notes);
        history.titles = session_titles(&self, &copies, &mut history.symbols);
        for &replay in &copies.replays {
            let response = &self.responses[replay];
            let label = &history.files[response.file].label;
            let detail = "the answer belongs to the main conversation";
            let line = response.lines.first_line;
            history.diagnostics.add(Kind::SidechainReplay, label, line, detail);
        }
        let continued = self.continued_responses(&history.symbols);
        // Large lists are freed before the requests are made.
        self.index = Vec::new();
        let responses = self.responses;
        let replaced = self.replaced;
        let calls = |of_file: &Vec<(EntryId, u64)>| of_file.iter().map(|(tool, _)| *tool).collect();
        let replaced_calls = replaced.iter().map(calls).collect();
        let placer =
            Placer { responses: &responses, copies: &copies, continued, replaced, replaced_calls };
        placer.note_forks(&mut history.diagnostics, &history.files);
        history.requests = placer.requests(&mut history.diagnostics, &history.files);
        history
    }

    /// Entries that some file continues → the response at or before them, in the file that has them.
    fn continued_responses(&self, symbols: &Symbols) -> FxHashMap<EntryId, Continued> {
        let continues = self.responses.iter().filter_map(|response| response.continues);
        let mut wanted: FxHashMap<EntryId, Option<Continued>> =
            continues.map(|entry| (entry, None)).collect();
        if wanted.is_empty() {
            return FxHashMap::default();
        }
        for (entry, response, interruptions) in &self.index {
            if let Some(known) = wanted.get_mut(entry) {
                let interruptions = *interruptions;
                known.get_or_insert(Continued { place: *response as usize, interruptions });
            }
        }
        // A fork may name a message by its id.
        if self.responses.iter().any(|response| response.is_fork) {
            for (place, response) in self.responses.iter().enumerate() {
                let Some(message) = response.lines.message else { continue };
                let message = EntryId::of(symbols.text(message));
                if let Some(known) = wanted.get_mut(&message) {
                    let interruptions = Interruptions::default();
                    known.get_or_insert(Continued { place, interruptions });
                }
            }
        }
        wanted.into_iter().filter_map(|(entry, place)| Some((entry, place?))).collect()
    }
}

/// Response that another file continues, with the interruptions between it and the entry named.
#[derive(Clone, Copy)]
struct Continued {
    place: usize,
    interruptions: Interruptions,
}

/// Response that is a request.
struct Placed {
    /// Index among all responses.
    place: usize,
    /// Start time of the request.
    start: Millis,
    /// Predecessor, as an index among the placed ones.
    predecessor: Option<usize>,
}

struct Placer<'a> {
    responses: &'a [FileResponse],
    copies: &'a Copies,
    continued: FxHashMap<EntryId, Continued>,
    /// For each file, the results that were sent as previews.
    replaced: Vec<Vec<(EntryId, u64)>>,
    /// Calls of these results.
    replaced_calls: Vec<FxHashSet<EntryId>>,
}

impl Placer<'_> {
    /// Requests in the order in which they were sent; other responses get a diagnostic.
    fn requests(&self, diagnostics: &mut Diagnostics, files: &[InputFile]) -> Vec<Request> {
        let mut placed = self.place(diagnostics, files);
        let depths = move_starts_up(&mut placed);
        // The depth puts a request after its predecessor if both have the same start.
        let key = |number: usize| {
            let Placed { start, place, .. } = placed[number];
            (start, depths[number], self.responses[place].lines.first_timestamp, place)
        };
        let mut order: Vec<_> = (0..placed.len()).map(|number| (key(number), number)).collect();
        order.sort();
        let mut position_of = vec![0; placed.len()];
        for (position, (_, number)) in order.iter().enumerate() {
            position_of[*number] = position;
        }
        let request = |(position, (_, number)): (usize, &(_, usize))| {
            let before = placed[*number].predecessor.map(|before| position_of[before]);
            // Circles across files leave predecessors that come later; these links are dropped.
            let predecessor = before.filter(|before| *before < position).map(RequestIndex::new);
            let mut request = self.request(&placed[*number], predecessor);
            request.between.rewrite = request.between.rewrite.renumbered(|place| {
                let place = self.copies.origin_of(place as usize);
                let number = placed.binary_search_by_key(&place, |one| one.place).ok()?;
                u32::try_from(position_of[number]).ok()
            });
            request
        };
        let mut requests: Vec<Request> = order.par_iter().enumerate().map(request).collect();
        settle_agents(&mut requests);
        requests
    }

    /// Reports forks of forks, and forks whose parent is in no file.
    fn note_forks(&self, diagnostics: &mut Diagnostics, files: &[InputFile]) {
        let forks = || self.responses.iter().filter(|response| response.is_fork);
        let of_forks: FxHashSet<(usize, Option<Symbol>)> =
            forks().map(|fork| (fork.file, fork.agent)).collect();
        for fork in forks() {
            let (label, line) = (&files[fork.file].label, fork.lines.first_line);
            match self.continued_elsewhere(fork).map(|parent| &self.responses[parent.place]) {
                None => {
                    let detail = "its parent is in no file; what its prompt begins with is unknown";
                    diagnostics.add(Kind::MissingForkContext, label, line, detail);
                }
                Some(parent) if of_forks.contains(&(parent.file, parent.agent)) => {
                    let detail = "it goes on from another fork, which the client refuses";
                    diagnostics.add(Kind::NestedFork, label, line, detail);
                }
                Some(_) => {}
            }
        }
    }

    /// Line by which a fork replaces a result that its parent had sent in full.
    fn fresh_replacement(&self, fork: &FileResponse) -> Option<u64> {
        let parent = self.continued_elsewhere(fork).filter(|_| fork.is_fork)?;
        let known = &self.replaced_calls[self.responses[parent.place].file];
        let fresh = self.replaced[fork.file].iter().find(|(tool, _)| !known.contains(tool))?;
        Some(fresh.1)
    }

    /// Responses that are requests, in the order of the files.
    fn place(&self, diagnostics: &mut Diagnostics, files: &[InputFile]) -> Vec<Placed> {
        let starts: Vec<_> = side_by_side(self.responses, start_of);
        let mut placed: Vec<Placed> = Vec::with_capacity(self.responses.len());
        for (place, start) in starts.into_iter().enumerate() {
            if !self.copies.is_origin(place) {
                continue;
            }
            let response = &self.responses[place];
            let mut note = |(kind, detail)| {
                let label = &files[response.file].label;
                diagnostics.add(kind, label, response.lines.first_line, detail);
            };
            match start {
                Ok(start) => {
                    placed.push(Placed { place, start, predecessor: None });
                    if start == Millis::UNTIMED {
                        note((Kind::MissingTimestamp, "the request keeps its place in the file"));
                    }
                }
                Err(rejected) => note(rejected),
            }
        }
        let numbers = (0..placed.len()).into_par_iter();
        let predecessors: Vec<_> =
            numbers.map(|number| self.predecessor(&placed, number)).collect();
        for (placed, predecessor) in placed.iter_mut().zip(predecessors) {
            placed.predecessor = predecessor;
        }
        placed
    }

    /// Predecessor of a request, as an index in `placed`.
    fn predecessor(&self, placed: &[Placed], number: usize) -> Option<usize> {
        let response = &self.responses[placed[number].place];
        let elsewhere = self.continued_elsewhere(response).map(|continued| continued.place);
        let place = self.copies.origin_of(elsewhere.or(response.predecessor.map(Ordinal::index))?);
        // Nearly always the request before.
        let neighbour = number.checked_sub(1).filter(|before| placed[*before].place == place);
        neighbour.or_else(|| placed.binary_search_by_key(&place, |one| one.place).ok())
    }

    /// Response of another file that this one continues.
    fn continued_elsewhere(&self, response: &FileResponse) -> Option<Continued> {
        response.continues.and_then(|entry| self.continued.get(&entry)).copied()
    }

    fn request(&self, placed: &Placed, predecessor: Option<RequestIndex>) -> Request {
        let response = &self.responses[placed.place];
        let mut between = response.between.clone();
        match self.continued_elsewhere(response) {
            Some(continued) => between.continues_from(continued.interruptions),
            None => between.has_hole |= response.has_gap,
        }
        let lines = &response.lines;
        Request {
            message: lines.message,
            request: lines.request,
            client: Client::ClaudeCode,
            sum_of: 1,
            model: lines.model,
            vendor: Vendor::Anthropic,
            session: response.session.expect("`take_over_symbols` names every session"),
            agent: response.agent,
            client_version: response.client_version,
            project: response.project,
            branch: response.branch,
            file: response.file,
            line: lines.first_line,
            start: placed.start,
            answered: lines.first_timestamp,
            finished: lines.last_timestamp.unwrap_or(placed.start).max(placed.start),
            usage: lines.usage.clone().ok(),
            output_is_lower_bound: lines.output_is_lower_bound() || response.is_cut,
            ends_turn: lines.ends_turn(),
            answer: Answer { counted: lines.counted, calls_tools: lines.calls_tools },
            has_thinking: lines.has_thinking,
            has_text: lines.has_text,
            came_at_once: lines.came_at_once,
            answer_positions: lines.positions,
            effort: lines.effort,
            mode: None,
            permissions: None,
            agent_setting: response.agent_setting,
            verdict: lines.verdict,
            predecessor,
            between,
            fresh_replacement: self.fresh_replacement(response),
            recovered_results: response.recovered_results,
            is_live: response.is_live,
        }
    }
}

/// Start time of a request, or an error if the response is not one.
fn start_of(response: &FileResponse) -> Result<Millis, (Kind, &'static str)> {
    let lines = &response.lines;
    if let Err(problem) = lines.usage {
        return Err(match problem {
            UsageProblem::Missing => (Kind::MissingUsage, "the response is left out"),
            UsageProblem::Invalid => (Kind::InvalidUsage, "the response is left out"),
            UsageProblem::WithoutCacheCounters => (
                Kind::UsageWithoutCacheCounters,
                "what it read from cache is unknown; the response is left out",
            ),
        });
    }
    // A clock that was set back may date the prompt after its answer.
    let sent = match (response.between.newest_user_entry, lines.first_timestamp) {
        (Some(sent), Some(answered)) => Some(sent.min(answered)),
        (one, None) | (None, one) => one,
    };
    // The start of one without a time is moved up to that of the request before it.
    Ok(sent.unwrap_or(Millis::UNTIMED))
}

/// Makes starts ascend along every chain, and returns each request's distance from its chain's beginning.
///
/// A request cannot have been sent before its predecessor, even if a clock was set back; its start is moved
/// up to the predecessor's.
fn move_starts_up(placed: &mut [Placed]) -> Vec<u32> {
    let mut depths: Vec<Option<u32>> = vec![None; placed.len()];
    let mut path = Vec::new();
    for start in 0..placed.len() {
        let mut here = Some(start);
        while let Some(index) = here.filter(|index| depths[*index].is_none()) {
            // Marks the request as being on the path; files that continue each other in a circle end it here.
            depths[index] = Some(0);
            path.push(index);
            here = placed[index].predecessor;
        }
        while let Some(index) = path.pop() {
            let before = placed[index].predecessor.filter(|before| depths[*before].is_some());
            if let Some(before) = before {
                depths[index] = Some(depths[before].unwrap_or(0) + 1);
                placed[index].start = placed[index].start.max(placed[before].start);
            }
        }
    }
    depths.into_iter().map(Option::unwrap_or_default).collect()
}

/// Contents of the files so far.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// Responses, one file after the other.
    pub(super) responses: Vec<FileResponse>,
    /// Places of the responses, by their keys.
    pub(super) places: Places,
    /// Response at or before each entry, by its index among all, with the interruptions between.
    pub(super) index: Vec<(EntryId, u32, Interruptions)>,
    /// For each file, the results that were sent as previews, each with the line that says so.
    pub(super) replaced: Vec<Vec<(EntryId, u64)>>,
    /// Messages that have lines of their own but are not requests.
    pub(super) other_messages: Vec<Symbol>,
    /// Notes on the types of sub-agents.
    pub(super) agent_notes: Vec<AgentNote>,
    /// Titles of sessions, if they are kept.
    pub(super) titles: Vec<Title>,
    /// Session of each entry, if titles are kept.
    pub(super) entry_sessions: Vec<(EntryId, Symbol)>,
    /// History, with the facts that each file has on its own.
    pub(super) history: History,
}

impl Files {
    /// Adds the next file.
    pub(super) fn add(&mut self, mut file: FileConversation) {
        take_over_symbols(&mut file, &mut self.history.symbols);
        let first = self.responses.len();
        let number = self.history.files.len();
        self.places.expect(file.responses.len());
        for (place, response) in (first..).zip(&mut file.responses) {
            response.file = number;
            response.predecessor = response.predecessor.map(|one| one.after(first));
            let of_all = |number: u32| u32::try_from(first + number as usize).ok();
            response.between.rewrite = response.between.rewrite.renumbered(of_all);
            response.key = self.places.key_of(response);
            self.places.add(response.key, place);
        }
        // Some lines do not say by which client they were written.
        let version = file.responses.first().and_then(|response| response.client_version);
        put_behind(&mut self.responses, file.responses);
        let first = u32::try_from(first).expect("fewer than 2^32 responses");
        for (_, response, _) in &mut file.index {
            *response += first;
        }
        put_behind(&mut self.index, file.index);
        self.other_messages.append(&mut file.other_messages);
        self.agent_notes.append(&mut file.agent_notes);
        let cost_states = file.cost_states.into_iter().map(|state| (number, state));
        self.history.cost_states.extend(cost_states);
        self.history.novelties.extend(file.novelties.into_iter().map(|novelty| Novelty {
            client_version: novelty.client_version.or(version),
            ..novelty
        }));
        self.titles.append(&mut file.titles);
        self.entry_sessions.append(&mut file.entry_sessions);
        self.history.bytes += file.bytes;
        self.history.lines += file.lines;
        self.history.files.push(InputFile {
            label: Arc::clone(&file.label),
            what: None,
            trail: file.trail,
        });
        self.replaced.push(file.replaced);
        self.history.refusals.extend(file.refusals);
        self.history.diagnostics.absorb(file.diagnostics);
    }
}

/// Appends a list. Often there is one file, whose list need not be copied.
fn put_behind<T>(all: &mut Vec<T>, mut more: Vec<T>) {
    if all.is_empty() {
        *all = more;
    } else {
        all.append(&mut more);
    }
}

fn take_over_symbols(file: &mut FileConversation, symbols: &mut Symbols) {
    let moved = symbols.absorb(std::mem::take(&mut file.symbols));
    if !moved.is_identity() {
        file.move_symbols(&moved);
    }
    for response in &mut file.responses {
        // A file without a `sessionId` is a session under its own name.
        let session = response.session.unwrap_or_else(|| symbols.intern(&file.stem));
        response.session = Some(session);
        response.key = response.key.in_session(Some(session));
    }
}
