//! Options of `analyze`.

use std::ops::Deref;

use clap::Args;

use super::format::AnalyzeFormats;
use super::{Choice, Choices, DEFAULT_STRATEGIES, FormatArgs, RecordedBreaksArgs, RunArgs, whole};
use crate::explain::analysis::{Grouping, PeriodLength};
use crate::report::TurnDetail;

const ANALYZE_EXAMPLES: &str = "\
Examples:
  cachesim analyze session.jsonl
  cachesim analyze ~/.claude/projects --since 2026-07-01 --strategy billed,5m,1h,mixed
  cachesim analyze --since 7d --by day
  cachesim analyze --by project --timezone Europe/Berlin --json
  cachesim analyze session.jsonl --format jsonl -o ledger.jsonl
  zstdcat old.jsonl.zst | cachesim analyze - --format json";

/// `analyze`.
pub(in crate::cli) type AnalyzeArgs = RunArgs<AnalyzeOptions, TurnsArgs>;

/// Options that only `analyze` has.
#[derive(Debug, Args)]
#[command(after_help = ANALYZE_EXAMPLES)]
pub(in crate::cli) struct AnalyzeOptions {
    /// Strategies: names, and files (*.toml)
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = DEFAULT_STRATEGIES)]
    pub(in crate::cli) strategy: Vec<String>,
    /// One row for each day, project, model, …
    ///
    /// One row for each day, project, model and so on, in place of sessions and turns
    #[arg(long, value_parser = Choices(GROUPINGS), value_name = "GROUP")]
    pub(in crate::cli) by: Option<Grouping>,
    /// Number of sessions or groups
    ///
    /// Number of sessions, groups of --by or domains in the tables, the most expensive first; --turns selects
    /// the turns of a session [default: 20 sessions or domains, all groups]
    #[arg(long, value_name = "N", value_parser = whole::<usize>(1, u64::MAX))]
    pub(in crate::cli) top: Option<usize>,
    /// Show the titles of sessions
    #[arg(long)]
    pub(in crate::cli) show_text: bool,
    /// Recorded breaks.
    #[command(flatten)]
    pub(in crate::cli) breaks: RecordedBreaksArgs,
}

/// Options of the turns, and the format.
#[derive(Debug, Args)]
pub(in crate::cli) struct TurnsArgs {
    /// Turns to list: all, events or none
    ///
    /// Turns that the table shows [default: in a terminal the events of long sessions, else all]
    #[arg(long, value_parser = Choices(TURNS))]
    pub(in crate::cli) turns: Option<TurnDetail>,
    /// Show tokens in all their digits
    ///
    /// Show the tokens of turns in all their digits; the other formats always do
    #[arg(long)]
    pub(in crate::cli) exact: bool,
    /// The format.
    #[command(flatten)]
    pub(in crate::cli) format: FormatArgs<AnalyzeFormats>,
}

impl Deref for TurnsArgs {
    type Target = FormatArgs<AnalyzeFormats>;

    fn deref(&self) -> &Self::Target {
        &self.format
    }
}

/// Strategies that groups show by default.
const GROUPED_STRATEGIES: [&str; 3] = ["billed", "5m", "1h"];

impl AnalyzeOptions {
    /// Strategies to show: fewer for groups if the user named none.
    pub(in crate::cli) fn strategies(&self) -> Vec<String> {
        // The default is known by its words, so typing it has the same effect.
        if self.by.is_some() && self.strategy.join(",") == DEFAULT_STRATEGIES {
            return GROUPED_STRATEGIES.map(str::to_owned).to_vec();
        }
        self.strategy.clone()
    }
}

/// `--turns`.
const TURNS: &[Choice<TurnDetail>] = &[
    ("all", "Each turn", TurnDetail::All),
    (
        "events",
        "Breaks, expiries, compactions and the most expensive turns; the others by runs",
        TurnDetail::Events,
    ),
    ("none", "No turns", TurnDetail::None),
];

/// `--by`.
const GROUPINGS: &[Choice<Grouping>] = &[
    ("day", "The day of the answer", Grouping::Period(PeriodLength::Day)),
    ("week", "The ISO week, from Monday on", Grouping::Period(PeriodLength::Week)),
    ("month", "The month", Grouping::Period(PeriodLength::Month)),
    ("project", "The folder of the project", Grouping::Project),
    ("model", "The model that is billed", Grouping::Model),
    ("agent-type", "The main conversation and the types of sub-agents", Grouping::AgentType),
    ("branch", "The branch of the project's repository", Grouping::Branch),
    ("session", "The session", Grouping::Session),
    ("client", "The client's version", Grouping::Client),
    ("source", "The program that sent the requests", Grouping::Source),
];
