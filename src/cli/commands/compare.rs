//! `cachesim compare`.

use crate::cli::args::{CompareArgs, RecordedBreaksArg, RowFormat};
use crate::cli::error::CliError;
use crate::cli::gate::{check, gates};
use crate::cli::input::discovered;
use crate::cli::output::Output;
use crate::cli::prepared::PreparedRun;
use crate::cli::strategies::{elsewhere, providers, strategies, unique};
use crate::explain::breaks::Options;
use crate::report::{
    agreement_document, compare_document, write_comparison, write_comparison_csv,
    write_comparison_lines,
};
use crate::simulate::provider::{Provider, RolloutAgreement, agreement};
use crate::simulate::rollout::{self, Rollout};

/// Strategies side by side.
pub(in crate::cli) fn compare(args: &CompareArgs) -> Result<(), CliError> {
    let output = Output::open(&args.output)?;
    let strategies = strategies(&args.strategy, args.output.quiet)?;
    let providers = providers(&args.provider)?;
    let rollouts = agreements(args, &providers)?;
    let elsewhere = elsewhere(&strategies, &providers, args.output.quiet);
    let strategies = unique(strategies.into_iter().chain(elsewhere))?;
    let gates = gates(&args.fail_if, &strategies)?;
    let reading = args.reading.reading();
    let options = args.tokens.read_options(args.format.chosen.is_document());
    let keeps_breaks = args.breaks == RecordedBreaksArg::Keep;
    let assumptions = args.simulation.assumptions(keeps_breaks, reading);
    let run = match PreparedRun::new(
        &args.input,
        &args.simulation,
        &args.output,
        options,
        strategies,
        assumptions,
    ) {
        Err(CliError::NoInput(_)) if !rollouts.is_empty() => {
            return output.text(&agreement_document(&rollouts));
        }
        run => run?,
    };
    let ledger = run.ledger_with_bounds()?;
    let comparison = run.study.compare(&ledger);
    let history = &run.study.history;
    let document = || {
        let answer = run.study.breaks(Options::default())?.answer();
        Ok(compare_document(history, &answer, &comparison, reading, &rollouts))
    };
    output.show(args.format.chosen, document, |format, out| match format {
        RowFormat::Json => {
            write_comparison(history, &run.study.prices, &comparison, reading, &rollouts, out)
        }
        RowFormat::Jsonl => write_comparison_lines(history, &comparison, reading, out),
        RowFormat::Csv => write_comparison_csv(history, &comparison, out),
    })?;
    check(&gates, &comparison)
}

/// How well the rules of providers agree with the rollouts among the input.
fn agreements(
    args: &CompareArgs,
    providers: &[&'static Provider],
) -> Result<Vec<(&'static Provider, RolloutAgreement)>, CliError> {
    if providers.is_empty() {
        return Ok(Vec::new());
    }
    let discovered = discovered(&args.input, &args.output)?;
    let rollouts: Vec<Rollout> = discovered.sources.iter().filter_map(rollout::load).collect();
    if rollouts.is_empty() {
        return Ok(Vec::new());
    }
    Ok(providers.iter().map(|provider| (*provider, agreement(&rollouts, provider))).collect())
}
