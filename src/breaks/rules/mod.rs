//! What may have caused a miss: each rule says whether its cause fits, how sure it is, and why.
//!
//! Where several are as sure, the earlier rule of the list wins: what ends every cache (another
//! model, an expiry) comes before what ends a process, that before what changes a level of the
//! prompt, and the level that the readable length names comes last.

mod history;
mod level;
mod process;
mod settings;
mod timing;

use super::candidate::Candidate;
use super::case::Case;

type Rule = fn(&Case<'_>) -> Option<Candidate>;

const RULES: [Rule; 20] = [
    settings::model,
    history::compaction,
    timing::expiry,
    timing::below_minimum,
    settings::effort,
    settings::fast_mode,
    process::client_version,
    process::resumed,
    history::microcompaction,
    history::thinking_stripped,
    level::tools,
    level::system_prompt,
    history::image,
    settings::ttl_tier,
    history::rewound,
    timing::write_not_visible,
    timing::lookback,
    level::messages,
    level::nothing_readable,
    timing::server_side,
];

/// Every cause that fits, the surest first.
pub(super) fn candidates(case: &Case<'_>) -> Vec<Candidate> {
    let mut candidates: Vec<Candidate> = RULES.iter().filter_map(|rule| rule(case)).collect();
    // Stable, so that the order of the rules decides among equals.
    candidates.sort_by_key(|candidate| std::cmp::Reverse(candidate.confidence));
    candidates
}
