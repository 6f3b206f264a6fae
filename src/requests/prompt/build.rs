//! A history → its prompt trace.
//!
//! What a rewrite leaves of the prefix that was cached: all in front of the first entry that changed.
//!
//! Entries of the cache exist only where a marker stood, at the ends of prompts. So of what stands in
//! front of the change the prompt of an earlier request can be read, and no part of a later one's.

use rustc_hash::FxHashMap;

use super::agents::agent_prompts;
use super::calibrate::{Calibrated, LARGEST_CONSTANT_TAIL, calibrate};
use super::captured::{Sizes, add_captured};
use super::measured::MeasuredRule;
use super::trace::{
    BackgroundWrite, LOOKBACK, Level, Marker, Node, NodeId, Prompt, PromptTrace, Rare,
};
use super::{Step, StepKind, is_kept};
use crate::base::id::Symbol;
use crate::base::ttl::Ttl;
use crate::base::units::{Basis, Tokens};
use crate::requests::conversation::{History, Place, Request, RequestIndex, Rewrite};

/// What is assumed of the prefix that other traffic keeps warm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SharedPrefix {
    /// As calibrated.
    #[default]
    Auto,
    /// Nothing is readable after an expiry; a compaction inside the TTL still finds what the
    /// chain's first request read. Sessions do not keep one another's entries alive.
    Cold,
    /// What the chain's first request read is always readable.
    Warm,
}

/// Builds the trace of all requests, in the history's order, from their [`steps`](super::steps).
#[must_use]
pub fn build(history: &History, steps: &[Step], shared: SharedPrefix) -> PromptTrace {
    build_sized(history, steps, shared, Sizes::Recorded)
}

/// Builds the same trace with the sizes of captured prompts by their bytes alone, as if no usage
/// were recorded for them.
#[must_use]
pub fn build_counted(history: &History, steps: &[Step], shared: SharedPrefix) -> PromptTrace {
    build_sized(history, steps, shared, Sizes::Counted)
}

fn build_sized(
    history: &History,
    steps: &[Step],
    shared: SharedPrefix,
    sizes: Sizes,
) -> PromptTrace {
    let calibrated = calibrate(history, steps);
    let mut tree = Tree::with_capacity(history.of_transcripts().len());
    let mut minimums: FxHashMap<(Symbol, i64), Tokens> = FxHashMap::default();
    for ((request, step), calibrated) in history.of_transcripts().iter().zip(steps).zip(calibrated)
    {
        let (system_prefix, shared_prefix) = prefixes(history, step, &calibrated, shared);
        let system_prefix =
            system_prefix.min(request.prompt_total()).min(largest_system_prefix(history, step));
        let answer = history.predecessor(request);
        let answer = answer.map_or(0, |previous| request.carried_positions(previous));
        let (node, background) = tree.add_nodes(request, step, &calibrated, answer);
        let first_marker = tree.trace.markers.len();
        tree.add_markers(request, step, &calibrated, system_prefix);
        let read = request.recorded().prompt.read;
        let is_opening = matches!(step.kind, StepKind::Opening | StepKind::ModelChange);
        let minimum = *minimums
            .entry((request.model, request.start.day()))
            .or_insert_with(|| history.facts(request.model).minimum(request.start));
        let rare = Rare {
            background,
            opening: is_opening.then_some(read),
            broken_read: is_kept(history, request, step).then_some(read),
            grace: step.grace,
            ..Rare::default()
        };
        tree.trace.prompts.push(Prompt {
            start: request.start,
            // When the answer began is known of the first line that was written of it, which is
            // later than the entry can be read.
            readable_from: request.start,
            model: request.model,
            scope: None,
            session: Some(request.session),
            predecessor: request.predecessor.map(RequestIndex::get),
            is_agent: request.agent.is_some(),
            total: request.prompt_total(),
            deleted: step.all_deleted,
            betas: None,
            basis: Basis::Derived,
            minimum,
            node,
            markers: first_marker..tree.trace.markers.len(),
            system_prefix,
            shared_prefix: shared_prefix.min(request.prompt_total()),
            shared_prefix_basis: Basis::Estimated,
            rare: rare.kept(),
        });
    }
    let of_agents = agent_prompts(&mut tree.trace, history, shared);
    // The nodes of captured prompts are the last ones, by which they are found.
    add_captured(&mut tree.trace, history, steps, shared, sizes);
    tree.trace.prompts.extend(of_agents);
    tree.trace
}

/// The sizes of the system prefix and of the shared prefix under an assumption.
fn prefixes(
    history: &History,
    step: &Step,
    calibrated: &Calibrated,
    shared: SharedPrefix,
) -> (Tokens, Tokens) {
    let opening = history.request(step.opening).recorded().prompt.read;
    match shared {
        // What is shared is a part of tools and system prompt, or all of it.
        SharedPrefix::Auto => {
            (calibrated.system_prefix.max(calibrated.shared_prefix), calibrated.shared_prefix)
        }
        SharedPrefix::Cold => (opening, Tokens::ZERO),
        SharedPrefix::Warm => (opening, opening),
    }
}

/// Tools and system prompt of a chain are no longer than what its first request had cached, or than
/// the whole of its prompt where that is the request at hand, whose split is not looked at.
fn largest_system_prefix(history: &History, step: &Step) -> Tokens {
    let opening = &history.request(step.opening).recorded().prompt;
    let is_itself = matches!(step.kind, StepKind::Opening | StepKind::ModelChange);
    let cached = opening.cached_end();
    if is_itself || cached == Tokens::ZERO { opening.total() } else { cached }
}

/// The tree while it grows.
#[derive(Default)]
struct Tree {
    trace: PromptTrace,
    /// The system prompt in front of each node; of one itself, the node.
    systems: Vec<NodeId>,
}

impl Tree {
    /// An empty tree with room for so many requests. Nearly every request adds a node and two
    /// markers.
    fn with_capacity(requests: usize) -> Self {
        let mut tree = Self::default();
        tree.trace.prompts.reserve_exact(requests);
        tree.trace.markers.reserve_exact(2 * requests);
        tree.trace.nodes.reserve(requests);
        tree.systems.reserve(requests);
        tree
    }

    /// Adds the end of the request's cached prefix, and that of a background request in front of
    /// it.
    fn add_nodes(
        &mut self,
        request: &Request,
        step: &Step,
        calibrated: &Calibrated,
        answer_positions: u32,
    ) -> (NodeId, Option<BackgroundWrite>) {
        let node_of = |prompts: &[Prompt], request: RequestIndex| prompts[request.get()].node;
        let (added, answer) = (request.between.positions, answer_positions);
        let (mut parent, mut positions) = match (step.predecessor, step.kept) {
            (None, _) => (self.add_system(), 1),
            (Some(before), Kept::All) => {
                (node_of(&self.trace.prompts, before), reach(answer.saturating_add(added)))
            }
            (Some(_), Kept::Until { request, positions }) => {
                (node_of(&self.trace.prompts, request), positions)
            }
            (Some(before), Kept::System) => {
                (self.systems[node_of(&self.trace.prompts, before).index()], 1)
            }
        };
        let deleted = step.all_deleted;
        let background = calibrated.background.map(|expected| {
            let end = expected.end + deleted;
            let own = if step.kept == Kept::All { reach(answer) } else { positions };
            parent = self.add_messages(parent, own, request, end, Basis::Estimated);
            positions = if step.kept == Kept::All { reach(added) } else { 1 };
            // Lines tell of attempts that failed or were interrupted.
            let is_told = matches!(
                step.rule,
                Some(MeasuredRule::FailedStream | MeasuredRule::InterruptedRequest)
            );
            let was_seen = is_told || request.recorded().prompt.read > step.kept_end;
            BackgroundWrite { node: parent, at: expected.at, was_seen }
        });
        let recorded_end = request.recorded().prompt.cached_end();
        let end = if recorded_end > Tokens::ZERO {
            recorded_end
        } else {
            request.prompt_total().saturating_sub(calibrated.uncached_tail)
        };
        let node = self.add_messages(parent, positions, request, end + deleted, Basis::Derived);
        (node, background)
    }

    /// Adds the markers of the request that was added last: one after the system prompt, one at
    /// its end.
    fn add_markers(
        &mut self,
        request: &Request,
        step: &Step,
        calibrated: &Calibrated,
        system_prefix: Tokens,
    ) {
        let node = NodeId::at(self.trace.nodes.len() - 1);
        let tail = calibrated.uncached_tail;
        let end = request.prompt_total().saturating_sub(tail);
        let is_constant = tail <= LARGEST_CONSTANT_TAIL;
        let basis = if is_constant { Basis::Derived } else { Basis::Estimated };
        let ttl = step.ttl;
        let system = self.systems[node.index()];
        let system_end = system_prefix.min(end);
        let system_ttl = ttl.map(|ttl| ttl.system);
        self.add_marker(system, system_end, Basis::Estimated, system_ttl);
        self.add_marker(node, end, basis, ttl.map(|ttl| ttl.messages));
    }

    fn add_marker(&mut self, node: NodeId, end: Tokens, basis: Basis, ttl: Option<Ttl>) {
        self.trace.markers.push(Marker {
            node,
            end,
            basis,
            ttl,
            is_global: false,
            is_automatic: false,
            is_markable: true,
        });
    }

    /// A system prompt whose size each of its requests estimates for itself.
    fn add_system(&mut self) -> NodeId {
        let node = NodeId::at(self.trace.nodes.len());
        self.systems.push(node);
        self.trace.nodes.push(Node {
            parent: None,
            end: Tokens::ZERO,
            basis: Basis::Estimated,
            positions: 1,
            blocks: 1,
            level: Level::System,
            is_markable: true,
            session: None,
        });
        node
    }

    /// A prefix that reaches into the messages. What lies between it and its parent has so many
    /// positions at least, so that no entry within reach of a marker is missed. Where the service deletes
    /// tokens of prefixes, its size is what it would be without that, so that all of a tree compare.
    fn add_messages(
        &mut self,
        parent: NodeId,
        positions: u32,
        request: &Request,
        end: Tokens,
        basis: Basis,
    ) -> NodeId {
        let before = *self.trace.node(parent);
        self.systems.push(self.systems[parent.index()]);
        self.trace.nodes.push(Node {
            parent: Some(parent),
            end,
            basis,
            positions: before.positions + positions,
            blocks: before.blocks + positions,
            level: Level::Messages,
            is_markable: true,
            session: Some(request.session),
        });
        NodeId::at(self.trace.nodes.len() - 1)
    }
}

/// As many positions as matter: a marker finds nothing so far back, or further.
fn reach(positions: u32) -> u32 {
    positions.clamp(1, LOOKBACK)
}

/// So many requests are gone back over; hostile files have any number.
const LONGEST_WALK: usize = 10_000;

/// Each request after the kept ones whose messages are sent again has this many positions at least:
/// an answer, and a message after it.
const POSITIONS_OF_REQUEST: u32 = 2;

/// What of the predecessor's cached prefix a prompt begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// All of it.
    All,
    /// The prompt of an earlier request, as far as that was cached.
    Until {
        /// The request.
        request: RequestIndex,
        /// How many positions at least stand between its end and this prompt's.
        positions: u32,
    },
    /// Tools and system prompt.
    System,
}

/// What is left where lines tell that messages were rewritten, and from which entry on: everything where
/// nothing that had been sent changed. `None` where they do not tell, and where the prompt is too short
/// for what should stand in it.
pub(super) fn kept_of_rewrite(
    history: &History,
    request: &Request,
    predecessor: RequestIndex,
    steps: &[Step],
) -> Option<Kept> {
    let Rewrite::At(Place { kept, goes_on }) = request.between.rewrite else { return None };
    let index = |number: u32| RequestIndex::new(number as usize);
    let Some(kept) = kept.map(index) else { return Some(Kept::System) };
    // What an earlier rewrite has changed does not come back.
    let mut path = path(predecessor, steps).take(LONGEST_WALK);
    let kept = path.find(|one| *one <= kept);
    if kept == Some(predecessor) {
        let end = history.request(predecessor).recorded().prompt.cached_end();
        return (end <= request.prompt_total()).then_some(Kept::All);
    }
    let Some(kept) = kept else { return Some(Kept::System) };
    let positions = positions_between(predecessor, goes_on.map(index), steps);
    let end = history.request(kept).recorded().prompt.cached_end();
    let fits = Tokens::ZERO < end && end <= request.prompt_total();
    fits.then_some(Kept::Until { request: kept, positions })
}

/// The requests whose cached prefixes stand one in another, from the longest on.
fn path(last: RequestIndex, steps: &[Step]) -> impl Iterator<Item = RequestIndex> {
    std::iter::successors(Some(last), |one| {
        let step = &steps[one.get()];
        match step.kept {
            Kept::All => step.predecessor,
            Kept::Until { request, .. } => Some(request),
            Kept::System => None,
        }
    })
}

/// How many positions at least stand between the end of what was kept and the end of the prompt, where the
/// messages after a request are sent again. More than a marker looks back over are not counted.
fn positions_between(last: RequestIndex, behind: Option<RequestIndex>, steps: &[Step]) -> u32 {
    let Some(behind) = behind else { return 1 };
    let most = (LOOKBACK / POSITIONS_OF_REQUEST) as usize;
    let requests = path(last, steps).take_while(|one| *one > behind).take(most).count();
    1 + POSITIONS_OF_REQUEST * u32::try_from(requests).unwrap_or(LOOKBACK)
}
