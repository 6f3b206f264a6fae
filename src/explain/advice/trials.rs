//! What the reported requests cost under designs.

use std::borrow::Cow;

use rayon::prelude::*;

use crate::base::units::Picodollars;
use crate::requests::prompt::PromptTrace;
use crate::simulate::ledger::{Ledger, Row, Selection, Totals};
use crate::simulate::strategy::{Assumptions, Design, Strategy, StrategyKind};

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
    pub(super) fn recorded(&self) -> Option<Recorded> {
        let ledger = self.simulate(Design::default());
        let column = ledger.columns.first()?;
        let cost = ledger.totals(column, self.selection.requests()).cost()?;
        let rows = self.selection.requests().filter_map(|index| ledger.row(column, index));
        let avoidable = rows.filter_map(|row| beyond_reading(&ledger, &row)).sum();
        Some(Recorded { cost, avoidable })
    }

    fn simulate(&self, design: Design) -> Ledger<'a> {
        let Ledger { history, steps, prices, .. } = self.ledger;
        let strategies = [on_trial(design)];
        Ledger::new(history, steps, self.trace, prices, &strategies, &self.assumptions)
    }
}

/// What the record costs as it is simulated.
pub(super) struct Recorded {
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
