//! The cache entries: which prefixes are stored, and until when each can be read.
//!
//! A read refreshes every live entry on its path. Doing that entry by entry would walk to the root
//! for each request. So entries that were read together share a clock: a piece of a path remembers
//! reads ("everything down to depth 40 was read at 10:00") instead of a time for each entry. An
//! entry that no read has passed since it was written has its own clock.

use std::cell::Cell;

use rustc_hash::FxHashMap;

use crate::base::id::Symbol;
use crate::base::ttl::{Lifetimes, Ttl};
use crate::base::units::Millis;
use crate::requests::prompt::{NodeId, Paths};

/// A separate cache: entries are found only by requests and markers of the same partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Partition {
    pub(super) model: Symbol,
    /// The organisation or workspace. `None` for entries that all of them share.
    pub(super) scope: Option<Symbol>,
    /// The beta features, where they are part of the key.
    pub(super) betas: Option<u32>,
    /// The session, where sessions are kept apart.
    pub(super) session: Option<Symbol>,
    /// Whether all scopes share its entries.
    pub(super) is_global: bool,
    /// The TTL of the markers, where each TTL has its own entries.
    pub(super) ttl: Option<Ttl>,
}

/// An entry with its own clock.
#[derive(Clone, Copy, Debug)]
struct Fresh {
    ttl: Ttl,
    /// The start of the request that wrote it.
    written: Millis,
    /// When the first response to a request that wrote it began.
    readable_from: Millis,
}

/// The entries of one TTL on a piece of a path that share clocks.
#[derive(Debug, Default)]
struct Shared {
    /// In ascending order. A new entry is nearly always the deepest.
    depths: Vec<u32>,
    /// Reads as (depth, time), with falling depths and rising times. A read of a depth covers all
    /// depths before it, so an earlier read of a smaller depth is redundant.
    uses: Vec<(u32, Millis)>,
}

/// The entries of one partition on one path.
#[derive(Debug, Default)]
struct Stretch {
    /// By depth, in ascending order.
    fresh: Vec<(u32, Fresh)>,
    five_minutes: Shared,
    one_hour: Shared,
}

/// The stored entries.
#[derive(Debug)]
pub(super) struct Entries<'a> {
    paths: &'a Paths,
    clocks: Clocks,
    stretches: Vec<Stretch>,
    /// The index of the stretch of each path and partition.
    places: FxHashMap<(u32, Partition), usize>,
    /// The last lookup. The next one mostly has the same key.
    last: Cell<Option<((u32, Partition), usize)>>,
    has_global: bool,
}

/// How long an entry is found after its last use.
#[derive(Clone, Copy, Debug)]
struct Clocks {
    lifetimes: Lifetimes,
    /// How long beyond its TTL, in milliseconds.
    grace: i64,
    /// How long beyond five minutes, if that is more.
    five_minutes: i64,
}

impl Clocks {
    #[inline]
    fn is_alive(self, ttl: Ttl, last_used: Millis, now: Millis) -> bool {
        let grace = match ttl {
            Ttl::FiveMinutes => self.grace.max(self.five_minutes),
            Ttl::OneHour => self.grace,
        };
        now.since(last_used) < self.lifetimes.of(ttl).saturating_add(grace)
    }
}

/// Finds a depth, or the place where it belongs, among ascending ones. It searches from the end,
/// where the depth mostly is, as long conversations have many.
fn place_from_end(depths: &[u32], depth: u32) -> Result<usize, usize> {
    let mut reach = 1;
    while reach < depths.len() && depths[depths.len() - reach] > depth {
        reach *= 2;
    }
    let start = depths.len().saturating_sub(reach);
    depths[start..].binary_search(&depth).map(|place| start + place).map_err(|place| start + place)
}

impl Shared {
    /// The depth down to which entries are alive.
    fn live_down_to(&self, ttl: Ttl, clocks: Clocks, now: Millis) -> Option<u32> {
        let dead = self.uses.partition_point(|(_, used)| !clocks.is_alive(ttl, *used, now));
        self.uses.get(dead).map(|(depth, _)| *depth)
    }

    /// Forgets what has died, so that no later read revives it.
    fn forget_dead(&mut self, ttl: Ttl, clocks: Clocks, now: Millis) {
        if let Some(live) = self.live_down_to(ttl, clocks, now) {
            let alive =
                place_from_end(&self.depths, live).map_or_else(|place| place, |live| live + 1);
            self.depths.truncate(alive);
        } else {
            self.depths.clear();
            self.uses.clear();
        }
    }

    fn insert(&mut self, depth: u32) {
        if let Err(place) = place_from_end(&self.depths, depth) {
            self.depths.insert(place, depth);
        }
    }

    /// Records a read of everything down to a depth. A background request may be recorded after a
    /// later one of another branch, so clocks never go back.
    fn note_use(&mut self, depth: u32, now: Millis) {
        // The stretch holds nothing so far up that the read would refresh.
        if self.depths.first().is_none_or(|first| *first > depth) {
            return;
        }
        let now = self.uses.last().map_or(now, |(_, used)| now.max(*used));
        while self.uses.last().is_some_and(|(earlier, _)| *earlier <= depth) {
            self.uses.pop();
        }
        self.uses.push((depth, now));
    }
}

impl Stretch {
    fn shared(&self) -> [(Ttl, &Shared); 2] {
        [(Ttl::FiveMinutes, &self.five_minutes), (Ttl::OneHour, &self.one_hour)]
    }

    fn shared_mut(&mut self) -> [(Ttl, &mut Shared); 2] {
        [(Ttl::FiveMinutes, &mut self.five_minutes), (Ttl::OneHour, &mut self.one_hour)]
    }

    fn fresh_at(&self, depth: u32) -> Option<&Fresh> {
        let place = self.fresh.binary_search_by_key(&depth, |(depth, _)| *depth).ok()?;
        Some(&self.fresh[place].1)
    }

    fn set_fresh(&mut self, depth: u32, entry: Fresh) {
        match self.fresh.binary_search_by_key(&depth, |(depth, _)| *depth) {
            Ok(place) => self.fresh[place].1 = entry,
            Err(place) => self.fresh.insert(place, (depth, entry)),
        }
    }

    /// The longest TTL among the readable entries at a depth.
    fn readable(&self, depth: u32, clocks: Clocks, now: Millis) -> Option<Ttl> {
        let fresh = self.fresh_at(depth).filter(|entry| {
            entry.readable_from <= now && clocks.is_alive(entry.ttl, entry.written, now)
        });
        let is_live = |ttl, shared: &Shared| {
            place_from_end(&shared.depths, depth).is_ok()
                && shared.live_down_to(ttl, clocks, now).is_some_and(|live| depth <= live)
        };
        let mut shared = self.shared().into_iter().rev();
        let shared = shared.find(|(ttl, shared)| is_live(*ttl, shared)).map(|(ttl, _)| ttl);
        fresh.map(|entry| entry.ttl).max(shared)
    }

    fn refresh(&mut self, depth: u32, clocks: Clocks, now: Millis) {
        for (ttl, shared) in self.shared_mut() {
            shared.forget_dead(ttl, clocks, now);
        }
        let end = self.fresh.partition_point(|(at, _)| *at <= depth);
        // From now on these share the clock of the read. Those that died unread are dropped.
        for (at, entry) in self.fresh.extract_if(..end, |(_, entry)| entry.readable_from <= now) {
            if clocks.is_alive(entry.ttl, entry.written, now) {
                match entry.ttl {
                    Ttl::FiveMinutes => self.five_minutes.insert(at),
                    Ttl::OneHour => self.one_hour.insert(at),
                }
            }
        }
        for (_, shared) in self.shared_mut() {
            shared.note_use(depth, now);
        }
    }
}

impl<'a> Entries<'a> {
    /// Creates an empty cache whose entries are found for `grace` milliseconds beyond their TTL.
    pub(super) fn new(paths: &'a Paths, lifetimes: Lifetimes, grace: i64) -> Self {
        Self {
            paths,
            clocks: Clocks { lifetimes, grace, five_minutes: 0 },
            stretches: Vec::new(),
            places: FxHashMap::default(),
            last: Cell::new(None),
            has_global: false,
        }
    }

    /// Sets for the next request how many milliseconds entries for five minutes are found beyond them.
    pub(super) fn set_grace_of_five_minutes(&mut self, grace: i64) {
        self.clocks.five_minutes = grace;
    }

    /// The index of the stretch of a path and partition, if any entry was stored there.
    fn place(&self, path: u32, partition: Partition) -> Option<usize> {
        let key = (path, partition);
        if let Some((_, place)) = self.last.get().filter(|(last, _)| *last == key) {
            return Some(place);
        }
        let place = *self.places.get(&key)?;
        self.last.set(Some((key, place)));
        Some(place)
    }

    /// Whether any entry is shared by all scopes.
    pub(super) fn has_global(&self) -> bool {
        self.has_global
    }

    /// The TTL of the entry at a node, if there is a readable one.
    pub(super) fn readable(&self, node: NodeId, partition: Partition, now: Millis) -> Option<Ttl> {
        let place = self.paths.place(node);
        let stretch = self.place(place.path, partition)?;
        self.stretches[stretch].readable(place.depth, self.clocks, now)
    }

    /// Records a read of a prefix, which refreshes every readable entry on its path.
    pub(super) fn refresh(&mut self, node: NodeId, partition: Partition, now: Millis) {
        for piece in self.paths.pieces(node) {
            if let Some(stretch) = self.place(piece.path, partition) {
                self.stretches[stretch].refresh(piece.depth, self.clocks, now);
            }
        }
    }

    /// Stores an entry where none is readable. Requests that write one prefix before it can be read
    /// keep the longer TTL, the later start, and the earlier time of readability.
    pub(super) fn store(
        &mut self,
        node: NodeId,
        partition: Partition,
        ttl: Ttl,
        now: Millis,
        readable_from: Millis,
    ) {
        self.has_global |= partition.is_global;
        let place = self.paths.place(node);
        let clocks = self.clocks;
        let stretch = self.place(place.path, partition).unwrap_or_else(|| {
            self.stretches.push(Stretch::default());
            self.places.insert((place.path, partition), self.stretches.len() - 1);
            self.stretches.len() - 1
        });
        let stretch = &mut self.stretches[stretch];
        let entry = match stretch.fresh_at(place.depth) {
            Some(sibling) if clocks.is_alive(sibling.ttl, sibling.written, now) => Fresh {
                ttl: ttl.max(sibling.ttl),
                written: now.max(sibling.written),
                readable_from: readable_from.min(sibling.readable_from),
            },
            _ => Fresh { ttl, written: now, readable_from },
        };
        stretch.set_fresh(place.depth, entry);
    }
}
