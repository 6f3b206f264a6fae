//! The entries of one file → its responses, each with its predecessor and what lies between.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::between::{Between, Interruptions};
use super::graph::Graph;
use super::live::live_responses;
use super::nested::nested_responses;
use super::response::{ResponseKey, ResponseLines};
use super::trail::{CalledTools, Trail};
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
    pub index: Vec<(EntryId, usize, Interruptions)>,
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
    response: Option<usize>,
    between: Between,
    continues: Option<EntryId>,
    has_gap: bool,
    root: usize,
}

/// Builds the conversation of one file.
#[must_use]
pub fn build(mut transcript: Transcript) -> FileConversation {
    apply_content_replacements(&mut transcript.entries);
    let graph = Graph::link(&transcript.entries, &transcript.label, &mut transcript.diagnostics);
    let mut builder = Builder::new(&transcript, &graph);
    builder.fold();
    builder.recover_parallel_results();
    let Builder { mut responses, states, response_of, mut trail, mut tools, .. } = builder;
    name_sidechains(&mut responses, &mut transcript, &states);
    for live in live_responses(&transcript.entries, &graph, &response_of) {
        responses[live].response.is_live = true;
    }
    let index = transcript
        .entries
        .iter()
        .zip(&states)
        .filter_map(|(entry, state)| {
            Some((entry.id?, state.response?, state.between.interruptions(state.has_gap)))
        })
        .collect();
    let mut responses: Vec<_> = responses.into_iter().map(|built| built.response).collect();
    let own = responses.len();
    let nested = nested_responses(&transcript.entries, &graph, &mut trail, &mut tools);
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
    if replacements.is_empty() {
        return;
    }
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

struct BuiltResponse {
    response: FileResponse,
    /// The entry where it begins.
    first: usize,
    is_placed: bool,
    results: Vec<usize>,
}

struct Builder<'a> {
    entries: &'a [Entry],
    graph: &'a Graph,
    responses: Vec<BuiltResponse>,
    response_of: Vec<Option<usize>>,
    states: Vec<State>,
    trail: Trail,
    tools: CalledTools,
}

impl<'a> Builder<'a> {
    fn new(transcript: &'a Transcript, graph: &'a Graph) -> Self {
        let entries = &transcript.entries;
        let mut builder = Self {
            entries,
            graph,
            responses: Vec::new(),
            response_of: vec![None; entries.len()],
            states: vec![State::default(); entries.len()],
            trail: Trail::default(),
            tools: CalledTools::default(),
        };
        builder.group_lines();
        builder
    }

    fn group_lines(&mut self) {
        let mut by_key: FxHashMap<ResponseKey, usize> = FxHashMap::default();
        let mut agent_setting = None;
        for (position, entry) in self.entries.iter().enumerate() {
            if let EntryKind::AgentSetting(agent) = entry.kind {
                agent_setting = Some(agent);
            }
            let EntryKind::Response(line) = &entry.kind else {
                continue;
            };
            if self.graph.is_duplicate[position] {
                continue;
            }
            self.tools.extend(line.tool_uses.iter().map(|call| (call.id, call.tool)));
            let key = ResponseKey::of(line, entry.session);
            let known = by_key.get(&key).copied();
            let response = known.unwrap_or_else(|| {
                self.responses.push(BuiltResponse {
                    response: FileResponse { agent_setting, ..begin_response(key, line, entry) },
                    first: position,
                    is_placed: false,
                    results: Vec::new(),
                });
                by_key.insert(key, self.responses.len() - 1);
                self.responses.len() - 1
            });
            if known.is_some() {
                self.responses[response].response.lines.add(line, entry.timestamp);
            }
            self.response_of[position] = Some(response);
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
                State { response: Some(response), between, root: before.root, ..State::default() }
            } else {
                let mut state = before;
                state.between.add(entry, &mut self.trail, &self.tools);
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
        self.responses[response].response.lines.usage.is_ok().then_some(response)
    }

    fn state_before(&self, position: usize) -> State {
        let link = self.graph.links[position];
        let mut state = match link.parent {
            // A side conversation starts afresh, wherever in the main chain it hangs.
            Some(parent)
                if self.entries[position].is_sidechain && !self.entries[parent].is_sidechain =>
            {
                State { root: position, ..State::default() }
            }
            Some(parent) => self.states[parent],
            None => State { root: position, ..State::default() },
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
        let built = &mut self.responses[response];
        if built.is_placed || before.response == Some(response) {
            return;
        }
        built.is_placed = true;
        built.first = position;
        built.response.predecessor = before.response;
        built.response.continues = before.continues;
        built.response.has_gap = before.has_gap;
        built.response.between = before.between;
    }

    /// Parallel calls are answered on lines of which only one lies on the path to the next
    /// request; the others belong to that request too.
    fn recover_parallel_results(&mut self) {
        let mut caller: FxHashMap<EntryId, usize> = FxHashMap::default();
        for (index, built) in self.responses.iter().enumerate() {
            for call in &built.response.lines.tool_uses {
                caller.entry(call.id).or_insert(index);
            }
        }
        for (position, entry) in self.entries.iter().enumerate() {
            let EntryKind::User(user) = &entry.kind else {
                continue;
            };
            if self.graph.is_duplicate[position] {
                continue;
            }
            if let Some(caller) = user.tool_results.iter().find_map(|(tool, _)| caller.get(tool)) {
                self.responses[*caller].results.push(position);
            }
        }
        for index in 0..self.responses.len() {
            self.recover_results_before(index);
        }
    }

    fn recover_results_before(&mut self, index: usize) {
        let built = &self.responses[index];
        let Some(predecessor) = built.response.predecessor else {
            return;
        };
        let results = &self.responses[predecessor].results;
        if results.len() <= built.response.between.tool_result_messages as usize
            || results.len() > LONGEST_STEP
        {
            return;
        }
        let step = self.step_to(built.first);
        let answered: FxHashSet<EntryId> =
            step.into_iter().flat_map(|entry| self.answered_by(entry)).collect();
        let missing: Vec<usize> = results
            .iter()
            .copied()
            .filter(|result| self.answered_by(*result).all(|tool| !answered.contains(&tool)))
            .filter(|result| is_not_later(self.entries[*result].timestamp, built))
            .collect();
        let built = &mut self.responses[index];
        for result in missing {
            built.response.between.add_recovered(
                &self.entries[result],
                &mut self.trail,
                &self.tools,
            );
            built.response.recovered_results += 1;
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
    let goes_on = before.response == Some(response);
    Between { trail: before.between.trail.filter(|_| goes_on), ..Between::default() }
}

fn is_not_later(time: Option<Millis>, built: &BuiltResponse) -> bool {
    match (time, built.response.lines.first_timestamp) {
        (Some(time), Some(answer)) => time <= answer,
        _ => true,
    }
}

fn begin_response(
    key: ResponseKey,
    line: &crate::transcript::ResponseLine,
    entry: &Entry,
) -> FileResponse {
    FileResponse {
        key,
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

/// Names the agents of side conversations whose lines do not: by the file, else by the root.
fn name_sidechains(responses: &mut [BuiltResponse], transcript: &mut Transcript, states: &[State]) {
    let Transcript { entries, symbols, stem, .. } = transcript;
    for built in responses {
        let response = &mut built.response;
        if response.agent.is_some() || !response.is_sidechain {
            continue;
        }
        response.agent = Some(if let Some(agent) = stem.strip_prefix("agent-") {
            symbols.intern(agent)
        } else {
            let root = &entries[states[built.first].root];
            let name = match root.sidechain_root {
                Some(uuid) => format!("sidechain:{}", symbols.text(uuid)),
                None => format!("sidechain:line-{}", root.line),
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
