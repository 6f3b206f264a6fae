//! Patterns of habits: sessions that are resumed, updated, switched.

use rustc_hash::FxHashSet;

use super::{Ground, Pattern, PatternEvidence, counted, rests_on};
use crate::base::ByKey;
use crate::explain::breaks::Cause;
use crate::explain::breaks::find::Break;
use crate::read::transcript::Sign;
use crate::requests::conversation::RequestIndex;

/// Resumes that missed a cache that was still alive, by the resuming version.
pub(super) fn resumes(evidence: &PatternEvidence<'_>) -> Option<Pattern> {
    let is_miss = |found: &Break| found.cause == Cause::Resumed && found.is_inside_ttl;
    let breaks: Vec<&Break> = evidence.breaks_that(is_miss).collect();
    if breaks.is_empty() {
        return None;
    }
    let mut missed: ByKey<String, usize> = ByKey::new();
    for found in &breaks {
        *missed.entry(version(evidence, found.request)).or_default() += 1;
    }
    let all = live_resumes(evidence);
    let tried = |version: &String| all.get(version).copied().unwrap_or_default();
    let by_version = missed
        .iter()
        .map(|(version, missed)| format!("{missed} of {} with {version}", tried(version)));
    let observation = format!(
        "{} missed a cache that was still alive: {}.",
        counted(breaks.len(), "resumed session", "resumed sessions"),
        by_version.collect::<Vec<_>>().join(", "),
    );
    let advice = "Leave these versions for one whose resume keeps the prompt, or keep the session \
                  open instead of leaving and resuming it.";
    Some(evidence.of_excess("resume_misses", &breaks, Ground::Excess, observation, advice))
}

/// Returns true if lines before a request show that the session was resumed.
fn is_resumed(evidence: &PatternEvidence<'_>, index: RequestIndex) -> bool {
    let request = evidence.history.request(index);
    let previous = evidence.history.predecessor(request);
    if previous.is_some_and(|previous| previous.session != request.session) {
        return true;
    }
    let mut trail = evidence.history.files[request.file].trail.back_from(request.between.trail);
    trail.any(|entry| !entry.signs.is_disjoint(Sign::SessionResumed | Sign::Exit))
}

/// Number of sessions that each version resumed inside the TTL, by lines and misses.
fn live_resumes(evidence: &PatternEvidence<'_>) -> ByKey<String, usize> {
    let missed: FxHashSet<RequestIndex> = evidence
        .breaks_that(|found| found.cause == Cause::Resumed)
        .map(|found| found.request)
        .collect();
    let mut resumes: ByKey<String, usize> = ByKey::new();
    for index in evidence.selection.requests() {
        if evidence.steps[index.get()].is_inside_ttl()
            && (missed.contains(&index) || is_resumed(evidence, index))
        {
            *resumes.entry(version(evidence, index)).or_default() += 1;
        }
    }
    resumes
}

fn version(evidence: &PatternEvidence<'_>, index: RequestIndex) -> String {
    let request = evidence.history.request(index);
    evidence.history.text(request.client_version).unwrap_or("unknown").to_owned()
}

/// Sessions that another version continued.
pub(super) fn updates(evidence: &PatternEvidence<'_>) -> Option<Pattern> {
    let is_such = |found: &Break| found.cause == Cause::ClientVersionChanged;
    let observation = |breaks: &[&Break]| {
        format!(
            "A session went on with another version of the client {}.",
            counted(breaks.len(), "time", "times"),
        )
    };
    let advice = "Update the client between sessions, or /compact before the update.";
    evidence.of_kind(("updates", Ground::Excess), is_such, observation, advice)
}

/// Models, efforts and speeds that were switched within a session.
pub(super) fn switches(evidence: &PatternEvidence<'_>) -> Option<Pattern> {
    let is_switch = |found: &Break| {
        // A refusal is not a choice of the user.
        !rests_on(found, found.cause, Sign::RefusalFallback)
            && matches!(
                found.cause,
                Cause::ModelChanged | Cause::EffortChanged | Cause::FastModeChanged
            )
    };
    let observation = |breaks: &[&Break]| {
        format!(
            "Model, effort or speed was switched {} in mid-conversation.",
            counted(breaks.len(), "time", "times"),
        )
    };
    let advice = "Choose model, effort and speed at the start or right after a /compact, and send \
                  work for another model to a sub-agent.";
    evidence.of_kind(("switches", Ground::Excess), is_switch, observation, advice)
}
