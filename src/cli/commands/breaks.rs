//! `cachesim breaks`.

use crate::cli::args::{BreaksArgs, RowFormat, RuleArg};
use crate::cli::error::CliError;
use crate::cli::output::Output;
use crate::cli::prepared::PreparedRun;
use crate::explain::breaks::{DetectionRule, Options};
use crate::report::{
    BreaksViewOptions, breaks_document, write_break_csv, write_break_rows, write_breaks,
};
use crate::simulate::cache::Reading;
use crate::study::{Told, evidence_strategies};

/// Every request that read less than it could have.
pub(in crate::cli) fn breaks(args: &BreaksArgs) -> Result<(), CliError> {
    let output = Output::open(&args.output)?;
    let options = args.tokens.read_options(true);
    let assumptions = args.simulation.assumptions(false, Reading::Literal);
    let run = PreparedRun::new(
        &args.input,
        &args.simulation,
        &args.output,
        options,
        evidence_strategies(),
        assumptions,
    )?;
    let ledger = run.evidence()?;
    let rule = match args.rule {
        RuleArg::Complete => DetectionRule::Complete,
        RuleArg::Client => DetectionRule::Client,
    };
    let options = Options { rule, ignores_server_reason: args.ignore_server_reason };
    let findings = run.study.breaks_in(ledger, options)?;
    let (history, analysis) = (&run.study.history, &findings.analysis);
    let view = BreaksViewOptions { top: args.top, shows_text: args.show_text };
    let document = || {
        let Told { advice, answer } = findings.told();
        let assumptions = run.study.assumptions();
        Ok(breaks_document(history, &answer, analysis, advice.as_ref(), &assumptions, view))
    };
    output.show(args.format.chosen, document, |format, out| match format {
        RowFormat::Json => write_breaks(history, analysis, out),
        RowFormat::Jsonl => write_break_rows(history, &analysis.breaks, args.show_text, out),
        RowFormat::Csv => write_break_csv(history, &analysis.breaks, out),
    })
}
