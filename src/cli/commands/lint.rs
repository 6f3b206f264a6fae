//! Command `cachesim lint`.

use std::cell::RefCell;
use std::path::Path;

use crate::base::ByKey;
use crate::cli::args::{FindingFormat, LintArgs, OutputFormat};
use crate::cli::{CliError, Output, PreparedRun};
use crate::explain::breaks::Options;
use crate::explain::lint::{AcceptedFinding, Linted, Rule};
use crate::read::input::{MOST_REPORT, read_whole};
use crate::report::{
    FindingSums, LintView, lint_document, parse_accepted, rule_document, write_lint, write_sarif,
};
use crate::simulate::cache::Reading;
use crate::study::lint_strategies;

/// Shows the causes of unstable prefixes in captured prompts.
pub(in crate::cli) fn lint(args: &LintArgs) -> Result<(), CliError> {
    let output = Output::open(&args.output)?;
    if let Some(rule) = args.explain {
        return output.text(&rule_document(rule));
    }
    if let Some(rule) = args.contradiction() {
        let name = rule.name();
        let message =
            format!("--fail-on {name}: --select or --ignore leaves its findings out; drop one");
        return Err(CliError::Usage(message));
    }
    let mut accepted = args.accepted.as_deref().map(accepted).transpose()?.unwrap_or_default();
    accepted.retain(|finding| args.has(finding.rule));
    let options = args.simulation.read_options(true);
    let assumptions = args.simulation.assumptions(false, Reading::Literal);
    let mut setup = args.setup(options, lint_strategies(), assumptions)?;
    setup.needs_prompts = true;
    if args.domains.domains.is_some() {
        refuse_one_domain(args)?;
    }
    // All closures below add to it.
    let verdict = RefCell::new(LintVerdict::default());
    let judged = |run: &PreparedRun| -> Result<Linted, CliError> {
        let linted = linted(args, run, &accepted)?;
        verdict.borrow_mut().add(args, &linted);
        Ok(linted)
    };
    let document = |run: &PreparedRun| Ok(lint_document(view(args, run, &judged(run)?), args.top));
    let sums = |run: &PreparedRun| {
        let answer = run.study.breaks(Options::default())?.figures();
        Ok((answer, FindingSums::of(&judged(run)?)))
    };
    args.view(output).show(&setup, document, sums, |format, run, out| {
        let linted = judged(run)?;
        match format {
            FindingFormat::Json => write_lint(view(args, run, &linted), out)?,
            FindingFormat::Sarif => {
                write_sarif(&run.study.history, &linted.findings, !args.hide_text, out)?;
            }
        }
        Ok(())
    })?;
    verdict.into_inner().tell(args)
}

/// Refuses what is of one domain.
fn refuse_one_domain(args: &LintArgs) -> Result<(), CliError> {
    let format = args.format.chosen;
    if matches!(format, OutputFormat::Own(FindingFormat::Sarif)) {
        let message =
            "--format sarif: findings are of one domain; give its folder, or --format json";
        return Err(CliError::Usage(message.to_owned()));
    }
    if args.top.is_some() && format.is_document() {
        let message =
            "--top: findings are counted by rule; give the folder of one domain to list them";
        return Err(CliError::Usage(message.to_owned()));
    }
    Ok(())
}

/// Findings of the selected rules, without the accepted ones.
fn linted(
    args: &LintArgs,
    run: &PreparedRun,
    accepted: &[AcceptedFinding],
) -> Result<Linted, CliError> {
    let mut linted = run.study.lint(&run.ledger()?)?;
    linted.findings.retain(|finding| args.has(finding.rule));
    linted.accept(accepted);
    Ok(linted)
}

fn view<'a>(args: &LintArgs, run: &'a PreparedRun, linted: &'a Linted) -> LintView<'a> {
    LintView {
        history: &run.study.history,
        steps: &run.study.steps,
        assumptions: run.study.assumptions(),
        linted,
        shows_text: !args.hide_text,
    }
}

/// Findings that were accepted before.
fn accepted(path: &Path) -> Result<Vec<AcceptedFinding>, CliError> {
    let unreadable = CliError::unreadable("accepted findings", path);
    let json = read_whole(path, MOST_REPORT).map_err(unreadable)?;
    parse_accepted(&json)
        .map_err(|source| CliError::Accepted { path: path.to_owned(), problem: source })
}

/// Result for `--fail-on`.
#[derive(Default)]
struct LintVerdict {
    /// Number of findings that fail, by rule.
    failing: ByKey<Rule, usize>,
    compared: u64,
}

impl LintVerdict {
    fn add(&mut self, args: &LintArgs, linted: &Linted) {
        self.compared += linted.compared;
        let fails = linted.findings.iter();
        for finding in fails.filter(|finding| args.fails_on(finding.rule, finding.severity())) {
            *self.failing.entry(finding.rule).or_default() += 1;
        }
    }

    fn tell(self, args: &LintArgs) -> Result<(), CliError> {
        if !self.failing.is_empty() {
            let found = Rule::ALL.into_iter();
            let found = found.filter_map(|rule| Some((rule.name(), *self.failing.get(&rule)?)));
            return Err(CliError::FindingsFailed(found.collect()));
        }
        // A run in which such rules had nothing to compare must not pass for a clean one.
        let could_fail = |rule: &Rule| args.fails_on(*rule, rule.severity()) && rule.compares();
        if self.compared == 0 && Rule::ALL.iter().any(could_fail) {
            return Err(CliError::NoInput(
                "nothing could be compared: no request follows another, and --fail-on names rules that \
                 compare requests; record two requests of a conversation, or give --fail-on error"
                    .to_owned(),
            ));
        }
        Ok(())
    }
}
