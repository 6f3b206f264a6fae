//! Command `cachesim report`.

use std::path::Path;

use crate::base::Zone;
use crate::cli::args::{PolicyArgs, ReportArgs};
use crate::cli::output::{refuse_other_formats, refuse_terminal};
use crate::cli::{
    CliError, Limits, Output, PreparedRun, Progress, StoredRun, refuse_lost, strategies, with_own,
};
use crate::explain::analysis::{Gaps, Waterfall};
use crate::explain::breaks::{Analysis, Options};
use crate::explain::compare::{Compared, Comparison};
use crate::explain::context::windows;
use crate::report::{
    Chart, PageChart, PageView, RunPage, RunTurns, RunView, Theme, UNDRAWN_STRATEGY, WINDOW_KINDS,
    breaks_chart, context_chart, cost_chart, daily_chart, dearest_session, dollars, gaps_chart,
    page_style, run_charts, strategies_chart, svg, turns_chart, waterfall_chart, write_page,
    write_run_page,
};
use crate::requests::conversation::ReadOptions;
use crate::simulate::cache::Reading;
use crate::simulate::ledger::{Ledger, StrategyColumn};
use crate::simulate::strategy::{Assumptions, Strategy};
use crate::study::{Findings, Study};

/// Steps of a page after its sessions are read.
const STEPS: u64 = 5;

/// Number of context items that are kept: none, as the page shows kinds only.
const NO_ITEMS: usize = 0;

/// Writes everything as one page.
pub(in crate::cli) fn report(args: &ReportArgs) -> Result<(), CliError> {
    let message = "the report is a page of HTML: give it a file with -o report.html, or send standard output to one";
    refuse_terminal(&args.output, message)?;
    refuse_other_formats(&args.output.output, &["html", "htm"])?;
    if let Some(manifest) = &args.run {
        refuse_lost(manifest, "--run", &args.output.output)?;
        return of_run(args, manifest);
    }
    let output = Output::open(&args.output)?;
    let simulated = strategies(&args.strategy, args.output.quiet)?;
    let PolicyArgs { reading, breaks } = args.policy;
    let assumptions = args.simulation.assumptions(breaks.are_kept, reading);
    let options = ReadOptions {
        keeps_titles: args.show_text,
        counts_contents: args.simulation.counts_contents(),
        ..args.simulation.read_options(true)
    };
    if args.domains.domains.is_some() {
        let setup = args.setup(options, with_own(&simulated), assumptions)?;
        let run = StoredRun::of_domains(&setup, &args.domains)?;
        return page_of_run(&run, &simulated, assumptions, &setup.options.zone, output);
    }
    let run = args.setup(options, simulated, assumptions)?.whole()?;
    let progress = Progress::of_steps("simulating strategies", STEPS);
    page_of_sessions(&run, assumptions, args.show_text, (output, progress))
}

/// Writes the page of sessions.
fn page_of_sessions(
    run: &PreparedRun,
    assumptions: Assumptions,
    shows_text: bool,
    (output, progress): (Output, Progress),
) -> Result<(), CliError> {
    let ledger = run.ledger_with_bounds()?;
    let comparison = run.study.compare(&ledger);
    progress.next("finding breaks");
    let findings = run.study.breaks(Options::default())?;
    let Findings { ledger: evidence, analysis, .. } = &findings;
    let advised = findings.advice_and_answer(Reading::Conservative);
    progress.next("measuring contexts");
    let selection = &run.study.selection;
    let sums = analysis.summary.reconciliation;
    let verification = run.study.verify(evidence, sums)?;
    let context = run.study.context(evidence, NO_ITEMS)?;
    progress.next("drawing charts");
    let waterfall = advised.answer.waterfall.as_ref();
    let material = ChartMaterial {
        study: &run.study,
        ledger: &ledger,
        comparison: &comparison,
        evidence,
        analysis,
        waterfall,
    };
    let charts = material.charts();
    progress.next("writing the page");
    let view = PageView {
        answer: &advised.answer,
        advice: advised.advice.as_ref(),
        ledger: &ledger,
        comparison: &comparison,
        evidence,
        analysis,
        verification: &verification,
        context: &context,
        selection,
        assumptions: &assumptions,
        charts: &charts,
        chart_style: &page_style(),
        titles: &run.study.history.titles,
        shows_text,
    };
    output.write(|out| write_page(&view, out))
}

/// Writes the page of a run, from its rows.
fn of_run(args: &ReportArgs, manifest: &Path) -> Result<(), CliError> {
    let zone = Limits::of(&args.input.filter)?.zone;
    let run = StoredRun::open(manifest)?;
    run.refuse_output(&args.output.output)?;
    let output = Output::open(&args.output)?;
    run.tell(args.input.strict, args.simulation.strict_prices, args.output.quiet)?;
    let strategies = strategies_of_run(args, &run)?;
    let assumptions = run.manifest.assumptions();
    page_of_run(&run, &strategies, assumptions, &zone, output)
}

/// Writes the page of a run under some of its strategies.
fn page_of_run(
    run: &StoredRun,
    strategies: &[Strategy],
    assumptions: Assumptions,
    zone: &Zone,
    output: Output,
) -> Result<(), CliError> {
    let (shown, idle) = (run.shown(&with_own(strategies)), run.idle(strategies));
    let sums = run.sums(strategies)?;
    if sums.sessions.is_empty() {
        return Err(CliError::NoInput("no request in the run".to_owned()));
    }
    let page = RunPage::new(&sums);
    let mut turns = RunTurns::new(&page);
    run.read(&shown, &mut turns)?;
    let comparison = sums.comparison(assumptions);
    let charts = run_charts(&sums, &comparison, run.manifest.parts.len() as u64, zone);
    let charts: Vec<PageChart> = charts.into_iter().map(drawn).collect();
    let view = RunView {
        manifest: &run.manifest,
        inputs: &run.inputs,
        prices: &run.prices(),
        sums: &sums,
        answer: &sums.answer(),
        comparison: &comparison,
        idle: &idle,
        page: &page,
        charts: &charts,
        chart_style: &page_style(),
        zone,
    };
    output.write(|out| write_run_page(&view, turns, out))
}

/// Strategies of a run that its page shows: all of them, or the requested ones.
fn strategies_of_run(args: &ReportArgs, run: &StoredRun) -> Result<Vec<Strategy>, CliError> {
    let names = &run.manifest.settings.strategies;
    let Some(asked) = args.asked_strategies() else {
        let known = |name: &String| {
            Strategy::by_name(name).ok_or_else(|| {
                CliError::Usage(format!(
                    "the run has the strategy `{name}` of a file; give it with --strategy {},FILE",
                    names.first().map_or("billed", String::as_str)
                ))
            })
        };
        return names.iter().map(known).collect();
    };
    let asked = strategies(asked, args.output.quiet)?;
    run.same_definitions(&asked)?;
    match asked.iter().find(|strategy| names.iter().all(|name| strategy.name != *name)) {
        Some(other) => Err(CliError::Usage(format!(
            "--strategy: the run has no rows of {}; it has those of {}",
            other.name,
            names.join(",")
        ))),
        None => Ok(asked),
    }
}

fn drawn((id, chart): (&'static str, Chart)) -> PageChart {
    let svg = [Theme::Page, Theme::NarrowPage].map(|theme| svg(&chart, theme)).concat();
    PageChart { id, title: chart.title, svg }
}

/// Data that the charts of the page are drawn from.
struct ChartMaterial<'a> {
    study: &'a Study,
    ledger: &'a Ledger<'a>,
    comparison: &'a Comparison<'a>,
    evidence: &'a Ledger<'a>,
    analysis: &'a Analysis,
    waterfall: Option<&'a Waterfall>,
}

impl ChartMaterial<'_> {
    fn charts(&self) -> Vec<PageChart> {
        let Study { history, selection, steps, trace, .. } = self.study;
        let (shown, note) = self.shown();
        let bound = self.comparison.bound.own_reading;
        let breaks = &self.analysis.breaks.list;
        let gaps = Gaps::new(steps, selection, breaks);
        let mut strategies = strategies_chart(self.ledger, &shown, bound, selection);
        let mut cost = cost_chart(self.ledger, &shown, selection);
        if let Some(note) = note {
            strategies.note(note.as_str());
            cost.note(note);
        }
        let mut charts = vec![
            ("strategies", strategies),
            ("cost", cost),
            ("gaps", gaps_chart(history, selection, &gaps)),
            ("breaks", breaks_chart(history, selection, self.analysis)),
        ];
        if let Some(waterfall) = &self.waterfall {
            charts.push(("waterfall", waterfall_chart(self.evidence, selection, Some(waterfall))));
        }
        if let Some(billed) = self.evidence.billed() {
            charts.push(("daily", daily_chart(self.evidence, billed, selection)));
        }
        if let Some(session) = dearest_session(self.evidence, selection) {
            let turns = turns_chart(self.evidence, &[], steps, selection, session, breaks);
            charts.push(("turns", turns));
            let windows = windows(self.evidence, steps, trace, session, WINDOW_KINDS);
            let context = windows.map(|held| context_chart(history, selection, session, &held));
            charts.extend(context.map(|chart| ("context", chart)));
        }
        charts.into_iter().map(drawn).collect()
    }

    /// Columns to draw, with a note on one that is left out: the cost without caching, if it is so much
    /// higher that nothing else could be told apart.
    fn shown(&self) -> (Vec<&StrategyColumn>, Option<String>) {
        let strategies = &self.comparison.strategies;
        let is_undrawn = |one: &&Compared<'_>| one.strategy.name == UNDRAWN_STRATEGY;
        let costs = |one: &Compared<'_>| one.totals.cost();
        let others = strategies.iter().filter(|one| !is_undrawn(one)).filter_map(costs).max();
        let undrawn = strategies.iter().find(is_undrawn).and_then(costs);
        let is_left_out = undrawn.zip(others).is_some_and(|(own, other)| own.0 > other.0 * 2);
        let is_shown = |one: &&Compared<'_>| !(is_left_out && is_undrawn(one));
        let columns = strategies.iter().filter(is_shown);
        let columns = columns.filter_map(|one| self.ledger.column(&one.strategy.name)).collect();
        let note = is_left_out.then(|| {
            let cost = dollars(undrawn);
            format!(
                "“{UNDRAWN_STRATEGY}” costs {cost}; beside it the others could not be told apart."
            )
        });
        (columns, note)
    }
}
