//! `cachesim context`.

use crate::cli::args::{ContextArgs, DocumentFormat};
use crate::cli::error::CliError;
use crate::cli::findings::Findings;
use crate::cli::output::Output;
use crate::cli::prepared::Prepared;
use crate::explain::context;
use crate::report::{context_document, write_context};
use crate::requests::conversation::ReadOptions;
use crate::simulate::cache::Reading;
use crate::simulate::strategy::Strategy;

/// Where the context comes from.
///
/// # Panics
/// Never: `billed` is a strategy, and the ledger has it.
pub(in crate::cli) fn context(args: &ContextArgs) -> Result<(), CliError> {
    let output = Output::open(&args.output)?;
    let options = ReadOptions { keeps_bytes: true, ..ReadOptions::default() };
    let assumptions = args.simulation.assumptions(true, Reading::Literal);
    let billed = Strategy::by_name("billed").expect("`billed` is a strategy");
    let run = Prepared::new(
        &args.input,
        &args.simulation,
        &args.output,
        options,
        vec![billed],
        assumptions,
    )?;
    let ledger = run.ledger()?;
    let top = usize::from(args.top);
    let context = context::context(&ledger, &run.steps, &run.trace, &run.selection, top)
        .expect("the ledger has the record");
    match args.format {
        DocumentFormat::Table => {
            output.text(&context_document(&Findings::of(&run).answer(), &ledger, &context))
        }
        DocumentFormat::Markdown => {
            output.markdown(&context_document(&Findings::of(&run).answer(), &ledger, &context))
        }
        DocumentFormat::Json => output.write(|out| write_context(&ledger, &context, out)),
    }
}
