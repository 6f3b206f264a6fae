//! Places of the markers under another design, with their TTLs.
//!
//! Also keep-alive: a waiting conversation is sent again before its entries expire. A client does
//! not know when its user comes back, or whether: it pings until the limit, even after the last
//! request of a conversation.

use enumset::EnumSet;

use super::design::{Anchor, KeepAlive, Layout};
use super::plan::{Plan, Role};
use crate::base::{Millis, Order as _, Tokens, Ttl};
use crate::requests::prompt::{Level, Marker, NodeId, Prompt, PromptTrace, Step};
use crate::simulate::cache::{LOOKBACK, Lookback, MOST_MARKERS, Repeats};

/// Places the markers of every prompt by a layout.
pub(super) fn place(plan: &mut Plan<'_>, layout: Layout, lookback: Lookback) {
    // `Nowhere` is a policy without markers, which needs no other trace.
    if matches!(layout, Layout::AsRecorded | Layout::Nowhere) {
        return;
    }
    let trace = &*plan.trace;
    let tree = Places::new(trace, layout);
    let mut markers = Vec::new();
    let mut ranges = Vec::with_capacity(trace.prompts.len());
    for prompt in &trace.prompts {
        let first = markers.len();
        let nodes = tree.nodes(prompt, layout);
        markers.extend(nodes.into_iter().map(|node| marker_at(trace, prompt, node)));
        keep_in_order(&mut markers[first..]);
        ranges.push(first..markers.len());
    }
    let trace = plan.trace.to_mut();
    trace.markers = markers;
    for (place, range) in ranges.into_iter().enumerate() {
        trace.prompts[place].markers = range;
        let is_limited = lookback != Lookback::Unlimited;
        if is_limited && !reaches_system(trace, &trace.prompts[place]) {
            let prompt = &mut trace.prompts[place];
            prompt.change_rare(|rare| rare.opening = None);
            prompt.shared_prefix = Tokens::ZERO;
        }
    }
}

/// Raises the TTL of each marker to that of the next one at least, as the service would refuse another order.
fn keep_in_order(markers: &mut [Marker]) {
    for at in (1..markers.len()).rev() {
        let later = markers[at].ttl;
        let own = &mut markers[at - 1].ttl;
        *own = own.map(|own| later.map_or(own, |later| own.max(later)));
    }
}

/// Returns true if a marker finds the warm prefix of tools and system prompt, at its own position
/// or within its lookback.
fn reaches_system(trace: &PromptTrace, prompt: &Prompt) -> bool {
    let Some(first) = trace.markers_of(prompt).first() else { return false };
    let system = trace.last_on_the_way(first.node, |node| trace.node(node).level == Level::System);
    // Sessions of other agents do not record the end of tools and system prompt.
    system.is_none_or(|system| {
        trace.node(first.node).positions - trace.node(system).positions < LOOKBACK
    })
}

/// Marker at a node: the recorded one if there is one, as its request knows the size best.
fn marker_at(trace: &PromptTrace, prompt: &Prompt, node: NodeId) -> Marker {
    let recorded = trace.markers_of(prompt);
    let last = recorded.last();
    if let Some(own) = recorded.iter().find(|marker| marker.node == node) {
        return Marker { is_automatic: false, ..*own };
    }
    let place = trace.node(node);
    Marker {
        // A request without markers has no TTL, and a marker that names no TTL lives for five minutes.
        ttl: last.map_or(Some(Ttl::FiveMinutes), |last| last.ttl),
        is_markable: place.is_markable,
        ..Marker::new(node, trace.end_in(prompt, node), place.basis)
    }
}

/// Nodes of a trace at which a layout may place markers.
struct Places<'a> {
    trace: &'a PromptTrace,
    /// Nearest markable node at or before each node.
    markable: Vec<Option<NodeId>>,
    /// Nearest markable node in tools and system prompt.
    systems: Vec<Option<NodeId>>,
    /// Nearest markable node at or after the last multiple of the layout's distance.
    multiples: Vec<Option<NodeId>>,
}

impl<'a> Places<'a> {
    fn new(trace: &'a PromptTrace, layout: Layout) -> Self {
        let distance = if let Layout::Every(blocks) = layout { blocks.max(1) } else { u32::MAX };
        let count = trace.nodes.len();
        let mut places = Self {
            trace,
            markable: trace.nearest_markable(),
            systems: Vec::with_capacity(count),
            multiples: Vec::with_capacity(count),
        };
        for (index, node) in trace.nodes.iter().enumerate() {
            let own = node.is_markable.then_some(NodeId::at(index));
            let before =
                |known: &[Option<NodeId>]| node.parent.and_then(|parent| known[parent.index()]);
            let blocks_before = node.parent.map_or(0, |parent| trace.node(parent).blocks);
            let is_multiple = node.blocks / distance > blocks_before / distance;
            let is_system = node.level == Level::System;
            let multiple = own.filter(|_| is_multiple).or_else(|| before(&places.multiples));
            let system = own.filter(|_| is_system).or_else(|| before(&places.systems));
            places.multiples.push(multiple);
            places.systems.push(system);
        }
        places
    }

    /// Nodes that a layout marks in a prompt, in the order of the prefix.
    fn nodes(&self, prompt: &Prompt, layout: Layout) -> Vec<NodeId> {
        let mut nodes: Vec<NodeId> = match layout {
            Layout::AsRecorded | Layout::Nowhere => Vec::new(),
            Layout::At(anchors) => self.anchors(prompt, anchors),
            Layout::Every(_) => self.latest_multiples(prompt).collect(),
            Layout::Even(count) => {
                (1..=count).filter_map(|part| self.part(prompt, part, count)).collect()
            }
        };
        // A node comes after its parent. Blocks do not tell the order, since settings are none.
        nodes.order_by_key(|node| node.index());
        nodes.dedup();
        nodes
    }

    fn anchors(&self, prompt: &Prompt, anchors: EnumSet<Anchor>) -> Vec<NodeId> {
        let at = |anchor| match anchor {
            Anchor::System => self.systems[prompt.node.index()],
            Anchor::Half => self.part(prompt, 1, 2),
            Anchor::Previous => self.previous(prompt),
            Anchor::Last => self.markable[prompt.node.index()],
        };
        anchors.iter().filter_map(at).collect()
    }

    /// End of the previous request, if this one begins with it.
    fn previous(&self, prompt: &Prompt) -> Option<NodeId> {
        let before = &self.trace.prompts[prompt.predecessor?];
        let common = self.trace.common(before.node, prompt.node)?;
        self.markable[common.index()]
    }

    /// End of a number of equal parts of a prompt's blocks.
    fn part(&self, prompt: &Prompt, part: u32, parts: u32) -> Option<NodeId> {
        let blocks = u64::from(self.trace.node(prompt.node).blocks);
        let wanted = blocks * u64::from(part) / u64::from(parts);
        let node = self.trace.ancestor_with_blocks(prompt.node, u32::try_from(wanted).ok()?);
        self.markable[node?.index()]
    }

    fn latest_multiples(&self, prompt: &Prompt) -> impl Iterator<Item = NodeId> + '_ {
        let next = |node: &NodeId| {
            let parent = self.trace.node(*node).parent?;
            self.multiples[parent.index()]
        };
        std::iter::successors(self.multiples[prompt.node.index()], next).take(MOST_MARKERS)
    }
}

/// Tokens of a ping's output.
pub(super) const PING_OUTPUT: Tokens = Tokens(1);

/// Pings of every conversation; `None` if there are none.
pub(super) fn pings_of(plan: &Plan<'_>, pings: KeepAlive) -> Option<Repeats> {
    let trace = &*plan.trace;
    let ends = idle_until(trace);
    let count = |(place, prompt): (usize, &Prompt)| {
        let is_wanted = pings.agents || !prompt.is_agent;
        let is_recorded = matches!(plan.role(place), Role::Recorded(_));
        if !is_wanted || !is_recorded || ping_of(trace, prompt).is_none() {
            return 0;
        }
        let last = ends[place].map_or(pings.limit, |end| {
            // A ping at the time of the next request is useless.
            end.since(prompt.start).saturating_sub(1).min(pings.limit)
        });
        last.checked_div(pings.every).unwrap_or(0).max(0)
    };
    let counts: Vec<i64> = trace.prompts.iter().enumerate().map(count).collect();
    let has_any = counts.iter().any(|count| *count > 0);
    has_any.then_some(Repeats { every: pings.every, counts })
}

/// Time at which the conversation continues after each prompt, if it does, on whatever branch.
///
/// Nobody waits after a branch that was left.
fn idle_until(trace: &PromptTrace) -> Vec<Option<Millis>> {
    let firsts = first_prompts(trace);
    let mut next: Vec<Option<Millis>> = vec![None; trace.prompts.len()];
    let mut ends = next.clone();
    for (place, prompt) in trace.prompts.iter().enumerate().rev() {
        ends[place] = next[firsts[place]].replace(prompt.start);
    }
    ends
}

/// First prompt of each prompt's conversation.
fn first_prompts(trace: &PromptTrace) -> Vec<usize> {
    let mut firsts: Vec<usize> = Vec::with_capacity(trace.prompts.len());
    for (place, prompt) in trace.prompts.iter().enumerate() {
        let is_of_its_kind = |before: &usize| trace.prompts[*before].is_agent == prompt.is_agent;
        // A sub-agent that forks its parent waits by itself, and so does the parent.
        let before = prompt.predecessor.filter(is_of_its_kind);
        let first = before.and_then(|before| firsts.get(before)).copied();
        firsts.push(first.unwrap_or(place));
    }
    firsts
}

/// Request that reads the cached part of a prompt, and nothing else; `None` if nothing is cached.
pub(super) fn ping_of(trace: &PromptTrace, prompt: &Prompt) -> Option<Prompt> {
    let last = trace.markers_of(prompt).last().filter(|last| last.end >= prompt.minimum)?;
    let rare = prompt.rare_of_next();
    Some(Prompt { total: last.end, basis: last.basis, rare, ..prompt.clone() })
}

/// Gives every marker of a recorded request the TTL that markers of its level had when its
/// conversation began or switched to its model.
///
/// If that is unknown, markers keep theirs.
pub(super) fn latch_ttl(plan: &mut Plan<'_>, steps: &[Step]) {
    for place in 0..plan.trace.prompts.len() {
        let Role::Recorded(index) = plan.role(place) else { continue };
        let Some(first) = steps[steps[index].opening.get()].ttl else { continue };
        for number in plan.trace.prompts[place].markers.clone() {
            let marker = plan.trace.markers[number];
            let ttl = match plan.trace.node(marker.node).level {
                Level::System => first.system,
                Level::Messages => first.messages,
            };
            // Copy on write: the trace is copied with the first change.
            if marker.ttl.is_some_and(|own| own != ttl) {
                plan.trace.to_mut().markers[number].ttl = Some(ttl);
            }
        }
    }
}
