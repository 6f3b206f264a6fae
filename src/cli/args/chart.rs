//! Options of `chart` and `report`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use std::ops::Deref;

use super::compare::DEFAULT_COMPARED;
use super::{Choice, Choices, FLEET, NOT_OF_A_RUN, PolicyArgs, RunArgs, whole};
use crate::report::Theme;

const CHART_EXAMPLES: &str = "\
Examples:
  cachesim chart turns session.jsonl -o turns.svg
  cachesim chart turns session.jsonl --strategy billed,5m,1h -o turns.svg
  cachesim chart cost ~/.claude/projects --strategy billed,5m,1h,optimal -o cost.png
  cachesim chart gaps ~/.claude/projects --since 2026-07-01 -o gaps.svg
  cachesim chart context sessions/ --session 5e1f -o context.png --theme dark

turns and context show one session: of several the one that cost most, or the one that --session \
names.";

const REPORT_EXAMPLES: &str = "\
Examples:
  cachesim report -o report.html
  cachesim report session.jsonl -o report.html
  cachesim report ~/.claude/projects --since 2026-07-01 --strategy billed,5m,1h -o july.html
  cachesim report --run parts/manifest.json -o organisation.html

The page says first what was spent, what of it was avoidable and what to change; then \
strategies, sessions turn by turn, breaks with their evidence, how far the rules can be trusted, \
and prices. The first strategy is the one that the others are compared with. The page needs no \
network and holds no text of prompts unless --show-text is given.";

/// Strategies of `compare` without `none`: next to the cost without any caching, the others could not be told
/// apart.
const DEFAULT_DRAWN: &str = "billed,replay,5m,1h,mixed,optimal";

/// `chart`.
#[derive(Debug, Args)]
#[command(after_help = CHART_EXAMPLES)]
pub(in crate::cli) struct ChartArgs {
    /// The chart
    #[arg(value_enum)]
    pub(in crate::cli) kind: ChartKindArg,
    /// Options of a command over requests.
    #[command(flatten)]
    pub(in crate::cli) run: RunArgs<ChartOptions, ()>,
}

impl ChartArgs {
    /// Output format of the picture.
    pub(in crate::cli) fn picture_format(&self) -> ChartFormat {
        let is_png = |name: &std::ffi::OsStr| name.eq_ignore_ascii_case("png");
        let by_name = match self.output.output.extension() {
            Some(name) if is_png(name) => ChartFormat::Png,
            _ => ChartFormat::Svg,
        };
        self.own.format.unwrap_or(by_name)
    }
}

impl Deref for ChartArgs {
    type Target = RunArgs<ChartOptions, ()>;

    fn deref(&self) -> &Self::Target {
        &self.run
    }
}

/// Options that only `chart` has.
#[derive(Debug, Args)]
pub(in crate::cli) struct ChartOptions {
    /// Strategies of cost, strategies and turns
    ///
    /// Strategies that cost, strategies and turns show, and no other chart: names, and files of strategies
    /// (*.toml); turns shows billed unless others are named, each in a panel of its own
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = DEFAULT_DRAWN)]
    pub(in crate::cli) strategy: Vec<String>,
    /// Assumptions about strategies.
    #[command(flatten)]
    pub(in crate::cli) policy: PolicyArgs,
    /// Format of the picture: svg or png
    ///
    /// Format of the picture [default: by the output's name, else svg]
    #[arg(long, value_enum)]
    pub(in crate::cli) format: Option<ChartFormat>,
    /// Ground: auto, light or dark
    ///
    /// Ground: auto follows the reader of an SVG, and is light in a PNG
    #[arg(long, value_parser = Choices(THEMES), default_value = THEMES[0].0)]
    pub(in crate::cli) theme: Theme,
    /// Pixels of a PNG for each of the SVG's
    ///
    /// Pixels of a PNG for one of the SVG's 1,200 in width
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = whole::<u8>(1, 4))]
    pub(in crate::cli) scale: u8,
}

impl ChartOptions {
    /// Strategies of the turns chart, if the user named any.
    pub(in crate::cli) fn strategies_of_turns(&self) -> Option<&[String]> {
        (self.strategy.join(",") != DEFAULT_DRAWN).then_some(&self.strategy)
    }
}

/// `report`.
pub(in crate::cli) type ReportArgs = RunArgs<ReportOptions, ()>;

/// Options that only `report` has.
#[derive(Debug, Args)]
#[command(after_help = REPORT_EXAMPLES)]
pub(in crate::cli) struct ReportOptions {
    /// Report a run of the fleet instead of sessions
    ///
    /// Report the rows of a run instead of sessions: the manifest that gather wrote. Rows hold neither prompts nor what
    /// lies between requests, so the page lacks what needs these. Options that choose or simulate sessions do not apply
    #[arg(
        long,
        value_name = "MANIFEST",
        help_heading = FLEET,
        hide_short_help = true,
        conflicts_with_all = NOT_OF_A_RUN,
        conflicts_with_all = ["reading", "breaks", "show_text"]
    )]
    pub(in crate::cli) run: Option<PathBuf>,
    /// Strategies: names, and files (*.toml)
    ///
    /// Strategies: names, and files of strategies (*.toml); with --run those of the run [default of a run:
    /// all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = DEFAULT_COMPARED)]
    pub(in crate::cli) strategy: Vec<String>,
    /// Assumptions about strategies.
    #[command(flatten)]
    pub(in crate::cli) policy: PolicyArgs,
    /// Show titles, and words of captured prompts
    ///
    /// Show titles of sessions, and names and words of captured prompts where they differ
    #[arg(long)]
    pub(in crate::cli) show_text: bool,
}

impl ReportOptions {
    /// Strategies, if the user named any.
    pub(in crate::cli) fn asked_strategies(&self) -> Option<&[String]> {
        (self.strategy.join(",") != DEFAULT_COMPARED).then_some(&self.strategy)
    }
}

/// Kinds of charts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum ChartKindArg {
    /// Reads, writes and full input of each request of a session; breaks with causes
    Turns,
    /// Dollars added up, by strategy
    #[value(alias = "costs")]
    Cost,
    /// Times between requests, and the cost of breaks after them
    Gaps,
    /// Cost of strategies, and the bound `optimal`
    Strategies,
    /// Cost of breaks, by cause
    Breaks,
    /// Content of a session's context window, request by request
    Context,
    /// Cost of each day, or from nine weeks on each week, by class of token
    #[value(alias = "days")]
    Daily,
    /// From the actual cost to the best caching, step by step: breaks, lifetimes, the rest
    Waterfall,
}

/// Formats of `chart`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum ChartFormat {
    /// For pages and reviews; sharp at every size
    Svg,
    /// For chats and slides
    Png,
}

/// `--theme`.
const THEMES: &[Choice<Theme>] = &[
    ("auto", "The reader's", Theme::Auto),
    ("light", "Light ground", Theme::Light),
    ("dark", "Dark ground", Theme::Dark),
];
