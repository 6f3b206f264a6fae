//! The trace under an automatic prefix cache → what each request reads, writes and sends in full.
//!
//! Such a cache needs no markers. The service keeps what was sent, and a request reads the longest
//! prefix that it shares with an earlier one of the same model and scope, in whole steps, if that
//! prefix is long enough, recent enough, and the response to the earlier request has begun. A read
//! restarts its life.
//!
//! Two prompts share what comes before the deepest node on both paths. Blocks that begin with the
//! same bytes share a node inside of them ([`PromptTrace::split`]). In a transcript the shared
//! prefix ends where an earlier request's cached prefix did, as nothing shows that the rest came
//! again.
//!
//! A use of a prefix is a use of everything before its end. So a piece of a path remembers uses
//! ("everything down to depth 40 was used at 10:00") instead of a clock for each node, and forgets
//! a use once a later one reaches as far. A request costs O(log nodes) steps.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use super::TokenRatio;
use super::outcome::Outcome;
use crate::base::id::Symbol;
use crate::base::units::{Basis, Millis, Tokens};
use crate::requests::prompt::{NodeId, Paths, Prompt, PromptTrace};

/// The rules of an automatic prefix cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AutomaticCache {
    /// The shortest prefix that is stored and read.
    pub minimum: Tokens,
    /// Prefixes are stored and read in whole multiples of this.
    pub step: Tokens,
    /// Where the multiples begin to count.
    pub offset: Tokens,
    /// The end of a prompt that no other one shares, although the trace takes all of it for shared: what the
    /// service puts in front of an answer.
    pub tail: Tokens,
    /// How long a prefix is found after its last use, in milliseconds.
    pub lifetime: i64,
    /// Where entries stand.
    pub places: EntryPlaces,
    /// Whether writes have a price of their own.
    pub charges_writes: bool,
}

/// Where a cache has entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryPlaces {
    /// After every step of a prompt.
    Everywhere,
    /// Where a request's cached prefix ended: at its last message, or at its marker.
    RequestEnds,
}

/// What is simulated, besides the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AutomaticPolicy {
    /// The rules.
    pub cache: AutomaticCache,
    /// Whether recorded breaks inside the TTL happen here, too.
    pub keeps_breaks: bool,
}

/// Applies the rules to every prompt, in order. `ratio` converts a prompt's tokens to those that
/// the provider counts.
#[must_use]
pub fn simulate_automatic(
    trace: &PromptTrace,
    policy: &AutomaticPolicy,
    ratio: impl Fn(&Prompt) -> TokenRatio,
) -> Vec<Outcome> {
    let AutomaticCache { places, lifetime, .. } = policy.cache;
    let split = trace.split();
    // Simulated over the split tree, and hits are mapped back to whole nodes of the original one.
    let trace = split.map_or(trace, |split| &split.trace);
    let prefixes = Prefixes::new(trace.paths(), places, lifetime);
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
    /// Prompts whose responses have not begun, by when they will begin.
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
            self.prefixes.store(background.node, owner, background.at, background.at);
        }
        self.store_begun(prompt.start);
        let found = self.read(prompt.node, owner, prompt.start);
        let stored = self.whole_steps(self.prefix(prompt, prompt.node), ratio);
        if stored.tokens > Tokens::ZERO {
            self.waiting.push(Reverse((prompt.readable_from, index)));
        }
        let read = self.whole_steps(self.readable(prompt, found), ratio);
        self.split(ratio.of(prompt.total), read, stored, found)
    }

    /// Stores the prompts whose responses have begun by now.
    fn store_begun(&mut self, now: Millis) {
        while let Some(Reverse((begun, index))) = self.waiting.peek().copied() {
            if begun > now {
                break;
            }
            self.waiting.pop();
            let prompt = &self.trace.prompts[index];
            self.prefixes.store(prompt.node, owner(prompt), prompt.start, begun);
        }
    }

    fn read(&mut self, node: NodeId, owner: Owner, now: Millis) -> Option<NodeId> {
        let found = self.prefixes.longest(node, owner, now)?;
        self.prefixes.refresh(found, owner, now, now);
        Some(found)
    }

    /// The size of a prefix as the prompt knows it, in the trace's tokens. Its own markers know
    /// best.
    fn prefix(&self, prompt: &Prompt, node: NodeId) -> Prefix {
        let own = self.trace.markers_of(prompt).iter().rfind(|marker| marker.node == node);
        let (tokens, basis) = own.map_or_else(
            || (self.trace.node(node).end, self.trace.node(node).basis),
            |marker| (marker.end, marker.basis),
        );
        Prefix { tokens: tokens.min(prompt.total), basis }
    }

    /// What a request finds, in the trace's tokens: what the rules say, save where only the record
    /// can tell.
    fn readable(&self, prompt: &Prompt, found: Option<NodeId>) -> Prefix {
        let shared = Prefix { tokens: prompt.shared_prefix, basis: prompt.shared_prefix_basis };
        let found = found.map_or(shared, |node| {
            let found = self.prefix(prompt, node);
            let tokens = found.tokens.saturating_sub(self.policy.cache.tail);
            let found = Prefix { tokens, ..found };
            if found.tokens >= shared.tokens { found } else { shared }
        });
        let broken = prompt.broken_read().filter(|_| self.policy.keeps_breaks);
        let read = match (prompt.opening(), broken) {
            (Some(opening), _) => Prefix { tokens: opening, basis: Basis::Derived },
            (None, Some(broken)) => {
                let most = found.tokens.max(prompt.system_prefix);
                Prefix { tokens: broken.min(most), basis: Basis::Estimated }
            }
            (None, None) => found,
        };
        Prefix { tokens: read.tokens.min(prompt.total), ..read }
    }

    /// A prefix as the provider counts and stores it, or nothing if it is too short.
    fn whole_steps(&self, prefix: Prefix, ratio: TokenRatio) -> Prefix {
        let AutomaticCache { step, offset, minimum, .. } = self.policy.cache;
        let tokens = ratio.of(prefix.tokens);
        let counted = tokens.saturating_sub(offset);
        let whole = Tokens(tokens.0 - counted.0.checked_rem(step.0).unwrap_or(0));
        let basis = if ratio == TokenRatio::ONE { prefix.basis } else { Basis::Estimated };
        let is_stored = whole >= minimum;
        if is_stored {
            Prefix { tokens: whole, basis }
        } else {
            Prefix { tokens: Tokens::ZERO, basis }
        }
    }

    fn split(&self, total: Tokens, read: Prefix, stored: Prefix, found: Option<NodeId>) -> Outcome {
        let is_charged = self.policy.cache.charges_writes;
        let written =
            if is_charged { stored.tokens.saturating_sub(read.tokens) } else { Tokens::ZERO };
        let input = total.saturating_sub(read.tokens + written);
        let found = found.filter(|_| read.tokens > Tokens::ZERO);
        let basis = if written > Tokens::ZERO { read.basis.max(stored.basis) } else { read.basis };
        Outcome { read: read.tokens, written, input, basis, found, ..Outcome::default() }
    }
}

fn owner(prompt: &Prompt) -> Owner {
    Owner { model: prompt.model, scope: prompt.scope }
}

/// The owner of a cache: prefixes are found only by requests of the same model and scope.
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
    /// Times rise and depths fall: an earlier use that reached less far is redundant.
    uses: Vec<Use>,
    /// The depths where requests ended. Empty where entries stand everywhere.
    ends: Vec<(u32, NodeId)>,
}

/// The prefixes in a cache.
#[derive(Debug)]
pub(super) struct Prefixes<'a> {
    paths: &'a Paths,
    /// How long a prefix is found after its last use, in milliseconds.
    lifetime: i64,
    places: EntryPlaces,
    stretches: FxHashMap<(u32, Owner), Stretch>,
}

impl Stretch {
    /// The deepest use that is still alive.
    fn live(&self, lifetime: i64, now: Millis) -> Option<Use> {
        let dead = self.uses.partition_point(|one| now.since(one.at) >= lifetime);
        self.uses.get(dead).copied()
    }

    /// The last live entry down to a depth.
    fn last_entry(&self, depth: u32, lifetime: i64, now: Millis) -> Option<NodeId> {
        let reach = self.live(lifetime, now)?.depth.min(depth);
        let after = self.ends.partition_point(|(end, _)| *end <= reach);
        self.ends[..after].last().map(|(_, node)| *node)
    }

    /// Forgets dead entries, so that no later use revives them.
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

    /// Records a use. It may come after a later one, as a request counts only once its response has
    /// begun.
    fn add_use(&mut self, new: Use) {
        let after = self.uses.partition_point(|one| one.at <= new.at);
        if self.uses.get(after).is_some_and(|later| later.depth >= new.depth) {
            return;
        }
        // Earlier uses that reached no further are redundant now.
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

    /// Records at `now` that a prefix was used at `at`.
    pub(super) fn refresh(&mut self, node: NodeId, owner: Owner, at: Millis, now: Millis) {
        self.note(node, owner, at, now, false);
    }

    /// Records at `now` that a request sent at `at` stored its prompt.
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
