//! Differences of a run from its baseline, whatever its budgets say: the sessions that cost more or less, their
//! turns, and the changes in these.

use std::cmp::Reverse;

use rustc_hash::{FxHashMap, FxHashSet};

use super::pairing::{Pairing, SessionPair, pair_turns};
use super::prompt_change::{PromptChange, PromptComparison};
use super::turn_change::{PlacedTurn, TurnChange, turn_change};
use crate::base::{ByKey, Order as _, Picodollars};
use crate::explain::snapshot::{Blocks, Figures, Snapshot, SnapshotSession, SnapshotTurn};
use crate::read::capture::WireTree;

/// Session on both sides, with its figures and its turns that differ.
#[derive(Clone, Debug)]
pub struct SessionChange {
    /// Indexes of the session on either side.
    pub pair: SessionPair,
    /// Figures of the session in the baseline, or `None` if it is not recorded under the strategy.
    pub before: Option<Figures>,
    /// Figures of the session in the run.
    pub now: Option<Figures>,
    /// Turns that differ, largest change in cost first. Empty if the baseline has no turns.
    pub turns: Vec<TurnChange>,
}

impl SessionChange {
    /// Cost of the session in the baseline, or `None` without a price or a record.
    pub fn cost_before(&self) -> Option<Picodollars> {
        self.before?.known_cost()
    }

    /// Cost of the session in the run, or `None` without a price or a record.
    pub fn cost_now(&self) -> Option<Picodollars> {
        self.now?.known_cost()
    }

    /// Change of the session's cost, or `None` if a cost is unknown.
    pub fn difference(&self) -> Option<Picodollars> {
        Some(self.cost_now()?.minus(self.cost_before()?))
    }

    /// Returns true if the session is the same on both sides.
    pub fn is_same(&self) -> bool {
        self.before == self.now && self.turns.is_empty()
    }
}

/// Difference in a part of captured prompts, with the requests that have it.
#[derive(Clone, Debug)]
pub struct PromptDifference {
    /// Part and kind of the difference.
    pub change: PromptChange,
    /// Sessions of the run that have it, in order.
    pub sessions: Vec<usize>,
    /// Number of requests that have it.
    pub requests: u64,
    /// First of these requests: the index of its session, and its index in the session.
    pub first: (usize, usize),
    /// Additional cost of these sessions compared with the baseline, for whatever reason, or `None` if a
    /// cost is unknown.
    pub difference: Option<Picodollars>,
}

/// All differences of a run from its baseline.
#[derive(Clone, Debug)]
pub struct RunDifference {
    /// Pairs of sessions.
    pub pairing: Pairing,
    /// Strategy whose figures are compared.
    pub strategy: String,
    /// Sessions on both sides, largest change in cost first.
    pub sessions: Vec<SessionChange>,
    /// Parts of captured prompts that differ; parts in the most expensive sessions come first.
    pub prompts: Vec<PromptDifference>,
    /// True if the baseline has turns.
    pub has_turns: bool,
}

impl RunDifference {
    /// Compares a run with its baseline. `None` if the baseline or the run lacks the strategy. `tree` has
    /// the bytes of the run's prompts.
    pub fn new(
        before: &Snapshot,
        now: &Snapshot,
        pairing: Pairing,
        strategy: &str,
        tree: &WireTree,
    ) -> Option<Self> {
        if !before.has(strategy) || !now.has(strategy) {
            return None;
        }
        let mut differences = Differences {
            before,
            now,
            strategy,
            prompts: PromptComparison::new(&before.blocks, &now.blocks, tree),
            found: ByKey::new(),
        };
        let mut sessions: Vec<SessionChange> =
            pairing.pairs.iter().map(|pair| differences.session(*pair)).collect();
        let found = differences.found;
        let costs: ByKey<usize, Option<Picodollars>> =
            sessions.iter().map(|session| (session.pair.now, session.difference())).collect();
        let mut prompts: Vec<PromptDifference> = found
            .into_iter()
            .map(|(change, places)| prompt_difference(change, &places, &costs))
            .collect();
        prompts.order_by_key(|prompt| (Reverse(prompt.difference), Reverse(prompt.requests)));
        sessions.order_by_key(|session| {
            Reverse(session.difference().map_or(0, |difference| difference.0.unsigned_abs()))
        });
        Some(Self {
            has_turns: before.sessions.iter().all(|session| session.turns.is_some()),
            pairing,
            strategy: strategy.to_owned(),
            sessions,
            prompts,
        })
    }

    /// Known cost of the sessions on both sides, in the baseline and in the run.
    pub fn costs(&self) -> Option<(Picodollars, Picodollars)> {
        let sum = |side: fn(&SessionChange) -> Option<Figures>| {
            let figures: Vec<Figures> = self.sessions.iter().filter_map(side).collect();
            Figures::sum(&figures)?.known_cost()
        };
        Some((sum(|session| session.before)?, sum(|session| session.now)?))
    }

    /// Sessions that differ.
    pub fn changed(&self) -> impl Iterator<Item = &SessionChange> {
        self.sessions.iter().filter(|session| !session.is_same())
    }
}

/// Index of a session, and of a request in it.
type TurnPlace = (usize, usize);

struct Differences<'a> {
    before: &'a Snapshot,
    now: &'a Snapshot,
    strategy: &'a str,
    prompts: PromptComparison<'a>,
    /// Places of each change, in the order of the run.
    found: ByKey<PromptChange, Vec<TurnPlace>>,
}

impl Differences<'_> {
    fn session(&mut self, pair: SessionPair) -> SessionChange {
        let (before, now) = (&self.before.sessions[pair.before], &self.now.sessions[pair.now]);
        SessionChange {
            pair,
            before: before.totals.get(self.strategy).copied(),
            now: now.totals.get(self.strategy).copied(),
            turns: self.turns(pair, before, now),
        }
    }

    fn turns(
        &mut self,
        pair: SessionPair,
        before: &SnapshotSession,
        now: &SnapshotSession,
    ) -> Vec<TurnChange> {
        let (Some(old), Some(new)) = (&before.turns, &now.turns) else { return Vec::new() };
        let pairs = pair_turns(old, new);
        let (blocks_before, blocks_now) = (&self.before.blocks, &self.now.blocks);
        let strategy = self.strategy;
        let (earlier_before, earlier_now) = (previous_turns(old), previous_turns(new));
        let placed_before =
            |at: usize| placed(old, at, earlier_before[at], blocks_before, strategy);
        let placed_now = |at: usize| placed(new, at, earlier_now[at], blocks_now, strategy);
        let mut changes = Vec::new();
        for (old_at, new_at) in &pairs {
            let blocks = old[*old_at].block.zip(new[*new_at].block);
            let prompt_changes =
                blocks.map(|(before, now)| self.prompts.changes(before, now)).unwrap_or_default();
            let has_other_prompt = !prompt_changes.is_empty();
            for change in prompt_changes {
                self.found.entry(change).or_default().push((pair.now, *new_at));
            }
            let (before, now) = (placed_before(*old_at), placed_now(*new_at));
            changes.extend(turn_change(Some(before), Some(now), has_other_prompt));
        }
        let (old_paired, new_paired): (FxHashSet<usize>, FxHashSet<usize>) =
            pairs.into_iter().unzip();
        let gone = (0..old.len()).filter(|at| !old_paired.contains(at));
        changes.extend(gone.filter_map(|at| turn_change(Some(placed_before(at)), None, false)));
        let added = (0..new.len()).filter(|at| !new_paired.contains(at));
        changes.extend(added.filter_map(|at| turn_change(None, Some(placed_now(at)), false)));
        changes.order_by_key(|change| {
            (Reverse(change.difference().0.unsigned_abs()), change.now, change.before)
        });
        changes
    }
}

/// Previous turn of each turn in its chain.
fn previous_turns(turns: &[SnapshotTurn]) -> Vec<Option<usize>> {
    let mut last: FxHashMap<Option<&str>, usize> = FxHashMap::default();
    let turns = turns.iter().enumerate();
    turns.map(|(at, turn)| last.insert(turn.agent_id.as_deref(), at)).collect()
}

fn placed<'a>(
    turns: &'a [SnapshotTurn],
    at: usize,
    previous: Option<usize>,
    blocks: &'a Blocks,
    strategy: &'a str,
) -> PlacedTurn<'a> {
    let previous = previous.map(|previous| &turns[previous]);
    PlacedTurn { at, turn: &turns[at], previous, blocks, strategy }
}

fn prompt_difference(
    change: PromptChange,
    places: &[TurnPlace],
    costs: &ByKey<usize, Option<Picodollars>>,
) -> PromptDifference {
    let mut sessions: Vec<usize> = places.iter().map(|(session, _)| *session).collect();
    // Places are in the order of the run, so equal sessions are neighbours.
    sessions.dedup();
    let cost = |session: &usize| costs.get(session).copied().flatten();
    PromptDifference {
        requests: places.len() as u64,
        first: places.first().copied().unwrap_or_default(),
        difference: sessions.iter().map(cost).sum(),
        sessions,
        change,
    }
}
