//! A turn that differs from the baseline's, and what is seen to be different about it.

use crate::base::ttl::Ttl;
use crate::base::units::{Picodollars, Tokens};
use crate::explain::breaks::Cause;
use crate::explain::snapshot::{Blocks, Figures, SnapshotTurn, TurnMarker};

/// A turn whose figures differ. One of the sides is `None` where the other has more turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnChange {
    /// Its place in the session of the baseline.
    pub before: Option<usize>,
    /// Its place in the session of the run.
    pub now: Option<usize>,
    /// What it cost; `None` without a price or a record.
    pub cost_before: Option<Picodollars>,
    /// What it costs.
    pub cost_now: Option<Picodollars>,
    /// Tokens read from cache, written to it, and the whole prompt, then and now.
    pub tokens_before: Option<TurnTokens>,
    /// The same now.
    pub tokens_now: Option<TurnTokens>,
    /// What is different about it.
    pub reasons: Vec<TurnReason>,
}

/// The tokens of a turn that tell how it met the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnTokens {
    /// Read from cache.
    pub read: Tokens,
    /// Written to it.
    pub written: Tokens,
    /// The whole prompt.
    pub prompt: Tokens,
    /// Output.
    pub output: Tokens,
}

/// Something that is different about a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnReason {
    /// It is a break now, for this cause; with what speaks for it.
    Broken(Cause, Option<String>),
    /// It was a break, for this cause.
    NoLongerBroken(Cause),
    /// It is sent to another model.
    Model(String, String),
    /// Its prompt has other bytes.
    Prompt,
    /// Its markers stand elsewhere, or have other TTLs.
    Markers,
    /// The pause in front of it is another one, in milliseconds then and now.
    Pause(i64, i64),
    /// The prompt is larger or smaller, by so many tokens.
    PromptSize(i128),
    /// The answer is longer or shorter, by so many tokens.
    OutputSize(i128),
    /// Only the baseline has it.
    Gone,
    /// Only the run has it.
    New,
}

/// Pauses within a second of each other are the same.
const SAME_PAUSE: i64 = 1_000;

impl From<&Figures> for TurnTokens {
    fn from(figures: &Figures) -> Self {
        Self {
            read: figures.read,
            written: figures.written(),
            prompt: figures.prompt(),
            output: figures.output,
        }
    }
}

impl TurnChange {
    /// What the turn costs more, an unknown cost counting as nothing.
    #[must_use]
    pub fn difference(&self) -> Picodollars {
        self.cost_now.unwrap_or_default().minus(self.cost_before.unwrap_or_default())
    }
}

/// A turn with its place, the one before it in its session, its session's blocks, and the strategy whose
/// figures count.
#[derive(Clone, Copy)]
pub(super) struct PlacedTurn<'a> {
    pub(super) at: usize,
    pub(super) turn: &'a SnapshotTurn,
    pub(super) previous: Option<&'a SnapshotTurn>,
    pub(super) blocks: &'a Blocks,
    pub(super) column: usize,
}

impl PlacedTurn<'_> {
    fn figures(&self) -> Option<&Figures> {
        self.turn.figures[self.column].as_ref()
    }

    fn pause(&self) -> Option<i64> {
        self.previous.map(|previous| self.turn.start.since(previous.start))
    }

    /// The markers by how many blocks stand in front of each, and their TTLs.
    fn markers(&self) -> Vec<(usize, Ttl)> {
        let place = |marker: &TurnMarker| (self.blocks.prefix(marker.block).blocks, marker.ttl);
        self.turn.markers.iter().map(place).collect()
    }
}

/// The difference between a turn and that of the baseline; `None` where nothing of it differs.
pub(super) fn turn_change(
    before: Option<PlacedTurn<'_>>,
    now: Option<PlacedTurn<'_>>,
    has_other_prompt: bool,
) -> Option<TurnChange> {
    let figures = |side: &Option<PlacedTurn<'_>>| side.and_then(|side| side.figures().copied());
    let (old, new) = (figures(&before), figures(&now));
    let reasons = match (&before, &now) {
        (Some(before), Some(now)) => reasons(before, now, has_other_prompt),
        (Some(_), None) => vec![TurnReason::Gone],
        (None, Some(_)) => vec![TurnReason::New],
        (None, None) => return None,
    };
    if old == new && reasons.is_empty() {
        return None;
    }
    let cost = |figures: Option<Figures>| figures.and_then(|figures| figures.known_cost());
    Some(TurnChange {
        before: before.map(|side| side.at),
        now: now.map(|side| side.at),
        cost_before: cost(old),
        cost_now: cost(new),
        tokens_before: old.as_ref().map(TurnTokens::from),
        tokens_now: new.as_ref().map(TurnTokens::from),
        reasons,
    })
}

fn reasons(
    before: &PlacedTurn<'_>,
    now: &PlacedTurn<'_>,
    has_other_prompt: bool,
) -> Vec<TurnReason> {
    let mut reasons = Vec::new();
    let cause = |side: &PlacedTurn<'_>| side.turn.broken.as_ref().map(|broken| broken.cause);
    match (cause(before), cause(now)) {
        (old, Some(new)) if old != Some(new) => {
            let evidence = now.turn.broken.as_ref().and_then(|broken| broken.evidence.clone());
            reasons.push(TurnReason::Broken(new, evidence));
        }
        (Some(old), None) => reasons.push(TurnReason::NoLongerBroken(old)),
        _ => {}
    }
    if before.turn.model != now.turn.model {
        let models = (before.turn.model.clone(), now.turn.model.clone());
        reasons.push(TurnReason::Model(models.0, models.1));
    }
    if has_other_prompt {
        reasons.push(TurnReason::Prompt);
    }
    if before.turn.block.is_some() && now.turn.block.is_some() && before.markers() != now.markers()
    {
        reasons.push(TurnReason::Markers);
    }
    if let (Some(old), Some(new)) = (before.pause(), now.pause())
        && old.abs_diff(new) > SAME_PAUSE.unsigned_abs()
    {
        reasons.push(TurnReason::Pause(old, new));
    }
    if let (Some(old), Some(new)) = (before.figures(), now.figures()) {
        let size = |old: Tokens, new: Tokens| i128::from(new.0) - i128::from(old.0);
        let prompt = size(old.prompt(), new.prompt());
        reasons.extend((prompt != 0).then_some(TurnReason::PromptSize(prompt)));
        let output = size(old.output, new.output);
        reasons.extend((output != 0).then_some(TurnReason::OutputSize(output)));
    }
    reasons
}
