//! `cachesim explain`.

use crate::cli::args::{DocumentFormat, ExplainArgs, RecordedBreaksArg};
use crate::cli::error::CliError;
use crate::cli::output::Output;
use crate::cli::prepared::Prepared;
use crate::cli::strategies::strategies;
use crate::explain::breaks;
use crate::explain::story::{locate, story};
use crate::report::{explain_document, write_explanation};
use crate::simulate::cache::Reading;
use crate::simulate::ledger::Selection;
use crate::simulate::strategy::Strategy;

/// The story of one request.
///
/// # Panics
/// Never: the record and its replay are simulated.
pub(in crate::cli) fn explain(args: &ExplainArgs) -> Result<(), CliError> {
    let strategies = strategies(&args.strategy, args.output.quiet)?;
    let output = Output::open(&args.output)?;
    let options = args.tokens.read_options(true);
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
    let located = locate(&run.history, &run.selection, &args.request)?;
    let ledger = run.ledger()?;
    let by_the_letter = args.simulation.assumptions(false, Reading::Literal);
    let evidence = ["billed", "replay"]
        .map(|name| Strategy::by_name(name).expect("every name is a strategy's"));
    let evidence = run.ledger_under(&evidence, &by_the_letter);
    let asked = run.history.request(located.index);
    let alone = Selection::of(&run.history, |request| std::ptr::eq(request, asked));
    let options = breaks::Options::default();
    let breaks = breaks::find(&evidence, &run.trace, &run.steps, &alone, options)
        .expect("the record and its replay are simulated");
    let story = story(&ledger, located, &breaks.list);
    let document = || explain_document(&ledger, &story, args.show_text);
    match args.format {
        DocumentFormat::Table => output.text(&document()),
        DocumentFormat::Markdown => output.markdown(&document()),
        DocumentFormat::Json => {
            output.write(|out| write_explanation(&ledger, &story, args.show_text, out))
        }
    }
}
