//! `cachesim advise`.

use crate::cli::args::{AdviseArgs, Json};
use crate::cli::error::CliError;
use crate::cli::output::Output;
use crate::cli::prepared::PreparedRun;
use crate::explain::breaks::Options;
use crate::report::{advice_document, write_advice};
use crate::simulate::cache::Reading;
use crate::study::evidence_strategies;

/// What to change, and what that would have saved.
pub(in crate::cli) fn advise(args: &AdviseArgs) -> Result<(), CliError> {
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
    let findings = run.study.breaks_in(run.evidence()?, Options::default())?;
    let told = findings.told_under(args.reading.reading());
    let advice = told.advice.as_ref();
    let document = || Ok(advice_document(&run.study.history, &told.answer, advice, args.top));
    output.show(args.format.chosen, document, |Json, out| {
        write_advice(&run.study.history, advice, out)
    })
}
