//! Prices of findings about markers: the requests as they were sent, against the same with other markers. Both are
//! simulated.

use rustc_hash::{FxHashMap, FxHashSet};

use super::run::Trace;
use super::{Finding, Rule};
use crate::base::ttl::Ttl;
use crate::base::units::{Picodollars, Tokens};
use crate::requests::conversation::{ConversationKey, RequestIndex};
use crate::requests::prompt::{Level, Marker};
use crate::simulate::cache::{MOST_MARKERS, Outcome};

/// Gives a finding the price of what requests would have saved with other outcomes, if anything.
pub(super) fn priced(
    finding: Finding,
    trace: &Trace<'_>,
    requests: &[RequestIndex],
    other: &[Outcome],
) -> Finding {
    let other = |index: &RequestIndex| &other[index.get()];
    let saved = |index: &RequestIndex| trace.beyond(*index, trace.by_rules(*index), other(index));
    let saved: Option<Picodollars> = requests.iter().map(saved).sum();
    if saved.is_some_and(|saved| saved <= Picodollars::ZERO) {
        return finding.priced(Tokens::ZERO, Some(Picodollars::ZERO));
    }
    let unread = |index| other(index).read.saturating_sub(trace.outcome(*index).read);
    finding.priced(requests.iter().map(unread).sum(), saved)
}

/// Gives findings about missing markers, and about lifetimes that change, the price of their conversations against
/// those with a marker where the request before had one, or with the lifetimes that they began with.
pub(super) fn price_markers(trace: &Trace<'_>, findings: &mut [Finding]) {
    let is_missing = |one: &Finding| one.rule == Rule::MarkerMissing;
    price(trace, findings, is_missing, |requests| {
        // The last marker of each request, as it should be.
        let mut last: FxHashMap<RequestIndex, Marker> = FxHashMap::default();
        let mut marked = FxHashMap::default();
        for index in requests {
            let own = trace.last_marker(*index).copied();
            let before = trace.history.request(*index).predecessor;
            let missing = before.and_then(|before| {
                let end = last.get(&before).filter(|end| trace.has(*index, end.node))?;
                let is_missing = own.is_none_or(|own| own.node < end.node);
                let was_last = end.node == trace.last_block(before).node;
                let place = if was_last { trace.last_block(*index) } else { *end };
                is_missing.then_some(Marker { ttl: end.ttl, ..place })
            });
            if let Some(missing) = missing {
                marked.insert(*index, with_marker(trace, *index, missing));
            }
            last.extend(missing.or(own).map(|marker| (*index, marker)));
        }
        marked
    });
    // What a change of lifetimes lost is priced as a break.
    let is_unpriced = |one: &Finding| one.rule == Rule::TtlChanged && one.tokens == Tokens::ZERO;
    price(trace, findings, is_unpriced, |requests| {
        let mut first: [Option<Ttl>; 2] = [None; 2];
        let mut of_first = |marker: &Marker| {
            let known = &mut first[usize::from(trace.level(marker.node) == Level::Messages)];
            Some(Marker { ttl: Some(*known.get_or_insert(marker.ttl?)), ..*marker })
        };
        let mut with_first = |index: &RequestIndex| {
            let markers = trace.sent_markers(*index).iter();
            (*index, markers.map(|marker| of_first(marker).unwrap_or(*marker)).collect())
        };
        requests.iter().map(&mut with_first).collect()
    });
}

/// Gives the first of some findings in each conversation the price against other markers, and others none.
fn price(
    trace: &Trace<'_>,
    findings: &mut [Finding],
    is_meant: impl Fn(&Finding) -> bool,
    other: impl Fn(&[RequestIndex]) -> FxHashMap<RequestIndex, Vec<Marker>>,
) {
    let meant = findings.iter().filter(|one| is_meant(one));
    let found: FxHashSet<ConversationKey> =
        meant.map(|one| trace.conversation(one.request)).collect();
    if found.is_empty() {
        return;
    }
    let mut conversations: FxHashMap<ConversationKey, Vec<RequestIndex>> = FxHashMap::default();
    for index in trace.indices().filter(|index| !trace.is_refused(*index)) {
        let own = trace.conversation(index);
        if found.contains(&own) {
            conversations.entry(own).or_default().push(index);
        }
    }
    let mut markers = FxHashMap::default();
    for requests in conversations.values() {
        markers.extend(other(requests));
    }
    let outcomes = trace.with_markers(&markers);
    for finding in findings.iter_mut().filter(|one| is_meant(one)) {
        let requests = conversations.remove(&trace.conversation(finding.request));
        *finding = priced(finding.clone(), trace, &requests.unwrap_or_default(), &outcomes);
    }
}

/// Markers of a request, and one more; of four the last is moved.
fn with_marker(trace: &Trace<'_>, index: RequestIndex, more: Marker) -> Vec<Marker> {
    let mut markers = trace.sent_markers(index).to_vec();
    // A marker for five minutes may not stand in front of one for an hour.
    let own = markers.last().and_then(|marker| marker.ttl);
    markers.truncate(MOST_MARKERS - 1);
    markers.push(Marker { ttl: own.or(more.ttl), ..more });
    markers
}
