//! `cachesim explain`.

use crate::cli::args::{ExplainArgs, Json, RecordedBreaksArg};
use crate::cli::error::CliError;
use crate::cli::output::Output;
use crate::cli::prepared::PreparedRun;
use crate::cli::strategies::strategies;
use crate::explain::story::{locate, story};
use crate::report::{explain_document, write_explanation};
use crate::simulate::cache::Reading;
use crate::simulate::ledger::Selection;

/// The story of one request.
pub(in crate::cli) fn explain(args: &ExplainArgs) -> Result<(), CliError> {
    let strategies = strategies(&args.strategy, args.output.quiet)?;
    let output = Output::open(&args.output)?;
    let options = args.tokens.read_options(true);
    let keeps_breaks = args.breaks == RecordedBreaksArg::Keep;
    let assumptions = args.simulation.assumptions(keeps_breaks, Reading::Literal);
    let run = PreparedRun::new(
        &args.input,
        &args.simulation,
        &args.output,
        options,
        strategies,
        assumptions,
    )?;
    let located = locate(&run.study.history, &run.study.selection, &args.request)?;
    let ledger = run.ledger()?;
    let asked = run.study.history.request(located.index);
    let alone = Selection::of(&run.study.history, |request| std::ptr::eq(request, asked));
    let breaks = run.study.breaks_among(&alone)?;
    let story = story(&ledger, located, &breaks.list);
    let document = || Ok(explain_document(&ledger, &story, args.show_text));
    output.show(args.format.chosen, document, |Json, out| {
        write_explanation(&ledger, &story, args.show_text, out)
    })
}
