//! Command `cachesim chart`.

use std::ffi::OsStr;

use crate::cli::args::{ChartArgs, ChartFormat, ChartKindArg};
use crate::cli::output::{refuse_other_formats, refuse_terminal};
use crate::cli::{CliError, Output, Setup, StoredRun, strategies, warn, with_own};
use crate::explain::analysis::{Gaps, Waterfall};
use crate::explain::breaks::Options;
use crate::explain::config::Configuration;
use crate::explain::context::windows;
use crate::report::{
    Chart, Theme, WINDOW_KINDS, breaks_chart, context_chart, cost_chart, daily_chart,
    dearest_session, gaps_chart, png, run_charts, strategies_chart, svg, turns_chart,
    waterfall_chart,
};
use crate::requests::conversation::ReadOptions;
use crate::simulate::cache::Reading;
use crate::simulate::ledger::{Ledger, Session, StrategyColumn};
use crate::simulate::strategy::Strategy;
use crate::study::{Findings, Study, StudyError, evidence_strategies};

/// Draws a chart of the input.
pub(in crate::cli) fn chart(
    args: &ChartArgs,
    configuration: &Configuration,
) -> Result<(), CliError> {
    let format = args.picture_format();
    let message = "a terminal shows no pictures: give -o FILE, or redirect the output";
    refuse_terminal(&args.output, message)?;
    let endings: &[&str] = match args.own.format {
        None => &["svg", "png"],
        Some(ChartFormat::Svg) => &["svg"],
        Some(ChartFormat::Png) => &["png"],
    };
    refuse_other_formats(&args.output.output, endings)?;
    let strategies = simulated(args, configuration)?;
    let output = Output::open(&args.output)?;
    let chart = drawn(args, strategies)?;
    let bytes = match format {
        ChartFormat::Svg => svg(&chart, args.theme).into_bytes(),
        ChartFormat::Png => {
            let theme = if args.theme == Theme::Dark { Theme::Dark } else { Theme::Light };
            png(&chart, theme, args.scale)?
        }
    };
    output.write(|out| out.write_all(&bytes))
}

/// Strategies that a kind of chart needs.
fn simulated(args: &ChartArgs, configuration: &Configuration) -> Result<Vec<Strategy>, CliError> {
    let asked = strategies(&args.strategy, args.output.quiet)?;
    let shows_asked =
        matches!(args.kind, ChartKindArg::Cost | ChartKindArg::Strategies | ChartKindArg::Turns);
    if !shows_asked && !args.output.quiet && is_typed(args, configuration) {
        warn("--strategy has no effect on this chart; cost, strategies and turns show strategies");
    }
    match args.kind {
        ChartKindArg::Cost | ChartKindArg::Strategies => Ok(asked),
        ChartKindArg::Context | ChartKindArg::Daily => Ok(vec![Strategy::billed()]),
        ChartKindArg::Turns if args.strategies_of_turns().is_some() => Ok(asked),
        ChartKindArg::Turns => Ok(evidence_strategies()),
        ChartKindArg::Gaps | ChartKindArg::Breaks | ChartKindArg::Waterfall => {
            Ok(evidence_strategies())
        }
    }
}

/// Returns true if the strategies are on the command line: they are neither the default nor configured.
fn is_typed(args: &ChartArgs, configuration: &Configuration) -> bool {
    let configured = configuration.setting("chart", "strategy");
    let is_configured = |list: &[String]| {
        configured.is_some_and(|setting| setting.values.iter().eq(list.iter().map(OsStr::new)))
    };
    args.strategies_of_turns().is_some_and(|list| !is_configured(list))
}

fn drawn(args: &ChartArgs, strategies: Vec<Strategy>) -> Result<Chart, CliError> {
    if args.domains.domains.is_some() {
        return of_domains(args, &strategies);
    }
    let run = setup(args, strategies)?.whole()?;
    let ledger = match args.kind {
        ChartKindArg::Strategies => run.ledger_with(&[args.policy.reading])?,
        ChartKindArg::Waterfall => run.evidence()?,
        _ => run.ledger()?,
    };
    Picture { args, study: &run.study, ledger }.chart(args.kind)
}

/// Chart of the sums of domains.
fn of_domains(args: &ChartArgs, strategies: &[Strategy]) -> Result<Chart, CliError> {
    let kind = match args.kind {
        ChartKindArg::Strategies => "strategies",
        ChartKindArg::Daily => "daily",
        ChartKindArg::Breaks => "breaks",
        _ => {
            let message = "--domains: strategies, daily and breaks are drawn of the sums of domains; for other charts \
                           give the folder of one";
            return Err(CliError::Usage(message.to_owned()));
        }
    };
    let setup = setup(args, with_own(strategies))?;
    let run = StoredRun::of_domains(&setup, &args.domains)?;
    let sums = run.sums(strategies)?;
    let comparison = sums.comparison(setup.options.assumptions);
    let domains = run.manifest.parts.len() as u64;
    let charts = run_charts(&sums, &comparison, domains, &setup.options.zone);
    let chart = charts.into_iter().find_map(|(name, chart)| (name == kind).then_some(chart));
    chart.ok_or_else(|| CliError::NoInput("nothing that can be drawn in any domain".to_owned()))
}

fn setup(args: &ChartArgs, strategies: Vec<Strategy>) -> Result<Setup<'_>, CliError> {
    let own = (args.policy.breaks.are_kept, args.policy.reading);
    let ((keeps_breaks, reading), keeps_bytes) = match args.kind {
        // Breaks are found by comparison with a literal replay that keeps none of them.
        ChartKindArg::Gaps | ChartKindArg::Breaks | ChartKindArg::Waterfall => {
            ((false, Reading::Literal), true)
        }
        ChartKindArg::Turns => (own, true),
        _ => (own, false),
    };
    // Domains are always read into rows and breaks first.
    let options = args.simulation.read_options(keeps_bytes || args.domains.domains.is_some());
    let counts_contents = args.kind == ChartKindArg::Context && args.simulation.counts_contents();
    let options = ReadOptions { counts_contents, ..options };
    let assumptions = args.simulation.assumptions(keeps_breaks, reading);
    args.setup(options, strategies, assumptions)
}

/// Data that a chart is drawn from.
struct Picture<'a> {
    args: &'a ChartArgs,
    study: &'a Study,
    ledger: Ledger<'a>,
}

impl<'a> Picture<'a> {
    fn chart(self, kind: ChartKindArg) -> Result<Chart, CliError> {
        let Study { history, selection, steps, .. } = self.study;
        let columns: Vec<&StrategyColumn> = self.ledger.columns.iter().collect();
        Ok(match kind {
            ChartKindArg::Turns => {
                let found = self.study.breaks(Options::default())?;
                let breaks = &found.analysis.breaks.list;
                let shown =
                    if self.args.strategies_of_turns().is_some() { columns } else { vec![] };
                turns_chart(&self.ledger, &shown, steps, selection, self.session()?, breaks)
            }
            ChartKindArg::Cost => cost_chart(&self.ledger, &columns, selection),
            ChartKindArg::Strategies => {
                let total = |column| self.ledger.totals(column, selection.requests()).cost();
                let bound = self.ledger.bounds.first().and_then(total);
                strategies_chart(&self.ledger, &columns, bound, selection)
            }
            ChartKindArg::Context => self.context()?,
            // `simulated` gives this kind the record alone.
            ChartKindArg::Daily => daily_chart(&self.ledger, columns[0], selection),
            ChartKindArg::Gaps => {
                let breaks = self.breaks()?.analysis.breaks.list;
                gaps_chart(history, selection, &Gaps::new(steps, selection, &breaks))
            }
            ChartKindArg::Breaks => breaks_chart(history, selection, &self.breaks()?.analysis),
            ChartKindArg::Waterfall => {
                let found = self.breaks()?;
                let sums = &found.analysis.summary.reconciliation;
                let waterfall = Waterfall::new(&found.ledger, selection, sums);
                waterfall_chart(&found.ledger, selection, waterfall.as_ref())
            }
        })
    }

    /// Breaks, from a ledger of their own.
    fn breaks(self) -> Result<Findings<'a>, CliError> {
        Ok(self.study.breaks_in(self.ledger, Options::default())?)
    }

    fn context(&self) -> Result<Chart, CliError> {
        let Study { trace, steps, selection, history, .. } = self.study;
        let session = self.session()?;
        let windows = windows(&self.ledger, steps, trace, session, WINDOW_KINDS)
            .ok_or(StudyError::NotSimulated("drawing contexts", "`billed`"))?;
        Ok(context_chart(history, selection, session, &windows))
    }

    /// Session with the highest cost.
    fn session(&self) -> Result<&'a Session, CliError> {
        let session = dearest_session(&self.ledger, &self.study.selection);
        Ok(session.ok_or(StudyError::NoRequest)?)
    }
}
