//! Patterns of TTLs that do not suit the pauses of a conversation.

use rustc_hash::FxHashSet;

use super::{Ground, Pattern, PatternEvidence, counted};
use crate::base::{Picodollars, Symbol, Tokens, Ttl, grouped};
use crate::explain::breaks::Cause;
use crate::explain::breaks::find::Break;
use crate::requests::conversation::{ConversationKey, RequestIndex};

/// Size of a prompt that every model caches.
const SURELY_CACHEABLE: Tokens = Tokens(8_192);

/// Five-minute entries that were needed again within an hour, for main conversations and for
/// sub-agents, which have their own setting.
pub(super) fn short_lived(evidence: &PatternEvidence<'_>) -> Vec<Pattern> {
    let main = short_lived_of(
        evidence,
        "short_ttl_main",
        false,
        "main conversations",
        "Cache main conversations for an hour: `promptCacheTtl` (since 2.1.243) or \
         ENABLE_PROMPT_CACHING_1H=1 (since 2.1.108).",
    );
    let agents = short_lived_of(
        evidence,
        "short_ttl_agents",
        true,
        "sub-agents",
        "Cache sub-agents for an hour: `subagentPromptCacheTtl` or \
         CLAUDE_CODE_SUBAGENT_PROMPT_CACHE_TTL=1h (since 2.1.243), where their turns are this long.",
    );
    main.into_iter().chain(agents).collect()
}

fn short_lived_of(
    evidence: &PatternEvidence<'_>,
    name: &'static str,
    are_agents: bool,
    whose: &str,
    advice: &str,
) -> Option<Pattern> {
    let is_such = |found: &Break| {
        found.cause == Cause::TtlExpired5m
            && found.gap.is_some_and(|gap| gap < Ttl::OneHour.millis())
            && evidence.history.request(found.request).agent.is_some() == are_agents
    };
    let breaks: Vec<&Break> = evidence.breaks_that(is_such).collect();
    let conversations: FxHashSet<ConversationKey> =
        breaks.iter().map(|found| evidence.conversation(found.request)).collect();
    let saving =
        evidence.saved_by("1h", |index| conversations.contains(&evidence.conversation(index)))?;
    let observation = format!(
        "{} after more than five minutes and within an hour found nothing of what {} {} had cached \
         for five minutes.",
        counted(breaks.len(), "request", "requests"),
        conversations.len(),
        whose,
    );
    worth_it(evidence, name, &breaks, saving, observation, advice)
}

/// Pattern of a simulated change, if that saves anything.
fn worth_it(
    evidence: &PatternEvidence<'_>,
    name: &'static str,
    breaks: &[&Break],
    saving: Picodollars,
    observation: String,
    advice: &str,
) -> Option<Pattern> {
    (saving > Picodollars(0)).then(|| Pattern {
        saving: Some(saving),
        ..evidence.of_excess(name, breaks, Ground::Simulated, observation, advice)
    })
}

/// Pauses longer than any TTL.
pub(super) fn long_pauses(evidence: &PatternEvidence<'_>) -> Option<Pattern> {
    let is_long = |found: &Break| {
        let is_expiry = matches!(found.cause, Cause::TtlExpired5m | Cause::TtlExpired1h);
        is_expiry && found.gap.is_some_and(|gap| gap >= Ttl::OneHour.millis())
    };
    let observation = |breaks: &[&Break]| {
        let rewritten: Tokens = breaks.iter().map(|found| found.rewritten).sum();
        format!(
            "{} went on after a pause of over an hour and wrote {} tokens again, whatever else changed.",
            counted(breaks.len(), "request", "requests"),
            grouped(rewritten.0),
        )
    };
    let advice = "Before a long pause, finish the task or /compact while the cache is warm; after \
                  it, begin a new session rather than going on with a long one.";
    evidence.of_kind(("long_pauses", Ground::AtMostExcess), is_long, observation, advice)
}

/// Conversations whose TTL fell from an hour to five minutes.
pub(super) fn shortened(evidence: &PatternEvidence<'_>) -> Option<Pattern> {
    let mut flipped: FxHashSet<ConversationKey> = FxHashSet::default();
    let mut since: FxHashSet<RequestIndex> = FxHashSet::default();
    let selected: FxHashSet<RequestIndex> = evidence.selection.requests().collect();
    for (index, step) in evidence.steps.iter().enumerate() {
        let index = RequestIndex::new(index);
        if !selected.contains(&index) {
            continue;
        }
        let Some(before) = step.predecessor else { continue };
        let (Some(old), Some(new)) = (evidence.steps[before.get()].ttl, step.ttl) else { continue };
        let fell = old.messages == Ttl::OneHour && new.messages == Ttl::FiveMinutes;
        if fell {
            flipped.insert(evidence.conversation(index));
        }
        if fell || (since.contains(&before) && new.messages == Ttl::FiveMinutes) {
            since.insert(index);
        }
    }
    let is_such =
        |found: &Break| found.cause == Cause::TtlExpired5m && since.contains(&found.request);
    let breaks: Vec<&Break> = evidence.breaks_that(is_such).collect();
    let saving = evidence.saved_by("1h", |index| since.contains(&index))?;
    let observation = format!(
        "The TTL of {} fell from an hour to five minutes in mid-session; {} expired since.",
        counted(flipped.len(), "conversation", "conversations"),
        counted(breaks.len(), "entry", "entries"),
    );
    let advice = "Look for usage credits, an API key or a token in place of the subscription, or \
                  telemetry switched off (before 2.1.108); `promptCacheTtl` keeps the hour.";
    let sessions: FxHashSet<Symbol> = flipped.iter().map(|(session, _)| *session).collect();
    let pattern = worth_it(evidence, "ttl_fell", &breaks, saving, observation, advice)?;
    // The sessions of all conversations with a shorter TTL count, even if nothing expired in them.
    Some(Pattern { sessions: sessions.len() as u64, ..pattern })
}

/// Large prompts that were neither read nor written.
pub(super) fn uncached(evidence: &PatternEvidence<'_>) -> Option<Pattern> {
    let is_uncached = |index: RequestIndex| {
        evidence.history.request(index).usage.as_ref().is_some_and(|usage| {
            usage.prompt.cached_end() == Tokens::ZERO && usage.prompt.input >= SURELY_CACHEABLE
        })
    };
    let uncached: Vec<RequestIndex> =
        evidence.selection.requests().filter(|index| is_uncached(*index)).collect();
    let sessions: FxHashSet<_> =
        uncached.iter().map(|index| evidence.history.request(*index).session).collect();
    let saving = evidence.saved_by("5m", is_uncached).filter(|saving| saving.0 > 0)?;
    Some(Pattern {
        name: "uncached",
        observation: format!(
            "{} of {} tokens or more neither read nor wrote any cache.",
            counted(uncached.len(), "prompt", "prompts"),
            grouped(SURELY_CACHEABLE.0),
        ),
        advice: "Switch prompt caching on: look for DISABLE_PROMPT_CACHING, a gateway that drops \
                 `cache_control`, or a client that sets no marker."
            .to_owned(),
        occurrences: uncached.len() as u64,
        sessions: sessions.len() as u64,
        saving: Some(saving),
        ground: Ground::Simulated,
    })
}
