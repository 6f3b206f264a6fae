//! The options of `explain`.

use clap::Args;

use super::{
    DocumentFormats, FormatArgs, InputArgs, OutputArgs, RecordedBreaksArg, SimulationArgs,
    TokensArgs,
};

pub(super) const EXPLAIN_EXAMPLES: &str = "\
Examples:
  cachesim explain req_011CS session.jsonl
  cachesim explain session.jsonl:1207 session.jsonl
  cachesim explain 5e1f0000:12 --strategy billed,5m,1h,mixed --json

Turns are counted as `analyze --session` counts them. Of FILE:LINE the first request is meant whose answer
begins at that line or after it.";

const REQUEST_HELP: &str = "The request: its id or the beginning of it, FILE:LINE, or SESSION:TURN";

/// The strategies that a request is shown under by default.
const DEFAULT_EXPLAINED: &str = "billed,replay,5m,1h";

/// `explain`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ExplainArgs {
    /// The request.
    #[arg(value_name = "REQUEST", help = REQUEST_HELP)]
    pub(in crate::cli) request: String,
    /// The input.
    #[command(flatten)]
    pub(in crate::cli) input: InputArgs,
    /// The strategies: names, and files of strategies (*.toml)
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = DEFAULT_EXPLAINED)]
    pub(in crate::cli) strategy: Vec<String>,
    /// Whether counterfactuals keep the recorded breaks inside the TTL
    #[arg(long, value_enum, default_value_t = RecordedBreaksArg::Keep)]
    pub(in crate::cli) breaks: RecordedBreaksArg,
    /// Show names and words of captured prompts where they differ
    #[arg(long)]
    pub(in crate::cli) show_text: bool,
    /// How captured prompts are measured.
    #[command(flatten)]
    pub(in crate::cli) tokens: TokensArgs,
    /// The simulation.
    #[command(flatten)]
    pub(in crate::cli) simulation: SimulationArgs,
    /// The format.
    #[command(flatten)]
    pub(in crate::cli) format: FormatArgs<DocumentFormats>,
    /// The output.
    #[command(flatten)]
    pub(in crate::cli) output: OutputArgs,
}
