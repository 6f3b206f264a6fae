//! States of a thread's cache, and the cheapest path through them by dynamic programming: the
//! cached part of the thread's latest prompt, its size in a request, and the part that lives on or
//! is kept alive between two requests.

use std::cmp::Reverse;

use super::thread::{Freedom, Sending, Thread, ThreadRequest};
use super::ways::{Action, Way, Ways};
use super::{Prices, Split};
use crate::base::{Basis, Lifetimes, Millis, Picodollars, Tokens, Ttl};
use crate::requests::conversation::RequestIndex;
use crate::requests::prompt::{NodeId, Prompt, PromptTrace};
use crate::simulate::cache::{Outcome, Reading};
use crate::simulate::strategy::run::Material;

/// Largest number of states that are followed one by one. Most threads have a handful; each pause of more than five
/// minutes may add one, so that long conversations with many pauses have more.
const MOST_STATES: usize = 64;

/// Choice for a request.
#[derive(Clone, Debug, Default)]
pub(super) struct Choice {
    split: Split,
    basis: Basis,
    /// Pings between this request and the next one.
    pub(super) pings: Vec<Pings>,
}

impl Choice {
    /// Billing of the request's prompt.
    pub(super) fn outcome(&self, total: Tokens) -> Outcome {
        let Split { read, hour, written } = self.split;
        Outcome {
            read,
            write_1h: hour.saturating_sub(read),
            write_5m: written.saturating_sub(hour.max(read)),
            input: total.saturating_sub(read.max(hour).max(written)),
            basis: self.basis.max(Basis::Derived),
            ..Outcome::default()
        }
    }
}

/// State, and the way to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    cached: Cached,
    cost: Picodollars,
    pub(super) way: Way,
}

/// States at one moment, the cheapest of each kind.
pub(super) type Layer = Vec<State>;

/// Cheapest combination of choices for every request of a thread.
pub(super) fn cheapest_choices(thread: &Thread, material: Material<'_>) -> Vec<Choice> {
    let nothing = State {
        cached: Cached::default(),
        cost: Picodollars::ZERO,
        way: Way { from: None, action: Action::Gap(None) },
    };
    let mut search = Search { material, latest: vec![nothing], earlier: Ways::default() };
    for (number, request) in thread.requests.iter().enumerate() {
        let before = number.checked_sub(1).map(|before| &thread.requests[before]);
        if let Some(before) = before {
            search.wait(before, request);
        }
        let next = thread.requests.get(number + 1);
        search.send(request, Freedom::of(material, before, request, next));
    }
    search.choices(thread.requests.len())
}

struct Search<'a> {
    material: Material<'a>,
    latest: Layer,
    /// Earlier layers, beginning before the first request.
    earlier: Ways,
}

impl<'a> Search<'a> {
    fn trace(&self) -> &'a PromptTrace {
        self.material.trace
    }

    fn prompt(&self, request: &ThreadRequest) -> &'a Prompt {
        &self.trace().prompts[request.place]
    }

    fn prices(&self, request: &ThreadRequest) -> Prices {
        Prices::of(self.material.rates.of(RequestIndex::new(request.place)))
    }

    /// Adds the layer to which all states of the latest one lead.
    fn step(&mut self, next: impl Fn(&State) -> Vec<(Cached, Picodollars, Action)>) {
        let mut layer = Layer::new();
        let first = self.earlier.add(&mut self.latest);
        for (from, state) in (first..).zip(&self.latest) {
            layer.extend(next(state).into_iter().map(|(cached, cost, action)| State {
                cached,
                cost: state.cost + cost,
                way: Way { from: Some(from), action },
            }));
        }
        self.latest = cheapest(self.trace(), layer);
    }

    /// Lets the time between two requests pass.
    ///
    /// A background request in between restarts every clock and writes up to its own end, for free.
    fn wait(&mut self, before: &ThreadRequest, request: &ThreadRequest) {
        let (start, next) = (self.prompt(before).start, self.prompt(request));
        // With a background request in between, pings are chosen separately before and after it.
        let Some(background) = next.background() else {
            self.pass(before, start, start, next.start);
            return;
        };
        let at = background.at.max(start).min(next.start);
        self.pass(before, start, start, at);
        let known = Known { trace: self.trace(), prompt: next };
        let reading = self.material.assumptions.reading;
        for state in &mut self.latest {
            state.cached = extended(known, state.cached, background.node, reading);
        }
        self.pass(before, start, at, next.start);
    }

    /// Lets time pass, at the prices of the previous request.
    fn pass(&mut self, before: &ThreadRequest, start: Millis, from: Millis, until: Millis) {
        let prices = self.prices(before);
        let known = Known { trace: self.trace(), prompt: self.prompt(before) };
        let grace = self.material.assumptions.ttl_grace.max(known.prompt.grace());
        let lifetimes = self.material.assumptions.lifetimes;
        let gap = Gap { length: until.since(from), delay: from.since(start), grace, lifetimes };
        if gap.is_short() {
            return;
        }
        self.step(|state| gap.ways(state.cached, &before.ends, &known, &prices));
    }

    /// Sends a request from every state.
    fn send(&mut self, request: &ThreadRequest, freedom: Freedom) {
        let (material, prices) = (self.material, self.prices(request));
        let prompt = self.prompt(request);
        self.step(|state| {
            let sending = Sending::new(material, prompt, request, state.cached);
            sending.ways(&request.ends, freedom, &prices)
        });
    }

    /// Traces the choices back from the cheapest last state.
    fn choices(&self, requests: usize) -> Vec<Choice> {
        let mut choices = vec![Choice::default(); requests];
        let last = self.latest.iter().min_by_key(|state| state.cost).map(|state| state.way);
        let mut request = requests;
        for action in self.earlier.actions_to(last) {
            match action {
                Action::Request(split, basis) => {
                    request -= 1;
                    choices[request].split = split;
                    choices[request].basis = basis;
                }
                Action::Gap(pings) => choices[request - 1].pings.extend(pings),
            }
        }
        choices
    }
}

/// Drops dominated states: another one with the same end costs no more, and lives for an hour at
/// least as far down.
///
/// A state that lives for an hour as a whole allows other writes next, so the two kinds are kept apart.
fn cheapest(trace: &PromptTrace, mut layer: Layer) -> Layer {
    let depth = |node| depth(trace, node);
    let kind = |state: &State| (state.cached.end, state.cached.is_all_for_an_hour());
    layer.sort_by_key(|state| {
        let is_paid = !state.cached.is_hour_free;
        (kind(state), state.cost, Reverse(depth(state.cached.hour)), is_paid)
    });
    // Sorted by cost within each kind, so every state kept so far costs no more.
    let mut kept = Layer::new();
    for state in layer {
        let mut same_kind = kept.iter().rev().take_while(|other| kind(other) == kind(&state));
        if !same_kind.any(|other| other.cached.covers(state.cached, trace)) {
            kept.push(state);
        }
    }
    if kept.len() > MOST_STATES { fewer(trace, kept) } else { kept }
}

/// The cheapest of many states, without those that have no more cached than a cheaper one of any end.
///
/// All others become one that has cached what any of them has, at the cost of the cheapest: the bound may get lower
/// through it, but never higher than what can be reached.
fn fewer(trace: &PromptTrace, mut layer: Layer) -> Layer {
    layer.sort_by_key(|state| state.cost);
    let mut kept = Layer::new();
    let mut rest: Option<State> = None;
    for state in layer {
        if kept.iter().any(|other: &State| other.cached.covers(state.cached, trace)) {
            continue;
        }
        if kept.len() < MOST_STATES {
            kept.push(state);
            continue;
        }
        let all = rest.get_or_insert(state);
        let is_deeper = depth(trace, state.cached.end) > depth(trace, all.cached.end);
        all.cached = Cached::free(if is_deeper { state.cached.end } else { all.cached.end });
    }
    kept.into_iter().chain(rest).collect()
}

/// Cached part of a thread's latest prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Cached {
    /// Deepest cached prefix.
    pub(super) end: Option<NodeId>,
    /// Deepest prefix that lives for an hour, never deeper than `end`.
    pub(super) hour: Option<NodeId>,
    /// True if that hour was free; later writes then need not be for an hour.
    pub(super) is_hour_free: bool,
}

impl Cached {
    /// One-hour entry that was free.
    pub(super) fn free(end: Option<NodeId>) -> Self {
        Self { end, hour: end, is_hour_free: true }
    }

    /// Returns true if another state, of the same lifetimes, has no more cached and is no freer.
    fn covers(self, other: Self, trace: &PromptTrace) -> bool {
        let reaches = |own, other| depth(trace, own) >= depth(trace, other);
        self.is_all_for_an_hour() == other.is_all_for_an_hour()
            && (self.is_hour_free || !other.is_hour_free)
            && reaches(self.end, other.end)
            && reaches(self.hour, other.hour)
    }

    /// Returns true if all of it lives for an hour.
    pub(super) fn is_all_for_an_hour(&self) -> bool {
        self.hour == self.end
    }
}

/// Sizes and depths of prefixes for a request.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    pub(super) trace: &'a PromptTrace,
    pub(super) prompt: &'a Prompt,
}

impl Known<'_> {
    pub(super) fn size(&self, node: Option<NodeId>) -> Tokens {
        let Some(node) = node else { return Tokens::ZERO };
        let own = self.trace.markers_of(self.prompt).iter().find(|marker| marker.node == node);
        own.map_or(self.trace.end_in(self.prompt, node), |marker| marker.end)
            .min(self.trace.most_of(self.prompt))
    }

    pub(super) fn depth(&self, node: Option<NodeId>) -> u32 {
        depth(self.trace, node)
    }

    /// Cached part after a request has read this many tokens.
    ///
    /// The request may mark a prefix that others had kept warm, which stores a one-hour entry for free.
    pub(super) fn with_warm(&self, cached: Cached, read: Tokens) -> Cached {
        if read <= self.size(cached.end) {
            return cached;
        }
        let is_read = |node| self.size(Some(node)) <= read;
        let warm = self.trace.last_on_the_way(self.prompt.node, is_read);
        if self.depth(warm) > self.depth(cached.end) { Cached::free(warm) } else { cached }
    }

    /// Common part of a prefix and one that ends at a node.
    pub(super) fn common(&self, prefix: Option<NodeId>, node: NodeId) -> Option<NodeId> {
        prefix.and_then(|prefix| self.trace.common(prefix, node))
    }
}

/// Number of blocks of a prefix, plus one; zero without a prefix.
pub(super) fn depth(trace: &PromptTrace, node: Option<NodeId>) -> u32 {
    node.map_or(0, |node| trace.node(node).blocks + 1)
}

/// Cached part after a background request that ends at a node.
pub(super) fn extended(known: Known<'_>, cached: Cached, node: NodeId, reading: Reading) -> Cached {
    let end = known.common(cached.end, node);
    let hour = known.common(cached.hour, node);
    let is_found = end.is_some() && known.size(end) >= known.prompt.shared_prefix;
    let is_for_an_hour = !is_found || hour == end || reading == Reading::Literal;
    if is_for_an_hour {
        Cached::free(Some(node))
    } else {
        Cached { end: Some(node), hour, ..cached }
    }
}

/// Pings between two requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pings {
    pub(super) count: i64,
    /// Interval, in milliseconds.
    pub(super) every: i64,
    /// Time from the request to the start of the first interval, in milliseconds.
    pub(super) delay: i64,
    pub(super) read: Tokens,
}

/// Time between two uses of the cache.
pub(super) struct Gap {
    /// Length in milliseconds.
    pub(super) length: i64,
    /// Time from the previous request to the gap's start, in milliseconds.
    pub(super) delay: i64,
    /// Time for which entries live beyond their TTL, in milliseconds.
    pub(super) grace: i64,
    pub(super) lifetimes: Lifetimes,
}

impl Gap {
    /// Number of pings that keep an entry alive; intervals must be shorter than the TTL.
    fn pings(&self, ttl: Ttl) -> i64 {
        let longest = self.lifetimes.of(ttl).saturating_add(self.grace).saturating_sub(1).max(1);
        self.length.saturating_sub(1).max(0) / longest
    }

    /// Returns true if all entries live on by themselves.
    fn is_short(&self) -> bool {
        self.pings(Ttl::FiveMinutes) == 0
    }

    /// Possible cached parts at the end of the gap, with their prices: the part that lives on by
    /// itself, and in addition one of several prefixes that pings keep alive.
    pub(super) fn ways(
        &self,
        cached: Cached,
        prefixes: &[NodeId],
        known: &Known<'_>,
        prices: &Prices,
    ) -> Vec<(Cached, Picodollars, Action)> {
        let left = self.left(cached);
        let mut ways = vec![(left, Picodollars::ZERO, Action::Gap(None))];
        let own = cached.end.into_iter().chain(cached.hour);
        let mut pinged: Vec<NodeId> = prefixes.iter().copied().chain(own).collect();
        pinged.sort_unstable();
        pinged.dedup();
        pinged.retain(|prefix| {
            let depth = known.depth(Some(*prefix));
            // Shorter prefixes live on anyway, and longer ones are not cached.
            depth > known.depth(left.end) && depth <= known.depth(cached.end)
        });
        ways.extend(pinged.into_iter().map(|prefix| {
            let is_for_an_hour = known.depth(Some(prefix)) <= known.depth(cached.hour);
            let ttl = if is_for_an_hour { Ttl::OneHour } else { Ttl::FiveMinutes };
            let (count, read) = (self.pings(ttl), known.size(Some(prefix)));
            // As few pings as possible, spread evenly.
            let every = self.length / (count + 1);
            let pings = Pings { count, every, delay: self.delay, read };
            let hour = if is_for_an_hour { Some(prefix) } else { cached.hour };
            let kept = Cached { end: Some(prefix), hour, ..cached };
            (kept, prices.pings(count, read), Action::Gap(Some(pings)))
        }));
        ways
    }

    /// Part that lives on by itself.
    fn left(&self, cached: Cached) -> Cached {
        if self.is_short() {
            cached
        } else if self.pings(Ttl::OneHour) == 0 {
            Cached { end: cached.hour, ..cached }
        } else {
            Cached::default()
        }
    }
}
