//! The commands that explain: `explain`, `advise`, `breaks`, `context`, `lint` and `verify`.

use std::path::Path;

use crate::base::ttl::Ttl;
use crate::cli::args::{
    AdviseArgs, BreaksArgs, ContextArgs, ExplainArgs, FindingFormat, Json, LintArgs,
    RecordedBreaksArg, RuleArg, VerifyArgs,
};
use crate::cli::domains::Histories;
use crate::cli::error::CliError;
use crate::cli::output::Output;
use crate::cli::prepared::{PreparedRun, Setup};
use crate::cli::rows::Rows;
use crate::cli::strategies::strategies;
use crate::explain::breaks::{DetectionRule, Options};
use crate::explain::lint::{AcceptedFinding, Linted, Rule};
use crate::explain::story::{locate, story};
use crate::read::input::{MOST_REPORT, read_whole};
use crate::report::{
    BREAK_SCHEMA, BreakFile, BreaksViewOptions, LintView, Shown, advice_document, breaks_document,
    context_document, explain_document, lint_document, parse_accepted, rule_document,
    verify_document, write_advice, write_breaks, write_context, write_explanation, write_lint,
    write_sarif, write_verification,
};
use crate::requests::conversation::ReadOptions;
use crate::simulate::cache::Reading;
use crate::simulate::ledger::Selection;
use crate::simulate::strategy::Strategy;
use crate::study::{Told, evidence_strategies, lint_strategies};

/// Refuses paths in front of the request, where what should be a path is none.
fn refuse_swapped(args: &ExplainArgs) -> Result<(), CliError> {
    let is_path = |path: &Path| path == Path::new("-") || path.exists();
    let paths = &args.input.paths;
    if !Path::new(&args.request).exists()
        || (!paths.is_empty() && paths.iter().all(|path| is_path(path)))
    {
        return Ok(());
    }
    let example = paths.iter().find(|path| !is_path(path));
    let example = example.map_or("REQUEST".into(), |path| path.display().to_string());
    Err(CliError::Usage(format!(
        "the request stands first, and `{0}` is a file or folder: `cachesim explain {example} {0}`",
        args.request
    )))
}

/// Tells the story of one request.
pub(in crate::cli) fn explain(args: &ExplainArgs) -> Result<(), CliError> {
    refuse_swapped(args)?;
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

/// Shows what to change, and what each change would have saved.
pub(in crate::cli) fn advise(args: &AdviseArgs) -> Result<(), CliError> {
    let output = Output::open(&args.output)?;
    let options = args.tokens.read_options(true);
    let assumptions = args.simulation.assumptions(false, Reading::Literal);
    let run = PreparedRun::new(
        &args.input,
        &args.simulation,
        &args.output,
        options,
        evidence_strategies(),
        assumptions,
    )?;
    let findings = run.study.breaks_in(run.evidence()?, Options::default())?;
    let told = findings.told_under(args.reading.reading());
    let advice = told.advice.as_ref();
    let document = || Ok(advice_document(&run.study.history, &told.answer, advice, args.top));
    output.show(args.format.chosen, document, |Json, out| {
        write_advice(&run.study.history, advice, out)
    })
}

/// Shows every request that read less than it could have.
pub(in crate::cli) fn breaks(args: &BreaksArgs) -> Result<(), CliError> {
    let output = Output::open(&args.output)?;
    let options = args.tokens.read_options(true);
    let assumptions = args.simulation.assumptions(false, Reading::Literal);
    let setup = Setup::new(
        &args.input,
        &args.simulation,
        &args.output,
        options,
        evidence_strategies(),
        assumptions,
    )?;
    let rule = match args.rule {
        RuleArg::Complete => DetectionRule::Complete,
        RuleArg::Client => DetectionRule::Client,
    };
    let options = Options { rule, ignores_server_reason: args.ignore_server_reason };
    if let Some(rows) = Rows::of(args.format.chosen) {
        return break_rows(args, &setup, rows, options, output);
    }
    args.domains.refuse()?;
    let run = setup.whole()?;
    let findings = run.study.breaks_in(run.evidence()?, options)?;
    let (history, analysis) = (&run.study.history, &findings.analysis);
    let view = BreaksViewOptions { top: args.top, shows_text: args.show_text };
    let document = || {
        let Told { advice, answer } = findings.told();
        let assumptions = run.study.assumptions();
        Ok(breaks_document(
            history,
            &run.study.steps,
            &answer,
            analysis,
            advice.as_ref(),
            &assumptions,
            view,
        ))
    };
    output.show(args.format.chosen, document, |_, out| write_breaks(history, analysis, out))
}

/// Writes a row for each break, domain by domain where there are several.
fn break_rows(
    args: &BreaksArgs,
    setup: &Setup<'_>,
    rows: Rows,
    options: Options,
    output: Output,
) -> Result<(), CliError> {
    let histories = Histories::of(setup, &args.domains)?;
    let encoding = rows.encoding(&output, setup, &histories, BREAK_SCHEMA)?;
    output.write(|out| -> Result<(), CliError> {
        let mut file = BreakFile::new(encoding, histories.are_domains(), args.show_text, out)?;
        histories.each(setup, |domain, run| {
            let findings = run.study.breaks_in(run.evidence()?, options)?;
            file.write(&run.study.history, &findings.analysis.breaks, domain)?;
            Ok(())
        })?;
        Ok(file.finish()?)
    })
}

/// Shows where the context comes from.
pub(in crate::cli) fn context(args: &ContextArgs) -> Result<(), CliError> {
    let output = Output::open(&args.output)?;
    let options = ReadOptions {
        counts_contents: args.tokens.counts_contents(),
        ..args.tokens.read_options(true)
    };
    let assumptions = args.simulation.assumptions(true, Reading::Literal);
    let run = PreparedRun::new(
        &args.input,
        &args.simulation,
        &args.output,
        options,
        vec![Strategy::billed()],
        assumptions,
    )?;
    let ledger = run.ledger()?;
    let top = usize::from(args.top);
    let context = run.study.context(&ledger, top)?;
    let document = || {
        let answer = run.study.breaks(Options::default())?.answer();
        Ok(context_document(&answer, &ledger, &context, top))
    };
    output.show(args.format.chosen, document, |Json, out| write_context(&ledger, &context, out))
}

/// Shows what makes the prefixes of captured prompts unstable.
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
    let accepted = args.accepted.as_deref().map(accepted).transpose()?;
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
    let mut linted = run.study.lint_in(&run.ledger()?)?;
    linted.findings.retain(|finding| args.has(finding.rule));
    let mut accepted = accepted.unwrap_or_default();
    accepted.retain(|finding| args.has(finding.rule));
    linted.accept(&accepted);
    let (history, assumptions) = (&run.study.history, &run.study.assumptions());
    let view = LintView {
        history,
        steps: &run.study.steps,
        assumptions,
        linted: &linted,
        shows_text: !args.hide_text,
    };
    let document = || Ok(lint_document(view, args.top));
    output.show(args.format.chosen, document, |format, out| match format {
        FindingFormat::Json => write_lint(view, out),
        FindingFormat::Sarif => write_sarif(history, &linted.findings, view.shows_text, out),
    })?;
    lint_verdict(args, &linted)
}

/// The findings that were accepted before.
fn accepted(path: &Path) -> Result<Vec<AcceptedFinding>, CliError> {
    let unreadable = |source| CliError::AcceptedFile { path: path.to_owned(), source };
    let json = read_whole(path, MOST_REPORT).map_err(unreadable)?;
    parse_accepted(&json)
        .map_err(|source| CliError::Accepted { path: path.to_owned(), problem: source })
}

fn lint_verdict(args: &LintArgs, linted: &Linted) -> Result<(), CliError> {
    let failing: Vec<Rule> = linted
        .findings
        .iter()
        .filter(|finding| args.fails_on(finding.rule, finding.severity()))
        .map(|finding| finding.rule)
        .collect();
    let found = Rule::ALL.into_iter().filter_map(|rule| {
        let findings = failing.iter().filter(|failing| **failing == rule).count();
        (findings > 0).then(|| (rule.name(), findings))
    });
    let found: Vec<(&str, usize)> = found.collect();
    if !found.is_empty() {
        return Err(CliError::FindingsFailed(found));
    }
    let could_fail = |rule: &Rule| args.fails_on(*rule, rule.severity()) && rule.compares();
    if linted.compared == 0 && Rule::ALL.iter().any(could_fail) {
        return Err(CliError::NoInput(
            "nothing could be compared: no request follows another, and --fail-on names rules that \
             compare requests; record two requests of a conversation, or give --fail-on error"
                .to_owned(),
        ));
    }
    Ok(())
}

/// Shows how well the rules reproduce the recorded usage.
pub(in crate::cli) fn verify(args: &VerifyArgs) -> Result<(), CliError> {
    let output = Output::open(&args.output)?;
    let options = ReadOptions {
        counts_contents: args.counts && args.tokens.counts_contents(),
        ..args.tokens.read_options(true)
    };
    let assumptions = args.simulation.assumptions(true, Reading::Literal);
    // Simulated, too, so that their rows are checked for lost tokens.
    let [five_minutes, one_hour] = [Ttl::FiveMinutes, Ttl::OneHour].map(Strategy::lifetime);
    let (billed, expected) = (Strategy::billed(), Strategy::expected());
    let strategies =
        vec![billed, expected, Strategy::uncached(), five_minutes, one_hour, Strategy::mixed()];
    let run = PreparedRun::new(
        &args.input,
        &args.simulation,
        &args.output,
        options,
        strategies,
        assumptions,
    )?;
    let ledger = run.ledger()?;
    let findings = run.study.breaks(Options::default())?;
    let sums = findings.analysis.summary.reconciliation;
    let verification = run.study.verify(&ledger, sums)?;
    let history = &run.study.history;
    let counts = args.counts.then(|| run.study.counts());
    let shown = Shown { rules: args.rules, counts: counts.as_ref() };
    let document = || Ok(verify_document(history, &findings.answer(), &verification, shown));
    output.show(args.format.chosen, document, |Json, out| {
        write_verification(history, &verification, counts.as_ref(), out)
    })
}
