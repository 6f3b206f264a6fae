//! `cachesim analyze`.

use crate::cli::args::{
    AnalyzeArgs, GroupingArg, OutputFormat, RecordedBreaksArg, RowFormat, TurnsArg,
};
use crate::cli::domains::Histories;
use crate::cli::error::CliError;
use crate::cli::output::Output;
use crate::cli::prepared::{PreparedRun, Setup};
use crate::cli::rows::Rows;
use crate::cli::strategies::strategies;
use crate::explain::analysis::{Grouping, groups};
use crate::explain::breaks::Options;
use crate::report::{
    AnalyzeViewOptions, LEDGER_SCHEMA, LedgerFile, analyze_document, applied, groups_document,
    write_groups, write_groups_csv, write_report,
};
use crate::requests::conversation::ReadOptions;
use crate::simulate::cache::Reading;

/// Shows the ledger by turn, and the totals.
pub(in crate::cli) fn analyze(args: &AnalyzeArgs) -> Result<(), CliError> {
    let grouping = args.by.map(GroupingArg::grouping);
    let without_groups = match args.format.chosen {
        OutputFormat::Own(RowFormat::Jsonl) => Some("JSON Lines"),
        OutputFormat::Own(RowFormat::Parquet) => Some("Parquet"),
        _ => None,
    };
    if let Some(format) = without_groups.filter(|_| grouping.is_some()) {
        let message = format!("--by: groups have no {format}; use --format json or csv");
        return Err(CliError::Usage(message));
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
    let setup =
        Setup::new(&args.input, &args.simulation, &args.output, options, strategies, assumptions)?;
    let rows = Rows::of(args.format.chosen).filter(|_| grouping.is_none());
    if let Some(rows) = rows {
        return ledger_rows(args, &setup, rows, output);
    }
    args.domains.refuse()?;
    let run = setup.whole()?;
    match grouping {
        Some(grouping) => by_group(args, &run, grouping, output),
        None => by_session(args, &run, output),
    }
}

/// Writes a row for each request and strategy, domain by domain where there are several.
fn ledger_rows(
    args: &AnalyzeArgs,
    setup: &Setup<'_>,
    rows: Rows,
    output: Output,
) -> Result<(), CliError> {
    let histories = Histories::of(setup, &args.domains)?;
    let encoding = rows.encoding(&output, setup, &histories, LEDGER_SCHEMA)?;
    output.write(|out| -> Result<(), CliError> {
        let mut file = LedgerFile::new(encoding, histories.are_domains(), out)?;
        histories.each(setup, |domain, run| {
            file.write(&run.ledger()?, &run.study.selection, domain)?;
            Ok(())
        })?;
        Ok(file.finish()?)
    })
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
    output.show(args.format.chosen, document, |_, out| -> Result<(), CliError> {
        Ok(write_report(&run.ledger()?, selection, None, out)?)
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
        RowFormat::Csv => write_groups_csv(&ledger, &groups, out),
        _ => write_groups(&ledger, &groups, out),
    })
}
