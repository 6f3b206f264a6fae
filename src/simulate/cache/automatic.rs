//! Simulation of a trace under an automatic prefix cache: tokens that each request reads, writes
//! and sends in full.
//!
//! Such a cache needs no markers. The service keeps what was sent, and a request reads the longest
//! prefix that it shares with an earlier one of the same model and scope, in whole steps, if that
//! prefix is long enough, recent enough, and the response to the earlier request has begun. A read
//! restarts its life.
//!
//! Two prompts share everything before the deepest node on both paths. Blocks that begin with the
//! same bytes share a node inside of them ([`PromptTrace::split`]). In a transcript the shared
//! prefix ends at the end of an earlier request's cached prefix, as nothing shows that the rest
//! came again.
//!
//! A use of a prefix is a use of everything before its end. So a piece of a path keeps a monotonic
//! stack of uses ("everything down to depth 40 was used at 10:00") instead of a clock for each
//! node, and drops a use once a later one reaches as far. A request costs O(log nodes) steps.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use super::TokenRatio;
use super::outcome::Outcome;
use crate::base::{Basis, Millis, Symbol, Tokens};
use crate::requests::prompt::{Counting, NodeId, Paths, Prompt, PromptTrace};

/// Rules of an automatic prefix cache; writes are free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AutomaticCache {
    /// Steps, minimum and offsets by which prefixes are counted.
    pub counting: Counting,
    /// Time for which a prefix is found after its last use, in milliseconds.
    pub lifetime: i64,
}

/// Input of the simulation besides the trace: the rules, and the treatment of recorded breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AutomaticPolicy {
    /// Rules of the service.
    pub cache: AutomaticCache,
    /// Keeps recorded breaks inside the TTL.
    pub keeps_breaks: bool,
}

/// Applies the rules to every prompt, in order; `ratio` converts a prompt's tokens to the provider's.
pub fn simulate_automatic(
    trace: &PromptTrace,
    policy: &AutomaticPolicy,
    ratio: impl Fn(&Prompt) -> TokenRatio,
) -> Vec<Outcome> {
    let split = trace.split();
    // Simulated over the split tree, and hits are mapped back to whole nodes of the original one.
    let trace = split.map_or(trace, |split| &split.trace);
    let prefixes = Prefixes::new(trace.paths(), policy.cache.lifetime);
    let mut run = Run { trace, policy, prefixes, waiting: BinaryHeap::new() };
    let outcome = |(index, prompt)| {
        let outcome = run.request(index, prompt, ratio(prompt));
        let whole = |node| split.map_or(Some(node), |split| split.whole(node));
        Outcome { found: outcome.found.and_then(whole), ..outcome }
    };
    trace.prompts.iter().enumerate().map(outcome).collect()
}

struct Run<'a> {
    trace: &'a PromptTrace,
    policy: &'a AutomaticPolicy,
    prefixes: Prefixes<'a>,
    /// Prompts whose responses have not begun, as a min-heap by the time of the response's first byte.
    waiting: BinaryHeap<Reverse<(Millis, usize)>>,
}

/// The length of a prefix.
#[derive(Clone, Copy, Default)]
struct Prefix {
    tokens: Tokens,
    basis: Basis,
}

impl Run<'_> {
    fn request(&mut self, index: usize, prompt: &Prompt, ratio: TokenRatio) -> Outcome {
        let owner = owner(prompt);
        if let Some(background) = prompt.background() {
            self.store_begun(background.at);
            self.read(background.node, owner, background.at);
            self.prefixes.note(background.node, owner, background.at);
        }
        self.store_begun(prompt.start);
        let found = self.read(prompt.node, owner, prompt.start);
        let stored = self.whole_steps(self.prefix(prompt, prompt.node), ratio);
        // A prompt below the minimum leaves nothing to find. Others wait, as a prefix is found only
        // once its response begins.
        if stored.tokens > Tokens::ZERO {
            self.waiting.push(Reverse((prompt.readable_from, index)));
        }
        let Prefix { tokens: read, basis } = self.whole_steps(self.readable(prompt, found), ratio);
        let input = ratio.of(prompt.total).saturating_sub(read);
        let found = found.filter(|_| read > Tokens::ZERO);
        Outcome { read, input, basis, found, ..Outcome::default() }
    }

    /// Stores the prompts whose responses have begun by now.
    fn store_begun(&mut self, now: Millis) {
        while let Some(Reverse((begun, index))) = self.waiting.peek().copied() {
            if begun > now {
                break;
            }
            self.waiting.pop();
            let prompt = &self.trace.prompts[index];
            self.prefixes.note(prompt.node, owner(prompt), prompt.start);
        }
    }

    fn read(&mut self, node: NodeId, owner: Owner, now: Millis) -> Option<NodeId> {
        let found = self.prefixes.longest(node, owner, now)?;
        self.prefixes.note(found, owner, now);
        Some(found)
    }

    /// Size of a prefix for a prompt, in the trace's tokens.
    ///
    /// The prompt's own markers are more exact than the tree.
    // The request's usage gives the sizes at its markers; a node has the sizes of the first request
    // through it.
    fn prefix(&self, prompt: &Prompt, node: NodeId) -> Prefix {
        let own = self.trace.markers_of(prompt).iter().rfind(|marker| marker.node == node);
        let (tokens, basis) = own.map_or_else(
            || (self.trace.node(node).end, self.trace.node(node).basis),
            |marker| (marker.end, marker.basis),
        );
        Prefix { tokens: tokens.min(prompt.total), basis }
    }

    /// Tokens that a request finds, in the trace's tokens: by the rules, except for openings and
    /// breaks, which only the record shows.
    fn readable(&self, prompt: &Prompt, found: Option<NodeId>) -> Prefix {
        let shared = Prefix { tokens: prompt.shared_prefix, basis: prompt.shared_prefix_basis };
        let found = found.map_or(shared, |node| {
            let found = self.prefix(prompt, node);
            // The end of a prompt that the service puts after it does not come back.
            let tokens = found.tokens.saturating_sub(self.policy.cache.counting.tail);
            let found = Prefix { tokens, ..found };
            if found.tokens >= shared.tokens { found } else { shared }
        });
        let broken = prompt.broken_read().filter(|_| self.policy.keeps_breaks);
        let read = match (prompt.opening(), broken) {
            // The first request of a chain reads entries from outside of it, so its read is taken
            // from the record.
            (Some(opening), _) => Prefix { tokens: opening, basis: Basis::Derived },
            (None, Some(broken)) => {
                let most = found.tokens.max(prompt.system_prefix);
                Prefix { tokens: broken.min(most), basis: Basis::Estimated }
            }
            (None, None) => found,
        };
        Prefix { tokens: read.tokens.min(prompt.total), ..read }
    }

    /// Prefix as the provider counts and stores it; zero tokens if it is too short.
    fn whole_steps(&self, prefix: Prefix, ratio: TokenRatio) -> Prefix {
        let tokens = self.policy.cache.counting.stored(ratio.of(prefix.tokens));
        let basis = if ratio == TokenRatio::ONE { prefix.basis } else { Basis::Estimated };
        Prefix { tokens, basis }
    }
}

fn owner(prompt: &Prompt) -> Owner {
    Owner { model: prompt.model, scope: prompt.scope }
}

/// Owner of a cache: prefixes are found only by requests of the same model and scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Owner {
    pub(super) model: Symbol,
    pub(super) scope: Option<Symbol>,
}

/// Use of everything on a path down to a node.
#[derive(Clone, Copy, Debug)]
struct Use {
    depth: u32,
    at: Millis,
    node: NodeId,
}

/// Uses by one owner on one path, with rising times and falling depths: an earlier use that reached
/// less far is redundant.
#[derive(Debug, Default)]
struct Stretch(Vec<Use>);

/// Prefixes in a cache.
#[derive(Debug)]
pub(super) struct Prefixes<'a> {
    paths: &'a Paths,
    /// Time for which a prefix is found after its last use, in milliseconds.
    lifetime: i64,
    stretches: FxHashMap<(u32, Owner), Stretch>,
}

impl Stretch {
    /// Deepest use that is still alive, by binary search.
    fn live(&self, lifetime: i64, now: Millis) -> Option<Use> {
        let dead = self.0.partition_point(|one| now.since(one.at) >= lifetime);
        self.0.get(dead).copied()
    }

    /// Records a use; uses may arrive out of order, as a request counts only once its response has begun.
    fn add_use(&mut self, new: Use) {
        let after = self.0.partition_point(|one| one.at <= new.at);
        if self.0.get(after).is_some_and(|later| later.depth >= new.depth) {
            return;
        }
        // Earlier uses that reached no further are redundant now.
        let kept = self.0[..after].partition_point(|one| one.depth > new.depth);
        self.0.splice(kept..after, [new]);
    }
}

impl<'a> Prefixes<'a> {
    pub(super) fn new(paths: &'a Paths, lifetime: i64) -> Self {
        Self { paths, lifetime, stretches: FxHashMap::default() }
    }

    /// Longest prefix of a node that is found.
    pub(super) fn longest(&self, node: NodeId, owner: Owner, now: Millis) -> Option<NodeId> {
        // From the end of the path towards the root: the first piece with a live use has the deepest one.
        self.paths.ends(node).find_map(|(node, piece)| {
            let stretch = self.stretches.get(&(piece.path, owner))?;
            let live = stretch.live(self.lifetime, now)?;
            Some(if live.depth < piece.depth { live.node } else { node })
        })
    }

    /// Records the use of a prefix, with everything in front of its end.
    pub(super) fn note(&mut self, end: NodeId, owner: Owner, at: Millis) {
        for (node, piece) in self.paths.ends(end) {
            let stretch = self.stretches.entry((piece.path, owner)).or_default();
            stretch.add_use(Use { depth: piece.depth, at, node });
        }
    }
}
