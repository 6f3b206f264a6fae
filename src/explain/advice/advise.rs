//! Search for the best changes: tries the candidates, ranks them, and applies them one after the other.
//!
//! Also simulates the cost of the reported requests under other designs.

use std::cmp::Reverse;

use super::bill::Bill;
use super::seen::Seen;
use super::{Change, ChangeCandidate, Subject, Who, causes, context, lifetimes, prompts, requests};
use crate::base::{Order as _, Picodollars, side_by_side};
use crate::explain::breaks::{Analysis, Contradiction};
use crate::requests::conversation::RequestIndex;
use crate::requests::prompt::PromptTrace;
use crate::simulate::ledger::{Ledger, Row, Selection, Totals};
use crate::simulate::management::{Management, sketch};
use crate::simulate::strategy::{Assumptions, Design};

/// Changes, best first, with their savings.
#[derive(Clone, Debug)]
pub struct Advice {
    /// Amount billed, and the rules' charge.
    pub bill: Bill,
    /// Changes that somebody can make, each on top of the earlier ones.
    pub changes: Vec<AdviceEntry>,
    /// Change that saves most by the rules, if the bill does not support its saving.
    ///
    /// Then no change of any kind is listed.
    pub unsupported: Option<AdviceEntry>,
    /// Changes that nobody but the service could make, on top of all these.
    pub out_of_reach: Vec<AdviceEntry>,
    /// Contradiction of the record with the rules, so that nothing is tried.
    pub withheld: Option<Contradiction>,
    /// Number of requests to caches that are not Anthropic's, which are in no saving.
    pub own_caches: usize,
    /// True if markers never had an effect: a gateway drops them.
    pub drops_markers: bool,
}

/// Change that saves most alone, with the bill that its saving starts from.
#[derive(Clone, Debug)]
pub struct FirstAdvice {
    /// The change, if any is worth a line.
    pub entry: Option<AdviceEntry>,
    /// Amount billed, and the rules' charge.
    pub bill: Bill,
}

/// An applied change, with its savings.
#[derive(Clone, Debug)]
pub struct AdviceEntry {
    /// The change in words.
    pub change: Change,
    /// Saving of the change alone.
    pub alone: Picodollars,
    /// Saving on top of the earlier changes.
    pub saving: Picodollars,
    /// Design of the requests with this change and all earlier ones.
    pub design: Design,
}

impl Advice {
    /// Tries every candidate; `None` if nothing has a price.
    pub fn new(
        ledger: &Ledger<'_>,
        trace: &PromptTrace,
        selection: &Selection,
        analysis: &Analysis,
    ) -> Option<Self> {
        let seen = Seen::new(ledger, trace, selection, analysis);
        let start = SearchStart::new(Trials::new(ledger, trace, selection))?;
        let own_caches = selection.requests().filter(|index| ledger.has_own_cache(*index)).count();
        let drops_markers = seen.drops_markers();
        let none = Self { own_caches, drops_markers, ..Self::none(start.bill) };
        if analysis.contradiction.is_some() {
            return Some(Self { withheld: analysis.contradiction, ..none });
        }
        let (beyond, mut within): (Vec<TriedChange>, Vec<TriedChange>) = start
            .state
            .worthwhile(candidates(&seen))
            .into_iter()
            .partition(|tried| tried.candidate.change.who == Who::Nobody);
        let SearchStart { bill, mut state, .. } = start;
        put_supported_first(&bill, &mut within);
        if within.first().is_some_and(|best| !bill.supports(best.alone)) {
            let unsupported = within.into_iter().next().map(TriedChange::alone);
            return Some(Self { unsupported, ..none });
        }
        let changes = state.apply(within);
        let out_of_reach = state.apply(beyond);
        Some(Self { changes, out_of_reach, ..none })
    }

    /// Advice without changes.
    fn none(bill: Bill) -> Self {
        Self {
            bill,
            changes: Vec::new(),
            unsupported: None,
            out_of_reach: Vec::new(),
            withheld: None,
            own_caches: 0,
            drops_markers: false,
        }
    }

    /// Finds the first of the changes alone.
    ///
    /// Other ways of sending the same prompts are tried only if they could save more than the best other
    /// prompts: at most the recorded cost beyond reading all prompts from cache.
    pub fn first(
        ledger: &Ledger<'_>,
        trace: &PromptTrace,
        selection: &Selection,
        analysis: &Analysis,
    ) -> Option<FirstAdvice> {
        if analysis.contradiction.is_some() {
            let bill = SearchStart::new(Trials::new(ledger, trace, selection))?.bill;
            return Some(FirstAdvice { entry: None, bill });
        }
        let seen = Seen::new(ledger, trace, selection, analysis);
        let mut others = candidates(&seen);
        others.retain(|candidate| candidate.change.who != Who::Nobody);
        // `candidates` puts other prompts first, so that one point divides the list.
        let same_prompts =
            others.split_off(others.partition_point(|one| !one.design.keeps_prompts()));
        let trials = Trials::new(ledger, trace, selection);
        let (start, mut tried) = if trials.is_large() {
            trials.best_first(others)?
        } else {
            let start = SearchStart::new(trials)?;
            let tried = start.state.worthwhile(others);
            (start, tried)
        };
        let most = tried.first().map_or(start.state.least, |best| best.alone);
        if start.recorded.avoidable >= most {
            tried.extend(start.state.worthwhile(same_prompts));
            tried.order_by_key(TriedChange::rank);
        }
        put_supported_first(&start.bill, &mut tried);
        let entry = tried.into_iter().next().map(TriedChange::alone);
        Some(FirstAdvice { entry, bill: start.bill })
    }

    /// The first of the changes, without another search.
    pub fn to_first(&self) -> FirstAdvice {
        FirstAdvice {
            entry: self.changes.first().or(self.unsupported.as_ref()).cloned(),
            bill: self.bill,
        }
    }

    /// Part of the saving of all changes that the bill supports.
    pub fn supported(&self) -> Picodollars {
        self.bill.supported(self.saving())
    }

    /// Saving of all changes together by the rules.
    pub fn saving(&self) -> Picodollars {
        self.changes.iter().map(|entry| entry.saving).sum()
    }

    /// Returns true if the saving is an upper limit, as only a part of some change may be possible.
    pub fn is_at_most(&self) -> bool {
        self.changes.iter().any(|entry| entry.change.is_at_most)
    }
}

/// Every candidate: first other prompts, then other ways of sending the same prompts.
///
/// Of equal savings the earlier candidate comes first.
fn candidates(seen: &Seen<'_>) -> Vec<ChangeCandidate> {
    let all: [fn(&Seen<'_>) -> Vec<ChangeCandidate>; 5] = [
        lifetimes::candidates,
        context::candidates,
        prompts::candidates,
        requests::candidates,
        causes::candidates,
    ];
    let found: Vec<Vec<ChangeCandidate>> = side_by_side(&all, |of| of(seen));
    let mut candidates: Vec<ChangeCandidate> = found.into_iter().flatten().collect();
    candidates.order_by_key(|candidate| candidate.design.keeps_prompts());
    // Where a gateway drops markers, others in their place change nothing.
    if seen.drops_markers() {
        let of_markers = [Subject::Lifetimes, Subject::Pings, Subject::Markers];
        candidates.retain(|candidate| !of_markers.contains(&candidate.subject));
    }
    // A setting of Claude Code is of no use to another client.
    if !seen.may_be_of_claude_code() {
        for candidate in &mut candidates {
            candidate.change.setting = None;
        }
    }
    candidates
}

/// Start of a search, before any change.
struct SearchStart<'a> {
    bill: Bill,
    recorded: RecordedCost,
    state: SearchState<'a>,
}

impl<'a> SearchStart<'a> {
    fn new(trials: Trials<'a>) -> Option<Self> {
        let recorded = trials.recorded()?;
        Some(Self::from(trials, recorded))
    }

    fn from(trials: Trials<'a>, recorded: RecordedCost) -> Self {
        let record = trials.billed();
        let billed = record.as_ref().and_then(Totals::cost);
        let simulated = recorded.cost.minus(recorded.apart);
        let bill = Bill {
            billed,
            apart: recorded.apart,
            recorded: simulated,
            unrecorded: billed.map_or(simulated, |_| recorded.unrecorded),
        };
        let state = SearchState {
            least: bill.least_saving(),
            trials,
            design: Design::default(),
            cost: recorded.cost,
        };
        Self { bill, recorded, state }
    }
}

/// A candidate, with its saving alone.
struct TriedChange {
    candidate: ChangeCandidate,
    alone: Picodollars,
}

impl TriedChange {
    /// Place among others. Pings count a tenth less: they are requests more, which somebody has to send.
    fn rank(&self) -> Reverse<Picodollars> {
        let Picodollars(alone) = self.alone;
        let is_ping = self.candidate.subject == Subject::Pings;
        Reverse(Picodollars(if is_ping { alone - alone / 10 } else { alone }))
    }

    /// Entry of the change with no other one applied.
    fn alone(self) -> AdviceEntry {
        let Self { candidate: ChangeCandidate { change, design, .. }, alone } = self;
        AdviceEntry { change, alone, saving: alone, design }
    }
}

/// Puts the largest saving first if the bill does not support that of the first change: pings rank lower than they
/// save.
fn put_supported_first(bill: &Bill, tried: &mut [TriedChange]) {
    let largest = (0..tried.len()).rev().max_by_key(|place| tried[*place].alone);
    if let Some(largest) = largest.filter(|_| !bill.supports(tried[0].alone)) {
        tried[..=largest].rotate_right(1);
    }
}

/// State of a search: the changes applied so far.
struct SearchState<'a> {
    trials: Trials<'a>,
    least: Picodollars,
    design: Design,
    cost: Picodollars,
}

impl SearchState<'_> {
    /// Candidates that save enough alone, largest saving first.
    fn worthwhile(&self, candidates: Vec<ChangeCandidate>) -> Vec<TriedChange> {
        let costs = self.trials.costs(candidates.iter().map(|one| one.design.clone()));
        self.ranked(candidates.into_iter().zip(costs))
    }

    /// Candidates that save enough at these costs, largest saving first.
    fn ranked(
        &self,
        costs: impl IntoIterator<Item = (ChangeCandidate, Option<Picodollars>)>,
    ) -> Vec<TriedChange> {
        let tried = costs.into_iter().filter_map(|(candidate, cost)| {
            let alone = self.cost.minus(cost?);
            (alone >= self.least).then_some(TriedChange { candidate, alone })
        });
        let mut tried: Vec<TriedChange> = tried.collect();
        tried.order_by_key(TriedChange::rank);
        tried
    }

    /// Applies the changes one after the other.
    ///
    /// Of several rivals for a subject, the one that saves most on top of the earlier changes is applied, or
    /// none if its saving is too small.
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

/// Most requests in trials that run side by side, as each trial has its own prompts.
const MOST_SIDE_BY_SIDE: usize = 50_000;

/// Prediction for a trial before it is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outlook {
    /// Lower bound on the cost of the requests.
    AtLeast(Picodollars),
    /// No prediction.
    Unknown,
    /// The design cannot act on the requests.
    Idle,
}

/// Trials of designs on the requests of a ledger, with the recorded breaks.
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
        // Without the recorded breaks every design would also seem to save them.
        let assumptions = Assumptions { keeps_breaks: true, ..ledger.assumptions };
        Self { ledger, trace, selection, assumptions }
    }

    /// Cost of the reported requests under each design, or `None` if the design cannot act on them or nothing
    /// has a price.
    pub(super) fn costs(
        &self,
        designs: impl IntoIterator<Item = Design>,
    ) -> Vec<Option<Picodollars>> {
        // Each simulation is dropped once its cost is known, as the outcomes of all of them would fill the
        // memory.
        let designs: Vec<Design> = designs.into_iter().collect();
        let at_once = (MOST_SIDE_BY_SIDE / self.trace.prompts.len().max(1)).max(1);
        let batches = designs.chunks(at_once);
        let cost = |batch: &[Design]| side_by_side(batch, |design| self.cost(design.clone()));
        batches.flat_map(cost).collect()
    }

    /// Totals billed for the reported requests, or `None` if the ledger does not say.
    pub(super) fn billed(&self) -> Option<Totals> {
        let column = self.ledger.billed()?;
        Some(self.ledger.totals(column, self.selection.requests()))
    }

    fn cost(&self, design: Design) -> Option<Picodollars> {
        let ledger = self.simulate(design)?;
        ledger.totals(ledger.columns.first()?, self.selection.requests()).cost()
    }

    /// Returns true if memory has room for only one trial at a time.
    fn is_large(&self) -> bool {
        self.trace.prompts.len() > MOST_SIDE_BY_SIDE / 2
    }

    /// Cost of the record, and the candidates that save enough, without trying candidates that cannot be the
    /// best (pruning by lower bounds).
    ///
    /// The bounds follow from sizes alone. The candidate that is likely to be the best runs beside their
    /// computation, as only one trial at a time has room for its prompts.
    fn best_first(
        self,
        candidates: Vec<ChangeCandidate>,
    ) -> Option<(SearchStart<'a>, Vec<TriedChange>)> {
        // The guess changes how many trials are needed, not which candidate is the best.
        let likely = candidates.iter().position(|one| takes_out(&one.design));
        let likely = likely.or(candidates.first().map(|_| 0));
        let cost_of = |place: usize| self.cost(candidates[place].design.clone());
        let outlooks = || -> Vec<(Outlook, usize)> {
            let others = (0..candidates.len()).filter(|place| Some(*place) != likely);
            others.map(|place| (self.outlook(&candidates[place].design), place)).collect()
        };
        let (cost, (mut order, recorded)) =
            rayon::join(|| likely.and_then(cost_of), || (outlooks(), self.recorded()));
        let recorded = recorded?;
        let mut costs: Vec<Option<Picodollars>> = vec![None; candidates.len()];
        if let Some(likely) = likely {
            costs[likely] = cost;
        }
        // A cost at or above the record's saves nothing.
        let mut best = cost.map_or(recorded.cost, |cost| cost.min(recorded.cost));
        order.retain(|(outlook, _)| *outlook != Outlook::Idle);
        // The lowest bounds come first: an early low cost excludes most of the others.
        order.order();
        for (outlook, place) in order {
            let cannot_be_best = match outlook {
                // Refused requests cost nothing, so the bound does not hold if there are any.
                Outlook::AtLeast(least) => !recorded.has_refusals && least > best,
                _ => false,
            };
            if !cannot_be_best {
                costs[place] = cost_of(place);
                best = costs[place].map_or(best, |cost| cost.min(best));
            }
        }
        let start = SearchStart::from(self, recorded);
        let tried = start.state.ranked(candidates.into_iter().zip(costs));
        Some((start, tried))
    }

    /// Prediction from sizes for a design that does nothing but manage contexts.
    ///
    /// Its markers, and so its refusals, are those of the record.
    fn outlook(&self, design: &Design) -> Outlook {
        let Some(management) = design.management.as_deref() else {
            return Outlook::Unknown;
        };
        if *design != (Design { management: design.management.clone(), ..Design::default() }) {
            return Outlook::Unknown;
        }
        let sketch = sketch(self.ledger.history, self.ledger.ratios(), self.trace, management);
        if sketch.is_idle {
            return Outlook::Idle;
        }
        Outlook::AtLeast(self.ledger.least_cost(&sketch, self.selection))
    }

    /// Cost as recorded, or `None` if nothing has a price.
    pub(super) fn recorded(&self) -> Option<RecordedCost> {
        let ledger = self.simulate(Design::default())?;
        let column = ledger.columns.first()?;
        let totals = ledger.totals(column, self.selection.requests());
        let (cost, apart) = (totals.cost()?, totals.apart);
        let has_no_record =
            |index: &RequestIndex| self.ledger.history.request(*index).usage.is_none();
        let unrecorded = self.selection.requests().filter(has_no_record);
        let unrecorded = ledger.totals(column, unrecorded).cost().unwrap_or_default();
        let rows = self.selection.requests().filter_map(|index| ledger.row(column, index));
        let avoidable = rows.filter_map(|row| beyond_reading(&ledger, &row)).sum();
        let outcomes = column.outcomes().unwrap_or_default();
        let has_refusals = outcomes.iter().any(|outcome| outcome.refusal.is_some());
        Some(RecordedCost { cost, apart, unrecorded, avoidable, has_refusals })
    }

    fn simulate(&self, design: Design) -> Option<Ledger<'a>> {
        self.ledger.on_trial(design, self.trace, &self.assumptions)
    }
}

/// Returns true if a design takes something out of contexts that have become large.
///
/// (A memory is written whether or not they have.)
fn takes_out(design: &Design) -> bool {
    let management = design.management.as_deref();
    management.is_some_and(|one| !matches!(one, Management::SessionMemory(_)))
}

/// Cost of the record in the simulation.
pub(super) struct RecordedCost {
    /// Cost of all reported requests.
    pub(super) cost: Picodollars,
    /// Part of `cost` for samplings billed apart.
    apart: Picodollars,
    /// Part of `cost` for requests without recorded usage.
    unrecorded: Picodollars,
    /// Most that could be saved while the same prompts are sent: their cost beyond reading all of them from
    /// cache.
    pub(super) avoidable: Picodollars,
    /// True if any request is refused, and so costs nothing.
    has_refusals: bool,
}

/// Cost of a prompt beyond reading all of it from cache.
fn beyond_reading(ledger: &Ledger<'_>, row: &Row<'_>) -> Option<Picodollars> {
    let charges = row.charges?;
    let billing = &row.billing;
    let prompt = billing.input + billing.read + billing.write_5m + billing.write_1h;
    let read = ledger.rates_of(row.request)?.cache_read.times(prompt);
    // The answer costs the same, however its prompt is cached.
    Some(charges.total().minus(charges.output).minus(read))
}
