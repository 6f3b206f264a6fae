//! Built-in strategies, by name.

use std::borrow::Cow;
use std::sync::LazyLock;

use enumset::{EnumSet, enum_set};

use super::design::{Anchor, Design, KeepAlive, Layout, Sharing, Starts};
use super::search::Search;
use super::{Strategy, StrategyKind};
use crate::base::{TierTtl, Ttl, TtlPlan};
use crate::simulate::design::{
    Attribution, Deferred, PromptDesign, Reminders, Scopes, Settings, SystemPrompt, Tools,
};
use crate::simulate::management::{
    ByService, ByTime, Compaction, Management, Microcompaction, ResultBudget, ResultClearing,
    SessionMemory,
};

/// Strategies of a run without `--strategy`.
pub const DEFAULT: [&str; 5] = ["billed", "replay", "none", "5m", "1h"];

const FIVE_MINUTES: TierTtl = TierTtl::uniform(Ttl::FiveMinutes);
const ONE_HOUR: TierTtl = TierTtl::uniform(Ttl::OneHour);
const MINUTE: i64 = 60_000;

/// Every strategy, in output order.
pub static ALL: LazyLock<Vec<Strategy>> = LazyLock::new(|| {
    let mut all = vec![Strategy::billed(), Strategy::expected(), Strategy::uncached()];
    all.extend(lifetimes());
    all.extend(layouts());
    all.extend(keep_alives());
    all.extend(managements());
    all.extend(sharings());
    all.extend(prompts());
    all.push(Strategy::bound(None));
    all
});

fn named(name: &'static str, summary: &'static str, kind: StrategyKind) -> Strategy {
    Strategy { name: Cow::Borrowed(name), summary: Cow::Borrowed(summary), kind }
}

fn design(name: &'static str, summary: &'static str, design: Design) -> Strategy {
    named(name, summary, StrategyKind::Counterfactual(design))
}

fn lifetimes() -> Vec<Strategy> {
    vec![
        Strategy::lifetime(Ttl::FiveMinutes),
        Strategy::lifetime(Ttl::OneHour),
        Strategy::mixed(),
        design(
            "as-recorded",
            "the recorded requests with their recorded breaks, which other designs start from",
            Design::default(),
        ),
        design(
            "latched-ttl",
            "every marker for as long as when its conversation began",
            Design { latches_ttl: true, ..Design::default() },
        ),
        design(
            "1h-main-5m-agents",
            "an hour in main conversations, five minutes in sub-agents'",
            with(ONE_HOUR, FIVE_MINUTES),
        ),
        design(
            "5m-main-1h-agents",
            "five minutes in main conversations, an hour in sub-agents'",
            with(FIVE_MINUTES, ONE_HOUR),
        ),
    ]
}

fn layouts() -> Vec<Strategy> {
    let at = |anchors: EnumSet<Anchor>| Layout::At(anchors);
    let with = |layout| Design { layout, ..Design::default() };
    vec![
        design(
            "system-only",
            "one marker, after tools and system prompt",
            with(at(enum_set!(Anchor::System))),
        ),
        design(
            "last-message",
            "one marker, at the end of the last message",
            with(at(enum_set!(Anchor::Last))),
        ),
        design(
            "last-two",
            "two markers, at the ends of this request's and the last request's messages",
            with(at(enum_set!(Anchor::Previous | Anchor::Last))),
        ),
        design(
            "every-10",
            "a marker at every tenth block, the latest four",
            with(Layout::Every(10)),
        ),
        design("four-even", "four markers at equal distances", with(Layout::Even(4))),
        named(
            "cheapest-layout",
            "the cheapest layout of up to four markers for this history",
            StrategyKind::Cheapest(Search::Layout),
        ),
    ]
}

fn keep_alives() -> Vec<Strategy> {
    let pings = |ttl, every, limit| Design {
        ttl: Some(TtlPlan::everywhere(ttl)),
        keep_alive: Some(KeepAlive { every, limit, agents: false }),
        ..Design::default()
    };
    vec![
        design(
            "5m-pinged",
            "five minutes, and a ping each 4.5 minutes for up to half an hour",
            // Half a minute before the five minutes are over: an entry has expired once it reaches its TTL.
            pings(FIVE_MINUTES, 4 * MINUTE + MINUTE / 2, 30 * MINUTE),
        ),
        design(
            "1h-pinged",
            "an hour, and a ping each 55 minutes for up to four hours",
            pings(ONE_HOUR, 55 * MINUTE, 240 * MINUTE),
        ),
        named(
            "cheapest-pings",
            "the cheapest TTL, interval and limit of pings for this history",
            StrategyKind::Cheapest(Search::KeepAlive),
        ),
    ]
}

fn sharings() -> Vec<Strategy> {
    let with = |sharing| Design { sharing, ..Design::default() };
    let none = Sharing::default();
    vec![
        design(
            "forked-agents",
            "sub-agents as forks of the conversation that starts them",
            with(Sharing { forks_agents: true, ..none }),
        ),
        design(
            "fresh-decisions",
            "forks replace other results than their parents, and share tools and system prompt",
            with(Sharing { decides_again: true, ..none }),
        ),
        design(
            "staggered-agents",
            "sub-agents that belong together start after the first one's response began",
            with(Sharing { starts: Starts::Staggered, ..none }),
        ),
        design(
            "agents-at-once",
            "sub-agents that belong together start before any response",
            with(Sharing { starts: Starts::AtOnce, ..none }),
        ),
        design(
            "skip-cache-write",
            "side queries and forks of one request mark the message before their last one",
            with(Sharing { skips_cache_writes: true, ..none }),
        ),
        design(
            "mark-shared",
            "side queries mark the last message that they share with their conversation",
            with(Sharing { marks_shared: true, ..none }),
        ),
        design(
            "sessions-apart",
            "every session has a cache of its own",
            with(Sharing { isolates_sessions: true, ..none }),
        ),
    ]
}

/// Captured prompts under other designs.
fn prompts() -> Vec<Strategy> {
    let with = |prompt| Design { prompt, ..Design::default() };
    let as_sent = PromptDesign::default();
    vec![
        design(
            "tools-sorted",
            "captured prompts with their tools in order of their names",
            with(PromptDesign { tools: Tools::Sorted, ..as_sent }),
        ),
        design(
            "static-first",
            "captured prompts with the unchanging blocks of the system prompt in front",
            with(PromptDesign { system: SystemPrompt::StaticFirst, ..as_sent }),
        ),
        design(
            "stable-first",
            "captured prompts with stable paragraphs in front, lists in order, passing reminders last",
            with(PromptDesign {
                tools: Tools::Sorted,
                system: SystemPrompt::StableFirst,
                reminders: Reminders::Last,
                ..as_sent
            }),
        ),
        design(
            "global-scope",
            "captured prompts whose static part all scopes share",
            with(PromptDesign { scopes: Scopes::On, ..as_sent }),
        ),
        design(
            "no-global-scope",
            "captured prompts of which scopes share nothing",
            with(PromptDesign { scopes: Scopes::Off, ..as_sent }),
        ),
        design(
            "latched-settings",
            "captured prompts whose settings stay on once they were on",
            with(PromptDesign { settings: Settings::Latched, ..as_sent }),
        ),
        design(
            "stable-attribution",
            "captured prompts whose attribution line never changes in a session",
            with(PromptDesign { attribution: Attribution::Stable, ..as_sent }),
        ),
        design(
            "deferred-tools",
            "captured prompts without the tools of MCP servers until they are searched for",
            with(PromptDesign { deferred_tools: Deferred::Mcp, ..as_sent }),
        ),
    ]
}

fn managements() -> Vec<Strategy> {
    let with = |management| Design { management: Some(Box::new(management)), ..Design::default() };
    vec![
        design(
            "microcompact-60m",
            "old tool results are cleared after an hour without an answer, the newest five kept",
            with(Management::Microcompaction(Microcompaction {
                by_time: Some(ByTime::default()),
                by_service: None,
            })),
        ),
        design(
            "cached-microcompact",
            "the service deletes all but five tool results whenever there are more than ten",
            with(Management::Microcompaction(Microcompaction {
                by_time: None,
                by_service: Some(ByService::default()),
            })),
        ),
        design(
            "microcompact-both",
            "after an hour old tool results are cleared, before it the service deletes them",
            with(Management::Microcompaction(Microcompaction {
                by_time: Some(ByTime::default()),
                by_service: Some(ByService::default()),
            })),
        ),
        design(
            "result-budget-50k",
            "tool results beyond 50,000 characters, or 200,000 of one message, come in as a preview",
            with(Management::ResultBudget(ResultBudget::default())),
        ),
        design(
            "clear-results-180k",
            "the service clears at least 140,000 tokens of old tool results beyond 180,000",
            with(Management::ToolResultClearing(ResultClearing::default())),
        ),
        design(
            "compact-100k",
            "the conversation is summarised when it reaches 100,000 tokens, files are put in again",
            with(Management::Compaction(Compaction::default())),
        ),
        design(
            "session-memory-100k",
            "at 100,000 tokens a memory takes the conversation's place, the latest messages kept",
            with(Management::SessionMemory(SessionMemory::default())),
        ),
    ]
}

/// One TTL for main conversations, and one for those of sub-agents.
fn with(main: TierTtl, agents: TierTtl) -> Design {
    Design { ttl: Some(TtlPlan { main, agents }), ..Design::default() }
}

impl Strategy {
    /// Figures of the record.
    pub fn billed() -> Self {
        named("billed", "the recorded tokens at list prices", StrategyKind::Recorded)
    }

    /// Recorded requests under the rules, without any breaks but expiries and compactions.
    pub fn expected() -> Self {
        named("replay", "the recorded requests under the rules", StrategyKind::Replay)
    }

    /// No caching at all.
    pub fn uncached() -> Self {
        let nowhere = Design { layout: Layout::Nowhere, ..Design::default() };
        design("none", "no caching", nowhere)
    }

    /// One lifetime for every marker.
    pub fn lifetime(ttl: Ttl) -> Self {
        let (name, summary) = match ttl {
            Ttl::FiveMinutes => ("5m", "every marker for five minutes"),
            Ttl::OneHour => ("1h", "every marker for an hour"),
        };
        design(name, summary, with(TierTtl::uniform(ttl), TierTtl::uniform(ttl)))
    }

    /// Both lifetimes: the longer one for tools and system prompt, which change least.
    pub fn mixed() -> Self {
        let summary = "an hour on tools and system prompt, five minutes on messages";
        design("mixed", summary, with(TierTtl::MIXED, TierTtl::MIXED))
    }

    /// Built-in strategy with a name.
    pub fn by_name(name: &str) -> Option<Self> {
        ALL.iter().find(|strategy| strategy.name == name).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_a_strategy() {
        for name in DEFAULT {
            assert!(Strategy::by_name(name).is_some_and(|strategy| strategy.name == name));
        }
        assert_eq!(Strategy::by_name("2h"), None);
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> = ALL.iter().map(|strategy| strategy.name.as_ref()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
    }
}
