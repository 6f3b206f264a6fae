//! What the next message of a conversation costs, as long as its cache is warm and when it is not.
//!
//! What the last request read and wrote can be read again until its lifetime is over. All after it is written, but
//! for the tail after the last marker. (Measured: `next::the_price_is_that_of_the_bill` holds it against the record.)

use crate::base::ttl::Ttl;
use crate::base::units::{Millis, Picodollars, Tokens};
use crate::read::input::PromptSplit;
use crate::requests::conversation::{ConversationKey, History, Request, RequestIndex};
use crate::requests::prompt::{LARGEST_CONSTANT_TAIL, Step};
use crate::simulate::ledger::Ledger;
use crate::simulate::management::Compaction;
use crate::simulate::pricing::Billing;

/// How a conversation stands after one of its requests.
#[derive(Clone, Copy, Debug)]
pub struct Standing<'l> {
    ledger: &'l Ledger<'l>,
    after: RequestIndex,
    /// For how long its messages were written.
    ttl: Ttl,
    /// For how much longer they are found, in milliseconds.
    grace: i64,
}

impl<'l> Standing<'l> {
    /// After a request. `None` where its caches have no markers, where its prompt was captured without usage, where its
    /// usage sums several prompts up, and where nothing was cached.
    #[must_use]
    pub fn after(ledger: &'l Ledger<'l>, steps: &[Step], after: RequestIndex) -> Option<Self> {
        let history = ledger.history;
        let usage = history.request(after).usage.as_ref()?;
        let is_one_prefix = !usage.is_sum && usage.prompt.cached_end() > Tokens::ZERO;
        let step = &steps[after.get()];
        let ttl = step.ttl?.messages;
        let is_followed = history.is_marked(after) && is_one_prefix;
        is_followed.then_some(Self { ledger, after, ttl, grace: step.grace(ttl) })
    }

    /// After the last request of a conversation that leaves a prefix, so far.
    #[must_use]
    pub fn of(ledger: &'l Ledger<'l>, steps: &[Step], of: ConversationKey) -> Option<Self> {
        let requests = ledger.history.requests.iter().enumerate().rev();
        let mut own = requests.filter(|(_, request)| request.conversation() == of);
        own.find_map(|(index, _)| Self::after(ledger, steps, RequestIndex::new(index)))
    }

    /// The request.
    #[must_use]
    pub fn request(&self) -> &'l Request {
        self.history().request(self.after)
    }

    /// For how long its messages were written.
    #[must_use]
    pub fn ttl(&self) -> Ttl {
        self.ttl
    }

    /// When what it left is no longer found, unless another request reads it first.
    #[must_use]
    pub fn warm_until(&self) -> Millis {
        self.request().start.plus(self.ttl.millis() + self.grace)
    }

    /// The least prompt of the next request, where nothing of the conversation is taken out: the last one and its
    /// answer. What the user writes comes on top.
    #[must_use]
    pub fn least_prompt(&self) -> Tokens {
        let usage = self.request().recorded();
        usage.prompt.total() + usage.output
    }

    /// How a prompt of this size is split as long as all that was left is found.
    #[must_use]
    pub fn warm(&self, prompt: Tokens) -> PromptSplit {
        self.split(prompt, self.recorded().cached_end())
    }

    /// The same once nothing of it is.
    #[must_use]
    pub fn cold(&self, prompt: Tokens) -> PromptSplit {
        self.split(prompt, Tokens::ZERO)
    }

    /// What a prompt costs that is split like this, without the answer to it. `None` where the model has no price.
    #[must_use]
    pub fn cost(&self, split: PromptSplit) -> Option<Picodollars> {
        self.cost_with(split, Tokens::ZERO)
    }

    fn cost_with(&self, split: PromptSplit, output: Tokens) -> Option<Picodollars> {
        let PromptSplit { input, read, write_5m, write_1h } = split;
        let rates = self.ledger.rates_for(self.after, split.total())?;
        let billing = Billing { input, read, write_5m, write_1h, output };
        Some(billing.cost(&rates))
    }

    /// What a request for a summary of the conversation costs now, with the answer to it: as long as all that was left
    /// is found, and once nothing is. The size of the summary is assumed, as where compaction is simulated.
    #[must_use]
    pub fn compaction(&self) -> [Option<Picodollars>; 2] {
        let Compaction { attempt, summary, .. } = Compaction::default();
        let prompt = self.least_prompt() + attempt.request;
        let output = summary + attempt.analysis;
        [self.warm(prompt), self.cold(prompt)].map(|split| self.cost_with(split, output))
    }

    fn split(&self, prompt: Tokens, found: Tokens) -> PromptSplit {
        let read = found.min(prompt);
        let usual = self.recorded().input;
        // A larger one was content that no marker stood after.
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
