//! Command `cachesim analyze`.

use crate::cli::args::{AnalyzeArgs, OutputFormat, RowFormat, Rows};
use crate::cli::domains::{Histories, RunView};
use crate::cli::{CliError, Output, PreparedRun, Setup, strategies, with_own};
use crate::explain::analysis::{Grouping, Groups, groups};
use crate::explain::breaks::Options;
use crate::report::{
    AnalyzeViewOptions, Document, LEDGER_SCHEMA, LedgerFile, StrategySums, analyze_document,
    groups_document, write_groups, write_groups_csv, write_report,
};
use crate::requests::conversation::ReadOptions;
use crate::simulate::cache::Reading;
use crate::simulate::ledger::Ledger;

/// Shows the ledger by turn, and the totals.
pub(in crate::cli) fn analyze(args: &AnalyzeArgs) -> Result<(), CliError> {
    let (grouping, format) = (args.by, args.format.chosen);
    refuse_groups(args)?;
    let mut strategies = strategies(&args.strategies(), args.output.quiet)?;
    let shown = strategies.len();
    // Sums of domains take the record if a strategy can do nothing.
    if args.domains.domains.is_some() && format.is_document() {
        strategies = with_own(&strategies);
    }
    let output = Output::open(&args.output)?;
    // The answer on top, and groups, need breaks. Rows for programs do not, which saves time.
    let needs_breaks = format.is_document() || grouping.is_some();
    let options = ReadOptions {
        leaves_out_trails: !needs_breaks,
        keeps_titles: args.show_text,
        ..args.simulation.read_options(needs_breaks)
    };
    let assumptions = args.simulation.assumptions(args.breaks.are_kept, Reading::Literal);
    let setup = args.setup(options, strategies, assumptions)?;
    if let Some(rows) = format.rows().filter(|_| grouping.is_none()) {
        return ledger_rows(args, &setup, rows, output);
    }
    if args.domains.domains.is_some() {
        refuse_one_domain(args)?;
    }
    let is_terminal = output.is_terminal();
    let document = |run: &PreparedRun| match grouping {
        Some(grouping) => by_group(args, run, grouping),
        None => by_session(args, run, is_terminal),
    };
    let sums = |run: &PreparedRun| {
        let answer = run.study.breaks(Options::default())?.figures();
        Ok((answer, StrategySums::of(&run.ledger()?, &run.study.selection, shown)))
    };
    let view = RunView::new(&args.domains, format, output).listing(args.top);
    view.show(&setup, document, sums, |format, run, out| {
        let ledger = run.ledger()?;
        let Some(grouping) = grouping else {
            return Ok(write_report(&ledger, &run.study.selection, None, out)?);
        };
        let groups = grouped(run, &ledger, grouping)?;
        Ok(match format {
            RowFormat::Rows(_) => write_groups_csv(&ledger, &groups, out),
            RowFormat::Json => write_groups(&ledger, &groups, out),
        }?)
    })
}

/// Refuses formats that groups lack.
fn refuse_groups(args: &AnalyzeArgs) -> Result<(), CliError> {
    let format = match args.format.chosen.rows() {
        Some(Rows::Jsonl) => "JSON Lines",
        Some(Rows::Parquet) => "Parquet",
        _ => return Ok(()),
    };
    if args.by.is_none() {
        return Ok(());
    }
    let message = format!("--by: groups have no {format}; use --format json or csv");
    Err(CliError::Usage(message))
}

/// Writes a row for each request and strategy, domain by domain if there are several.
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

/// Refuses what is of one domain.
fn refuse_one_domain(args: &AnalyzeArgs) -> Result<(), CliError> {
    if args.by.is_some() && args.format.chosen != OutputFormat::Own(RowFormat::Json) {
        let message =
            "--by: groups of domains are not added up; use --format json, a line for each domain";
        return Err(CliError::Usage(message.to_owned()));
    }
    if args.format.turns.is_some() {
        let message = "--turns: turns are of one domain; give its folder, or leave out --domains";
        return Err(CliError::Usage(message.to_owned()));
    }
    Ok(())
}

/// Groups of a run.
fn grouped(run: &PreparedRun, ledger: &Ledger<'_>, grouping: Grouping) -> Result<Groups, CliError> {
    let selection = &run.study.selection;
    let found = run.study.breaks_among(&run.study.record_and_replay(), selection)?;
    Ok(groups(ledger, selection, &found.list, grouping))
}

fn by_session(
    args: &AnalyzeArgs,
    run: &PreparedRun,
    is_terminal: bool,
) -> Result<Document, CliError> {
    let view = AnalyzeViewOptions {
        top: args.top,
        turns: args.format.turns,
        is_exact: args.format.exact || args.format.chosen != OutputFormat::Text,
        has_all_events: args.output.verbose,
        is_terminal,
    };
    // Before the ledger, so that memory holds only one set of simulations at a time.
    let (answer, breaks) = run.study.breaks(Options::default())?.answer_and_breaks();
    let (ledger, study) = (run.ledger()?, &run.study);
    let told = (&answer, &*breaks);
    Ok(analyze_document(told, &ledger, &study.trace, &study.selection, view))
}

fn by_group(
    args: &AnalyzeArgs,
    run: &PreparedRun,
    grouping: Grouping,
) -> Result<Document, CliError> {
    let ledger = run.ledger()?;
    let groups = grouped(run, &ledger, grouping)?;
    Ok(groups_document(&ledger, &run.study.selection, &groups, args.top))
}
