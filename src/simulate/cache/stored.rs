//! Contexts that a client stores at a service, as Gemini's explicit caches.
//!
//! Storing a prefix costs its tokens as input, and keeping it costs by token and hour. A request
//! that names it reads all of it, and sends the rest in full. A stored context cannot grow: a
//! longer one is stored again, as a whole. It lives until a time that its client sets, and may set
//! again at every use.

use super::outcome::Outcome;
use crate::base::{Millis, Tokens};
use crate::requests::prompt::{Counting, NodeId, Prompt, PromptTrace};

/// Rules of a service that stores contexts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredCache {
    /// Steps, minimum and offsets by which prefixes are counted.
    pub counting: Counting,
    /// Default lifetime of a context, in milliseconds.
    pub lifetime: i64,
}

/// Storing by a client: in each conversation one context, which ends with a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Storing {
    /// Lifetime of the context after its last use, in milliseconds.
    pub lifetime: i64,
    /// Largest number of tokens that a prompt may have after the context, before all of that prompt
    /// replaces it.
    ///
    /// `None` for no limit.
    pub most_after: Option<Tokens>,
}

impl StoredCache {
    /// Storing by a client that keeps the beginning of each conversation for the default lifetime.
    pub fn usual(&self) -> Storing {
        Storing { lifetime: self.lifetime, most_after: None }
    }
}

/// Context that was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredContext {
    /// Index of the request before which the context was stored.
    pub place: usize,
    /// Stored prefix.
    pub node: NodeId,
    /// Size in tokens.
    pub tokens: Tokens,
    /// Time of storing.
    pub from: Millis,
    /// Time of deletion or expiry.
    pub until: Millis,
}

/// Billing of each prompt of a trace in the service's counts, and the contexts stored for them.
pub fn simulate_stored(
    trace: &PromptTrace,
    storing: Storing,
) -> (Vec<Outcome>, Vec<StoredContext>) {
    let mut client = Client { trace, storing, contexts: Vec::new() };
    // Context of each conversation after each request.
    let mut left: Vec<Option<usize>> = Vec::with_capacity(trace.prompts.len());
    let mut outcomes = Vec::with_capacity(trace.prompts.len());
    for (place, prompt) in trace.prompts.iter().enumerate() {
        let before = prompt.predecessor.and_then(|before| left.get(before).copied().flatten());
        // A context belongs to one model and scope; a conversation that changes either stores another.
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
    /// Context that a request names, stored now if there is no suitable one.
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
        // A client that replaces a context deletes the old one, as keeping it would be billed.
        if let Some(known) = before {
            self.contexts[known].replace_at(now);
        }
        let mut stored = StoredContext { place, node: prompt.node, tokens, from: now, until: now };
        stored.use_at(now, self.storing.lifetime);
        self.contexts.push(stored);
        Some(self.contexts.len() - 1)
    }

    /// Returns true if a context is alive and a prompt begins with it.
    fn is_found(&self, context: usize, prompt: &Prompt) -> bool {
        let context = &self.contexts[context];
        let common = self.trace.common(context.node, prompt.node);
        context.until > prompt.start && common == Some(context.node)
    }

    /// Tokens of a prompt that can be stored.
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

    /// Ends a context when a longer one takes its place.
    fn replace_at(&mut self, now: Millis) {
        self.until = self.until.min(now.max(self.from));
    }

    /// Time for which the context was kept, in milliseconds.
    pub fn kept(&self) -> i64 {
        self.until.since(self.from).max(0)
    }
}
