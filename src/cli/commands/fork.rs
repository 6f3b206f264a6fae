//! `cachesim fork`.

use crate::cli::args::{ForkArgs, Json, PlatformArg};
use crate::cli::error::CliError;
use crate::cli::limits::beginning_of_day;
use crate::cli::output::Output;
use crate::cli::prepared::{tables, unknown_model};
use crate::report::{fork_document, write_fork};
use crate::simulate::fork::{ForkPrices, compare};

/// Shows what forked agents save by sharing a prefix.
pub(in crate::cli) fn fork(args: &ForkArgs) -> Result<(), CliError> {
    let (table, models) = tables(&args.prices, PlatformArg::Auto)?;
    let at = beginning_of_day(&table.as_of, "as_of")?;
    let plan = args.plan(at, &models).map_err(CliError::Usage)?;
    if let Some(model) = args.model.as_deref().filter(|model| table.find(model).is_none()) {
        return Err(unknown_model(&table, model));
    }
    let prices = args.model.as_deref().map(|model| ForkPrices { table: &table, model, at });
    let forks = compare(&plan, prices).map_err(|error| CliError::Usage(error.to_string()))?;
    let output = Output::open(&args.output)?;
    let document = || Ok(fork_document(&forks));
    output.show(args.format.chosen, document, |Json, out| write_fork(&forks, out))
}
