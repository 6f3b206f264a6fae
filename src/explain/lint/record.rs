//! Findings of recorded usage about markers: a lifetime that was not granted, and markers that never took effect.

use std::cell::LazyCell;

use super::counterfactual::priced;
use super::run::Trace;
use super::{Finding, Rule};
use crate::base::by_key::ByKey;
use crate::base::id::Symbol;
use crate::base::units::Tokens;
use crate::read::input::PromptSplit;
use crate::requests::conversation::{RequestIndex, got_hour};
use crate::requests::prompt::Marker;
use crate::simulate::cache::Outcome;
use crate::simulate::pricing::Billing;

/// Least number of requests for a habit of a gateway.
const FEWEST_REQUESTS: usize = 2;

/// Findings about the requests of each scope and model.
pub(super) fn against_the_record(trace: &Trace<'_>) -> Vec<Finding> {
    let mut groups: ByKey<(Symbol, Symbol), Vec<RequestIndex>> = ByKey::new();
    for index in trace.marked().filter(|index| split(trace, *index).is_some()) {
        let wire = trace.wire(index);
        groups.entry((wire.scope, wire.model)).or_default().push(index);
    }
    let as_asked = LazyCell::new(|| as_asked(trace));
    groups
        .values()
        .flat_map(|group| {
            let ungranted = ungranted(trace, group).map(|one| priced(one, trace, group, &as_asked));
            [ungranted, unmarked(trace, group)]
        })
        .flatten()
        .collect()
}

/// Recorded split of a request whose markers take effect by the rules.
fn split(trace: &Trace<'_>, index: RequestIndex) -> Option<PromptSplit> {
    let usage = trace.history.request(index).usage.as_ref()?;
    (!trace.effective(index).is_empty() && !usage.is_sum).then_some(usage.prompt)
}

fn ungranted(trace: &Trace<'_>, group: &[RequestIndex]) -> Option<Finding> {
    let got = |index: &RequestIndex| {
        let usage = trace.history.request(*index).usage.as_ref();
        Some((*index, got_hour(trace.wire(*index), usage)?))
    };
    let asked: Vec<(RequestIndex, bool)> = group.iter().filter_map(got).collect();
    let without: Vec<RequestIndex> =
        asked.iter().filter(|(_, got)| !got).map(|(index, _)| *index).collect();
    let why = if without.len() == asked.len() {
        "a gateway strips `ttl`"
    } else {
        "usage beyond a plan gets five, and a gateway may strip `ttl`"
    };
    let detail = format!(
        "asked for an hour, got five minutes in {} of {}: {why}",
        without.len(),
        asked.len()
    );
    let place = "cache_control.ttl".to_owned();
    let mut finding = Finding::new(Rule::TtlNotGranted, place, detail, *without.first()?);
    finding.requests = without.len() as u64;
    Some(finding)
}

/// Outcomes with the lifetimes that the markers ask for.
fn as_asked(trace: &Trace<'_>) -> Vec<Outcome> {
    let asked = |index: RequestIndex| {
        let sent = trace.sent_markers(index).iter().zip(&trace.wire(index).markers);
        (index, sent.map(|(marker, sent)| Marker { ttl: Some(sent.asked), ..*marker }).collect())
    };
    trace.with_markers(&trace.indices().map(asked).collect())
}

/// Finding of requests none of which wrote or read anything, or that wrote again what the rules read, each time.
fn unmarked(trace: &Trace<'_>, group: &[RequestIndex]) -> Option<Finding> {
    let all =
        |is: fn(PromptSplit) -> bool| group.iter().filter_map(|index| split(trace, *index)).all(is);
    if group.len() < FEWEST_REQUESTS || !all(|split| split.read == Tokens::ZERO) {
        return None;
    }
    let readable = |index: &&RequestIndex| trace.outcome(**index).read > Tokens::ZERO;
    let missed: Vec<RequestIndex> = group.iter().filter(readable).copied().collect();
    let count = group.len();
    let detail = if all(|split| split.written() == Tokens::ZERO) {
        format!(
            "nothing written and nothing read in {count} of {count}: a gateway drops `cache_control`"
        )
    } else {
        format!(
            "written in {count} of {count}, read in none, with the same prefix: accounts or regions change, or a \
             gateway alters what is sent"
        )
    };
    let place = "cache_control".to_owned();
    let mut finding = Finding::new(Rule::MarkersWithoutEffect, place, detail, *missed.first()?);
    finding.requests = count as u64;
    let unread = missed.iter().map(|index| trace.outcome(*index).read).sum();
    let beyond_rules = |index: &RequestIndex| {
        let billed = Billing::recorded(split(trace, *index)?, Tokens::ZERO);
        trace.beyond(*index, billed, trace.outcome(*index))
    };
    Some(finding.priced(unread, group.iter().map(beyond_rules).sum()))
}
