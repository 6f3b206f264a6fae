//! Command `cachesim check`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::cli::args::{CheckArgs, CheckFormat, InputArgs, OutputFormat};
use crate::cli::input::refuse_inputs;
use crate::cli::output_file::place;
use crate::cli::{CliError, Output, Setup, StoredRun, refuse_lost, say, shown_path, warn};
use crate::explain::breaks::Breaks;
use crate::explain::budget::{Budget, defaults};
use crate::explain::check::{Check, CheckError, Checked, Status, Verdict, check as hold_against};
use crate::explain::config::{Configuration, PlacedBudget};
use crate::explain::lint::{Finding, Linted};
use crate::explain::snapshot::{Snapshot, snapshot};
use crate::read::capture::WireTree;
use crate::read::input::{MOST_REPORT, read_whole};
use crate::report::{
    BaselineError, CheckView, Inputs, RUN_SCHEMA, check_document, comment, parse_baseline, summary,
    write_check, write_junit, write_report, write_sarif,
};
use crate::simulate::cache::Reading;
use crate::simulate::ledger::Ledger;
use crate::simulate::strategy::Strategy;
use crate::study::Study;

/// Checks budgets, and the changes since a baseline.
pub(in crate::cli) fn check(
    args: &CheckArgs,
    configuration: &Configuration,
) -> Result<(), CliError> {
    // Read before anything is written: a run may overwrite its own baseline.
    let makes_baseline = makes_baseline(args);
    let baseline = args.baseline.as_deref().filter(|_| !makes_baseline);
    let baseline = baseline.map(read_baseline).transpose()?;
    let budgets = budgets(configuration, baseline.is_some());
    refuse_settings(args, configuration)?;
    let outputs = outputs(args)?;
    let is_of_rows = args.run.is_some() || args.domains.domains.is_some();
    let mut formats = outputs.iter().map(|(format, _)| *format);
    if let Some(reason) = formats.find_map(not_of_rows).filter(|_| is_of_rows) {
        return Err(CliError::Usage(reason.to_owned()));
    }
    let job = Job { args, configuration, baseline, makes_baseline, budgets };
    match (&args.run, &args.domains.domains) {
        (Some(manifest), _) => {
            let run = StoredRun::open(manifest)?;
            run.tell(args.input.strict, args.simulation.strict_prices, args.output.quiet)?;
            outputs_of(args).try_for_each(|(_, path)| run.refuse_output(path))?;
            asked_for_are_there(&job.budgets, &run)?;
            of_run(&job, &run, outputs)
        }
        (None, Some(_)) => {
            let setup = setup(args, strategies(&job.budgets))?;
            let run = StoredRun::of_domains(&setup, &args.domains)?;
            of_run(&job, &run, outputs)
        }
        (None, None) => of_sessions(&job, outputs),
    }
}

/// Task of a check, from any input.
struct Job<'a> {
    args: &'a CheckArgs,
    configuration: &'a Configuration,
    baseline: Option<Snapshot>,
    makes_baseline: bool,
    budgets: Vec<Budget>,
}

/// Outputs, each with its format.
type Outputs = Vec<(OutputFormat<CheckFormat>, Output)>;

impl Job<'_> {
    fn check(&self, now: &Snapshot, tree: &WireTree) -> Result<Check, CliError> {
        let checked = Checked {
            now,
            before: self.baseline.as_ref(),
            makes_baseline: self.makes_baseline,
            budgets: &self.budgets,
            tree,
        };
        hold_against(checked).map_err(|error| unanswered(error, self.configuration))
    }
}

/// Checks sessions and captures.
fn of_sessions(job: &Job<'_>, outputs: Outputs) -> Result<(), CliError> {
    let InputArgs { paths, paths_from, inside, .. } = &job.args.input;
    if paths.is_empty() && paths_from.is_none() && inside.is_empty() && !job.args.output.quiet {
        warn(
            "neither a PATH nor a configuration says what to check: these are the sessions that agents keep at home",
        );
    }
    with_sessions(job.args, &job.budgets, |sessions| {
        let CheckedSessions { ledger, study, findings, now } = sessions;
        let (history, prices) = (&study.history, &study.prices);
        let check = job.check(now, &history.captured.tree)?;
        let inputs = Inputs::of(history);
        let page = CheckPage {
            args: job.args,
            sessions: Some((ledger, study)),
            view: CheckView {
                inputs: &inputs,
                prices: (&prices.id, &prices.as_of),
                findings: findings.map(|findings| (history, findings)),
                now,
                before: job.baseline.as_ref(),
                check: &check,
                top: usize::from(job.args.top),
            },
        };
        page.write_all(outputs)
    })
}

/// Sessions and captures, as they are checked.
pub(super) struct CheckedSessions<'a> {
    pub(super) ledger: &'a Ledger<'a>,
    pub(super) study: &'a Study,
    /// Findings in captured prompts, if there are any.
    findings: Option<&'a [Finding]>,
    pub(super) now: &'a Snapshot,
}

/// Reads and measures sessions for some budgets.
pub(super) fn with_sessions<T>(
    args: &CheckArgs,
    budgets: &[Budget],
    work: impl FnOnce(&CheckedSessions<'_>) -> Result<T, CliError>,
) -> Result<T, CliError> {
    let run = setup(args, strategies(budgets))?.whole()?;
    let ledger = run.ledger()?;
    let found = found(&run.study, &ledger)?;
    let counted = run.counted()?;
    let linted = found.linted.as_ref();
    let findings = linted.map(|linted| linted.findings.as_slice());
    let now = &snapshot(&ledger, counted.as_ref(), &run.study.selection, &found.breaks, linted);
    work(&CheckedSessions { ledger: &ledger, study: &run.study, findings, now })
}

/// Checks the rows of a run.
fn of_run(job: &Job<'_>, run: &StoredRun, outputs: Outputs) -> Result<(), CliError> {
    let args = job.args;
    let now = run.snapshot()?;
    let check = job.check(&now, &WireTree::default())?;
    let prices = run.prices();
    let page = CheckPage {
        args,
        sessions: None,
        view: CheckView {
            inputs: &run.inputs,
            prices: (&prices, &run.manifest.settings.prices_as_of),
            findings: None,
            now: &now,
            before: job.baseline.as_ref(),
            check: &check,
            top: usize::from(args.top),
        },
    };
    page.write_all(outputs)
}

/// Fails if a budget is on a strategy that a run has no rows of.
fn asked_for_are_there(budgets: &[Budget], run: &StoredRun) -> Result<(), CliError> {
    let names = &run.manifest.settings.strategies;
    let missing = budgets.iter().find_map(|budget| {
        let strategy = budget.selector.strategy.as_ref()?;
        (!names.contains(strategy)).then_some((&budget.name, strategy))
    });
    match missing {
        Some((budget, strategy)) => Err(CliError::NoInput(format!(
            "budget `{budget}`: the run has no rows of `{strategy}`, but of {}; make the parts with it",
            names.join(",")
        ))),
        None => Ok(()),
    }
}

/// Reason that a format cannot be made of rows, if so.
fn not_of_rows(format: OutputFormat<CheckFormat>) -> Option<&'static str> {
    match format {
        OutputFormat::Own(CheckFormat::Sarif) => Some(
            "sarif: rows hold no prompts, which findings of lint are about; check the captures as a whole",
        ),
        REPORT => Some(
            "report: the baseline of domains is a run: make parts, gather them, and give the manifest as --baseline",
        ),
        _ => None,
    }
}

/// Returns true if the baseline does not exist yet, and this run saves it.
fn makes_baseline(args: &CheckArgs) -> bool {
    let Some(baseline) = args.baseline.as_deref().and_then(|path| place(path).ok()) else {
        return false;
    };
    let is_saved = outputs_of(args)
        .any(|(format, path)| format == REPORT && place(path).is_ok_and(|place| place == baseline));
    is_saved && !baseline.exists()
}

/// Snapshot of a saved report, or of a run.
fn read_baseline(path: &Path) -> Result<Snapshot, CliError> {
    let unreadable = |source| CliError::BaselineFile { path: path.to_owned(), source };
    let json = read_whole(path, MOST_REPORT).map_err(unreadable)?;
    match parse_baseline(&json) {
        Err(BaselineError::NoReport(schema)) if schema.trim_matches('`') == RUN_SCHEMA => {
            StoredRun::of_any_version(path)?.snapshot()
        }
        parsed => parsed.map_err(|source| CliError::Baseline { path: path.to_owned(), source }),
    }
}

fn budgets(configuration: &Configuration, has_baseline: bool) -> Vec<Budget> {
    if configuration.budgets.is_empty() {
        return defaults(has_baseline);
    }
    configuration.budgets.iter().map(|placed| placed.budget.clone()).collect()
}

/// Refuses an output that would replace the configuration, or a baseline by something else.
fn refuse_settings(args: &CheckArgs, configuration: &Configuration) -> Result<(), CliError> {
    for (format, path) in outputs_of(args).filter(|(_, path)| *path != Path::new("-")) {
        let target = place(path).ok();
        let is_target = |file: &Path| target.is_some() && place(file).ok() == target;
        let files = [&configuration.files.project, &configuration.files.user];
        let shown = shown_path(path);
        if files.into_iter().flatten().any(|file| is_target(Path::new(file))) {
            return Err(CliError::Usage(format!(
                "{shown} is the configuration of this run; give another file"
            )));
        }
        if format != REPORT && args.baseline.as_deref().is_some_and(is_target) {
            return Err(CliError::Usage(format!(
                "{shown} is the baseline, which only --save-baseline replaces; give another file"
            )));
        }
    }
    Ok(())
}

/// Format of a baseline.
const REPORT: OutputFormat<CheckFormat> = OutputFormat::Own(CheckFormat::Report);

/// Formats and paths of all outputs.
fn outputs_of(args: &CheckArgs) -> impl Iterator<Item = (OutputFormat<CheckFormat>, &Path)> {
    args.exports().chain([(args.format.chosen, args.output.output.as_path())])
}

/// Opens every output with its format before the long work. None may be an input.
fn outputs(args: &CheckArgs) -> Result<Outputs, CliError> {
    let export = |path: &&Path| args.export.iter().any(|export| export.path == **path);
    let option = |path| if export(&path) { "--export" } else { "--save-baseline" };
    let paths: Vec<_> = args.exports().map(|(_, path)| (option(path), path)).collect();
    match &args.run {
        Some(manifest) => {
            outputs_of(args).try_for_each(|(_, path)| refuse_lost(manifest, "--run", path))?;
        }
        None => refuse_inputs(&args.input, &args.output, &paths)?,
    }
    let output = Output::open(&args.output)?;
    // Two outputs in one file would replace each other.
    let mut known: HashSet<PathBuf> = output.place().map(Path::to_owned).into_iter().collect();
    let mut outputs = vec![(args.format.chosen, output)];
    for (format, path) in args.exports() {
        let output = Output::to_file(path, args.output.color)?;
        if output.place().is_some_and(|place| !known.insert(place.to_owned())) {
            let path = path.display();
            let message = format!("{path} is an output already; give another file");
            return Err(CliError::Usage(message));
        }
        outputs.push((format, output));
    }
    Ok(outputs)
}

fn setup(args: &CheckArgs, strategies: Vec<Strategy>) -> Result<Setup<'_>, CliError> {
    let options = args.simulation.read_options(true);
    let assumptions = args.simulation.assumptions(true, Reading::Literal);
    args.setup(options, strategies, assumptions)
}

/// The record, its replay, and the strategies of budgets, whose names were checked when they were read.
fn strategies(budgets: &[Budget]) -> Vec<Strategy> {
    let mut strategies = vec![Strategy::billed(), Strategy::expected()];
    let asked = budgets.iter().filter_map(|budget| budget.selector.strategy.as_deref());
    for strategy in asked.filter_map(Strategy::by_name) {
        if strategies.iter().all(|known| known.name != strategy.name) {
            strategies.push(strategy);
        }
    }
    strategies
}

/// Breaks, with the findings in captured prompts.
struct Found {
    breaks: Breaks,
    linted: Option<Linted>,
}

fn found(study: &Study, ledger: &Ledger<'_>) -> Result<Found, CliError> {
    let is_captured = !study.history.captured.requests.is_empty();
    // Transcripts hold no prompts that lint could look at.
    let linted = is_captured.then(|| study.lint(ledger)).transpose()?;
    Ok(Found { breaks: study.breaks_among(ledger, &study.selection)?, linted })
}

/// Adds the place of the budget to the error.
fn unanswered(error: CheckError, configuration: &Configuration) -> CliError {
    let place = error.budget().and_then(|name| {
        let is_meant = |placed: &&PlacedBudget| placed.budget.name == name;
        let placed = configuration.budgets.iter().find(is_meant)?;
        Some(format!("{}:{}: ", placed.file, placed.line))
    });
    CliError::Unanswered { place: place.unwrap_or_default(), error }
}

/// Data that an output shows.
struct CheckPage<'a> {
    args: &'a CheckArgs,
    /// Ledger and study of sessions, for formats that are not made of a run.
    sessions: Option<(&'a Ledger<'a>, &'a Study)>,
    view: CheckView<'a>,
}

impl CheckPage<'_> {
    fn write_all(&self, outputs: Outputs) -> Result<(), CliError> {
        for (format, output) in outputs {
            self.write(format, output)?;
        }
        if let Some(baseline) =
            self.args.save_baseline.as_deref().filter(|_| !self.args.output.quiet)
        {
            say(&format!("saved the baseline in {}", shown_path(baseline)));
        }
        // Last, so that every output is written even if a budget is exceeded.
        verdict(self.view.check)
    }

    fn write(&self, format: OutputFormat<CheckFormat>, output: Output) -> Result<(), CliError> {
        let view = self.view;
        let document = || Ok(check_document(view));
        output.show(format, document, |format, out| match format {
            CheckFormat::Comment => out.write_all(comment(view, &self.args.tag).as_bytes()),
            CheckFormat::Summary => out.write_all(summary(view).as_bytes()),
            CheckFormat::Json => write_check(view, out),
            CheckFormat::Junit => write_junit(view, out),
            CheckFormat::Sarif => self.sessions.map_or(Ok(()), |(_, study)| {
                let findings = view.findings.map(|(_, findings)| findings).unwrap_or_default();
                write_sarif(&study.history, findings, self.args.show_text, out)
            }),
            CheckFormat::Report => self.sessions.map_or(Ok(()), |(ledger, study)| {
                write_report(ledger, &study.selection, Some(view.now), out)
            }),
        })
    }
}

fn verdict(check: &Check) -> Result<(), CliError> {
    if check.verdict != Verdict::Fail {
        return Ok(());
    }
    let failed = check.outcomes.iter().filter(|outcome| outcome.status == Status::Failed);
    let names = failed.map(|outcome| outcome.budget.name.clone()).collect();
    Err(CliError::BudgetsFailed(names))
}
