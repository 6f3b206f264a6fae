//! Entries linked to their parents: over old progress lines, across compact boundaries, around
//! damage.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::gathered::Gathered;
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
}

impl Graph {
    /// Links `entries`; what had to be repaired goes to `diagnostics`.
    pub(super) fn link(
        entries: &[Entry],
        gathered: &Gathered,
        file: &Arc<str>,
        diagnostics: &mut Diagnostics,
    ) -> Self {
        let Gathered { positions, is_duplicate, .. } = gathered;
        let mut latest = Latest::default();
        let mut links = vec![Link::default(); entries.len()];
        for (position, entry) in entries.iter().enumerate() {
            if is_duplicate[position] || !is_in_chain(entry) {
                continue;
            }
            let before = latest.replace((entry.is_sidechain, entry.agent), position);
            links[position] = link_of(entry, before, entries, positions);
            if links[position].missing.is_some() && before.is_some() {
                let detail = "continued at the line before it, unless another file has it";
                diagnostics.add(Kind::DanglingParent, file, entry.line, detail);
            }
        }
        let order = parents_first(entries, &mut links, file, diagnostics);
        Self { links, order }
    }
}

/// A conversation within a file: whether it is one on the side, and its agent.
type Side = (bool, Option<Symbol>);

/// The latest entry of each side. Entries of one mostly follow each other.
#[derive(Default)]
struct Latest {
    current: Option<(Side, usize)>,
    others: FxHashMap<Side, usize>,
}

impl Latest {
    /// The latest entry of a side, which now is the one at `position`.
    fn replace(&mut self, side: Side, position: usize) -> Option<usize> {
        match self.current.replace((side, position)) {
            Some((same, before)) if same == side => Some(before),
            Some((other, before)) => {
                self.others.insert(other, before);
                self.others.get(&side).copied()
            }
            None => None,
        }
    }
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

fn link_of(
    entry: &Entry,
    before: Option<usize>,
    entries: &[Entry],
    positions: &FxHashMap<EntryId, usize>,
) -> Link {
    let is_boundary = matches!(entry.kind, EntryKind::CompactBoundary);
    let named = if is_boundary { entry.parent.or(entry.logical_parent) } else { entry.parent };
    let Some(named) = named else {
        // A boundary goes on from something even where it does not say from what.
        return Link { parent: before.filter(|_| is_boundary), missing: None };
    };
    // Nearly always the entry before.
    let is_before = before.is_some_and(|before| entries[before].id == Some(named));
    let parent = if is_before { before } else { positions.get(&named).copied() };
    match parent {
        Some(parent) => Link { parent: Some(parent), missing: None },
        None => Link { parent: before, missing: Some(named) },
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
