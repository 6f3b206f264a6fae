//! Comparable parts of a run and its baseline: figures of one kind, of requests that both have.
//!
//! Usage is recorded for certain bytes. If the prompt, its markers, its settings or its model have changed and the
//! usage has not, or if the usage contradicts the bytes or the cache's rules, it says nothing about the
//! run. Then the figures of the session come from the rules and the bytes on both sides (`Counted`).
//! The same applies if only one side has recorded usage. Requests of the baseline that the run lacks are taken out of
//! the baseline, so that a session cut short is not cheaper for that.

use std::borrow::Cow;

use rustc_hash::FxHashSet;

use super::pairing::{Pairing, SessionPair, pair_turns};
use super::setting_change::SettingChanges;
use super::{CheckError, is_mixed};
use crate::base::{Picodollars, Tokens, Ttl, words};
use crate::explain::snapshot::{
    BlockPrefix, ByStrategy, Counted, Figures, Snapshot, SnapshotSession, SnapshotTurn,
};

words! {
    /// Reason why the recorded usage of a request does not count.
    pub enum UsageFault {
        /// The request has changed, and the usage has not.
        Stale = "stale";
        /// Other reads and writes by the rules, as after another pause, and the same usage.
        RulesDiffer = "rules_differ";
        /// The same request, also by its id, and other usage.
        Edited = "edited";
        /// About as many tokens as before by the prompt's bytes, and not by its usage.
        Contradicted = "contradicted";
        /// Reads on one side alone that none of its requests can have written.
        Warm = "warm";
        /// Usage on one side only.
        OneSided = "one_sided";
        /// No usage on either side, beside sessions that have one.
        Unrecorded = "unrecorded";
    }
}

impl UsageFault {
    /// Returns true if the output in such a usage is not believed, either.
    fn is_of_output(self) -> bool {
        matches!(self, Self::Edited | Self::Contradicted)
    }
}

/// A session whose figures come from the rules and the bytes on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedSession {
    /// Index of the session in the run.
    pub session: usize,
    /// Index of the first request whose usage does not count.
    pub turn: usize,
    /// Reason why that usage does not count.
    pub fault: UsageFault,
    /// True if its figures include output, which both sides know.
    pub has_output: bool,
}

/// Both sides in a comparable form.
pub(super) struct Comparable<'a> {
    pub(super) before: Cow<'a, Snapshot>,
    pub(super) now: Cow<'a, Snapshot>,
    /// The run with all outputs that it knows, for limits that refer to no baseline.
    pub(super) alone: Cow<'a, Snapshot>,
    /// Sessions with counted figures.
    pub(super) counted: Vec<CountedSession>,
    /// Number of the baseline's requests that were taken out because the run lacks them.
    pub(super) gone: usize,
    /// Number of requests without a captured prompt that have the baseline's id and another usage.
    pub(super) edited: usize,
    /// Settings that changed.
    pub(super) settings: SettingChanges,
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
            edited: 0,
            settings: SettingChanges::default(),
        };
        let is_mixed = is_mixed(now);
        // A missing request or session may have written what others read.
        let is_whole = pairing.gone.is_empty()
            && pairing.new.is_empty()
            && pairing.pairs.iter().all(|pair| {
                let sides = (&before.sessions[pair.before].turns, &now.sessions[pair.now].turns);
                sides.0.as_ref().map(Vec::len) == sides.1.as_ref().map(Vec::len)
            });
        for pair in &pairing.pairs {
            comparable.add(before, now, *pair, (is_whole, is_mixed))?;
        }
        Ok(comparable)
    }

    fn add(
        &mut self,
        before: &Snapshot,
        now: &Snapshot,
        pair: SessionPair,
        (is_whole, is_mixed): (bool, bool),
    ) -> Result<(), CheckError> {
        let (old, new) = (&before.sessions[pair.before], &now.sessions[pair.now]);
        let (Some(old_turns), Some(new_turns)) = (&old.turns, &new.turns) else { return Ok(()) };
        let pairs = pair_turns(old_turns, new_turns);
        let kept: FxHashSet<usize> = pairs.iter().map(|(old, _)| *old).collect();
        let sides = |(old, new): &(usize, usize)| {
            (*new, Side::new(before, &old_turns[*old]), Side::new(now, &new_turns[*new]))
        };
        let sides: Vec<(usize, Side<'_>, Side<'_>)> = pairs.iter().map(sides).collect();
        let faulty =
            // The first fault is named, and decides for all captured requests of the session.
            sides.iter().find_map(|(turn, old, new)| {
                let is_unrecorded = is_mixed && new.recorded.is_none() && new.prompt.is_some();
                let unrecorded = is_unrecorded.then_some(UsageFault::Unrecorded);
                Some((*turn, fault(old, new, is_whole).or(unrecorded)?))
            });
        self.edited += sides.iter().filter(|(_, old, new)| has_edited_usage(old, new)).count();
        // A new recording shows the cost of a changed setting.
        let is_shown =
            |old: &Side<'_>, new: &Side<'_>| faulty.is_none() && is_new_recording(old, new);
        for (turn, old, new) in &sides {
            self.settings.add(old.turn, new.turn, (pair.now, *turn), is_shown(old, new));
        }
        let gone = old_turns.len() - kept.len();
        if gone > 0 {
            let session = &mut self.before.to_mut().sessions[pair.before];
            let turns = session.turns.iter_mut().flatten();
            // The indexes stay, since other parts refer to turns by them.
            for (_, turn) in turns.enumerate().filter(|(at, _)| !kept.contains(at)) {
                turn.figures = ByStrategy::default();
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
            let has_output = !fault.is_of_output() && old.has_outputs() && new.has_outputs();
            let is_counted = old.count(has_output) && new.count(has_output);
            let alone_has_output = !fault.is_of_output() && alone.has_outputs();
            if !is_counted || !alone.count(alone_has_output) {
                return Err(CheckError::NoCounts { session: alone.id.clone() });
            }
            self.counted.push(CountedSession { session: pair.now, turn, fault, has_output });
        }
        Ok(())
    }
}

/// Turn with the request that its usage was recorded for.
struct Side<'a> {
    turn: &'a SnapshotTurn,
    /// Prompt, by the digest of its blocks.
    prompt: Option<BlockPrefix>,
    markers: Vec<(usize, &'static str, bool)>,
    recorded: Option<&'a Figures>,
    /// Figures of the replay, by the bytes.
    counted: Option<&'a Figures>,
}

impl<'a> Side<'a> {
    fn new(snapshot: &'a Snapshot, turn: &'a SnapshotTurn) -> Self {
        let markers = turn.markers.iter().map(|marker| {
            let blocks = snapshot.blocks.prefix(marker.block).blocks;
            (blocks, marker.ttl.name(), marker.is_global)
        });
        Self {
            turn,
            prompt: turn.block.map(|block| snapshot.blocks.prefix(block)),
            markers: markers.collect(),
            recorded: turn.figures.get("billed"),
            counted: turn.counted.as_ref().and_then(|counted| counted.prompts.get("replay")),
        }
    }

    /// Number of tokens by the bytes, converted to tokens of the record. An estimate of a whole prompt
    /// may be off by a factor of its own.
    fn in_record(&self, tokens: i128) -> Option<i128> {
        let prompts = (self.recorded?.prompt().0, self.counted?.prompt().0.max(1));
        Some(tokens * i128::from(prompts.0) / i128::from(prompts.1))
    }

    /// Returns true if all markers ask for one lifetime, and the usage has writes for the other alone.
    fn has_other_lifetime(&self) -> bool {
        let Some(recorded) = self.recorded else { return false };
        let asks = |ttl: Ttl| {
            !self.markers.is_empty()
                && self.markers.iter().all(|(_, asked, _)| *asked == ttl.name())
        };
        let wrote = (recorded.write_5m > Tokens::ZERO, recorded.write_1h > Tokens::ZERO);
        match wrote {
            (true, false) => asks(Ttl::OneHour),
            (false, true) => asks(Ttl::FiveMinutes),
            _ => false,
        }
    }

    /// Returns true if it reads more than the earlier requests have written, by the rules.
    fn is_warm(&self) -> Option<bool> {
        let by_rules = self.in_record(i128::from(self.counted?.read.0))?;
        let recorded = i128::from(self.recorded?.read.0);
        Some(recorded - by_rules > SLACK + by_rules / 10)
    }
}

/// Fault of the usage of a pair of captured requests, if any. If both sides have the same requests,
/// they are equal by the rules, too.
fn fault(old: &Side<'_>, new: &Side<'_>, is_whole: bool) -> Option<UsageFault> {
    let is_same_prompt = old.prompt? == new.prompt?;
    let (before, now) = match (old.recorded, new.recorded) {
        (Some(before), Some(now)) => (before, now),
        (None, None) => return None,
        _ => return Some(UsageFault::OneSided),
    };
    let is_same_request = is_same_prompt
        && old.markers == new.markers
        && old.turn.model == new.turn.model
        && !new.turn.has_other_settings(old.turn);
    let by_rules = old.counted.zip(new.counted).filter(|_| is_whole);
    let is_same_by_rules = by_rules.is_none_or(|(old, new)| tokens(old) == tokens(new));
    let is_same_usage = tokens(before) == tokens(now);
    let same_id = old.turn.request_id.is_some() && old.turn.request_id == new.turn.request_id;
    match (is_same_request, is_same_usage) {
        // Equal usage is expected of an equal request, unless the rules see another history.
        (true, true) => (!is_same_by_rules).then_some(UsageFault::RulesDiffer),
        (true, false) if same_id && is_same_by_rules => Some(UsageFault::Edited),
        (false, true) => Some(UsageFault::Stale),
        _ if contradicts(old, new) => Some(UsageFault::Contradicted),
        _ if new.has_other_lifetime() && !old.has_other_lifetime() => {
            Some(UsageFault::Contradicted)
        }
        // An answer has output: none on one side alone contradicts the other.
        _ if (before.output.0 == 0) != (now.output.0 == 0) => Some(UsageFault::Contradicted),
        _ if old.is_warm()? != new.is_warm()? => Some(UsageFault::Warm),
        _ => None,
    }
}

/// Returns true if usage was recorded again for the request.
fn is_new_recording(old: &Side<'_>, new: &Side<'_>) -> bool {
    old.recorded.zip(new.recorded).is_some_and(|(before, now)| tokens(before) != tokens(now))
}

/// Returns true if a request of a transcript has the same id as in the baseline and a prompt of other tokens. (The
/// output may grow, since an answer may still have been in writing.)
fn has_edited_usage(old: &Side<'_>, new: &Side<'_>) -> bool {
    let is_same = old.turn.request_id.is_some()
        && old.turn.request_id == new.turn.request_id
        && old.prompt.is_none()
        && new.prompt.is_none();
    let is_other = |(before, now): (&Figures, &Figures)| {
        let [input, read, write_5m, write_1h, output] = tokens(now);
        tokens(before)[..4] != [input, read, write_5m, write_1h] || output < before.output.0
    };
    is_same && old.recorded.zip(new.recorded).is_some_and(is_other)
}

fn tokens(figures: &Figures) -> [u64; 5] {
    let Figures { input, read, write_5m, write_1h, output, .. } = figures;
    [input.0, read.0, write_5m.0, write_1h.0, output.0]
}

/// Tokens that two recordings of one prompt may differ by.
const SLACK: i128 = 32;

/// Returns true if a prompt has grown by its bytes and not by its usage, or the reverse. The tokens of an
/// addition are known to half of their number. Settings may add tokens that no byte shows, such as the tools of a
/// server.
fn contradicts(old: &Side<'_>, new: &Side<'_>) -> bool {
    let prompt = |figures: Option<&Figures>| figures.map(|figures| i128::from(figures.prompt().0));
    let growth = |old, new| Some(prompt(new)? - prompt(old)?);
    let recorded = growth(old.recorded, new.recorded);
    let by_bytes = growth(old.counted, new.counted).and_then(|grown| old.in_record(grown));
    recorded.zip(by_bytes).is_some_and(|(recorded, by_bytes)| {
        let beyond = recorded - by_bytes;
        let is_of_settings = beyond > 0 && new.turn.has_other_settings(old.turn);
        !is_of_settings && beyond.abs() > SLACK + by_bytes.abs() / 2
    })
}

impl SnapshotSession {
    fn add_up(&mut self) {
        let turns = self.turns.as_deref().unwrap_or_default();
        self.totals = Figures::of_turns(turns);
    }

    /// Returns true if the output of every captured turn has a known cost.
    pub(super) fn has_outputs(&self) -> bool {
        let mut counted = self.turns.iter().flatten().filter_map(|turn| turn.counted.as_ref());
        counted.all(|counted| counted.output.is_some())
    }

    /// Returns true if every request has recorded usage.
    pub(super) fn is_recorded(&self) -> bool {
        self.turns.iter().flatten().all(|turn| turn.figures.get("billed").is_some())
    }

    /// Returns true if every request has figures by the rules.
    pub(super) fn is_countable(&self) -> bool {
        self.turns.iter().flatten().all(|turn| turn.block.is_some() && turn.counted.is_some())
    }

    /// Replaces the recorded figures by counted ones. Returns false if a captured turn has none.
    pub(super) fn count(&mut self, has_output: bool) -> bool {
        for turn in self.turns.iter_mut().flatten() {
            // Turns that were taken out, since the run lacks them, have no figures to replace.
            let is_left_out = turn.figures.0.is_empty() && turn.counted.is_none();
            if turn.block.is_none() || is_left_out {
                continue;
            }
            let Some(Counted { prompts, output }) = &turn.counted else { return false };
            let output = output.filter(|_| has_output).unwrap_or(Picodollars::ZERO);
            turn.figures = prompts.clone();
            for (_, figures) in &mut turn.figures.0 {
                // Without a price for the prompt, the output alone would look like the whole cost.
                if figures.costs.unknown == 0 {
                    figures.costs.sum += output;
                }
            }
        }
        self.add_up();
        true
    }
}
