//! Markers that the service refuses, or that are useless.

use rustc_hash::FxHashSet;

use super::run::Trace;
use super::{Finding, Rule};
use crate::base::by_key::ByKey;
use crate::base::refusal::ANSWERED;
use crate::base::units::{Picodollars, Tokens};
use crate::read::capture::{BlockKind, Part, WireNodeId, plain_text};
use crate::requests::conversation::RequestIndex;
use crate::requests::difference::PromptView;
use crate::requests::prompt::{Marker, NodeId};
use crate::simulate::cache::{LOOKBACK, Refusal};

/// Least number of marked requests for a habit that can be reported.
const FEWEST_REQUESTS: u64 = 3;

/// Findings within one request.
pub(super) fn request_markers(trace: &Trace<'_>, index: RequestIndex) -> Vec<Finding> {
    let outcome = trace.outcome(index);
    let view = PromptView::new(trace.tree(), trace.wire(index).leaf);
    // A refused request reads and writes nothing, so there is nothing else to find in it.
    if let Some(refusal) = outcome.refusal {
        let mut finding = refused(trace, index, &view, refusal);
        if trace.history.request(index).usage.is_some() {
            finding.detail.push_str(ANSWERED);
        }
        return vec![finding];
    }
    beyond_lookback(trace, index, &view).into_iter().collect()
}

/// Finding of a request that is refused.
fn refused(
    trace: &Trace<'_>,
    index: RequestIndex,
    view: &PromptView<'_>,
    refusal: Refusal,
) -> Finding {
    let (rule, place) = match refusal {
        Refusal::TtlConflict => (Rule::TtlConflict, "cache_control"),
        Refusal::TooManyBreakpoints => (Rule::TooManyMarkers, "markers"),
        Refusal::TtlOrder => (Rule::TtlOrder, "cache_control"),
        Refusal::UnmarkableBlock => (Rule::UnmarkableBlock, "cache_control"),
        Refusal::NoAnswer => (Rule::RequestRefused, "max_tokens"),
        Refusal::SystemRole => (Rule::RequestRefused, "messages"),
        Refusal::NoFastMode => (Rule::RequestRefused, "speed"),
        _ => (Rule::RequestRefused, "cache_control"),
    };
    let nodes: Vec<WireNodeId> =
        trace.wire(index).markers.iter().map(|marker| marker.node).collect();
    let is_unmarkable = |id: &WireNodeId| {
        let node = trace.tree().node(*id);
        let is_empty = plain_text(node.text()).is_some_and(|text| text.is_empty());
        rule == Rule::UnmarkableBlock && (node.kind == BlockKind::Thinking || is_empty)
    };
    let unmarkable: Vec<WireNodeId> = nodes.iter().copied().filter(is_unmarkable).collect();
    // A marker inside a result has no place of its own.
    let is_result = |id: &WireNodeId| {
        rule == Rule::UnmarkableBlock && trace.tree().node(*id).kind == BlockKind::ToolResult
    };
    let results: Vec<WireNodeId> = nodes.iter().copied().filter(is_result).collect();
    let (on, named) = match (unmarkable.is_empty(), results.is_empty()) {
        (false, _) => ("on", unmarkable),
        (true, false) => ("inside", results),
        (true, true) => ("on", nodes),
    };
    let places: Vec<String> = named.into_iter().map(|id| view.place(id)).collect();
    let detail = if rule == Rule::RequestRefused || places.is_empty() {
        refusal.label().to_owned()
    } else {
        format!("markers {on} {}", places.join(", "))
    };
    Finding::new(rule, place.to_owned(), detail, index)
}

/// Finding of an entry that only a marker with unlimited lookback would have read.
fn beyond_lookback(
    trace: &Trace<'_>,
    index: RequestIndex,
    view: &PromptView<'_>,
) -> Option<Finding> {
    let reachable = trace.unlimited(index);
    let read = trace.read(index);
    let lost = reachable.read.saturating_sub(read);
    if lost == Tokens::ZERO {
        return None;
    }
    let entry = trace.wire_node(reachable.found?);
    let last = trace.wire(index).markers.last()?;
    if has_expired_nearby(trace, index, last.node) {
        return None;
    }
    let positions = trace.positions_between(entry, last.node);
    let detail = format!(
        "the entry at {} lies {positions} positions before the marker at {}",
        view.place(entry),
        view.place(last.node),
    );
    let finding = Finding::new(Rule::BeyondLookback, "messages".to_owned(), detail, index);
    Some(finding.priced(lost, trace.rewrite_cost(index, read, reachable.read)))
}

/// Returns true if the previous request's entry is within reach. Then it has expired, and the limit did
/// not lose it.
fn has_expired_nearby(trace: &Trace<'_>, index: RequestIndex, marker: WireNodeId) -> bool {
    let predecessor = trace.history.request(index).predecessor;
    let Some(last) = predecessor.and_then(|before| trace.last_marker(before)) else { return false };
    let entry = trace.wire_node(last.node);
    trace.tree().path(marker).any(|id| id == entry)
        && trace.positions_between(entry, marker) < LOOKBACK
}

/// Effect of the markers in one place over the trace.
#[derive(Default)]
struct MarkerSlot {
    first: Option<RequestIndex>,
    requests: u64,
    below_minimum: u64,
    largest: Tokens,
    /// Marked prefixes of all requests.
    prefixes: FxHashSet<NodeId>,
    /// Prefix that was marked last.
    latest: Option<WireNodeId>,
    /// True if a request continued a prefix that the previous one had marked here.
    is_extended: bool,
    /// True if a request read it by its record.
    is_read: bool,
    tokens: Tokens,
    cost: Option<Picodollars>,
}

/// Findings that need the whole trace.
pub(super) fn trace_markers(trace: &Trace<'_>, changes: &[Finding]) -> Vec<Finding> {
    let found: FxHashSet<NodeId> =
        trace.indices().filter_map(|index| trace.outcome(index).found).collect();
    let is_priced = |change: &&Finding| change.tokens > Tokens::ZERO;
    let first_change = changes.iter().filter(is_priced).map(|change| rank(&change.place)).min();
    // A change at or before the place has its price already.
    let is_explained = |place: &str| first_change.is_some_and(|first| first <= rank(place));
    let mut findings = Vec::new();
    for (place, slot) in slots(trace) {
        let Some(first) = slot.first else { continue };
        if slot.below_minimum == slot.requests {
            let minimum = trace.prompt(first).minimum;
            let detail = format!(
                "never more than {} tokens in front of it; {} are needed",
                slot.largest.0, minimum.0
            );
            let mut finding = Finding::new(Rule::BelowMinimum, place, detail, first);
            finding.requests = slot.requests;
            findings.push(finding);
        } else if slot.requests >= FEWEST_REQUESTS
            && slot.prefixes.len() as u64 == slot.requests
            && !slot.is_extended
            && !slot.is_read
            && !slot.prefixes.iter().any(|node| found.contains(node))
            && !is_explained(&place)
        {
            findings.push(never_read(place, &slot, first));
        }
    }
    findings
}

/// Position of a place in the prefix.
fn rank(place: &str) -> (u8, usize) {
    let part = match place.split('[').next() {
        Some("tools") => 0,
        Some("system") => 1,
        _ => 2,
    };
    let number = place.split(['[', ']']).nth(1).and_then(|number| number.parse().ok());
    (part, if part == 1 { number.unwrap_or(0) } else { 0 })
}

fn never_read(place: String, slot: &MarkerSlot, first: RequestIndex) -> Finding {
    let detail = format!("{} requests marked {} prefixes", slot.requests, slot.prefixes.len());
    let finding = Finding::new(Rule::NeverRead, place, detail, first);
    Finding { requests: slot.requests, ..finding.priced(slot.tokens, slot.cost) }
}

impl MarkerSlot {
    fn free() -> Self {
        Self { cost: Some(Picodollars::ZERO), ..Self::default() }
    }

    /// Adds a marker of a request that reads and writes up to `before` in front of it.
    fn add(&mut self, trace: &Trace<'_>, index: RequestIndex, marker: &Marker, before: Tokens) {
        let node = trace.wire_node(marker.node);
        let mut path = trace.tree().path(trace.wire(index).leaf);
        self.is_extended |= self.latest.is_some_and(|latest| path.any(|id| id == latest));
        self.latest = Some(node);
        self.first.get_or_insert(index);
        self.requests += 1;
        self.below_minimum += u64::from(marker.end < trace.prompt(index).minimum);
        self.largest = self.largest.max(marker.end);
        self.prefixes.insert(marker.node);
        self.is_read |= trace.recorded(index).is_some_and(|split| split.read >= marker.end);
        let written = marker.end.saturating_sub(before);
        self.tokens += written;
        let premium = trace.premium_cost(index, marker, written);
        self.cost = self.cost.zip(premium).map(|(one, other)| one + other);
    }
}

/// Groups markers by the place that a person would name: a tool, a block of the system prompt, or the
/// messages.
fn slots(trace: &Trace<'_>) -> ByKey<String, MarkerSlot> {
    let mut slots: ByKey<String, MarkerSlot> = ByKey::new();
    for index in trace.marked().filter(|index| !trace.is_refused(*index)) {
        let view = PromptView::new(trace.tree(), trace.wire(index).leaf);
        let mut before = trace.read(index);
        for marker in trace.markers(index) {
            let name = slot_name(trace, &view, trace.wire_node(marker.node));
            slots.entry(name).or_insert_with(MarkerSlot::free).add(trace, index, marker, before);
            before = before.max(marker.end);
        }
    }
    slots
}

fn slot_name(trace: &Trace<'_>, view: &PromptView<'_>, node: WireNodeId) -> String {
    match trace.tree().node(node).part {
        Part::MessageStart | Part::Block => "messages".to_owned(),
        _ => view.place(node),
    }
}
