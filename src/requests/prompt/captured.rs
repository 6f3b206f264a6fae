//! Prompts of captured requests: the tree of known bytes, with sizes.
//!
//! Sizes are exact if tokens are counted as bytes (`--tokens bytes:N`), counts in the model's vocabulary if
//! that is known, and otherwise estimates by kind of text and tokenizer family. Recorded usage corrects the
//! estimates in the order of the requests. The total of a request is exact, and its new nodes (and those that
//! requests without usage added before) share in it by their estimates. The end of its cached prefix (read +
//! written) is known to later requests only: a request's split moves only the nodes that it added itself, so
//! it cannot influence its own simulation.
//!
//! The prefix that an earlier expiry left of the same tools and system prompt is the one that other traffic
//! keeps warm (`--shared-prefix auto`).

use rustc_hash::FxHashMap;

use super::calibrate::COMMON_TAIL;
use super::{
    Deletion, Edits, Landmarks, Level, Marker, Node, NodeId, Prompt, PromptTrace, Rare,
    SharedPrefix, Step, StepKind, is_break,
};
use crate::base::{Basis, Symbol, Tokens};
use crate::read::capture::{
    BlockKind, Part, TokenCounting, WireMarker, WireNode, WireNodeId, WireRequest, WireTree,
};
use crate::read::input::PromptSplit;
use crate::requests::conversation::{CapturedPrompts, History, Request, RequestIndex};

/// Source of the sizes of captured prompts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sizes {
    /// Bytes, corrected by the recorded usage.
    Recorded,
    /// Bytes alone, as if no usage were recorded.
    Counted,
}

/// Adds the captured requests of a history after its transcripts' requests.
pub(super) fn add_captured(
    trace: &mut PromptTrace,
    history: &History,
    steps: &[Step],
    shared: SharedPrefix,
    sizes: Sizes,
) {
    let captured = &history.captured;
    let first_node = trace.nodes.len();
    add_nodes(trace, &captured.tree);
    let mut sizing = Sizing {
        tree: &captured.tree,
        nodes: &mut trace.nodes[first_node..],
        states: vec![SizeState::Unknown; captured.tree.nodes.len()],
        counting: captured.counting,
        models: FxHashMap::default(),
    };
    // Recorded reads are tokens, and cannot be compared with bytes.
    let is_recorded = sizes == Sizes::Recorded;
    let counts_tokens = is_recorded && !captured.counting.is_bytes();
    let mut warmth = Warmth { shared, by_head: FxHashMap::default() };
    let beta_sets = beta_sets(history);
    let first = history.of_transcripts().len();
    for (number, wire) in captured.requests.iter().enumerate() {
        let index = RequestIndex::new(first + number);
        let request = history.request(index);
        let usage = request.usage.as_ref().filter(|_| is_recorded);
        let split = usage.map(|usage| usage.prompt);
        let recorded = usage.and_then(|usage| usage.cache_deleted);
        let total = sizing.size(wire, split, recorded);
        let first_marker = trace.markers.len();
        let markers = wire.markers.iter().map(|marker| {
            // The lifetime that was granted is known by usage alone.
            let ttl = if is_recorded { marker.ttl } else { marker.asked };
            sizing.marker(WireMarker { ttl, ..*marker }, first_node, &total)
        });
        trace.markers.extend(markers);
        sizing.learn(wire, &total, split);
        let before = request.predecessor.map(|before| trace.prompts[before.get()].deleted);
        let deleted = total.deleted_until(wire.leaf);
        // A request cannot read tokens that its own edits delete.
        let newly_deleted = deleted.saturating_sub(before.unwrap_or_default());
        let edits = Edits {
            deletions: total.deletions_from(first_node),
            restored: restored(history, wire, request.predecessor)
                .map(|id| NodeId::at(first_node + id.0 as usize)),
        };
        let step = &steps[index.get()];
        let previous_end = step.previous_end.saturating_sub(newly_deleted);
        let step = &Step { previous_end, ..*step };
        let broken_read = broken_read(request, step).filter(|_| counts_tokens);
        let refusal = wire.refusal;
        let rare = Rare { edits, broken_read, refusal, ..Rare::default() };
        let prefix = if counts_tokens { warmth.expect(history, wire, step) } else { NOTHING_WARM };
        trace.prompts.push(Prompt {
            start: request.start,
            readable_from: wire.response_started.map_or(request.start, |at| at.max(request.start)),
            model: request.model,
            scope: Some(wire.scope),
            betas: beta_sets[number],
            session: None,
            predecessor: request.predecessor.map(RequestIndex::get),
            is_agent: request.agent.is_some(),
            total: total.tokens,
            deleted,
            basis: total.basis,
            minimum: history.facts(request.model).minimum(request.start),
            node: NodeId::at(first_node + wire.leaf.0 as usize),
            markers: first_marker..trace.markers.len(),
            system_prefix: Tokens::ZERO,
            shared_prefix: prefix.tokens,
            shared_prefix_basis: prefix.basis,
            rare: rare.kept(),
        });
        warmth.learn(wire, step, split);
    }
    trace.set_landmarks(landmarks(first_node, captured));
}

/// Number of each captured request's set of beta features.
///
/// A request without one gets that of the request before it in its conversation, otherwise the last one sent,
/// otherwise the first one sent.
fn beta_sets(history: &History) -> Vec<Option<u32>> {
    let first = history.of_transcripts().len();
    let mut numbers: FxHashMap<Symbol, u32> = FxHashMap::default();
    let mut sets: Vec<Option<u32>> = Vec::new();
    let mut latest = None;
    for (place, wire) in history.captured.requests.iter().enumerate() {
        let own = wire.betas.map(|set| {
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            *numbers.entry(set).or_insert(next)
        });
        let before = history.request(RequestIndex::new(first + place)).predecessor;
        let before = before.and_then(|before| *sets.get(before.get().checked_sub(first)?)?);
        latest = own.or(latest);
        sets.push(own.or(before).or(latest));
    }
    let earliest = sets.iter().flatten().next().copied();
    sets.into_iter().map(|set| set.or(earliest)).collect()
}

/// First result that the previous request had deleted and that is back.
fn restored(
    history: &History,
    wire: &WireRequest,
    predecessor: Option<RequestIndex>,
) -> Option<WireNodeId> {
    let before = history.wire(predecessor?)?;
    let is_back = |id: &&WireNodeId| {
        !wire.deleted.contains(*id)
            && history.captured.tree.path(wire.leaf).any(|other| other == **id)
    };
    before.deleted.iter().find(is_back).copied()
}

/// Prefix that other traffic keeps warm for a request.
#[derive(Clone, Copy)]
struct WarmPrefix {
    tokens: Tokens,
    basis: Basis,
}

const NOTHING_WARM: WarmPrefix = WarmPrefix { tokens: Tokens::ZERO, basis: Basis::Derived };

/// Prefixes that recorded reads show to be warm although no request of the input kept them so.
struct Warmth {
    shared: SharedPrefix,
    /// Tokens left by the last expiry, by model and by tools and system prompt.
    by_head: FxHashMap<(Symbol, u64), Tokens>,
}

impl Warmth {
    /// Warm prefix of a request: for the first one of a chain its own read, for one after an expiry the read
    /// after an earlier expiry of the same tools and system prompt.
    fn expect(&self, history: &History, wire: &WireRequest, step: &Step) -> WarmPrefix {
        let opening = history.request(step.opening).usage.as_ref().map(|usage| usage.prompt.read);
        let known = |read: Option<Tokens>, basis| {
            read.map_or(NOTHING_WARM, |tokens| WarmPrefix { tokens, basis })
        };
        match (step.kind, self.shared) {
            (StepKind::Opening | StepKind::ModelChange, _) => known(opening, Basis::Derived),
            (_, SharedPrefix::Warm) => known(opening, Basis::Estimated),
            (StepKind::Expired, SharedPrefix::Auto) => {
                let left = self.by_head.get(&(wire.model, wire.likeness.head)).copied();
                known(left, Basis::Estimated)
            }
            _ => NOTHING_WARM,
        }
    }

    /// Learns from a read of less than half of the cached prefix: the rest had expired, and this part had
    /// not.
    fn learn(&mut self, wire: &WireRequest, step: &Step, split: Option<PromptSplit>) {
        let Some(split) = split.filter(|_| step.kind == StepKind::Expired) else { return };
        if split.read.0 * 2 < step.previous_end.0 {
            self.by_head.insert((wire.model, wire.likeness.head), split.read);
        }
    }
}

fn broken_read(request: &Request, step: &Step) -> Option<Tokens> {
    let usage = request.usage.as_ref()?;
    is_break(request, step).then_some(usage.prompt.read)
}

/// Landmarks of the nodes from `first` on.
///
/// If tokens are bytes, a share of a block is exact.
fn landmarks(first: usize, captured: &CapturedPrompts) -> Landmarks {
    let nodes = &captured.tree.nodes;
    if nodes.iter().all(|node| node.landmarks.is_none()) {
        return Landmarks::default();
    }
    // The nodes of transcripts have no bytes, and come first.
    let mut of_nodes = vec![None; first];
    of_nodes.extend(nodes.iter().map(|node| node.landmarks.clone()));
    let is_exact = captured.counting.is_bytes();
    Landmarks { of_nodes, basis: if is_exact { Basis::Derived } else { Basis::Estimated } }
}

/// Adds the tree's nodes, without sizes for now.
fn add_nodes(trace: &mut PromptTrace, tree: &WireTree) {
    let first = trace.nodes.len();
    for wire in &tree.nodes {
        let before = wire.parent.map(|parent| {
            let id = NodeId::at(first + parent.0 as usize);
            (id, trace.node(id), tree.node(parent).kind)
        });
        let node = node_behind(before, wire);
        trace.nodes.push(node);
    }
}

/// Node that a block adds after `before`, which comes with the kind of its own block. It has no size yet.
pub(crate) fn node_behind(before: Option<(NodeId, &Node, BlockKind)>, wire: &WireNode) -> Node {
    let (positions, blocks) = before.map_or((0, 0), |(_, node, _)| (node.positions, node.blocks));
    let is_block = u32::from(wire.part.is_block());
    let continues = before.is_some_and(|(_, _, kind)| wire.kind.continues_run(kind));
    Node {
        parent: before.map(|(id, ..)| id),
        end: Tokens::ZERO,
        basis: Basis::Estimated,
        positions: positions + if continues { 0 } else { is_block },
        blocks: blocks + is_block,
        level: level(wire.part),
        is_markable: wire.part.is_block() && wire.kind != BlockKind::Thinking,
        session: None,
    }
}

/// Level of a part of the prompt.
pub(crate) fn level(part: Part) -> Level {
    match part {
        Part::Model | Part::Tool | Part::SystemSettings | Part::System => Level::System,
        Part::MessageSettings | Part::MessageStart | Part::Block => Level::Messages,
    }
}

/// Size of a prompt.
struct Total {
    /// Nodes that the request adds to the tree.
    added: Vec<WireNodeId>,
    tokens: Tokens,
    /// End of the prompt's last block.
    end: Tokens,
    /// Deleted results, in the order of the prefix. Nodes keep sizes that include them.
    deleted: Vec<(WireNodeId, Tokens)>,
    leaf: WireNodeId,
    basis: Basis,
}

impl Total {
    fn deleted_until(&self, id: WireNodeId) -> Tokens {
        self.deleted.iter().filter(|(node, _)| *node <= id).map(|(_, tokens)| *tokens).sum()
    }

    fn deletions_from(&self, first_node: usize) -> Vec<Deletion> {
        let deletion = |(id, tokens): &(WireNodeId, Tokens)| Deletion {
            node: NodeId::at(first_node + id.0 as usize),
            tokens: *tokens,
        };
        self.deleted.iter().map(deletion).collect()
    }
}

/// Sizes of a model's prompts, as usage has shown them.
#[derive(Clone, Copy, Default)]
struct ModelSizes {
    /// Tokens after the last block.
    tail: Option<Tokens>,
    /// Sums of the estimated and of the recorded tokens of the same content.
    estimated: u64,
    recorded: u64,
}

/// State of a node's size.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SizeState {
    /// Not yet sent by any request.
    Unknown,
    /// Sent only by requests without usage.
    Estimated,
    /// Share of a recorded total, or exact.
    Settled,
}

/// Assignment of sizes to the nodes, in the order of the requests.
struct Sizing<'a> {
    tree: &'a WireTree,
    nodes: &'a mut [Node],
    states: Vec<SizeState>,
    counting: TokenCounting,
    models: FxHashMap<Symbol, ModelSizes>,
}

impl Sizing<'_> {
    /// Sizes the nodes that a request adds, and returns the size of its prompt.
    ///
    /// `recorded` is the size of the deletions that the service reports.
    fn size(
        &mut self,
        wire: &WireRequest,
        split: Option<PromptSplit>,
        recorded: Option<Tokens>,
    ) -> Total {
        let deleted = self.deleted(wire, recorded);
        let all_deleted: Tokens = deleted.iter().map(|(_, tokens)| *tokens).sum();
        let split = split.filter(|_| !self.counting.is_bytes());
        let model = self.models.get(&wire.model).copied().unwrap_or_default();
        let added = self.last_nodes(wire.leaf, |state| state == SizeState::Unknown);
        // A recorded total also settles the nodes that were estimated for requests without usage.
        let new = match split {
            Some(_) => self.last_nodes(wire.leaf, |state| state != SizeState::Settled),
            None => added.clone(),
        };
        let base = self.end_before(&new, wire.leaf);
        let estimated: u64 = new.iter().map(|id| self.tree.node(*id).tokens).sum();
        let total = split.map(|split| split.total());
        let end = match total {
            Some(total) => {
                let tail = model.tail.unwrap_or(COMMON_TAIL);
                let end = (total + all_deleted).saturating_sub(tail);
                // New nodes end after the known ones.
                if new.is_empty() { end } else { end.max(base) }
            }
            None if new.is_empty() => base,
            // A count needs no correction.
            None if new.iter().all(|id| self.tree.node(*id).is_counted) => base + Tokens(estimated),
            None => base + model.correct(estimated),
        };
        let is_known = self.counting.is_bytes() || self.tree.node(wire.leaf).is_counted;
        let basis = if is_known || total.is_some() { Basis::Derived } else { Basis::Estimated };
        self.share(&new, base, end, basis);
        let is_settled = total.is_some() || self.counting.is_bytes();
        let state = if is_settled { SizeState::Settled } else { SizeState::Estimated };
        for id in &new {
            self.states[id.0 as usize] = state;
        }
        if total.is_some() && !new.is_empty() {
            let model = self.models.entry(wire.model).or_default();
            model.estimated += estimated;
            model.recorded += end.saturating_sub(base).0;
        }
        let end = end.saturating_sub(all_deleted);
        let tokens = total.unwrap_or(end);
        Total { added, tokens, end: end.min(tokens), deleted, leaf: wire.leaf, basis }
    }

    /// Results that a request's edits delete, with their sizes, which share in the total that the service
    /// reports, if it does.
    fn deleted(&self, wire: &WireRequest, recorded: Option<Tokens>) -> Vec<(WireNodeId, Tokens)> {
        let mut deleted: Vec<(WireNodeId, Tokens)> =
            wire.deleted.iter().map(|id| (*id, self.own_size(wire.model, *id))).collect();
        let all: Tokens = deleted.iter().map(|(_, tokens)| *tokens).sum();
        let recorded = recorded.filter(|_| !self.counting.is_bytes());
        let Some(recorded) = recorded.filter(|_| all > Tokens::ZERO) else { return deleted };
        // Differences of running sums, so that the rounded parts add up to the total.
        let (mut before, mut given) = (0, Tokens::ZERO);
        for (_, tokens) in &mut deleted {
            before += tokens.0;
            let end = recorded.share(before, all.0);
            *tokens = end.saturating_sub(given);
            given = end;
        }
        deleted
    }

    /// Tokens of a node's own block.
    fn own_size(&self, model: Symbol, id: WireNodeId) -> Tokens {
        let node = self.tree.node(id);
        if self.states[id.0 as usize] == SizeState::Unknown {
            let model = self.models.get(&model).copied().unwrap_or_default();
            return if node.is_counted { Tokens(node.tokens) } else { model.correct(node.tokens) };
        }
        let before = node.parent.map_or(Tokens::ZERO, |parent| self.end(parent));
        self.end(id).saturating_sub(before)
    }

    /// Last nodes of a path whose states satisfy `is`, in the order of the path.
    fn last_nodes(&self, leaf: WireNodeId, is: impl Fn(SizeState) -> bool) -> Vec<WireNodeId> {
        let is_such = |id: &WireNodeId| is(self.states[id.0 as usize]);
        let mut nodes: Vec<WireNodeId> = self.tree.path(leaf).take_while(is_such).collect();
        nodes.reverse();
        nodes
    }

    /// End of the known part of a path.
    fn end_before(&self, new: &[WireNodeId], leaf: WireNodeId) -> Tokens {
        match new.first() {
            None => self.end(leaf),
            Some(first) => {
                let parent = self.tree.node(*first).parent;
                parent.map_or(Tokens::ZERO, |parent| self.end(parent))
            }
        }
    }

    fn end(&self, id: WireNodeId) -> Tokens {
        self.nodes[id.0 as usize].end
    }

    /// Distributes the tokens from `base` to `end` over consecutive nodes, in proportion to their counted
    /// sizes.
    fn share(&mut self, nodes: &[WireNodeId], base: Tokens, end: Tokens, basis: Basis) {
        let counted = |id: &WireNodeId| u128::from(self.tree.node(*id).tokens);
        let all: u128 = nodes.iter().map(counted).sum();
        let tokens = u128::from(end.saturating_sub(base).0);
        let is_known = |id: &WireNodeId| self.tree.node(*id).is_counted;
        let is_known = self.counting.is_bytes() || nodes.iter().all(is_known);
        let is_exact = all == tokens && is_known;
        let mut before = 0;
        for (number, id) in nodes.iter().enumerate() {
            before += counted(id);
            let is_last = number + 1 == nodes.len();
            let part =
                if is_last { tokens } else { (tokens * before).checked_div(all).unwrap_or(0) };
            // Never above `tokens`, which was 64 bits.
            let part = u64::try_from(part).unwrap_or(u64::MAX);
            let node = &mut self.nodes[id.0 as usize];
            node.end = base + Tokens(part);
            node.basis = if is_last || is_exact { basis } else { Basis::Estimated };
        }
    }

    /// Marker as its request knows it.
    fn marker(&self, marker: WireMarker, first_node: usize, total: &Total) -> Marker {
        let node = &self.nodes[marker.node.0 as usize];
        let is_leaf = marker.node == total.leaf;
        Marker {
            node: NodeId::at(first_node + marker.node.0 as usize),
            end: if is_leaf {
                total.end
            } else {
                node.end.saturating_sub(total.deleted_until(marker.node)).min(total.end)
            },
            basis: if is_leaf { total.basis } else { node.basis },
            ttl: Some(marker.ttl),
            is_global: marker.is_global,
            is_automatic: marker.is_automatic,
            is_markable: node.is_markable,
        }
    }

    /// Learns from a request's split, for later requests, the end of its cached prefix and the tail after its
    /// last block.
    ///
    /// Only nodes that this request added are resized: it may read the others itself.
    fn learn(&mut self, wire: &WireRequest, total: &Total, split: Option<PromptSplit>) {
        let split = split.filter(|_| !self.counting.is_bytes());
        let (Some(split), Some(last)) = (split, wire.markers.last()) else { return };
        if split.cached_end() == Tokens::ZERO {
            return;
        }
        // The nodes still include the deleted results.
        let cached = split.cached_end() + total.deleted_until(last.node);
        if last.node == wire.leaf {
            self.models.entry(wire.model).or_default().tail = Some(split.input);
        }
        let Some(marked) = total.added.iter().position(|id| *id == last.node) else { return };
        let (cached_nodes, rest) = total.added.split_at(marked + 1);
        let base = self.end_before(cached_nodes, last.node);
        if cached >= base {
            let end = self.end(wire.leaf).max(cached);
            self.share(cached_nodes, base, cached, Basis::Derived);
            self.share(rest, cached, end, total.basis);
        }
    }
}

impl ModelSizes {
    /// Estimate corrected by the usage of the model's earlier requests.
    fn correct(self, estimated: u64) -> Tokens {
        if self.estimated == 0 {
            return Tokens(estimated);
        }
        let corrected =
            u128::from(estimated) * u128::from(self.recorded) / u128::from(self.estimated);
        Tokens(u64::try_from(corrected).unwrap_or(u64::MAX))
    }
}
