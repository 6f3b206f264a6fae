//! Rules about the causes of a miss: each says if its cause fits, how certain it is, and why.
//!
//! Among equally certain causes, the earlier rule of the list wins. The end of every cache (another model, an
//! expiry) comes first, then the end of a process, then a change of a level of the prompt, and last the level
//! that the readable length names.

mod history;
mod settings;
mod timing;

use super::case::Case;
use super::readable::Readable;
use super::{Candidate, Confidence};
use crate::base::order::Order as _;
use crate::read::agent::Vendor;

type BreakRule = fn(&Case<'_>) -> Option<Candidate>;

const RULES: [BreakRule; 22] = [
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
    settings::tools,
    settings::system_prompt,
    history::hook_context,
    history::image,
    settings::ttl_tier,
    history::rewound,
    timing::write_not_visible,
    timing::lookback,
    settings::messages,
    settings::nothing_readable,
];

/// Rules for services without markers. All others are about markers.
const RULES_WITHOUT_MARKERS: [BreakRule; 4] =
    [settings::model, history::compaction, timing::idle, timing::elsewhere];

/// Every cause that fits, most certain first.
pub(super) fn candidates(case: &Case<'_>) -> Vec<Candidate> {
    let has_markers = case.request.vendor == Vendor::Anthropic;
    let rules: &[BreakRule] = if has_markers { &RULES } else { &RULES_WITHOUT_MARKERS };
    let mut candidates: Vec<Candidate> = rules.iter().filter_map(|rule| rule(case)).collect();
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
