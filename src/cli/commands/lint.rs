//! `cachesim lint`.

use std::collections::BTreeSet;

use crate::cli::args::{LintArgs, LintFormat};
use crate::cli::error::CliError;
use crate::cli::input::refuse_transcripts;
use crate::cli::output::Output;
use crate::cli::prepared::Prepared;
use crate::explain::lint::{self, Rule};
use crate::report::{lint_document, write_lint, write_sarif};
use crate::simulate::cache::Reading;
use crate::simulate::strategy::Strategy;

/// What makes the prefixes of captured prompts unstable.
///
/// # Panics
/// Never: `replay` and those that a rule names are strategies.
pub(in crate::cli) fn lint(args: &LintArgs) -> Result<(), CliError> {
    let output = Output::open(&args.output)?;
    let options = args.tokens.read_options(true);
    let assumptions = args.simulation.assumptions(false, Reading::Literal);
    let known = |name| Strategy::by_name(name).expect("a strategy of that name");
    let latched = Rule::ALL.into_iter().filter_map(Rule::latched_by);
    let names: BTreeSet<&str> = latched.chain(["replay"]).collect();
    let strategies: Vec<Strategy> = names.into_iter().map(known).collect();
    let run = Prepared::new(
        &args.input,
        &args.simulation,
        &args.output,
        options,
        strategies,
        assumptions,
    )?;
    refuse_transcripts(&run.history)?;
    let policy = run.assumptions.replay();
    let ledger = run.ledger()?;
    let findings = lint::lint(&ledger, &run.trace, &policy, &run.selection);
    let (history, assumptions) = (&run.history, &run.assumptions);
    let shows_text = !args.hide_text;
    let top = args.top.and_then(|top| usize::try_from(top).ok());
    let document = || lint_document(history, assumptions, &findings, shows_text, top);
    match args.format {
        LintFormat::Text => output.text(&document()),
        LintFormat::Markdown => output.markdown(&document()),
        LintFormat::Json => {
            output.write(|out| write_lint(history, assumptions, &findings, shows_text, out))
        }
        LintFormat::Sarif => output.write(|out| write_sarif(history, &findings, shows_text, out)),
    }
}
