//! Cache entries: the stored prefixes, and the time until which each can be read.
//!
//! A read refreshes every live entry on its path. Entry by entry, that would walk to the root for
//! each request. So entries that were read together share a clock: a piece of a path keeps a
//! monotonic stack of reads ("everything down to depth 40 was read at 10:00") instead of a time for
//! each entry. An entry that no read has passed since it was written has its own clock.

use std::cell::Cell;

use rustc_hash::FxHashMap;

use crate::base::{Lifetimes, Millis, Symbol, Ttl};
use crate::requests::prompt::{NodeId, Paths};

/// Separate cache: entries are found only by requests and markers of the same partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Partition {
    pub(super) model: Symbol,
    /// Organisation or workspace; `None` for entries that all of them share.
    pub(super) scope: Option<Symbol>,
    /// Beta features, if they are part of the key.
    pub(super) betas: Option<u32>,
    /// Session, if sessions are kept apart.
    pub(super) session: Option<Symbol>,
    /// True if all scopes share the entries.
    pub(super) is_global: bool,
    /// TTL of the markers, if each TTL has its own entries.
    pub(super) ttl: Option<Ttl>,
}

/// Entry with its own clock.
#[derive(Clone, Copy, Debug)]
struct Fresh {
    ttl: Ttl,
    /// Start of the request that wrote the entry.
    written: Millis,
    /// Start of the first response to a request that wrote the entry.
    readable_from: Millis,
}

/// Entries of one TTL on a piece of a path that share clocks.
#[derive(Debug, Default)]
struct Shared {
    /// Depths in ascending order; a new entry is nearly always the deepest.
    depths: Vec<u32>,
    /// Reads as (depth, time), with falling depths and rising times.
    ///
    /// A read of a depth covers all depths before it, so an earlier read of a smaller depth is redundant.
    uses: Vec<(u32, Millis)>,
}

/// Entries of one partition on one path.
#[derive(Debug, Default)]
struct Stretch {
    /// Entries by depth, in ascending order.
    fresh: Vec<(u32, Fresh)>,
    five_minutes: Shared,
    one_hour: Shared,
}

/// Stored entries of all partitions.
#[derive(Debug)]
pub(super) struct Entries<'a> {
    paths: &'a Paths,
    clocks: Clocks,
    stretches: Vec<Stretch>,
    /// Index of the stretch of each path and partition.
    places: FxHashMap<(u32, Partition), usize>,
    /// Last lookup; the next one mostly has the same key.
    last: Cell<Option<((u32, Partition), usize)>>,
    has_global: bool,
}

/// Times for which entries are found after their last use.
#[derive(Clone, Copy, Debug)]
struct Clocks {
    lifetimes: Lifetimes,
    /// Time beyond the TTL, in milliseconds.
    grace: i64,
    /// Time beyond five minutes if it is more than `grace`, in milliseconds.
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

/// Finds a depth, or its insertion point, among ascending ones by galloping search from the end.
///
/// Long conversations have many depths, and the one sought is mostly near the end.
fn place_from_end(depths: &[u32], depth: u32) -> Result<usize, usize> {
    let mut reach = 1;
    while reach < depths.len() && depths[depths.len() - reach] > depth {
        reach *= 2;
    }
    let start = depths.len().saturating_sub(reach);
    depths[start..].binary_search(&depth).map(|place| start + place).map_err(|place| start + place)
}

impl Shared {
    /// Depth down to which entries are alive.
    fn live_down_to(&self, ttl: Ttl, clocks: Clocks, now: Millis) -> Option<u32> {
        let dead = self.uses.partition_point(|(_, used)| !clocks.is_alive(ttl, *used, now));
        self.uses.get(dead).map(|(depth, _)| *depth)
    }

    /// Drops dead entries, so that no later read revives them.
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

    /// Records a read of everything down to a depth.
    ///
    /// A background request may be recorded after a later one of another branch, so clocks never go back.
    fn note_use(&mut self, depth: u32, now: Millis) {
        // All entries of the stretch are deeper than the read, which therefore refreshes none.
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

    /// Longest TTL among the readable entries at a depth.
    fn readable(&self, depth: u32, clocks: Clocks, now: Millis) -> Option<Ttl> {
        let fresh = self.fresh_at(depth).filter(|entry| {
            entry.readable_from <= now && clocks.is_alive(entry.ttl, entry.written, now)
        });
        let is_live = |ttl, shared: &Shared| {
            place_from_end(&shared.depths, depth).is_ok()
                && shared.live_down_to(ttl, clocks, now).is_some_and(|live| depth <= live)
        };
        // The hour first: if entries of both lifetimes are alive, the longer one counts.
        let mut shared = self.shared().into_iter().rev();
        let shared = shared.find(|(ttl, shared)| is_live(*ttl, shared)).map(|(ttl, _)| ttl);
        fresh.map(|entry| entry.ttl).max(shared)
    }

    fn refresh(&mut self, depth: u32, clocks: Clocks, now: Millis) {
        for (ttl, shared) in self.shared_mut() {
            shared.forget_dead(ttl, clocks, now);
        }
        let end = self.fresh.partition_point(|(at, _)| *at <= depth);
        // From now on these share the clock of the read. Entries that died unread are dropped.
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

    /// Sets the grace of five-minute entries for the next request, in milliseconds.
    pub(super) fn set_grace_of_five_minutes(&mut self, grace: i64) {
        self.clocks.five_minutes = grace;
    }

    /// Index of the stretch of a path and partition, if any entry was stored there.
    fn place(&self, path: u32, partition: Partition) -> Option<usize> {
        let key = (path, partition);
        if let Some((_, place)) = self.last.get().filter(|(last, _)| *last == key) {
            return Some(place);
        }
        let place = *self.places.get(&key)?;
        self.last.set(Some((key, place)));
        Some(place)
    }

    /// Returns true if any entry is shared by all scopes.
    pub(super) fn has_global(&self) -> bool {
        self.has_global
    }

    /// TTL of the readable entry at a node, if there is one.
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

    /// Stores an entry if none is readable.
    ///
    /// Requests that write one prefix before it can be read keep the longer TTL, the later start,
    /// and the earlier time of readability.
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
