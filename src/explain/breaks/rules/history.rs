//! Causes in the messages: summarised, cleared, rewound, or rendered in another way.

use crate::base::units::Tokens;
use crate::explain::breaks::candidate::{Candidate, Confidence, Evidence};
use crate::explain::breaks::case::Case;
use crate::explain::breaks::cause::Cause;
use crate::explain::breaks::readable::Readable;
use crate::read::transcript::Sign;

/// After a compaction only tools and system prompt are the same, and the messages that it kept in front of
/// its summary.
pub(super) fn compaction(case: &Case<'_>) -> Option<Candidate> {
    if !case.request.between.has_compaction {
        return None;
    }
    let evidence = case.evidence_of_rewrite(Sign::Compacted.into());
    Some(Candidate::new(Cause::Compaction, rewrite_confidence(case), evidence))
}

/// A fork that decides anew which results are replaced sends other messages than its parent.
pub(super) fn fresh_replacement(case: &Case<'_>) -> Option<Candidate> {
    let line = case.request.fresh_replacement?;
    let meaning = "the fork replaced a result that its parent had sent in full";
    let evidence = Evidence { line, ..Evidence::of_field(case.request, "replacements", meaning) };
    Some(Candidate::new(Cause::MessagesRewritten, Confidence::High, vec![evidence]))
}

/// A microcompaction clears old tool results; everything after the first of them is lost.
pub(super) fn microcompaction(case: &Case<'_>) -> Option<Candidate> {
    if !case.request.between.has_microcompaction {
        return None;
    }
    let evidence = case.evidence_of_rewrite(Sign::ResultsCleared.into());
    Some(Candidate::new(Cause::Microcompaction, rewrite_confidence(case), evidence))
}

/// A rewrite is sure where lines tell of it; but where more of the messages was kept than was read, that is
/// not all.
pub(super) fn rewrite_confidence(case: &Case<'_>) -> Confidence {
    if case.is_explained_by_rewrite() { Confidence::High } else { Confidence::Medium }
}

/// A model that keeps the thinking of the last turn only loses the messages from the first dropped
/// block on, when a new prompt arrives.
pub(super) fn thinking_stripped(case: &Case<'_>) -> Option<Candidate> {
    case.step.dropped_thinking?;
    let is_behind_system = case.system_end > Tokens::ZERO && case.split.read >= case.system_end;
    let is_explained = case.split.read >= case.step.kept_end || is_behind_system;
    let confidence = if is_explained { Confidence::High } else { Confidence::Medium };
    let meaning = "the prompt shrank at a new turn, on a model that drops earlier thinking";
    Some(Candidate::new(
        Cause::ThinkingStripped,
        confidence,
        case.answer_field("message.usage", meaning),
    ))
}

/// The presence of images stands in front of the messages; one that comes or goes loses them.
pub(super) fn image(case: &Case<'_>) -> Option<Candidate> {
    if !case.has(Sign::Image) || case.reaches_into_messages() {
        return None;
    }
    Some(Candidate::new(
        Cause::ImageChanged,
        Confidence::Medium,
        case.evidence_of(Sign::Image.into()),
    ))
}

/// A conversation that goes on from an earlier point should find what was cached there; where it
/// does not, what lies after that point had been sent in another form.
pub(super) fn rewound(case: &Case<'_>) -> Option<Candidate> {
    let branch = case.history.request(case.earlier_branch?);
    let meaning = "another request went on from the same one before";
    let line = Evidence::of_field(branch, "parentUuid", meaning);
    let confidence = match case.readable {
        Readable::EarlierEnd(_) => Confidence::High,
        _ if case.fell_to_system() => Confidence::Low,
        _ => Confidence::Medium,
    };
    Some(Candidate::new(Cause::Rewound, confidence, vec![line]))
}
