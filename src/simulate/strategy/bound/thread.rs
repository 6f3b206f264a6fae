//! Division of the prompts into threads, and the choices that are worth considering for each request.
//!
//! In a thread each request continues the one before it, or an earlier one that no other request
//! continues any more, or starts the thread. A thread belongs to one session, so that the bound
//! holds for every session by itself.
//!
//! Between two long gaps, and while no later request diverges from the thread in between,
//! everything that is written has the same future: it is best written all for an hour or all for
//! five minutes. And a prefix that the next request will find again without a ping is always worth
//! writing. Without these two rules a long conversation would have as many states as requests.

use super::ascent::Ascent;
use super::state::{Cached, Known};
use super::ways::Action;
use super::{Prices, Split};
use crate::base::{Basis, Picodollars, Tokens};
use crate::requests::conversation::RequestIndex;
use crate::requests::prompt::{NodeId, Prompt, PromptTrace};
use crate::simulate::cache::Reading;
use crate::simulate::strategy::run::Material;

/// Largest number of ends, besides its own, up to which writing a prompt may pay.
const MOST_ENDS: usize = 4;

/// Request of a thread.
#[derive(Clone, Debug)]
pub(super) struct ThreadRequest {
    /// Index of the request in the trace.
    pub(super) place: usize,
    /// Nodes up to which the request may write, from the root down: the points at which later
    /// requests of the thread diverge from it, and its own end.
    pub(super) ends: Vec<NodeId>,
    /// Longest prefix that another thread, or another branch, sent before.
    pub(super) shared: Option<NodeId>,
}

/// Consecutive requests of one conversation.
#[derive(Debug, Default)]
pub(super) struct Thread {
    pub(super) requests: Vec<ThreadRequest>,
}

/// Cuts a trace into threads.
pub(super) fn threads(trace: &PromptTrace) -> Vec<Thread> {
    let (thread_of, count) = assign(trace);
    let shared = shared_prefixes(trace, &thread_of, count);
    let mut threads: Vec<Thread> = Vec::new();
    threads.resize_with(count, Thread::default);
    let is_sent = |place: &usize| trace.prompts[*place].refusal().is_none();
    for (place, shared) in shared.into_iter().enumerate().filter(|(place, _)| is_sent(place)) {
        let request = ThreadRequest { place, ends: Vec::new(), shared };
        threads[thread_of[place]].requests.push(request);
    }
    let markable = trace.nearest_markable();
    let ascent = Ascent::new(&trace.nodes);
    for thread in &mut threads {
        set_ends(trace, &markable, &ascent, thread);
    }
    threads
}

/// Thread of each prompt, and the number of threads.
fn assign(trace: &PromptTrace) -> (Vec<usize>, usize) {
    let lasts = last_followers(trace);
    let mut thread_of: Vec<usize> = Vec::with_capacity(trace.prompts.len());
    // Latest follower of each prompt with which its thread continued.
    let mut continued: Vec<Option<usize>> = vec![None; trace.prompts.len()];
    let mut count = 0;
    for (place, prompt) in trace.prompts.iter().enumerate() {
        let before = prompt.predecessor.filter(|before| {
            // The thread may return to an earlier request once nothing continues the branch that it took.
            let is_over = continued[*before].is_none_or(|follower| lasts[follower] < place);
            is_over && trace.prompts[*before].session == prompt.session
        });
        if let Some(before) = before {
            continued[before] = Some(place);
            thread_of.push(thread_of[before]);
        } else {
            thread_of.push(count);
            count += 1;
        }
    }
    (thread_of, count)
}

/// Latest prompt that continues each prompt, directly or indirectly.
fn last_followers(trace: &PromptTrace) -> Vec<usize> {
    let mut lasts: Vec<usize> = (0..trace.prompts.len()).collect();
    // Followers come after their predecessors, so one pass from the end is enough.
    for (place, prompt) in trace.prompts.iter().enumerate().rev() {
        if let Some(before) = prompt.predecessor {
            lasts[before] = lasts[before].max(lasts[place]);
        }
    }
    lasts
}

/// Sender of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sender {
    Nobody,
    Thread(usize),
    Several,
}

/// Longest prefix that another thread sent before each prompt, or its own thread before it turned
/// to another branch, which the states of its cache no longer show.
fn shared_prefixes(trace: &PromptTrace, thread_of: &[usize], count: usize) -> Vec<Option<NodeId>> {
    let blocks = |node: Option<NodeId>| node.map_or(0, |node| trace.node(node).blocks + 1);
    let mut senders = vec![Sender::Nobody; trace.nodes.len()];
    let mut latest: Vec<Option<NodeId>> = vec![None; count];
    let mut shared = Vec::with_capacity(trace.prompts.len());
    for (prompt, thread) in trace.prompts.iter().zip(thread_of) {
        let own = Sender::Thread(*thread);
        let is_sent = |node: NodeId| senders[node.index()] != Sender::Nobody;
        let is_others = |node: NodeId| is_sent(node) && senders[node.index()] != own;
        let sent = trace.last_on_the_way(prompt.node, is_sent);
        let before = latest[*thread].replace(prompt.node);
        let followed = before.and_then(|before| trace.common(before, prompt.node));
        let is_followed = blocks(sent) <= blocks(followed);
        let others = || trace.last_on_the_way(prompt.node, is_others);
        shared.push(if is_followed { others() } else { sent });
        // A node's sender sent all nodes before it, so the walk ends once nothing changes.
        for node in trace.path(prompt.node) {
            senders[node.index()] = match senders[node.index()] {
                Sender::Nobody => own,
                Sender::Thread(_) if senders[node.index()] != own => Sender::Several,
                Sender::Thread(_) | Sender::Several => break,
            };
        }
    }
    shared
}

/// Sets the ends of each request, from the last one back: its own, the part shared with the next
/// one, the part shared with the first later one that shares less, and so on.
///
/// A prompt counts no prefix as longer than itself, so the shortest of equally long ones is enough.
fn set_ends(
    trace: &PromptTrace,
    markable: &[Option<NodeId>],
    ascent: &Ascent<'_>,
    thread: &mut Thread,
) {
    let blocks = |node: NodeId| trace.node(node).blocks;
    // Monotonic stack of the parts that later requests share with the current one, deepest on top.
    let mut partings: Vec<NodeId> = Vec::new();
    let mut next: Option<&Prompt> = None;
    for request in thread.requests.iter_mut().rev() {
        let own = trace.prompts[request.place].node;
        match next.map(|next| (next, trace.common(own, next.node))) {
            Some((next, Some(common))) => {
                let enough = ascent.highest(common, trace.most_of(next));
                while partings.last().is_some_and(|last| blocks(*last) >= blocks(enough)) {
                    partings.pop();
                }
                partings.push(enough);
                if enough != common {
                    // The request's own markers may know of a shorter size.
                    let markers = trace.markers_of(&trace.prompts[request.place]).iter();
                    let inside = |node: &NodeId| {
                        (blocks(enough) + 1..blocks(common)).contains(&blocks(*node))
                    };
                    partings.extend(markers.map(|marker| marker.node).filter(inside));
                    partings.push(common);
                }
            }
            Some((_, None)) => partings.clear(),
            None => {}
        }
        // Beyond the limit only the deepest are kept, at which the nearest requests diverge.
        let nearest = partings.len().saturating_sub(MOST_ENDS);
        let ends = partings[nearest..].iter().chain([&own]);
        request.ends = ends.filter_map(|node| markable[node.index()]).collect();
        request.ends.dedup();
        next = Some(&trace.prompts[request.place]);
    }
}

/// Limits of the choice for a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Freedom {
    /// True if the request may write with another TTL than the requests before it.
    pub(super) may_change_ttl: bool,
    /// Prefix that the request has to write at least.
    pub(super) least: Option<NodeId>,
}

impl Freedom {
    pub(super) fn of(
        material: Material<'_>,
        before: Option<&ThreadRequest>,
        request: &ThreadRequest,
        next: Option<&ThreadRequest>,
    ) -> Self {
        let neighbours = Neighbours { material };
        // Read literally, only the TTL of the last entry counts, so each request chooses again.
        let is_literal = material.assumptions.reading == Reading::Literal;
        let parts = before.is_none_or(|before| neighbours.parts(before, request));
        Self {
            may_change_ttl: is_literal || parts,
            least: next.and_then(|next| neighbours.found_again(request, next)),
        }
    }
}

struct Neighbours<'a> {
    material: Material<'a>,
}

impl<'a> Neighbours<'a> {
    fn prompt(&self, request: &ThreadRequest) -> &'a Prompt {
        &self.material.trace.prompts[request.place]
    }

    fn prices(&self, request: &ThreadRequest) -> Prices {
        Prices::of(self.material.rates.of(RequestIndex::new(request.place)))
    }

    /// Returns true if a request's writes may have another future than earlier ones.
    fn parts(&self, before: &ThreadRequest, request: &ThreadRequest) -> bool {
        let (trace, prompt) = (self.material.trace, self.prompt(request));
        let blocks = |node: NodeId| trace.node(node).blocks;
        let common = trace.common(self.prompt(before).node, prompt.node).map_or(0, blocks);
        let (_, others) = request.ends.split_last().unwrap_or((&prompt.node, &[]));
        self.is_long(before, request)
            || has_recorded_read(prompt)
            || request.shared.is_some()
            || self.prices(before) != self.prices(request)
            || others.iter().any(|end| blocks(*end) >= common)
    }

    /// Prefix that the next request will read again, if writing it now is cheaper than sending it twice.
    fn found_again(&self, request: &ThreadRequest, next: &ThreadRequest) -> Option<NodeId> {
        let (trace, prompt) = (self.material.trace, self.prompt(next));
        let is_certain = !self.is_long(request, next)
            && !has_recorded_read(prompt)
            && prompt.background().is_none()
            && next.shared.is_none();
        let common = trace.common(self.prompt(request).node, prompt.node)?;
        let is_shared = trace.end_in(prompt, common) <= prompt.shared_prefix;
        let last =
            request.ends.iter().rfind(|end| trace.node(**end).blocks <= trace.node(common).blocks);
        // The two requests may count the prefix differently, and the next one may count no more of
        // it than of a shorter one.
        let pays = |node: &NodeId| {
            let (own, prices) = (self.prompt(request), self.prices(request));
            let sizes = |node: Option<NodeId>| {
                let [written, read] =
                    [own, prompt].map(|prompt| Known { trace, prompt }.size(node));
                (written, if read >= prompt.minimum { read } else { Tokens::ZERO })
            };
            let (written, read) = sizes(Some(*node));
            let shorter = request.ends.iter().take_while(|end| *end != node).map(|end| Some(*end));
            shorter.chain([None]).all(|end| {
                let (less_written, less_read) = sizes(end);
                let more = (written.saturating_sub(less_written), read.saturating_sub(less_read));
                let is_same = more == (Tokens::ZERO, Tokens::ZERO);
                let earns = more.1 > Tokens::ZERO;
                is_same || earns && prices.write_pays(more.0, &self.prices(next), more.1)
            })
        };
        last.copied().filter(|node| is_certain && !is_shared && pays(node))
    }

    /// Returns true if a five-minute entry needs a ping in between.
    fn is_long(&self, before: &ThreadRequest, request: &ThreadRequest) -> bool {
        let gap = self.prompt(request).start.since(self.prompt(before).start);
        let grace = self.material.assumptions.ttl_grace.max(self.prompt(request).grace());
        gap >= self.material.assumptions.lifetimes.usual + grace
    }
}

/// Returns true if the record determines the read of a prompt.
fn has_recorded_read(prompt: &Prompt) -> bool {
    prompt.opening().is_some() || prompt.broken_read().is_some()
}

/// Request about to be sent, with the cached part of its prompt.
pub(super) struct Sending<'a> {
    known: Known<'a>,
    cached: Cached,
    read: Tokens,
    /// True if later writes of the request may live for an hour.
    may_write_for_an_hour: bool,
    basis: Basis,
}

impl<'a> Sending<'a> {
    pub(super) fn new(
        material: Material<'a>,
        prompt: &'a Prompt,
        request: &ThreadRequest,
        before: Cached,
    ) -> Self {
        let known = Known { trace: material.trace, prompt };
        let common = |node| known.common(node, prompt.node);
        // No entry is shorter than the model's minimum, by the count of the request that wrote it.
        let found = |entry: Option<NodeId>| {
            let is_long = |node: &NodeId| known.size(Some(*node)) >= prompt.minimum;
            common(entry).filter(|node| Some(*node) == entry || is_long(node))
        };
        let mut cached = Cached { end: found(before.end), hour: found(before.hour), ..before };
        if known.depth(request.shared) > known.depth(cached.end) {
            cached = Cached::free(request.shared);
        }
        // Read literally, a marker can ask for an hour whatever comes before it.
        if material.assumptions.reading == Reading::Literal {
            cached.hour = cached.end;
        }
        let found = known.size(cached.end).max(prompt.shared_prefix);
        let kept = prompt.broken_read().filter(|_| material.assumptions.keeps_breaks);
        let read = match (prompt.opening(), kept) {
            (Some(opening), _) => opening,
            (None, Some(broken)) => broken.min(found.max(prompt.system_prefix)),
            (None, None) => found,
        };
        let is_own = prompt.opening().is_none() && found > prompt.shared_prefix;
        let may_write_for_an_hour =
            !is_own || cached.is_all_for_an_hour() || known.size(cached.hour) >= read;
        let end_basis = cached.end.map(|end| material.trace.node(end).basis);
        let basis = end_basis.unwrap_or(prompt.shared_prefix_basis);
        let read = read.min(material.trace.most_of(prompt));
        let cached = known.with_warm(cached, read);
        Self { known, cached, read, may_write_for_an_hour, basis }
    }

    /// Possible choices of how far to write, and for how long.
    pub(super) fn ways(
        &self,
        ends: &[NodeId],
        freedom: Freedom,
        prices: &Prices,
    ) -> Vec<(Cached, Picodollars, Action)> {
        let sized = ends.iter().map(|node| (*node, self.known.size(Some(*node))));
        let ends: Vec<(NodeId, Tokens)> =
            sized.filter(|(_, end)| *end >= self.known.prompt.minimum).collect();
        if ends.is_empty() {
            return vec![self.way(prices, self.cached, Split::default())];
        }
        let read = self.read;
        let least = self.known.size(freedom.least);
        // Below the minimum nothing can be written, so nothing has to be.
        let least = if least < self.known.prompt.minimum { Tokens::ZERO } else { least };
        let is_for_an_hour = self.cached.is_all_for_an_hour();
        let is_free = self.cached.end.is_none() || (is_for_an_hour && self.cached.is_hour_free);
        // The write then keeps the TTL of the entry that it continues.
        let continues = !freedom.may_change_ttl && !is_free;
        let mut ways = Vec::new();
        if read >= least || ends.iter().all(|(_, end)| *end < least) {
            ways.push(self.way(prices, self.cached, Split { read, hour: read, written: read }));
        }
        // An entry is stored further down, too, even if it adds nothing to this request's count:
        // the next one may know its size better.
        let is_new = |node: NodeId, end: Tokens| {
            end > read || self.known.depth(Some(node)) > self.known.depth(self.cached.end)
        };
        let is_worth_writing =
            |(node, end): &(NodeId, Tokens)| is_new(*node, *end) && *end >= least;
        for (node, written) in ends.iter().copied().filter(is_worth_writing) {
            if !(continues && is_for_an_hour) {
                let cached = Cached { end: Some(node), ..self.cached };
                ways.push(self.way(prices, cached, Split { read, hour: read, written }));
            }
            let may_be_for_an_hour = self.may_write_for_an_hour && (!continues || is_for_an_hour);
            let first = if continues { written } else { Tokens::ZERO };
            let hours = ends.iter().filter(|(node, end)| is_new(*node, *end) && *end <= written);
            let hours = hours.filter(|(_, end)| may_be_for_an_hour && *end >= first);
            for (hour_node, hour) in hours.copied() {
                let cached = Cached { end: Some(node), hour: Some(hour_node), is_hour_free: false };
                ways.push(self.way(prices, cached, Split { read, hour, written }));
            }
        }
        ways
    }

    fn way(&self, prices: &Prices, cached: Cached, split: Split) -> (Cached, Picodollars, Action) {
        let cost = prices.prompt(split, self.known.prompt.total);
        (cached, cost, Action::Request(split, self.basis))
    }
}
