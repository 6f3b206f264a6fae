//! What the reported requests cost under designs.

use std::borrow::Cow;

use rayon::prelude::*;

use crate::ledger::{Ledger, Selection};
use crate::prompt::PromptTrace;
use crate::strategy::{Assumptions, Design, Strategy, StrategyKind};
use crate::units::Picodollars;

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
        designs.into_par_iter().map(|design| self.cost(design)).collect()
    }

    /// The same of one.
    pub(super) fn cost(&self, design: Design) -> Option<Picodollars> {
        let Ledger { history, steps, prices, .. } = self.ledger;
        let strategies = [on_trial(design)];
        let ledger =
            Ledger::new(history, steps, self.trace, prices, &strategies, &self.assumptions);
        ledger.totals(ledger.columns.first()?, self.selection.requests()).cost()
    }
}

fn on_trial(design: Design) -> Strategy {
    Strategy {
        name: Cow::Borrowed("on trial"),
        summary: Cow::Borrowed("a design on trial"),
        kind: StrategyKind::Counterfactual(design),
    }
}
