//! A request that is about to be sent: how far it may write, and for how long.

use super::cached::{Cached, Known};
use super::freedom::Freedom;
use super::prices::{Prices, Split};
use super::state::Action;
use super::thread::ThreadRequest;
use crate::base::basis::Basis;
use crate::base::units::{Picodollars, Tokens};
use crate::requests::prompt::{NodeId, Prompt};
use crate::simulate::cache::Reading;
use crate::simulate::strategy::run::Material;

/// A request that is about to be sent, with what is cached of it.
pub(super) struct Sending<'a> {
    known: Known<'a>,
    cached: Cached,
    read: Tokens,
    /// Whether what it writes after that may live for an hour.
    may_write_for_an_hour: bool,
    basis: Basis,
}

impl<'a> Sending<'a> {
    pub(super) fn new(
        material: Material<'a>,
        prompt: &'a Prompt,
        request: &ThreadRequest,
        before: Cached,
    ) -> Self {
        let known = Known { trace: material.trace, prompt };
        let common = |node| known.common(node, prompt.node);
        // No entry is shorter than what the model caches.
        let is_cached = |node: &NodeId| known.size(Some(*node)) >= prompt.minimum;
        let mut cached = Cached {
            end: common(before.end).filter(is_cached),
            hour: common(before.hour).filter(is_cached),
            ..before
        };
        if known.depth(request.shared) > known.depth(cached.end) {
            cached = Cached::free(request.shared);
        }
        if material.assumptions.reading == Reading::Literal {
            cached.hour = cached.end;
        }
        let found = known.size(cached.end).max(prompt.shared_prefix);
        let kept = prompt.broken_read().filter(|_| material.assumptions.keeps_breaks);
        let read = match (prompt.opening(), kept) {
            (Some(opening), _) => opening,
            (None, Some(broken)) => broken.min(found.max(prompt.system_prefix)),
            (None, None) => found,
        };
        let is_own = prompt.opening().is_none() && found > prompt.shared_prefix;
        let may_write_for_an_hour =
            !is_own || cached.is_all_for_an_hour() || known.size(cached.hour) >= read;
        let end_basis = cached.end.map(|end| material.trace.node(end).basis);
        let basis = end_basis.unwrap_or(prompt.shared_prefix_basis);
        let read = read.min(prompt.total);
        let cached = known.with_warm(cached, read);
        Self { known, cached, read, may_write_for_an_hour, basis }
    }

    /// How far it may write and for how long.
    pub(super) fn ways(
        &self,
        ends: &[NodeId],
        freedom: Freedom,
        prices: &Prices,
    ) -> Vec<(Cached, Picodollars, Action)> {
        let sized = ends.iter().map(|node| (*node, self.known.size(Some(*node))));
        let ends: Vec<(NodeId, Tokens)> =
            sized.filter(|(_, end)| *end >= self.known.prompt.minimum).collect();
        if ends.is_empty() {
            return vec![self.way(prices, self.cached, Split::default())];
        }
        let read = self.read;
        let least = self.known.size(freedom.least);
        let least = if least < self.known.prompt.minimum { Tokens::ZERO } else { least };
        let is_for_an_hour = self.cached.is_all_for_an_hour();
        let is_free = self.cached.end.is_none() || (is_for_an_hour && self.cached.is_hour_free);
        let goes_on = !freedom.may_change_ttl && !is_free;
        let mut ways = Vec::new();
        if read >= least || ends.iter().all(|(_, end)| *end < least) {
            ways.push(self.way(prices, self.cached, Split { read, hour: read, written: read }));
        }
        let worth_writing = ends.iter().copied().filter(|(_, end)| *end > read && *end >= least);
        for (node, written) in worth_writing {
            if !(goes_on && is_for_an_hour) {
                let cached = Cached { end: Some(node), ..self.cached };
                ways.push(self.way(prices, cached, Split { read, hour: read, written }));
            }
            let may_be_for_an_hour = self.may_write_for_an_hour && (!goes_on || is_for_an_hour);
            let first = if goes_on { written } else { Tokens::ZERO };
            let hours = ends.iter().filter(|(_, end)| *end > read && *end <= written);
            let hours = hours.filter(|(_, end)| may_be_for_an_hour && *end >= first);
            for (hour_node, hour) in hours.copied() {
                let cached = Cached { end: Some(node), hour: Some(hour_node), is_hour_free: false };
                ways.push(self.way(prices, cached, Split { read, hour, written }));
            }
        }
        ways
    }

    fn way(&self, prices: &Prices, cached: Cached, split: Split) -> (Cached, Picodollars, Action) {
        let cost = prices.prompt(split, self.known.prompt.total);
        (cached, cost, Action::Request(split, self.basis))
    }
}
