//! Rules on time and size: expired, not yet written, too short, too far back, or dropped.

use crate::base::{Tokens, Ttl, duration};
use crate::explain::breaks::case::Case;
use crate::explain::breaks::readable::Readable;
use crate::explain::breaks::{Candidate, Cause, Confidence};
use crate::requests::prompt::{LONG_STEP, blocks_at_once};
use crate::simulate::cache::LOOKBACK;

/// Percentage of the TTL from which a gap may have exceeded it, as starts are known to a few seconds.
///
/// (Measured: from 0.95 to 1.05 of the TTL some requests still hit and some do not.)
const GREY_FROM_PERCENT: i64 = 95;

/// Percentage of the cached tokens whose loss shows an expiry.
const MOST_PERCENT: u64 = 50;

/// Number of lifetimes after which no entry of a service without markers is still there.
///
/// (Measured on public sessions: none of 64 reads after more than an hour, with ten minutes documented.)
const SURELY_GONE_AFTER: i64 = 6;

/// Most requests back that a write may still be under way.
const MOST_WRITES: usize = 3;

/// Expiry: the entry was older than its TTL, from start to start, and the rules lose most of it, too, as no
/// other request had refreshed it.
pub(super) fn expiry(case: &Case<'_>) -> Option<Candidate> {
    let (gap, ttl) = (case.step.gap?, case.step.predecessor_ttl?);
    let end = case.previous_split.cached_end();
    let lost = end.saturating_sub(case.split.read);
    // If most of the conversation is still there, it has not expired.
    if !case.fell_to_system() && !lost.is_at_least_percent_of(MOST_PERCENT, end) {
        return None;
    }
    let is_lost_by_the_rules = case.replayed <= case.prompt.shared_prefix
        || end.saturating_sub(case.replayed).is_at_least_percent_of(50, lost);
    let is_over = gap >= ttl.millis();
    let confidence = if is_over && is_lost_by_the_rules {
        Confidence::High
    } else if is_over && case.step.ttl != case.previous_step.ttl {
        // One-hour writes after or before five-minute ones may have gone with them.
        Confidence::Medium
    } else if is_over {
        Confidence::Low
    } else if gap * 100 >= ttl.millis() * GREY_FROM_PERCENT && case.fell_to_system() {
        Confidence::Medium
    } else {
        return None;
    };
    let whose = if case.request.agent.is_some() { "a sub-agent's entry" } else { "the entry" };
    let meaning = format!(
        "{} after the start of the request before; {whose} was for {}",
        duration(gap),
        name(ttl)
    );
    Some(case.candidate(Cause::expiry(ttl), confidence, "timestamp", meaning))
}

fn name(ttl: Ttl) -> &'static str {
    match ttl {
        Ttl::FiveMinutes => "five minutes",
        Ttl::OneHour => "an hour",
    }
}

/// Pause that outlasts a lifetime on which the service alone decides.
///
/// The service documents a range, and the rules take its end; after half of it entries may be gone.
pub(super) fn idle(case: &Case<'_>) -> Option<Candidate> {
    let (gap, kept_for) = (case.step.gap?, case.kept_for?);
    let end = case.previous_split.cached_end();
    // A read of the conversation shows that its entries were still there.
    if !end.saturating_sub(case.split.read).is_at_least_percent_of(MOST_PERCENT, end)
        || case.reads_beyond(case.first_prompt())
    {
        return None;
    }
    let (confidence, meaning) = outlasting(gap, kept_for)?;
    Some(case.candidate(Cause::IdleTooLong, confidence, "timestamp", meaning))
}

/// Confidence that a pause outlasted a lifetime on which the service alone decides, both in milliseconds, and its words.
pub(in crate::explain::breaks) fn outlasting(
    gap: i64,
    kept_for: i64,
) -> Option<(Confidence, String)> {
    let confidence = match gap {
        gap if gap >= kept_for * SURELY_GONE_AFTER => Confidence::High,
        gap if gap >= kept_for => Confidence::Medium,
        gap if gap * 2 >= kept_for => Confidence::Low,
        _ => return None,
    };
    let meaning = format!(
        "{} after the start of the request before; the service keeps entries for about {} after their last use",
        duration(gap),
        duration(kept_for)
    );
    Some((confidence, meaning))
}

/// Entry that a service without markers did not find, in the middle of a turn and soon after the request
/// before: it had dropped it, or another machine answered.
pub(super) fn elsewhere(case: &Case<'_>) -> Option<Candidate> {
    let (gap, kept_for) = (case.step.gap?, case.kept_for?);
    let is_alive = gap * 2 < kept_for;
    let meaning =
        "soon after the request before, in the middle of a turn, and nothing was seen to change";
    (is_alive && case.is_undisturbed()).then(|| {
        case.candidate(Cause::LikelyServerSide, Confidence::Medium, "message.usage", meaning)
    })
}

/// Prompt below the model's minimum, which is neither stored nor read.
pub(super) fn below_minimum(case: &Case<'_>) -> Option<Candidate> {
    let total = case.prompt.total;
    let is_cached = case.split.cached_end() > Tokens::ZERO;
    // A prompt with cached tokens was long enough.
    if total >= case.prompt.minimum || is_cached {
        return None;
    }
    let meaning = format!(
        "a prompt of {} tokens, and the model caches from {} on",
        total.0, case.prompt.minimum.0
    );
    Some(case.candidate(Cause::BelowMinimum, Confidence::High, "message.usage", meaning))
}

/// Longest time after the beginning of an answer for which its write may not be readable, in milliseconds.
///
/// (Measured: all of 94 were within 11.4 seconds.)
pub(super) const LONGEST_DELAY: i64 = 15_000;

/// Last write not readable, but everything before it.
///
/// In the middle of a turn the client only appends, so the write came too late. At the beginning of a turn
/// the client may have rendered the last messages again.
pub(super) fn write_not_visible(case: &Case<'_>) -> Option<Candidate> {
    let has_written = case.previous_split.written() > Tokens::ZERO;
    let is_late = match case.readable {
        Readable::PreviousRead => has_written,
        // The read of the previous request shows that the part before had become readable.
        Readable::EarlierEnd(2..=MOST_WRITES) => {
            !case.begins_turn() && case.previous_split.read <= case.split.read
        }
        _ => false,
    };
    if !is_late || case.unread_for >= LONGEST_DELAY {
        return None;
    }
    let mut evidence = case.by_length();
    let meaning = format!(
        "{} after the answer began whose write could not be read",
        duration(case.unread_for)
    );
    evidence.extend(case.answer_field("timestamp", meaning));
    Some(Candidate::new(Cause::WriteNotVisible, Confidence::Medium, evidence))
}

/// Entry further back than the lookback of a marker.
pub(super) fn lookback(case: &Case<'_>) -> Option<Candidate> {
    let added = blocks_at_once(case.request, case.previous);
    if added < LONG_STEP || case.reaches_into_messages() {
        return None;
    }
    let meaning =
        format!("{added} blocks were added; a marker looks back over {LOOKBACK} positions");
    Some(case.candidate(Cause::LookbackExceeded, Confidence::High, "parentUuid", meaning))
}

/// Dropped entry: inside the TTL, in the middle of a turn, where the client only appends, and without any
/// change seen.
///
/// (A changed tool list would leave nothing at all, and the part that a late write loses was not readable
/// yet.)
pub(super) fn server_side(case: &Case<'_>) -> Option<Candidate> {
    let confidence = match case.readable {
        Readable::SharedPrefix
        | Readable::WholeSystem
        | Readable::EarlierRead
        | Readable::NewLength => Confidence::Medium,
        Readable::Nothing | Readable::PreviousRead | Readable::EarlierEnd(_) => Confidence::Low,
    };
    let is_alive = case.step.is_inside_ttl();
    let meaning = "inside the TTL, in the middle of a turn, and nothing was seen to change";
    (is_alive && case.is_undisturbed())
        .then(|| case.candidate(Cause::LikelyServerSide, confidence, "message.usage", meaning))
}
