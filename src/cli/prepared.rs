//! What every command over requests begins with: prices, the history, what is reported of it, and
//! the trace to simulate.

use super::args::{InputArgs, OutputArgs, SimulationArgs};
use super::error::CliError;
use super::input::{read_history, select};
use super::pricing::{check_prices, price_table};
use crate::conversation::{History, ReadOptions};
use crate::ledger::{Ledger, Selection};
use crate::pricing::PriceTable;
use crate::prompt::{PromptTrace, Step, build, steps};
use crate::strategy::{Assumptions, Strategy};

/// A run that is ready to be simulated.
pub(super) struct Prepared<'a> {
    simulation: &'a SimulationArgs,
    is_quiet: bool,
    pub(super) prices: PriceTable,
    pub(super) history: History,
    pub(super) selection: Selection,
    pub(super) assumptions: Assumptions,
    pub(super) steps: Vec<Step>,
    pub(super) trace: PromptTrace,
}

impl<'a> Prepared<'a> {
    /// Reads the input.
    pub(super) fn new(
        input: &InputArgs,
        simulation: &'a SimulationArgs,
        output: &OutputArgs,
        options: ReadOptions,
        assumptions: Assumptions,
    ) -> Result<Self, CliError> {
        let prices = price_table(&simulation.prices, simulation.platform)?;
        let history = read_history(input, output, options)?;
        let (selection, (steps, trace)) = rayon::join(
            || select(input, &history),
            || {
                let steps = steps(&history);
                let trace = build(&history, &steps, assumptions.shared_prefix);
                (steps, trace)
            },
        );
        let selection = selection?;
        let is_quiet = output.quiet;
        Ok(Self { simulation, is_quiet, prices, history, selection, assumptions, steps, trace })
    }

    /// Simulates strategies, and names the models whose cost is unknown.
    pub(super) fn ledger(&self, strategies: &[Strategy]) -> Result<Ledger<'_>, CliError> {
        let Self { history, steps, trace, prices, assumptions, .. } = self;
        let ledger = Ledger::new(history, steps, trace, prices, strategies, assumptions);
        check_prices(&ledger, &self.selection, self.simulation.strict_prices, self.is_quiet)?;
        Ok(ledger)
    }

    /// Simulates strategies of the same run under other assumptions, but for what was built into the
    /// trace: the shared prefix. Models without a price are not named once more.
    pub(super) fn ledger_under(
        &self,
        strategies: &[Strategy],
        assumptions: &Assumptions,
    ) -> Ledger<'_> {
        let Self { history, steps, trace, prices, .. } = self;
        Ledger::new(history, steps, trace, prices, strategies, assumptions)
    }
}
