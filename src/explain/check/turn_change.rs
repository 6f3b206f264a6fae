//! Turn that differs from the baseline's, and the reasons.

use crate::base::{Picodollars, Tokens, Ttl};
use crate::explain::breaks::Cause;
use crate::explain::snapshot::{BlockId, Blocks, Figures, SnapshotTurn, TurnMarker};
use crate::read::capture::Part;

/// Turn whose figures differ. One side is `None` if the other has more turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnChange {
    /// Index in the session of the baseline.
    pub before: Option<usize>,
    /// Index in the session of the run.
    pub now: Option<usize>,
    /// Cost in the baseline, or `None` without a price or a record.
    pub cost_before: Option<Picodollars>,
    /// Cost in the run, or `None` without a price or a record.
    pub cost_now: Option<Picodollars>,
    /// Tokens in the baseline.
    pub tokens_before: Option<TurnTokens>,
    /// Tokens in the run.
    pub tokens_now: Option<TurnTokens>,
    /// Reasons for the difference.
    pub reasons: Vec<TurnReason>,
}

/// Tokens of a turn that show its use of the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnTokens {
    /// Tokens that the request reads from cache.
    pub read: Tokens,
    /// Tokens that the request writes to the cache.
    pub written: Tokens,
    /// Tokens of the whole prompt.
    pub prompt: Tokens,
    /// Tokens of the answer.
    pub output: Tokens,
}

/// Reason why a turn differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnReason {
    /// It is now a break with this cause and evidence.
    Broken(Cause, Option<String>),
    /// It was a break with this cause.
    NoLongerBroken(Cause),
    /// It is sent to another model.
    Model(String, String),
    /// Its prompt has other bytes.
    Prompt,
    /// Its markers have other places or TTLs.
    Markers,
    /// It has other settings besides its prompt.
    Settings,
    /// The pause before it differs, in milliseconds then and now.
    Pause(i64, i64),
    /// The prompt has this number of tokens more, or fewer if negative.
    PromptSize(i128),
    /// The answer has this number of tokens more, or fewer if negative.
    OutputSize(i128),
    /// Only the baseline has it.
    Gone,
    /// Only the run has it.
    New,
}

/// Largest difference between pauses that are the same, in milliseconds.
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
    /// Additional cost of the turn. An unknown cost counts as zero.
    pub fn difference(&self) -> Picodollars {
        self.cost_now.unwrap_or_default().minus(self.cost_before.unwrap_or_default())
    }
}

/// Turn with its index, the one before it in its session, its session's blocks, and the strategy
/// whose figures count.
#[derive(Clone, Copy)]
pub(super) struct PlacedTurn<'a> {
    pub(super) at: usize,
    pub(super) turn: &'a SnapshotTurn,
    pub(super) previous: Option<&'a SnapshotTurn>,
    pub(super) blocks: &'a Blocks,
    pub(super) strategy: &'a str,
}

impl PlacedTurn<'_> {
    fn figures(&self) -> Option<&Figures> {
        self.turn.figures.get(self.strategy)
    }

    fn pause(&self) -> Option<i64> {
        self.previous.map(|previous| self.turn.start.since(previous.start))
    }

    /// Markers, by the number of blocks before each, with their TTLs, and whether they are global.
    fn markers(&self) -> Vec<(usize, Ttl, bool)> {
        let place = |marker: &TurnMarker| {
            (self.blocks.prefix(marker.block).blocks, marker.ttl, marker.is_global)
        };
        self.turn.markers.iter().map(place).collect()
    }

    /// Part of each block of the prompt, the first block of a message like the others.
    fn parts(&self) -> Vec<Part> {
        let path = self.turn.block.map(|block| self.blocks.path(block)).unwrap_or_default();
        let part = |id: &BlockId| match self.blocks.block(*id).part {
            Part::MessageStart => Part::Block,
            part => part,
        };
        path.iter().map(part).collect()
    }

    /// Returns true if the markers have other places or TTLs. What comes or goes in another part of the prompt, or on
    /// one side of a marker, does not move it.
    fn has_other_markers(&self, other: &Self) -> bool {
        let (own, others) = (self.markers(), other.markers());
        if own == others {
            return false;
        }
        let (parts, other_parts) = (self.parts(), other.parts());
        let is_same = |(one, another): (&(usize, Ttl, bool), &(usize, Ttl, bool))| {
            let (here, there) = (sides(&parts, one.0), sides(&other_parts, another.0));
            (one.1, one.2) == (another.1, another.2)
                && here.0 == there.0
                && (here.1 == there.1 || here.2 == there.2)
        };
        own.len() != others.len() || !own.iter().zip(&others).all(is_same)
    }
}

/// Part of a prompt up to a block, and the numbers of blocks of that part up to it and behind it.
fn sides(parts: &[Part], blocks: usize) -> (Option<Part>, usize, usize) {
    let (before, behind) = parts.split_at(blocks.min(parts.len()));
    let own = before.last().copied();
    let count = |parts: &[Part]| parts.iter().filter(|part| Some(**part) == own).count();
    (own, count(before), count(behind))
}

/// Difference between a turn and the baseline's, or `None` if they are equal.
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
    // Without both prompts the markers are unknown, not absent.
    let has_prompts = before.turn.block.is_some() && now.turn.block.is_some();
    if has_prompts && before.has_other_markers(now) {
        reasons.push(TurnReason::Markers);
    }
    if now.turn.has_other_settings(before.turn) {
        reasons.push(TurnReason::Settings);
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
