//! The cache entries of one organisation: which prefixes are stored, and when each was last used.
//!
//! A read refreshes every live entry on its path. Doing that entry by entry would cost a walk to
//! the root for each request, so entries that are read together share a clock: a *run* is a piece
//! of a path, written step by step with one TTL, and remembers its uses instead of its entries'.

use rustc_hash::FxHashMap;

use crate::id::Symbol;
use crate::prompt::{NodeId, Ttl};
use crate::units::Millis;

/// How many runs a path is followed up. A run ends where a conversation branches, expires or
/// changes its TTL. Entries that lie further back are long dead in any real session; the limit
/// keeps hostile ones linear.
const LONGEST_PATH: usize = 64;

/// Where an entry stands in its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    run: usize,
    position: usize,
    model: Symbol,
    /// The session that wrote it.
    pub(super) session: Symbol,
}

#[derive(Debug)]
struct Run {
    /// The TTL and the grace on top of it, in milliseconds.
    lifetime: i64,
    /// The position of the last entry.
    tip: usize,
    /// The entry that the first one extends.
    parent: Option<Place>,
    /// Uses: (position, time), positions falling and times rising. A use of a position is one of
    /// all positions before it, so an earlier use of an earlier position tells nothing.
    uses: Vec<(usize, Millis)>,
}

impl Run {
    /// The last position that is alive; all before it are, too.
    fn live_up_to(&self, now: Millis) -> Option<usize> {
        let dead = self.uses.partition_point(|(_, used)| !is_alive(*used, self.lifetime, now));
        self.uses.get(dead).map(|(position, _)| *position)
    }

    /// A background request may be noted after a later one of another branch; no clock goes back.
    fn use_at(&mut self, position: usize, now: Millis) {
        let now = self.uses.last().map_or(now, |(_, used)| now.max(*used));
        while self.uses.last().is_some_and(|(earlier, _)| *earlier <= position) {
            self.uses.pop();
        }
        self.uses.push((position, now));
    }
}

/// The stored entries.
#[derive(Debug, Default)]
pub(super) struct Entries {
    /// How long entries are found beyond their TTL, in milliseconds.
    grace: i64,
    places: FxHashMap<NodeId, Place>,
    runs: Vec<Run>,
    systems: FxHashMap<SystemKey, SystemEntry>,
}

/// The entry at the end of a conversation's system prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct SystemKey {
    pub(super) node: NodeId,
    pub(super) model: Symbol,
    /// The session, where sessions are taken apart.
    pub(super) session: Option<Symbol>,
}

#[derive(Clone, Copy, Debug)]
struct SystemEntry {
    lifetime: i64,
    last_used: Millis,
}

/// Who writes an entry, and how.
#[derive(Clone, Copy, Debug)]
pub(super) struct Write {
    pub(super) node: NodeId,
    pub(super) model: Symbol,
    pub(super) session: Symbol,
    pub(super) ttl: Ttl,
    pub(super) at: Millis,
}

fn is_alive(last_used: Millis, lifetime: i64, now: Millis) -> bool {
    now.since(last_used) < lifetime
}

impl Entries {
    /// An empty cache whose entries are found for `grace` milliseconds beyond their TTL.
    pub(super) fn new(grace: i64) -> Self {
        Self { grace, ..Self::default() }
    }

    fn lifetime(&self, ttl: Ttl) -> i64 {
        ttl.millis().saturating_add(self.grace)
    }

    /// The entry at a node, if the model can read one there now.
    pub(super) fn live(&self, node: NodeId, model: Symbol, now: Millis) -> Option<Place> {
        let place = *self.places.get(&node)?;
        (place.model == model && self.is_place_alive(place, now)).then_some(place)
    }

    /// The entry at a node, whoever wrote it and whether it is alive or not.
    pub(super) fn written(&self, node: NodeId) -> Option<Place> {
        self.places.get(&node).copied()
    }

    /// The entry of a model at a node, alive or not.
    pub(super) fn written_for(&self, node: NodeId, model: Symbol) -> Option<Place> {
        self.written(node).filter(|place| place.model == model)
    }

    fn is_place_alive(&self, place: Place, now: Millis) -> bool {
        self.runs[place.run].live_up_to(now).is_some_and(|live| place.position <= live)
    }

    /// Stores an entry behind `before`, the nearest one on its path, and refreshes what is alive
    /// there.
    ///
    /// With `shares_sessions` false a session does not keep the entries of another one alive.
    pub(super) fn write(&mut self, write: Write, before: Option<Place>, shares_sessions: bool) {
        let parent = before.filter(|before| shares_sessions || before.session == write.session);
        let lifetime = self.lifetime(write.ttl);
        let is_alive = |place: &Place| self.is_place_alive(*place, write.at);
        let place = match parent {
            Some(hit) if self.continues(hit, lifetime) && is_alive(&hit) => {
                self.runs[hit.run].tip += 1;
                Self::place(hit.run, hit.position + 1, &write)
            }
            parent => {
                self.runs.push(Run { lifetime, tip: 0, parent, uses: Vec::new() });
                Self::place(self.runs.len() - 1, 0, &write)
            }
        };
        self.places.insert(write.node, place);
        self.touch(place, write.at);
    }

    fn continues(&self, hit: Place, lifetime: i64) -> bool {
        let run = &self.runs[hit.run];
        run.tip == hit.position && run.lifetime == lifetime
    }

    fn place(run: usize, position: usize, write: &Write) -> Place {
        Place { run, position, model: write.model, session: write.session }
    }

    /// Notes the use of an entry that was just written and, with it, of every live entry before
    /// it.
    fn touch(&mut self, written: Place, now: Millis) {
        self.runs[written.run].use_at(written.position, now);
        let mut next = self.runs[written.run].parent;
        for _ in 0..LONGEST_PATH {
            let Some(place) = next else { break };
            let run = &mut self.runs[place.run];
            if let Some(live) = run.live_up_to(now) {
                run.use_at(live.min(place.position), now);
            }
            next = run.parent;
        }
    }

    /// Whether a conversation's system prompt is readable now.
    pub(super) fn is_system_live(&self, key: SystemKey, now: Millis) -> bool {
        self.systems.get(&key).is_some_and(|entry| is_alive(entry.last_used, entry.lifetime, now))
    }

    /// Stores or refreshes the entry of a system prompt. An entry keeps the TTL it was written
    /// with as long as it lives.
    pub(super) fn use_system(&mut self, key: SystemKey, ttl: Ttl, now: Millis) {
        let entry = match self.systems.get(&key) {
            Some(entry) if is_alive(entry.last_used, entry.lifetime, now) => {
                SystemEntry { lifetime: entry.lifetime, last_used: now.max(entry.last_used) }
            }
            _ => SystemEntry { lifetime: self.lifetime(ttl), last_used: now },
        };
        self.systems.insert(key, entry);
    }
}
