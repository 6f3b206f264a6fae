//! `cachesim analyze`.

use crate::cli::args::{
    AnalyzeArgs, GroupingArg, OutputFormat, RecordedBreaksArg, RowFormat, TurnsArg,
};
use crate::cli::error::CliError;
use crate::cli::output::Output;
use crate::cli::prepared::PreparedRun;
use crate::cli::strategies::strategies;
use crate::explain::analysis::{Grouping, groups};
use crate::explain::breaks::Options;
use crate::report::{
    AnalyzeViewOptions, analyze_document, applied, groups_document, write_csv, write_groups,
    write_groups_csv, write_jsonl, write_report,
};
use crate::requests::conversation::ReadOptions;
use crate::simulate::cache::Reading;

/// Shows the ledger by turn, and the totals.
pub(in crate::cli) fn analyze(args: &AnalyzeArgs) -> Result<(), CliError> {
    let grouping = args.by.map(GroupingArg::grouping);
    if grouping.is_some() && args.format.chosen == OutputFormat::Own(RowFormat::Jsonl) {
        let message = "--by: groups have no JSON Lines; use --format json or csv";
        return Err(CliError::Usage(message.to_owned()));
    }
    let strategies = strategies(&args.strategies(), args.output.quiet)?;
    let output = Output::open(&args.output)?;
    // The answer on top, and groups, need breaks. Rows for programs do not, and save the time.
    let needs_breaks = args.format.chosen.is_document() || grouping.is_some();
    let options = ReadOptions {
        leaves_out_trails: !needs_breaks,
        keeps_titles: args.show_text,
        ..args.tokens.read_options(needs_breaks)
    };
    let keeps_breaks = args.breaks == RecordedBreaksArg::Keep;
    let assumptions = args.simulation.assumptions(keeps_breaks, Reading::Literal);
    let run = PreparedRun::new(
        &args.input,
        &args.simulation,
        &args.output,
        options,
        strategies,
        assumptions,
    )?;
    match grouping {
        Some(grouping) => by_group(args, &run, grouping, output),
        None => by_session(args, &run, output),
    }
}

fn by_session(args: &AnalyzeArgs, run: &PreparedRun, output: Output) -> Result<(), CliError> {
    let selection = &run.study.selection;
    let view = AnalyzeViewOptions {
        top: args.top,
        turns: args.turns.map(TurnsArg::detail),
        is_terminal: output.is_terminal(),
    };
    let document = || {
        // Before the ledger, so that memory holds only one set of simulations at a time.
        let answer = run.study.breaks(Options::default())?.answer();
        let ledger = run.ledger()?;
        Ok(analyze_document(&answer, &ledger, &run.study.steps, &run.study.trace, selection, view))
    };
    output.show(args.format.chosen, document, |format, out| -> Result<(), CliError> {
        let ledger = run.ledger()?;
        match format {
            RowFormat::Json => write_report(&ledger, selection, None, out)?,
            RowFormat::Jsonl => write_jsonl(&ledger, selection, out)?,
            RowFormat::Csv => write_csv(&ledger, selection, out)?,
        }
        Ok(())
    })
}

fn by_group(
    args: &AnalyzeArgs,
    run: &PreparedRun,
    grouping: Grouping,
    output: Output,
) -> Result<(), CliError> {
    let ledger = run.ledger()?;
    let found = run.study.breaks_among(&run.study.selection)?;
    let selection = &run.study.selection;
    let groups = applied(&ledger, groups(&ledger, selection, &found.list, grouping));
    let document = || Ok(groups_document(&ledger, selection, &groups, args.top));
    output.show(args.format.chosen, document, |format, out| match format {
        RowFormat::Json | RowFormat::Jsonl => write_groups(&ledger, &groups, out),
        RowFormat::Csv => write_groups_csv(&ledger, &groups, out),
    })
}
