//! Which prefixes an automatic cache holds, and when each was last used.
//!
//! A use of a prefix is one of all that lies before its end. So a piece of a path remembers its
//! uses ("everything down to depth 40 was used at 10:00") instead of a clock for each node, and
//! forgets a use when a later one reaches as far down. A request costs O(log nodes) steps.

use rustc_hash::FxHashMap;

use super::automatic::EntryPlaces;
use crate::base::id::Symbol;
use crate::base::units::Millis;
use crate::requests::prompt::{NodeId, Paths};

/// A cache of its own: prefixes are found only by requests of the same model and scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Owner {
    pub(super) model: Symbol,
    pub(super) scope: Option<Symbol>,
}

/// A use of everything on a path down to a node.
#[derive(Clone, Copy, Debug)]
struct Use {
    depth: u32,
    at: Millis,
    node: NodeId,
}

/// What one owner's requests left on one path.
#[derive(Debug, Default)]
struct Stretch {
    /// Times rise, depths fall: an earlier use that reached less far tells nothing.
    uses: Vec<Use>,
    /// Where requests ended, by depth; only where entries stand nowhere else.
    ends: Vec<(u32, NodeId)>,
}

/// The prefixes of a cache.
#[derive(Debug)]
pub(super) struct Prefixes<'a> {
    paths: &'a Paths,
    /// How long after its last use a prefix is found, in milliseconds.
    lifetime: i64,
    places: EntryPlaces,
    stretches: FxHashMap<(u32, Owner), Stretch>,
}

impl Stretch {
    /// The use that reaches furthest of those that are not over.
    fn live(&self, lifetime: i64, now: Millis) -> Option<Use> {
        let dead = self.uses.partition_point(|one| now.since(one.at) >= lifetime);
        self.uses.get(dead).copied()
    }

    /// The last entry down to a depth that is alive.
    fn last_entry(&self, depth: u32, lifetime: i64, now: Millis) -> Option<NodeId> {
        let reach = self.live(lifetime, now)?.depth.min(depth);
        let after = self.ends.partition_point(|(end, _)| *end <= reach);
        self.ends[..after].last().map(|(_, node)| *node)
    }

    /// Forgets the entries that have died, so that no later use brings them back.
    fn forget_dead(&mut self, lifetime: i64, now: Millis) {
        let alive = self
            .live(lifetime, now)
            .map_or(0, |live| self.ends.partition_point(|(end, _)| *end <= live.depth));
        self.ends.truncate(alive);
    }

    fn add_end(&mut self, depth: u32, node: NodeId) {
        if let Err(place) = self.ends.binary_search_by_key(&depth, |(end, _)| *end) {
            self.ends.insert(place, (depth, node));
        }
    }

    /// Notes a use. It may come after a later one: a request counts once its response has begun.
    fn add_use(&mut self, new: Use) {
        let after = self.uses.partition_point(|one| one.at <= new.at);
        if self.uses.get(after).is_some_and(|later| later.depth >= new.depth) {
            return;
        }
        let kept = self.uses[..after].partition_point(|one| one.depth > new.depth);
        self.uses.splice(kept..after, [new]);
    }
}

impl<'a> Prefixes<'a> {
    pub(super) fn new(paths: &'a Paths, places: EntryPlaces, lifetime: i64) -> Self {
        Self { paths, lifetime, places, stretches: FxHashMap::default() }
    }

    /// The longest prefix of a node that is found.
    pub(super) fn longest(&self, node: NodeId, owner: Owner, now: Millis) -> Option<NodeId> {
        self.paths.ends(node).find_map(|(node, piece)| {
            let stretch = self.stretches.get(&(piece.path, owner))?;
            match self.places {
                EntryPlaces::Everywhere => {
                    let live = stretch.live(self.lifetime, now)?;
                    Some(if live.depth < piece.depth { live.node } else { node })
                }
                EntryPlaces::RequestEnds => stretch.last_entry(piece.depth, self.lifetime, now),
            }
        })
    }

    /// Notes at `now` that a prefix was used at `at`.
    pub(super) fn refresh(&mut self, node: NodeId, owner: Owner, at: Millis, now: Millis) {
        self.note(node, owner, at, now, false);
    }

    /// Notes at `now` that a request that was sent at `at` left its prompt.
    pub(super) fn store(&mut self, node: NodeId, owner: Owner, at: Millis, now: Millis) {
        self.note(node, owner, at, now, true);
    }

    fn note(&mut self, end: NodeId, owner: Owner, at: Millis, now: Millis, is_stored: bool) {
        for (node, piece) in self.paths.ends(end) {
            let stretch = self.stretches.entry((piece.path, owner)).or_default();
            if self.places == EntryPlaces::RequestEnds {
                stretch.forget_dead(self.lifetime, now);
                if is_stored && node == end {
                    stretch.add_end(piece.depth, node);
                }
            }
            stretch.add_use(Use { depth: piece.depth, at, node });
        }
    }
}
