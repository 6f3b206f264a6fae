//! `cachesim context`.

use crate::cli::args::{ContextArgs, Json};
use crate::cli::error::CliError;
use crate::cli::output::Output;
use crate::cli::prepared::PreparedRun;
use crate::explain::breaks::Options;
use crate::report::{context_document, write_context};
use crate::requests::conversation::ReadOptions;
use crate::simulate::cache::Reading;
use crate::simulate::strategy::Strategy;

/// Where the context comes from.
pub(in crate::cli) fn context(args: &ContextArgs) -> Result<(), CliError> {
    let output = Output::open(&args.output)?;
    let options = ReadOptions { keeps_bytes: true, ..ReadOptions::default() };
    let assumptions = args.simulation.assumptions(true, Reading::Literal);
    let run = PreparedRun::new(
        &args.input,
        &args.simulation,
        &args.output,
        options,
        vec![Strategy::billed()],
        assumptions,
    )?;
    let ledger = run.ledger()?;
    let top = usize::from(args.top);
    let context = run.study.context(&ledger, top)?;
    let document = || {
        let answer = run.study.breaks(Options::default())?.answer();
        Ok(context_document(&answer, &ledger, &context))
    };
    output.show(args.format.chosen, document, |Json, out| write_context(&ledger, &context, out))
}
