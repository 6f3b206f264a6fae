//! What every command over requests begins with: prices, the history, what is reported of it, the
//! trace, and the strategies to simulate over it.

use super::args::{InputArgs, OutputArgs, SimulationArgs};
use super::error::CliError;
use super::input::{read_history, select};
use super::limits::Limits;
use super::pricing::{check_prices, price_table};
use crate::read::capture::BlockParts;
use crate::requests::conversation::{History, ReadOptions};
use crate::requests::prompt::{PromptTrace, Step, build, steps};
use crate::simulate::cache::Reading;
use crate::simulate::ledger::{Ledger, Selection};
use crate::simulate::pricing::PriceTable;
use crate::simulate::strategy::{Assumptions, Strategy};

/// What breaks are found and priced with.
pub(super) const EVIDENCE: [&str; 4] = ["billed", "replay", "5m", "1h"];

/// A run that is ready to be simulated.
pub(super) struct Prepared<'a> {
    simulation: &'a SimulationArgs,
    is_quiet: bool,
    strategies: Vec<Strategy>,
    pub(super) prices: PriceTable,
    pub(super) history: History,
    pub(super) selection: Selection,
    pub(super) assumptions: Assumptions,
    pub(super) steps: Vec<Step>,
    pub(super) trace: PromptTrace,
}

impl<'a> Prepared<'a> {
    /// Reads the input with all that these strategies look at, so that none is simulated over less.
    pub(super) fn new(
        input: &InputArgs,
        simulation: &'a SimulationArgs,
        output: &OutputArgs,
        options: ReadOptions,
        strategies: Vec<Strategy>,
        assumptions: Assumptions,
    ) -> Result<Self, CliError> {
        let options = options_for(&strategies, options);
        let prices = price_table(&simulation.prices, simulation.platform)?;
        let limits = Limits::of(&input.filter)?;
        let mut history = read_history(input, output, options)?;
        history.zone = limits.zone.clone();
        let (selection, (steps, trace)) = rayon::join(
            || select(input, &limits, &history),
            || {
                let steps = steps(&history);
                let trace = build(&history, &steps, assumptions.shared_prefix);
                (steps, trace)
            },
        );
        let selection = selection?;
        let is_quiet = output.quiet;
        Ok(Self {
            simulation,
            is_quiet,
            strategies,
            prices,
            history,
            selection,
            assumptions,
            steps,
            trace,
        })
    }

    /// Simulates the strategies, and names the models whose cost is unknown.
    pub(super) fn ledger(&self) -> Result<Ledger<'_>, CliError> {
        let Self { history, steps, trace, prices, strategies, assumptions, .. } = self;
        let ledger = Ledger::new(history, steps, trace, prices, strategies, assumptions);
        check_prices(&ledger, &self.selection, self.simulation.strict_prices, self.is_quiet)?;
        Ok(ledger)
    }

    /// Simulates what breaks are found and priced with, and what is possible without them.
    pub(super) fn evidence(&self) -> Ledger<'_> {
        let by_the_letter = self.simulation.assumptions(false, Reading::Literal);
        self.ledger_under(&evidence_strategies(), &by_the_letter)
    }

    /// What a simulation assumes in which the recorded breaks stay, under a reading.
    pub(super) fn as_recorded(&self, reading: Reading) -> Assumptions {
        self.simulation.assumptions(true, reading)
    }

    /// Simulates strategies that look at nothing else, under other assumptions but for what was built
    /// into the trace: the shared prefix. Models without a price are not named once more.
    pub(super) fn ledger_under(
        &self,
        strategies: &[Strategy],
        assumptions: &Assumptions,
    ) -> Ledger<'_> {
        let Self { history, steps, trace, prices, .. } = self;
        Ledger::new(history, steps, trace, prices, strategies, assumptions)
    }
}

/// What breaks are found and priced with, and the bound.
pub(super) fn evidence_strategies() -> Vec<Strategy> {
    [named(&EVIDENCE), vec![Strategy::bound(None)]].concat()
}

/// Built-in strategies.
pub(super) fn named(names: &[&str]) -> Vec<Strategy> {
    names.iter().filter_map(|name| Strategy::by_name(name)).collect()
}

/// What is read of the input: all that a command asks for, and all that one of its strategies needs.
fn options_for(strategies: &[Strategy], asked: ReadOptions) -> ReadOptions {
    let needs_parts = strategies.iter().any(Strategy::needs_block_parts);
    ReadOptions {
        parts: if needs_parts { BlockParts::Landmarks } else { asked.parts },
        keeps_bytes: asked.keeps_bytes || strategies.iter().any(Strategy::needs_bytes),
        leaves_out_trails: asked.leaves_out_trails
            && !strategies.iter().any(Strategy::manages_context),
        ..asked
    }
}
