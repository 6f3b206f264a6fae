//! Sub-agents as forks, and other ways of sharing prompts: staggered starts of sub-agents, side
//! queries that write nothing, and sessions with separate caches.
//!
//! A fork continues the conversation that started it, instead of a prompt of its own. It has its
//! parent's tools, system prompt and messages, the parent's whole last answer, one placeholder for
//! the result of each call in it, the same for all siblings, and then its directive (the client's
//! fork agents, since 2.1.232). Only calls that started a sub-agent are counted, as others are not
//! known here. Its model is the parent's. Markers are after the system prompt, the placeholders and
//! the last message, so siblings share everything but their directives.

use rustc_hash::FxHashMap;

use super::design::Starts;
use super::plan::Plan;
use crate::base::{Basis, Millis, Symbol, Tokens};
use crate::read::capture::{Part, WireNodeId, WireTree};
use crate::requests::conversation::{History, RequestIndex};
use crate::requests::prompt::{Level, Marker, Node, NodeId, Prompt, PromptTrace, Rare};

/// Tokens of a placeholder for the result of one call: a sentence of eight words and its frame.
const PLACEHOLDER: Tokens = Tokens(25);

/// Prefix with which the forks of one request of the parent begin.
#[derive(Clone, Copy)]
struct Stem {
    /// Request of the parent.
    parent: usize,
    /// End of the placeholders.
    node: NodeId,
    end: Tokens,
}

/// Conversation of a sub-agent as a fork.
#[derive(Clone, Copy)]
struct Fork {
    stem: Stem,
    /// Size of the whole first prompt, as recorded and as a fork.
    recorded: Tokens,
    forked: Tokens,
}

/// Turns all sub-agents that are not forks into forks.
///
/// Recorded forks that differ from their parents get their parents' bytes.
pub(super) fn fork_agents(plan: &mut Plan<'_>, history: &History) {
    let parents = parents(&plan.trace, history);
    let mut siblings: FxHashMap<usize, u64> = FxHashMap::default();
    for parent in parents.iter().flatten() {
        *siblings.entry(parent.place).or_default() += 1;
    }
    let recorded = plan.trace.clone();
    let mut forking = Forking { trace: plan.trace.to_mut(), stems: FxHashMap::default() };
    let mut forks: Vec<Option<Fork>> = Vec::with_capacity(recorded.prompts.len());
    for (place, prompt) in recorded.prompts.iter().enumerate() {
        let fork = match (parents[place], prompt.predecessor) {
            (Some(parent), _) if parent.is_recorded => {
                goes_astray(&recorded, parent.place, prompt).then(|| forking.repair(prompt, parent))
            }
            (Some(parent), _) => {
                let output = history.request(RequestIndex::new(parent.place)).usage.as_ref();
                let output = output.map_or(Tokens::ZERO, |usage| usage.output);
                let placeholders = Tokens(PLACEHOLDER.0 * siblings[&parent.place]);
                Some(forking.begin(prompt, parent.place, output + placeholders))
            }
            (None, before) => before.and_then(|before| forks[before]).filter(|_| prompt.is_agent),
        };
        if let Some(fork) = fork {
            forking.set(place, prompt, &recorded, fork);
        }
        forks.push(fork);
    }
    // A fork is sent to its parent's model, and priced as a request to it.
    let priced_as = forks.iter().enumerate();
    plan.priced_as =
        priced_as.map(|(place, fork)| fork.map_or(place, |fork| fork.stem.parent)).collect();
}

/// Lets recorded forks share only tools and system prompt with their parents, as if they replaced
/// another result at the beginning of the messages.
///
/// Siblings decide the same.
pub(super) fn decide_again(plan: &mut Plan<'_>, history: &History) {
    let parents = parents(&plan.trace, history);
    let trace = plan.trace.to_mut();
    // Nodes that only such prompts have, by the recorded node.
    let mut copies: FxHashMap<NodeId, NodeId> = FxHashMap::default();
    let mut is_fork = vec![false; trace.prompts.len()];
    for place in 0..trace.prompts.len() {
        let prompt = trace.prompts[place].clone();
        let begins = parents[place].is_some_and(|parent| parent.is_recorded);
        let continues = prompt.predecessor.is_some_and(|before| prompt.is_agent && is_fork[before]);
        if !begins && !continues {
            continue;
        }
        is_fork[place] = true;
        trace.prompts[place].node = move_node(trace, &mut copies, prompt.node);
        for marker in prompt.markers {
            let node = trace.markers[marker].node;
            trace.markers[marker].node = move_node(trace, &mut copies, node);
        }
    }
}

/// Copy of a node, with the same blocks after tools and system prompt, that only forks have.
fn move_node(
    trace: &mut PromptTrace,
    copies: &mut FxHashMap<NodeId, NodeId>,
    node: NodeId,
) -> NodeId {
    let is_new = |id: &NodeId| trace.node(*id).level == Level::Messages && !copies.contains_key(id);
    let path: Vec<NodeId> = trace.path(node).take_while(is_new).collect();
    for id in path.into_iter().rev() {
        let recorded = *trace.node(id);
        let parent = recorded.parent.map(|parent| *copies.get(&parent).unwrap_or(&parent));
        let moved = trace.add_node(Node { parent, ..recorded });
        copies.insert(id, moved);
    }
    *copies.get(&node).unwrap_or(&node)
}

/// Request that a sub-agent's first request continues.
#[derive(Clone, Copy)]
struct Parent {
    place: usize,
    /// True if the sub-agent continues it in the record, too, so that it is a fork.
    is_recorded: bool,
}

/// Parent of each sub-agent's first prompt: the request that it forks, else the latest one of its
/// session's main conversation.
fn parents(trace: &PromptTrace, history: &History) -> Vec<Option<Parent>> {
    let mut latest: FxHashMap<(Symbol, bool), usize> = FxHashMap::default();
    let mut parents = Vec::with_capacity(trace.prompts.len());
    for (place, prompt) in trace.prompts.iter().enumerate() {
        let request = history.request(RequestIndex::new(place));
        // Prompts of captures and of transcripts share nothing.
        let session = (request.session, history.is_captured(RequestIndex::new(place)));
        let recorded = history.predecessor(request);
        let is_recorded = recorded.is_some_and(|before| request.is_fork_of(before));
        // A recorded fork has its parent as predecessor. Other sub-agents have none at their start.
        let before = prompt.predecessor.filter(|_| is_recorded);
        let is_first = prompt.is_agent && prompt.predecessor.is_none();
        let place_of = before.or_else(|| latest.get(&session).copied().filter(|_| is_first));
        parents.push(place_of.map(|place| Parent { place, is_recorded }));
        if !prompt.is_agent {
            latest.insert(session, place);
        }
    }
    parents
}

/// Returns true if a fork does not begin with everything that its parent had marked.
fn goes_astray(trace: &PromptTrace, parent: usize, fork: &Prompt) -> bool {
    let marked = trace.markers_of(&trace.prompts[parent]).last().map(|marker| marker.node);
    let is_on_path = |marked| trace.path(fork.node).any(|node| node == marked);
    marked.is_some_and(|marked| !is_on_path(marked))
}

struct Forking<'a> {
    trace: &'a mut PromptTrace,
    /// Stems by the parent's request.
    stems: FxHashMap<usize, Stem>,
}

impl Forking<'_> {
    /// Fork that begins with a prompt; the parent's system prompt replaces its own.
    fn begin(&mut self, first: &Prompt, parent: usize, answer: Tokens) -> Fork {
        let stem = self.stem(parent, answer);
        let directive = first.total.saturating_sub(self.system_end(first));
        Fork { stem, recorded: first.total, forked: stem.end + directive }
    }

    /// Recorded fork with its parent's bytes first; its own part after the parent's messages stays.
    fn repair(&self, first: &Prompt, parent: Parent) -> Fork {
        let place = parent.place;
        let Prompt { node, total: end, .. } = self.trace.prompts[place];
        let stem = Stem { parent: place, node, end };
        let own = self.behind_messages_of(first, place);
        Fork {
            stem,
            recorded: first.total,
            forked: own.map_or(first.total.max(end), |own| end + own),
        }
    }

    /// Tokens of a captured fork after as many blocks of messages as its parent has.
    ///
    /// `None` if it has fewer, or if blocks are unknown.
    fn behind_messages_of(&self, first: &Prompt, parent: usize) -> Option<Tokens> {
        let messages = |prompt: &Prompt| {
            let is_message = |node: &NodeId| self.trace.node(*node).level == Level::Messages;
            self.trace.path(prompt.node).take_while(is_message).collect::<Vec<NodeId>>()
        };
        let of_parent = messages(&self.trace.prompts[parent]).len();
        let of_fork = messages(first);
        let last = of_fork.len().checked_sub(of_parent).filter(|_| of_parent > 0)?;
        let end = self.trace.end_in(first, *of_fork.get(last)?);
        first.scope.map(|_| first.total.saturating_sub(end))
    }

    /// Tokens of a prompt's tools and system prompt, if known.
    fn system_end(&self, prompt: &Prompt) -> Tokens {
        let is_system = |node: &NodeId| self.trace.node(*node).level == Level::System;
        let system = self.trace.path(prompt.node).find(is_system);
        // Each request of a transcript has its own estimate of this size.
        let end = system.map_or(Tokens::ZERO, |system| self.trace.node(system).end);
        end.max(prompt.system_prefix)
    }

    /// Parent's prompt with its answer and the placeholders.
    fn stem(&mut self, parent: usize, answer: Tokens) -> Stem {
        if let Some(stem) = self.stems.get(&parent) {
            return *stem;
        }
        let prompt = &self.trace.prompts[parent];
        let (before, end) = (prompt.node, prompt.total + answer);
        let node = self.extend(before, end);
        let stem = Stem { parent, node, end };
        self.stems.insert(parent, stem);
        stem
    }

    fn extend(&mut self, parent: NodeId, end: Tokens) -> NodeId {
        let before = *self.trace.node(parent);
        self.trace.add_node(Node {
            parent: Some(parent),
            end,
            basis: Basis::Estimated,
            positions: before.positions + 1,
            blocks: before.blocks + 1,
            level: Level::Messages,
            ..before
        })
    }

    /// Turns a recorded prompt into a fork's, which grows by the same amounts.
    fn set(&mut self, place: usize, prompt: &Prompt, recorded: &PromptTrace, fork: Fork) {
        let total = (fork.forked + prompt.total).saturating_sub(fork.recorded).max(fork.stem.end);
        let last = recorded.markers_of(prompt).last();
        let tail = last.map_or(Tokens::ZERO, |last| prompt.total.saturating_sub(last.end));
        let end = total.saturating_sub(tail).max(fork.stem.end);
        let before =
            prompt.predecessor.map_or(fork.stem.node, |before| self.trace.prompts[before].node);
        let node = self.extend(before, end);
        let parent = self.trace.prompts[fork.stem.parent].clone();
        let first = self.trace.markers.len();
        let system = self.trace.markers_of(&parent).first().copied();
        let own = last.copied().unwrap_or(Marker::new(node, end, Basis::Estimated));
        let at = |node, end| Marker { node, end, basis: Basis::Estimated, ..own };
        let system = system.map(|system| Marker { ttl: own.ttl, ..system });
        self.trace.markers.extend(system);
        self.trace.markers.push(at(fork.stem.node, fork.stem.end));
        self.trace.markers.push(at(node, end));
        let rare = Rare {
            background: None,
            opening: None,
            broken_read: prompt.broken_read().filter(|_| prompt.predecessor.is_some()),
            ..prompt.to_rare()
        };
        self.trace.prompts[place] = Prompt {
            model: parent.model,
            minimum: parent.minimum,
            // The first request of a fork follows the parent's.
            predecessor: Some(prompt.predecessor.unwrap_or(fork.stem.parent)),
            total,
            basis: Basis::Estimated,
            node,
            markers: first..self.trace.markers.len(),
            rare: rare.kept(),
            system_prefix: parent.system_prefix,
            shared_prefix: parent.shared_prefix,
            shared_prefix_basis: parent.shared_prefix_basis,
            ..prompt.clone()
        };
    }
}

/// Largest time between the first sub-agent and others of a batch, in milliseconds.
///
/// A batch has one session and model.
const BATCH: i64 = 60_000;

/// Sets the time at which the sub-agents of a batch can read each other's writes.
///
/// The bytes of captured requests show their common part. For transcripts only the recorded reads
/// of the first requests do: if staggered, each but the first reads the most that any of its batch
/// has read, and if started at once, all read the least.
pub(super) fn start_agents(plan: &mut Plan<'_>, history: &History, starts: Starts) {
    let mut batches = batches(&plan.trace, history);
    batches.retain(|batch| batch.len() > 1);
    if batches.is_empty() {
        return;
    }
    let trace = plan.trace.to_mut();
    for batch in &batches {
        let openings = batch.iter().filter_map(|place| trace.prompts[*place].opening());
        let (least, most) = (openings.clone().min(), openings.max());
        let latest = batch.iter().map(|place| trace.prompts[*place].start).max();
        for (number, place) in batch.iter().enumerate() {
            let prompt = &mut trace.prompts[*place];
            match starts {
                Starts::AsRecorded => {}
                Starts::Staggered => {
                    // Readable at once instead of later starts: the others' times stay as recorded.
                    prompt.readable_from = prompt.start;
                    if number > 0 {
                        prompt.change_rare(|rare| rare.opening = rare.opening.and(most));
                    }
                }
                Starts::AtOnce => {
                    let after = latest.map_or(prompt.start, |latest| Millis::new(latest.get() + 1));
                    prompt.readable_from = prompt.readable_from.max(after);
                    prompt.change_rare(|rare| rare.opening = rare.opening.and(least));
                }
            }
            let total = prompt.total;
            prompt
                .change_rare(|rare| rare.opening = rare.opening.map(|opening| opening.min(total)));
        }
    }
}

/// First requests of sub-agents that started together.
fn batches(trace: &PromptTrace, history: &History) -> Vec<Vec<usize>> {
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mut latest: FxHashMap<(Symbol, Symbol), usize> = FxHashMap::default();
    for (place, prompt) in trace.prompts.iter().enumerate() {
        let request = history.request(RequestIndex::new(place));
        let continues =
            history.predecessor(request).is_some_and(|before| !request.is_fork_of(before));
        if !prompt.is_agent || continues {
            continue;
        }
        let key = (request.session, prompt.model);
        let open = latest.get(&key).copied().filter(|batch| {
            let first = batches[*batch].first();
            first.is_some_and(|first| prompt.start.since(trace.prompts[*first].start) <= BATCH)
        });
        let batch = open.unwrap_or_else(|| {
            batches.push(Vec::new());
            batches.len() - 1
        });
        batches[batch].push(place);
        latest.insert(key, batch);
    }
    batches
}

/// Lets side queries mark a message in front of their own end, which no request continues, so that none would read an
/// entry there: the last that they share with their conversation.
pub(super) fn mark_shared(plan: &mut Plan<'_>) {
    let trace = plan.trace.to_mut();
    let next = continuations(trace);
    for place in 0..trace.prompts.len() {
        if let Some(before) = branching(trace, &next, place) {
            let shared = shared(trace, &next, place, before);
            remark(trace, place, shared);
        }
    }
}

/// Lets side queries and forks of one request mark the message before their last one, as the client does
/// (`skip_cache_write`); none if its last block takes no marker.
///
/// Of a transcript's prompts only the ends are known: there the last one that is shared takes its place.
pub(super) fn skip_cache_writes(plan: &mut Plan<'_>, history: &History) {
    let trace = plan.trace.to_mut();
    let next = continuations(trace);
    for place in 0..trace.prompts.len() {
        let index = RequestIndex::new(place);
        let request = history.request(index);
        let is_fork = history.predecessor(request).is_some_and(|before| request.is_fork_of(before));
        let parent = trace.prompts[place].predecessor;
        let forked = parent.filter(|_| is_fork && next[place].is_none());
        let Some(before) = forked.or_else(|| branching(trace, &next, place)) else { continue };
        if let Some(wire) = history.wire(index) {
            let target = before_last_message(trace, &history.captured.tree, place, wire.leaf);
            remark(trace, place, target);
            if target.is_none() {
                let markers = &mut trace.prompts[place].markers;
                markers.end = markers.end.saturating_sub(1).max(markers.start);
            }
        } else {
            let shared = shared(trace, &next, place, before);
            remark(trace, place, shared);
        }
    }
}

/// Request in front of a side query; `None` for any other request.
fn branching(trace: &PromptTrace, next: &[Option<usize>], place: usize) -> Option<usize> {
    let before = trace.prompts[place].predecessor.filter(|_| next[place].is_none())?;
    (next[before] != Some(place)).then_some(before)
}

/// Last prefix that a side query shares with its conversation, whose next request may share the answer, too.
fn shared(
    trace: &PromptTrace,
    next: &[Option<usize>],
    place: usize,
    before: usize,
) -> Option<NodeId> {
    let node = trace.prompts[place].node;
    let others = next[before].into_iter().chain([before]);
    let shared = others.filter_map(|other| trace.common(trace.prompts[other].node, node));
    shared.max_by_key(|node| trace.node(*node).blocks)
}

/// End of the message before the last one, if it takes a marker.
fn before_last_message(
    trace: &PromptTrace,
    tree: &WireTree,
    place: usize,
    leaf: WireNodeId,
) -> Option<NodeId> {
    let part = |id: &WireNodeId| tree.node(*id).part;
    let last = tree.path(leaf).position(|id| part(&id) == Part::MessageStart)?;
    let is_message = tree.path(leaf).nth(last + 1).is_some_and(|id| part(&id).is_message());
    let node = trace.path(trace.prompts[place].node).nth(last + 1).filter(|_| is_message);
    node.filter(|node| trace.node(*node).is_markable)
}

/// Moves the last marker of a prompt to another prefix, unless that is marked already.
fn remark(trace: &mut PromptTrace, place: usize, target: Option<NodeId>) {
    let prompt = &trace.prompts[place];
    let Some((node, last)) = target.zip(prompt.markers.clone().last()) else { return };
    let end = trace.end_in(prompt, node);
    let mut others = trace.markers[prompt.markers.start..last].iter();
    let is_marked = others.any(|other| other.node == node);
    if trace.node(node).is_markable && end > Tokens::ZERO && !is_marked {
        let basis = trace.node(node).basis;
        trace.markers[last] = Marker { node, end, basis, ..trace.markers[last] };
    }
}

/// Request with which the conversation of each prompt continues: the latest one that is itself
/// continued, else the latest one, after which the record ends.
fn continuations(trace: &PromptTrace) -> Vec<Option<usize>> {
    let mut next: Vec<Option<usize>> = vec![None; trace.prompts.len()];
    // Backwards, so that it is known whether any request continues a prompt.
    for (place, prompt) in trace.prompts.iter().enumerate().rev() {
        let Some(before) = prompt.predecessor else { continue };
        let continues = next[place].is_some();
        if next[before].is_none_or(|known| continues && next[known].is_none()) {
            next[before] = Some(place);
        }
    }
    next
}

/// Gives every session its own cache, including entries of global scope.
///
/// The policy keeps sessions apart if requests name them, as those of transcripts do. No other
/// traffic keeps a prefix warm then, neither for the first request nor after an expiry. Only the
/// read of a recorded sub-agent's first request stays, as others of its session may have written
/// it.
pub(super) fn part_sessions(plan: &mut Plan<'_>, history: &History) {
    for (place, prompt) in plan.trace.to_mut().prompts.iter_mut().enumerate() {
        let session = history.request(RequestIndex::new(place)).session;
        prompt.session = prompt.session.or(Some(session));
        if !prompt.is_agent {
            prompt.change_rare(|rare| rare.opening = None);
        }
        prompt.shared_prefix = Tokens::ZERO;
    }
}
