//! Run of all rules over all captured requests, on a simulated trace.

use std::borrow::Cow;

use rustc_hash::{FxHashMap, FxHashSet};

use super::counterfactual::price_markers;
use super::markers::{request_markers, trace_markers};
use super::record::against_the_record;
use super::recurring::recurrences;
use super::sessions::between_sessions;
use super::stability::PromptPair;
use super::thinking::invalidated_thinking;
use super::unmarked::unmarked;
use super::variants::prefix_variants;
use super::volatile_text::volatile_word;
use super::{Finding, Linted, Rule, join, sort};
use crate::base::ttl::Ttl;
use crate::base::units::{Picodollars, Tokens};
use crate::read::capture::{BETA_HEADER, Part, WireNodeId, WireRequest, WireTree};
use crate::read::input::PromptSplit;
use crate::requests::conversation::{ConversationKey, History, RequestIndex};
use crate::requests::difference::{
    ByteDifference, PromptView, beta_differences, comes_back, context, deletion_difference,
    ttl_difference,
};
use crate::requests::prompt::{Level, Marker, NodeId, Prompt, PromptTrace};
use crate::simulate::cache::{BetaKey, LOOKBACK, Lookback, Outcome, Policy, effective, simulate};
use crate::simulate::ledger::{Ledger, Selection};
use crate::simulate::pricing::{Billing, Rates};
use crate::simulate::provider::kept_by_service;

/// Finds the causes of unstable prefixes in captured requests, most expensive first. Only requests
/// of the selection are reported. The cache is simulated over all requests.
///
/// The captures must be read with their bytes kept, and the ledger needs the column `replay`,
/// simulated under `policy`. Without it there are no findings.
#[must_use]
pub fn lint(
    ledger: &Ledger<'_>,
    prompts: &PromptTrace,
    policy: &Policy,
    selection: &Selection,
) -> Linted {
    let replay = ledger.expected().and_then(|column| column.outcomes());
    let Some(outcomes) = replay else { return Linted::default() };
    let trace = Trace::new(ledger, outcomes, prompts, policy);
    let selected: FxHashSet<RequestIndex> = selection.requests().collect();
    let mut findings = Vec::new();
    let mut latest: FxHashMap<ConversationKey, RequestIndex> = FxHashMap::default();
    for index in trace.indices() {
        let changes = changes(&trace, index);
        let before = latest.insert(trace.conversation(index), index);
        findings.extend(before.and_then(|before| return_of_model(&trace, before, index)));
        let is_followed = |one: &Finding| {
            one.rule == Rule::BeyondLookback
                && changes
                    .iter()
                    .any(|change| change.tokens >= one.tokens && change.is_of_messages())
                && trace.is_in_reach(index)
        };
        // What an altered step left out of reach is lost through it, and is in its price.
        let of_markers = trace.is_marked(index).then(|| request_markers(&trace, index));
        findings.extend(of_markers.into_iter().flatten().filter(|one| !is_followed(one)));
        findings.extend(changes);
        findings.extend(idle_edits(&trace, index));
        findings.extend(nested_fork(&trace, index));
    }
    price_markers(&trace, &mut findings);
    findings.extend(trace_markers(&trace, &findings));
    findings.extend(against_the_record(&trace));
    let missed = findings.iter().filter(|finding| finding.rule == Rule::MarkerMissing);
    let missed = missed.map(|finding| trace.conversation(finding.request)).collect();
    findings.extend(unmarked(&trace, &missed));
    let mut priced = FxHashSet::default();
    let variants = prefix_variants(&trace, &mut priced);
    findings.extend(between_sessions(&trace, &priced));
    // Two orders of the same lines are no condition.
    let is_order =
        findings.iter().any(|one| one.rule == Rule::LineOrder && one.tokens > Tokens::ZERO);
    findings.extend(variants.into_iter().filter(|one| one.tokens > Tokens::ZERO || !is_order));
    findings.extend(volatile_texts(&trace, &findings));
    findings.retain(|finding| selected.contains(&finding.request));
    let mut findings = join(findings);
    for finding in &mut findings {
        finding.latch_saves =
            finding.rule.latched_by().and_then(|name| saving(ledger, name, selection));
    }
    sort(&mut findings);
    let compared = trace.indices().filter(|index| selected.contains(index));
    let compared = compared.filter(|index| trace.compared_with(*index).is_some()).count() as u64;
    Linted { findings, compared, ..Linted::default() }
}

/// Saving of a strategy against the replay. `None` unless the ledger has it.
fn saving(ledger: &Ledger<'_>, strategy: &str, selection: &Selection) -> Option<Picodollars> {
    let cost = |name| ledger.totals(ledger.column(name)?, selection.requests()).cost();
    Some(cost("replay")?.minus(cost(strategy)?))
}

/// Differences from the previous request of the chain.
fn changes(trace: &Trace<'_>, index: RequestIndex) -> Vec<Finding> {
    let Some(predecessor) = trace.compared_with(index) else { return Vec::new() };
    let (before, after) = (trace.wire(predecessor), trace.wire(index));
    let views = [before, after].map(|wire| PromptView::new(trace.tree(), wire.leaf));
    let last = trace.last_marker(predecessor);
    let pair = PromptPair {
        before: &views[0],
        after: &views[1],
        cached_until: last.map(|marker| trace.wire_node(marker.node)),
        marked_system: trace.marked_system_blocks(index),
        comes_back: comes_back(trace.tree(), before.leaf, after.leaf),
        drops_thinking: trace.history.facts(after.model).drops_thinking,
        request: index,
    };
    let mut findings = pair.differences();
    findings.extend(beta_change(trace, [predecessor, index]));
    findings.extend(ttl_change(trace, [predecessor, index], &views));
    findings.extend(dropped_edit(trace, predecessor, index));
    let read = trace.read(index);
    let request = trace.history.request(index);
    let is_fork = request.is_fork_of(trace.history.request(predecessor));
    let lost = lost(trace, predecessor, index, &views, is_fork);
    // Tokens that were lost without any difference were lost for lack of a marker.
    if findings.is_empty() && lost > Tokens::ZERO && trace.is_marked(index) {
        findings.extend(marker_missing(trace, index, last));
    }
    // Only the first difference has a price, since everything after it was lost through it.
    let price = trace.rewrite_cost(index, read, read + lost);
    let mut rest = findings.into_iter();
    let first = rest.next().map(|first| first.priced(lost, price));
    let mut findings: Vec<Finding> = first.into_iter().chain(rest).collect();
    // Added after the pricing, so that it never takes the price of a difference.
    if trace.is_marked(index) {
        findings.extend(invalidated_thinking(trace.history, index, &views));
    }
    if is_fork {
        findings = findings.into_iter().map(Finding::of_fork).collect();
    }
    findings
}

/// Price of a request that a model answered and another one had to write again when it came back: its last message.
fn return_of_model(trace: &Trace<'_>, other: RequestIndex, index: RequestIndex) -> Option<Finding> {
    let (before, after) = (trace.wire(other), trace.wire(index));
    if before.model == after.model || !trace.is_alive(other, index) {
        return None;
    }
    let predecessor = trace.compared_with(index)?;
    if trace.compared_with(other) != Some(predecessor) {
        return None;
    }
    let views = [before, after].map(|wire| PromptView::new(trace.tree(), wire.leaf));
    let marked = trace.wire_node(trace.last_marker(other)?.node);
    let written = views[0].blocks.iter().take_while(|id| **id <= marked).count();
    let own = views[1].blocks.get(..written)?;
    let is_same = views[0].texts(&views[0].blocks[..written]) == views[1].texts(own);
    let (read, end) = (trace.read(index), trace.end(*own.last().filter(|_| is_same)?));
    let lost = end.saturating_sub(read);
    let mut finding = Finding::of_model(other);
    finding.requests = 0;
    Some(finding.priced(lost, trace.rewrite_cost(index, read, read + lost)))
}

/// Finding of a request with no effective marker at the end of the cached part, or after it.
fn marker_missing(
    trace: &Trace<'_>,
    index: RequestIndex,
    cached: Option<&Marker>,
) -> Option<Finding> {
    let detail = match trace.last_marker(index) {
        None => "nothing is marked, or too little",
        Some(last) if cached.is_some_and(|cached| last.node < cached.node) => {
            "the last marker stands in front of the end of what was cached"
        }
        Some(_) => return None,
    };
    Some(Finding::new(Rule::MarkerMissing, "markers".to_owned(), detail.to_owned(), index))
}

/// Change of beta features, if they are part of the cache key.
fn beta_change(trace: &Trace<'_>, [before, after]: [RequestIndex; 2]) -> Option<Finding> {
    if trace.policy.betas != BetaKey::Key {
        return None;
    }
    let names = |index| trace.history.text(trace.wire(index).betas);
    let differences = beta_differences(names(before), names(after));
    let details: Vec<&str> = differences.iter().map(|one| one.detail.as_str()).collect();
    let detail = details.join("; ");
    (!detail.is_empty())
        .then(|| Finding::new(Rule::BetasChanged, BETA_HEADER.to_owned(), detail, after))
}

/// Change of a marker's TTL.
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

/// A fork of a fork: its first request has a directive after another fork's.
fn nested_fork(trace: &Trace<'_>, index: RequestIndex) -> Option<Finding> {
    let directives = trace.wire(index).fork_messages;
    let request = trace.history.request(index);
    let continues = trace.history.predecessor(request).is_some_and(|one| !request.is_fork_of(one));
    let is_nested = request.agent.is_some() && directives > 1 && !continues;
    let detail = format!("{directives} messages hold the directive of a fork");
    is_nested.then(|| Finding::new(Rule::NestedFork, "messages".to_owned(), detail, index))
}

/// Tokens that the predecessor had cached, that were still alive, that came back and were not read,
/// although a marker's lookback reached them.
fn lost(
    trace: &Trace<'_>,
    predecessor: RequestIndex,
    index: RequestIndex,
    [before, after]: &[PromptView<'_>; 2],
    is_fork: bool,
) -> Tokens {
    let Some(marker) = trace.last_marker(predecessor) else { return Tokens::ZERO };
    let cached = trace.cached_end(predecessor).unwrap_or_default();
    if trace.wire(predecessor).model != trace.wire(index).model {
        // The model has nothing of what another one had cached.
        let is_alive = trace.is_alive(predecessor, index);
        let end = if is_alive { cached } else { Tokens::ZERO };
        return end.min(trace.prompt(index).total).saturating_sub(trace.read(index));
    }
    if !trace.is_readable_from(predecessor, index) {
        return Tokens::ZERO;
    }
    let until = trace.wire_node(marker.node);
    // A request cannot read what its own edits delete.
    let deleted = trace.prompt(index).deleted.saturating_sub(trace.prompt(predecessor).deleted);
    // Tokens that only the lookback limit lost have a finding of their own.
    let read = trace.read(index).max(trace.unlimited(index).read);
    let prompt = trace.prompt(index);
    if trace.tree().path(trace.wire(index).leaf).any(|id| id == until) {
        // The whole prefix came back.
        return cached.saturating_sub(deleted).min(prompt.total).saturating_sub(read);
    }
    let has_same_front =
        before.system_settings == after.system_settings && before.system == after.system;
    // A fork may have tools and a system prompt of its own, and another conversation has other messages behind them.
    let first = |view: &PromptView<'_>| view.blocks.first().copied();
    let is_continued = || match (first(before), first(after)) {
        (Some(one), Some(other)) => before.text(one) == after.text(other),
        (one, other) => one == other,
    };
    if (has_same_front || (!is_fork && is_continued()))
        && comes_back(trace.tree(), trace.wire(predecessor).leaf, trace.wire(index).leaf)
    {
        // As it was sent, all of it would have been read.
        let end = cached.saturating_sub(deleted);
        let read = if trace.is_in_reach(index) { trace.read(index) } else { read };
        return end.min(prompt.total).saturating_sub(read);
    }
    let tokens: Tokens = recurrences(before, after, until)
        .into_iter()
        .map(|one| trace.size(one.block).share(one.same, one.bytes))
        .sum();
    // The common prefix after its last entry came back, too; what an entry of another request gave was read.
    let came = trace.shared_end(until, index) + tokens;
    came.min(prompt.total).min(cached).saturating_sub(read)
}

/// Words of the system prompts that look as if they changed, without a change that was seen.
fn volatile_texts(trace: &Trace<'_>, known: &[Finding]) -> Vec<Finding> {
    let places: FxHashSet<&str> = known.iter().map(|finding| finding.place.as_str()).collect();
    let mut findings: Vec<Finding> = Vec::new();
    let mut seen: FxHashSet<&str> = FxHashSet::default();
    for index in trace.indices() {
        let view = PromptView::new(trace.tree(), trace.wire(index).leaf);
        let until = trace.last_marker(index).map(|marker| trace.wire_node(marker.node));
        // Text after the last marker may change.
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

/// Captured requests with their simulated outcomes.
pub(super) struct Trace<'a> {
    pub(super) history: &'a History,
    /// Prompts; those to services without markers have one at their ends, as such a service keeps all of them.
    prompts: Cow<'a, PromptTrace>,
    ledger: &'a Ledger<'a>,
    outcomes: &'a [Outcome],
    unlimited: Vec<Outcome>,
    policy: Policy,
    first: usize,
    first_node: usize,
}

impl<'a> Trace<'a> {
    /// Requests as a column of the ledger simulates them under `policy`, and with an unlimited lookback.
    pub(super) fn new(
        ledger: &'a Ledger<'a>,
        outcomes: &'a [Outcome],
        prompts: &'a PromptTrace,
        policy: &Policy,
    ) -> Self {
        let history = ledger.history;
        let mut trace = Self {
            history,
            prompts: Cow::Borrowed(prompts),
            ledger,
            outcomes,
            unlimited: simulate(prompts, &Policy { lookback: Lookback::Unlimited, ..*policy }),
            policy: *policy,
            first: history.of_transcripts().len(),
            first_node: prompts.nodes.len() - history.captured.tree.nodes.len(),
        };
        let elsewhere = trace.indices().filter(|index| !trace.is_marked(*index));
        // Of all lifetimes five minutes are the shortest that any service documents.
        let ends = elsewhere.map(|index| {
            let end = Marker { ttl: Some(Ttl::FiveMinutes), ..trace.last_block(index) };
            (index, vec![end])
        });
        let ends: FxHashMap<RequestIndex, Vec<Marker>> = ends.collect();
        if !ends.is_empty() {
            trace.prompts = Cow::Owned(trace.marked_as(&ends));
        }
        trace
    }

    /// Prompts with other markers of some requests.
    fn marked_as(&self, other: &FxHashMap<RequestIndex, Vec<Marker>>) -> PromptTrace {
        let mut trace = self.prompts.clone().into_owned();
        for index in self.indices() {
            let Some(markers) = other.get(&index) else { continue };
            let start = trace.markers.len();
            trace.markers.extend(markers);
            trace.prompts[index.get()].markers = start..trace.markers.len();
        }
        trace
    }

    /// Returns true if a request was sent under the rules of markers.
    pub(super) fn is_marked(&self, index: RequestIndex) -> bool {
        self.history.is_marked(index)
    }

    /// Captured requests that were sent under the rules of markers, in the order of sending.
    pub(super) fn marked(&self) -> impl Iterator<Item = RequestIndex> + use<> {
        (self.first..self.history.sent_with_markers().len()).map(RequestIndex::new)
    }

    /// Captured requests, in the order of sending.
    pub(super) fn indices(&self) -> impl Iterator<Item = RequestIndex> + use<> {
        (self.first..self.first + self.history.captured.requests.len()).map(RequestIndex::new)
    }

    pub(super) fn tree(&self) -> &'a WireTree {
        &self.history.captured.tree
    }

    pub(super) fn wire(&self, index: RequestIndex) -> &'a WireRequest {
        &self.history.captured.requests[index.get() - self.first]
    }

    pub(super) fn prompt(&self, index: RequestIndex) -> &Prompt {
        &self.prompts.prompts[index.get()]
    }

    pub(super) fn outcome(&self, index: RequestIndex) -> &Outcome {
        &self.outcomes[index.get()]
    }

    /// Recorded split of a prompt, if its tokens are those of the sizes.
    pub(super) fn recorded(&self, index: RequestIndex) -> Option<PromptSplit> {
        let usage = self.history.request(index).usage.as_ref()?;
        let is_comparable = !self.history.captured.counting.is_bytes() && !usage.is_sum;
        is_comparable.then_some(usage.prompt)
    }

    /// Tokens that a request read by the rules, or by its record if that has more.
    pub(super) fn read(&self, index: RequestIndex) -> Tokens {
        let recorded = self.recorded(index).map_or(Tokens::ZERO, |split| split.read);
        self.outcome(index).read.max(recorded)
    }

    /// End of what a request left in the cache by the rules, or by its record if that has less. `None` if nothing is known of
    /// the cache of its service.
    fn cached_end(&self, index: RequestIndex) -> Option<Tokens> {
        let end = self.last_marker(index)?.end;
        let Some(split) = self.recorded(index) else { return Some(end) };
        let of_service = || Some(kept_by_service(self.history, index)?.tokens);
        let kept = if self.is_marked(index) { Some(split.cached_end()) } else { of_service() };
        Some(end.min(kept?))
    }

    /// Outcome with an unlimited lookback.
    pub(super) fn unlimited(&self, index: RequestIndex) -> &Outcome {
        &self.unlimited[index.get()]
    }

    /// Outcomes with other markers of some requests.
    pub(super) fn with_markers(
        &self,
        other: &FxHashMap<RequestIndex, Vec<Marker>>,
    ) -> Vec<Outcome> {
        simulate(&self.marked_as(other), &self.policy)
    }

    /// Markers of a request as it was sent.
    pub(super) fn sent_markers(&self, index: RequestIndex) -> &[Marker] {
        self.prompts.markers_of(self.prompt(index))
    }

    /// Marker without a TTL on the last block of a request that can carry one.
    pub(super) fn last_block(&self, index: RequestIndex) -> Marker {
        let prompt = self.prompt(index);
        let leaf = NodeId::at(self.first_node + self.wire(index).leaf.0 as usize);
        let mut path = self.prompts.path(leaf);
        let node = path.find(|node| self.prompts.node(*node).is_markable).unwrap_or(leaf);
        Marker::new(node, self.prompts.end_in(prompt, node), prompt.basis)
    }

    /// Conversation of a request.
    pub(super) fn conversation(&self, index: RequestIndex) -> ConversationKey {
        self.history.request(index).conversation()
    }

    /// Returns true if a prefix is one of a request's prompt.
    pub(super) fn has(&self, index: RequestIndex, node: NodeId) -> bool {
        let node = self.wire_node(node);
        self.tree().path(self.wire(index).leaf).any(|id| id == node)
    }

    /// Part of a prompt in which a block is.
    pub(super) fn level(&self, node: NodeId) -> Level {
        self.prompts.node(node).level
    }

    /// Request that one is compared with. A refused request neither stores nor reads anything.
    fn compared_with(&self, index: RequestIndex) -> Option<RequestIndex> {
        let predecessor = self.history.request(index).predecessor?;
        let is_captured = predecessor.get() >= self.first;
        (is_captured && !self.is_refused(predecessor) && !self.is_refused(index))
            .then_some(predecessor)
    }

    pub(super) fn is_refused(&self, index: RequestIndex) -> bool {
        self.outcome(index).refusal.is_some()
    }

    /// Markers of a request, one for each block, over prefixes of at least `minimum`.
    fn markers_from(&self, index: RequestIndex, minimum: Tokens) -> Vec<&Marker> {
        let sent = self.sent_markers(index).iter();
        let sent = sent.filter_map(|marker| Some((marker, marker.ttl?))).collect();
        effective(sent, minimum).into_iter().map(|(marker, _)| marker).collect()
    }

    /// Markers of a request, one for each block.
    pub(super) fn markers(&self, index: RequestIndex) -> Vec<&Marker> {
        self.markers_from(index, Tokens::ZERO)
    }

    /// Markers that take effect: markers over a long enough prefix, of a request that is not refused.
    pub(super) fn effective(&self, index: RequestIndex) -> Vec<&Marker> {
        if self.is_refused(index) {
            return Vec::new();
        }
        self.markers_from(index, self.prompt(index).minimum)
    }

    /// Last marker that takes effect.
    pub(super) fn last_marker(&self, index: RequestIndex) -> Option<&Marker> {
        self.effective(index).last().copied()
    }

    /// Captured node of a node of the trace.
    pub(super) fn wire_node(&self, node: NodeId) -> WireNodeId {
        WireNodeId(u32::try_from(node.index() - self.first_node).expect("a captured node"))
    }

    /// Size of the prefix that ends at a captured node.
    pub(super) fn end(&self, id: WireNodeId) -> Tokens {
        self.prompts.nodes[self.first_node + id.0 as usize].end
    }

    /// Size of a captured node's own block.
    pub(super) fn size(&self, id: WireNodeId) -> Tokens {
        let parent = self.tree().node(id).parent;
        self.end(id).saturating_sub(parent.map_or(Tokens::ZERO, |parent| self.end(parent)))
    }

    /// End, in a request, of the prefix that it shares with another path.
    pub(super) fn shared_end(&self, path: WireNodeId, index: RequestIndex) -> Tokens {
        let shared = self.tree().shared(path, self.wire(index).leaf);
        shared.map_or(Tokens::ZERO, |shared| {
            let node = NodeId::at(self.first_node + shared.0 as usize);
            self.prompts.end_in(self.prompt(index), node)
        })
    }

    pub(super) fn positions_between(&self, entry: WireNodeId, marker: WireNodeId) -> u32 {
        let positions =
            |id: WireNodeId| self.prompts.nodes[self.first_node + id.0 as usize].positions;
        positions(marker).saturating_sub(positions(entry))
    }

    /// Number of blocks of the system prompt up to its last marker there, including that block.
    pub(super) fn marked_system_blocks(&self, index: RequestIndex) -> usize {
        let is_system = |id: &WireNodeId| self.tree().node(*id).part == Part::System;
        let markers = &self.wire(index).markers;
        markers
            .iter()
            .rev()
            .map(|marker| marker.node)
            .find(is_system)
            .map_or(0, |last| self.tree().path(last).filter(|id| is_system(id)).count())
    }

    /// Cost of a stretch of a prompt beyond reading it: written under the request's markers,
    /// and sent in full after the last of them. `None` if the model has no price.
    pub(super) fn rewrite_cost(
        &self,
        index: RequestIndex,
        from: Tokens,
        to: Tokens,
    ) -> Option<Picodollars> {
        let rates = self.ledger.rates_of(index)?;
        let effective = self.effective(index);
        // One-hour markers come before five-minute ones: the service refuses any other order.
        let end_of = |ttl| effective.iter().rfind(|marker| marker.ttl == Some(ttl));
        let hour = end_of(Ttl::OneHour).map_or(Tokens::ZERO, |marker| marker.end);
        let written = effective.last().map_or(Tokens::ZERO, |marker| marker.end).max(hour);
        let between = |begin: Tokens, end: Tokens| end.min(to).saturating_sub(begin.max(from));
        let cost = rates.cache_write_1h.times(between(Tokens::ZERO, hour))
            + rates.cache_write_5m.times(between(hour, written))
            + rates.input.times(between(written, to));
        Some(cost.minus(rates.cache_read.times(to.saturating_sub(from))))
    }

    /// Prices of a request's model at its time.
    pub(super) fn rates(&self, index: RequestIndex) -> Option<&Rates> {
        self.ledger.rates_of(index)
    }

    /// Billing of a prompt by the rules.
    pub(super) fn by_rules(&self, index: RequestIndex) -> Billing {
        Billing::of(self.outcome(index), Tokens::ZERO)
    }

    /// Cost of a billing of a prompt beyond that of an outcome. `None` if the model has no price.
    pub(super) fn beyond(
        &self,
        index: RequestIndex,
        billed: Billing,
        other: &Outcome,
    ) -> Option<Picodollars> {
        let rates = self.rates(index)?;
        Some(billed.cost(rates).minus(Billing::of(other, Tokens::ZERO).cost(rates)))
    }

    /// Returns true if the last marker would have found the end of what the request before had marked, had that come
    /// back.
    pub(super) fn is_in_reach(&self, index: RequestIndex) -> bool {
        let before = self.compared_with(index).and_then(|before| self.last_marker(before));
        before.zip(self.last_marker(index)).is_some_and(|(before, own)| {
            self.positions_between(self.wire_node(before.node), self.wire_node(own.node)) < LOOKBACK
        })
    }

    /// Tokens that the request before one had marked, with those that its own edits deleted.
    pub(super) fn marked_before(&self, index: RequestIndex) -> Tokens {
        let end = |before| Some(self.last_marker(before)?.end + self.prompt(before).deleted);
        self.compared_with(index).and_then(end).unwrap_or_default()
    }

    /// Tokens of a prompt that the request before it had, too, whether marked or not, if an entry of five minutes
    /// would still be there.
    pub(super) fn came_again(&self, index: RequestIndex) -> Tokens {
        let Some(before) = self.compared_with(index) else { return Tokens::ZERO };
        let (earlier, own) = (self.prompt(before), self.prompt(index));
        let is_alive = earlier.readable_from <= own.start
            && own.start.since(earlier.start) < Ttl::FiveMinutes.millis()
            && (earlier.model, earlier.scope) == (own.model, own.scope);
        if !is_alive || earlier.total < earlier.minimum {
            return Tokens::ZERO;
        }
        // An entry ends where the prompt before ended.
        let leaf = self.wire(before).leaf;
        let comes_whole = self.tree().path(self.wire(index).leaf).any(|id| id == leaf);
        if comes_whole { self.shared_end(leaf, index) } else { Tokens::ZERO }
    }

    /// Cost of writing tokens under a marker beyond sending them in full.
    pub(super) fn premium_cost(
        &self,
        index: RequestIndex,
        marker: &Marker,
        tokens: Tokens,
    ) -> Option<Picodollars> {
        let rates = self.ledger.rates_of(index)?;
        let written = match marker.ttl? {
            Ttl::FiveMinutes => rates.cache_write_5m,
            Ttl::OneHour => rates.cache_write_1h,
        };
        Some(written.minus(rates.input).times(tokens))
    }

    /// Returns true if a later request of the same scope and model can read the prefix that a request cached.
    pub(super) fn is_readable_from(&self, writer: RequestIndex, reader: RequestIndex) -> bool {
        self.readable_until(writer, reader) == Some(Tokens(u64::MAX))
    }

    /// Returns true if what a request cached up to a marker can be read at the start of a later one.
    fn lives(&self, marker: &Marker, writer: RequestIndex, reader: RequestIndex) -> bool {
        let (before, start) = (self.prompt(writer), self.prompt(reader).start);
        before.readable_from <= start
            && marker.ttl.is_some_and(|ttl| start.since(before.start) < ttl.millis())
    }

    /// Returns true if all that a request cached can be read at the start of a later one of the same scope, by a
    /// request of the model that wrote it.
    fn is_alive(&self, writer: RequestIndex, reader: RequestIndex) -> bool {
        self.prompt(writer).scope == self.prompt(reader).scope
            && self.last_marker(writer).is_some_and(|marker| self.lives(marker, writer, reader))
    }

    /// Size up to which a later request of the same model can read what a request cached, if its prefix is the same: all
    /// of it in the same scope, else the part in front of a global marker. `None` if nothing is alive.
    pub(super) fn readable_until(
        &self,
        writer: RequestIndex,
        reader: RequestIndex,
    ) -> Option<Tokens> {
        let (before, after) = (self.prompt(writer), self.prompt(reader));
        if before.model != after.model {
            return None;
        }
        if before.scope == after.scope {
            return self.is_alive(writer, reader).then_some(Tokens(u64::MAX));
        }
        let is_global = |marker: &&Marker| marker.is_global;
        let mut written = self.effective(writer).into_iter();
        written.rfind(|one| is_global(one) && self.lives(one, writer, reader))?;
        self.effective(reader).into_iter().rfind(is_global).map(|marker| marker.end)
    }
}
