//! Rules on settings that are part of the cache key, and on the level that changed (tools, system prompt or
//! messages), by signs and by the readable length.

use super::history::rewrite_confidence;
use crate::base::{Client, Symbol, Tokens};
use crate::explain::breaks::case::Case;
use crate::explain::breaks::readable::Readable;
use crate::explain::breaks::{Candidate, Cause, Confidence, Evidence};
use crate::read::input::ServiceTier;
use crate::read::transcript::Sign;
use crate::requests::conversation::Request;
use crate::requests::prompt::{ClientVersion, MeasuredRule, StepKind};

/// Change of model: each has its own caches.
pub(super) fn model(case: &Case<'_>) -> Option<Candidate> {
    if case.step.kind != StepKind::ModelChange {
        return None;
    }
    let (before, after) = (case.previous.model, case.request.model);
    let text = |model| case.history.symbols.text(model);
    let meaning = format!("{} before, {} now", text(before), text(after));
    let mut evidence = case.answer_field("message.model", meaning);
    evidence.extend(case.evidence_of(Sign::RefusalFallback | Sign::ModelCommand));
    Some(Candidate::new(Cause::ModelChanged, Confidence::High, evidence))
}

/// Change of the client's mode or permissions, which its instructions tell. (Only Codex records them.)
///
/// (Measured inside the lifetime: 2 of 4 turns with other permissions lost all behind the instructions, and of 2 in
/// another mode none.)
pub(super) fn instructions(case: &Case<'_>) -> Option<Candidate> {
    let change = |of: fn(&Request) -> Option<Symbol>| {
        of(case.previous).zip(of(case.request)).filter(|(before, after)| before != after)
    };
    let (field, meaning) = if let Some((before, after)) = change(|one| one.mode) {
        let text = |mode| case.history.symbols.text(mode);
        let meaning = format!("mode {} before, {} now", text(before), text(after));
        ("collaboration_mode.mode", meaning)
    } else {
        change(|one| one.permissions)?;
        ("turn_context", "other permissions or folders than in the turn before".to_owned())
    };
    // They are told at the beginning of the conversation.
    if case.reads_beyond(case.first_prompt()) {
        return None;
    }
    Some(case.candidate(Cause::SystemPromptChanged, Confidence::Low, field, meaning))
}

/// First version from which another permission mode leaves the prompt as it was.
///
/// (Measured of earlier ones: 21 of 44 changes lost the cache, against 22 of 346 other turns.)
const SAME_IN_ALL_MODES_SINCE: ClientVersion = ClientVersion::new(2, 1, 100);

/// Change of the permission mode, which changed the prompt of earlier clients.
pub(super) fn permission_mode(case: &Case<'_>) -> Option<Candidate> {
    let (after, line) = case.request.between.permission_mode?;
    let before = case.ancestors().find_map(|one| one.between.permission_mode)?.0;
    // The mode is told in front of the messages.
    if before == after || case.version()? >= SAME_IN_ALL_MODES_SINCE || case.reaches_into_messages()
    {
        return None;
    }
    let meaning = format!("{} before, {} now", before.name(), after.name());
    let evidence = Evidence { line, ..Evidence::of_field(case.request, "permissionMode", meaning) };
    Some(Candidate::new(Cause::PermissionModeChanged, Confidence::Medium, vec![evidence]))
}

/// Change of effort, which is part of the prefix before the messages, or before everything, depending on the
/// model.
pub(super) fn effort(case: &Case<'_>) -> Option<Candidate> {
    let (before, after) = (case.previous.effort?, case.request.effort?);
    if before == after {
        return None;
    }
    let text = |effort| case.history.symbols.text(effort);
    let is_kept = case.history.facts(case.request.model).effort_keeps_cache;
    let confidence =
        if is_kept || case.reaches_into_messages() { Confidence::Low } else { Confidence::High };
    let meaning = format!("{} before, {} now", text(before), text(after));
    Some(case.candidate(Cause::EffortChanged, confidence, "effort", meaning))
}

/// Change of speed: requests of different speeds share no prefix.
pub(super) fn fast_mode(case: &Case<'_>) -> Option<Candidate> {
    let fast = |request: &Request| {
        request.usage.as_ref().map(|usage| usage.tier.service == ServiceTier::Fast)
    };
    let (before, after) = (fast(case.previous)?, fast(case.request)?);
    if before == after {
        return None;
    }
    let name = |fast| if fast { "fast" } else { "standard" };
    let meaning = format!("{} before, {} now", name(before), name(after));
    Some(case.candidate(Cause::FastModeChanged, Confidence::High, "message.usage.speed", meaning))
}

/// Change of the markers' TTL, which is part of what the client sends.
///
/// It flips within a session with another account, plan or overage.
pub(super) fn ttl_tier(case: &Case<'_>) -> Option<Candidate> {
    let (before, after) = (case.previous_step.ttl?, case.step.ttl?);
    // A request that wrote nothing keeps the TTLs of the previous one.
    let has_written = case.split.written() > Tokens::ZERO;
    if before == after || !has_written || case.reaches_into_messages() {
        return None;
    }
    let meaning =
        format!("written for {} before, for {} now", before.messages.name(), after.messages.name());
    let field = "message.usage.cache_creation";
    let evidence: Vec<Evidence> = case.answer_field(field, meaning);
    Some(Candidate::new(Cause::TtlTierChanged, Confidence::Medium, evidence))
}

/// Change of tools: they are rendered first, so that nothing is left, or only an entry that another session
/// with the new list has written.
pub(super) fn tools(case: &Case<'_>) -> Option<Candidate> {
    // A tool that is loaded in full joins the list before everything else, and makes it longer.
    let loaded = case.evidence_of(Sign::ToolsLoaded.into());
    let is_at_an_end = matches!(case.readable, Readable::PreviousRead | Readable::EarlierEnd(_));
    let is_measured = case.step.rule == Some(MeasuredRule::FirstLoadedTools);
    if !loaded.is_empty() && (is_measured || !is_at_an_end) {
        return Some(Candidate::new(Cause::ToolsChanged, Confidence::High, loaded));
    }
    if case.reaches_into_messages() {
        return None;
    }
    let changed = Sign::ToolCommand | Sign::BridgeConnected | Sign::AgentsChanged;
    let changed = case.evidence_of(changed | Sign::ToolsAdded | Sign::ToolsRemoved);
    if !changed.is_empty() {
        return Some(Candidate::new(Cause::ToolsChanged, Confidence::Medium, changed));
    }
    None
}

/// Change of the system prompt, which leaves its static part, shared with other sessions.
pub(super) fn system_prompt(case: &Case<'_>) -> Option<Candidate> {
    let known = changed_fields(case);
    if !known.is_empty() {
        return Some(Candidate::new(Cause::SystemPromptChanged, Confidence::High, known));
    }
    // A changed system prompt leaves the tools to be read.
    if case.reaches_into_messages() || case.readable == Readable::Nothing {
        return None;
    }
    let mut evidence = case.evidence_of(Sign::SettingsCommand | Sign::McpInstructionsChanged);
    let is_shared = case.readable == Readable::SharedPrefix;
    if evidence.is_empty() && !is_shared {
        return None;
    }
    // The client renders its system prompt again no sooner than at the beginning of a turn.
    let is_length_alone = evidence.is_empty() && case.is_undisturbed();
    let confidence = if is_length_alone { Confidence::Low } else { Confidence::Medium };
    if is_shared {
        evidence.extend(case.by_length());
    }
    Some(Candidate::new(Cause::SystemPromptChanged, confidence, evidence))
}

/// Evidence in fields that name a source of the system prompt: the agent.
fn changed_fields(case: &Case<'_>) -> Vec<Evidence> {
    let mut evidence = Vec::new();
    if case.request.agent_setting != case.previous.agent_setting {
        evidence.extend(case.answer_field("agentSetting", "another agent's system prompt is set"));
    }
    evidence
}

/// Rewritten message, which leaves everything before it.
///
/// So does a change of anything that is rendered at the very beginning of the messages.
pub(super) fn messages(case: &Case<'_>) -> Option<Candidate> {
    // A rewrite by a measured rule has a cause of its own.
    if case.step.is_rewritten && case.step.rule.is_none() {
        let signs = Sign::EntriesRemoved | Sign::Collapsed | Sign::ResultsReplaced;
        let mut evidence = case.evidence_of_rewrite(signs);
        if evidence.is_empty() {
            let meaning = "the prompt is shorter than what had been cached";
            evidence = case.answer_field("message.usage", meaning);
        }
        let confidence =
            if case.shrank_within_turn() { Confidence::Medium } else { rewrite_confidence(case) };
        return Some(Candidate::new(Cause::MessagesRewritten, confidence, evidence));
    }
    let confidence = match case.readable {
        // In the middle of a turn the client only appends.
        Readable::Nothing | Readable::SharedPrefix => return None,
        _ if case.is_undisturbed() => Confidence::Low,
        Readable::EarlierEnd(_) | Readable::WholeSystem => Confidence::Medium,
        _ if case.reaches_into_messages() => Confidence::Medium,
        Readable::EarlierRead | Readable::NewLength => Confidence::Low,
        Readable::PreviousRead => return None,
    };
    let signs = Sign::Interrupted | Sign::TaskNotification | Sign::SkillLoaded | Sign::OtherCommand;
    let mut evidence = case.by_length();
    evidence.extend(case.evidence_of(signs | Sign::ApiError | Sign::ClientMessage));
    Some(Candidate::new(Cause::MessagesRewritten, confidence, evidence))
}

/// Change of tools by the length alone: nothing was readable inside the TTL, so the level that is rendered
/// first changed.
pub(super) fn nothing_readable(case: &Case<'_>) -> Option<Candidate> {
    // Sessions of other agents do not record their tools.
    let tells_of_tools = case.request.client == Client::ClaudeCode;
    if case.readable != Readable::Nothing || !tells_of_tools {
        return None;
    }
    let mut evidence = case.by_length();
    evidence.extend(case.evidence_of(Sign::SkillLoaded | Sign::OtherCommand));
    Some(Candidate::new(Cause::ToolsChanged, Confidence::Medium, evidence))
}
