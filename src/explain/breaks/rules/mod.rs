//! Rules about the causes of a miss: each says if its cause fits, how certain it is, and why.
//!
//! Among equally certain causes, the earlier rule of the list wins. The end of every cache (another model, an
//! expiry) comes first, then the end of a process, then a change of a level of the prompt, and last the level
//! that the readable length names.

mod history;
mod settings;
mod timing;

pub(super) use timing::outlasting;

use super::case::Case;
use super::readable::Readable;
use super::snapshots::{Comparison, FrontPart, compared};
use super::{Candidate, Cause, Confidence};
use crate::base::Order as _;
use crate::read::agent::Vendor;
use crate::simulate::provider::OWN_CACHE;

type BreakRule = fn(&Case<'_>) -> Option<Candidate>;

const RULES: [BreakRule; 25] = [
    settings::model,
    history::compaction,
    history::fresh_replacement,
    timing::expiry,
    timing::below_minimum,
    settings::effort,
    settings::fast_mode,
    history::client_version,
    history::resumed,
    history::microcompaction,
    history::thinking_stripped,
    timing::server_side,
    history::pinned,
    settings::permission_mode,
    settings::tools,
    settings::system_prompt,
    history::hook_context,
    history::image,
    settings::ttl_tier,
    history::rewound,
    timing::write_not_visible,
    history::thinking_cleared,
    timing::lookback,
    settings::messages,
    settings::nothing_readable,
];

/// Rules for services without markers. All others are about markers.
const RULES_WITHOUT_MARKERS: [BreakRule; 7] = [
    settings::model,
    history::compaction,
    timing::idle,
    history::reasoning_left,
    settings::effort,
    settings::instructions,
    timing::elsewhere,
];

/// Every cause that fits, most certain first.
pub(super) fn candidates(case: &Case<'_>) -> Vec<Candidate> {
    if case.is_own_cache {
        return vec![own_cache(case)];
    }
    let has_markers = case.request.vendor == Vendor::Anthropic;
    let rules: &[BreakRule] = if has_markers { &RULES } else { &RULES_WITHOUT_MARKERS };
    let mut candidates: Vec<Candidate> = rules.iter().filter_map(|rule| rule(case)).collect();
    follow_records(case, &mut candidates);
    for candidate in &mut candidates {
        // Changes in the messages leave tools and system prompt readable.
        if case.readable == Readable::Nothing && candidate.cause.is_of_messages() {
            candidate.confidence = Confidence::Low;
        }
    }
    // A stable sort, so that the order of the rules decides among equals.
    candidates.order_by_key(|candidate| std::cmp::Reverse(candidate.confidence));
    candidates
}

/// Cause of every miss of a cache that is not Anthropic's: nothing in the prompt decides it.
fn own_cache(case: &Case<'_>) -> Candidate {
    case.candidate(Cause::OwnCache, Confidence::High, "message.usage", OWN_CACHE)
}

/// Replaces what is inferred of tools and system prompt by what the client's records of them show.
fn follow_records(case: &Case<'_>, candidates: &mut Vec<Candidate>) {
    for (part, cause) in FrontPart::CAUSES {
        let comparison = compared(case, part);
        if matches!(comparison, Comparison::Unknown) {
            continue;
        }
        candidates.retain(|candidate| candidate.cause != cause);
        // A read of messages shows that what is in front of them was found.
        if let Comparison::Changed(evidence) = comparison
            && !case.reaches_into_messages()
        {
            candidates.push(Candidate::new(cause, Confidence::High, vec![evidence]));
        }
    }
}
