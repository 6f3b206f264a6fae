//! What the reported requests cost under designs.

use std::borrow::Cow;

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
        let strategies: Vec<Strategy> = designs.into_iter().map(on_trial).collect();
        let Ledger { history, steps, prices, .. } = self.ledger;
        let ledger =
            Ledger::new(history, steps, self.trace, prices, &strategies, &self.assumptions);
        let cost = |column| ledger.totals(column, self.selection.requests()).cost();
        ledger.columns.iter().map(cost).collect()
    }

    /// The same of one.
    pub(super) fn cost(&self, design: Design) -> Option<Picodollars> {
        self.costs([design]).pop()?
    }
}

fn on_trial(design: Design) -> Strategy {
    Strategy {
        name: Cow::Borrowed("on trial"),
        summary: Cow::Borrowed("a design on trial"),
        kind: StrategyKind::Counterfactual(design),
    }
}
