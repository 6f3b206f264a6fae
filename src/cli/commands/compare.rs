//! Commands `cachesim compare`, and `cachesim fork`, which compares by closed formulas.

use crate::cli::args::{CompareArgs, ForkArgs, OutputFormat, PolicyArgs, StrategyFormat};
use crate::cli::limits::beginning_of_day;
use crate::cli::prepared::unknown_model;
use crate::cli::strategies::{elsewhere, hint, services, unique};
use crate::cli::{CliError, Output, Setup, StoredRun, say, strategies, tables, with_own};
use crate::explain::analysis::Answer;
use crate::explain::breaks::Options;
use crate::explain::compare::{Comparison, Expression, StrategyMetric};
use crate::report::{
    CompareView, UNTOLD_OVER_DOMAINS, compare_document, domain_notes, fork_document,
    write_comparison, write_comparison_csv, write_comparison_lines, write_fork,
};
use crate::simulate::fork::{ForkPrices, compare as compare_forks};
use crate::simulate::provider::{Provider, RolloutAgreement, agreement};
use crate::simulate::strategy::{Strategy, StrategyKind};
use crate::study::Study;

/// Compares strategies side by side.
pub(in crate::cli) fn compare(args: &CompareArgs) -> Result<(), CliError> {
    let output = Output::open(&args.output)?;
    let strategies = strategies(&args.strategy, args.output.quiet)?;
    let services = services(&args.provider)?;
    let elsewhere = elsewhere(&strategies, &services, args.output.quiet);
    let strategies = unique(strategies.into_iter().chain(elsewhere))?;
    let gates = gates(&args.fail_if, &strategies)?;
    let has_domains = args.domains.domains.is_some();
    // Formats that have the best caching need breaks. Domains are always read into rows and breaks first.
    let has_rows = matches!(
        args.format.chosen,
        OutputFormat::Own(StrategyFormat::Jsonl | StrategyFormat::Csv)
    );
    let options = args.simulation.read_options(!has_rows || has_domains);
    let PolicyArgs { reading, breaks } = args.policy;
    let assumptions = args.simulation.assumptions(breaks.are_kept, reading);
    if has_domains {
        gaps_are_known(&gates, &strategies)?;
        let setup = args.setup(options, with_own(&strategies), assumptions)?;
        return compare_domains(args, &setup, &strategies, output, &gates);
    }
    let run = args.setup(options, strategies, assumptions)?.whole()?;
    let agents = agreements(&run.study, &services.providers);
    let ledger = run.ledger_with_bounds()?;
    let comparison = run.study.compare(&ledger);
    let view = CompareView::of_ledger(&ledger, &comparison, &agents);
    // Closures, as rows need neither.
    let found = || run.study.breaks(Options::default());
    let answer = || Ok(found()?.answer());
    let figures = || Ok(found()?.figures());
    write(args, output, &view, (answer, figures))?;
    fail_where(&gates, &comparison)
}

/// Compares the sums of strategies over domains, each of which is simulated by itself.
fn compare_domains(
    args: &CompareArgs,
    setup: &Setup<'_>,
    strategies: &[Strategy],
    output: Output,
    gates: &[Gate],
) -> Result<(), CliError> {
    let run = StoredRun::of_domains(setup, &args.domains)?;
    let sums = run.sums(strategies)?;
    let comparison = sums.comparison(setup.options.assumptions);
    let (settings, prices) = (&run.manifest.settings, run.prices());
    let domains = run.manifest.parts.len() as u64;
    let mut assumed = domain_notes(&sums.strategies, &run.idle(strategies), domains);
    assumed.push(UNTOLD_OVER_DOMAINS.to_owned());
    let view = CompareView {
        comparison: &comparison,
        reading: setup.options.assumptions.reading,
        inputs: run.inputs.clone(),
        prices: (&prices, &settings.prices_as_of),
        symbols: &sums.symbols,
        sessions: sums.sessions.iter().map(|session| session.id).collect(),
        assumed,
        rollouts: &[],
    };
    let answer = || Ok(sums.answer());
    write(args, output, &view, (answer, answer))?;
    fail_where(gates, &comparison)
}

/// Fails if an expression asks for the gap to a bound that no domain has rows of.
fn gaps_are_known(gates: &[Gate], strategies: &[Strategy]) -> Result<(), CliError> {
    let has_bound = strategies.iter().any(|one| matches!(one.kind, StrategyKind::Optimal(_)));
    let asks = |gate: &&Gate| {
        let mut references = gate.expression.references();
        references.any(|reference| reference.metric == StrategyMetric::Gap)
    };
    match gates.iter().find(asks).filter(|_| !has_bound) {
        Some(gate) => Err(CliError::Usage(format!(
            "--fail-if '{}': over domains a gap is to `optimal`; name it in --strategy",
            gate.text
        ))),
        None => Ok(()),
    }
}

/// Writes the comparison: for people after the answer, as JSON with a figure of it, which needs no change.
fn write(
    args: &CompareArgs,
    output: Output,
    view: &CompareView<'_>,
    (answer, figures): (
        impl FnOnce() -> Result<Answer, CliError>,
        impl FnOnce() -> Result<Answer, CliError>,
    ),
) -> Result<(), CliError> {
    let document = || Ok(compare_document(view, &answer()?));
    output.show(args.format.chosen, document, |format, out| -> Result<(), CliError> {
        match format {
            StrategyFormat::Json => write_comparison(view, figures()?.best_caching(), out)?,
            StrategyFormat::Jsonl => write_comparison_lines(view, out)?,
            StrategyFormat::Csv => write_comparison_csv(view, out)?,
        }
        Ok(())
    })
}

/// Agreement of the rules of providers with the sessions of other agents in the input.
fn agreements(
    study: &Study,
    providers: &[&'static Provider],
) -> Vec<(&'static Provider, RolloutAgreement)> {
    if study.history.sent_elsewhere().is_empty() {
        return Vec::new();
    }
    let agreement = |provider| agreement(&study.history, &study.trace, provider);
    providers.iter().map(|provider| (*provider, agreement(provider))).collect()
}

/// Shows the savings of forked agents that share a prefix.
pub(in crate::cli) fn fork(args: &ForkArgs) -> Result<(), CliError> {
    let (table, models) = tables(&args.prices, None)?;
    let at = beginning_of_day(&table.as_of, "as_of")?;
    let plan = args.plan(at, &models).map_err(CliError::Usage)?;
    if let Some(model) = args.model.as_deref().filter(|model| table.find(model).is_none()) {
        return Err(unknown_model(&[&table], model));
    }
    let prices = args.model.as_deref().map(|model| ForkPrices { table: &table, model, at });
    let forks = compare_forks(&plan, prices).map_err(|error| CliError::Usage(error.to_string()))?;
    args.shown.show(|| fork_document(&forks), |out| write_fork(&forks, out))
}

/// Expression of `--fail-if` with its text as typed.
struct Gate {
    text: String,
    expression: Expression,
}

/// Parses the expressions, which may refer to these strategies.
fn gates(texts: &[String], strategies: &[Strategy]) -> Result<Vec<Gate>, CliError> {
    texts.iter().map(|text| gate(text, strategies)).collect()
}

fn gate(text: &str, strategies: &[Strategy]) -> Result<Gate, CliError> {
    let expression = Expression::parse(text)
        .map_err(|source| CliError::Expression { expression: text.to_owned(), source })?;
    let names: Vec<&str> = strategies.iter().map(|strategy| strategy.name.as_ref()).collect();
    for reference in expression.references() {
        let name = reference.strategy.as_str();
        if !names.contains(&name) {
            let hint = hint(name, &names);
            return Err(CliError::Usage(format!(
                "--fail-if '{text}': `{name}` is not compared{hint}; name it in --strategy",
            )));
        }
    }
    Ok(Gate { text: text.to_owned(), expression })
}

/// Fails if expressions of `--fail-if` are true, and names all of them.
fn fail_where(gates: &[Gate], comparison: &Comparison<'_>) -> Result<(), CliError> {
    let mut failed: Vec<&Gate> = Vec::new();
    for gate in gates {
        let figure = |strategy: &str, metric| comparison.figure(strategy, metric);
        let holds = gate
            .expression
            .evaluate(&figure)
            .map_err(|source| CliError::Expression { expression: gate.text.clone(), source })?;
        if holds {
            failed.push(gate);
        }
    }
    // The others are printed, the last one is the error that ends the run.
    let Some((last, others)) = failed.split_last() else { return Ok(()) };
    for gate in others {
        say(&CliError::GateFailed(gate.text.clone()).to_string());
    }
    Err(CliError::GateFailed(last.text.clone()))
}
