//! Entries linked to their parents: over old progress lines, across compact boundaries, around
//! damage.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::id::{EntryId, Symbol};
use crate::input::{Diagnostics, Kind};
use crate::transcript::{Entry, EntryKind};

/// Where an entry hangs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Link {
    /// The entry before it, in this file.
    pub(super) parent: Option<usize>,
    /// The parent that it names, where this file does not have it. `parent` is then the entry that
    /// stands before it, as the best guess.
    pub(super) missing: Option<EntryId>,
}

/// The parents of a file's entries.
#[derive(Debug)]
pub(super) struct Graph {
    /// One link for each entry.
    pub(super) links: Vec<Link>,
    /// The entries in an order in which parents come first.
    pub(super) order: Vec<usize>,
    /// Whether the entry repeats the identity of an earlier one and counts for nothing.
    pub(super) is_duplicate: Vec<bool>,
}

impl Graph {
    /// Links `entries`; what had to be repaired goes to `diagnostics`.
    pub(super) fn link(entries: &[Entry], file: &Arc<str>, diagnostics: &mut Diagnostics) -> Self {
        let (positions, is_duplicate) = index(entries, file, diagnostics);
        let mut previous: FxHashMap<(bool, Option<Symbol>), usize> = FxHashMap::default();
        let mut links = vec![Link::default(); entries.len()];
        for (position, entry) in entries.iter().enumerate() {
            if is_duplicate[position] || !is_in_chain(entry) {
                continue;
            }
            let side = (entry.is_sidechain, entry.agent);
            let before = previous.get(&side).copied();
            links[position] = link_of(entry, before, &positions);
            if links[position].missing.is_some() && before.is_some() {
                let detail = "continued at the line before it, unless another file has it";
                diagnostics.add(Kind::DanglingParent, file, entry.line, detail);
            }
            previous.insert(side, position);
        }
        let order = parents_first(entries, &mut links, file, diagnostics);
        Self { links, order, is_duplicate }
    }
}

fn index(
    entries: &[Entry],
    file: &Arc<str>,
    diagnostics: &mut Diagnostics,
) -> (FxHashMap<EntryId, usize>, Vec<bool>) {
    let mut positions = FxHashMap::default();
    positions.reserve(entries.len());
    let mut is_duplicate = vec![false; entries.len()];
    for (position, entry) in entries.iter().enumerate() {
        let Some(id) = entry.id else { continue };
        if let std::collections::hash_map::Entry::Vacant(vacant) = positions.entry(id) {
            vacant.insert(position);
        } else {
            is_duplicate[position] = true;
            diagnostics.add(Kind::DuplicateLine, file, entry.line, "the first of them counts");
        }
    }
    (positions, is_duplicate)
}

/// Whether other entries may hang off this one.
fn is_in_chain(entry: &Entry) -> bool {
    !matches!(
        entry.kind,
        EntryKind::LastPrompt { .. }
            | EntryKind::ContentReplacement(_)
            | EntryKind::AgentSetting(_)
    )
}

fn link_of(entry: &Entry, before: Option<usize>, positions: &FxHashMap<EntryId, usize>) -> Link {
    let is_boundary = matches!(entry.kind, EntryKind::CompactBoundary);
    let named = if is_boundary { entry.parent.or(entry.logical_parent) } else { entry.parent };
    match named.map(|id| (id, positions.get(&id).copied())) {
        Some((_, Some(parent))) => Link { parent: Some(parent), missing: None },
        Some((id, None)) => Link { parent: before, missing: Some(id) },
        // A boundary goes on from something even where it does not say from what.
        None if is_boundary => Link { parent: before, missing: None },
        None => Link::default(),
    }
}

/// Orders entries so that each comes after its parent, and cuts circles at the entry that closes
/// them.
fn parents_first(
    entries: &[Entry],
    links: &mut [Link],
    file: &Arc<str>,
    diagnostics: &mut Diagnostics,
) -> Vec<usize> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut states = vec![State::New; entries.len()];
    let mut order = Vec::with_capacity(entries.len());
    let mut path = Vec::new();
    for start in 0..entries.len() {
        let mut position = start;
        while states[position] == State::New {
            states[position] = State::Open;
            path.push(position);
            let Some(parent) = links[position].parent else {
                break;
            };
            if states[parent] == State::Open {
                links[position].parent = None;
                let detail = "the line is its own ancestor; the chain starts here";
                diagnostics.add(Kind::ParentCycle, file, entries[position].line, detail);
                break;
            }
            position = parent;
        }
        while let Some(position) = path.pop() {
            states[position] = State::Done;
            order.push(position);
        }
    }
    order
}
