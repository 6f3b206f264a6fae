//! A run compared with its baseline, whatever its budgets say: which sessions cost more or less, in
//! which turns, and what changed in them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::pairing::{Pairing, SessionPair, pair_turns};
use super::prompt_change::{PromptChange, PromptComparison};
use super::turn_change::{PlacedTurn, TurnChange, turn_change};
use crate::base::order::{Order as _, Ordered as _};
use crate::base::units::Picodollars;
use crate::explain::snapshot::{Blocks, Figures, Snapshot, SnapshotSession, SnapshotTurn};
use crate::read::capture::WireTree;

/// A session on both sides.
#[derive(Clone, Debug)]
pub struct SessionChange {
    /// The session on either side.
    pub pair: SessionPair,
    /// Its figures in the baseline, or `None` where it is not recorded under the strategy.
    pub before: Option<Figures>,
    /// Its figures now.
    pub now: Option<Figures>,
    /// The turns that differ, largest change in cost first. Empty where the baseline has no turns.
    pub turns: Vec<TurnChange>,
}

impl SessionChange {
    /// Its cost in the baseline, or `None` without a price or a record.
    #[must_use]
    pub fn cost_before(&self) -> Option<Picodollars> {
        self.before?.known_cost()
    }

    /// Its cost now.
    #[must_use]
    pub fn cost_now(&self) -> Option<Picodollars> {
        self.now?.known_cost()
    }

    /// The change of its cost, or `None` where a cost is unknown.
    #[must_use]
    pub fn difference(&self) -> Option<Picodollars> {
        Some(self.cost_now()?.minus(self.cost_before()?))
    }

    /// Whether it is the same on both sides.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.before == self.now && self.turns.is_empty()
    }
}

/// A part of captured prompts that differs, and where.
#[derive(Clone, Debug)]
pub struct PromptDifference {
    /// What differs.
    pub change: PromptChange,
    /// The sessions of the run that have it, in order.
    pub sessions: Vec<usize>,
    /// How many requests have it.
    pub requests: u64,
    /// The first of them: the indexes of its session, and of it in the session.
    pub first: (usize, usize),
    /// How much more these sessions cost than in the baseline, for whatever reason, or `None` where
    /// a cost is unknown.
    pub difference: Option<Picodollars>,
}

/// Everything that differs.
#[derive(Clone, Debug)]
pub struct RunDifference {
    /// How sessions are paired.
    pub pairing: Pairing,
    /// The strategy whose figures are compared.
    pub strategy: String,
    /// The sessions on both sides, largest change in cost first.
    pub sessions: Vec<SessionChange>,
    /// The parts of captured prompts that differ, those in the most expensive sessions first.
    pub prompts: Vec<PromptDifference>,
    /// Whether the baseline has turns.
    pub has_turns: bool,
}

impl RunDifference {
    /// Compares a run with its baseline. `None` where the baseline lacks the strategy. `tree` has
    /// the bytes of the run's prompts.
    #[must_use]
    pub fn new(
        before: &Snapshot,
        now: &Snapshot,
        pairing: Pairing,
        strategy: &str,
        tree: &WireTree,
    ) -> Option<Self> {
        let columns = (before.strategy(strategy)?, now.strategy(strategy)?);
        let mut differences = Differences {
            before,
            now,
            columns,
            prompts: PromptComparison::new(&before.blocks, &now.blocks, tree),
            found: BTreeMap::new(),
        };
        let mut sessions: Vec<SessionChange> =
            pairing.pairs.iter().map(|pair| differences.session(*pair)).collect();
        let found = differences.found;
        let costs: BTreeMap<usize, Option<Picodollars>> =
            sessions.iter().map(|session| (session.pair.now, session.difference())).ordered_map();
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

    /// The known cost of the sessions on both sides, in the baseline and now.
    #[must_use]
    pub fn costs(&self) -> Option<(Picodollars, Picodollars)> {
        let sum = |side: fn(&SessionChange) -> Option<Figures>| {
            let figures: Vec<Figures> = self.sessions.iter().filter_map(side).collect();
            Figures::sum(&figures)?.known_cost()
        };
        Some((sum(|session| session.before)?, sum(|session| session.now)?))
    }

    /// The sessions that differ.
    pub fn changed(&self) -> impl Iterator<Item = &SessionChange> {
        self.sessions.iter().filter(|session| !session.is_same())
    }
}

/// A session, and the index of a request in it.
type TurnPlace = (usize, usize);

struct Differences<'a> {
    before: &'a Snapshot,
    now: &'a Snapshot,
    columns: (usize, usize),
    prompts: PromptComparison<'a>,
    /// Where each change occurs, in the order of the run.
    found: BTreeMap<PromptChange, Vec<TurnPlace>>,
}

impl Differences<'_> {
    fn session(&mut self, pair: SessionPair) -> SessionChange {
        let (before, now) = (&self.before.sessions[pair.before], &self.now.sessions[pair.now]);
        SessionChange {
            pair,
            before: before.totals[self.columns.0],
            now: now.totals[self.columns.1],
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
        let columns = self.columns;
        let (earlier_before, earlier_now) = (previous_turns(old), previous_turns(new));
        let placed_before =
            |at: usize| placed(old, at, earlier_before[at], blocks_before, columns.0);
        let placed_now = |at: usize| placed(new, at, earlier_now[at], blocks_now, columns.1);
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

/// For each turn, the one before it in its chain.
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
    column: usize,
) -> PlacedTurn<'a> {
    let previous = previous.map(|previous| &turns[previous]);
    PlacedTurn { at, turn: &turns[at], previous, blocks, column }
}

fn prompt_difference(
    change: PromptChange,
    places: &[TurnPlace],
    costs: &BTreeMap<usize, Option<Picodollars>>,
) -> PromptDifference {
    let mut sessions: Vec<usize> = places.iter().map(|(session, _)| *session).collect();
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
