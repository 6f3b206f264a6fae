//! The live branch: the one that a client would resume, followed back across compactions.
//!
//! Rewound, edited and retried turns are off it. They were paid all the same, so the ledger keeps
//! them; this is a second view of the same responses.

use rustc_hash::FxHashMap;

use super::graph::Graph;
use crate::id::EntryId;
use crate::transcript::{Entry, EntryKind};

/// The responses on the live branch: the main chain's from its tip back, and those of every
/// sub-agent, which have no branches of their own.
pub(super) fn live_responses(
    entries: &[Entry],
    graph: &Graph,
    response_of: &[Option<usize>],
) -> Vec<usize> {
    let mut live: Vec<usize> = side_responses(entries, response_of);
    let mut position = tip(entries, graph);
    // Links have no circles: they were cut when the graph was made.
    while let Some(here) = position {
        live.extend(response_of[here]);
        position = graph.links[here].parent;
    }
    live
}

fn side_responses(entries: &[Entry], response_of: &[Option<usize>]) -> Vec<usize> {
    entries
        .iter()
        .zip(response_of)
        .filter(|(entry, _)| entry.is_sidechain)
        .filter_map(|(_, response)| *response)
        .collect()
}

/// The newest message below the place that the file's last `last-prompt` names, else the newest
/// message of the main chain. The hint is written early, so it is nearly always an ancestor of the
/// real end.
fn tip(entries: &[Entry], graph: &Graph) -> Option<usize> {
    let hint = hinted_leaf(entries);
    let mut is_below_hint = vec![false; entries.len()];
    for &position in &graph.order {
        let parent = graph.links[position].parent;
        is_below_hint[position] =
            Some(position) == hint || parent.is_some_and(|parent| is_below_hint[parent]);
    }
    newest_message(entries, graph, |position| is_below_hint[position])
        .or_else(|| newest_message(entries, graph, |_| true))
}

fn hinted_leaf(entries: &[Entry]) -> Option<usize> {
    let leaf = entries.iter().rev().find_map(|entry| match entry.kind {
        EntryKind::LastPrompt { leaf } => Some(leaf),
        _ => None,
    })?;
    let positions: FxHashMap<EntryId, usize> = entries
        .iter()
        .enumerate()
        .rev()
        .filter_map(|(position, entry)| Some((entry.id?, position)))
        .collect();
    positions.get(&leaf).copied().filter(|position| !entries[*position].is_sidechain)
}

fn newest_message(
    entries: &[Entry],
    graph: &Graph,
    is_candidate: impl Fn(usize) -> bool,
) -> Option<usize> {
    entries
        .iter()
        .enumerate()
        .filter(|(position, entry)| {
            !entry.is_sidechain
                && !graph.is_duplicate[*position]
                && matches!(entry.kind, EntryKind::User(_) | EntryKind::Response(_))
                && is_candidate(*position)
        })
        .max_by_key(|(position, entry)| (entry.timestamp, *position))
        .map(|(position, _)| position)
}
