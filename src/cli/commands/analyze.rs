//! `cachesim analyze`.

use crate::cli::args::{AnalyzeArgs, AnalyzeFormat, GroupingArg, RecordedBreaksArg, TurnsArg};
use crate::cli::error::CliError;
use crate::cli::output::Output;
use crate::cli::prepared::Prepared;
use crate::cli::strategies::strategies;
use crate::explain::analysis::{Grouping, groups};
use crate::explain::breaks::Options;
use crate::report::{
    AnalyzeViewOptions, Document, analyze_document, groups_document, write_csv, write_groups,
    write_groups_csv, write_jsonl, write_report,
};
use crate::requests::conversation::ReadOptions;
use crate::simulate::cache::Reading;

/// The per-turn ledger and the totals.
pub(in crate::cli) fn analyze(args: &AnalyzeArgs) -> Result<(), CliError> {
    let grouping = args.by.map(GroupingArg::grouping);
    if grouping.is_some() && args.format == AnalyzeFormat::Jsonl {
        let message = "--by: groups have no JSON Lines; use --format json or csv";
        return Err(CliError::Usage(message.to_owned()));
    }
    let strategies = strategies(&args.strategies(), args.output.quiet)?;
    let output = Output::open(&args.output)?;
    // What people are told first, and groups, rest on breaks, which rows do not look at.
    let is_for_people = matches!(args.format, AnalyzeFormat::Table | AnalyzeFormat::Markdown);
    let needs_breaks = is_for_people || grouping.is_some();
    let options = ReadOptions {
        leaves_out_trails: !needs_breaks,
        keeps_titles: args.show_text,
        ..args.tokens.read_options(needs_breaks)
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
    match grouping {
        Some(grouping) => by_group(args, &run, grouping, output),
        None => by_session(args, &run, output),
    }
}

fn by_session(args: &AnalyzeArgs, run: &Prepared, output: Output) -> Result<(), CliError> {
    let selection = &run.study.selection;
    let view = AnalyzeViewOptions {
        top: args.top,
        turns: args.turns.map(TurnsArg::detail),
        is_terminal: output.is_terminal(),
    };
    let document = || -> Result<Document, CliError> {
        // Before the ledger is made, so that memory holds one set of simulations at a time.
        let answer = run.study.breaks(Options::default())?.answer();
        let ledger = run.ledger()?;
        Ok(analyze_document(&answer, &ledger, &run.study.steps, &run.study.trace, selection, view))
    };
    match args.format {
        AnalyzeFormat::Table => output.text(&document()?),
        AnalyzeFormat::Markdown => output.markdown(&document()?),
        AnalyzeFormat::Json => {
            let ledger = run.ledger()?;
            output.write(|out| write_report(&ledger, selection, None, out))
        }
        AnalyzeFormat::Jsonl => {
            let ledger = run.ledger()?;
            output.write(|out| write_jsonl(&ledger, selection, out))
        }
        AnalyzeFormat::Csv => {
            let ledger = run.ledger()?;
            output.write(|out| write_csv(&ledger, selection, out))
        }
    }
}

fn by_group(
    args: &AnalyzeArgs,
    run: &Prepared,
    grouping: Grouping,
    output: Output,
) -> Result<(), CliError> {
    let ledger = run.ledger()?;
    let found = run.study.breaks_among(&run.study.selection)?;
    let groups = groups(&ledger, &run.study.selection, &found.list, grouping);
    let document = || groups_document(&ledger, &run.study.selection, &groups, args.top);
    match args.format {
        AnalyzeFormat::Table => output.text(&document()),
        AnalyzeFormat::Markdown => output.markdown(&document()),
        AnalyzeFormat::Json | AnalyzeFormat::Jsonl => {
            output.write(|out| write_groups(&ledger, &groups, out))
        }
        AnalyzeFormat::Csv => output.write(|out| write_groups_csv(&ledger, &groups, out)),
    }
}
