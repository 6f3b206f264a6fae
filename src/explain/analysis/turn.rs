//! What happened at a request: as recorded, or under a strategy.

use crate::base::ttl::Ttl;
use crate::base::units::Tokens;
use crate::explain::breaks::{Break, Cause};
use crate::read::agent::Vendor;
use crate::requests::conversation::{History, Request, RequestIndex};
use crate::requests::prompt::{LARGEST_CONSTANT_TAIL, NOISE, Step, StepKind};
use crate::simulate::ledger::{Ledger, StrategyColumn};

/// An event worth mentioning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Its figures are the sum of so many requests.
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
    /// The cache had expired, with the gap in milliseconds and the TTL that it exceeded.
    Expired(i64, Ttl),
    /// A break: how much less was read than possible, and why.
    Break(Tokens, Cause),
    /// More was read than the record explains, since a background request wrote it.
    BackgroundWrite(Tokens),
    /// A large part after the last marker was sent in full.
    UncachedTail(Tokens),
    /// The branch was abandoned later.
    Rewound,
}

/// A request, with what happened at it.
#[derive(Clone, Debug)]
pub struct Turn {
    /// The request.
    pub request: RequestIndex,
    /// From the start of the previous request to its own, in milliseconds.
    pub gap: Option<i64>,
    /// What the client added since, including the previous answer: the growth of the prompt less
    /// the previous output. `None` where it cannot be told. Derived.
    pub added: Option<Tokens>,
    /// What happened, most important first.
    pub events: Vec<Event>,
}

impl Turn {
    /// A request as recorded, which may be a break.
    #[must_use]
    pub fn recorded(
        history: &History,
        steps: &[Step],
        request: RequestIndex,
        found: Option<&Break>,
    ) -> Self {
        let step = &steps[request.get()];
        let added = added(history, request, step);
        let broke = found.map(|found| Event::Break(found.shortfall(), found.cause));
        let events = broke.into_iter().chain(events(history, request, step)).collect();
        Self { request, gap: step.gap, added, events }
    }

    /// A recorded turn under a strategy: what the conversation did stays as recorded, and what the
    /// cache made of it is the strategy's.
    #[must_use]
    pub fn under(&self, ledger: &Ledger<'_>, column: &StrategyColumn) -> Self {
        match column.simulated {
            None => self.clone(),
            Some(_) => Self { events: simulated(ledger, column, self), ..self.clone() },
        }
    }
}

/// What the cache made of it. A recorded break counts under a strategy as far as less is read there
/// than was cached.
fn simulated(ledger: &Ledger<'_>, column: &StrategyColumn, turn: &Turn) -> Vec<Event> {
    let expiry = ledger.expiry(column, turn.request);
    let shortfall = || ledger.shortfall(column, turn.request).filter(|tokens| *tokens > NOISE);
    let tail = || {
        let billing = ledger.row_tokens(column, turn.request)?.billing;
        let is_cached = billing.read + billing.write_5m + billing.write_1h > Tokens::ZERO;
        (is_cached && billing.input > LARGEST_CONSTANT_TAIL).then_some(billing.input)
    };
    let of_conversation = turn.events.iter().filter_map(|event| match event {
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

fn events(history: &History, index: RequestIndex, step: &Step) -> Vec<Event> {
    let request = history.request(index);
    let between = &request.between;
    // Of a sum nobody can say what happened at it.
    if request.sum_of > 1 {
        return vec![Event::Sum(request.sum_of)];
    }
    let mut events = Vec::new();
    match step.kind {
        StepKind::Opening => events.push(Event::Opening),
        StepKind::ModelChange => events.push(Event::ModelChange),
        StepKind::Expired => {
            let read = request.usage.as_ref().map(|usage| usage.prompt.read);
            // What branches or other traffic kept alive has not expired.
            let is_lost = read.is_none_or(|read| read < step.previous_end);
            let late = step.gap.zip(step.predecessor_ttl).filter(|_| is_lost);
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
    if step.kind == StepKind::Continued || step.readable_place().is_some() {
        events.extend(background_write(request, step).map(Event::BackgroundWrite));
    }
    let input = request.usage.as_ref().map_or(Tokens::ZERO, |usage| usage.prompt.input);
    if input > LARGEST_CONSTANT_TAIL && has_markers(request) {
        events.push(Event::UncachedTail(input));
    }
    if !request.is_live {
        events.push(Event::Rewound);
    }
    events
}

/// Whether it was sent to a cache with markers.
fn has_markers(request: &Request) -> bool {
    request.vendor == Vendor::Anthropic
}

/// Whether its prompt is smaller than that of the request before it.
fn is_smaller_than_before(history: &History, request: &Request) -> bool {
    let prompt = |request: &Request| request.usage.as_ref().map(|usage| usage.prompt.total());
    let before = history.predecessor(request).and_then(prompt);
    prompt(request).zip(before).is_some_and(|(own, before)| own < before)
}

/// What was read beyond what the previous request had left.
fn background_write(request: &Request, step: &Step) -> Option<Tokens> {
    let read = request.usage.as_ref()?.prompt.read;
    let surplus = read.saturating_sub(step.previous_end);
    let is_told = has_markers(request) && step.dropped_thinking.is_none();
    (is_told && surplus > NOISE).then_some(surplus)
}
