//! Prompt trace of the chains, to which the cache rules apply: prompts as paths through a tree of prefixes,
//! with measured, derived or calibrated sizes.
//!
//! A `Prompt` holds the request's total, the TTLs of its markers, and, for the first request of a chain and
//! the first after a change of model, the recorded read, which shows the prefix that was already warm. Its
//! own split is not in the type, so it cannot leak into its simulation. Knowledge from other requests goes in
//! through calibration (`calibrate.rs`), which looks only at earlier requests of the chain and at other
//! sessions.
//!
//! - the tail after the last marker (`calibrate.rs`): that of the last request of the same kind;
//! - an unrecorded request between two turns (`background.rs`), which wrote the answer and restarted the
//!   clock: a habit of version, session and recap, learnt turn by turn;
//! - the size of tools and system prompt (`shared_prefix.rs`), which are still read when the messages were
//!   rewritten, and the part of them that outlives an expiry because other traffic keeps it warm, by a sample
//!   of observations of all sessions (`observations.rs`).
//!
//! Later requests know the end of a request's cached prefix (read + written): that is the node it adds to the
//! tree. If the service deletes tokens of prefixes that stay valid (`cache_deleted_input_tokens`), nodes keep
//! their full size and `Prompt::deleted` is subtracted.
//!
//! This file classifies the way in which each request follows the one before it (a [`Step`]), without looking
//! at its own split, and finds the breaks. A break is inside the TTL, on the same model, with a prompt of at
//! least 97 % of the cached prefix, and reads over 2,000 tokens and over 5 % less than that. `replay` knows
//! nothing of breaks. A counterfactual keeps them, so that it differs from the record by its policy alone,
//! and also keeps falls to just the chain's opening prefix, which early in a chain are too small to be called
//! breaks. At a kept break every policy can read as much as the recorded read shows, and no more.

mod agents;
mod background;
mod build;
mod calibrate;
mod captured;
mod counting;
mod measured;
mod observations;
mod paths;
mod shared_prefix;
mod split;
mod trace;

pub(crate) use background::NOISE;
pub use background::ends_of_suggestion;
pub use build::{Kept, SharedPrefix, build, build_counted};
pub use calibrate::LARGEST_CONSTANT_TAIL;
pub(crate) use captured::{level, node_behind};
pub use counting::Counting;
pub use measured::MeasuredRule;
pub(crate) use measured::{LONG_STEP, blocks_at_once};
pub(crate) use paths::Paths;
pub(crate) use split::Landmarks;
pub use trace::{
    BackgroundWrite, Deletion, Edits, LOOKBACK, Level, Marker, Node, NodeId, Prompt, PromptTrace,
    Rare, Repair,
};

use agents::agent_step;
use build::{kept_of_key, kept_of_rewrite};
pub(crate) use calibrate::ClientVersion;
use calibrate::ClientVersions;
use measured::{LaterKept, grace, of_attempt, of_long_step, of_step};

use crate::base::{TierTtl, Tokens, Ttl, words};
use crate::read::capture::WireRequest;
use crate::read::input::PromptSplit;
use crate::requests::conversation::{History, Request, RequestIndex};

words! {
    /// Kind of a step from the predecessor to a request.
    pub enum StepKind {
        /// First request of its chain.
        Opening = "opening";
        /// Another model than before, which has its own caches.
        ModelChange = "model_change";
        /// The conversation continues and its cache is alive.
        Continued = "continued";
        /// The messages were rewritten: a compaction, cleared results, an edit.
        Rewritten = "rewritten";
        /// The cache has expired.
        Expired = "expired";
    }
}

impl StepKind {
    /// Kind of the step from a request to the next one of its chain.
    fn after(previous: &Request, request: &Request, is_expired: bool, is_rewritten: bool) -> Self {
        if request.model != previous.model {
            Self::ModelChange
        } else if is_expired {
            Self::Expired
        } else if is_rewritten {
            Self::Rewritten
        } else {
            Self::Continued
        }
    }
}

/// Step from the predecessor to a request.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Kind of step.
    pub kind: StepKind,
    /// Request before this one in its chain.
    pub predecessor: Option<RequestIndex>,
    /// Time from start to start, in milliseconds.
    pub gap: Option<i64>,
    /// TTLs of this request's markers, or the last known ones if it recorded none.
    pub ttl: Option<TierTtl>,
    /// TTL of the predecessor's messages.
    pub predecessor_ttl: Option<Ttl>,
    /// Tokens that the service deleted from the conversation's cached prefix since the predecessor.
    pub deleted: Tokens,
    /// Tokens that the service has deleted from it so far.
    pub all_deleted: Tokens,
    /// End of the predecessor's cached prefix, less the tokens deleted since.
    pub previous_end: Tokens,
    /// True if the messages were rewritten, before or after an expiry.
    pub is_rewritten: bool,
    /// First answer of the previous turn whose thinking this prompt drops. Only the prefix cached up to that
    /// answer is unchanged.
    pub dropped_thinking: Option<RequestIndex>,
    /// Part of the predecessor's cached prefix with which this prompt begins.
    pub kept: Kept,
    /// Part that the content keeps, if the key is another one.
    pub kept_content: Option<Kept>,
    /// End of the kept part. If nothing says how much of rewritten messages was kept, the predecessor's end.
    pub kept_end: Tokens,
    /// Measured rule that decides the kept part.
    pub rule: Option<MeasuredRule>,
    /// First answer with thinking in this request's turn.
    turn_thinking: Option<RequestIndex>,
    /// State that decides the kept part for later requests of the chain.
    later: LaterKept,
    /// Time beyond their TTL for which entries for five minutes are still found, in milliseconds.
    grace: i64,
    /// First request of the chain, or the first after the last change of model.
    pub opening: RequestIndex,
}

impl Step {
    /// Step of the first request of a chain, of which nothing is known.
    fn opening(own: RequestIndex) -> Self {
        Self {
            kind: StepKind::Opening,
            predecessor: None,
            gap: None,
            ttl: None,
            predecessor_ttl: None,
            deleted: Tokens::ZERO,
            all_deleted: Tokens::ZERO,
            previous_end: Tokens::ZERO,
            is_rewritten: false,
            dropped_thinking: None,
            kept: Kept::All,
            kept_content: None,
            kept_end: Tokens::ZERO,
            rule: None,
            turn_thinking: None,
            later: LaterKept::default(),
            grace: 0,
            opening: own,
        }
    }

    /// Opening of the next request, whose step is of this kind.
    fn opening_after(&self, kind: StepKind, next: RequestIndex) -> RequestIndex {
        if kind == StepKind::ModelChange { next } else { self.opening }
    }

    /// Returns true if the TTL is known and was not exceeded.
    pub fn is_inside_ttl(&self) -> bool {
        self.gap.zip(self.predecessor_ttl).is_some_and(|(gap, ttl)| gap < ttl.millis())
    }

    /// Time beyond their TTL for which entries of this TTL are still found, in milliseconds.
    pub fn grace(&self, ttl: Ttl) -> i64 {
        if ttl == Ttl::FiveMinutes { self.grace } else { 0 }
    }

    /// End of the entry that this request's last marker can still reach, if lines say how much of rewritten
    /// messages is unchanged.
    pub fn readable_place(&self) -> Option<Tokens> {
        let Kept::Until { positions, .. } = self.kept else { return None };
        (self.is_rewritten && positions < LOOKBACK).then_some(self.kept_end)
    }

    /// Returns true if the conversation was summarised before the request.
    ///
    /// A captured conversation that begins with another message may have been.
    pub fn is_compacted(&self, history: &History, index: RequestIndex) -> bool {
        let is_captured = history.is_captured(index);
        history.request(index).between.has_compaction || (is_captured && self.is_rewritten)
    }
}

/// Percentage of the cached prefix below which a prompt cannot have kept all of it.
const REWRITTEN_BELOW_PERCENT: u64 = 97;

/// Steps of all requests, in the history's order.
pub fn steps(history: &History) -> Vec<Step> {
    let versions = ClientVersions::of_all(history);
    let mut steps: Vec<Step> = Vec::with_capacity(history.requests.len());
    for (index, request) in history.of_transcripts().iter().enumerate() {
        let step = match request.predecessor {
            None => first_step(index, request),
            Some(predecessor) => {
                let version = versions.of(request);
                next_step(history, version, index, request, predecessor, &steps)
            }
        };
        steps.push(step);
    }
    for captured in &history.captured.requests {
        steps.push(captured_step(history, captured, &steps));
    }
    for recorded in &history.of_agents {
        steps.push(agent_step(history, recorded, &steps));
    }
    steps
}

/// Step of a captured request.
///
/// The part that two captured prompts share is decided by their bytes, not here.
fn captured_step(history: &History, captured: &WireRequest, steps: &[Step]) -> Step {
    let own = RequestIndex::new(steps.len());
    let request = history.request(own);
    let ttl = captured_ttl(captured);
    let opening = Step { ttl, predecessor: request.predecessor, ..Step::opening(own) };
    let Some(predecessor) = request.predecessor else { return opening };
    let (previous, before) = (history.request(predecessor), &steps[predecessor.get()]);
    let gap = request.start.since(previous.start);
    let predecessor_ttl = before.ttl.map(|ttl| ttl.messages);
    let is_expired = predecessor_ttl.is_some_and(|ttl| gap >= ttl.millis());
    // A different first message means a compaction, or a new conversation.
    let first = history.of_transcripts().len();
    let opening_before = history.captured.requests[predecessor.get() - first].likeness.opening;
    let is_rewritten = captured.likeness.opening != opening_before;
    let previous_end =
        previous.usage.as_ref().map_or(Tokens::ZERO, |usage| usage.prompt.cached_end());
    let kind = StepKind::after(previous, request, is_expired, is_rewritten);
    Step {
        kind,
        is_rewritten,
        gap: Some(gap),
        predecessor_ttl,
        previous_end,
        kept_end: previous_end,
        opening: before.opening_after(kind, own),
        ..opening
    }
}

/// TTLs of a captured request's first and last marker.
fn captured_ttl(captured: &WireRequest) -> Option<TierTtl> {
    let (first, last) = (captured.markers.first()?, captured.markers.last()?);
    Some(TierTtl { system: first.ttl, messages: last.ttl })
}

fn first_step(index: usize, request: &Request) -> Step {
    let own = RequestIndex::new(index);
    Step {
        ttl: opening_ttl(&request.recorded().prompt),
        all_deleted: request.recorded().cache_deleted.unwrap_or_default(),
        turn_thinking: request.has_thinking.then_some(own),
        later: LaterKept::at_first(request),
        ..Step::opening(own)
    }
}

fn next_step(
    history: &History,
    version: ClientVersion,
    index: usize,
    request: &Request,
    predecessor: RequestIndex,
    steps: &[Step],
) -> Step {
    let previous = history.request(predecessor);
    let before = &steps[predecessor.get()];
    let gap = request.start.since(previous.start);
    let all_deleted = request.recorded().cache_deleted.unwrap_or(before.all_deleted);
    let deleted = all_deleted.saturating_sub(before.all_deleted);
    let previous_end = previous.recorded().prompt.cached_end().saturating_sub(deleted);
    let predecessor_ttl = before.ttl.map(|ttl| ttl.messages);
    let grace = grace(version);
    let lives_longer = |ttl: Ttl| if ttl == Ttl::FiveMinutes { grace } else { 0 };
    let is_expired = predecessor_ttl.is_some_and(|ttl| gap >= ttl.millis() + lives_longer(ttl));
    let is_late = !is_expired && predecessor_ttl.is_some_and(|ttl| gap >= ttl.millis());
    let own_thinking = request.has_thinking.then_some(RequestIndex::new(index));
    // A prompt that grew by more than the thinking it dropped looks like one that kept it.
    let shows_a_loss =
        request.prompt_total() + deleted < previous.prompt_total() + previous.recorded().output;
    let dropped_thinking = before.turn_thinking.filter(|_| {
        request.between.has_prompt
            && shows_a_loss
            && request.model == previous.model
            && !request.between.rewrites_history()
            && history.facts(request.model).drops_thinking
    });
    let is_shrunk =
        !request.prompt_total().is_at_least_percent_of(REWRITTEN_BELOW_PERCENT, previous_end);
    let by_lines = kept_of_rewrite(history, request, predecessor, steps);
    // A line about a rewrite is stronger evidence than measurements of clients.
    let measured = of_step(history, version, request, predecessor, steps).filter(|_| {
        by_lines.is_none_or(|place| place == Kept::All) && !request.between.has_compaction
    });
    let place = measured.map(|(_, kept)| kept).or(by_lines);
    let is_unexplained = is_shrunk && dropped_thinking.is_none();
    // Lines that report a loss decide. Otherwise a compaction or the size does.
    let is_rewritten = match place {
        Some(Kept::All) => is_unexplained,
        Some(_) => true,
        None => request.between.has_compaction || is_unexplained,
    } || request.fresh_replacement.is_some();
    let kept = match (place.filter(|place| *place != Kept::All), dropped_thinking) {
        (Some(place), _) => place,
        (None, Some(thinking)) => Kept::Until { request: thinking, positions: 1 },
        (None, None) if is_rewritten => Kept::System,
        (None, None) => Kept::All,
    };
    let (kept, kept_content) = if request.model == previous.model {
        kept_of_key(history, request, predecessor, kept, steps)
    } else {
        (kept, None)
    };
    let kept_end = match kept {
        Kept::Until { request, .. } => history.request(request).recorded().prompt.cached_end(),
        Kept::All | Kept::System | Kept::Nothing => previous_end,
    };
    let kind = StepKind::after(previous, request, is_expired, is_rewritten);
    // After an expiry, there is nothing left to lose.
    let rule = measured.map(|(rule, _)| rule).filter(|_| kind == StepKind::Rewritten);
    let has_own_prefix = matches!(kind, StepKind::Continued | StepKind::Expired) && !is_rewritten;
    let attempt = of_attempt(version, request, is_expired).filter(|_| has_own_prefix);
    let has_lived_longer = is_late && kind == StepKind::Continued;
    let late = has_lived_longer.then_some(MeasuredRule::LateExpiry);
    let continues = kind == StepKind::Continued && kept == Kept::All;
    let long = of_long_step(version, request, previous).filter(|_| continues);
    let rule = rule.or(attempt).or(late).or(long);
    Step {
        kind,
        rule,
        predecessor: request.predecessor,
        gap: Some(gap),
        ttl: if kind == StepKind::ModelChange {
            opening_ttl(&request.recorded().prompt).or(before.ttl)
        } else {
            recorded_ttl(&request.recorded().prompt).or(before.ttl)
        },
        predecessor_ttl,
        deleted,
        all_deleted,
        previous_end,
        is_rewritten,
        dropped_thinking,
        kept,
        kept_content,
        kept_end,
        turn_thinking: if request.between.has_prompt {
            own_thinking
        } else {
            before.turn_thinking.or(own_thinking)
        },
        later: before.later.after(request, predecessor, is_rewritten),
        grace,
        opening: before.opening_after(kind, RequestIndex::new(index)),
    }
}

/// Tier of a request whose read is known.
///
/// A request that reads has markers even if it wrote nothing; the default lifetime is assumed.
fn opening_ttl(prompt: &PromptSplit) -> Option<TierTtl> {
    let has_read = prompt.read > Tokens::ZERO;
    recorded_ttl(prompt).or(has_read.then_some(TierTtl::uniform(Ttl::FiveMinutes)))
}

/// Tier with which a request wrote.
///
/// The tokens of each TTL do not matter: if both occur, the rules demand the hour first.
fn recorded_ttl(prompt: &PromptSplit) -> Option<TierTtl> {
    match (prompt.write_5m > Tokens::ZERO, prompt.write_1h > Tokens::ZERO) {
        (false, false) => None,
        (true, false) => Some(TierTtl::uniform(Ttl::FiveMinutes)),
        (false, true) => Some(TierTtl::uniform(Ttl::OneHour)),
        (true, true) => Some(TierTtl::MIXED),
    }
}

/// Tokens by which a request fell short of the end of its predecessor's cached prefix.
pub fn recorded_shortfall(request: &Request, step: &Step) -> Tokens {
    readable_end(step).saturating_sub(request.recorded().prompt.read)
}

/// Readable part of the predecessor's cached prefix, by the lines.
fn readable_end(step: &Step) -> Tokens {
    step.readable_place().unwrap_or(step.previous_end)
}

/// Returns true for a break: inside the TTL, on the same model, with a prompt of at least 97 % of the cached
/// prefix, a request read over 2,000 tokens and over 5 % less than that.
pub fn is_break(request: &Request, step: &Step) -> bool {
    let is_alive = matches!(step.kind, StepKind::Continued | StepKind::Rewritten);
    let shortfall = recorded_shortfall(request, step);
    let is_whole =
        request.prompt_total().is_at_least_percent_of(REWRITTEN_BELOW_PERCENT, readable_end(step));
    is_alive
        && step.predecessor_ttl.is_some()
        && is_whole
        && is_large_miss(shortfall, readable_end(step))
}

/// Tokens above which a miss is large. Claude Code's own rule for breaks begins here, too.
pub(crate) const LARGE_MISS: Tokens = Tokens(2_000);

/// Returns true if these tokens are a large miss of what could be read: more than [`LARGE_MISS`] and over 5 %.
pub(crate) fn is_large_miss(missed: Tokens, readable: Tokens) -> bool {
    missed > LARGE_MISS && missed.0 * 20 > readable.0
}

/// Returns true if a counterfactual has to keep the recorded read: at a break, or a fall to just the prefix
/// that was warm when the chain began.
///
/// Early in a chain that prefix is most of the prompt, so that the fall is a break in kind but too small to
/// be called one.
fn is_kept(history: &History, request: &Request, step: &Step) -> bool {
    let opening = history.request(step.opening).recorded().prompt.read;
    let is_known = step.kind == StepKind::Continued
        || (step.kind == StepKind::Rewritten && step.readable_place().is_some());
    let fell_to_opening = is_known
        && opening > Tokens::ZERO
        && request.recorded().prompt.read == opening
        && opening < readable_end(step);
    fell_to_opening || is_break(request, step)
}
