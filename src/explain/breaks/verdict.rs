//! The service's own verdict on a miss, joined with what was inferred.

use super::candidate::{Candidate, Confidence};
use super::case::Case;
use super::cause::Cause;

/// Puts the causes that the service's verdict names in front.
pub(super) fn apply_verdict(case: &Case<'_>, candidates: &mut Vec<Candidate>) {
    let Some(verdict) = case.request.verdict else { return };
    let reason = case.history.symbols.text(verdict.reason);
    let meaning = format!("the service says {reason}");
    let field = "message.diagnostics.cache_miss_reason.type";
    let says_so = |one: &Candidate| one.cause.agrees_with(reason) == Some(true);
    if !candidates.iter().any(says_so)
        && let Some(cause) = named_cause(reason)
    {
        candidates.push(Candidate::new(cause, Confidence::High, Vec::new()));
    }
    for candidate in candidates.iter_mut().filter(|one| says_so(one)) {
        candidate.confidence = Confidence::High;
        candidate.evidence.splice(0..0, case.answer_field(field, meaning.clone()));
    }
    candidates.sort_by_key(|one| !says_so(one));
}

/// What a verdict names by itself. `previous_message_not_found` says that the service has nothing to
/// compare with, which an expiry explains; where none fits, it explains nothing.
fn named_cause(reason: &str) -> Option<Cause> {
    match reason {
        "tools_changed" => Some(Cause::ToolsChanged),
        "system_changed" => Some(Cause::SystemPromptChanged),
        "messages_changed" => Some(Cause::MessagesRewritten),
        "model_changed" => Some(Cause::ModelChanged),
        _ => None,
    }
}
