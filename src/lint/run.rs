//! All rules over all captured requests.

use super::finding::{Difference, Finding, join};
use super::markers::{marked_system_blocks, request_markers, trace_markers};
use super::rule::Rule;
use super::stability::Pair;
use super::trace::Trace;
use super::variants::prefix_variants;
use super::view::PromptView;
use super::volatile_text::{context, volatile_word};
use crate::cache::Lookback;
use crate::conversation::RequestIndex;
use crate::ledger::Ledger;
use crate::prompt::PromptTrace;
use crate::units::Tokens;

/// Finds what makes the prefixes of captured requests unstable, the dearest first.
///
/// The captures have to be read with their bytes kept.
#[must_use]
pub fn lint(ledger: &Ledger<'_>, trace: &PromptTrace, lookback: Lookback) -> Vec<Finding> {
    let trace = Trace::new(ledger, trace, lookback);
    let mut findings = Vec::new();
    for index in trace.indices() {
        findings.extend(request_markers(&trace, index));
        findings.extend(changes(&trace, index));
    }
    findings.extend(trace_markers(&trace, &findings));
    findings.extend(prefix_variants(&trace));
    findings.extend(volatile_texts(&trace, &findings));
    join(findings)
}

/// What differs from the request before it in its chain.
fn changes(trace: &Trace<'_>, index: RequestIndex) -> Vec<Finding> {
    let Some(predecessor) = trace.history.request(index).predecessor else { return Vec::new() };
    let (before, after) = (trace.wire(predecessor), trace.wire(index));
    let views = [before, after].map(|wire| PromptView::new(trace.tree(), wire.leaf));
    let pair = Pair {
        before: &views[0],
        after: &views[1],
        cached_blocks: trace.cached_blocks(predecessor),
        marked_system: marked_system_blocks(trace, index),
        request: index,
    };
    let mut findings = pair.differences();
    if let Some(first) = findings.first_mut() {
        first.tokens = lost(trace, predecessor, index);
        first.cost = trace.rewrite_cost(index, first.tokens);
    }
    findings
}

/// What the predecessor had cached, was still alive, and was not read.
fn lost(trace: &Trace<'_>, predecessor: RequestIndex, index: RequestIndex) -> Tokens {
    let Some(marker) = trace.last_marker(predecessor) else { return Tokens::ZERO };
    let (before, after) = (trace.prompt(predecessor), trace.prompt(index));
    let is_alive = marker.ttl.is_some_and(|ttl| after.start.since(before.start) < ttl.millis());
    let is_model_kept = before.model == after.model;
    if !is_alive || !is_model_kept || before.readable_from > after.start {
        return Tokens::ZERO;
    }
    let readable = marker.end.min(after.total);
    readable.saturating_sub(trace.outcome(index).read)
}

/// Words of the system prompts that look as if they would change, where nothing was seen to.
fn volatile_texts(trace: &Trace<'_>, known: &[Finding]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for index in trace.indices() {
        let view = PromptView::new(trace.tree(), trace.wire(index).leaf);
        for id in &view.system {
            let text = view.text(*id);
            let place = view.place(*id);
            let is_known = known.iter().any(|finding| finding.place == place);
            if is_known || !seen.insert(text) {
                continue;
            }
            let Some((byte, rule)) = volatile_word(text) else { continue };
            let what = if rule == Rule::Timestamp { "a moment" } else { "a random id" };
            let mut finding =
                Finding::new(Rule::LooksVolatile, place, format!("{what} at byte {byte}"), index);
            let shown = context(text, byte);
            finding.difference = Some(Difference { byte, before: String::new(), after: shown });
            findings.push(finding);
        }
    }
    findings
}
