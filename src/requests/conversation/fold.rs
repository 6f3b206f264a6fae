//! State at each entry of a file: the request at or before it, and the entries between the two.

use super::gathered::{Beginning, MOST_KEPT};
use super::rewrite::{Known, Rewrite};
use super::{Between, FileResponse, Gathered, Graph, Interruptions, Trail, TrailIndex};
use crate::base::{EntryId, Millis, Ordinal};
use crate::read::transcript::{Entry, EntryKind};

/// Most entries beside the chain that are looked at before a response, as hostile files may have any number.
const MOST_BESIDE: usize = 64;

/// Most lines of hooks that hang off each other at a call.
const MOST_HOOKS: usize = 32;

/// State at an entry, from everything before it.
#[derive(Clone, Debug, Default)]
struct State {
    between: Between,
    continues: Option<EntryId>,
    response: Option<Ordinal>,
    root: u32,
    has_gap: bool,
}

/// State in compact form: most have nothing between, or the same as the one before.
#[derive(Clone, Copy, Debug, Default)]
struct KeptState {
    /// Entry that the chain continues, in [`Fold::continued`].
    continues: Option<Ordinal>,
    /// Summary of the entries between, in [`Fold::betweens`] and without its trail; `None` if it is empty.
    between: Option<Ordinal>,
    trail: Option<TrailIndex>,
    response: Option<Ordinal>,
    root: u32,
    has_gap: bool,
}

/// Place of a value in a list that has it once for all neighbours that share it.
fn shared<T: PartialEq>(list: &mut Vec<T>, value: T) -> Ordinal {
    if list.last() != Some(&value) {
        list.push(value);
    }
    Ordinal::at(list.len() - 1)
}

/// States of a file's entries, each made from that of its parent, so that every entry is looked at once
/// whatever the shape of the tree.
#[derive(Debug)]
pub(super) struct Fold {
    states: Vec<KeptState>,
    betweens: Vec<Between>,
    /// Entries of other files that chains continue.
    continued: Vec<EntryId>,
    /// Entries between requests.
    pub(super) trail: Trail,
}

impl Fold {
    /// Creates the fold without states.
    pub(super) fn new(trail: Trail) -> Self {
        Self { states: Vec::new(), betweens: Vec::new(), continued: Vec::new(), trail }
    }

    /// Clears the states.
    pub(super) fn clear(&mut self) {
        self.states.clear();
        self.betweens.clear();
        self.continued.clear();
    }

    /// Frees the memory of the states, if it is large.
    pub(super) fn forget_states(&mut self) {
        if self.states.len() > MOST_KEPT {
            self.states = Vec::new();
            self.betweens = Vec::new();
        }
    }

    /// Makes room for this number of entries.
    pub(super) fn expect(&mut self, entries: usize) {
        self.states.reserve_exact(entries);
    }

    /// Adds the next entry, whose parent comes before it, and places the response that it begins.
    pub(super) fn add(&mut self, entries: &[Entry], graph: &Graph, gathered: &mut Gathered) {
        let position = self.states.len();
        let state = self.state_at(position, entries, graph, gathered);
        let state = self.keep(state);
        self.states.push(state);
    }

    /// Folds all entries again, discarding the earlier states.
    pub(super) fn add_all(&mut self, entries: &[Entry], graph: &Graph, gathered: &mut Gathered) {
        gathered.forget_places();
        self.clear();
        self.trail = Trail::new(self.trail.is_kept());
        self.states.resize(entries.len(), KeptState::default());
        for position in graph.order() {
            let state = self.state_at(position, entries, graph, gathered);
            self.states[position] = self.keep(state);
        }
    }

    fn keep(&mut self, state: State) -> KeptState {
        let State { mut between, continues, response, root, has_gap } = state;
        // The trail differs at nearly every entry; without it, neighbours have the same summary and share it.
        let trail = between.trail.take();
        let between = (between != Between::default()).then(|| shared(&mut self.betweens, between));
        let continues = continues.map(|entry| shared(&mut self.continued, entry));
        KeptState { continues, between, trail, response, root, has_gap }
    }

    fn kept(&self, position: usize) -> State {
        let KeptState { continues, between, trail, response, root, has_gap } =
            self.states[position];
        let continues = continues.map(|place| self.continued[place.index()]);
        let between = Between { trail, ..self.between_at(between) };
        State { between, continues, response, root, has_gap }
    }

    fn between_at(&self, place: Option<Ordinal>) -> Between {
        place.map_or_else(Between::default, |place| self.betweens[place.index()].clone())
    }

    fn state_at(
        &mut self,
        position: usize,
        entries: &[Entry],
        graph: &Graph,
        gathered: &mut Gathered,
    ) -> State {
        let before = self.state_before(position, entries, graph);
        if let Some(response) = gathered.response_of(position) {
            let before = before.clone();
            let mut before = self.with_entries_beside(before, position, entries, graph, gathered);
            before.between.has_tool_hook |=
                before.has_hook_beside(&entries[position], entries, graph, gathered);
            let beginning = &mut gathered.beginnings[response];
            before.place(response, position, beginning, &mut gathered.responses[response]);
        }
        if let Some(response) = gathered.request_of(position) {
            let between = after_line(response, &before);
            let response = Some(Ordinal::at(response));
            return State { response, between, root: before.root, ..State::default() };
        }
        let mut state = before;
        self.add_entry(&mut state.between, position, entries, graph, gathered);
        // An answer without usage was a request whose writes are not known.
        state.between.has_hole |= gathered.response_of(position).is_some();
        state
    }

    /// Adds an entry to the summary between two requests, with its rewrite of the earlier prompt.
    fn add_entry(
        &mut self,
        between: &mut Between,
        position: usize,
        entries: &[Entry],
        graph: &Graph,
        gathered: &Gathered,
    ) {
        between.add(&entries[position], &mut self.trail, &gathered.calls);
        let states = &self.states;
        let response_at = |entry: usize| Some(states.get(entry)?.response?.number());
        let known = Known { entries, graph, gathered, response_at };
        let rewrite = known.rewrite_by(position);
        if rewrite != Rewrite::None {
            between.rewrite = between.rewrite.and(rewrite);
            if self.trail.is_kept() {
                self.trail.name_lines(&known.lines_named_by(position));
            }
        }
    }

    /// State before a response, with the entries beside the chain that were written since the one before it,
    /// of the main conversation or of the response's own sub-agent.
    fn with_entries_beside(
        &mut self,
        mut before: State,
        position: usize,
        entries: &[Entry],
        graph: &Graph,
        gathered: &Gathered,
    ) -> State {
        let beside = &gathered.beside;
        let Some(previous) = before.response.filter(|_| !beside.is_empty()) else { return before };
        let after = gathered.beginnings[previous.index()].entry();
        let first = beside.partition_point(|entry| *entry <= after);
        let behind = beside.partition_point(|entry| *entry < position);
        let own = &entries[position];
        let new = beside.get(first..behind).unwrap_or_default();
        let has_compaction = before.between.has_compaction;
        let boundary =
            has_compaction.then(|| gathered.boundary_before(own.agent, position)).flatten();
        if new.len() > MOST_BESIDE {
            before.between.rewrite = Rewrite::Unplaced;
        }
        // The latest entries, oldest first.
        for entry in new.iter().rev().take(MOST_BESIDE).rev() {
            let is_main = entries[*entry].agent.is_some() || !own.is_sidechain;
            let is_void =
                matches!(entries[*entry].kind, EntryKind::Collapse(_)) && boundary > Some(*entry);
            if entries[*entry].agent == own.agent && is_main && !is_void {
                self.add_entry(&mut before.between, *entry, entries, graph, gathered);
            }
        }
        before
    }

    fn state_before(&self, position: usize, entries: &[Entry], graph: &Graph) -> State {
        let link = graph.links[position];
        let mut state = match link.parent() {
            // A side conversation starts without a history, wherever in the main chain it hangs.
            Some(parent) if entries[position].is_sidechain && !entries[parent].is_sidechain => {
                State::at_root(position)
            }
            Some(parent) => self.kept(parent),
            None => State::at_root(position),
        };
        // A sub-agent's first line names the call that started it, which is no earlier part of its own
        // conversation.
        if entries[position].is_sidechain {
            state.between.has_hole |= link.missing.is_some() && link.parent().is_some();
        } else if link.missing.is_some() {
            state.continues = link.missing;
            // A summary replaces the conversation before it, whether or not that is still there.
            state.has_gap = !matches!(entries[position].kind, EntryKind::CompactBoundary(_));
        }
        state
    }

    /// Root of the tree that an entry is in.
    pub(super) fn root_of(&self, position: usize) -> usize {
        self.states[position].root as usize
    }

    /// Response at or before each entry, with the interruptions between, for files that continue this one.
    pub(super) fn index(&self, entries: &[Entry]) -> Vec<(EntryId, u32, Interruptions)> {
        let known = entries.iter().zip(&self.states).filter_map(|(entry, state)| {
            let response = state.response?.number();
            let between = self.between_at(state.between);
            Some((entry.id?, response, between.interruptions(state.has_gap)))
        });
        // Nearly every entry has one.
        let mut index = Vec::with_capacity(entries.len());
        index.extend(known);
        index
    }
}

impl State {
    /// # Panics
    /// Never in practice: a file would need 2³² lines.
    fn at_root(position: usize) -> Self {
        let root = u32::try_from(position).expect("fewer than 2^32 lines");
        Self { root, ..Self::default() }
    }

    /// Returns true if a hook gave context beside the chain, at a call of the response before, until this
    /// entry was written.
    fn has_hook_beside(
        &self,
        own: &Entry,
        entries: &[Entry],
        graph: &Graph,
        gathered: &Gathered,
    ) -> bool {
        let Some(previous) = self.response.map(Ordinal::index) else { return false };
        let called = entries[gathered.beginnings[previous].entry()].timestamp;
        if called > own.timestamp {
            return false;
        }
        let hooks = gathered.tool_hooks.range((called, 0)..=(own.timestamp, usize::MAX));
        let parent = |entry: &usize| graph.links[*entry].parent();
        let is_of_previous = |(_, hook): &(Option<Millis>, usize)| {
            let path = std::iter::successors(parent(hook), parent).take(MOST_HOOKS);
            let responses = path.map(|entry| gathered.response_of(entry));
            responses.flatten().next() == Some(previous)
        };
        hooks.take(MOST_BESIDE).any(is_of_previous)
    }

    /// Gives a response its predecessor, at the first of its lines that hangs off something else.
    fn place(
        &self,
        response: usize,
        position: usize,
        beginning: &mut Beginning,
        placed: &mut FileResponse,
    ) {
        if beginning.placed.is_some() || self.response == Some(Ordinal::at(response)) {
            return;
        }
        beginning.placed = Some(Ordinal::at(position));
        placed.predecessor = self.response;
        placed.continues = self.continues;
        placed.has_gap = self.has_gap;
        placed.between = self.between.clone();
    }
}

/// Summary after a line of a response: empty, except for the trail since its first line.
fn after_line(response: usize, before: &State) -> Between {
    let continues = before.response == Some(Ordinal::at(response));
    Between { trail: before.between.trail.filter(|_| continues), ..Between::default() }
}
