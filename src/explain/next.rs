//! Price of the next message of a conversation, while its cache is warm and after it expired.
//!
//! The prefix that the last request read and wrote can be read again until its lifetime is over. Everything
//! after it is written, except the tail after the last marker. (Measured:
//! `next::the_price_is_that_of_the_bill` compares it with the record.)

use crate::base::{Millis, Picodollars, Tokens, Ttl};
use crate::read::input::PromptSplit;
use crate::requests::conversation::{ConversationKey, History, Request, RequestIndex};
use crate::requests::prompt::{LARGEST_CONSTANT_TAIL, Step};
use crate::simulate::ledger::Ledger;
use crate::simulate::management::Compaction;
use crate::simulate::pricing::Billing;

/// State of a conversation's cache after one of its requests.
#[derive(Clone, Copy, Debug)]
pub struct Standing<'l> {
    ledger: &'l Ledger<'l>,
    after: RequestIndex,
    /// Lifetime of the entries written for its messages.
    ttl: Ttl,
    /// Time past the lifetime in which entries are still found, in milliseconds.
    grace: i64,
}

impl<'l> Standing<'l> {
    /// State after a request.
    ///
    /// `None` if its caches have no markers, if its prompt was captured without usage, if its usage sums
    /// several prompts, or if nothing was cached.
    pub fn after(ledger: &'l Ledger<'l>, steps: &[Step], after: RequestIndex) -> Option<Self> {
        let history = ledger.history;
        let usage = history.request(after).usage.as_ref()?;
        let is_one_prefix = !usage.is_sum && usage.prompt.cached_end() > Tokens::ZERO;
        let step = &steps[after.get()];
        let ttl = step.ttl?.messages;
        // A sum of several prompts has no single end that the next request could read up to.
        let is_followed = history.is_marked(after) && is_one_prefix;
        is_followed.then_some(Self { ledger, after, ttl, grace: step.grace(ttl) })
    }

    /// State after the last request of a conversation, so far, that leaves a prefix.
    pub fn of(ledger: &'l Ledger<'l>, steps: &[Step], of: ConversationKey) -> Option<Self> {
        let requests = ledger.history.requests.iter().enumerate().rev();
        let mut own = requests.filter(|(_, request)| request.conversation() == of);
        own.find_map(|(index, _)| Self::after(ledger, steps, RequestIndex::new(index)))
    }

    /// Request that left the prefix.
    pub fn request(&self) -> &'l Request {
        self.history().request(self.after)
    }

    /// Lifetime of the entries written for its messages.
    pub fn ttl(&self) -> Ttl {
        self.ttl
    }

    /// Time after which the prefix is no longer found, unless another request reads it first.
    pub fn warm_until(&self) -> Millis {
        self.request().start.plus(self.ttl.millis() + self.grace)
    }

    /// Smallest prompt of the next request, if nothing of the conversation is taken out: the last prompt and
    /// its answer.
    ///
    /// The user's next message comes on top.
    pub fn least_prompt(&self) -> Tokens {
        let usage = self.request().recorded();
        usage.prompt.total() + usage.output
    }

    /// Split of a prompt of this size while the whole prefix is still found.
    pub fn warm(&self, prompt: Tokens) -> PromptSplit {
        self.split(prompt, self.recorded().cached_end())
    }

    /// Split of a prompt of this size after the whole prefix expired.
    pub fn cold(&self, prompt: Tokens) -> PromptSplit {
        self.split(prompt, Tokens::ZERO)
    }

    /// Cost of a prompt with this split, without the answer to it, or `None` if the model has no price.
    pub fn cost(&self, split: PromptSplit) -> Option<Picodollars> {
        self.cost_with(split, Tokens::ZERO)
    }

    fn cost_with(&self, split: PromptSplit, output: Tokens) -> Option<Picodollars> {
        let PromptSplit { input, read, write_5m, write_1h } = split;
        let rates = self.ledger.rates_for(self.after, split.total())?;
        let billing = Billing { input, read, write_5m, write_1h, output };
        Some(billing.cost(&rates))
    }

    /// Cost of a request for a summary of the conversation now, with its answer: while the whole prefix is
    /// found, and after it expired.
    ///
    /// The size of the summary is assumed, as in simulated compactions.
    pub fn compaction(&self) -> [Option<Picodollars>; 2] {
        let Compaction { request, summary, analysis, .. } = Compaction::default();
        let prompt = self.least_prompt() + request;
        let output = summary + analysis;
        [self.warm(prompt), self.cold(prompt)].map(|split| self.cost_with(split, output))
    }

    fn split(&self, prompt: Tokens, found: Tokens) -> PromptSplit {
        let read = found.min(prompt);
        let usual = self.recorded().input;
        // A larger tail was content that no marker followed, not the constant end of every prompt.
        let tail = if usual <= LARGEST_CONSTANT_TAIL { usual } else { Tokens::ZERO };
        let input = tail.min(prompt.saturating_sub(read));
        let written = prompt.saturating_sub(read + input);
        let (write_5m, write_1h) = match self.ttl {
            Ttl::OneHour => (Tokens::ZERO, written),
            Ttl::FiveMinutes => (written, Tokens::ZERO),
        };
        PromptSplit { input, read, write_5m, write_1h }
    }

    fn recorded(&self) -> &'l PromptSplit {
        &self.request().recorded().prompt
    }

    fn history(&self) -> &'l History {
        self.ledger.history
    }
}
