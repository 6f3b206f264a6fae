//! Events at a request: as recorded, or under a strategy.

use crate::base::{Tokens, Ttl};
use crate::explain::breaks::{Break, Cause};
use crate::read::agent::Vendor;
use crate::requests::conversation::{History, Request, RequestIndex};
use crate::requests::prompt::{LARGEST_CONSTANT_TAIL, NOISE, Step, StepKind};
use crate::simulate::ledger::{Ledger, StrategyColumn};

/// An event worth mentioning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A record that sums this many requests.
    Sum(u32),
    /// The first request of a chain.
    Opening,
    /// Another model than before.
    ModelChange,
    /// The conversation was summarised.
    Compaction,
    /// Old tool results were cleared.
    Microcompaction,
    /// The thinking of the previous turn was dropped.
    ThinkingDropped,
    /// Messages were removed or rewritten in another way, and the prompt is smaller than the one before.
    Shrunk,
    /// Messages were rewritten in another way.
    Rewrite,
    /// A captured conversation begins with another message than before: a summary, or a new
    /// conversation.
    Restart,
    /// An expired cache, with the gap in milliseconds and the TTL that it exceeded.
    Expired(i64, Ttl),
    /// A break: the tokens read less than possible, and the cause.
    Break(Tokens, Cause),
    /// Tokens read beyond what the record explains, as a background request wrote them.
    BackgroundWrite(Tokens),
    /// Large part after the last marker that was sent in full.
    UncachedTail(Tokens),
    /// The branch was abandoned later.
    Rewound,
}

/// A request, with its events.
#[derive(Clone, Debug)]
pub struct Turn {
    /// Index of the request.
    pub request: RequestIndex,
    /// Time from the start of the previous request to its own, in milliseconds.
    pub gap: Option<i64>,
    /// Tokens that the client added since the previous answer: the growth of the prompt less the previous
    /// output.
    ///
    /// `None` if the two requests are not comparable. Derived.
    pub added: Option<Tokens>,
    /// Events, most important first.
    pub events: Vec<Event>,
}

impl Turn {
    /// Events of a request as recorded, with its break if it is one.
    pub fn recorded(ledger: &Ledger<'_>, request: RequestIndex, found: Option<&Break>) -> Self {
        let (history, step) = (ledger.history, &ledger.steps[request.get()]);
        let added = added(history, request, step);
        let broke = found.map(|found| Event::Break(found.shortfall(), found.cause));
        let events = broke.into_iter().chain(events(ledger, request, step)).collect();
        Self { request, gap: step.gap, added, events }
    }

    /// Events of a recorded turn under a strategy: the conversation's stay as recorded, the cache's are the
    /// strategy's.
    #[must_use]
    pub fn under(&self, ledger: &Ledger<'_>, column: &StrategyColumn) -> Self {
        match column.simulated {
            None => self.clone(),
            Some(_) => Self { events: simulated(ledger, column, self), ..self.clone() },
        }
    }
}

/// Events of a turn under a strategy.
///
/// A recorded break counts by the shortfall that the request has under the strategy.
fn simulated(ledger: &Ledger<'_>, column: &StrategyColumn, turn: &Turn) -> Vec<Event> {
    let expiry = ledger.expiry(column, turn.request);
    let shortfall = || ledger.shortfall(column, turn.request).filter(|tokens| *tokens > NOISE);
    let tail = || {
        let billing = ledger.row_tokens(column, turn.request)?.billing;
        let is_cached = billing.read + billing.write_5m + billing.write_1h > Tokens::ZERO;
        (is_cached && billing.input > LARGEST_CONSTANT_TAIL).then_some(billing.input)
    };
    let of_conversation = turn.events.iter().filter_map(|event| match event {
        // The strategy has expiries of its own, and nothing is read there that a simulation did not write.
        Event::Expired(..) | Event::BackgroundWrite(_) => None,
        Event::Break(_, cause) => shortfall().map(|shortfall| Event::Break(shortfall, *cause)),
        Event::UncachedTail(_) => tail().map(Event::UncachedTail),
        other => Some(other.clone()),
    });
    let expired = expiry.map(|expiry| Event::Expired(expiry.gap, expiry.ttl));
    expired.into_iter().chain(of_conversation).collect()
}

fn added(history: &History, index: RequestIndex, step: &Step) -> Option<Tokens> {
    let request = history.request(index);
    let previous = history.predecessor(request)?;
    let (own, before) = (request.usage.as_ref()?, previous.usage.as_ref()?);
    let answer = if request.between.drops_answer { Tokens::ZERO } else { before.output };
    let is_comparable = !previous.output_is_lower_bound
        && !step.is_rewritten
        && request.model == previous.model
        && !request.between.rewrites_history();
    let grown_to = own.prompt.total() + step.deleted;
    is_comparable.then(|| grown_to.saturating_sub(before.prompt.total() + answer))
}

fn events(ledger: &Ledger<'_>, index: RequestIndex, step: &Step) -> Vec<Event> {
    let history = ledger.history;
    let request = history.request(index);
    // Nothing is known of the entries of another cache.
    let has_markers = request.vendor == Vendor::Anthropic && !ledger.has_own_cache(index);
    let between = &request.between;
    // The record of a sum does not separate the events of its requests.
    if request.sum_of > 1 {
        return vec![Event::Sum(request.sum_of)];
    }
    let mut events = Vec::new();
    match step.kind {
        StepKind::Opening => events.push(Event::Opening),
        StepKind::ModelChange => events.push(Event::ModelChange),
        StepKind::Expired => {
            let read = request.usage.as_ref().map(|usage| usage.prompt.read);
            // A prefix that branches or other traffic kept alive has not expired.
            let is_lost = read.is_none_or(|read| read < step.previous_end);
            let late = step.gap.zip(step.predecessor_ttl).filter(|_| is_lost && has_markers);
            if let Some((gap, ttl)) = late {
                events.push(Event::Expired(gap, ttl));
            }
        }
        StepKind::Continued | StepKind::Rewritten => {}
    }
    if between.has_compaction {
        events.push(Event::Compaction);
    } else if between.has_microcompaction {
        events.push(Event::Microcompaction);
    } else if history.is_captured(index) && step.is_rewritten {
        events.push(Event::Restart);
    } else if step.kind == StepKind::Rewritten {
        let is_smaller = is_smaller_than_before(history, request);
        events.push(if is_smaller { Event::Shrunk } else { Event::Rewrite });
    }
    if step.dropped_thinking.is_some() {
        events.push(Event::ThinkingDropped);
    }
    if has_markers && (step.kind == StepKind::Continued || step.readable_place().is_some()) {
        events.extend(background_write(request, step).map(Event::BackgroundWrite));
    }
    let input = request.usage.as_ref().map_or(Tokens::ZERO, |usage| usage.prompt.input);
    if input > LARGEST_CONSTANT_TAIL && has_markers {
        events.push(Event::UncachedTail(input));
    }
    if !request.is_live {
        events.push(Event::Rewound);
    }
    events
}

/// Returns true if the prompt is smaller than that of the request before it.
fn is_smaller_than_before(history: &History, request: &Request) -> bool {
    let prompt = |request: &Request| request.usage.as_ref().map(|usage| usage.prompt.total());
    let before = history.predecessor(request).and_then(prompt);
    prompt(request).zip(before).is_some_and(|(own, before)| own < before)
}

/// Tokens read beyond the end that the previous request had left.
fn background_write(request: &Request, step: &Step) -> Option<Tokens> {
    let read = request.usage.as_ref()?.prompt.read;
    let surplus = read.saturating_sub(step.previous_end);
    (step.dropped_thinking.is_none() && surplus > NOISE).then_some(surplus)
}
