//! Observations in the requests, the basis of changes.

use std::cmp::Reverse;

use crate::base::{ByKey, Client, Order as _, Picodollars, Tokens, Ttl, counted, grouped};
use crate::explain::breaks::{Analysis, Break, Cause, Confidence, Pattern};
use crate::read::capture::WireRequest;
use crate::requests::conversation::RequestIndex;
use crate::requests::prompt::{Prompt, PromptTrace};
use crate::simulate::ledger::{Ledger, Selection};
use crate::simulate::strategy::Design;

/// Most requests listed as evidence for a change.
const MOST_EVIDENCE: usize = 3;

/// Observations in the reported requests.
pub(super) struct Seen<'a> {
    pub(super) ledger: &'a Ledger<'a>,
    pub(super) analysis: &'a Analysis,
    trace: &'a PromptTrace,
    pub(super) selected: Vec<RequestIndex>,
}

/// Numbers of pauses of the reported requests after their predecessors.
pub(super) struct Pauses {
    pub(super) under_five_minutes: u64,
    pub(super) under_an_hour: u64,
    pub(super) longer: u64,
}

impl<'a> Seen<'a> {
    pub(super) fn new(
        ledger: &'a Ledger<'a>,
        trace: &'a PromptTrace,
        selection: &'a Selection,
        analysis: &'a Analysis,
    ) -> Self {
        Self { ledger, trace, analysis, selected: selection.requests().collect() }
    }

    /// Returns true if Claude Code may have sent any of the requests, so that its settings matter.
    pub(super) fn may_be_of_claude_code(&self) -> bool {
        let history = self.ledger.history;
        let clients = self.selected.iter().map(|index| history.request(*index).client);
        // A capture may be of any client.
        clients.into_iter().any(|one| matches!(one, Client::ClaudeCode | Client::Capture))
    }

    /// Breaks of a kind, most expensive first.
    pub(super) fn breaks_that(&self, is_such: impl Fn(&Break) -> bool) -> Vec<&'a Break> {
        let list = &self.analysis.breaks.list;
        // No design changes what is sent to caches without markers.
        let marked = self.ledger.history.sent_with_markers().len();
        let is_meant = |found: &&Break| found.request.get() < marked && is_such(found);
        let mut breaks: Vec<&Break> = list.iter().filter(is_meant).collect();
        breaks.order_by_key(|found| (Reverse((found.excess, found.rewritten)), found.request));
        breaks
    }

    /// Breaks after a lifetime expired, in a pause of at least an hour or of less.
    pub(super) fn expiries(&self, is_long: bool) -> Vec<&'a Break> {
        self.breaks_that(|found| {
            matches!(found.cause, Cause::TtlExpired5m | Cause::TtlExpired1h)
                && found.gap.is_some_and(|gap| (gap >= Ttl::OneHour.millis()) == is_long)
        })
    }

    /// Observations of the named patterns, one sentence each.
    pub(super) fn observed(&self, names: &[&str]) -> Option<String> {
        let texts: Vec<&str> =
            self.patterns(names).map(|pattern| pattern.observation.as_str()).collect();
        (!texts.is_empty()).then(|| texts.join(" "))
    }

    /// Advice of the named patterns, one sentence each.
    pub(super) fn advised(&self, names: &[&str]) -> Option<String> {
        let texts: Vec<&str> =
            self.patterns(names).map(|pattern| pattern.advice.as_str()).collect();
        (!texts.is_empty()).then(|| texts.join(" "))
    }

    fn patterns(&self, names: &[&str]) -> impl Iterator<Item = &'a Pattern> {
        self.analysis.patterns.iter().filter(move |pattern| names.contains(&pattern.name))
    }

    /// Requests with the largest one-hour writes.
    pub(super) fn largest_hour_writes(&self) -> Vec<RequestIndex> {
        let history = self.ledger.history;
        let written = |index: &RequestIndex| {
            let usage = history.request(*index).usage.as_ref();
            usage.map_or(Tokens::ZERO, |usage| usage.prompt.write_1h)
        };
        let mut writes = self.selected.clone();
        writes.retain(|index| written(index) > Tokens::ZERO);
        writes.order_by_key(|index| (Reverse(written(index)), *index));
        writes.truncate(MOST_EVIDENCE);
        writes
    }

    pub(super) fn pauses(&self) -> Pauses {
        let steps = self.ledger.steps;
        let marked = self.selected.iter().filter(|index| self.ledger.history.is_marked(**index));
        let gaps: Vec<i64> = marked.filter_map(|index| steps[index.get()].gap).collect();
        let up_to = |ttl: Ttl| gaps.iter().filter(|gap| **gap < ttl.millis()).count() as u64;
        let (short, hour) = (up_to(Ttl::FiveMinutes), up_to(Ttl::OneHour));
        Pauses {
            under_five_minutes: short,
            under_an_hour: hour - short,
            longer: gaps.len() as u64 - hour,
        }
    }

    /// Prompts of the reported requests that changes can act on.
    pub(super) fn prompts(&self) -> impl Iterator<Item = (RequestIndex, &'a Prompt)> + '_ {
        let history = self.ledger.history;
        let single = self.selected.iter().filter(|index| history.is_marked(**index));
        single.map(|index| (*index, &self.trace.prompts[index.get()]))
    }

    /// Returns true if the context management of a design may act on any request.
    pub(super) fn may_manage(&self, design: &Design) -> bool {
        let management = design.management.as_deref();
        management.is_some_and(|management| management.may_act(self.ledger.history))
    }

    /// Returns true if any request is a sub-agent's.
    pub(super) fn has_agents(&self) -> bool {
        self.ledger.history.requests.iter().any(|request| request.agent.is_some())
    }

    /// Returns true if markers of captured requests never had an effect: nothing was written, and nothing read.
    pub(super) fn drops_markers(&self) -> bool {
        let history = self.ledger.history;
        let marked = self.selected.iter().filter_map(|index| {
            let is_marked = history.wire(*index).is_some_and(|wire| !wire.markers.is_empty());
            history.request(*index).usage.as_ref().filter(|_| is_marked)
        });
        let ends: Vec<Tokens> = marked.map(|usage| usage.prompt.cached_end()).collect();
        ends.len() > 1 && ends.iter().all(|end| *end == Tokens::ZERO)
    }

    /// Number of captured requests that asked for an hour and got five minutes.
    pub(super) fn ungranted(&self) -> u64 {
        let wires = self.selected.iter().filter_map(|index| self.ledger.history.wire(*index));
        let is_ungranted = |wire: &&WireRequest| wire.markers.iter().any(|one| one.ttl < one.asked);
        wires.filter(is_ungranted).count() as u64
    }

    /// Returns true if any reported request was captured.
    pub(super) fn has_captures(&self) -> bool {
        self.selected.iter().any(|index| self.ledger.history.is_captured(*index))
    }
}

/// Requests of the first few breaks.
pub(super) fn evidence(breaks: &[&Break]) -> Vec<RequestIndex> {
    breaks.iter().take(MOST_EVIDENCE).map(|found| found.request).collect()
}

/// Confidence behind most of the lost money, the lower one of equals.
pub(super) fn confidence(breaks: &[&Break]) -> Option<Confidence> {
    let mut lost: ByKey<Confidence, Picodollars> = ByKey::new();
    for found in breaks {
        if let Some(candidate) = found.candidates.first() {
            *lost.entry(candidate.confidence).or_default() += found.excess.unwrap_or_default();
        }
    }
    // `max_by_key` returns the last of equals, so the lowest confidence comes last.
    lost.iter().rev().max_by_key(|(_, lost)| **lost).map(|(confidence, _)| *confidence)
}

/// Sentence about the number of breaks and the tokens sent again.
///
/// A change may save without a break.
pub(super) fn counted_breaks(breaks: &[&Break], why: &str) -> String {
    if breaks.is_empty() {
        return "No break has this cause: less would be written, or sent in full.".to_owned();
    }
    let rewritten: Tokens = breaks.iter().map(|found| found.rewritten).sum();
    format!(
        "{} read less than the one before had cached ({why}), and sent {} tokens again.",
        counted(breaks.len() as u64, "request", "requests"),
        grouped(rewritten.0),
    )
}
