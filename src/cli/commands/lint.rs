//! `cachesim lint`.

use crate::cli::args::{LintArgs, LintFormat};
use crate::cli::error::CliError;
use crate::cli::input::{read_history, refuse_transcripts, select};
use crate::cli::output::Output;
use crate::cli::pricing::{check_prices, price_table};
use crate::ledger::Ledger;
use crate::lint;
use crate::prompt::{build, steps};
use crate::report::{lint_document, write_lint, write_sarif};
use crate::strategy::Strategy;

/// What makes the prefixes of captured prompts unstable.
///
/// # Panics
/// Never: `replay` is a strategy, and is simulated.
pub(in crate::cli) fn lint(args: &LintArgs) -> Result<(), CliError> {
    let prices = price_table(&args.simulation.prices, args.simulation.platform)?;
    let output = Output::open(&args.output)?;
    let history = read_history(&args.input, &args.output, args.tokens.read_options(true))?;
    refuse_transcripts(&history)?;
    let selection = select(&args.input, &history)?;
    let assumptions = args.simulation.assumptions(false);
    let steps = steps(&history);
    let trace = build(&history, &steps, assumptions.shared_prefix);
    let replay = Strategy::by_name("replay").expect("`replay` is a strategy");
    let policy = replay.policy(&assumptions).expect("`replay` is simulated");
    let ledger = Ledger::new(&history, &trace, &prices, &[replay], &assumptions);
    check_prices(&ledger, &selection, args.simulation.strict_prices, args.output.quiet)?;
    let findings = lint::lint(&ledger, &trace, &policy, &selection);
    let shows_text = !args.hide_text;
    match args.format {
        LintFormat::Text => output.text(&lint_document(&history, &findings, shows_text)),
        LintFormat::Markdown => output.markdown(&lint_document(&history, &findings, shows_text)),
        LintFormat::Json => output.write(|out| write_lint(&history, &findings, shows_text, out)),
        LintFormat::Sarif => output.write(|out| write_sarif(&history, &findings, shows_text, out)),
    }
}
