//! `cachesim advise`.

use crate::advice::Advice;
use crate::breaks::{Analysis, Options};
use crate::cli::args::{AdviseArgs, DocumentFormat};
use crate::cli::error::CliError;
use crate::cli::output::Output;
use crate::cli::prepared::Prepared;
use crate::report::{advice_document, write_advice};
use crate::strategy::Strategy;

/// What to change, and what that would have saved.
///
/// # Panics
/// Never: the record and its replay are simulated.
pub(in crate::cli) fn advise(args: &AdviseArgs) -> Result<(), CliError> {
    let output = Output::open(&args.output)?;
    let options = args.tokens.read_options(true);
    let assumptions = args.simulation.assumptions(true, args.reading.reading());
    let strategies = ["billed", "replay", "5m", "1h"]
        .map(|name| Strategy::by_name(name).expect("every name is a strategy's"));
    let run = Prepared::new(
        &args.input,
        &args.simulation,
        &args.output,
        options,
        strategies.to_vec(),
        assumptions,
    )?;
    let ledger = run.ledger()?;
    let analysis =
        Analysis::new(&ledger, &run.trace, &run.steps, &run.selection, Options::default())
            .expect("the record and its replay are simulated");
    let advice = Advice::new(&ledger, &run.trace, &run.selection, &analysis);
    let advice = advice.as_ref();
    let document = || advice_document(&run.history, advice, args.top);
    match args.format {
        DocumentFormat::Table => output.text(&document()),
        DocumentFormat::Markdown => output.markdown(&document()),
        DocumentFormat::Json => output.write(|out| write_advice(&run.history, advice, out)),
    }
}
