//! `cachesim analyze`.

use crate::cli::args::{AnalyzeArgs, AnalyzeFormat, BreaksArg};
use crate::cli::error::CliError;
use crate::cli::input::{read_history, select};
use crate::cli::output::Output;
use crate::cli::pricing::{check_prices, price_table};
use crate::ledger::Ledger;
use crate::prompt::{build, steps};
use crate::report::{analyze_document, write_csv, write_jsonl, write_report};
use crate::strategy::{self, Strategy};

/// The per-turn ledger and the totals.
pub(in crate::cli) fn analyze(args: &AnalyzeArgs) -> Result<(), CliError> {
    let strategies = strategies(&args.strategy)?;
    let prices = price_table(&args.simulation.prices, args.simulation.platform)?;
    let output = Output::open(&args.output)?;
    let history = read_history(&args.input, &args.output, args.tokens.read_options(false))?;
    let selection = select(&args.input, &history)?;
    let assumptions = args.simulation.assumptions(args.breaks == BreaksArg::Keep);
    let steps = steps(&history);
    let trace = build(&history, &steps, assumptions.shared_prefix);
    let ledger = Ledger::new(&history, &trace, &prices, &strategies, &assumptions);
    check_prices(&ledger, &selection, args.simulation.strict_prices, args.output.quiet)?;
    let document = || analyze_document(&ledger, &steps, &trace, &selection);
    match args.format {
        AnalyzeFormat::Table => output.text(&document()),
        AnalyzeFormat::Markdown => output.markdown(&document()),
        AnalyzeFormat::Json => output.write(|out| write_report(&ledger, &selection, out)),
        AnalyzeFormat::Jsonl => output.write(|out| write_jsonl(&ledger, &selection, out)),
        AnalyzeFormat::Csv => output.write(|out| write_csv(&ledger, &selection, out)),
    }
}

/// The strategies of a list of names, each once.
fn strategies(names: &[String]) -> Result<Vec<Strategy>, CliError> {
    let mut strategies: Vec<Strategy> = Vec::new();
    for name in names.iter().map(|name| name.trim()).filter(|name| !name.is_empty()) {
        let strategy = Strategy::by_name(name).ok_or_else(|| {
            let known: Vec<&str> = strategy::ALL.iter().map(|known| known.name).collect();
            let known = known.join(", ");
            CliError::Usage(format!("--strategy: `{name}` is unknown; there are {known}"))
        })?;
        if !strategies.contains(&strategy) {
            strategies.push(strategy);
        }
    }
    if strategies.is_empty() {
        return Err(CliError::Usage("--strategy: the list is empty".to_owned()));
    }
    Ok(strategies)
}
