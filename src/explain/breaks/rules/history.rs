//! Rules on the messages (summarised, cleared, rewound, or rendered in another way), and on another process
//! that continues the session and renders system prompt, tools and reminders again.

use super::timing::LONGEST_DELAY;
use crate::base::{Tokens, grouped};
use crate::explain::breaks::case::{Case, READ_FIELD};
use crate::explain::breaks::readable::Readable;
use crate::explain::breaks::{Candidate, Cause, Confidence, Evidence};
use crate::read::transcript::Sign;
use crate::requests::prompt::{ClientVersion, Kept, LARGE_MISS, MeasuredRule, NOISE};

/// Compaction: only tools, system prompt, and the messages kept before the summary are the same.
pub(super) fn compaction(case: &Case<'_>) -> Option<Candidate> {
    if !case.request.between.has_compaction {
        return None;
    }
    let evidence = case.evidence_of_rewrite(Sign::Compacted.into());
    Some(Candidate::new(Cause::Compaction, rewrite_confidence(case), evidence))
}

/// Fork that decides again which results are replaced, and so sends other messages than its parent.
pub(super) fn fresh_replacement(case: &Case<'_>) -> Option<Candidate> {
    let line = case.request.fresh_replacement?;
    let meaning = "the fork replaced a result that its parent had sent in full";
    let evidence = Evidence { line, ..Evidence::of_field(case.request, "replacements", meaning) };
    Some(Candidate::new(Cause::MessagesRewritten, Confidence::High, vec![evidence]))
}

/// Microcompaction: old tool results are cleared, and everything after the first of them is lost.
pub(super) fn microcompaction(case: &Case<'_>) -> Option<Candidate> {
    if !case.request.between.has_microcompaction {
        // Clients do not write down what they take out of sub-agents.
        return case.shrank_within_turn().then(|| {
            let meaning =
                "the prompt is shorter than what had been cached, in the middle of a turn";
            case.candidate(Cause::Microcompaction, Confidence::Medium, "message.usage", meaning)
        });
    }
    let evidence = case.evidence_of_rewrite(Sign::ResultsCleared.into());
    Some(Candidate::new(Cause::Microcompaction, rewrite_confidence(case), evidence))
}

/// Certainty of a rewrite: high if lines show it.
///
/// It does not explain everything if more of the messages was kept than was read.
pub(super) fn rewrite_confidence(case: &Case<'_>) -> Confidence {
    if case.is_explained_by_rewrite() { Confidence::High } else { Confidence::Medium }
}

/// Dropped thinking: a model that keeps only the thinking of the last turn loses the messages from the first
/// dropped block on, when a new prompt arrives.
pub(super) fn thinking_stripped(case: &Case<'_>) -> Option<Candidate> {
    let place = case.history.request(case.step.dropped_thinking?).recorded().prompt.cached_end();
    if case.kept_thinking(place) {
        return None;
    }
    let is_behind_system = case.system_end > Tokens::ZERO && case.split.read >= case.system_end;
    let is_explained = case.split.read + NOISE >= place || is_behind_system;
    let confidence = if is_explained { Confidence::High } else { Confidence::Medium };
    let meaning = "the prompt shrank at a new turn, on a model that drops earlier thinking";
    Some(case.candidate(Cause::ThinkingStripped, confidence, "message.usage", meaning))
}

/// Reasoning of the turn before that Codex no longer sends: the prompt is the same up to the answer that began
/// with it.
pub(super) fn reasoning_left(case: &Case<'_>) -> Option<Candidate> {
    let thinking = case.history.request(case.step.dropped_thinking?);
    let kept = thinking.prompt_total();
    if case.reads_beyond(kept) {
        return None;
    }
    let (read, end) = (case.split.read, case.previous_split.cached_end());
    let explained = end.saturating_sub(kept);
    let confidence = if read + LARGE_MISS >= kept {
        Confidence::High
    } else if explained.is_at_least_percent_of(50, end.saturating_sub(read)) {
        Confidence::Medium
    } else {
        // Most of the loss is in front of the reasoning.
        return None;
    };
    let meaning = format!(
        "the reasoning of the turn before is no longer sent; what stands in front of it has {} tokens",
        grouped(kept.0)
    );
    let evidence = vec![Evidence::of_field(thinking, "reasoning_output_tokens", meaning)];
    Some(Candidate::new(Cause::ThinkingStripped, confidence, evidence))
}

/// Clients that, once a session has paused for an hour, clear earlier thinking before every request.
///
/// (Measured: 22 of 71 turns after such a pause lost messages inside the lifetime, against 7 of 202 others.)
const CLEARING: (ClientVersion, ClientVersion) =
    (ClientVersion::new(2, 1, 80), ClientVersion::new(2, 1, 112));

/// Pause after which they do, in milliseconds.
const LONG_PAUSE: i64 = 3_600_000;

/// Thinking cleared since a pause of an hour.
pub(super) fn thinking_cleared(case: &Case<'_>) -> Option<Candidate> {
    let version = case.version()?;
    let is_clearing = CLEARING.0 <= version && version <= CLEARING.1;
    if !is_clearing || !case.begins_turn() || case.fell_to_system() {
        return None;
    }
    // Thinking of the last turn that has any, or of earlier ones.
    let cleared = case.last_thinking()?.recorded().prompt.cached_end();
    if case.kept_thinking(cleared) {
        return None;
    }
    let paused = case.first_after_pause(LONG_PAUSE)?;
    let meaning = "this client clears earlier thinking once a session has paused for an hour";
    let evidence = vec![Evidence::of_field(paused, "timestamp", meaning)];
    Some(Candidate::new(Cause::ThinkingCleared, Confidence::Medium, evidence))
}

/// Turns that begin with a read of one and the same length: whenever the session is resumed, its messages are
/// rendered anew.
pub(super) fn pinned(case: &Case<'_>) -> Option<Candidate> {
    if !case.is_pinned || case.unread_for < LONGEST_DELAY {
        return None;
    }
    let meaning = format!(
        "turn after turn began with a read of {} tokens: the messages are rendered anew at each resume",
        grouped(case.split.read.0)
    );
    Some(case.candidate(Cause::Resumed, Confidence::Medium, READ_FIELD, meaning))
}

/// First or last image: the presence of images is part of the prefix before the messages, so the messages are
/// lost.
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

/// Moved context of the hooks in the turn before. (A measured rule, of some versions.)
pub(super) fn hook_context(case: &Case<'_>) -> Option<Candidate> {
    let Kept::Until { request, .. } = case.step.kept else { return None };
    if case.step.rule != Some(MeasuredRule::HookContextMoves) {
        return None;
    }
    let meaning = format!(
        "what was cached here stands in front of the first context that a hook gave: {} tokens",
        grouped(case.step.kept_end.0)
    );
    let request = case.history.request(request);
    let evidence = vec![Evidence::of_field(request, "message.usage", meaning)];
    Some(Candidate::new(Cause::HookContextMoved, rewrite_confidence(case), evidence))
}

/// Rewind: a conversation that continues from an earlier point should find the entries there.
///
/// If it does not, the part after that point was sent in another form.
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

/// New client version, with another system prompt and other tools.
pub(super) fn client_version(case: &Case<'_>) -> Option<Candidate> {
    let (before, after) = (case.previous.client_version?, case.request.client_version?);
    if before == after {
        return None;
    }
    let text = |version| case.history.symbols.text(version);
    let meaning = format!("{} before, {} now", text(before), text(after));
    // Another system prompt would have left no messages to read.
    let confidence = if case.reaches_into_messages() { Confidence::Low } else { Confidence::High };
    Some(case.candidate(Cause::ClientVersionChanged, confidence, "version", meaning))
}

/// Resumed session: a hook says so, the client was quit, another file continues it, or a call was never
/// answered.
pub(super) fn resumed(case: &Case<'_>) -> Option<Candidate> {
    // A fork has a file of its own and leaves a call unanswered, but belongs to the same process.
    if case.request.is_fork_of(case.previous) {
        return None;
    }
    // A process that renders the prompt again changes it from the front, the first message at most.
    let is_behind = case.reaches_into_messages() && case.reads_beyond(case.first_prompt());
    let sure = |confidence| if is_behind { Confidence::Low } else { confidence };
    let evidence = case.evidence_of(Sign::SessionResumed | Sign::Exit | Sign::TurnResumed);
    if !evidence.is_empty() {
        return Some(Candidate::new(Cause::Resumed, sure(Confidence::High), evidence));
    }
    let is_elsewhere =
        case.request.session != case.previous.session || case.request.file != case.previous.file;
    if is_elsewhere {
        let meaning = "another session goes on from there";
        return Some(case.candidate(Cause::Resumed, sure(Confidence::High), "sessionId", meaning));
    }
    if is_abandoned(case) {
        let meaning = "a tool call was never answered, and a new prompt came";
        let call = Evidence::of_field(case.previous, "message.content[].type", meaning);
        return Some(Candidate::new(Cause::Resumed, sure(Confidence::Medium), vec![call]));
    }
    None
}

/// Returns true if the previous turn broke off without an interruption, because its process ended.
fn is_abandoned(case: &Case<'_>) -> bool {
    !case.previous.ends_turn
        && case.request.between.has_prompt
        && case.request.between.tool_result_messages == 0
        && !case.has(Sign::Interrupted)
        && !case.previous.output_is_lower_bound
}
