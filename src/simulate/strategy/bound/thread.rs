//! The prompts cut into threads: sequences of requests each of which goes on from the one before it,
//! from an earlier one that nothing else goes on from any more, or from nothing.
//!
//! A thread belongs to one session, so that the bound of every session holds by itself.

use crate::requests::prompt::{NodeId, PromptTrace};

/// The most places, besides its own end, up to which writing a prompt may be worth while.
const MOST_ENDS: usize = 4;

/// A request of a thread.
#[derive(Clone, Debug)]
pub(super) struct ThreadRequest {
    /// Its place in the trace.
    pub(super) place: usize,
    /// The nodes up to which it may write, from the root on: where later requests of the thread
    /// part from it, and its own end.
    pub(super) ends: Vec<NodeId>,
    /// The longest prefix that was sent before by another thread, or on another branch.
    pub(super) shared: Option<NodeId>,
}

/// Requests one after the other.
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
    for (place, shared) in shared.into_iter().enumerate() {
        let request = ThreadRequest { place, ends: Vec::new(), shared };
        threads[thread_of[place]].requests.push(request);
    }
    let markable = trace.nearest_markable();
    for thread in &mut threads {
        set_ends(trace, &markable, thread);
    }
    threads
}

/// The thread of each prompt, and how many there are.
fn assign(trace: &PromptTrace) -> (Vec<usize>, usize) {
    let lasts = last_followers(trace);
    let mut thread_of: Vec<usize> = Vec::with_capacity(trace.prompts.len());
    // For each prompt the latest of its followers that its thread went on with.
    let mut continued: Vec<Option<usize>> = vec![None; trace.prompts.len()];
    let mut count = 0;
    for (place, prompt) in trace.prompts.iter().enumerate() {
        let before = prompt.predecessor.filter(|before| {
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

/// For each prompt the latest one that goes on from it, directly or not.
fn last_followers(trace: &PromptTrace) -> Vec<usize> {
    let mut lasts: Vec<usize> = (0..trace.prompts.len()).collect();
    for (place, prompt) in trace.prompts.iter().enumerate().rev() {
        if let Some(before) = prompt.predecessor {
            lasts[before] = lasts[before].max(lasts[place]);
        }
    }
    lasts
}

/// Who has sent a node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sender {
    Nobody,
    Thread(usize),
    Several,
}

/// For each prompt the longest prefix that another thread sent before it, or its own before it turned
/// to another branch, which the states of its cache no longer tell.
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
        // Whoever sent a node sent all before it, so the walk ends where nothing changes.
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

/// Finds the ends of each request from the last one on: those of its own, then what it has in common
/// with the next, with the first one after that with less in common, and so on.
fn set_ends(trace: &PromptTrace, markable: &[Option<NodeId>], thread: &mut Thread) {
    let blocks = |node: NodeId| trace.node(node).blocks;
    // What the requests after have in common with the one at hand, the deepest last.
    let mut partings: Vec<NodeId> = Vec::new();
    let mut next: Option<NodeId> = None;
    for request in thread.requests.iter_mut().rev() {
        let own = trace.prompts[request.place].node;
        match next.map(|next| trace.common(own, next)) {
            Some(Some(common)) => {
                while partings.last().is_some_and(|last| blocks(*last) >= blocks(common)) {
                    partings.pop();
                }
                partings.push(common);
            }
            Some(None) => partings.clear(),
            None => {}
        }
        let nearest = partings.len().saturating_sub(MOST_ENDS);
        let ends = partings[nearest..].iter().chain([&own]);
        request.ends = ends.filter_map(|node| markable[node.index()]).collect();
        request.ends.dedup();
        next = Some(own);
    }
}
