//! Time between two uses of the cache: what lives on, and what pings can keep alive.

use super::cached::{Cached, Known};
use super::prices::Prices;
use super::state::Action;
use crate::base::ttl::Ttl;
use crate::base::units::{Picodollars, Tokens};
use crate::requests::prompt::NodeId;

/// Pings between two requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pings {
    pub(super) count: i64,
    /// From one to the next, in milliseconds.
    pub(super) every: i64,
    /// From the request to where the first interval begins, in milliseconds.
    pub(super) delay: i64,
    pub(super) read: Tokens,
}

/// Time between two uses of the cache.
pub(super) struct Gap {
    /// In milliseconds.
    pub(super) length: i64,
    /// From the request before to its beginning, in milliseconds.
    pub(super) delay: i64,
    /// How long entries live beyond their TTL, in milliseconds.
    pub(super) grace: i64,
}

impl Gap {
    /// How many pings keep an entry alive: intervals have to be shorter than the TTL.
    fn pings(&self, ttl: Ttl) -> i64 {
        let longest = ttl.millis().saturating_add(self.grace).saturating_sub(1).max(1);
        self.length.saturating_sub(1).max(0) / longest
    }

    /// What may be cached at its end, and for what price: what lives on by itself, and what pings of
    /// one of several prefixes keep alive besides.
    pub(super) fn ways(
        &self,
        cached: Cached,
        prefixes: &[NodeId],
        known: &Known<'_>,
        prices: &Prices,
    ) -> Vec<(Cached, Picodollars, Action)> {
        let left = self.left(cached);
        let mut ways = vec![(left, Picodollars::ZERO, Action::Gap(None))];
        let own = cached.end.into_iter().chain(cached.hour);
        let mut pinged: Vec<NodeId> = prefixes.iter().copied().chain(own).collect();
        pinged.sort_unstable();
        pinged.dedup();
        pinged.retain(|prefix| {
            let depth = known.depth(Some(*prefix));
            depth > known.depth(left.end) && depth <= known.depth(cached.end)
        });
        ways.extend(pinged.into_iter().map(|prefix| {
            let is_for_an_hour = known.depth(Some(prefix)) <= known.depth(cached.hour);
            let ttl = if is_for_an_hour { Ttl::OneHour } else { Ttl::FiveMinutes };
            let (count, read) = (self.pings(ttl), known.size(Some(prefix)));
            let every = self.length / (count + 1);
            let pings = Pings { count, every, delay: self.delay, read };
            let hour = if is_for_an_hour { Some(prefix) } else { cached.hour };
            let kept = Cached { end: Some(prefix), hour, ..cached };
            (kept, prices.pings(count, read), Action::Gap(Some(pings)))
        }));
        ways
    }

    /// What lives on by itself.
    fn left(&self, cached: Cached) -> Cached {
        if self.pings(Ttl::FiveMinutes) == 0 {
            cached
        } else if self.pings(Ttl::OneHour) == 0 {
            Cached { end: cached.hour, ..cached }
        } else {
            Cached::default()
        }
    }
}
