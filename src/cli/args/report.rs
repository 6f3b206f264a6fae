//! The options of `report`.

use clap::Args;

use super::compare::DEFAULT_COMPARED;
use super::{InputArgs, OutputArgs, ReadingArg, RecordedBreaksArg, SimulationArgs, TokensArgs};

pub(super) const REPORT_EXAMPLES: &str = "\
Examples:
  cachesim report -o report.html
  cachesim report session.jsonl -o report.html
  cachesim report ~/.claude/projects --since 2026-07-01 --strategy billed,5m,1h -o july.html

The page says first what was spent, what of it was avoidable and what to change; then \
strategies, sessions turn by turn, breaks with their evidence, how far the rules can be trusted, \
and prices. The first strategy is the one that the others are compared with. The page needs no \
network and holds no text of prompts unless --show-text is given.";

/// `report`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ReportArgs {
    /// The input.
    #[command(flatten)]
    pub(in crate::cli) input: InputArgs,
    /// The strategies: names, and files of strategies (*.toml)
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = DEFAULT_COMPARED)]
    pub(in crate::cli) strategy: Vec<String>,
    /// How long an entry lives that was written after one of a shorter TTL
    #[arg(long, value_enum, default_value_t = ReadingArg::Conservative)]
    pub(in crate::cli) reading: ReadingArg,
    /// Whether counterfactuals keep the recorded breaks inside the TTL
    #[arg(long, value_enum, default_value_t = RecordedBreaksArg::Keep)]
    pub(in crate::cli) breaks: RecordedBreaksArg,
    /// Show titles of sessions, and names and words of captured prompts where they differ
    #[arg(long)]
    pub(in crate::cli) show_text: bool,
    /// How captured prompts are measured.
    #[command(flatten)]
    pub(in crate::cli) tokens: TokensArgs,
    /// The simulation.
    #[command(flatten)]
    pub(in crate::cli) simulation: SimulationArgs,
    /// The output.
    #[command(flatten)]
    pub(in crate::cli) output: OutputArgs,
}
