//! The candidates tried, ranked and applied one after the other.
//!
//! What the reported requests cost under designs.

use std::borrow::Cow;
use std::cmp::Reverse;

use rayon::prelude::*;

use super::seen::Seen;
use super::{Change, ChangeCandidate, Subject, Who, causes, context, lifetimes, prompts, requests};
use crate::base::units::Picodollars;
use crate::explain::breaks::Analysis;
use crate::requests::prompt::PromptTrace;
use crate::simulate::ledger::{Ledger, Row, Selection, Totals};
use crate::simulate::strategy::{Assumptions, Design, Strategy, StrategyKind};

/// A cent: what saves less is not worth a line.
const LEAST_SAVING: Picodollars = Picodollars(10_000_000_000);

/// Neither is what saves less than this part of what was spent: half a percent.
const LEAST_PART: i128 = 200;

/// What to change, the best first, and what that would have saved.
#[derive(Clone, Debug)]
pub struct Advice {
    /// What was billed; `None` where no usage was recorded.
    pub billed: Option<Picodollars>,
    /// What of it was billed for samplings apart, which no simulation has and no change concerns.
    pub apart: Picodollars,
    /// What the simulation makes of the record, with its breaks (`as-recorded`): where all savings
    /// begin. What was billed differs from it by what the rules do not explain, and no saving has that.
    pub recorded: Picodollars,
    /// The changes that somebody can make, each on top of those before it.
    pub changes: Vec<AdviceEntry>,
    /// What nobody but the service could change, on top of all these.
    pub out_of_reach: Vec<AdviceEntry>,
}

/// A change that stands.
#[derive(Clone, Debug)]
pub struct AdviceEntry {
    /// The change.
    pub change: Change,
    /// What it alone would have saved.
    pub alone: Picodollars,
    /// What it would have saved besides those before it.
    pub saving: Picodollars,
    /// The design of the requests with it and all before it.
    pub design: Design,
}

impl Advice {
    /// Tries all that may be worth it. `None` where nothing has a price.
    #[must_use]
    pub fn new(
        ledger: &Ledger<'_>,
        trace: &PromptTrace,
        selection: &Selection,
        analysis: &Analysis,
    ) -> Option<Self> {
        let seen = Seen::new(ledger, trace, selection, analysis);
        let SearchStart { billed, apart, recorded, mut state } =
            SearchStart::new(Trials::new(ledger, trace, selection))?;
        let (beyond, within): (Vec<TriedChange>, Vec<TriedChange>) = state
            .worthwhile(candidates(&seen))
            .into_iter()
            .partition(|tried| tried.candidate.change.who == Who::Nobody);
        let changes = state.apply(within);
        let out_of_reach = state.apply(beyond);
        Some(Self { billed, apart, recorded: recorded.cost, changes, out_of_reach })
    }

    /// The first of the changes alone. Nothing else is tried where other prompts would have saved more
    /// than the recorded ones cost beyond being read whole.
    #[must_use]
    pub fn first(
        ledger: &Ledger<'_>,
        trace: &PromptTrace,
        selection: &Selection,
        analysis: &Analysis,
    ) -> Option<AdviceEntry> {
        let seen = Seen::new(ledger, trace, selection, analysis);
        let SearchStart { recorded, state, .. } =
            SearchStart::new(Trials::new(ledger, trace, selection))?;
        let mut others = candidates(&seen);
        others.retain(|candidate| candidate.change.who != Who::Nobody);
        let same_prompts =
            others.split_off(others.partition_point(|one| !one.design.keeps_prompts()));
        let mut tried = state.worthwhile(others);
        let most = tried.first().map_or(state.least, |best| best.alone);
        if recorded.avoidable >= most {
            tried.extend(state.worthwhile(same_prompts));
            tried.sort_by_key(|tried| Reverse(tried.alone));
        }
        let TriedChange { candidate: ChangeCandidate { change, design, .. }, alone } =
            tried.into_iter().next()?;
        Some(AdviceEntry { change, alone, saving: alone, design })
    }

    /// What was spent: billed, or where nothing was recorded, what the rules charge.
    #[must_use]
    pub fn spent(&self) -> Picodollars {
        self.billed.unwrap_or(self.recorded)
    }

    /// What was billed beyond the simulated record and what was billed apart; no saving has it. May be
    /// negative.
    #[must_use]
    pub fn unexplained(&self) -> Option<Picodollars> {
        Some(self.billed?.minus(self.apart).minus(self.recorded))
    }

    /// What all changes together would have saved.
    #[must_use]
    pub fn saving(&self) -> Picodollars {
        self.changes.iter().map(|entry| entry.saving).sum()
    }

    /// Whether that is the most that can be, since of a change only a part may be possible.
    #[must_use]
    pub fn is_at_most(&self) -> bool {
        self.changes.iter().any(|entry| entry.change.is_at_most)
    }
}

/// Everything that may be worth it, other prompts before other ways of sending the same. Of what saves
/// the same, the first stands first.
fn candidates(seen: &Seen<'_>) -> Vec<ChangeCandidate> {
    let mut candidates = lifetimes::candidates(seen);
    candidates.extend(context::candidates(seen));
    candidates.extend(prompts::candidates(seen));
    candidates.extend(requests::candidates(seen));
    candidates.extend(causes::candidates(seen));
    candidates.sort_by_key(|candidate| candidate.design.keeps_prompts());
    candidates
}

fn least_saving(spent: Picodollars) -> Picodollars {
    LEAST_SAVING.max(Picodollars(spent.0 / LEAST_PART))
}

/// Where all changes begin.
struct SearchStart<'a> {
    billed: Option<Picodollars>,
    apart: Picodollars,
    recorded: RecordedCost,
    state: SearchState<'a>,
}

impl<'a> SearchStart<'a> {
    fn new(trials: Trials<'a>) -> Option<Self> {
        let recorded = trials.recorded()?;
        let record = trials.billed();
        let billed = record.as_ref().and_then(Totals::cost);
        let state = SearchState {
            least: least_saving(billed.unwrap_or(recorded.cost)),
            trials,
            design: Design::default(),
            cost: recorded.cost,
        };
        let apart = record.map_or(Picodollars::ZERO, |record| record.apart);
        Some(Self { billed, apart, recorded, state })
    }
}

/// A candidate, and what it alone would have saved.
struct TriedChange {
    candidate: ChangeCandidate,
    alone: Picodollars,
}

/// What has been changed so far.
struct SearchState<'a> {
    trials: Trials<'a>,
    least: Picodollars,
    design: Design,
    cost: Picodollars,
}

impl SearchState<'_> {
    /// The candidates that save enough alone, the one that saves most first.
    fn worthwhile(&self, candidates: Vec<ChangeCandidate>) -> Vec<TriedChange> {
        let costs = self.trials.costs(candidates.iter().map(|one| one.design.clone()));
        let mut tried: Vec<TriedChange> = candidates
            .into_iter()
            .zip(costs)
            .filter_map(|(candidate, cost)| {
                let alone = self.cost.minus(cost?);
                (alone >= self.least).then_some(TriedChange { candidate, alone })
            })
            .collect();
        tried.sort_by_key(|tried| Reverse(tried.alone));
        tried
    }

    /// Makes the changes one after the other. When it is the turn of a subject, that of its rivals is made
    /// which then saves most; one that no longer saves enough is left out.
    fn apply(&mut self, mut tried: Vec<TriedChange>) -> Vec<AdviceEntry> {
        let mut entries = Vec::new();
        while let Some(first) = tried.first() {
            let subject = first.candidate.subject;
            let (rivals, others): (Vec<TriedChange>, Vec<TriedChange>) =
                tried.into_iter().partition(|one| one.candidate.subject == subject);
            entries.extend(self.make_best(rivals, subject));
            tried = others;
        }
        entries
    }

    fn make_best(&mut self, rivals: Vec<TriedChange>, subject: Subject) -> Option<AdviceEntry> {
        debug_assert!(rivals.iter().all(|one| one.candidate.subject == subject));
        let designs: Vec<Design> =
            rivals.iter().map(|one| self.design.clone().with(&one.candidate.design)).collect();
        let costs = self.trials.costs(designs.iter().cloned());
        let all = rivals.into_iter().zip(designs).zip(costs);
        let ((best, design), cost) = all
            .filter_map(|(rival, cost)| Some((rival, cost?)))
            .min_by_key(|(_, cost)| *cost)
            .filter(|(_, cost)| self.cost.minus(*cost) >= self.least)?;
        let saving = self.cost.minus(cost);
        self.design = design.clone();
        self.cost = cost;
        Some(AdviceEntry { change: best.candidate.change, alone: best.alone, saving, design })
    }
}

/// Trials that are made side by side have no more requests together: each has prompts of its own.
const MOST_SIDE_BY_SIDE: usize = 50_000;

/// Simulates designs over the requests of a ledger, with the recorded breaks.
pub(super) struct Trials<'a> {
    ledger: &'a Ledger<'a>,
    trace: &'a PromptTrace,
    selection: &'a Selection,
    assumptions: Assumptions,
}

impl<'a> Trials<'a> {
    pub(super) fn new(
        ledger: &'a Ledger<'a>,
        trace: &'a PromptTrace,
        selection: &'a Selection,
    ) -> Self {
        let assumptions = Assumptions { keeps_breaks: true, ..ledger.assumptions };
        Self { ledger, trace, selection, assumptions }
    }

    /// What the reported requests cost under each; `None` where it cannot act on them, or nothing has a
    /// price.
    pub(super) fn costs(
        &self,
        designs: impl IntoIterator<Item = Design>,
    ) -> Vec<Option<Picodollars>> {
        // Each is forgotten when its cost is known: outcomes of all at once would fill the memory.
        let designs: Vec<Design> = designs.into_iter().collect();
        let side_by_side = (MOST_SIDE_BY_SIDE / self.trace.prompts.len().max(1)).max(1);
        let batches = designs.chunks(side_by_side);
        let cost = |batch: &[Design]| -> Vec<Option<Picodollars>> {
            batch.par_iter().map(|design| self.cost(design.clone())).collect()
        };
        batches.flat_map(cost).collect()
    }

    /// What was billed for them; `None` where the ledger does not say.
    pub(super) fn billed(&self) -> Option<Totals> {
        let column = self.ledger.billed()?;
        Some(self.ledger.totals(column, self.selection.requests()))
    }

    fn cost(&self, design: Design) -> Option<Picodollars> {
        let ledger = self.simulate(design);
        ledger.totals(ledger.columns.first()?, self.selection.requests()).cost()
    }

    /// What they cost as recorded; `None` where nothing has a price.
    pub(super) fn recorded(&self) -> Option<RecordedCost> {
        let ledger = self.simulate(Design::default());
        let column = ledger.columns.first()?;
        let cost = ledger.totals(column, self.selection.requests()).cost()?;
        let rows = self.selection.requests().filter_map(|index| ledger.row(column, index));
        let avoidable = rows.filter_map(|row| beyond_reading(&ledger, &row)).sum();
        Some(RecordedCost { cost, avoidable })
    }

    fn simulate(&self, design: Design) -> Ledger<'a> {
        let Ledger { history, steps, prices, .. } = self.ledger;
        let strategies = [on_trial(design)];
        Ledger::new(history, steps, self.trace, prices, &strategies, &self.assumptions)
    }
}

/// What the record costs as it is simulated.
pub(super) struct RecordedCost {
    /// All of it.
    pub(super) cost: Picodollars,
    /// The most that could be saved of it while the same prompts are sent: what they cost beyond being
    /// read whole.
    pub(super) avoidable: Picodollars,
}

/// What a prompt costs beyond being read whole.
fn beyond_reading(ledger: &Ledger<'_>, row: &Row<'_>) -> Option<Picodollars> {
    let charges = row.charges?;
    let billing = &row.billing;
    let prompt = billing.input + billing.read + billing.write_5m + billing.write_1h;
    let read = ledger.rates_of(row.request)?.cache_read.times(prompt);
    Some(charges.total().minus(charges.output).minus(read))
}

fn on_trial(design: Design) -> Strategy {
    Strategy {
        name: Cow::Borrowed("on trial"),
        summary: Cow::Borrowed("a design on trial"),
        kind: StrategyKind::Counterfactual(design),
    }
}
