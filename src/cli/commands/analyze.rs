//! `cachesim analyze`.

use crate::cli::args::{AnalyzeArgs, AnalyzeFormat, RecordedBreaksArg};
use crate::cli::error::CliError;
use crate::cli::output::Output;
use crate::cli::prepared::Prepared;
use crate::report::{analyze_document, write_csv, write_jsonl, write_report};
use crate::strategy::{self, Strategy};

/// The per-turn ledger and the totals.
pub(in crate::cli) fn analyze(args: &AnalyzeArgs) -> Result<(), CliError> {
    let strategies = strategies(&args.strategy)?;
    let output = Output::open(&args.output)?;
    let options = args.tokens.read_options(false);
    let keeps_breaks = args.breaks == RecordedBreaksArg::Keep;
    let run = Prepared::new(&args.input, &args.simulation, &args.output, options, keeps_breaks)?;
    let ledger = run.ledger(&strategies)?;
    let selection = &run.selection;
    let document = || analyze_document(&ledger, &run.steps, &run.trace, selection);
    match args.format {
        AnalyzeFormat::Table => output.text(&document()),
        AnalyzeFormat::Markdown => output.markdown(&document()),
        AnalyzeFormat::Json => output.write(|out| write_report(&ledger, selection, out)),
        AnalyzeFormat::Jsonl => output.write(|out| write_jsonl(&ledger, selection, out)),
        AnalyzeFormat::Csv => output.write(|out| write_csv(&ledger, selection, out)),
    }
}

/// The strategies of a list of names, each once.
fn strategies(names: &[String]) -> Result<Vec<Strategy>, CliError> {
    let mut strategies: Vec<Strategy> = Vec::new();
    for name in names.iter().map(|name| name.trim()).filter(|name| !name.is_empty()) {
        let strategy = Strategy::by_name(name).ok_or_else(|| {
            let known: Vec<&str> = strategy::ALL.iter().map(|known| known.name.as_ref()).collect();
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
