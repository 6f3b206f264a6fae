//! `cachesim verify`.

use crate::analysis;
use crate::cli::args::{DocumentFormat, VerifyArgs};
use crate::cli::error::CliError;
use crate::cli::input::{read_history, select};
use crate::cli::output::Output;
use crate::cli::pricing::{check_prices, price_table};
use crate::conversation::ReadOptions;
use crate::ledger::Ledger;
use crate::prompt::{build, steps};
use crate::report::{verify_document, write_verification};
use crate::strategy::ALL;

/// How well the rules reproduce the recorded usage.
///
/// # Panics
/// Never: every strategy is simulated, so the record and its replay are among them.
pub(in crate::cli) fn verify(args: &VerifyArgs) -> Result<(), CliError> {
    let prices = price_table(&args.simulation.prices, args.simulation.platform)?;
    let output = Output::open(&args.output)?;
    let history = read_history(&args.input, &args.output, ReadOptions::default())?;
    let selection = select(&args.input, &history)?;
    let assumptions = args.simulation.assumptions(true);
    let steps = steps(&history);
    let trace = build(&history, &steps, assumptions.shared_prefix);
    let ledger = Ledger::new(&history, &trace, &prices, &ALL, &assumptions);
    check_prices(&ledger, &selection, args.simulation.strict_prices, args.output.quiet)?;
    let verification =
        analysis::verify(&ledger, &steps, &selection).expect("all strategies are simulated");
    match args.format {
        DocumentFormat::Table => output.text(&verify_document(&history, &verification)),
        DocumentFormat::Markdown => output.markdown(&verify_document(&history, &verification)),
        DocumentFormat::Json => {
            output.write(|out| write_verification(&history, &verification, out))
        }
    }
}
