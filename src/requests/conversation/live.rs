//! The live branch: the one that a client would resume, followed back across compactions.
//!
//! Rewound, edited and retried turns are off it. They were paid all the same, so the ledger keeps
//! them; this is a second view of the same responses. A sub-agent belongs to the branch that started
//! it.

use rustc_hash::FxHashMap;

use super::gathered::{Gathered, is_message};
use super::graph::Graph;
use super::history::Request;
use crate::base::id::Symbol;
use crate::read::transcript::Entry;

/// The responses on the live branch of the main conversation, from its tip back.
pub(super) fn live_responses(entries: &[Entry], graph: &Graph, gathered: &Gathered) -> Vec<usize> {
    let mut live = Vec::new();
    let mut position = tip(entries, graph, gathered);
    // Links have no circles: they were cut when the graph was made.
    while let Some(here) = position {
        live.extend(gathered.response_of[here]);
        position = graph.links[here].parent;
    }
    live
}

/// The newest message below the place that the file's last `last-prompt` names, else the newest
/// message of the main chain. The hint is written early, so it is nearly always an ancestor of the
/// real end.
fn tip(entries: &[Entry], graph: &Graph, gathered: &Gathered) -> Option<usize> {
    let newest = gathered.newest.map(|(_, position)| position);
    let hint = gathered.leaf.and_then(|leaf| gathered.positions.get(&leaf).copied());
    let Some(hint) = hint.filter(|hint| !entries[*hint].is_sidechain) else { return newest };
    let mut is_below_hint = vec![false; entries.len()];
    for position in graph.order() {
        let parent = graph.links[position].parent;
        is_below_hint[position] =
            position == hint || parent.is_some_and(|parent| is_below_hint[parent]);
    }
    let is_candidate = |position: &usize| {
        is_below_hint[*position]
            && !gathered.is_duplicate[*position]
            && is_message(&entries[*position])
    };
    let candidates = (0..entries.len()).filter(is_candidate);
    candidates.max_by_key(|position| (entries[*position].timestamp, *position)).or(newest)
}

/// Takes the sub-agents of rewound branches off the live one. `requests` are in the order in which they
/// were sent. What started a sub-agent is taken to be the latest request of its session's main
/// conversation; one that no such request comes before counts as live, with all that it sends later.
pub(super) fn settle_agents(requests: &mut [Request]) {
    let mut latest: FxHashMap<Symbol, bool> = FxHashMap::default();
    for index in 0..requests.len() {
        let Request { session, agent, predecessor, is_live, .. } = requests[index];
        if agent.is_none() {
            latest.insert(session, is_live);
            continue;
        }
        let before = predecessor.map(|before| &requests[before.0]);
        let own = before.filter(|before| before.agent == agent).map(|before| before.is_live);
        let started_by = own.or_else(|| latest.get(&session).copied());
        requests[index].is_live = started_by.unwrap_or(is_live);
    }
}
