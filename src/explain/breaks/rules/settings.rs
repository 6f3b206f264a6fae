//! Settings that are part of the cache's key.

use crate::base::model::canonical_name;
use crate::base::units::Tokens;
use crate::explain::breaks::candidate::{Candidate, Confidence, Evidence};
use crate::explain::breaks::case::Case;
use crate::explain::breaks::cause::Cause;
use crate::read::transcript::Sign;
use crate::requests::prompt::StepKind;

/// Models whose cache outlives another effort, by the beginning of their names (documentation of
/// 2026-10-08).
const EFFORT_KEPT: [&str; 4] =
    ["claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-fable-5-1"];

/// Each model has caches of its own.
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

/// The effort stands in front of the messages, or of everything, as the model has it.
pub(super) fn effort(case: &Case<'_>) -> Option<Candidate> {
    let (before, after) = (case.previous.effort?, case.request.effort?);
    if before == after {
        return None;
    }
    let text = |effort| case.history.symbols.text(effort);
    let model = canonical_name(case.history.symbols.text(case.request.model));
    let is_kept = EFFORT_KEPT.iter().any(|family| model.starts_with(family));
    let confidence =
        if is_kept || case.reaches_into_messages() { Confidence::Low } else { Confidence::High };
    let meaning = format!("{} before, {} now", text(before), text(after));
    Some(Candidate::new(Cause::EffortChanged, confidence, case.answer_field("effort", meaning)))
}

/// Requests of different speeds share no prefix.
pub(super) fn fast_mode(case: &Case<'_>) -> Option<Candidate> {
    let fast = |request: &crate::requests::conversation::Request| {
        request.usage.as_ref().map(|u| u.tier.fast)
    };
    let (before, after) = (fast(case.previous)?, fast(case.request)?);
    if before == after {
        return None;
    }
    let name = |fast| if fast { "fast" } else { "standard" };
    let meaning = format!("{} before, {} now", name(before), name(after));
    let evidence = case.answer_field("message.usage.speed", meaning);
    Some(Candidate::new(Cause::FastModeChanged, Confidence::High, evidence))
}

/// A marker's TTL is part of what the client sends; a flip in mid-session comes with another
/// account, plan or overage.
pub(super) fn ttl_tier(case: &Case<'_>) -> Option<Candidate> {
    let (before, after) = (case.previous_step.ttl?, case.step.ttl?);
    // A request that wrote nothing goes on with the TTLs of the one before.
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
