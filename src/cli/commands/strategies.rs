//! `cachesim strategies`.

use crate::cli::args::StrategiesArgs;
use crate::cli::error::CliError;
use crate::cli::output::Output;
use crate::report::strategies_document;

/// Every strategy that can be asked for by name.
pub(in crate::cli) fn strategies(args: &StrategiesArgs) -> Result<(), CliError> {
    Output::open(&args.output)?.text(&strategies_document())
}
