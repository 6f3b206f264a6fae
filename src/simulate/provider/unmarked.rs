//! Requests to services whose caches need no markers, under the strategies of a ledger.
//!
//! The rules of the service that answered say what is expected of them. Markers, lifetimes and
//! pings mean nothing there, so under such a strategy they stay as recorded: nothing is saved and
//! nothing is lost.

use super::{ALL, Provider, expectation, token_ratio};
use crate::base::units::{Basis, Tokens};
use crate::read::input::Usage;
use crate::requests::conversation::{History, RequestIndex};
use crate::requests::prompt::{Prompt, PromptTrace};
use crate::simulate::cache::{
    AutomaticCache, AutomaticPolicy, Outcome, TokenRatio, simulate_automatic,
};

/// The requests of a history that were sent without markers. They come after all others.
#[derive(Debug)]
pub(crate) struct Unmarked<'a> {
    history: &'a History,
    trace: &'a PromptTrace,
    first: usize,
}

impl<'a> Unmarked<'a> {
    /// Finds them, or `None` where all requests have markers.
    pub(crate) fn of(history: &'a History, trace: &'a PromptTrace) -> Option<Self> {
        let first = history.sent_with_markers().len();
        (first < history.requests.len()).then_some(Self { history, trace, first })
    }

    /// Their prompts alone, numbered from zero.
    pub(super) fn prompts(&self) -> PromptTrace {
        let PromptTrace { nodes, markers, prompts, .. } = self.trace;
        PromptTrace::new(nodes.clone(), markers.clone(), prompts[self.first..].to_vec())
    }

    /// Their outcomes as recorded.
    pub(crate) fn recorded(&self) -> Vec<Outcome> {
        self.usages().map(recorded).collect()
    }

    /// Their outcomes without any cache.
    pub(crate) fn uncached(&self) -> Vec<Outcome> {
        let sent = |usage: &Usage| Outcome { input: usage.prompt.total(), ..Outcome::default() };
        self.usages().map(sent).collect()
    }

    /// Their outcomes under the rules that are [expected](expectation()) of them, or as recorded where
    /// nothing is.
    pub(crate) fn expected(&self, keeps_breaks: bool) -> Vec<Outcome> {
        let mut outcomes = self.recorded();
        let prompts = self.prompts();
        let expected = (self.first..).take(outcomes.len());
        let expected: Vec<Option<AutomaticCache>> = expected
            .map(|index| expectation(self.history, RequestIndex::new(index)).ok())
            .collect();
        let mut done: Vec<AutomaticCache> = Vec::new();
        for cache in expected.iter().flatten() {
            if done.contains(cache) {
                continue;
            }
            done.push(*cache);
            let policy = AutomaticPolicy { cache: *cache, keeps_breaks };
            let simulated = simulate_automatic(&prompts, &policy, |_| TokenRatio::ONE);
            for (place, outcome) in simulated.into_iter().enumerate() {
                if expected[place] == Some(*cache) {
                    outcomes[place] = as_told(outcome, self.history.of_agents[place].knows_writes);
                }
            }
        }
        outcomes
    }

    /// Their outcomes under the rules of another provider, in its tokens.
    pub(crate) fn elsewhere(&self, provider: &Provider, keeps_breaks: bool) -> Vec<Outcome> {
        let ratio = |prompt: &Prompt| token_ratio(self.history.facts(prompt.model));
        simulate_automatic(&self.prompts(), &provider.policy(keeps_breaks), ratio)
    }

    /// The sizes of their prompts, each with the request whose model it is sent to.
    pub(crate) fn sizes(&self) -> impl Iterator<Item = (RequestIndex, Tokens)> + '_ {
        let sizes = self.trace.prompts[self.first..].iter().map(|prompt| prompt.total);
        (self.first..).map(RequestIndex::new).zip(sizes)
    }

    pub(super) fn model(&self, place: usize) -> &str {
        self.history.model(RequestIndex::new(self.first + place))
    }

    fn usages(&self) -> impl Iterator<Item = &Usage> {
        self.history.of_agents.iter().map(|one| &one.usage)
    }
}

/// The provider under whose rules a model is served, the first one in output order.
#[must_use]
pub fn rules_of(model: &str) -> Option<&'static Provider> {
    ALL.iter().find(|provider| provider.serves(model))
}

fn recorded(usage: &Usage) -> Outcome {
    let prompt = usage.prompt;
    Outcome {
        read: prompt.read,
        write_5m: prompt.write_5m,
        write_1h: prompt.write_1h,
        input: prompt.input,
        basis: Basis::Measured,
        ..Outcome::default()
    }
}

/// The one write price stands for either lifetime. What is written stands in the input where the record does
/// not tell it.
fn as_told(mut outcome: Outcome, tells_writes: bool) -> Outcome {
    let written = std::mem::replace(&mut outcome.written, Tokens::ZERO);
    if tells_writes {
        outcome.write_5m += written;
    } else {
        outcome.input += written;
    }
    outcome
}
