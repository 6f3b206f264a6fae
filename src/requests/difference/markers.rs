//! Differences between the markers and the beta features of two requests.
//!
//! Markers in the messages, and the automatic one, move on with every request, so they are compared backwards
//! from the last one. Markers on tools and system prompt are compared by position.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::{Difference, DifferenceKind, Pair, PromptView, differing};
use crate::base::Ttl;
use crate::read::capture::{BETA_HEADER, WireMarker, WireNodeId};

/// Differences between the markers of two requests.
pub(super) fn marker_differences(
    pair: Pair<'_>,
    before: &[WireMarker],
    after: &[WireMarker],
) -> Vec<Difference> {
    let markers = Markers::new(pair, before, after);
    let scope = markers.scope();
    // A change of scope, or a different number of blocks, moves markers as well. Like the client, this then
    // does not count the move as a difference of its own.
    let is_same_front = pair.before.tools.len() == pair.after.tools.len()
        && pair.before.system.len() == pair.after.system.len();
    let moved = if scope.is_none() && is_same_front { markers.moved() } else { None };
    [scope, markers.ttl(), moved].into_iter().flatten().collect()
}

/// Difference in TTL of corresponding markers of two requests.
pub(crate) fn ttl_difference(
    [before, after]: &[PromptView<'_>; 2],
    old: &[WireMarker],
    new: &[WireMarker],
) -> Option<Difference> {
    Markers::new(Pair { before, after }, old, new).ttl()
}

/// Key by which a marker corresponds to one of another request.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Slot {
    Tool(usize),
    System(usize),
    /// Marker that moves on with the conversation.
    Moving,
}

impl PromptView<'_> {
    fn slot(&self, marker: WireMarker) -> Slot {
        // Ids rise along a path, so that each list is sorted.
        let position = |ids: &[WireNodeId]| ids.binary_search(&marker.node).ok();
        let tool = position(&self.tools).map(Slot::Tool);
        let place = tool.or_else(|| position(&self.system).map(Slot::System));
        place.filter(|_| !marker.is_automatic).unwrap_or(Slot::Moving)
    }
}

type PlacedMarker = (Slot, WireMarker);

struct Markers<'a> {
    pair: Pair<'a>,
    before: Vec<PlacedMarker>,
    after: Vec<PlacedMarker>,
}

impl<'a> Markers<'a> {
    fn new(pair: Pair<'a>, before: &[WireMarker], after: &[WireMarker]) -> Self {
        let placed = |view: &PromptView<'_>, markers: &[WireMarker]| -> Vec<PlacedMarker> {
            markers.iter().map(|marker| (view.slot(*marker), *marker)).collect()
        };
        let (before, after) = (placed(pair.before, before), placed(pair.after, after));
        Self { pair, before, after }
    }

    /// Difference in scope: one request uses entries shared by all scopes, the other does not.
    fn scope(&self) -> Option<Difference> {
        let global = |markers: &[PlacedMarker]| {
            markers.iter().find(|(_, marker)| marker.is_global).map(|(_, marker)| marker.node)
        };
        let (place, detail) = match (global(&self.before), global(&self.after)) {
            (Some(node), None) => (self.pair.before.place(node), "no marker is global any more"),
            (None, Some(node)) => (self.pair.after.place(node), "a marker is global now"),
            _ => return None,
        };
        Some(Difference::new(DifferenceKind::Scope, place, detail))
    }

    /// Difference of the first pair of corresponding markers with different TTLs.
    fn ttl(&self) -> Option<Difference> {
        let (old, new) = self.pairs().into_iter().find(|(old, new)| old.ttl != new.ttl)?;
        let all = |markers: &[PlacedMarker], ttl| markers.iter().all(|(_, one)| one.ttl == ttl);
        // Usage beyond the plan shows only in this: all markers drop from an hour to five minutes at once.
        let is_overage = all(&self.before, Ttl::OneHour) && all(&self.after, Ttl::FiveMinutes);
        let kind = if is_overage { DifferenceKind::Overage } else { DifferenceKind::TtlTier };
        let detail = format!("{} before, {} now", old.ttl.name(), new.ttl.name());
        Some(Difference::new(kind, self.pair.after.place(new.node), detail))
    }

    /// Corresponding markers, in the order of the prefix.
    fn pairs(&self) -> Vec<(WireMarker, WireMarker)> {
        let fixed: FxHashMap<Slot, WireMarker> =
            self.after.iter().copied().filter(|(slot, _)| *slot != Slot::Moving).collect();
        let in_front = self.before.iter().filter_map(|(slot, old)| Some((*old, *fixed.get(slot)?)));
        let mut pairs: Vec<(WireMarker, WireMarker)> = in_front.collect();
        let moving: Vec<(WireMarker, WireMarker)> =
            moving_backwards(&self.before).zip(moving_backwards(&self.after)).collect();
        pairs.extend(moving.into_iter().rev());
        pairs
    }

    /// Difference in the places of markers before the messages, or in their number in the messages.
    fn moved(&self) -> Option<Difference> {
        let slots = |markers: &[PlacedMarker]| -> Vec<Slot> {
            markers.iter().map(|(slot, _)| *slot).collect()
        };
        let (old, new) = (slots(&self.before), slots(&self.after));
        let (gone, come) = differing(&old, &new)?;
        let place = match new[come].first().or(old[gone].first())? {
            Slot::Tool(position) => format!("tools[{position}]"),
            Slot::System(position) => format!("system[{position}]"),
            Slot::Moving => "messages".to_owned(),
        };
        let detail = format!("{} markers before, {} now", old.len(), new.len());
        Some(Difference::new(DifferenceKind::MarkersMoved, place, detail))
    }
}

/// Markers that move on with the conversation, last one first.
fn moving_backwards(markers: &[PlacedMarker]) -> impl Iterator<Item = WireMarker> + '_ {
    markers.iter().rev().filter(|(slot, _)| *slot == Slot::Moving).map(|(_, marker)| *marker)
}

/// Kinds of some beta features, by the beginnings of their names.
///
/// Claude Code sends the features of auto mode only in that mode.
pub(crate) const BETA_FAMILIES: [(&str, DifferenceKind); 4] = [
    ("fast-mode-", DifferenceKind::FastMode),
    ("afk-mode-", DifferenceKind::AutoMode),
    ("dangerous-tool-use-", DifferenceKind::AutoMode),
    ("cache-editing-", DifferenceKind::CachedMicrocompaction),
];

/// Kinds of differences that beta features reveal.
const KINDS: [DifferenceKind; 4] = [
    DifferenceKind::Betas,
    DifferenceKind::FastMode,
    DifferenceKind::AutoMode,
    DifferenceKind::CachedMicrocompaction,
];

/// Differences between two sets of beta features, at most one of each kind.
///
/// A set is its names in alphabetical order, joined by commas. If either set is unknown, there are no
/// differences.
pub(crate) fn beta_differences(before: Option<&str>, after: Option<&str>) -> Vec<Difference> {
    let (Some(before), Some(after)) = (before, after) else { return Vec::new() };
    KINDS.into_iter().filter_map(|kind| difference(kind, before, after)).collect()
}

fn kind_of(name: &str) -> DifferenceKind {
    let family = BETA_FAMILIES.iter().find(|(beginning, _)| name.starts_with(beginning));
    family.map_or(DifferenceKind::Betas, |(_, kind)| *kind)
}

fn difference(kind: DifferenceKind, before: &str, after: &str) -> Option<Difference> {
    let (old, new) = (names_of_kind(before, kind), names_of_kind(after, kind));
    let lacking = |names: &BTreeSet<&str>, others: &BTreeSet<&str>, word: &str| {
        let lacking: Vec<&str> = names.difference(others).copied().collect();
        (!lacking.is_empty()).then(|| format!("{word}: {}", lacking.join(", ")))
    };
    let words: Vec<String> = [lacking(&new, &old, "added"), lacking(&old, &new, "removed")]
        .into_iter()
        .flatten()
        .collect();
    if words.is_empty() {
        return None;
    }
    let joined = |names: BTreeSet<&str>| names.into_iter().collect::<Vec<_>>().join(",");
    let difference = Difference::new(kind, BETA_HEADER, words.join("; "));
    Some(difference.with_bytes(Some(&joined(old)), Some(&joined(new))))
}

fn names_of_kind(names: &str, kind: DifferenceKind) -> BTreeSet<&str> {
    names.split(',').filter(|name| !name.is_empty() && kind_of(name) == kind).collect()
}
