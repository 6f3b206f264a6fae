//! Background requests: suggestions, recaps and titles that the client sends between two turns.
//!
//! They are not in the transcript, but they move the cache: one sent after an answer has written that answer
//! and restarted the clock. They come only at the end of a turn. Whether a client sends them depends on its
//! version, its settings, the session, and whether it showed a recap. That habit is learned from the turns
//! before and from other sessions.

use super::calibrate::{Tallies, Tally};
use super::{ClientVersion, ClientVersions, Kept, MeasuredRule, Step, StepKind};
use crate::base::{Millis, Symbol, Tokens};
use crate::requests::conversation::{History, Request};

/// First version whose recaps and suggestions extended the cached prefix in measured sessions.
const EXTENDING_SINCE: ClientVersion = ClientVersion::new(2, 1, 150);

/// Prior chances with and without a recap since that version, and before it.
///
/// (Measured: 37–60 % of all turns since, 1 % in the versions just before.)
const CHANCE_WITH_RECAP: f64 = 0.9;
const CHANCE_WITHOUT_RECAP: f64 = 0.4;
const CHANCE_BEFORE: f64 = 0.1;

/// Weight of a turn relative to the one after it.
const FADING: f64 = 0.8;

/// Weight of other sessions relative to one turn of the session itself.
const WEIGHT_OF_OTHERS: f64 = 0.5;

/// Weight of the prior chance, in turns of other sessions.
const WEIGHT_OF_PRIOR: f64 = 2.0;

/// Bytes of JSON text per token, and tokens of a message's frame, of a reminder and of an image.
///
/// Rough figures: they only place the end of a prefix between two known sizes.
const BYTES_PER_TOKEN: u64 = 3;
const TOKENS_AROUND_MESSAGE: u64 = 5;
const TOKENS_OF_ATTACHMENT: u64 = 60;
const TOKENS_OF_IMAGE: u64 = 1_500;

/// Least uncached tokens of the request before, with its answer, after which the client suggests nothing.
const MOST_UNCACHED: Tokens = Tokens(10_000);

/// Largest tail of an answer's prompt after its last marker without reminders, in tokens.
const USUAL_TAIL: Tokens = Tokens(10);

/// Shortfall of a read from the cached prefix that rendering noise alone can explain, in tokens.
///
/// A message that is read again is rendered in a few tokens more or fewer.
pub(crate) const NOISE: Tokens = Tokens(50);

/// Background request that probably took place.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExpectedBackground {
    /// End of the prefix that the request wrote.
    pub(super) end: Tokens,
    /// Time at which the request was sent.
    pub(super) at: Millis,
}

/// Circumstances that decide the habit: mostly the client's version, and the model within it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Habit {
    client_version: Option<Symbol>,
    /// Model, or `None` for all models together.
    model: Option<Symbol>,
    has_recap: bool,
}

impl Habit {
    fn of_version(request: &Request) -> Self {
        Self { client_version: request.client_version, model: None, has_recap: has_recap(request) }
    }

    fn of_model(request: &Request) -> Self {
        Self { model: Some(request.model), ..Self::of_version(request) }
    }
}

/// Habits that all sessions show.
#[derive(Default)]
pub(super) struct BackgroundHabits(Tallies<Habit>);

/// Habits that one chain has shown so far: without recaps, and with them.
#[derive(Clone, Copy, Default)]
pub(super) struct BackgroundMemory([Fading; 2]);

/// Average with fading weights: later values weigh more.
#[derive(Clone, Copy, Default)]
struct Fading {
    sum: f64,
    weight: f64,
}

impl Fading {
    fn add(&mut self, was_seen: bool) {
        self.sum = self.sum * FADING + f64::from(u8::from(was_seen));
        self.weight = self.weight * FADING + 1.0;
    }
}

/// True if a request shows a background request before it, false if it shows that there was not one, `None`
/// if it shows neither.
fn observation(
    history: &History,
    versions: &ClientVersions,
    request: &Request,
    step: &Step,
) -> Option<bool> {
    let read = request.recorded().prompt.read;
    let is_excluded = |previous| is_excluded(versions.of(request), request, previous);
    let is_telling = step.kind == StepKind::Continued
        && ends_turn_before(history, request)
        && (has_recap(request) || !history.predecessor(request).is_some_and(is_excluded))
        && read + NOISE >= step.kept_end;
    is_telling.then_some(read > step.kept_end)
}

/// Ends that a read may have at the beginning of a turn, if no line says whether the client asked for a
/// suggestion before it: the cached prefix of the request before, without and with its answer.
///
/// (Measured: under the same lines 96 of 320 turns read the answer, too.)
pub fn ends_of_suggestion(
    history: &History,
    request: &Request,
    step: &Step,
) -> Option<(Tokens, Tokens)> {
    let version = ClientVersion::parse(history.text(request.client_version).unwrap_or_default());
    let previous = history.predecessor(request)?;
    let is_unrecorded = version >= EXTENDING_SINCE
        && step.kind == StepKind::Continued
        && step.rule.is_none()
        && !has_recap(request)
        && may_follow_background(version, history, request, step);
    is_unrecorded.then(|| (step.kept_end, written_end(request, previous, step)))
}

/// Returns true if the client may have sent a background request before this one.
fn may_follow_background(
    version: ClientVersion,
    history: &History,
    request: &Request,
    step: &Step,
) -> bool {
    let Some(previous) = history.predecessor(request) else { return false };
    (has_recap(request) || !is_excluded(version, request, previous))
        && ends_turn_before(history, request)
        && request.model == previous.model
        && !request.between.has_compaction
        // Its write would come after the change, and is lost with the rest.
        && !step.is_rewritten
        && !request.between.drops_answer
}

/// Returns true if the client sends no suggestion: after an answer with too much uncached, or without the
/// line that ends a turn.
///
/// (Measured since 2.1.150: none of 9, and none of 18.)
fn is_excluded(version: ClientVersion, request: &Request, previous: &Request) -> bool {
    let prompt = &previous.recorded().prompt;
    let uncached = prompt.input + prompt.write_5m + prompt.write_1h + previous.recorded().output;
    version >= EXTENDING_SINCE && (uncached >= MOST_UNCACHED || request.between.turn_end.is_none())
}

/// Prefix that an unrecorded attempt had written: the prompt, without the client's later additions.
fn unrecorded_attempt(request: &Request, step: &Step, tail: Tokens) -> Option<ExpectedBackground> {
    let (at, since) = match step.rule? {
        MeasuredRule::FailedStream => (request.start, Tokens::ZERO),
        MeasuredRule::InterruptedRequest => {
            let unanswered = request.between.unanswered.as_deref()?;
            let text = u64::from(unanswered.bytes_since) / BYTES_PER_TOKEN;
            let frames = u64::from(unanswered.messages_since) * TOKENS_AROUND_MESSAGE;
            (unanswered.sent.min(request.start), Tokens(text + frames))
        }
        MeasuredRule::HookContextMoves
        | MeasuredRule::FirstLoadedTools
        | MeasuredRule::LateExpiry
        | MeasuredRule::LongStep => return None,
    };
    let end = request.prompt_total().saturating_sub(tail + since);
    Some(ExpectedBackground { end: end.max(step.kept_end.min(request.prompt_total())), at })
}

fn has_recap(request: &Request) -> bool {
    request.between.away_summary.is_some()
}

fn ends_turn_before(history: &History, request: &Request) -> bool {
    request.between.has_prompt
        && history.predecessor(request).is_some_and(|previous| previous.ends_turn)
}

impl BackgroundHabits {
    /// Collects the observations of all sessions.
    pub(super) fn collect(history: &History, versions: &ClientVersions, steps: &[Step]) -> Self {
        let mut habits = Self::default();
        for (request, step) in history.of_transcripts().iter().zip(steps) {
            if let Some(was_seen) = observation(history, versions, request, step) {
                for habit in [Habit::of_version(request), Habit::of_model(request)] {
                    habits.0.add(habit, request.session, was_seen);
                }
            }
        }
        habits
    }

    /// Background request that probably preceded `request`.
    pub(super) fn expect(
        &self,
        history: &History,
        versions: &ClientVersions,
        (request, step): (&Request, &Step),
        tail: Tokens,
        memory: &BackgroundMemory,
    ) -> Option<ExpectedBackground> {
        if let Some(attempt) = unrecorded_attempt(request, step, tail) {
            return Some(attempt);
        }
        // The model's habit starts from the version's, and that from the prior: few observations move it
        // little.
        let previous = history.predecessor(request)?;
        let is_possible = may_follow_background(versions.of(request), history, request, step);
        if !is_possible || self.chance(versions, request, memory) <= 0.5 {
            return None;
        }
        let between = &request.between;
        let signs = [between.turn_end, between.away_summary];
        let at = signs.into_iter().flatten().fold(previous.finished, Millis::max);
        Some(ExpectedBackground {
            end: written_end(request, previous, step),
            at: at.min(request.start),
        })
    }

    fn chance(
        &self,
        versions: &ClientVersions,
        request: &Request,
        memory: &BackgroundMemory,
    ) -> f64 {
        let prior = prior_chance(versions.of(request), has_recap(request));
        let of_version = self.elsewhere(Habit::of_version(request), request.session, prior);
        let of_model = self.elsewhere(Habit::of_model(request), request.session, of_version);
        let own = memory.0[usize::from(has_recap(request))];
        (own.sum + WEIGHT_OF_OTHERS * of_model) / (own.weight + WEIGHT_OF_OTHERS)
    }

    /// Share of background requests in other sessions, smoothed by a prior chance.
    fn elsewhere(&self, habit: Habit, session: Symbol, prior: f64) -> f64 {
        let Tally { seen, not_seen } = self.0.elsewhere(habit, session);
        let (seen, not_seen) = (f64::from(seen), f64::from(not_seen));
        (seen + WEIGHT_OF_PRIOR * prior) / (seen + not_seen + WEIGHT_OF_PRIOR)
    }

    /// Learns from a request, for later ones in its chain.
    pub(super) fn learn(
        history: &History,
        versions: &ClientVersions,
        (request, step): (&Request, &Step),
        memory: &mut BackgroundMemory,
    ) {
        if let Some(was_seen) = observation(history, versions, request, step) {
            memory.0[usize::from(has_recap(request))].add(was_seen);
        }
    }
}

fn prior_chance(version: ClientVersion, has_recap: bool) -> f64 {
    match (version >= EXTENDING_SINCE, has_recap) {
        (true, true) => CHANCE_WITH_RECAP,
        (true, false) => CHANCE_WITHOUT_RECAP,
        (false, _) => CHANCE_BEFORE,
    }
}

/// End of the answer before `request`, up to which a background request has written.
///
/// If the answer's output is known, the answer follows its prompt without the constant tail. Otherwise it is
/// `request`'s prompt less the client's new messages.
fn written_end(request: &Request, previous: &Request, step: &Step) -> Tokens {
    let tail = previous.recorded().prompt.input.min(USUAL_TAIL);
    let has_other_messages = step.is_rewritten || step.dropped_thinking.is_some();
    let end = if previous.output_is_lower_bound || has_other_messages {
        request.prompt_total().saturating_sub(tail + estimated_addition(request))
    } else {
        let grown = previous.prompt_total().saturating_sub(tail) + previous.recorded().output;
        grown.saturating_sub(step.deleted)
    };
    let is_lost = matches!(step.kept, Kept::System | Kept::Nothing);
    let least = if is_lost { Tokens::ZERO } else { step.kept_end };
    end.min(request.prompt_total()).max(least)
}

fn estimated_addition(request: &Request) -> Tokens {
    let between = &request.between;
    Tokens(
        between.user_bytes / BYTES_PER_TOKEN
            + u64::from(between.user_messages) * TOKENS_AROUND_MESSAGE
            + u64::from(between.attachments) * TOKENS_OF_ATTACHMENT
            + u64::from(between.media) * TOKENS_OF_IMAGE,
    )
}
