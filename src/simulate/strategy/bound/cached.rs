//! What is cached of a thread's latest prompt, and how a request sees it.

use crate::base::units::Tokens;
use crate::requests::prompt::{NodeId, Prompt, PromptTrace};
use crate::simulate::cache::Reading;

/// What is cached of a thread's latest prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Cached {
    /// Down to where.
    pub(super) end: Option<NodeId>,
    /// Down to where for an hour; never after `end`.
    pub(super) hour: Option<NodeId>,
    /// Whether nothing was paid for that hour, so that what is written after it need not be for an
    /// hour, too.
    pub(super) is_hour_free: bool,
}

impl Cached {
    /// An entry for an hour that nobody paid for.
    pub(super) fn free(end: Option<NodeId>) -> Self {
        Self { end, hour: end, is_hour_free: true }
    }

    /// Whether all of it lives for an hour.
    pub(super) fn is_all_for_an_hour(&self) -> bool {
        self.hour == self.end
    }
}

/// Prefixes as a request knows them.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    pub(super) trace: &'a PromptTrace,
    pub(super) prompt: &'a Prompt,
}

impl Known<'_> {
    pub(super) fn size(&self, node: Option<NodeId>) -> Tokens {
        let Some(node) = node else { return Tokens::ZERO };
        let own = self.trace.markers_of(self.prompt).iter().find(|marker| marker.node == node);
        own.map_or(self.trace.end_in(self.prompt, node), |marker| marker.end).min(self.prompt.total)
    }

    pub(super) fn depth(&self, node: Option<NodeId>) -> u32 {
        depth(self.trace, node)
    }

    /// What is cached once a request has read so much: it may mark what others had kept warm, which
    /// stores an entry for an hour free of charge.
    pub(super) fn with_warm(&self, cached: Cached, read: Tokens) -> Cached {
        if read <= self.size(cached.end) {
            return cached;
        }
        let is_read = |node| self.size(Some(node)) <= read;
        let warm = self.trace.last_on_the_way(self.prompt.node, is_read);
        if self.depth(warm) > self.depth(cached.end) { Cached::free(warm) } else { cached }
    }

    /// What a prefix has in common with one that ends at a node.
    pub(super) fn common(&self, prefix: Option<NodeId>, node: NodeId) -> Option<NodeId> {
        prefix.and_then(|prefix| self.trace.common(prefix, node))
    }
}

/// How many blocks a prefix has, and one more; none has nothing.
pub(super) fn depth(trace: &PromptTrace, node: Option<NodeId>) -> u32 {
    node.map_or(0, |node| trace.node(node).blocks + 1)
}

/// What is cached after a background request that ends at a node.
pub(super) fn extended(known: Known<'_>, cached: Cached, node: NodeId, reading: Reading) -> Cached {
    let end = known.common(cached.end, node);
    let hour = known.common(cached.hour, node);
    let is_found = end.is_some() && known.size(end) >= known.prompt.shared_prefix;
    let is_for_an_hour = !is_found || hour == end || reading == Reading::Literal;
    if is_for_an_hour {
        Cached::free(Some(node))
    } else {
        Cached { end: Some(node), hour, ..cached }
    }
}
