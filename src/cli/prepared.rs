//! Preparation of every command over requests: a study of the input, the strategies to simulate, the price
//! table and the facts about models.

use std::cell::{OnceCell, RefCell};
use std::path::PathBuf;

use clap::Args;

use super::args::{InputArgs, OutputArgs, RunArgs, SimulationArgs};
use super::input::{filter, read_history};
use super::{CliError, Limits, discovered, enough_memory, warn};
use crate::base::{ByKey, Models, Platform, nearest, suggestion};
use crate::read::input::{Discovered, MOST_REPORT, read_text};
use crate::report::{PartSettings, counted};
use crate::requests::conversation::{History, ReadOptions};
use crate::simulate::cache::Reading;
use crate::simulate::ledger::{Ledger, Selection};
use crate::simulate::pricing::PriceTable;
use crate::simulate::strategy::{Assumptions, Strategy};
use crate::study::{Study, StudyOptions, options_for};

/// Options of a run, before anything is read.
pub(super) struct Setup<'a> {
    pub(super) input: &'a InputArgs,
    pub(super) output: &'a OutputArgs,
    pub(super) options: StudyOptions,
    pub(super) strategies: Vec<Strategy>,
    strict_prices: bool,
    /// True if the command needs captured prompts.
    pub(super) needs_prompts: bool,
    /// Settings of the rows, computed on first use: all prices go into them.
    pub(super) settings: OnceCell<PartSettings>,
}

impl<'a> Setup<'a> {
    /// Creates the options for reading all that these strategies need, and for simulating it.
    pub(super) fn new(
        input: &'a InputArgs,
        simulation: &SimulationArgs,
        output: &'a OutputArgs,
        options: ReadOptions,
        strategies: Vec<Strategy>,
        assumptions: Assumptions,
    ) -> Result<Self, CliError> {
        let (prices, models) = tables(&simulation.prices.files, simulation.prices.platform)?;
        let naming = input.naming.naming();
        let read = ReadOptions { models, naming, ..options_for(&strategies, options) };
        let limits = Limits::of(&input.filter)?;
        let (filter, only_live) = (filter(input, &limits), input.live);
        let zone = limits.zone;
        let options = StudyOptions { read, prices, filter, only_live, zone, assumptions };
        let strict_prices = simulation.strict_prices;
        let (needs_prompts, settings) = (false, OnceCell::new());
        Ok(Self { input, output, options, strategies, strict_prices, needs_prompts, settings })
    }

    /// Reads the whole input.
    pub(super) fn whole(&self) -> Result<PreparedRun, CliError> {
        self.whole_of(discovered(self.input, self.output)?)
    }

    /// Reads files as one history.
    pub(super) fn whole_of(&self, discovered: Discovered) -> Result<PreparedRun, CliError> {
        let history = read_history(discovered, self.input, self.output, self.options.read.clone())?;
        self.run(history, Telling::Now)
    }

    /// Prepares a run over a history.
    pub(super) fn run(&self, history: History, telling: Telling) -> Result<PreparedRun, CliError> {
        let study = Study::of(history, self.options.clone())?;
        enough_memory(&study.history.diagnostics)?;
        if self.needs_prompts {
            study.need_prompts()?;
        }
        let (strategies, strict_prices) = (self.strategies.clone(), self.strict_prices);
        let telling = if self.output.quiet { Telling::Never } else { telling };
        Ok(PreparedRun { study, strategies, strict_prices, telling, unpriced: RefCell::default() })
    }
}

impl<O: Args, F: Args> RunArgs<O, F> {
    /// Creates the options for reading all that these strategies need, and for simulating it.
    pub(super) fn setup(
        &self,
        options: ReadOptions,
        strategies: Vec<Strategy>,
        assumptions: Assumptions,
    ) -> Result<Setup<'_>, CliError> {
        let Self { input, simulation, output, .. } = self;
        Setup::new(input, simulation, output, options, strategies, assumptions)
    }
}

/// Time at which models without a price are reported.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Telling {
    Now,
    /// After all domains, for all of them together.
    Later,
    Never,
}

/// Models without a price, each with its number of requests.
pub(super) type Unpriced = ByKey<String, usize>;

/// Run that is ready to simulate.
pub(super) struct PreparedRun {
    pub(super) study: Study,
    strategies: Vec<Strategy>,
    strict_prices: bool,
    telling: Telling,
    /// Models to report later.
    pub(super) unpriced: RefCell<Unpriced>,
}

impl PreparedRun {
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

    /// Simulates the strategies that finding and pricing breaks needs.
    pub(super) fn evidence(&self) -> Result<Ledger<'_>, CliError> {
        self.priced(self.study.evidence())
    }

    /// Warns of models whose cost is unknown.
    fn priced<'s>(&self, ledger: Ledger<'s>) -> Result<Ledger<'s>, CliError> {
        enough_memory(&self.study.history.diagnostics)?;
        let unpriced = unpriced(&ledger, &self.study.selection);
        // Under --strict-prices the first domain with such a model ends the run.
        if self.telling == Telling::Later && !self.strict_prices {
            *self.unpriced.borrow_mut() = unpriced;
        } else {
            tell_unpriced(&unpriced, self.strict_prices, self.telling == Telling::Never)?;
        }
        Ok(ledger)
    }
}

/// Built-in prices and facts about models, overlaid with files, the last file on top.
pub(super) fn tables(
    files: &[PathBuf],
    platform: Option<Platform>,
) -> Result<(PriceTable, Models), CliError> {
    let mut models = Models::built_in();
    let mut table = PriceTable::built_in();
    table.platform = platform;
    for path in files {
        let text =
            read_text(path, MOST_REPORT).map_err(CliError::unreadable("price file", path))?;
        let file = path.display().to_string();
        // A file may have both prices and facts.
        table.overlay(&text, &file)?;
        models.overlay(&text, &file)?;
    }
    Ok((table, models))
}

/// Error for a named model that has no price in some tables.
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

fn unpriced(ledger: &Ledger<'_>, selection: &Selection) -> Unpriced {
    let models = ledger.unpriced_models(selection.requests()).into_iter();
    models.map(|(model, requests)| (model.to_owned(), requests)).collect()
}

/// Warns of models whose cost is unknown, and fails over them under `--strict-prices`.
pub(super) fn tell_unpriced(
    unpriced: &Unpriced,
    strict: bool,
    quiet: bool,
) -> Result<(), CliError> {
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
        warn(format!(
            "no price for {names}: its cost is unknown and in no total; --prices FILE gives one"
        ));
    }
    Ok(())
}
