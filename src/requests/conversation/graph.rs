//! Graph of entries linked to their parents: over old progress lines, across compact boundaries, around
//! damage.
//!
//! Also responses that occur only inside progress lines: sub-agents whose own file is missing.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::between::{Call, Calls};
use super::gathered::begin_response;
use super::{Between, FileResponse, Gathered, ResponseKey, Trail, is_message};
use crate::base::{EntryId, Ordinal, Symbol, Tokens};
use crate::read::input::{Diagnostics, Kind};
use crate::read::transcript::{Entry, EntryKind, NestedContent};

/// Link of an entry to its parent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Link {
    /// Entry before this one, in the same file.
    parent: Option<Ordinal>,
    /// Named parent that this file does not have. `parent` is then the entry on the line before, as the best
    /// guess.
    pub(super) missing: Option<EntryId>,
}

impl Link {
    fn to(parent: Option<usize>) -> Self {
        Self { parent: parent.map(Ordinal::at), missing: None }
    }

    /// Entry before this one, in the same file.
    pub(super) fn parent(&self) -> Option<usize> {
        self.parent.map(Ordinal::index)
    }
}

/// Parents of a file's entries.
#[derive(Debug, Default)]
pub(super) struct Graph {
    /// One link for each entry.
    pub(super) links: Vec<Link>,
    latest: Latest,
    /// Entries that name a parent which is on no line before them.
    unlinked: Vec<usize>,
    /// True if a message names a progress line as its parent.
    has_behind_progress: bool,
    /// Entries in an order with parents first, if that is not the file's.
    order: Option<Vec<usize>>,
}

impl Graph {
    /// Links the last of `entries`. An entry whose named parent is not there yet continues the line before it
    /// until all are there.
    pub(super) fn add(&mut self, entries: &[Entry], gathered: &Gathered) {
        let position = self.links.len();
        let entry = &entries[position];
        if gathered.is_duplicate[position] || !is_in_chain(entry) {
            self.links.push(Link::default());
            return;
        }
        let before = self.latest.replace((entry.is_sidechain, entry.agent), position);
        let link = link_of(position, before, entries, &gathered.positions);
        if link.missing.is_some() {
            self.unlinked.push(position);
        }
        let is_progress = |parent: usize| matches!(entries[parent].kind, EntryKind::Progress(_));
        self.has_behind_progress |= is_message(entry) && link.parent().is_some_and(is_progress);
        self.links.push(link);
    }

    /// Links entries that name a parent on a later line, when all are there, and reports the repairs. Returns
    /// true if no link changed.
    pub(super) fn finish(
        &mut self,
        entries: &[Entry],
        gathered: &Gathered,
        file: &Arc<str>,
        diagnostics: &mut Diagnostics,
    ) -> bool {
        let mut is_changed = false;
        for position in std::mem::take(&mut self.unlinked) {
            let link = &mut self.links[position];
            let named = link.missing.and_then(|named| gathered.positions.get(&named));
            if let Some(later) = named {
                *link = Link::to(Some(*later));
                is_changed = true;
            } else if link.parent.is_some() {
                let detail = "continued at the line before it, unless another file has it";
                diagnostics.add(Kind::DanglingParent, file, entries[position].line, detail);
            }
        }
        // Only a link to a later line can close a circle, or break the order of the file.
        if is_changed {
            self.order = Some(parents_first(entries, &mut self.links, file, diagnostics));
        }
        let follows_reads = self.has_behind_progress && self.follow_reads(entries, gathered);
        // The newest message may be behind the one that is to continue it.
        if is_changed && follows_reads {
            self.order = Some(parents_first(entries, &mut self.links, file, diagnostics));
        }
        !is_changed && !follows_reads
    }

    /// Lets messages behind progress lines continue the newest message instead of the one that these lines hang
    /// off, if the next answer read what was left there. Returns true if a link changed.
    ///
    /// (A client wrote the progress lines of several calls one behind the other when a turn was over.)
    fn follow_reads(&mut self, entries: &[Entry], gathered: &Gathered) -> bool {
        let mut is_changed = false;
        // For each progress line, the message before it.
        let mut before: FxHashMap<usize, usize> = FxHashMap::default();
        let mut newest: Option<usize> = None;
        let mut waiting: Option<Detour> = None;
        for (position, entry) in entries.iter().enumerate().take(self.links.len()) {
            let parent = self.links[position].parent().filter(|_| !gathered.is_duplicate[position]);
            if let (EntryKind::Progress(_), Some(parent)) = (&entry.kind, parent) {
                before.insert(position, before.get(&parent).copied().unwrap_or(parent));
            }
            if !is_message(entry) || gathered.is_duplicate[position] {
                continue;
            }
            if let Some(response) = gathered.request_of(position)
                && let Some(detour) = waiting.take_if(|one| one.left_at_newest != response)
                && detour.is_contradicted_by(response, gathered)
            {
                self.links[detour.message] = Link::to(Some(detour.newest));
                is_changed = true;
            }
            let named = parent.and_then(|parent| before.get(&parent).copied());
            let other = named.zip(newest).filter(|(named, newest)| named != newest);
            if let Some((named, newest)) = other {
                let of = |entry| self.request_before(entry, gathered);
                waiting = of(named).zip(of(newest)).map(|(left_at_named, left_at_newest)| Detour {
                    message: position,
                    newest,
                    left_at_named,
                    left_at_newest,
                });
            }
            newest = Some(position);
        }
        is_changed
    }

    /// Request that an entry is a line of or comes after.
    fn request_before(&self, entry: usize, gathered: &Gathered) -> Option<usize> {
        let parent = |entry: &usize| self.links[*entry].parent();
        let mut path = std::iter::successors(Some(entry), parent).take(LONGEST_WALK);
        path.find_map(|entry| gathered.request_of(entry))
    }

    /// Clears everything but the allocated memory.
    pub(super) fn clear(&mut self) {
        self.links.clear();
        self.latest = Latest::default();
        self.unlinked.clear();
        self.has_behind_progress = false;
        self.order = None;
    }

    /// Entries in an order with parents first.
    pub(super) fn order(&self) -> impl Iterator<Item = usize> {
        let at = |index| self.order.as_ref().map_or(index, |order| order[index]);
        (0..self.links.len()).map(at)
    }
}

/// Most entries between a message and the answer before it.
const LONGEST_WALK: usize = 1_000;

/// Message that progress lines lead back to another place than the newest message.
struct Detour {
    message: usize,
    newest: usize,
    /// Request at the place that the progress lines hang off, and the one at the newest message.
    left_at_named: usize,
    left_at_newest: usize,
}

impl Detour {
    /// Returns true if a request read what was left at the newest message, and not what was left elsewhere.
    fn is_contradicted_by(&self, request: usize, gathered: &Gathered) -> bool {
        let prompt = |request: usize| gathered.responses[request].lines.usage.as_ref().ok();
        let end = |request| prompt(request).map(|usage| usage.prompt.cached_end());
        let (Some(named), Some(newest)) = (end(self.left_at_named), end(self.left_at_newest))
        else {
            return false;
        };
        let is_at = |end: Tokens| {
            prompt(request).is_some_and(|usage| usage.prompt.read.abs_diff(end) <= SAME_END)
        };
        is_at(newest) && !is_at(named)
    }
}

/// Tokens by which a read may differ from the end that was left: a message is rendered in a few more or fewer.
const SAME_END: Tokens = Tokens(50);

/// Conversation within a file: true for a side conversation, and its agent.
type Side = (bool, Option<Symbol>);

/// Latest entry of each side. Entries of one side mostly follow each other.
#[derive(Debug, Default)]
struct Latest {
    current: Option<(Side, usize)>,
    others: FxHashMap<Side, usize>,
}

impl Latest {
    /// Latest entry of a side, which is then replaced by the one at `position`.
    fn replace(&mut self, side: Side, position: usize) -> Option<usize> {
        match self.current.replace((side, position)) {
            Some((same, before)) if same == side => Some(before),
            Some((other, before)) => {
                self.others.insert(other, before);
                self.others.get(&side).copied()
            }
            None => None,
        }
    }
}

/// Returns true if other entries may hang off this one.
fn is_in_chain(entry: &Entry) -> bool {
    !matches!(
        entry.kind,
        EntryKind::LastPrompt { .. }
            | EntryKind::ForkContext { .. }
            | EntryKind::ContentReplacement(_)
            | EntryKind::Collapse(_)
            | EntryKind::AgentSetting(_)
    )
}

fn link_of(
    position: usize,
    before: Option<usize>,
    entries: &[Entry],
    positions: &FxHashMap<EntryId, usize>,
) -> Link {
    let entry = &entries[position];
    let is_boundary = matches!(entry.kind, EntryKind::CompactBoundary(_));
    let named = if is_boundary { entry.parent.or(entry.logical_parent) } else { entry.parent };
    let Some(named) = named else {
        // A boundary continues something even if it does not name it.
        return Link::to(before.filter(|_| is_boundary));
    };
    // Nearly always the entry before.
    let is_before = before.is_some_and(|before| entries[before].id == Some(named));
    let parent = if is_before { before } else { positions.get(&named).copied() };
    match parent.filter(|parent| *parent < position) {
        Some(parent) => Link::to(Some(parent)),
        None => Link { missing: Some(named), ..Link::to(before) },
    }
}

/// Orders entries so that each comes after its parent (iterative DFS), and cuts circles at the entry that
/// closes them.
fn parents_first(
    entries: &[Entry],
    links: &mut [Link],
    file: &Arc<str>,
    diagnostics: &mut Diagnostics,
) -> Vec<usize> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut states = vec![State::New; entries.len()];
    let mut order = Vec::with_capacity(entries.len());
    let mut path = Vec::new();
    // A stack on the heap, as chains may have as many links as the file has lines.
    for start in 0..entries.len() {
        let mut position = start;
        while states[position] == State::New {
            states[position] = State::Open;
            path.push(position);
            let Some(parent) = links[position].parent() else {
                break;
            };
            if states[parent] == State::Open {
                links[position].parent = None;
                let how = if parent == position {
                    "names itself as parent"
                } else {
                    "comes back to itself through its parents"
                };
                let detail = format!("the line {how}; read as the start of a new chain");
                diagnostics.add(Kind::ParentCycle, file, entries[position].line, detail);
                break;
            }
            position = parent;
        }
        while let Some(position) = path.pop() {
            states[position] = State::Done;
            order.push(position);
        }
    }
    order
}

#[derive(Default)]
struct Agent {
    latest: Option<Ordinal>,
    between: Between,
}

/// Nested responses of a file in the order of their first lines.
///
/// Only when all files are read is it known if one has a line of its own elsewhere.
///
/// `predecessor` counts within this list.
pub(super) fn nested_responses(
    entries: &[Entry],
    graph: &Graph,
    trail: &mut Trail,
    calls: &mut Calls,
) -> Vec<FileResponse> {
    let mut responses: Vec<FileResponse> = Vec::new();
    let mut by_key: FxHashMap<ResponseKey, usize> = FxHashMap::default();
    let mut agents: FxHashMap<Option<Symbol>, Agent> = FxHashMap::default();
    for (entry, link) in entries.iter().zip(&graph.links) {
        let EntryKind::Progress(Some(nested)) = &entry.kind else {
            continue;
        };
        let agent = agents.entry(nested.agent).or_default();
        // The line before it, which may have been the agent's, is missing.
        agent.between.has_hole |= link.missing.is_some();
        let line = match &nested.content {
            NestedContent::Response(line) => line,
            NestedContent::User(user) => {
                let between = &mut agent.between;
                between.user_messages += 1;
                between.newest_user_entry = between.newest_user_entry.max(entry.timestamp);
                between.trail = trail.go_on_with_user(between.trail, entry.line, user, calls);
                continue;
            }
        };
        calls.extend(line.tool_uses.iter().map(|call| {
            let caller = None;
            (call.id, Call { tool: call.tool, caller })
        }));
        let key = ResponseKey::of(line, entry.session);
        if let Some(known) = by_key.get(&key) {
            responses[*known].lines.add(line.clone(), entry.timestamp);
            continue;
        }
        responses.push(FileResponse {
            first_entry: None,
            agent: nested.agent,
            is_sidechain: true,
            predecessor: agent.latest,
            between: std::mem::take(&mut agent.between),
            is_live: true,
            is_nested: true,
            ..begin_response(key, line.clone(), entry)
        });
        by_key.insert(key, responses.len() - 1);
        agent.latest = Some(Ordinal::at(responses.len() - 1));
    }
    skip_responses_without_usage(&mut responses);
    responses
}

/// Skips responses without usage, which are not requests: the chain continues over them.
fn skip_responses_without_usage(responses: &mut [FileResponse]) {
    for index in 0..responses.len() {
        // A predecessor comes earlier, so its own predecessor is right already.
        if let Some(before) = responses[index].predecessor
            && responses[before.index()].lines.usage.is_err()
        {
            responses[index].predecessor = responses[before.index()].predecessor;
            responses[index].between.has_hole = true;
        }
    }
}
