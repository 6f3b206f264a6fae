//! `cachesim verify`.

use crate::base::ttl::Ttl;
use crate::cli::args::{Json, VerifyArgs};
use crate::cli::error::CliError;
use crate::cli::output::Output;
use crate::cli::prepared::PreparedRun;
use crate::explain::breaks::Options;
use crate::report::{verify_document, write_verification};
use crate::requests::conversation::ReadOptions;
use crate::simulate::cache::Reading;
use crate::simulate::strategy::Strategy;

/// How well the rules reproduce the recorded usage.
pub(in crate::cli) fn verify(args: &VerifyArgs) -> Result<(), CliError> {
    let output = Output::open(&args.output)?;
    let options = ReadOptions { keeps_bytes: true, ..ReadOptions::default() };
    let assumptions = args.simulation.assumptions(true, Reading::Literal);
    // Their rows are checked for tokens that got lost.
    let [five_minutes, one_hour] = [Ttl::FiveMinutes, Ttl::OneHour].map(Strategy::lifetime);
    let (billed, expected) = (Strategy::billed(), Strategy::expected());
    let strategies =
        vec![billed, expected, Strategy::uncached(), five_minutes, one_hour, Strategy::mixed()];
    let run = PreparedRun::new(
        &args.input,
        &args.simulation,
        &args.output,
        options,
        strategies,
        assumptions,
    )?;
    let ledger = run.ledger()?;
    let findings = run.study.breaks(Options::default())?;
    let sums = findings.analysis.summary.reconciliation;
    let verification = run.study.verify(&ledger, sums)?;
    let history = &run.study.history;
    let document = || Ok(verify_document(history, &findings.answer(), &verification));
    output.show(args.format.chosen, document, |Json, out| {
        write_verification(history, &verification, out)
    })
}
