//! Changes of the lifetimes of cache entries.

use super::seen::{Seen, evidence};
use super::{Change, ChangeCandidate, Subject, Who};
use crate::base::ttl::{TierTtl, Ttl, TtlPlan};
use crate::base::wording::{counted, grouped};
use crate::requests::conversation::RequestIndex;
use crate::simulate::strategy::Design;

const FIVE_MINUTES: TierTtl = TierTtl::uniform(Ttl::FiveMinutes);
const ONE_HOUR: TierTtl = TierTtl::uniform(Ttl::OneHour);

/// A choice of lifetimes for a client or an agent.
struct LifetimeChoice {
    /// The name of the strategy.
    code: &'static str,
    label: &'static str,
    design: Design,
    who: Who,
    setting: Option<&'static str>,
    field: &'static str,
    /// Names of the patterns that support the choice.
    patterns: &'static [&'static str],
    /// True if entries live longer, and are not only cheaper to write.
    is_longer: bool,
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
        LifetimeChoice {
            code: "5m",
            label: "Cache everything for five minutes",
            design: with(FIVE_MINUTES, FIVE_MINUTES),
            who: Who::User,
            setting: Some(
                "`promptCacheTtl` and `subagentPromptCacheTtl`: \"5m\" (since 2.1.243), or \
                 FORCE_PROMPT_CACHING_5M=1 (since 2.1.108)",
            ),
            field: "`cache_control: {\"type\": \"ephemeral\"}`, without `ttl`",
            patterns: &["uncached"],
            is_longer: false,
        },
        LifetimeChoice {
            code: "1h",
            label: "Cache everything for an hour",
            design: with(ONE_HOUR, ONE_HOUR),
            who: Who::User,
            setting: Some(
                "`promptCacheTtl` and `subagentPromptCacheTtl`: \"1h\" (since 2.1.243), or \
                 ENABLE_PROMPT_CACHING_1H=1 for main conversations (since 2.1.108)",
            ),
            field: "`cache_control.ttl`: \"1h\"",
            patterns: &["short_ttl_main", "short_ttl_agents", "ttl_fell", "uncached"],
            is_longer: true,
        },
        LifetimeChoice {
            code: "1h-main-5m-agents",
            label: "Cache for an hour, sub-agents for five minutes",
            design: with(ONE_HOUR, FIVE_MINUTES),
            who: Who::User,
            setting: Some(
                "`promptCacheTtl`: \"1h\" and `subagentPromptCacheTtl`: \"5m\" (since 2.1.243)",
            ),
            field: "`cache_control.ttl`: \"1h\" in main conversations, \"5m\" in sub-agents'",
            patterns: &["short_ttl_main", "ttl_fell", "uncached"],
            is_longer: true,
        },
        LifetimeChoice {
            code: "5m-main-1h-agents",
            label: "Cache for five minutes, sub-agents for an hour",
            design: with(FIVE_MINUTES, ONE_HOUR),
            who: Who::User,
            setting: Some(
                "`promptCacheTtl`: \"5m\" and `subagentPromptCacheTtl`: \"1h\" (since 2.1.243)",
            ),
            field: "`cache_control.ttl`: \"5m\" in main conversations, \"1h\" in sub-agents'",
            patterns: &["short_ttl_agents"],
            is_longer: false,
        },
        LifetimeChoice {
            code: "mixed",
            label: "Cache the system prompt for an hour, messages for 5m",
            design: with(TierTtl::MIXED, TierTtl::MIXED),
            who: Who::Builder,
            setting: None,
            field: "`cache_control.ttl`: \"1h\" on the last system block, \"5m\" on messages",
            patterns: &[],
            is_longer: false,
        },
        LifetimeChoice {
            code: "latched-ttl",
            label: "Keep the lifetime with which a conversation began",
            design: Design { latches_ttl: true, ..Design::default() },
            who: Who::User,
            setting: Some("`promptCacheTtl` (since 2.1.243), which usage credits do not change"),
            field: "`cache_control.ttl`: the same on every request of a conversation",
            patterns: &["ttl_fell"],
            is_longer: true,
        },
    ]
}

/// Makes a candidate of a choice, with the pauses and the requests that wrote most for an hour.
fn candidate(
    choice: LifetimeChoice,
    seen: &Seen<'_>,
    pauses: &str,
    hour_writes: &[RequestIndex],
) -> ChangeCandidate {
    // Expiries are evidence for longer lifetimes, expensive writes for shorter ones.
    let evidence =
        if choice.is_longer { evidence(&seen.expiries(false)) } else { hour_writes.to_vec() };
    let observed = seen.observed(choice.patterns);
    ChangeCandidate {
        change: Change {
            code: choice.code,
            label: choice.label,
            observation: match observed {
                Some(observed) => format!("{pauses} {observed}"),
                None => pauses.to_owned(),
            },
            advice: format!("{}.", choice.label),
            who: choice.who,
            setting: choice.setting,
            field: Some(choice.field),
            assumption:
                "Requests would have been sent at the same times, and the service grants the \
                         lifetime that is asked for."
                    .to_owned(),
            confidence: None,
            is_at_most: false,
            evidence,
        },
        subject: Subject::Lifetimes,
        design: choice.design,
    }
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
