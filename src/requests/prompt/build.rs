//! Prompt trace of a history.
//!
//! A rewrite leaves the part of the cached prefix before the first changed entry.
//!
//! Cache entries exist only at markers, at the ends of prompts. So from the part before the change, the
//! prompt of an earlier request can be read, but no part of a later one's.

use rustc_hash::FxHashMap;

use super::agents::agent_prompts;
use super::calibrate::{Calibrated, calibrate};
use super::captured::{Sizes, add_captured};
use super::{
    BackgroundWrite, LARGEST_CONSTANT_TAIL, LONG_STEP, LOOKBACK, Level, Marker, MeasuredRule, Node,
    NodeId, Prompt, PromptTrace, Rare, Step, StepKind, is_kept,
};
use crate::base::{Basis, Symbol, Tokens, Ttl};
use crate::read::input::ServiceTier;
use crate::requests::conversation::{History, Place, Request, RequestIndex, Rewrite};

/// Assumption about the prefix that other traffic keeps warm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SharedPrefix {
    /// As calibrated.
    #[default]
    Auto,
    /// Nothing is readable after an expiry; a compaction inside the TTL still finds the prefix that the
    /// chain's first request read. Sessions do not keep one another's entries alive.
    Cold,
    /// The prefix that the chain's first request read is always readable.
    Warm,
}

/// Builds the trace of all requests, in the history's order, from their [`steps`](super::steps).
pub fn build(history: &History, steps: &[Step], shared: SharedPrefix) -> PromptTrace {
    build_sized(history, steps, shared, Sizes::Recorded)
}

/// Builds the same trace with the sizes of captured prompts by their bytes alone, as if no usage were
/// recorded for them.
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
        // Other traffic keeps nothing warm under a key that is new to the conversation, as far as is known.
        let shared_prefix = if step.kept == Kept::Nothing { Tokens::ZERO } else { shared_prefix };
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
            // The time of the answer's beginning is that of its first written line, which is later than the
            // entry can be read.
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
    let of_agents = agent_prompts(&mut tree.trace, history, steps, shared);
    // The nodes of captured prompts are the last ones, and are found by that.
    add_captured(&mut tree.trace, history, steps, shared, sizes);
    tree.trace.prompts.extend(of_agents);
    tree.trace
}

/// Sizes of the system prefix and of the shared prefix under an assumption.
fn prefixes(
    history: &History,
    step: &Step,
    calibrated: &Calibrated,
    shared: SharedPrefix,
) -> (Tokens, Tokens) {
    let opening = history.request(step.opening).recorded().prompt.read;
    match shared {
        // The shared prefix is a part of tools and system prompt, or all of it.
        SharedPrefix::Auto => {
            (calibrated.system_prefix.max(calibrated.shared_prefix), calibrated.shared_prefix)
        }
        SharedPrefix::Cold => (opening, Tokens::ZERO),
        SharedPrefix::Warm => (opening, opening),
    }
}

/// Upper bound on the tools and system prompt of a chain: the prefix that its first request had cached.
///
/// For the first request itself, whose split must not be used, it is the whole prompt.
fn largest_system_prefix(history: &History, step: &Step) -> Tokens {
    let opening = &history.request(step.opening).recorded().prompt;
    let is_itself = matches!(step.kind, StepKind::Opening | StepKind::ModelChange);
    let cached = opening.cached_end();
    if is_itself || cached == Tokens::ZERO { opening.total() } else { cached }
}

/// Tree of prefixes while it grows.
#[derive(Default)]
struct Tree {
    trace: PromptTrace,
    /// System prompt before each node; for a system prompt, the node itself.
    systems: Vec<NodeId>,
}

impl Tree {
    /// Creates an empty tree with room for `requests` requests. Nearly every request adds a node and two
    /// markers.
    fn with_capacity(requests: usize) -> Self {
        let mut tree = Self::default();
        tree.trace.prompts.reserve_exact(requests);
        tree.trace.markers.reserve_exact(2 * requests);
        tree.trace.nodes.reserve(requests);
        tree.systems.reserve(requests);
        tree
    }

    /// Adds the end of the request's cached prefix, and that of a background request before it.
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
            (None, _) | (_, Kept::Nothing) => (self.add_system(), 1),
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
            // Lines report attempts that failed or were interrupted.
            let is_reported = matches!(
                step.rule,
                Some(MeasuredRule::FailedStream | MeasuredRule::InterruptedRequest)
            );
            let was_seen = is_reported || request.recorded().prompt.read > step.kept_end;
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

    /// Adds the markers of the request that was added last: one after the system prompt, one at its end.
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
        self.trace.markers.push(Marker { ttl, ..Marker::new(node, end, basis) });
    }

    /// Adds a system prompt, whose size each of its requests estimates for itself.
    fn add_system(&mut self) -> NodeId {
        let node = NodeId::at(self.trace.nodes.len());
        self.systems.push(node);
        self.trace.nodes.push(Node {
            basis: Basis::Estimated,
            positions: 1,
            blocks: 1,
            level: Level::System,
            ..Node::new(None, Tokens::ZERO)
        });
        node
    }

    /// Adds a prefix that reaches into the messages.
    ///
    /// `positions` is a lower bound on those between the prefix and its parent, so that no entry within reach
    /// of a marker is missed. If the service deletes tokens of prefixes, the size is that without the
    /// deletion, so that all sizes of a tree compare.
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
            basis,
            positions: before.positions + positions,
            blocks: before.blocks + positions,
            session: Some(request.session),
            ..Node::new(Some(parent), end)
        });
        NodeId::at(self.trace.nodes.len() - 1)
    }
}

/// Number of positions limited to the range that matters: a marker finds nothing beyond the lookback, which
/// lines exceed only from [`LONG_STEP`] on.
fn reach(positions: u32) -> u32 {
    if positions < LONG_STEP { positions.clamp(1, LOOKBACK - 1) } else { LOOKBACK }
}

/// Most requests that a walk goes back over, as hostile files may have any number.
const LONGEST_WALK: usize = 10_000;

/// Least positions of each request after the kept ones whose messages are sent again: an answer, and a
/// message after it.
const POSITIONS_OF_REQUEST: u32 = 2;

/// Part of the predecessor's cached prefix with which a prompt begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Whole cached prefix of the predecessor.
    All,
    /// Cached part of the prompt of an earlier request.
    Until {
        /// Earlier request whose prompt is kept.
        request: RequestIndex,
        /// Lower bound on the positions between the end of that prompt and the end of this one.
        positions: u32,
    },
    /// Tools and system prompt.
    System,
    /// Nothing: the key is another one in front of everything.
    Nothing,
}

/// Part that is left with the speed and the effort of a request, which are part of the key, and the part of the content
/// if it is a larger one.
///
/// Requests of different speeds share nothing; those of different efforts tools and system prompt, as captured ones do,
/// unless the model keeps the cache.
pub(super) fn kept_of_key(
    history: &History,
    request: &Request,
    predecessor: RequestIndex,
    kept: Kept,
    steps: &[Step],
) -> (Kept, Option<Kept>) {
    let is_fast = |one: &Request| {
        one.usage.as_ref().is_some_and(|usage| usage.tier.service == ServiceTier::Fast)
    };
    let has_same_speed = |one: &Request| is_fast(one) == is_fast(request);
    let keeps_effort = history.facts(request.model).effort_keeps_cache;
    let has_same_key = |one: &Request| {
        // Older clients do not record the effort.
        let efforts = one.effort.zip(request.effort);
        has_same_speed(one) && (keeps_effort || efforts.is_none_or(|(one, other)| one == other))
    };
    let last = match kept {
        Kept::All => predecessor,
        Kept::Until { request, .. } => request,
        Kept::System if has_same_speed(history.request(predecessor)) => return (kept, None),
        Kept::System | Kept::Nothing => return (Kept::Nothing, Some(kept)),
    };
    let by_content = path_by(last, steps, |step| step.kept_content.unwrap_or(step.kept));
    let same = by_content.take(LONGEST_WALK).find(|one| has_same_key(history.request(*one)));
    match same {
        Some(same) if same == last => (kept, None),
        Some(same) => {
            let positions = positions_between(predecessor, Some(same), steps);
            (Kept::Until { request: same, positions }, Some(kept))
        }
        None if has_same_speed(history.request(last)) => (Kept::System, Some(kept)),
        None => (Kept::Nothing, Some(kept)),
    }
}

/// Part of the prefix that is left if lines report a rewrite and its first changed entry: everything if
/// nothing changed that had been sent.
///
/// `None` if they do not say, and if the prompt is too short to hold that part.
pub(super) fn kept_of_rewrite(
    history: &History,
    request: &Request,
    predecessor: RequestIndex,
    steps: &[Step],
) -> Option<Kept> {
    let Rewrite::At(place) = request.between.rewrite else { return None };
    let Place { kept, resumes_at, is_taken_back } = place;
    let index = |number: u32| RequestIndex::new(number as usize);
    let Some(kept) = kept.map(index) else { return Some(Kept::System) };
    // Messages that an earlier rewrite changed do not come back, unless that is void.
    let mut path = path(predecessor, steps).take(LONGEST_WALK);
    let kept = if is_taken_back { Some(kept) } else { path.find(|one| *one <= kept) };
    if kept == Some(predecessor) {
        let end = history.request(predecessor).recorded().prompt.cached_end();
        return (end <= request.prompt_total()).then_some(Kept::All);
    }
    let Some(kept) = kept else { return Some(Kept::System) };
    let positions = positions_between(predecessor, resumes_at.map(index), steps);
    let end = history.request(kept).recorded().prompt.cached_end();
    let fits = Tokens::ZERO < end && end <= request.prompt_total();
    fits.then_some(Kept::Until { request: kept, positions })
}

/// Requests whose cached prefixes contain one another, from the longest on.
fn path(last: RequestIndex, steps: &[Step]) -> impl Iterator<Item = RequestIndex> {
    path_by(last, steps, |step| step.kept)
}

/// Requests of which each keeps a part of the next, from the longest on.
fn path_by(
    last: RequestIndex,
    steps: &[Step],
    kept: impl Fn(&Step) -> Kept,
) -> impl Iterator<Item = RequestIndex> {
    std::iter::successors(Some(last), move |one| {
        let step = &steps[one.get()];
        match kept(step) {
            Kept::All => step.predecessor,
            Kept::Until { request, .. } => Some(request),
            Kept::System | Kept::Nothing => None,
        }
    })
}

/// Lower bound on the positions between the end of the kept part and the end of the prompt, if the messages
/// after a request are sent again.
///
/// Positions beyond the lookback of a marker are not counted.
fn positions_between(last: RequestIndex, behind: Option<RequestIndex>, steps: &[Step]) -> u32 {
    let Some(behind) = behind else { return 1 };
    let most = (LOOKBACK / POSITIONS_OF_REQUEST) as usize;
    let requests = path(last, steps).take_while(|one| *one > behind).take(most).count();
    1 + POSITIONS_OF_REQUEST * u32::try_from(requests).unwrap_or(LOOKBACK)
}
