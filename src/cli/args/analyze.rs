//! Options of `analyze`.

use clap::{Args, ValueEnum};

use super::format::{AnalyzeFormats, FormatArgs};
use super::shared::{
    DEFAULT_STRATEGIES, DomainArgs, GroupingArg, InputArgs, OutputArgs, RecordedBreaksArg,
    SimulationArgs, whole,
};
use crate::report::TurnDetail;

pub(super) const ANALYZE_EXAMPLES: &str = "\
Examples:
  cachesim analyze session.jsonl
  cachesim analyze ~/.claude/projects --since 2026-07-01 --strategy billed,5m,1h,mixed
  cachesim analyze --since 7d --by day
  cachesim analyze --by project --timezone Europe/Berlin --json
  cachesim analyze session.jsonl --format jsonl -o ledger.jsonl
  zstdcat old.jsonl.zst | cachesim analyze - --format json";

/// `analyze`.
#[derive(Debug, Args)]
pub(in crate::cli) struct AnalyzeArgs {
    /// The input.
    #[command(flatten)]
    pub(in crate::cli) input: InputArgs,
    /// The domains.
    #[command(flatten)]
    pub(in crate::cli) domains: DomainArgs,
    /// Strategies: names, and files (*.toml)
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = DEFAULT_STRATEGIES)]
    pub(in crate::cli) strategy: Vec<String>,
    /// One row for each day, project, model, …
    ///
    /// One row for each day, project, model and so on, in place of sessions and turns
    #[arg(long, value_enum, value_name = "GROUP")]
    pub(in crate::cli) by: Option<GroupingArg>,
    /// Number of sessions or groups
    ///
    /// Number of sessions, groups of --by or domains in the tables, the most expensive first; --turns selects
    /// the turns of a session [default: 20 sessions or domains, all groups]
    #[arg(long, value_name = "N", value_parser = whole::<usize>(1, u64::MAX))]
    pub(in crate::cli) top: Option<usize>,
    /// Show the titles of sessions
    #[arg(long)]
    pub(in crate::cli) show_text: bool,
    /// Keep or drop recorded breaks inside the TTL in counterfactuals
    #[arg(long, value_enum, hide = true, default_value_t = RecordedBreaksArg::Keep)]
    pub(in crate::cli) breaks: RecordedBreaksArg,
    /// The simulation.
    #[command(flatten)]
    pub(in crate::cli) simulation: SimulationArgs,
    /// Turns to list: all, events or none
    ///
    /// Turns that the table shows [default: in a terminal the events of long sessions, else all]
    #[arg(long, value_enum)]
    pub(in crate::cli) turns: Option<TurnsArg>,
    /// Show tokens in all their digits
    ///
    /// Show the tokens of turns in all their digits; the other formats always do
    #[arg(long)]
    pub(in crate::cli) exact: bool,
    /// The format.
    #[command(flatten)]
    pub(in crate::cli) format: FormatArgs<AnalyzeFormats>,
    /// The output.
    #[command(flatten)]
    pub(in crate::cli) output: OutputArgs,
}

/// Strategies that groups show by default.
const GROUPED_STRATEGIES: [&str; 3] = ["billed", "5m", "1h"];

impl AnalyzeArgs {
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum TurnsArg {
    /// Each turn
    All,
    /// Breaks, expiries, compactions and the most expensive turns; the others by runs
    Events,
    /// No turns
    None,
}

impl TurnsArg {
    pub(in crate::cli) fn detail(self) -> TurnDetail {
        match self {
            Self::All => TurnDetail::All,
            Self::Events => TurnDetail::Events,
            Self::None => TurnDetail::None,
        }
    }
}
