//! Requests to services whose caches need no markers, under the strategies of a ledger.
//!
//! The rules of the service that answered say what is expected of them. Markers, lifetimes and
//! pings mean nothing there, so under such a strategy they stay as recorded: nothing is saved and
//! nothing is lost.

use super::{ALL, Provider, Service, Writes, expectation};
use crate::base::units::{Basis, Tokens};
use crate::read::input::Usage;
use crate::requests::conversation::{History, RequestIndex};
use crate::requests::prompt::{Prompt, PromptTrace};
use crate::simulate::cache::Outcome;

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
        let all: Vec<RequestIndex> =
            (self.first..self.trace.prompts.len()).map(RequestIndex::new).collect();
        self.only(&all)
    }

    /// The prompts of some of them alone, which are in order.
    pub(crate) fn only(&self, requests: &[RequestIndex]) -> PromptTrace {
        let PromptTrace { nodes, markers, prompts, .. } = self.trace;
        let place = |before: usize| requests.binary_search(&RequestIndex::new(before)).ok();
        let own = requests.iter().map(|request| {
            let prompt = &prompts[request.get()];
            Prompt { predecessor: prompt.predecessor.and_then(place), ..prompt.clone() }
        });
        let own: Vec<Prompt> = own.collect();
        PromptTrace::new(nodes.clone(), markers.clone(), own)
    }

    /// Those of which something is expected, by the service that answered them.
    pub(crate) fn by_service(&self) -> Vec<(Service, Vec<RequestIndex>)> {
        let mut all: Vec<(Service, Vec<RequestIndex>)> = Vec::new();
        for index in (self.first..self.trace.prompts.len()).map(RequestIndex::new) {
            let Ok(service) = expectation(self.history, index) else { continue };
            match all.iter_mut().find(|(known, _)| *known == service) {
                Some((_, requests)) => requests.push(index),
                None => all.push((service, vec![index])),
            }
        }
        all
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
        for (service, requests) in self.by_service() {
            let simulated = service.rules.simulate(&prompts, keeps_breaks);
            for place in requests.iter().map(|request| request.get() - self.first) {
                let tells_writes = self.history.of_agents[place].knows_writes;
                outcomes[place] = as_told(simulated[place], tells_writes);
            }
        }
        outcomes
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

/// Whether a service charged for writes that the record of a request does not tell.
#[must_use]
pub fn has_untold_writes(history: &History, index: RequestIndex) -> bool {
    let Some(place) = index.get().checked_sub(history.sent_with_markers().len()) else {
        return false;
    };
    let service = expectation(history, index);
    service.is_ok_and(|service| service.provider.writes != Writes::Free)
        && !history.of_agents[place].knows_writes
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

/// What is written stands in the input where the record does not tell it.
fn as_told(outcome: Outcome, tells_writes: bool) -> Outcome {
    if tells_writes {
        return outcome;
    }
    let Outcome { write_5m, write_1h, input, .. } = outcome;
    let input = input + write_5m + write_1h;
    Outcome { write_5m: Tokens::ZERO, write_1h: Tokens::ZERO, input, ..outcome }
}
