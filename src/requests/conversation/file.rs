//! Responses of one file, each with its predecessor and the entries between.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::fold::Fold;
use super::gathered::Beginning;
use super::graph::nested_responses;
use super::results::Results;
use super::{
    Between, Gathered, Graph, Interruptions, ResponseKey, ResponseLines, Trail, live_responses,
};
use crate::base::{EntryId, Ordinal, Symbol, Symbols, TextSize, has_symbols};
use crate::read::input::{Diagnostics, Expected};
use crate::read::transcript::{
    AgentNote, CostState, Entry, EntryKind, Novelty, ResponseLine, Sign, Title, Transcript,
};

/// Number of responses within which the next one of a conversation is looked for, as hostile files may have
/// any number in between.
const NEAR: usize = 1_000;

/// Response as one file shows it.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools)] // independent facts, not states of one machine
pub struct FileResponse {
    /// Key of the response.
    pub key: ResponseKey,
    /// Index of its file in the run, once the files are put together.
    pub file: usize,
    /// Content of its lines.
    pub lines: ResponseLines,
    /// `uuid` of the first line.
    pub first_entry: Option<EntryId>,
    /// `sessionId` of the first line.
    pub session: Option<Symbol>,
    /// Sub-agent of the response; `None` on the main chain.
    pub agent: Option<Symbol>,
    /// True if it is part of a side conversation.
    pub is_sidechain: bool,
    /// True if its line is marked as copied from another session.
    pub is_forked: bool,
    /// Version of the client that wrote it.
    pub client_version: Option<Symbol>,
    /// Folder of the project.
    pub project: Option<Symbol>,
    /// Branch of the project's repository.
    pub branch: Option<Symbol>,
    /// Agent whose system prompt was set for the session.
    pub agent_setting: Option<Symbol>,
    /// Response before this one in the file.
    pub predecessor: Option<Ordinal>,
    /// Entry that the chain continues and this file does not have.
    pub continues: Option<EntryId>,
    /// True if something is missing there, unless another file has it.
    pub has_gap: bool,
    /// True for the first response of a fork, which `continues` its parent's conversation.
    pub is_fork: bool,
    /// Entries between it and its predecessor.
    pub between: Between,
    /// Number of tool results that were found beside the linear path.
    pub recovered_results: u32,
    /// True if it is on the branch with which the file ends, across its compactions.
    pub is_live: bool,
    /// True if lines of it may be missing, as the file ends in damage.
    pub is_cut: bool,
    /// True if it occurs only inside a progress line.
    pub is_nested: bool,
}

/// Responses of one file.
#[derive(Debug)]
pub struct FileConversation {
    /// Name of the file.
    pub label: Arc<str>,
    /// Name of the file without folders and extensions.
    pub stem: String,
    /// Responses in the order of their first lines; those inside progress lines come last.
    pub responses: Vec<FileResponse>,
    /// Response at or before each entry, with the interruptions between, for files that continue this one.
    pub index: Vec<(EntryId, u32, Interruptions)>,
    /// Messages that have lines of their own but are not requests.
    pub other_messages: Vec<Symbol>,
    /// `requestId` → the model that refused it first.
    pub refusals: Vec<(Symbol, Symbol)>,
    /// Results that were sent as previews, each with the line that says so; in a fork's file only those of
    /// its parent.
    pub replaced: Vec<(EntryId, u64)>,
    /// Entries between responses.
    pub trail: Trail,
    /// Notes on the types of sub-agents, in file order.
    pub agent_notes: Vec<AgentNote>,
    /// Counts of the client, in file order.
    pub cost_states: Vec<CostState>,
    /// Unknown names in its lines.
    pub novelties: Vec<Novelty>,
    /// Titles of sessions, in file order, if they are kept.
    pub titles: Vec<Title>,
    /// Session of each entry, if titles are kept.
    pub entry_sessions: Vec<(EntryId, Symbol)>,
    /// Strings named here.
    pub symbols: Symbols,
    /// Rejected or repaired lines.
    pub diagnostics: Diagnostics,
    /// Bytes read.
    pub bytes: u64,
    /// Lines read.
    pub lines: u64,
}

has_symbols!(FileResponse {
    key, lines, session, agent, client_version, project, branch, agent_setting
} beside {
    file, first_entry, is_sidechain, is_forked, predecessor, continues, has_gap, is_fork, between,
    recovered_results, is_live, is_cut, is_nested
});
has_symbols!(FileConversation {
    responses, other_messages, refusals, trail, agent_notes, cost_states, novelties,
    entry_sessions
} beside {
    label, stem, index, replaced, titles, symbols, diagnostics, bytes, lines
});

/// Builds the conversation of one file.
pub fn build(mut transcript: Transcript) -> FileConversation {
    let mut builder = FileBuilder::new(true, false);
    let mut response_lines = std::mem::take(&mut transcript.response_lines);
    builder.add(&transcript.entries, &mut response_lines, &transcript.label);
    builder.finish(&mut transcript)
}

/// Conversation of one file while its entries are read, in memory that the next file uses again.
#[derive(Debug)]
pub(super) struct FileBuilder {
    gathered: Gathered,
    graph: Graph,
    fold: Fold,
    keeps_trail: bool,
    /// True if no other file continues this one.
    is_alone: bool,
}

impl FileBuilder {
    /// Creates an empty builder. The trail between requests is kept if `keeps_trail` is set.
    pub(super) fn new(keeps_trail: bool, is_alone: bool) -> Self {
        Self {
            is_alone,
            gathered: Gathered::default(),
            graph: Graph::default(),
            fold: Fold::new(Trail::new(keeps_trail)),
            keeps_trail,
        }
    }

    /// Adds the new ones of `entries`, with the content of the lines of responses among them.
    pub(super) fn add(
        &mut self,
        entries: &[Entry],
        lines: &mut Vec<ResponseLine>,
        file: &Arc<str>,
    ) {
        let mut lines = lines.drain(..);
        for position in self.graph.links.len()..entries.len() {
            let entry = &entries[position];
            let is_line = matches!(entry.kind, EntryKind::Response);
            let line = if is_line { lines.next() } else { None };
            self.gathered.add(entry, line, file);
            self.graph.add(&entries[..=position], &self.gathered);
            // Folding while lines are read saves a second pass; if a later line changes the past, `settle`
            // folds all again.
            if self.folds_early() {
                self.fold.add(entries, &self.graph, &mut self.gathered);
            }
        }
    }

    /// Makes room for all entries, estimated from the number of the first ones, before these are added.
    pub(super) fn make_room(&mut self, expected: Expected, first: usize) {
        if self.graph.links.is_empty()
            && let Some(entries) = expected.of_first(first)
        {
            self.gathered.expect(entries);
            self.graph.links.reserve_exact(entries);
            self.fold.expect(entries);
        }
    }

    /// Returns true if the state at an entry will not be changed by a later one, by the entries until now.
    fn folds_early(&self) -> bool {
        !self.gathered.changes_the_past(self.keeps_trail)
    }

    /// Finishes the conversation after all entries of the transcript are added, and empties the builder.
    pub(super) fn finish(&mut self, transcript: &mut Transcript) -> FileConversation {
        // Entries of a file of another program are given up.
        if transcript.entries.is_empty() {
            self.clear();
        }
        let replaced = replaced_results(&transcript.entries, &self.gathered);
        self.settle(transcript);
        let Self { gathered, graph, fold, keeps_trail, is_alone } = self;
        name_sidechains(gathered, fold, transcript);
        begin_forks(gathered);
        let entries = &transcript.entries;
        let continues = |response: &FileResponse| response.continues.is_some();
        let may_go_on = gathered.has_nested || gathered.responses.iter().any(continues);
        let is_continued = !*is_alone || may_go_on;
        let index = if is_continued { fold.index(entries) } else { Vec::new() };
        fold.forget_states();
        let (live, results) = rayon::join(
            || live_responses(entries, graph, gathered),
            || Results::of(entries, gathered),
        );
        if let Some(last) = gathered.responses.last_mut().filter(|_| transcript.is_cut) {
            last.is_cut = true;
        }
        for live in live {
            gathered.responses[live].is_live = true;
        }
        results.recover(entries, graph, gathered, &mut fold.trail);
        results.find_dropped_answers(gathered);
        if gathered.has_nested {
            let nested = nested_responses(entries, graph, &mut fold.trail, &mut gathered.calls);
            let own = gathered.responses.len();
            gathered.responses.extend(nested.into_iter().map(|mut nested| {
                nested.predecessor = nested.predecessor.map(|one| one.after(own));
                nested
            }));
        }
        fold.trail.snapshots = std::mem::take(&mut transcript.snapshots);
        let conversation = FileConversation {
            label: Arc::clone(&transcript.label),
            stem: std::mem::take(&mut transcript.stem),
            responses: std::mem::take(&mut gathered.responses),
            index,
            other_messages: std::mem::take(&mut gathered.other_messages),
            refusals: std::mem::take(&mut gathered.refusals),
            replaced,
            trail: std::mem::replace(&mut fold.trail, Trail::new(*keeps_trail)),
            agent_notes: std::mem::take(&mut transcript.agent_notes),
            cost_states: std::mem::take(&mut transcript.cost_states),
            novelties: std::mem::take(&mut transcript.novelties),
            entry_sessions: transcript.titles.iter().flat_map(|_| sessions(entries)).collect(),
            titles: transcript.titles.take().unwrap_or_default(),
            symbols: std::mem::take(&mut transcript.symbols),
            diagnostics: std::mem::take(&mut transcript.diagnostics),
            bytes: transcript.bytes,
            lines: transcript.lines,
        };
        self.clear();
        conversation
    }

    /// Links and folds the entries that had to wait for all others.
    fn settle(&mut self, transcript: &mut Transcript) {
        let folds_early = self.folds_early();
        let Self { gathered, graph, fold, keeps_trail, .. } = self;
        gathered.expect_no_more();
        let Transcript { entries, label, diagnostics, .. } = transcript;
        diagnostics.absorb(std::mem::take(&mut gathered.diagnostics));
        if gathered.has_replacements {
            apply_content_replacements(entries, gathered);
        }
        if *keeps_trail {
            gathered.find_changed_results(entries);
        }
        let is_settled = graph.finish(entries, gathered, label, diagnostics);
        if !(is_settled && folds_early) {
            fold.add_all(entries, graph, gathered);
        }
    }

    fn clear(&mut self) {
        self.gathered.clear();
        self.graph.clear();
        self.fold.clear();
    }
}

fn sessions(entries: &[Entry]) -> impl Iterator<Item = (EntryId, Symbol)> {
    entries.iter().filter_map(|entry| Some((entry.id?, entry.session?)))
}

/// Results that were sent as previews.
fn replaced_results(entries: &[Entry], gathered: &Gathered) -> Vec<(EntryId, u64)> {
    if !gathered.has_replacements {
        return Vec::new();
    }
    // A fork's file names results of its own as well; only its parent's are wanted there.
    let own = |entry: &Entry| match &entry.kind {
        EntryKind::User(user) if !gathered.fork_contexts.is_empty() => user.tool_results.clone(),
        _ => SmallVec::new(),
    };
    let own: FxHashSet<EntryId> = entries.iter().flat_map(own).map(|(tool, _)| tool).collect();
    let replaced = entries.iter().flat_map(|entry| match &entry.kind {
        EntryKind::ContentReplacement(replacements) => {
            replacements.iter().map(|(tool, _)| (*tool, entry.line)).collect()
        }
        _ => Vec::new(),
    });
    replaced.filter(|(tool, _)| !own.contains(tool)).collect()
}

/// Gives results that were sent as previews the preview's size.
///
/// A result that had been sent in full before the client replaced it stays named in the line that says so.
fn apply_content_replacements(entries: &mut [Entry], gathered: &Gathered) {
    let sent = first_sent(entries, gathered);
    let mut known: FxHashSet<EntryId> = FxHashSet::default();
    let mut replacements: FxHashMap<EntryId, TextSize> = FxHashMap::default();
    for (position, entry) in entries.iter_mut().enumerate() {
        let EntryKind::ContentReplacement(replaced) = &mut entry.kind else { continue };
        // A resumed session names them once more.
        replaced.retain(|(call, _)| known.insert(*call));
        let is_late = |call: &EntryId| sent.get(call).is_some_and(|sent| *sent < position);
        replacements.extend(replaced.iter().filter(|(call, _)| !is_late(call)).copied());
        replaced.retain(|(call, _)| is_late(call));
        if replaced.is_empty() {
            entry.signs.remove(Sign::ResultsReplaced);
        }
    }
    for entry in entries {
        let EntryKind::User(user) = &mut entry.kind else {
            continue;
        };
        for (tool, size) in &mut user.tool_results {
            if let Some(preview) = replacements.get(tool) {
                let bytes = user.size.bytes().saturating_sub(size.bytes()) + preview.bytes();
                user.size = user.size.with_bytes(bytes);
                *size = *preview;
            }
        }
    }
}

/// First response that follows each of the replaced results, by its entry.
fn first_sent(entries: &[Entry], gathered: &Gathered) -> FxHashMap<EntryId, usize> {
    let mut sent: FxHashMap<EntryId, usize> = FxHashMap::default();
    for (position, entry) in entries.iter().enumerate() {
        let EntryKind::User(user) = &entry.kind else { continue };
        for (call, _) in &user.tool_results {
            if !gathered.changed_results.contains_key(call) || sent.contains_key(call) {
                continue;
            }
            let next = gathered.beginnings.partition_point(|one| one.first() <= position);
            let side = (entry.is_sidechain, entry.agent);
            let near = gathered.beginnings[next..].iter().take(NEAR);
            let mut behind = near.map(Beginning::first);
            let is_of_side =
                |first: &usize| (entries[*first].is_sidechain, entries[*first].agent) == side;
            sent.extend(behind.find(is_of_side).map(|first| (*call, first)));
        }
    }
    sent
}

/// Lets the first response of each fork continue its parent's conversation.
fn begin_forks(gathered: &mut Gathered) {
    for (agent, up_to) in &gathered.fork_contexts {
        let is_of_fork = |response: &&mut FileResponse| {
            response.predecessor.is_none()
                && agent.is_none_or(|agent| response.agent == Some(agent))
        };
        for response in gathered.responses.iter_mut().filter(is_of_fork) {
            response.continues = Some(*up_to);
            response.has_gap = true;
            response.is_fork = true;
        }
    }
}

/// Names the agents of side conversations whose lines do not: by the file, otherwise by the root.
fn name_sidechains(gathered: &mut Gathered, fold: &Fold, transcript: &mut Transcript) {
    let Transcript { entries, symbols, stem, .. } = transcript;
    let of_file = stem.strip_prefix("agent-").map(|agent| symbols.intern(agent));
    let mut of_roots: FxHashMap<usize, Symbol> = FxHashMap::default();
    for (response, beginning) in gathered.responses.iter_mut().zip(&gathered.beginnings) {
        if response.agent.is_some() || !response.is_sidechain {
            continue;
        }
        response.agent = of_file.or_else(|| {
            let root = fold.root_of(beginning.entry());
            let name = || {
                let name = sidechain_name(&entries[root], symbols);
                symbols.intern(&name)
            };
            Some(*of_roots.entry(root).or_insert_with(name))
        });
    }
}

fn sidechain_name(root: &Entry, symbols: &Symbols) -> String {
    match (root.unusual_uuid, root.id) {
        (Some(uuid), _) => format!("sidechain:{}", symbols.text(uuid)),
        (None, Some(id)) => format!("sidechain:{}", id.uuid()),
        (None, None) => format!("sidechain:line-{}", root.line),
    }
}
