//! `cachesim lint`.

use crate::cli::args::{FindingFormat, LintArgs};
use crate::cli::error::CliError;
use crate::cli::output::Output;
use crate::cli::prepared::PreparedRun;
use crate::report::{lint_document, write_lint, write_sarif};
use crate::simulate::cache::Reading;
use crate::study::lint_strategies;

/// What makes the prefixes of captured prompts unstable.
pub(in crate::cli) fn lint(args: &LintArgs) -> Result<(), CliError> {
    let output = Output::open(&args.output)?;
    let options = args.tokens.read_options(true);
    let assumptions = args.simulation.assumptions(false, Reading::Literal);
    let run = PreparedRun::new(
        &args.input,
        &args.simulation,
        &args.output,
        options,
        lint_strategies(),
        assumptions,
    )?;
    run.study.need_prompts()?;
    let findings = run.study.lint_in(&run.ledger()?)?;
    let (history, assumptions) = (&run.study.history, &run.study.assumptions());
    let shows_text = !args.hide_text;
    let top = args.top;
    let document = || Ok(lint_document(history, assumptions, &findings, shows_text, top));
    output.show(args.format.chosen, document, |format, out| match format {
        FindingFormat::Json => write_lint(history, assumptions, &findings, shows_text, out),
        FindingFormat::Sarif => write_sarif(history, &findings, shows_text, out),
    })
}
