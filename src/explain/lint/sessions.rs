//! Parts in front of shared text that differ between sessions: a user, a folder, the moment of a start, the order of
//! tools.
//!
//! The first request of a conversation is compared with those of other sessions that it could have read from. The
//! price is that of the text which both have behind the first difference: in front of it, it would have been read.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use super::recurring::recurrences;
use super::run::Trace;
use super::stability::PromptPair;
use super::{Finding, Rule};
use crate::base::by_key::ByKey;
use crate::base::id::Symbol;
use crate::base::units::Tokens;
use crate::read::capture::WireNodeId;
use crate::requests::conversation::RequestIndex;
use crate::requests::difference::PromptView;

/// Most other sessions that a first request is compared with, the latest ones.
const MOST_SESSIONS: usize = 4;

/// Conversation that others may share text with.
struct Opening {
    first: RequestIndex,
    /// Latest request of its session, which keeps its entries alive.
    latest: RequestIndex,
    session: Symbol,
}

/// Findings about parts that differ between sessions, one for each place. Requests in `priced` have a price.
pub(super) fn between_sessions(
    trace: &Trace<'_>,
    priced: &FxHashSet<RequestIndex>,
) -> Vec<Finding> {
    let mut openings: FxHashMap<(Symbol, Symbol), Vec<Opening>> = FxHashMap::default();
    let mut found: ByKey<String, (Finding, BTreeSet<Symbol>)> = ByKey::new();
    for index in trace.indices().filter(|index| !trace.effective(*index).is_empty()) {
        let (wire, request) = (trace.wire(index), trace.history.request(index));
        let known = openings.entry((wire.model, wire.scope)).or_default();
        if let Some(own) = known.iter_mut().find(|one| one.session == request.session) {
            own.latest = index;
            continue;
        }
        if request.predecessor.is_none()
            && !priced.contains(&index)
            && let Some((other, finding)) = difference(trace, known, index)
        {
            let sessions = [other, request.session];
            match found.get_mut(&finding.place) {
                Some((known, of)) => {
                    known.absorb(&finding);
                    of.extend(sessions);
                }
                None => {
                    found.insert(finding.place.clone(), (finding, sessions.into()));
                }
            }
        }
        if known.len() == MOST_SESSIONS {
            known.remove(0);
        }
        known.push(Opening { first: index, latest: index, session: request.session });
    }
    let counted = |(mut finding, sessions): (Finding, BTreeSet<Symbol>)| {
        let between = |detail: &str| format!("between {} sessions: {detail}", sessions.len());
        finding.plain_detail = finding.plain_detail.as_deref().map(between);
        finding.detail = between(&finding.detail);
        finding
    };
    found.into_values().map(counted).collect()
}

/// Session that shares most text with a first request, with the part in front of it that differs.
fn difference(
    trace: &Trace<'_>,
    known: &[Opening],
    index: RequestIndex,
) -> Option<(Symbol, Finding)> {
    let view = PromptView::new(trace.tree(), trace.wire(index).leaf);
    let read = trace.read(index);
    let lost = known.iter().filter_map(|one| {
        let writers = [one.first, one.latest].into_iter();
        let until = writers.filter_map(|writer| trace.readable_until(writer, index)).max()?;
        let lost = lost(trace, one.first, index, &view);
        Some((lost.min(until.saturating_sub(read)), one))
    });
    let (tokens, other) = lost.max_by_key(|(tokens, one)| (*tokens, one.first))?;
    if tokens == Tokens::ZERO {
        return None;
    }
    let before = PromptView::new(trace.tree(), trace.wire(other.first).leaf);
    let pair = PromptPair {
        before: &before,
        after: &view,
        cached_until: front(&before),
        marked_system: trace.marked_system_blocks(index),
        comes_back: false,
        drops_thinking: false,
        request: index,
    };
    let first = pair.differences().into_iter().next()?;
    let cost = trace.rewrite_cost(index, read, read + tokens);
    let rule = Rule::DiffersBetweenSessions;
    Some((other.session, Finding { rule, ..first.priced(tokens, cost) }))
}

/// End of tools and system prompt.
fn front(view: &PromptView<'_>) -> Option<WireNodeId> {
    view.system.last().or(view.tools.last()).copied()
}

/// Tokens of tools and system prompt that both requests have, and that the later one did not read. None if they are
/// different prompts: most of what stands behind the first difference has to be shared.
fn lost(
    trace: &Trace<'_>,
    writer: RequestIndex,
    index: RequestIndex,
    view: &PromptView<'_>,
) -> Tokens {
    let before = PromptView::new(trace.tree(), trace.wire(writer).leaf);
    let (Some(until), Some(end)) = (front(&before), front(view)) else { return Tokens::ZERO };
    let shared = trace.shared_end(until, index).min(trace.end(end));
    let rest = trace.end(end).saturating_sub(shared);
    let recurring = recurrences(&before, view, until);
    let mut is_first = true;
    let mut same = |id: &WireNodeId| {
        let one = recurring.iter().find(|one| one.block == *id);
        // Of the block that differs first, only what is behind the difference could have been read in front of it.
        let differs = one.is_none_or(|one| one.same < one.bytes);
        let is_first = differs && std::mem::take(&mut is_first);
        one.map_or(Tokens::ZERO, |one| {
            trace.size(*id).share(if is_first { one.end } else { one.same }, one.bytes)
        })
    };
    // Settings between tools and system prompt have a size and no bytes, and are the same.
    let behind_both =
        |id: &&WireNodeId| !before.tools.contains(*id) && !before.system.contains(*id);
    let blocks = view.tools.iter().chain(&view.system).filter(behind_both);
    let own: Tokens = blocks.map(|id| trace.size(*id).saturating_sub(same(id))).sum();
    let behind = rest.saturating_sub(own);
    let all = shared + behind;
    if behind.0 * 2 <= rest.0 || all < trace.prompt(index).minimum {
        return Tokens::ZERO;
    }
    all.saturating_sub(trace.read(index))
}
