//! `cachesim analyze`.

use crate::cache::Reading;
use crate::cli::args::{AnalyzeArgs, AnalyzeFormat, RecordedBreaksArg};
use crate::cli::error::CliError;
use crate::cli::findings::Findings;
use crate::cli::output::Output;
use crate::cli::prepared::Prepared;
use crate::cli::strategies::strategies;
use crate::conversation::ReadOptions;
use crate::report::{analyze_document, write_csv, write_jsonl, write_report};

/// The per-turn ledger and the totals.
pub(in crate::cli) fn analyze(args: &AnalyzeArgs) -> Result<(), CliError> {
    let strategies = strategies(&args.strategy, args.output.quiet)?;
    let output = Output::open(&args.output)?;
    // What people are told first rests on breaks, which rows do not look at.
    let is_for_people = matches!(args.format, AnalyzeFormat::Table | AnalyzeFormat::Markdown);
    let options = ReadOptions {
        leaves_out_trails: !is_for_people,
        ..args.tokens.read_options(is_for_people)
    };
    let keeps_breaks = args.breaks == RecordedBreaksArg::Keep;
    let assumptions = args.simulation.assumptions(keeps_breaks, Reading::Literal);
    let run = Prepared::new(
        &args.input,
        &args.simulation,
        &args.output,
        options,
        strategies,
        assumptions,
    )?;
    let ledger = run.ledger()?;
    let selection = &run.selection;
    let document =
        || analyze_document(&Findings::of(&run).answer, &ledger, &run.steps, &run.trace, selection);
    match args.format {
        AnalyzeFormat::Table => output.text(&document()),
        AnalyzeFormat::Markdown => output.markdown(&document()),
        AnalyzeFormat::Json => output.write(|out| write_report(&ledger, selection, None, out)),
        AnalyzeFormat::Jsonl => output.write(|out| write_jsonl(&ledger, selection, out)),
        AnalyzeFormat::Csv => output.write(|out| write_csv(&ledger, selection, out)),
    }
}
