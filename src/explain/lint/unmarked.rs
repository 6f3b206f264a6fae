//! Content that comes again and that no marker reaches: no marker at all, or none behind the results of tools.
//!
//! The price is what a marker on the last block of each request would have saved: more would have been read, and the
//! rest of each prompt written.

use rustc_hash::FxHashSet;

use super::run::Trace;
use super::{Finding, Rule};
use crate::base::by_key::ByKey;
use crate::base::ttl::Ttl;
use crate::base::units::{Picodollars, Tokens};
use crate::requests::conversation::{ConversationKey, RequestIndex};
use crate::simulate::pricing::Billing;

/// Prompts of a session and agent.
#[derive(Default)]
struct Unmarked {
    first: Option<RequestIndex>,
    requests: u64,
    unread: Tokens,
    spent: Picodollars,
    saved: Picodollars,
    has_markers: bool,
}

/// Findings of sessions whose prompts come again unread, joined. Conversations in `missed` have findings of their own.
pub(super) fn unmarked(trace: &Trace<'_>, missed: &FxHashSet<ConversationKey>) -> Option<Finding> {
    let mut sessions: ByKey<ConversationKey, Unmarked> = ByKey::new();
    for index in trace.marked().filter(|index| !trace.is_refused(*index)) {
        let own = trace.conversation(index);
        if !missed.contains(&own) {
            sessions.entry(own).or_default().add(trace, index);
        }
    }
    // Less than one per cent is not worth a warning: a short question that is sent twice would be one.
    let worth_it = |one: &Unmarked| one.first.is_some() && one.saved.0 * 100 > one.spent.0;
    let found: Vec<Unmarked> = sessions.into_values().filter(worth_it).collect();
    let has_markers = found.iter().any(|one| one.has_markers);
    let detail = if has_markers {
        "messages that come again stand behind the last marker"
    } else {
        "nothing is marked, and the prompts come again"
    };
    let first = found.iter().filter_map(|one| one.first).min()?;
    let finding = Finding::new(Rule::MarkerMissing, "markers".to_owned(), detail.to_owned(), first);
    let requests = found.iter().map(|one| one.requests).sum();
    let unread = found.iter().map(|one| one.unread).sum();
    let saved = found.iter().map(|one| one.saved).sum();
    Some(Finding { requests, ..finding.priced(unread, Some(saved)) })
}

impl Unmarked {
    fn add(&mut self, trace: &Trace<'_>, index: RequestIndex) {
        let outcome = trace.outcome(index);
        let prompt = trace.prompt(index);
        let (Some(rates), true) = (trace.rates(index), prompt.total >= prompt.minimum) else {
            return;
        };
        let written = outcome.write_5m + outcome.write_1h;
        self.has_markers |= outcome.read + written > Tokens::ZERO;
        let came = trace.came_again(index).min(prompt.total);
        let (by_rules, read) = (trace.by_rules(index), trace.read(index));
        // What was marked and is not read all the same has a reason of its own.
        let more = came.saturating_sub(read.max(trace.marked_before(index)));
        let could = if more > Tokens::ZERO { came } else { read };
        if more > Tokens::ZERO {
            self.first.get_or_insert(index);
            self.requests += 1;
            self.unread += more;
        }
        // What is in the prompt behind the part that could be read is written with a marker at the end.
        let recorded = trace.recorded(index).filter(|split| split.read > outcome.read);
        let billed = recorded.map_or(by_rules, |split| Billing::recorded(split, Tokens::ZERO));
        let sent = billed.cost(rates);
        let ttl = trace.last_marker(index).and_then(|marker| marker.ttl);
        let write =
            if ttl == Some(Ttl::OneHour) { rates.cache_write_1h } else { rates.cache_write_5m };
        let marked =
            rates.cache_read.times(could) + write.times(prompt.total.saturating_sub(could));
        self.spent += sent;
        self.saved += sent.minus(marked);
    }
}
