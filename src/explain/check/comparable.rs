//! What of a run and its baseline can be compared: figures of one kind, of requests that both have.
//!
//! Usage is recorded for certain bytes. Where the prompt, its markers or its model have changed and the
//! usage has not, or the usage contradicts the bytes, it says nothing of the run. Then the figures
//! of the session come from the rules and the bytes on both sides (`Counted`), and so they do where
//! only one side has recorded usage. Requests of the baseline that the run lacks are taken out of
//! the baseline, so that a session cut short is not cheaper for that.

use std::borrow::Cow;

use super::CheckError;
use super::pairing::{Pairing, SessionPair, pair_turns};
use crate::base::units::Picodollars;
use crate::explain::snapshot::{
    BlockPrefix, Counted, Figures, Snapshot, SnapshotSession, SnapshotTurn,
};

/// Why the recorded usage of a request does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UsageFault {
    /// The request has changed, and the usage has not.
    Stale,
    /// The request is the same, by its id too, and the usage is not.
    Edited,
    /// The prompt has about as many tokens as before by its bytes, and not by its usage.
    Contradicted,
    /// Only one side has usage.
    OneSided,
}

impl UsageFault {
    /// The word in outputs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stale => "stale",
            Self::Edited => "edited",
            Self::Contradicted => "contradicted",
            Self::OneSided => "one_sided",
        }
    }
}

/// A session whose figures come from the rules and the bytes on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedSession {
    /// Its index in the run.
    pub session: usize,
    /// The index of the first request whose usage does not count.
    pub turn: usize,
    /// Why not.
    pub fault: UsageFault,
    /// Whether its figures include output, which both sides know.
    pub has_output: bool,
}

/// Both sides in a form in which they can be compared.
pub(super) struct Comparable<'a> {
    pub(super) before: Cow<'a, Snapshot>,
    pub(super) now: Cow<'a, Snapshot>,
    /// The run with all outputs that it knows, for limits that refer to no baseline.
    pub(super) alone: Cow<'a, Snapshot>,
    /// The sessions that are counted.
    pub(super) counted: Vec<CountedSession>,
    /// How many requests of the baseline were taken out, as the run lacks them.
    pub(super) gone: usize,
}

impl<'a> Comparable<'a> {
    /// # Errors
    /// A session has to be counted, and the baseline has no counts.
    pub(super) fn new(
        before: &'a Snapshot,
        now: &'a Snapshot,
        pairing: &Pairing,
    ) -> Result<Self, CheckError> {
        let mut comparable = Self {
            before: Cow::Borrowed(before),
            now: Cow::Borrowed(now),
            alone: Cow::Borrowed(now),
            counted: Vec::new(),
            gone: 0,
        };
        for pair in &pairing.pairs {
            comparable.add(before, now, *pair)?;
        }
        Ok(comparable)
    }

    fn add(
        &mut self,
        before: &Snapshot,
        now: &Snapshot,
        pair: SessionPair,
    ) -> Result<(), CheckError> {
        let (old, new) = (&before.sessions[pair.before], &now.sessions[pair.now]);
        let (Some(old_turns), Some(new_turns)) = (&old.turns, &new.turns) else { return Ok(()) };
        let pairs = pair_turns(old_turns, new_turns);
        let kept: Vec<usize> = pairs.iter().map(|(old, _)| *old).collect();
        let faulty = pairs.iter().find_map(|(old, new)| {
            let sides = (Side::new(before, &old_turns[*old]), Side::new(now, &new_turns[*new]));
            Some((*new, fault(&sides.0, &sides.1)?))
        });
        let gone = old_turns.len() - kept.len();
        if gone > 0 {
            let session = &mut self.before.to_mut().sessions[pair.before];
            let turns = session.turns.iter_mut().flatten();
            // Their places stay, since other parts refer to turns by their indexes.
            for (_, turn) in turns.enumerate().filter(|(at, _)| !kept.contains(at)) {
                turn.figures.fill(None);
                turn.counted = None;
                turn.broken = None;
            }
            session.add_up();
            self.gone += gone;
        }
        if let Some((turn, fault)) = faulty {
            let old = &mut self.before.to_mut().sessions[pair.before];
            let alone = &mut self.alone.to_mut().sessions[pair.now];
            let new = &mut self.now.to_mut().sessions[pair.now];
            let has_output = old.has_outputs() && new.has_outputs();
            let is_counted = old.count(has_output) && new.count(has_output);
            if !is_counted || !alone.count(alone.has_outputs()) {
                return Err(CheckError::NoCounts { session: alone.id.clone() });
            }
            self.counted.push(CountedSession { session: pair.now, turn, fault, has_output });
        }
        Ok(())
    }
}

/// A turn with what its usage was recorded for.
struct Side<'a> {
    turn: &'a SnapshotTurn,
    /// The prompt, by the digest of its blocks.
    prompt: Option<BlockPrefix>,
    markers: Vec<(usize, &'static str)>,
    recorded: Option<&'a Figures>,
    /// The tokens of the prompt by its bytes.
    counted: Option<u64>,
}

impl<'a> Side<'a> {
    fn new(snapshot: &'a Snapshot, turn: &'a SnapshotTurn) -> Self {
        let column = snapshot.strategy("billed");
        let markers = turn
            .markers
            .iter()
            .map(|marker| (snapshot.blocks.prefix(marker.block).blocks, marker.ttl.name()));
        let replay = snapshot.strategy("replay");
        let counted = turn.counted.as_ref().zip(replay);
        let counted = counted.and_then(|(counted, column)| counted.prompts[column]);
        Self {
            turn,
            prompt: turn.block.map(|block| snapshot.blocks.prefix(block)),
            markers: markers.collect(),
            recorded: column.and_then(|column| turn.figures[column].as_ref()),
            counted: counted.map(|figures| figures.prompt().0),
        }
    }
}

/// Why the usage of a pair of captured requests does not count, if so.
fn fault(old: &Side<'_>, new: &Side<'_>) -> Option<UsageFault> {
    let is_same_prompt = old.prompt? == new.prompt?;
    let (before, now) = match (old.recorded, new.recorded) {
        (Some(before), Some(now)) => (before, now),
        (None, None) => return None,
        _ => return Some(UsageFault::OneSided),
    };
    let is_same_request =
        is_same_prompt && old.markers == new.markers && old.turn.model == new.turn.model;
    let is_same_usage = tokens(before) == tokens(now);
    let same_id = old.turn.request_id.is_some() && old.turn.request_id == new.turn.request_id;
    match (is_same_request, is_same_usage) {
        (true, true) => None,
        (true, false) if same_id => Some(UsageFault::Edited),
        (false, true) => Some(UsageFault::Stale),
        _ if contradicts(old, new, before, now) => Some(UsageFault::Contradicted),
        _ => None,
    }
}

fn tokens(figures: &Figures) -> [u64; 5] {
    let Figures { input, read, write_5m, write_1h, output, .. } = figures;
    [input.0, read.0, write_5m.0, write_1h.0, output.0]
}

/// Tokens by which two recordings of one prompt may differ.
const SLACK: u64 = 32;

/// Whether a prompt has grown by its bytes and not by its usage, or the reverse. The tokens of what
/// was added are known to half of their number.
fn contradicts(old: &Side<'_>, new: &Side<'_>, before: &Figures, now: &Figures) -> bool {
    let (Some(old_count), Some(new_count)) = (old.counted, new.counted) else { return false };
    let recorded = i128::from(now.prompt().0) - i128::from(before.prompt().0);
    let grown = i128::from(new_count) - i128::from(old_count);
    // In tokens of the record: an estimate of a whole prompt may be off by a factor of its own.
    let grown = grown * i128::from(before.prompt().0) / i128::from(old_count.max(1));
    (recorded - grown).unsigned_abs() > u128::from(SLACK) + grown.unsigned_abs() / 2
}

impl SnapshotSession {
    fn add_up(&mut self) {
        let turns = self.turns.as_deref().unwrap_or_default();
        self.totals = Figures::of_turns(turns, self.totals.len());
    }

    /// Whether the output of every captured turn has a known cost.
    fn has_outputs(&self) -> bool {
        let mut counted = self.turns.iter().flatten().filter_map(|turn| turn.counted.as_ref());
        counted.all(|counted| counted.output.is_some())
    }

    /// Puts counted figures in the place of the recorded ones. False where a captured turn has none.
    fn count(&mut self, has_output: bool) -> bool {
        for turn in self.turns.iter_mut().flatten() {
            let is_left_out = turn.figures.iter().all(Option::is_none) && turn.counted.is_none();
            if turn.block.is_none() || is_left_out {
                continue;
            }
            let Some(Counted { prompts, output }) = &turn.counted else { return false };
            let output = output.filter(|_| has_output).unwrap_or(Picodollars::ZERO);
            turn.figures = prompts
                .iter()
                .map(|figures| {
                    let mut figures = (*figures)?;
                    if figures.unpriced == 0 {
                        figures.cost += output;
                    }
                    Some(figures)
                })
                .collect();
        }
        self.add_up();
        true
    }
}
