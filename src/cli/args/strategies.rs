//! `strategies`.

use clap::Args;

use super::OutputArgs;

pub(super) const STRATEGIES_EXAMPLES: &str = "\
Examples:
  cachesim strategies
  cachesim compare session.jsonl --strategy billed,5m,1h,compact-100k";

/// `strategies`.
#[derive(Debug, Args)]
pub(in crate::cli) struct StrategiesArgs {
    /// The output.
    #[command(flatten)]
    pub(in crate::cli) output: OutputArgs,
}
