//! What every command over requests begins with: a study of the input, and the strategies to simulate.

use super::args::{InputArgs, OutputArgs, SimulationArgs};
use super::error::CliError;
use super::input::{filter, read_history};
use super::limits::Limits;
use super::pricing::{check_prices, price_table};
use crate::requests::conversation::ReadOptions;
use crate::simulate::cache::Reading;
use crate::simulate::ledger::Ledger;
use crate::simulate::strategy::{Assumptions, Strategy};
use crate::study::{Study, StudyOptions, options_for};

/// A run that is ready to be simulated.
pub(super) struct Prepared {
    pub(super) study: Study,
    strategies: Vec<Strategy>,
    strict_prices: bool,
    is_quiet: bool,
}

impl Prepared {
    /// Reads the input with all that these strategies look at.
    pub(super) fn new(
        input: &InputArgs,
        simulation: &SimulationArgs,
        output: &OutputArgs,
        options: ReadOptions,
        strategies: Vec<Strategy>,
        assumptions: Assumptions,
    ) -> Result<Self, CliError> {
        let read = options_for(&strategies, options);
        let prices = price_table(&simulation.prices, simulation.platform)?;
        let limits = Limits::of(&input.filter)?;
        let history = read_history(input, output, read)?;
        let (filter, only_live) = (filter(input, &limits), input.live);
        let zone = limits.zone;
        let options = StudyOptions { read, prices, filter, only_live, zone, assumptions };
        Ok(Self {
            study: Study::of(history, options)?,
            strategies,
            strict_prices: simulation.strict_prices,
            is_quiet: output.quiet,
        })
    }

    /// Simulates the strategies.
    pub(super) fn ledger(&self) -> Result<Ledger<'_>, CliError> {
        self.priced(self.study.run(&self.strategies)?)
    }

    /// Simulates them, and the bound under some readings.
    pub(super) fn ledger_with(&self, readings: &[Reading]) -> Result<Ledger<'_>, CliError> {
        self.priced(self.study.run_with(&self.strategies, readings)?)
    }

    /// Simulates them, and the bounds of both readings.
    pub(super) fn ledger_with_bounds(&self) -> Result<Ledger<'_>, CliError> {
        self.priced(self.study.run_with_bounds(&self.strategies)?)
    }

    /// Simulates what breaks are found and priced with.
    pub(super) fn evidence(&self) -> Result<Ledger<'_>, CliError> {
        self.priced(self.study.evidence())
    }

    /// Names the models whose cost is unknown.
    fn priced<'s>(&self, ledger: Ledger<'s>) -> Result<Ledger<'s>, CliError> {
        check_prices(&ledger, &self.study.selection, self.strict_prices, self.is_quiet)?;
        Ok(ledger)
    }
}
