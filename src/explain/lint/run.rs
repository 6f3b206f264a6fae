//! All rules over all captured requests.

use rustc_hash::FxHashSet;

use super::finding::{Finding, join};
use super::markers::{request_markers, trace_markers};
use super::recurring::recurrences;
use super::rule::Rule;
use super::stability::Pair;
use super::trace::Trace;
use super::variants::prefix_variants;
use super::volatile_text::volatile_word;
use crate::base::units::{Picodollars, Tokens};
use crate::read::capture::BETA_HEADER;
use crate::requests::conversation::RequestIndex;
use crate::requests::difference::{
    ByteDifference, PromptView, beta_differences, context, deletion_difference, ttl_difference,
};
use crate::requests::prompt::PromptTrace;
use crate::simulate::cache::Policy;
use crate::simulate::ledger::{Ledger, Selection};

/// Finds what makes the prefixes of captured requests unstable, the most expensive first. Only the requests
/// of the selection are reported; the cache is simulated over all.
///
/// The captures have to be read with their bytes kept, and the ledger has to have the column `replay`,
/// simulated under `policy`; without it there is nothing to find.
#[must_use]
pub fn lint(
    ledger: &Ledger<'_>,
    prompts: &PromptTrace,
    policy: &Policy,
    selection: &Selection,
) -> Vec<Finding> {
    let replay = ledger.expected().and_then(|column| column.outcomes());
    let Some(outcomes) = replay else { return Vec::new() };
    let trace = Trace::new(ledger, outcomes, prompts, policy);
    let selected: FxHashSet<RequestIndex> = selection.requests().collect();
    let mut findings = Vec::new();
    for index in trace.indices() {
        findings.extend(request_markers(&trace, index));
        findings.extend(changes(&trace, index));
        findings.extend(idle_edits(&trace, index));
        findings.extend(nested_fork(&trace, index));
    }
    findings.extend(trace_markers(&trace, &findings));
    findings.extend(prefix_variants(&trace));
    findings.extend(volatile_texts(&trace, &findings));
    findings.retain(|finding| selected.contains(&finding.request));
    let mut findings = join(findings);
    for finding in &mut findings {
        finding.latch_saves =
            finding.rule.latched_by().and_then(|name| saving(ledger, name, selection));
    }
    findings
}

/// What a strategy costs less than the replay; `None` unless the ledger has it.
fn saving(ledger: &Ledger<'_>, strategy: &str, selection: &Selection) -> Option<Picodollars> {
    let cost = |name| ledger.totals(ledger.column(name)?, selection.requests()).cost();
    Some(cost("replay")?.minus(cost(strategy)?))
}

/// What differs from the request before it in its chain.
fn changes(trace: &Trace<'_>, index: RequestIndex) -> Vec<Finding> {
    let Some(predecessor) = trace.history.request(index).predecessor else { return Vec::new() };
    // Neither stores nor reads anything.
    if trace.is_refused(predecessor) || trace.is_refused(index) {
        return Vec::new();
    }
    let (before, after) = (trace.wire(predecessor), trace.wire(index));
    let views = [before, after].map(|wire| PromptView::new(trace.tree(), wire.leaf));
    let last = trace.last_marker(predecessor);
    let pair = Pair {
        before: &views[0],
        after: &views[1],
        cached_until: last.map(|marker| trace.wire_node(marker.node)),
        marked_system: trace.marked_system_blocks(index),
        request: index,
    };
    let mut findings = pair.differences();
    findings.extend(beta_change(trace, [predecessor, index]));
    findings.extend(ttl_change(trace, [predecessor, index], &views));
    findings.extend(dropped_edit(trace, predecessor, index));
    let lost = lost(trace, predecessor, index, &views);
    let read = trace.outcome(index).read;
    if findings.is_empty() && lost > Tokens::ZERO && trace.effective(index).is_empty() {
        let detail = "nothing is marked, or too little".to_owned();
        findings.push(Finding::new(Rule::MarkerMissing, "markers".to_owned(), detail, index));
    }
    if let Some(first) = findings.first_mut() {
        first.tokens = lost;
        first.cost = trace.rewrite_cost(index, read, read + lost);
    }
    let request = trace.history.request(index);
    if request.is_fork_of(trace.history.request(predecessor)) {
        findings = findings.into_iter().map(Finding::of_fork).collect();
    }
    findings
}

/// Another set of beta features, where it is part of the key.
fn beta_change(trace: &Trace<'_>, [before, after]: [RequestIndex; 2]) -> Option<Finding> {
    if !trace.keys_betas {
        return None;
    }
    let names = |index| trace.history.text(trace.wire(index).betas);
    let differences = beta_differences(names(before), names(after));
    let details: Vec<&str> = differences.iter().map(|one| one.detail.as_str()).collect();
    let detail = details.join("; ");
    (!detail.is_empty())
        .then(|| Finding::new(Rule::BetasChanged, BETA_HEADER.to_owned(), detail, after))
}

/// Another TTL on a marker.
fn ttl_change(
    trace: &Trace<'_>,
    [before, after]: [RequestIndex; 2],
    views: &[PromptView<'_>; 2],
) -> Option<Finding> {
    let markers = |index| trace.wire(index).markers.as_slice();
    let difference = ttl_difference(views, markers(before), markers(after))?;
    let detail = format!("the marker at {}: {}", difference.place, difference.detail);
    Some(Finding::new(Rule::TtlChanged, "cache_control".to_owned(), detail, after))
}

/// Results that were deleted on the server and are back.
fn dropped_edit(trace: &Trace<'_>, before: RequestIndex, after: RequestIndex) -> Option<Finding> {
    trace.prompt(after).edits()?.restored?;
    let deleted = |index| trace.wire(index).deleted.as_slice();
    let difference = deletion_difference(deleted(before), deleted(after))?;
    Some(Finding::new(Rule::EditDropped, difference.place, difference.detail, after))
}

/// Edits that delete nothing.
fn idle_edits(trace: &Trace<'_>, index: RequestIndex) -> Option<Finding> {
    let idle = trace.wire(index).idle_edits;
    let detail = format!("deletions that refer to no result in front of them: {idle}");
    (idle > 0).then(|| Finding::new(Rule::IdleEdit, "cache_edits".to_owned(), detail, index))
}

/// A fork whose parent is one: its first request has a directive after another fork's.
fn nested_fork(trace: &Trace<'_>, index: RequestIndex) -> Option<Finding> {
    let directives = trace.wire(index).fork_messages;
    let request = trace.history.request(index);
    let goes_on = trace.history.predecessor(request).is_some_and(|one| !request.is_fork_of(one));
    let is_nested = request.agent.is_some() && directives > 1 && !goes_on;
    let detail = format!("{directives} messages hold the directive of a fork");
    is_nested.then(|| Finding::new(Rule::NestedFork, "messages".to_owned(), detail, index))
}

/// The tokens that the predecessor had cached, that were still alive and came back, and that were not
/// read, although a marker could have looked back as far.
fn lost(
    trace: &Trace<'_>,
    predecessor: RequestIndex,
    index: RequestIndex,
    [before, after]: &[PromptView<'_>; 2],
) -> Tokens {
    let Some(marker) = trace.last_marker(predecessor) else { return Tokens::ZERO };
    if !trace.is_readable_from(predecessor, index) {
        return Tokens::ZERO;
    }
    let until = trace.wire_node(marker.node);
    // What its own edits delete, it could not have read.
    let deleted = trace.prompt(index).deleted.saturating_sub(trace.prompt(predecessor).deleted);
    let read = trace.outcome(index).read.max(trace.unlimited(index).read);
    let prompt = trace.prompt(index);
    if trace.tree().path(trace.wire(index).leaf).any(|id| id == until) {
        // The whole prefix came back.
        return marker.end.saturating_sub(deleted).min(prompt.total).saturating_sub(read);
    }
    let tokens: Tokens = recurrences(before, after, until)
        .into_iter()
        .map(|one| trace.size(one.block).share(one.same, one.bytes))
        .sum();
    // What is the same prefix, and lies after the last entry in it, came back, too.
    let shared = trace.shared_end(until, index).saturating_sub(read);
    (shared + tokens).min(prompt.total.saturating_sub(read))
}

/// Words of the system prompts that look as if they would change, where nothing was seen to.
fn volatile_texts(trace: &Trace<'_>, known: &[Finding]) -> Vec<Finding> {
    let places: FxHashSet<&str> = known.iter().map(|finding| finding.place.as_str()).collect();
    let mut findings: Vec<Finding> = Vec::new();
    let mut seen: FxHashSet<&str> = FxHashSet::default();
    for index in trace.indices() {
        let view = PromptView::new(trace.tree(), trace.wire(index).leaf);
        let until = trace.last_marker(index).map(|marker| trace.wire_node(marker.node));
        // What stands after the last marker may change.
        for id in view.system.iter().filter(|id| until.is_none_or(|until| **id <= until)) {
            let text = view.text(*id);
            let place = view.place(*id);
            if places.contains(place.as_str()) || !seen.insert(text) {
                continue;
            }
            let Some((byte, rule)) = volatile_word(text) else { continue };
            let what = if rule == Rule::Timestamp { "a moment" } else { "a random id" };
            let mut finding = Finding::new(Rule::LooksVolatile, place, what.to_owned(), index);
            let shown = context(text, byte);
            finding.difference = Some(ByteDifference { byte, before: String::new(), after: shown });
            findings.push(finding);
        }
    }
    findings
}
