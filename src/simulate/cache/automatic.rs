//! The trace under an automatic prefix cache → what each request reads, writes and sends in full.
//!
//! Such a cache needs no markers: the service keeps what was sent, and a request reads the longest
//! beginning that it shares with an earlier one of the same model and scope whose response has
//! begun, in whole steps, if it is long enough and not too long ago. A read starts its life anew.
//!
//! Two prompts share what lies before the deepest node that both pass, where blocks that begin with the
//! same bytes share a node inside of them ([`PromptTrace::split`]). Of a transcript that is where an earlier request's cached prefix ended: what stood after it is not known to come again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::outcome::Outcome;
use super::prefixes::{Owner, Prefixes};
use super::token_ratio::TokenRatio;
use crate::base::basis::Basis;
use crate::base::units::{Millis, Tokens};
use crate::requests::prompt::{NodeId, Prompt, PromptTrace};

/// The rules of an automatic prefix cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AutomaticCache {
    /// The shortest prefix that is stored and read.
    pub minimum: Tokens,
    /// Prefixes are stored and read in whole multiples of this.
    pub step: Tokens,
    /// How long after its last use a prefix is found, in milliseconds.
    pub lifetime: i64,
    /// Where entries stand.
    pub places: EntryPlaces,
    /// Whether what is stored has a price of its own.
    pub charges_writes: bool,
}

/// Where a cache has entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryPlaces {
    /// Behind every step of a prompt.
    Everywhere,
    /// Where a request's cached prefix ended: at its last message, or where it put a marker.
    RequestEnds,
}

/// What is simulated beside the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AutomaticPolicy {
    /// The rules.
    pub cache: AutomaticCache,
    /// Whether breaks that were recorded inside the TTL happen here, too.
    pub keeps_breaks: bool,
}

/// Applies the rules to every prompt, in order. `ratio` says how many tokens the provider counts
/// for those of a prompt.
#[must_use]
pub fn simulate_automatic(
    trace: &PromptTrace,
    policy: &AutomaticPolicy,
    ratio: impl Fn(&Prompt) -> TokenRatio,
) -> Vec<Outcome> {
    let AutomaticCache { places, lifetime, .. } = policy.cache;
    let split = trace.split();
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
    /// Prompts whose responses have not begun, by when they will.
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

    /// Stores the prompts whose responses have begun.
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

    /// The size of a prefix as the prompt knows it, in the trace's tokens: best at its own markers.
    fn prefix(&self, prompt: &Prompt, node: NodeId) -> Prefix {
        let own = self.trace.markers_of(prompt).iter().rfind(|marker| marker.node == node);
        let (tokens, basis) = own.map_or_else(
            || (self.trace.node(node).end, self.trace.node(node).basis),
            |marker| (marker.end, marker.basis),
        );
        Prefix { tokens: tokens.min(prompt.total), basis }
    }

    /// What a request finds, in the tokens of the trace: the rules' answer, except where the record
    /// alone can tell.
    fn readable(&self, prompt: &Prompt, found: Option<NodeId>) -> Prefix {
        let shared = Prefix { tokens: prompt.shared_prefix, basis: prompt.shared_prefix_basis };
        let found = found.map_or(shared, |node| {
            let found = self.prefix(prompt, node);
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

    /// A prefix as the provider counts and stores it; nothing if it is too short.
    fn whole_steps(&self, prefix: Prefix, ratio: TokenRatio) -> Prefix {
        let AutomaticCache { step, minimum, .. } = self.policy.cache;
        let tokens = ratio.of(prefix.tokens);
        let whole = Tokens(tokens.0 - tokens.0.checked_rem(step.0).unwrap_or(0));
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
