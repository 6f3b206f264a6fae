//! Contexts that a client stores at a service, as Gemini's explicit caches.
//!
//! Storing a prefix costs its tokens as input, and keeping it costs by token and hour. A request that names it reads
//! all of it, and sends the rest in full. A stored context cannot grow: a longer one is stored anew, as a whole. It lives
//! until a time that its client sets, and may set anew at every use.

use super::outcome::Outcome;
use crate::base::units::{Millis, Tokens};
use crate::requests::prompt::{Counting, NodeId, Prompt, PromptTrace};

/// A service that stores contexts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredCache {
    /// How prefixes are counted.
    pub counting: Counting,
    /// How long a context lives that nobody asked to live longer, in milliseconds.
    pub lifetime: i64,
}

/// What a client stores: in each conversation one context, which ends with a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Storing {
    /// How long it lives after its last use, in milliseconds.
    pub lifetime: i64,
    /// How many tokens a prompt may have after it, before it is replaced by all of that prompt. `None` for as many as
    /// there are.
    pub most_after: Option<Tokens>,
}

impl StoredCache {
    /// What a client does that stores the beginning of each conversation, for as long as nobody asks otherwise.
    #[must_use]
    pub fn usual(&self) -> Storing {
        Storing { lifetime: self.lifetime, most_after: None }
    }
}

/// A context that was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredContext {
    /// The request before which it was stored, by its place in the trace.
    pub place: usize,
    /// The prefix.
    pub node: NodeId,
    /// How many tokens it has.
    pub tokens: Tokens,
    /// When it was stored.
    pub from: Millis,
    /// When it was deleted, or died.
    pub until: Millis,
}

/// What each prompt of a trace in the service's counts reads, and what is stored for that.
#[must_use]
pub fn simulate_stored(
    trace: &PromptTrace,
    storing: Storing,
) -> (Vec<Outcome>, Vec<StoredContext>) {
    let mut client = Client { trace, storing, contexts: Vec::new() };
    // The context that each conversation has after each request.
    let mut left: Vec<Option<usize>> = Vec::with_capacity(trace.prompts.len());
    let mut outcomes = Vec::with_capacity(trace.prompts.len());
    for (place, prompt) in trace.prompts.iter().enumerate() {
        let before = prompt.predecessor.and_then(|before| left.get(before).copied().flatten());
        let before = before.filter(|_| {
            prompt.predecessor.is_some_and(|one| is_same_owner(&trace.prompts[one], prompt))
        });
        let context = client.context(place, prompt, before);
        outcomes.push(client.outcome(prompt, context));
        left.push(context);
    }
    (outcomes, client.contexts)
}

fn is_same_owner(one: &Prompt, other: &Prompt) -> bool {
    one.model == other.model && one.scope == other.scope
}

struct Client<'a> {
    trace: &'a PromptTrace,
    storing: Storing,
    contexts: Vec<StoredContext>,
}

impl Client<'_> {
    /// The context that a request names, stored now if there is none to its liking.
    fn context(&mut self, place: usize, prompt: &Prompt, before: Option<usize>) -> Option<usize> {
        let now = prompt.start;
        if let Some(known) = before.filter(|known| self.is_found(*known, prompt)) {
            let after = self.whole(prompt).saturating_sub(self.contexts[known].tokens);
            if self.storing.most_after.is_none_or(|most| after <= most) {
                self.contexts[known].use_at(now, self.storing.lifetime);
                return Some(known);
            }
        }
        let tokens = self.whole(prompt);
        if tokens < prompt.minimum || tokens == Tokens::ZERO {
            return None;
        }
        if let Some(known) = before {
            self.contexts[known].replace_at(now);
        }
        let mut stored = StoredContext { place, node: prompt.node, tokens, from: now, until: now };
        stored.use_at(now, self.storing.lifetime);
        self.contexts.push(stored);
        Some(self.contexts.len() - 1)
    }

    /// Whether a context is alive, and a prompt begins with it.
    fn is_found(&self, context: usize, prompt: &Prompt) -> bool {
        let context = &self.contexts[context];
        let common = self.trace.common(context.node, prompt.node);
        context.until > prompt.start && common == Some(context.node)
    }

    /// What can be stored of a prompt.
    fn whole(&self, prompt: &Prompt) -> Tokens {
        self.trace.end_in(prompt, prompt.node)
    }

    fn outcome(&self, prompt: &Prompt, context: Option<usize>) -> Outcome {
        let Some(context) = context.map(|context| &self.contexts[context]) else {
            return Outcome { input: prompt.total, basis: prompt.basis, ..Outcome::default() };
        };
        let read = context.tokens.min(prompt.total);
        let input = prompt.total.saturating_sub(read);
        let basis = self.trace.node(context.node).basis.max(prompt.basis);
        Outcome { read, input, basis, found: Some(context.node), ..Outcome::default() }
    }
}

impl StoredContext {
    fn use_at(&mut self, now: Millis, lifetime: i64) {
        self.until = self.until.max(Millis::new(now.get().saturating_add(lifetime)));
    }

    /// It is deleted once a longer one takes its place.
    fn replace_at(&mut self, now: Millis) {
        self.until = self.until.min(now.max(self.from));
    }

    /// For how many milliseconds it was kept.
    #[must_use]
    pub fn kept(&self) -> i64 {
        self.until.since(self.from).max(0)
    }
}
