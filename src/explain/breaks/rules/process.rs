//! Another process went on with the session: it renders system prompt, tools and reminders anew.

use crate::explain::breaks::candidate::{Candidate, Confidence, Evidence};
use crate::explain::breaks::case::Case;
use crate::explain::breaks::cause::Cause;
use crate::read::transcript::Sign;

/// A new version has another system prompt and other tools.
pub(super) fn client_version(case: &Case<'_>) -> Option<Candidate> {
    let (before, after) = (case.previous.client_version?, case.request.client_version?);
    if before == after {
        return None;
    }
    let text = |version| case.history.symbols.text(version);
    let meaning = format!("{} before, {} now", text(before), text(after));
    let confidence = if case.reaches_into_messages() { Confidence::Low } else { Confidence::High };
    Some(Candidate::new(
        Cause::ClientVersionChanged,
        confidence,
        case.answer_field("version", meaning),
    ))
}

/// The session was left and resumed: a hook says so, the client was left, another file goes on with
/// it, or a call was never answered.
pub(super) fn resumed(case: &Case<'_>) -> Option<Candidate> {
    // A process that renders the prompt anew changes it from the front.
    let sure = |confidence| {
        if case.reaches_into_messages() { Confidence::Low } else { confidence }
    };
    let evidence = case.evidence_of(Sign::SessionResumed | Sign::Exit | Sign::TurnResumed);
    if !evidence.is_empty() {
        return Some(Candidate::new(Cause::Resumed, sure(Confidence::High), evidence));
    }
    // A fork has a file of its own, and is of the same process.
    let is_fork = case.request.is_fork_of(case.previous);
    let is_elsewhere =
        case.request.session != case.previous.session || case.request.file != case.previous.file;
    if is_elsewhere && !is_fork {
        let meaning = "another session goes on from there";
        return Some(Candidate::new(
            Cause::Resumed,
            sure(Confidence::High),
            case.answer_field("sessionId", meaning),
        ));
    }
    if is_abandoned(case) {
        let meaning = "a tool call was never answered, and a new prompt came";
        let call = Evidence::of_field(case.previous, "message.content[].type", meaning);
        return Some(Candidate::new(Cause::Resumed, sure(Confidence::Medium), vec![call]));
    }
    None
}

/// Whether the turn before broke off without an interruption: its process ended.
fn is_abandoned(case: &Case<'_>) -> bool {
    !case.previous.ends_turn
        && case.request.between.has_prompt
        && case.request.between.tool_result_messages == 0
        && !case.has(Sign::Interrupted)
        && !case.previous.output_is_lower_bound
}
