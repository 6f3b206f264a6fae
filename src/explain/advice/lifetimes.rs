//! Changes of the lifetimes of cache entries.

use super::seen::{Seen, evidence};
use super::{ChangeCandidate, Subject, Way};
use crate::base::{TierTtl, Ttl, TtlPlan, counted, grouped};
use crate::requests::conversation::RequestIndex;
use crate::simulate::strategy::Design;

const FIVE_MINUTES: TierTtl = TierTtl::uniform(Ttl::FiveMinutes);
const ONE_HOUR: TierTtl = TierTtl::uniform(Ttl::OneHour);

/// Assumption of every choice.
const SAME_TIMES: &str = "Requests would have been sent at the same times, and the service grants the \
                          lifetime that is asked for.";

/// A choice of lifetimes for a client or an agent, the names of the patterns that support it, and its evidence.
type LifetimeChoice = (Way, &'static [&'static str], ChoiceEvidence);

/// Requests that are evidence for a choice.
enum ChoiceEvidence {
    /// Requests after an expiry, for longer lifetimes.
    Expiries,
    /// Expensive writes, for shorter ones.
    HourWrites,
}

pub(super) fn candidates(seen: &Seen<'_>) -> Vec<ChangeCandidate> {
    let (pauses, hour_writes) = (pauses(seen), seen.largest_hour_writes());
    let candidate = |choice| candidate(choice, seen, &pauses, &hour_writes);
    choices().into_iter().map(candidate).collect()
}

#[rustfmt::skip] // one field a line
fn choices() -> Vec<LifetimeChoice> {
    let with = |main, agents| Design { ttl: Some(TtlPlan { main, agents }), ..Design::default() };
    vec![
        (Way {
            code: "5m",
            label: "Cache everything for five minutes",
            design: with(FIVE_MINUTES, FIVE_MINUTES),
            setting: Some(
                "`promptCacheTtl` and `subagentPromptCacheTtl`: \"5m\" (since 2.1.243), or \
                 FORCE_PROMPT_CACHING_5M=1 (since 2.1.108)",
            ),
            field: "`cache_control: {\"type\": \"ephemeral\"}`, without `ttl`",
            subject: Subject::Lifetimes,
        }, &["uncached"], ChoiceEvidence::HourWrites),
        (Way {
            code: "1h",
            label: "Cache everything for an hour",
            design: with(ONE_HOUR, ONE_HOUR),
            setting: Some(
                "`promptCacheTtl` and `subagentPromptCacheTtl`: \"1h\" (since 2.1.243), or \
                 ENABLE_PROMPT_CACHING_1H=1 for main conversations (since 2.1.108)",
            ),
            field: "`cache_control.ttl`: \"1h\"",
            subject: Subject::Lifetimes,
        }, &["short_ttl_main", "short_ttl_agents", "ttl_fell", "uncached"], ChoiceEvidence::Expiries),
        (Way {
            code: "1h-main-5m-agents",
            label: "Cache for an hour, sub-agents for five minutes",
            design: with(ONE_HOUR, FIVE_MINUTES),
            setting: Some(
                "`promptCacheTtl`: \"1h\" and `subagentPromptCacheTtl`: \"5m\" (since 2.1.243)",
            ),
            field: "`cache_control.ttl`: \"1h\" in main conversations, \"5m\" in sub-agents'",
            subject: Subject::Lifetimes,
        }, &["short_ttl_main", "ttl_fell", "uncached"], ChoiceEvidence::Expiries),
        (Way {
            code: "5m-main-1h-agents",
            label: "Cache for five minutes, sub-agents for an hour",
            design: with(FIVE_MINUTES, ONE_HOUR),
            setting: Some(
                "`promptCacheTtl`: \"5m\" and `subagentPromptCacheTtl`: \"1h\" (since 2.1.243)",
            ),
            field: "`cache_control.ttl`: \"5m\" in main conversations, \"1h\" in sub-agents'",
            subject: Subject::Lifetimes,
        }, &["short_ttl_agents"], ChoiceEvidence::HourWrites),
        (Way {
            code: "mixed",
            label: "Cache the system prompt for an hour, messages for 5m",
            design: with(TierTtl::MIXED, TierTtl::MIXED),
            setting: None,
            field: "`cache_control.ttl`: \"1h\" on the last system block, \"5m\" on messages",
            subject: Subject::Lifetimes,
        }, &[], ChoiceEvidence::HourWrites),
        (Way {
            code: "latched-ttl",
            label: "Keep the lifetime with which a conversation began",
            design: Design { latches_ttl: true, ..Design::default() },
            setting: Some("`promptCacheTtl` (since 2.1.243), which usage credits do not change"),
            field: "`cache_control.ttl`: the same on every request of a conversation",
            subject: Subject::Lifetimes,
        }, &["ttl_fell"], ChoiceEvidence::Expiries),
    ]
}

/// Makes a candidate of a choice, with the pauses and the requests that wrote most for an hour.
fn candidate(
    (way, patterns, shown): LifetimeChoice,
    seen: &Seen<'_>,
    pauses: &str,
    hour_writes: &[RequestIndex],
) -> ChangeCandidate {
    let evidence = match shown {
        ChoiceEvidence::Expiries => evidence(&seen.expiries(false)),
        ChoiceEvidence::HourWrites => hour_writes.to_vec(),
    };
    let mut observation = match seen.observed(patterns) {
        Some(observed) => format!("{pauses} {observed}"),
        None => pauses.to_owned(),
    };
    let ungranted = seen.ungranted();
    if ungranted > 0 {
        let asked = counted(ungranted, "request asks", "requests ask");
        observation = format!("{observation} {asked} for an hour and got five minutes.");
    }
    // What most requests ask for already is no change.
    let is_asked = ungranted.saturating_mul(2) > seen.selected.len() as u64;
    if !is_asked || way.design.ttl != Some(TtlPlan::everywhere(ONE_HOUR)) {
        return way.candidate(observation, SAME_TIMES.to_owned(), evidence);
    }
    let field = "`cache_control.ttl` is sent; the gateway, or the plan, has to grant it";
    let way = Way { setting: None, field, ..way };
    let mut candidate = way.candidate(observation, SAME_TIMES.to_owned(), evidence);
    "Have the lifetime granted that is asked for.".clone_into(&mut candidate.change.advice);
    candidate
}

/// Sentence about the pauses that a lifetime has to cover.
fn pauses(seen: &Seen<'_>) -> String {
    let pauses = seen.pauses();
    format!(
        "{} within five minutes of the one before, {} within an hour, {} later.",
        counted(pauses.under_five_minutes, "request came", "requests came"),
        grouped(pauses.under_an_hour),
        grouped(pauses.longer),
    )
}
