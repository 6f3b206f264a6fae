//! Patterns of changes in front of the cached messages.

use super::{Ground, Pattern, PatternEvidence, counted, rests_on};
use crate::base::{ByKey, Tokens, grouped};
use crate::explain::breaks::find::Break;
use crate::explain::breaks::{Cause, Confidence};
use crate::read::agent::Vendor;
use crate::read::transcript::Sign;
use crate::requests::conversation::ConversationKey;

/// Turns that begin with a read of one length, while everything behind it is written again.
pub(super) fn pinned_reads(evidence: &PatternEvidence<'_>) -> Option<Pattern> {
    let mut pinned: ByKey<(ConversationKey, Tokens), Vec<&Break>> = ByKey::new();
    for found in evidence.breaks_that(|found| found.is_pinned) {
        let key = (evidence.conversation(found.request), found.read);
        pinned.entry(key).or_default().push(found);
    }
    let breaks: Vec<&Break> = pinned.values().flatten().copied().collect();
    let longest = pinned.values().max_by_key(|breaks| breaks.len())?;
    let observation = format!(
        "{} in {} began with a read of one length and wrote the rest again; most often {} tokens, {} \
         times.",
        counted(breaks.len(), "turn", "turns"),
        counted(pinned.len(), "conversation", "conversations"),
        grouped(longest[0].read.0),
        longest.len(),
    );
    let advice = "Something in front of the messages changes while the session runs: capture two \
                  such requests and let `cachesim lint` name the first byte.";
    Some(evidence.of_excess("pinned_reads", &breaks, Ground::AtMostExcess, observation, advice))
}

/// Tools that a search loads within a session.
pub(super) fn loaded_tools(evidence: &PatternEvidence<'_>) -> Option<Pattern> {
    let is_loaded = |found: &Break| rests_on(found, Cause::ToolsChanged, Sign::ToolsLoaded);
    let observation = |breaks: &[&Break]| {
        let loads = loads_of_tools(evidence);
        format!(
            "{} of {} that loaded deferred tools changed the tool list in front of everything.",
            breaks.len(),
            counted(loads, "tool search", "tool searches"),
        )
    };
    let advice = "Load the tools that a session surely needs up front (ENABLE_TOOL_SEARCH=false, or \
                  `alwaysLoad` for a server), or use a client that appends loaded tools.";
    evidence.of_kind(("loaded_tools", Ground::AtMostExcess), is_loaded, observation, advice)
}

fn loads_of_tools(evidence: &PatternEvidence<'_>) -> usize {
    let loads = |index: &crate::requests::conversation::RequestIndex| {
        let request = evidence.history.request(*index);
        let trail = &evidence.history.files[request.file].trail;
        trail.back_from(request.between.trail).any(|entry| entry.signs.contains(Sign::ToolsLoaded))
    };
    evidence.selection.requests().filter(loads).count()
}

/// Signs of tools that came or went.
const SHOWING: [Sign; 5] = [
    Sign::ToolCommand,
    Sign::BridgeConnected,
    Sign::AgentsChanged,
    Sign::ToolsAdded,
    Sign::ToolsRemoved,
];

/// Other tools that came or went.
pub(super) fn changed_tools(evidence: &PatternEvidence<'_>) -> Option<Pattern> {
    // As seen in lines or said by the service. The length of a read alone does not count.
    let is_shown = |found: &Break| {
        found.candidates.first().is_some_and(|one| one.confidence == Confidence::High)
            || SHOWING.iter().any(|sign| rests_on(found, Cause::ToolsChanged, *sign))
    };
    let is_other = |found: &Break| {
        found.cause == Cause::ToolsChanged
            && is_shown(found)
            && !rests_on(found, Cause::ToolsChanged, Sign::ToolsLoaded)
    };
    let observation = |breaks: &[&Break]| {
        format!("The tools changed {} in mid-session.", counted(breaks.len(), "time", "times"))
    };
    let advice = "Connect MCP servers, plugins and other devices before the first prompt, and leave \
                  permissions for whole tools alone until the session ends.";
    evidence.of_kind(("changed_tools", Ground::Excess), is_other, observation, advice)
}

/// Thinking that a model drops at every new turn.
pub(super) fn stripped_thinking(evidence: &PatternEvidence<'_>) -> Option<Pattern> {
    // Which models of other vendors keep it is not known well enough for advice.
    let is_such = |found: &Break| {
        let vendor = evidence.history.request(found.request).vendor;
        found.cause == Cause::ThinkingStripped && vendor == Vendor::Anthropic
    };
    let observation = |breaks: &[&Break]| {
        format!(
            "{} began without the thinking of the turn before, which took the messages after it out of \
         the cache.",
            counted(breaks.len(), "turn", "turns"),
        )
    };
    let advice = "Use a model that keeps earlier thinking (Opus since 4.5, Sonnet since 4.6), or \
                  switch thinking off for short turns.";
    evidence.of_kind(("stripped_thinking", Ground::Excess), is_such, observation, advice)
}

/// Sub-agents that were started too close together to share a prefix.
pub(super) fn siblings(evidence: &PatternEvidence<'_>) -> Option<Pattern> {
    let is_sibling = |found: &Break| {
        let request = evidence.history.request(found.request);
        found.cause == Cause::WriteNotVisible && request.predecessor.is_none()
    };
    let observation = |breaks: &[&Break]| {
        format!(
            "{} wrote a prefix that a sibling, started just before, was writing too.",
            counted(breaks.len(), "sub-agent", "sub-agents"),
        )
    };
    let advice = "Start other sub-agents when one has begun to answer (clients since \
                  2.1.229 do so for workflows).";
    evidence.of_kind(("siblings", Ground::Excess), is_sibling, observation, advice)
}
