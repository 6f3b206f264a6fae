//! What requests share with each other: starts of sub-agents one after the other or all at once, side
//! queries that write nothing, sessions with caches of their own.

use rustc_hash::FxHashMap;

use super::design::Starts;
use super::plan::Plan;
use crate::base::id::Symbol;
use crate::base::units::{Millis, Tokens};
use crate::requests::conversation::{History, RequestIndex};
use crate::requests::prompt::{Marker, PromptTrace};

/// Sub-agents of a session and model that start within this time of each other are of one batch.
const BATCH: i64 = 60_000;

/// Sets when the sub-agents of a batch can read what the others have written.
///
/// Of captured requests the bytes tell what they share. Of a transcript's only the recorded reads of
/// the first requests do: staggered, each but the first reads what any of its batch has read; at
/// once, all read what the least of them has.
pub(super) fn start_agents(plan: &mut Plan<'_>, history: &History, starts: Starts) {
    let batches = batches(&plan.trace, history);
    let trace = plan.trace.to_mut();
    for batch in batches.iter().filter(|batch| batch.len() > 1) {
        let openings = batch.iter().filter_map(|place| trace.prompts[*place].opening());
        let (least, most) = (openings.clone().min(), openings.max());
        let latest = batch.iter().map(|place| trace.prompts[*place].start).max();
        for (number, place) in batch.iter().enumerate() {
            let prompt = &mut trace.prompts[*place];
            match starts {
                Starts::Staggered => {
                    prompt.readable_from = prompt.start;
                    if number > 0 {
                        prompt.change_rare(|rare| rare.opening = rare.opening.and(most));
                    }
                }
                Starts::AtOnce => {
                    let after = latest.map_or(prompt.start, |latest| Millis(latest.0 + 1));
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

/// The first requests of sub-agents that started together.
fn batches(trace: &PromptTrace, history: &History) -> Vec<Vec<usize>> {
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mut latest: FxHashMap<(Symbol, Symbol), usize> = FxHashMap::default();
    for (place, prompt) in trace.prompts.iter().enumerate() {
        let request = history.request(RequestIndex(place));
        let goes_on =
            history.predecessor(request).is_some_and(|before| !request.is_fork_of(before));
        if !prompt.is_agent || goes_on {
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

/// Side queries mark the last message that they share with the conversation they branch off, instead
/// of their own end (`skip_cache_write`): nothing goes on from them, so nobody would read it.
pub(super) fn skip_cache_writes(plan: &mut Plan<'_>) {
    let trace = plan.trace.to_mut();
    let next = continuations(trace);
    for place in 0..trace.prompts.len() {
        let prompt = &trace.prompts[place];
        let is_dead_end = next[place].is_none();
        let branches_off =
            prompt.predecessor.filter(|before| is_dead_end && next[*before] != Some(place));
        let Some(before) = branches_off else { continue };
        // The conversation's next request may have the answer in common with it, too.
        let others = next[before].into_iter().chain([before]);
        let shared =
            others.filter_map(|other| trace.common(trace.prompts[other].node, prompt.node));
        let Some(common) = shared.max_by_key(|node| trace.node(*node).blocks) else { continue };
        let Some(last) = prompt.markers.clone().last() else { continue };
        let end = trace.end_in(prompt, common);
        let others = trace.markers[prompt.markers.start..last].iter();
        let is_marked = others.clone().any(|other| other.node == common);
        if trace.node(common).is_markable && end > Tokens::ZERO && !is_marked {
            let marker = Marker {
                node: common,
                end,
                basis: trace.node(common).basis,
                ..trace.markers[last]
            };
            trace.markers[last] = marker;
        }
    }
}

/// For each prompt the one that its conversation goes on with: the latest after which it goes on still
/// further, else the latest, after which the record ends.
fn continuations(trace: &PromptTrace) -> Vec<Option<usize>> {
    let mut next: Vec<Option<usize>> = vec![None; trace.prompts.len()];
    // From the end, so that it is known of each prompt whether anything goes on from it.
    for (place, prompt) in trace.prompts.iter().enumerate().rev() {
        let Some(before) = prompt.predecessor else { continue };
        let goes_on = next[place].is_some();
        if next[before].is_none_or(|known| goes_on && next[known].is_none()) {
            next[before] = Some(place);
        }
    }
    next
}

/// Gives every session a cache of its own, entries of global scope included. The policy keeps them
/// apart where requests name their sessions; a transcript's do.
///
/// Nobody else keeps anything warm then, neither for the first request nor after an expiry. Only what
/// a recorded sub-agent found when it began stays: others of its session may have written it.
pub(super) fn part_sessions(plan: &mut Plan<'_>, history: &History) {
    for (place, prompt) in plan.trace.to_mut().prompts.iter_mut().enumerate() {
        let session = history.request(RequestIndex(place)).session;
        prompt.session = prompt.session.or(Some(session));
        if !prompt.is_agent {
            prompt.change_rare(|rare| rare.opening = None);
        }
        prompt.shared_prefix = Tokens::ZERO;
    }
}
