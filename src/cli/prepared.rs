//! The start of every command over requests: a study of the input, the strategies to simulate, the
//! price table and the facts about models.

use std::path::PathBuf;

use super::args::{InputArgs, OutputArgs, PlatformArg, SimulationArgs};
use super::error::CliError;
use super::input::{enough_memory, filter, read_history};
use super::limits::Limits;
use super::output::say;
use crate::base::model::{Models, Platform};
use crate::base::wording::{nearest, suggestion};
use crate::read::input::{MOST_REPORT, read_text};
use crate::report::counted;
use crate::requests::conversation::ReadOptions;
use crate::simulate::cache::Reading;
use crate::simulate::ledger::{Ledger, Selection};
use crate::simulate::pricing::PriceTable;
use crate::simulate::strategy::{Assumptions, Strategy};
use crate::study::{Study, StudyOptions, options_for};

/// A run that is ready to simulate.
pub(super) struct PreparedRun {
    pub(super) study: Study,
    strategies: Vec<Strategy>,
    strict_prices: bool,
    is_quiet: bool,
}

impl PreparedRun {
    /// Reads the input, with all that these strategies need.
    pub(super) fn new(
        input: &InputArgs,
        simulation: &SimulationArgs,
        output: &OutputArgs,
        options: ReadOptions,
        strategies: Vec<Strategy>,
        assumptions: Assumptions,
    ) -> Result<Self, CliError> {
        let (prices, models) = tables(&simulation.prices, simulation.platform)?;
        let read = ReadOptions { models, ..options_for(&strategies, options) };
        let limits = Limits::of(&input.filter)?;
        let history = read_history(input, output, read.clone())?;
        let (filter, only_live) = (filter(input, &limits), input.live);
        let zone = limits.zone;
        let options = StudyOptions { read, prices, filter, only_live, zone, assumptions };
        let study = Study::of(history, options)?;
        enough_memory(&study.history.diagnostics)?;
        Ok(Self {
            study,
            strategies,
            strict_prices: simulation.strict_prices,
            is_quiet: output.quiet,
        })
    }

    /// Simulates the strategies.
    pub(super) fn ledger(&self) -> Result<Ledger<'_>, CliError> {
        self.priced(self.study.run(&self.strategies)?)
    }

    /// Simulates the strategies over captured prompts sized by their bytes alone.
    pub(super) fn counted(&self) -> Result<Option<Ledger<'_>>, CliError> {
        Ok(self.study.counted(&self.strategies)?)
    }

    /// Simulates the strategies, and the bound under some readings.
    pub(super) fn ledger_with(&self, readings: &[Reading]) -> Result<Ledger<'_>, CliError> {
        self.priced(self.study.run_with(&self.strategies, readings)?)
    }

    /// Simulates the strategies, and the bounds of both readings.
    pub(super) fn ledger_with_bounds(&self) -> Result<Ledger<'_>, CliError> {
        self.priced(self.study.run_with_bounds(&self.strategies)?)
    }

    /// Simulates what finding and pricing breaks needs.
    pub(super) fn evidence(&self) -> Result<Ledger<'_>, CliError> {
        self.priced(self.study.evidence())
    }

    /// Warns of models whose cost is unknown.
    fn priced<'s>(&self, ledger: Ledger<'s>) -> Result<Ledger<'s>, CliError> {
        enough_memory(&self.study.history.diagnostics)?;
        check_prices(&ledger, &self.study.selection, self.strict_prices, self.is_quiet)?;
        Ok(ledger)
    }
}

/// The built-in prices and facts about models, with files laid over them, the last file on top.
pub(super) fn tables(
    files: &[PathBuf],
    platform: PlatformArg,
) -> Result<(PriceTable, Models), CliError> {
    let mut models = Models::built_in();
    let mut table = PriceTable::built_in();
    table.platform = match platform {
        PlatformArg::Auto => None,
        PlatformArg::Global => Some(Platform::Global),
        PlatformArg::Regional => Some(Platform::Regional),
        PlatformArg::Government => Some(Platform::Government),
    };
    for path in files {
        let text = read_text(path, MOST_REPORT)
            .map_err(|source| CliError::PriceFile { path: path.clone(), source })?;
        let file = path.display().to_string();
        table.overlay(&text, &file)?;
        models.overlay(&text, &file)?;
    }
    Ok((table, models))
}

/// The error for a named model that has no price in some tables.
pub(super) fn unknown_model(tables: &[&PriceTable], name: &str) -> CliError {
    let known = tables.iter().flat_map(|table| table.models());
    let near = suggestion(&nearest(name, known.map(|model| model.id.as_str())));
    let ids: Vec<&str> = tables.iter().map(|table| table.id.as_str()).collect();
    CliError::Usage(format!(
        "no price for `{name}` in {}{near}; `cachesim prices list` names the models of all tables, and \
         --prices FILE adds others",
        ids.join(" and ")
    ))
}

/// Warns of models whose cost is unknown, and fails over them under `--strict-prices`.
pub(super) fn check_prices(
    ledger: &Ledger<'_>,
    selection: &Selection,
    strict: bool,
    quiet: bool,
) -> Result<(), CliError> {
    let unpriced = ledger.unpriced_models(selection.requests());
    if unpriced.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = unpriced
        .iter()
        .map(|(model, requests)| {
            let requests = counted(*requests as u64, "request", "requests");
            format!("{model} ({requests})")
        })
        .collect();
    let names = names.join(", ");
    if strict {
        return Err(CliError::NoPrice(names));
    }
    if !quiet {
        say(&format!(
            "no price for {names}: its cost is unknown and in no total; --prices FILE gives one"
        ));
    }
    Ok(())
}
