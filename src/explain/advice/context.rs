//! Changes that keep contexts smaller.

use super::seen::Seen;
use super::{ChangeCandidate, Subject, Way};
use crate::base::{Tokens, counted, grouped};
use crate::requests::conversation::RequestIndex;
use crate::simulate::management::{Compaction, Management};
use crate::simulate::strategy::{Design, Strategy, StrategyKind};

/// A way to keep contexts small, the size of a context at which it begins to act, if it has one, and the assumption
/// of this way alone, about sizes or results.
type ContextWay = (Way, Option<Tokens>, &'static str);

/// Assumption of every way.
const SAME_ANSWERS: &str =
    "The answers would have been as good, and no turn longer, without what was taken out";

const OF_SUMMARIES: &str = "a summary has 4,000 tokens, and what is put in again has a usual size";

const OF_RESULTS: &str = "no cleared result would have been asked for again";

// The client compacts 33,000 tokens below its window.
const BY_WINDOW: &str = "`/autocompact`, `autoCompactWindow`, or CLAUDE_CODE_AUTO_COMPACT_WINDOW: \
                         33,000 above the size (133000 compacts at 100,000; 183000 at 150,000)";

pub(super) fn candidates(seen: &Seen<'_>) -> Vec<ChangeCandidate> {
    let sizes = PromptSizes::of(seen);
    let ways = ways().into_iter().filter(|(way, ..)| seen.may_manage(&way.design));
    let ways = ways.filter(|(_, size, _)| size.is_none_or(|size| sizes.may_stay_below(size)));
    ways.map(|way| candidate(way, &sizes)).collect()
}

/// Ways that somebody can choose, including ways that cannot act on these requests.
///
/// `cached-microcompact` is left out: it is undocumented, so nobody can request it.
#[rustfmt::skip] // one field a line
fn ways() -> Vec<ContextWay> {
    // No built-in strategy compacts at this size.
    let compaction = Compaction { threshold: Some(Tokens(150_000)), ..Compaction::default() };
    let later = Management::Compaction(compaction);
    vec![
        (Way {
            code: "compact-100k",
            label: "Compact conversations at 100,000 tokens",
            design: built_in("compact-100k"),
            setting: Some(BY_WINDOW),
            field: "`messages`: a summary in place of the conversation",
            subject: Subject::Context,
        }, Some(Tokens(100_000)), OF_SUMMARIES),
        (Way {
            code: "compact-150k",
            label: "Compact conversations at 150,000 tokens",
            design: Design { management: Some(Box::new(later)), ..Design::default() },
            setting: Some(BY_WINDOW),
            field: "`messages`: a summary in place of the conversation",
            subject: Subject::Context,
        }, Some(Tokens(150_000)), OF_SUMMARIES),
        (Way {
            code: "session-memory-100k",
            label: "Put a memory in place of 100,000 tokens",
            design: built_in("session-memory-100k"),
            setting: None,
            field: "`messages`: a memory kept beside the conversation, and the latest messages",
            subject: Subject::Context,
        }, Some(Tokens(100_000)), "the size of the memory and its updates is assumed"),
        (Way {
            code: "clear-results-180k",
            label: "Clear old tool results beyond 180,000 tokens",
            design: built_in("clear-results-180k"),
            setting: None,
            field: "`context_management.edits`: `clear_tool_uses_20250919` (beta \
                    context-management-2025-06-27)",
            subject: Subject::Context,
        }, Some(Tokens(180_000)), OF_RESULTS),
        (Way {
            code: "microcompact-60m",
            label: "Clear old tool results after an hour without an answer",
            design: built_in("microcompact-60m"),
            setting: None,
            field: "`messages`: a placeholder in place of each old tool result",
            subject: Subject::Context,
        }, None, OF_RESULTS),
        (Way {
            code: "result-budget-50k",
            label: "Cut tool results to a preview beyond 50,000 characters",
            design: built_in("result-budget-50k"),
            setting: None,
            field: "`tool_result.content`: a preview, with the rest in a file",
            subject: Subject::Context,
        }, None, "the rest of a result would not have been read later"),
    ]
}

/// Design of the built-in strategy with a name.
fn built_in(name: &str) -> Design {
    match Strategy::by_name(name).map(|strategy| strategy.kind) {
        Some(StrategyKind::Counterfactual(design)) => design,
        _ => Design::default(),
    }
}

fn candidate((way, size, assumed): ContextWay, sizes: &PromptSizes) -> ChangeCandidate {
    let assumption = format!("{SAME_ANSWERS}; {assumed}.");
    let evidence = sizes.largest.into_iter().collect();
    let mut candidate = way.candidate(sizes.observed(size), assumption, evidence);
    // Turns may be longer and answers worse without what was taken out.
    candidate.change.is_at_most = true;
    candidate
}

/// Sizes of prompts.
struct PromptSizes {
    totals: Vec<Tokens>,
    /// Tools and system prompt of each, which no way makes smaller.
    fronts: Vec<Tokens>,
    /// Request with the largest prompt.
    largest: Option<RequestIndex>,
}

impl PromptSizes {
    fn of(seen: &Seen<'_>) -> Self {
        let largest = seen.prompts().max_by_key(|(_, prompt)| prompt.total);
        Self {
            totals: seen.prompts().map(|(_, prompt)| prompt.total).collect(),
            fronts: seen.prompts().map(|(_, prompt)| prompt.system_prefix).collect(),
            largest: largest.map(|(index, _)| index),
        }
    }

    /// Returns true unless tools and system prompt of every larger prompt have this size already.
    fn may_stay_below(&self, size: Tokens) -> bool {
        let mut larger = self.totals.iter().zip(&self.fronts).filter(|(total, _)| **total > size);
        larger.clone().next().is_none() || larger.any(|(_, front)| *front < size)
    }

    /// Sentence about the sizes of prompts, and the number above a size.
    fn observed(&self, size: Option<Tokens>) -> String {
        let all: Tokens = self.totals.iter().copied().sum();
        let largest = self.totals.iter().copied().max().unwrap_or_default();
        let mean = all.0 / (self.totals.len() as u64).max(1);
        let larger = size.map_or_else(String::new, |size| {
            let larger = self.totals.iter().filter(|total| **total > size).count() as u64;
            let had = counted(larger, "request had", "requests had");
            format!("; {had} more than {}", grouped(size.0))
        });
        format!(
            "Prompts had {} tokens on average, the largest {}{larger}.",
            grouped(mean),
            grouped(largest.0)
        )
    }
}
