//! Command `cachesim analyze`.

use crate::cli::args::{
    AnalyzeArgs, GroupingArg, OutputFormat, RecordedBreaksArg, RowFormat, TurnsArg,
};
use crate::cli::domains::{DomainView, Histories};
use crate::cli::error::CliError;
use crate::cli::output::Output;
use crate::cli::prepared::{PreparedRun, Setup};
use crate::cli::rows::Rows;
use crate::cli::runs::with_own;
use crate::cli::strategies::strategies;
use crate::explain::analysis::{Grouping, Groups, groups};
use crate::explain::breaks::Options;
use crate::report::{
    AnalyzeViewOptions, LEDGER_SCHEMA, LedgerFile, StrategySums, analyze_document, groups_document,
    write_groups, write_groups_csv, write_report,
};
use crate::requests::conversation::ReadOptions;
use crate::simulate::cache::Reading;
use crate::simulate::ledger::Ledger;

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
    let mut strategies = strategies(&args.strategies(), args.output.quiet)?;
    let shown = strategies.len();
    // Sums of domains take the record if a strategy can do nothing.
    if args.domains.domains.is_some() && args.format.chosen.is_document() {
        strategies = with_own(&strategies);
    }
    let output = Output::open(&args.output)?;
    // The answer on top, and groups, need breaks. Rows for programs do not, which saves time.
    let needs_breaks = args.format.chosen.is_document() || grouping.is_some();
    let options = ReadOptions {
        leaves_out_trails: !needs_breaks,
        keeps_titles: args.show_text,
        ..args.simulation.read_options(needs_breaks)
    };
    let keeps_breaks = args.breaks == RecordedBreaksArg::Keep;
    let assumptions = args.simulation.assumptions(keeps_breaks, Reading::Literal);
    let setup =
        Setup::new(&args.input, &args.simulation, &args.output, options, strategies, assumptions)?;
    let rows = Rows::of(args.format.chosen).filter(|_| grouping.is_none());
    if let Some(rows) = rows {
        return ledger_rows(args, &setup, rows, output);
    }
    if args.domains.domains.is_some() {
        return over_domains(args, &setup, (shown, grouping), output);
    }
    let run = setup.whole()?;
    match grouping {
        Some(grouping) => by_group(args, &run, grouping, output),
        None => by_session(args, &run, output),
    }
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

/// Shows the sums of domains, or writes the totals of each.
fn over_domains(
    args: &AnalyzeArgs,
    setup: &Setup<'_>,
    (shown, grouping): (usize, Option<Grouping>),
    output: Output,
) -> Result<(), CliError> {
    if grouping.is_some() && args.format.chosen != OutputFormat::Own(RowFormat::Json) {
        let message =
            "--by: groups of domains are not added up; use --format json, a line for each domain";
        return Err(CliError::Usage(message.to_owned()));
    }
    if args.turns.is_some() {
        let message = "--turns: turns are of one domain; give its folder, or leave out --domains";
        return Err(CliError::Usage(message.to_owned()));
    }
    let view =
        DomainView { domains: &args.domains, output, format: args.format.chosen, top: args.top };
    let told = |run: &PreparedRun| {
        let answer = run.study.breaks(Options::default())?.figures();
        Ok((answer, StrategySums::of(&run.ledger()?, &run.study.selection, shown)))
    };
    view.show(setup, told, |_, run, out| {
        let ledger = run.ledger()?;
        let written = match grouping {
            Some(grouping) => write_groups(&ledger, &grouped(run, &ledger, grouping)?, out),
            None => write_report(&ledger, &run.study.selection, None, out),
        };
        Ok(written?)
    })
}

/// Groups of a run.
fn grouped(run: &PreparedRun, ledger: &Ledger<'_>, grouping: Grouping) -> Result<Groups, CliError> {
    let selection = &run.study.selection;
    let found = run.study.breaks_among(selection)?;
    Ok(groups(ledger, selection, &found.list, grouping))
}

fn by_session(args: &AnalyzeArgs, run: &PreparedRun, output: Output) -> Result<(), CliError> {
    let selection = &run.study.selection;
    let view = AnalyzeViewOptions {
        top: args.top,
        turns: args.turns.map(TurnsArg::detail),
        is_exact: args.exact || args.format.chosen != OutputFormat::Text,
        has_all_events: args.output.verbose,
        is_terminal: output.is_terminal(),
    };
    let document = || {
        // Before the ledger, so that memory holds only one set of simulations at a time.
        let (answer, breaks) = run.study.breaks(Options::default())?.answer_and_breaks();
        let (ledger, study) = (run.ledger()?, &run.study);
        let told = (&answer, &*breaks);
        Ok(analyze_document(told, &ledger, &study.steps, &study.trace, selection, view))
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
    let groups = grouped(run, &ledger, grouping)?;
    let document = || Ok(groups_document(&ledger, &run.study.selection, &groups, args.top));
    output.show(args.format.chosen, document, |format, out| match format {
        RowFormat::Csv => write_groups_csv(&ledger, &groups, out),
        _ => write_groups(&ledger, &groups, out),
    })
}
