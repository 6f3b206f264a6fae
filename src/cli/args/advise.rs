//! The options of `advise`.

use clap::Args;
use clap::builder::RangedU64ValueParser;

use super::{
    DocumentFormat, InputArgs, JsonArgs, OutputArgs, ReadingArg, SimulationArgs, TokensArgs,
};

pub(super) const ADVISE_EXAMPLES: &str = "\
Examples:
  cachesim advise
  cachesim advise session.jsonl --top 3
  cachesim advise ~/.claude/projects --since 2026-07-01 --format json -o advice.json

Each change is simulated on top of those before it, so the savings add up to what all save together.";

/// `advise`.
#[derive(Debug, Args)]
pub(in crate::cli) struct AdviseArgs {
    /// The input.
    #[command(flatten)]
    pub(in crate::cli) input: InputArgs,
    /// How many changes to list (tables)
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    pub(in crate::cli) top: usize,
    /// How long an entry lives that was written after one of a shorter TTL
    #[arg(long, value_enum, default_value_t = ReadingArg::Conservative)]
    pub(in crate::cli) reading: ReadingArg,
    /// How captured prompts are measured.
    #[command(flatten)]
    pub(in crate::cli) tokens: TokensArgs,
    /// The simulation.
    #[command(flatten)]
    pub(in crate::cli) simulation: SimulationArgs,
    /// The output format
    #[arg(long, value_enum, default_value_t = DocumentFormat::Table, default_value_if("json", "true", "json"))]
    pub(in crate::cli) format: DocumentFormat,
    /// Its short form.
    #[command(flatten)]
    _json: JsonArgs,
    /// The output.
    #[command(flatten)]
    pub(in crate::cli) output: OutputArgs,
}
