//! The entries of one file → its responses, each with its predecessor and what lies between.

use std::num::NonZeroU32;
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::between::{Between, Interruptions};
use super::gathered::{Beginning, Gathered};
use super::graph::Graph;
use super::live::live_responses;
use super::nested::nested_responses;
use super::response::{ResponseKey, ResponseLines};
use super::trail::{Calls, Trail};
use crate::id::{EntryId, Symbol, Symbols};
use crate::input::Diagnostics;
use crate::transcript::{Entry, EntryKind, Title, Transcript};
use crate::units::Millis;

/// How far a result that was given beside the linear path is looked for. Real answers call a few
/// dozen tools at most; the limit keeps hostile files linear.
const LONGEST_STEP: usize = 1_000;

/// A response as one file shows it.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools)] // independent facts, not states of one machine
pub struct FileResponse {
    /// How it is known.
    pub key: ResponseKey,
    /// Which of the files of a run it is in, once they are put together.
    pub file: usize,
    /// What its lines say.
    pub lines: ResponseLines,
    /// `sessionId` of its first line.
    pub session: Option<Symbol>,
    /// The sub-agent it belongs to; `None` on the main chain.
    pub agent: Option<Symbol>,
    /// Whether it is part of a side conversation.
    pub is_sidechain: bool,
    /// Whether its line says it was copied from another session.
    pub is_forked: bool,
    /// The client that wrote it.
    pub client_version: Option<Symbol>,
    /// The project's folder.
    pub project: Option<Symbol>,
    /// The agent whose system prompt was set for the session.
    pub agent_setting: Option<Symbol>,
    /// The response before it in this file.
    pub predecessor: Option<usize>,
    /// An entry that the chain goes on from and this file does not have.
    pub continues: Option<EntryId>,
    /// Whether something is missing there, unless another file has it.
    pub has_gap: bool,
    /// What lies between the two.
    pub between: Between,
    /// Tool results that were found beside the linear path.
    pub recovered_results: u32,
    /// Whether it is on the branch that the file ends on, across its compactions.
    pub is_live: bool,
    /// Whether it occurs only inside a progress line.
    pub is_nested: bool,
}

/// The responses of one file.
#[derive(Debug)]
pub struct FileConversation {
    /// The file's name.
    pub label: Arc<str>,
    /// The file's name without folders and endings.
    pub stem: String,
    /// Responses in the order of their first lines; those inside progress lines come last.
    pub responses: Vec<FileResponse>,
    /// The response at or before each entry, and what lies between, for files that continue this one.
    pub index: Vec<(EntryId, u32, Interruptions)>,
    /// Messages that have lines of their own but are no requests.
    pub other_messages: Vec<Symbol>,
    /// `requestId` → the model that refused it first.
    pub refusals: Vec<(Symbol, Symbol)>,
    /// What lies between responses.
    pub trail: Trail,
    /// The titles of sessions, in file order, where they are kept.
    pub titles: Vec<Title>,
    /// The session of each entry, where titles are kept.
    pub entry_sessions: Vec<(EntryId, Symbol)>,
    /// The strings named here.
    pub symbols: Symbols,
    /// What was rejected or repaired.
    pub diagnostics: Diagnostics,
    /// Bytes read.
    pub bytes: u64,
    /// Lines read.
    pub lines: u64,
}

/// What is known at an entry of everything before it.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    between: Between,
    continues: Option<EntryId>,
    response: Option<ResponsePlace>,
    root: u32,
    has_gap: bool,
}

/// The place of a response among those of its file, counted from 1, so that a state takes less room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ResponsePlace(NonZeroU32);

impl ResponsePlace {
    fn at(index: usize) -> Self {
        let number = u32::try_from(index + 1).ok().and_then(NonZeroU32::new);
        Self(number.expect("fewer than 2^32 responses"))
    }

    fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

fn root(position: usize) -> u32 {
    u32::try_from(position).expect("fewer than 2^32 lines")
}

/// Builds the conversation of one file.
#[must_use]
pub fn build(mut transcript: Transcript) -> FileConversation {
    let mut gathered = Gathered::default();
    gathered.add(&mut transcript.entries, &transcript.label);
    build_gathered(transcript, gathered, true)
}

/// Builds the conversation of one file whose entries were gathered while it was read. What lies
/// between its requests is kept where it is wanted.
#[must_use]
pub(super) fn build_gathered(
    mut transcript: Transcript,
    mut gathered: Gathered,
    keeps_trail: bool,
) -> FileConversation {
    // Those of a file of another program are given up.
    if transcript.entries.is_empty() {
        gathered = Gathered::default();
    }
    transcript.diagnostics.absorb(std::mem::take(&mut gathered.diagnostics));
    if gathered.has_replacements {
        apply_content_replacements(&mut transcript.entries);
    }
    let Transcript { entries, label, diagnostics, .. } = &mut transcript;
    let (graph, results) = rayon::join(
        || Graph::link(entries, &gathered, label, diagnostics),
        || Results::of(entries, &gathered),
    );
    for live in live_responses(&transcript.entries, &graph, &gathered) {
        gathered.responses[live].is_live = true;
    }
    let mut builder = Builder::new(&transcript.entries, &graph, gathered, Trail::new(keeps_trail));
    builder.fold();
    builder.recover_parallel_results(&results);
    let Builder { mut responses, beginnings, states, mut trail, mut calls, .. } = builder;
    name_sidechains(&mut responses, &beginnings, &mut transcript, &states);
    let index = index(&transcript.entries, &states);
    let own = responses.len();
    let nested = nested_responses(&transcript.entries, &graph, &mut trail, &mut calls);
    responses.extend(nested.into_iter().map(|mut nested| {
        nested.predecessor = nested.predecessor.map(|predecessor| own + predecessor);
        nested
    }));
    FileConversation {
        other_messages: other_messages(&transcript.entries),
        refusals: refusals(&transcript.entries),
        trail,
        entry_sessions: transcript
            .titles
            .iter()
            .flat_map(|_| sessions(&transcript.entries))
            .collect(),
        titles: transcript.titles.unwrap_or_default(),
        label: transcript.label,
        stem: transcript.stem,
        responses,
        index,
        symbols: transcript.symbols,
        diagnostics: transcript.diagnostics,
        bytes: transcript.bytes,
        lines: transcript.lines,
    }
}

fn index(entries: &[Entry], states: &[State]) -> Vec<(EntryId, u32, Interruptions)> {
    let known = entries.iter().zip(states).filter_map(|(entry, state)| {
        let response = state.response?.0.get() - 1;
        Some((entry.id?, response, state.between.interruptions(state.has_gap)))
    });
    // Nearly every entry has one.
    let mut index = Vec::with_capacity(entries.len());
    index.extend(known);
    index
}

fn sessions(entries: &[Entry]) -> impl Iterator<Item = (EntryId, Symbol)> {
    entries.iter().filter_map(|entry| Some((entry.id?, entry.session?)))
}

/// A result that was sent as a preview has the preview's size.
fn apply_content_replacements(entries: &mut [Entry]) {
    let replacements: FxHashMap<EntryId, u64> = entries
        .iter()
        .filter_map(|entry| match &entry.kind {
            EntryKind::ContentReplacement(replacements) => Some(replacements),
            _ => None,
        })
        .flatten()
        .copied()
        .collect();
    for entry in entries {
        let EntryKind::User(user) = &mut entry.kind else {
            continue;
        };
        for (tool, bytes) in &mut user.tool_results {
            if let Some(preview) = replacements.get(tool) {
                user.bytes = user.bytes.saturating_sub(*bytes) + preview;
                *bytes = *preview;
            }
        }
    }
}

struct Builder<'a> {
    entries: &'a [Entry],
    graph: &'a Graph,
    responses: Vec<FileResponse>,
    beginnings: Vec<Beginning>,
    response_of: Vec<Option<usize>>,
    states: Vec<State>,
    trail: Trail,
    calls: Calls,
}

/// The entries that answer the calls of each response.
struct Results {
    entries: Vec<usize>,
    /// Of each response, which of `entries`.
    of: Vec<Range<usize>>,
}

impl Results {
    fn of(entries: &[Entry], gathered: &Gathered) -> Self {
        let mut results: Vec<(usize, usize)> = Vec::new();
        for (position, entry) in entries.iter().enumerate() {
            let EntryKind::User(user) = &entry.kind else {
                continue;
            };
            if gathered.is_duplicate[position] {
                continue;
            }
            let caller_of = |(call, _): &(EntryId, u64)| gathered.calls.get(call)?.caller;
            let caller = user.tool_results.iter().find_map(caller_of);
            results.extend(caller.map(|caller| (caller, position)));
        }
        results.sort_by_key(|(caller, _)| *caller);
        let mut of = vec![0..0; gathered.responses.len()];
        let mut start = 0;
        for of_one in results.chunk_by(|one, next| one.0 == next.0) {
            of[of_one[0].0] = start..start + of_one.len();
            start += of_one.len();
        }
        Self { entries: results.into_iter().map(|(_, position)| position).collect(), of }
    }
}

impl<'a> Builder<'a> {
    fn new(entries: &'a [Entry], graph: &'a Graph, gathered: Gathered, trail: Trail) -> Self {
        let Gathered { responses, beginnings, response_of, calls, positions, .. } = gathered;
        // Its room is used for the states.
        drop(positions);
        Self {
            entries,
            graph,
            responses,
            beginnings,
            response_of,
            states: vec![State::default(); entries.len()],
            trail,
            calls,
        }
    }

    /// Walks the tree from its roots, so that each entry is looked at once whatever its shape.
    fn fold(&mut self) {
        for &position in &self.graph.order {
            let entry = &self.entries[position];
            let before = self.state_before(position);
            if let Some(response) = self.response_of[position] {
                self.place(response, position, &before);
            }
            self.states[position] = if let Some(response) = self.request_of(position) {
                let between = after_line(response, &before);
                let response = Some(ResponsePlace::at(response));
                State { response, between, root: before.root, ..State::default() }
            } else {
                let mut state = before;
                state.between.add(entry, &mut self.trail, &self.calls);
                // An answer without usage was a request whose writes are not known.
                state.between.has_hole |= self.response_of[position].is_some();
                state
            };
        }
    }

    /// The request that an entry is a line of. A response without usage is none: the chain goes
    /// on over it.
    fn request_of(&self, position: usize) -> Option<usize> {
        let response = self.response_of[position]?;
        self.responses[response].lines.usage.is_ok().then_some(response)
    }

    fn state_before(&self, position: usize) -> State {
        let link = self.graph.links[position];
        let mut state = match link.parent {
            // A side conversation starts afresh, wherever in the main chain it hangs.
            Some(parent)
                if self.entries[position].is_sidechain && !self.entries[parent].is_sidechain =>
            {
                State { root: root(position), ..State::default() }
            }
            Some(parent) => self.states[parent],
            None => State { root: root(position), ..State::default() },
        };
        // A sub-agent's first line names the call that started it; that is no earlier part of its
        // own conversation.
        if self.entries[position].is_sidechain {
            state.between.has_hole |= link.missing.is_some() && link.parent.is_some();
        } else if link.missing.is_some() {
            state.continues = link.missing;
            // A summary stands for what went before it, whether or not that is still there.
            state.has_gap = !matches!(self.entries[position].kind, EntryKind::CompactBoundary);
        }
        state
    }

    /// Gives a response its predecessor, at the first of its lines that hangs off something else.
    fn place(&mut self, response: usize, position: usize, before: &State) {
        let beginning = &mut self.beginnings[response];
        if beginning.is_placed || before.response == Some(ResponsePlace::at(response)) {
            return;
        }
        *beginning = Beginning { entry: position, is_placed: true };
        let placed = &mut self.responses[response];
        placed.predecessor = before.response.map(ResponsePlace::index);
        placed.continues = before.continues;
        placed.has_gap = before.has_gap;
        placed.between = before.between;
    }

    /// Parallel calls are answered on lines of which only one lies on the path to the next
    /// request; the others belong to that request too.
    fn recover_parallel_results(&mut self, results: &Results) {
        for index in 0..self.responses.len() {
            if let Some(predecessor) = self.responses[index].predecessor {
                let of_predecessor = results.of[predecessor].clone();
                self.recover_results_before(index, &results.entries[of_predecessor]);
            }
        }
    }

    fn recover_results_before(&mut self, index: usize, results: &[usize]) {
        let response = &self.responses[index];
        if results.len() <= response.between.tool_result_messages as usize
            || results.len() > LONGEST_STEP
        {
            return;
        }
        let step = self.step_to(self.beginnings[index].entry);
        let answered: FxHashSet<EntryId> =
            step.into_iter().flat_map(|entry| self.answered_by(entry)).collect();
        let missing: Vec<usize> = results
            .iter()
            .copied()
            .filter(|result| self.answered_by(*result).all(|tool| !answered.contains(&tool)))
            .filter(|result| is_not_later(self.entries[*result].timestamp, response))
            .collect();
        let response = &mut self.responses[index];
        for result in missing {
            response.between.add_recovered(&self.entries[result], &mut self.trail, &self.calls);
            response.recovered_results += 1;
        }
    }

    /// The tool calls that an entry answers.
    fn answered_by(&self, position: usize) -> impl Iterator<Item = EntryId> + '_ {
        let results = match &self.entries[position].kind {
            EntryKind::User(user) => user.tool_results.as_slice(),
            _ => &[],
        };
        results.iter().map(|(tool, _)| *tool)
    }

    /// The entries between a response's first line and its predecessor.
    fn step_to(&self, first: usize) -> Vec<usize> {
        let mut step = Vec::new();
        let mut position = first;
        while let Some(parent) = self.graph.links[position].parent {
            if self.request_of(parent).is_some() || step.len() >= LONGEST_STEP {
                break;
            }
            step.push(parent);
            position = parent;
        }
        step
    }
}

/// What lies behind a line of a response: nothing yet, but for what was shown since its first line.
fn after_line(response: usize, before: &State) -> Between {
    let goes_on = before.response == Some(ResponsePlace::at(response));
    Between { trail: before.between.trail.filter(|_| goes_on), ..Between::default() }
}

fn is_not_later(time: Option<Millis>, response: &FileResponse) -> bool {
    match (time, response.lines.first_timestamp) {
        (Some(time), Some(answer)) => time <= answer,
        _ => true,
    }
}

/// Names the agents of side conversations whose lines do not: by the file, else by the root.
fn name_sidechains(
    responses: &mut [FileResponse],
    beginnings: &[Beginning],
    transcript: &mut Transcript,
    states: &[State],
) {
    let Transcript { entries, symbols, stem, .. } = transcript;
    for (response, beginning) in responses.iter_mut().zip(beginnings) {
        if response.agent.is_some() || !response.is_sidechain {
            continue;
        }
        response.agent = Some(if let Some(agent) = stem.strip_prefix("agent-") {
            symbols.intern(agent)
        } else {
            let root = &entries[states[beginning.entry].root as usize];
            let name = match (root.unusual_uuid, root.id) {
                (Some(uuid), _) => format!("sidechain:{}", symbols.text(uuid)),
                (None, Some(id)) => format!("sidechain:{}", id.uuid()),
                (None, None) => format!("sidechain:line-{}", root.line),
            };
            symbols.intern(&name)
        });
    }
}

fn other_messages(entries: &[Entry]) -> Vec<Symbol> {
    entries
        .iter()
        .filter_map(|entry| match entry.kind {
            EntryKind::Synthetic { message } => message,
            _ => None,
        })
        .collect()
}

fn refusals(entries: &[Entry]) -> Vec<(Symbol, Symbol)> {
    entries
        .iter()
        .filter_map(|entry| match entry.kind {
            EntryKind::RefusalFallback { request: Some(request), original_model: Some(model) } => {
                Some((request, model))
            }
            _ => None,
        })
        .collect()
}
