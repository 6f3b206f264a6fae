//! Requests to services whose caches need no markers, under the strategies of a ledger.
//!
//! Their expectation comes from the rules of the service that answered. Markers, lifetimes and
//! pings mean nothing there, so under such a strategy the requests stay as recorded: nothing is
//! saved and nothing is lost.

use super::{ALL, Provider, Service, Writes, expectation};
use crate::base::{Basis, Tokens};
use crate::read::input::Usage;
use crate::requests::conversation::{History, Request, RequestIndex};
use crate::requests::prompt::{Prompt, PromptTrace};
use crate::simulate::cache::Outcome;

/// Requests of a history that were sent without markers; they come after all others.
#[derive(Debug)]
pub(crate) struct Unmarked<'a> {
    history: &'a History,
    trace: &'a PromptTrace,
    first: usize,
}

impl<'a> Unmarked<'a> {
    /// Selects the requests, or returns `None` if all have markers.
    pub(crate) fn of(history: &'a History, trace: &'a PromptTrace) -> Option<Self> {
        let first = history.sent_with_markers().len();
        (first < history.requests.len()).then_some(Self { history, trace, first })
    }

    /// Trace of these requests only, numbered from zero.
    pub(super) fn prompts(&self) -> PromptTrace {
        let all: Vec<RequestIndex> =
            (self.first..self.trace.prompts.len()).map(RequestIndex::new).collect();
        self.only(&all)
    }

    /// Trace of some of these requests only, given in order.
    pub(crate) fn only(&self, requests: &[RequestIndex]) -> PromptTrace {
        let PromptTrace { nodes, markers, prompts, .. } = self.trace;
        let place = |before: usize| requests.binary_search(&RequestIndex::new(before)).ok();
        let own = requests.iter().map(|request| {
            let prompt = &prompts[request.get()];
            // A predecessor that was left out would be the index of another prompt.
            Prompt { predecessor: prompt.predecessor.and_then(place), ..prompt.clone() }
        });
        let own: Vec<Prompt> = own.collect();
        PromptTrace::new(nodes.clone(), markers.clone(), own)
    }

    /// Requests with an expectation, by the service that answered them.
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

    /// Outcomes as recorded.
    pub(crate) fn recorded(&self) -> Vec<Outcome> {
        let usages = self.history.sent_elsewhere().iter().map(Request::recorded);
        usages.map(recorded).collect()
    }

    /// Outcomes without any cache.
    pub(crate) fn uncached(&self) -> Vec<Outcome> {
        self.sizes().map(|(_, input)| Outcome { input, ..Outcome::default() }).collect()
    }

    /// Outcomes under the rules that are [expected](expectation()) of the requests, or as recorded
    /// if nothing is expected.
    pub(crate) fn expected(&self, keeps_breaks: bool) -> Vec<Outcome> {
        let mut outcomes = self.recorded();
        let prompts = self.prompts();
        for (service, requests) in self.by_service() {
            // Prompts of other models do not disturb: entries are found by requests of the same model only.
            let simulated = service.rules.simulate(&prompts, keeps_breaks);
            for place in requests.iter().map(|request| request.get() - self.first) {
                let index = RequestIndex::new(self.first + place);
                outcomes[place] = as_reported(simulated[place], self.history.knows_writes(index));
            }
        }
        outcomes
    }

    /// Sizes of the prompts, each with the request whose model it is sent to.
    pub(crate) fn sizes(&self) -> impl Iterator<Item = (RequestIndex, Tokens)> + '_ {
        let sizes = self.trace.prompts[self.first..].iter().map(|prompt| prompt.total);
        (self.first..).map(RequestIndex::new).zip(sizes)
    }

    pub(super) fn model(&self, place: usize) -> &str {
        self.history.model(RequestIndex::new(self.first + place))
    }
}

/// Returns true if a service charged for writes that the record of a request lacks.
pub fn has_unreported_writes(history: &History, index: RequestIndex) -> bool {
    let is_charged = || {
        let service = expectation(history, index);
        service.is_ok_and(|service| service.provider.writes != Writes::Free)
    };
    !history.is_marked(index) && !history.knows_writes(index) && is_charged()
}

/// Provider under whose rules a model is served, the first one in output order.
pub fn rules_of(model: &str) -> Option<&'static Provider> {
    ALL.iter().find(|provider| provider.serves(model))
}

/// Outcome of a request as recorded.
pub(crate) fn recorded(usage: &Usage) -> Outcome {
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

/// Moves written tokens to the input if the record does not have them apart.
fn as_reported(outcome: Outcome, reports_writes: bool) -> Outcome {
    if reports_writes {
        return outcome;
    }
    let Outcome { write_5m, write_1h, input, .. } = outcome;
    let input = input + write_5m + write_1h;
    Outcome { write_5m: Tokens::ZERO, write_1h: Tokens::ZERO, input, ..outcome }
}
