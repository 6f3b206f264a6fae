//! Options of `compare`.

use clap::Args;

use super::format::CompareFormats;
use super::{FormatArgs, PolicyArgs, RunArgs};

const COMPARE_EXAMPLES: &str = "\
Examples:
  cachesim compare session.jsonl
  cachesim compare ~/.claude/projects --strategy billed,5m,1h,cheapest-layout,cheapest-pings
  cachesim compare sessions/ --strategy 5m,strategies.toml --format json -o compare.json
  cachesim compare sessions/ --strategy billed,1h --fail-if '1h.cost > billed.cost * 1.05'

The first strategy is the one that the others are compared with; `cachesim strategies` names \
them all. A strategy file is TOML (cachesim.strategy/v1); lists of values in it are swept.

An expression compares numbers: STRATEGY.METRIC (cost, read, written, input, output, hit_rate, \
requests, added_requests, gap), decimals, percentages, + - * /, and, or, not.";

pub(super) const DEFAULT_COMPARED: &str = "billed,replay,none,5m,1h,mixed,optimal";

/// `compare`.
pub(in crate::cli) type CompareArgs = RunArgs<CompareOptions, FormatArgs<CompareFormats>>;

/// Options that only `compare` has.
#[derive(Debug, Args)]
#[command(after_help = COMPARE_EXAMPLES)]
pub(in crate::cli) struct CompareOptions {
    /// Strategies: names, and files (*.toml)
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = DEFAULT_COMPARED)]
    pub(in crate::cli) strategy: Vec<String>,
    /// Also under the caches of these providers
    ///
    /// Also put the requests under other providers' caches, in their tokens and prices: as sent, for the longer
    /// lifetime, with the best placement of markers and as strategies place them, at the least possible, and within
    /// what is not documented. There are openai, openai-24h, openai-5.6, deepseek, gemini, gemini-explicit, kimi,
    /// kimi-k3, minimax, glm, xai, qwen, qwen-explicit; `own` is the service that answered each request. Codex
    /// rollouts in the input are held against the rules
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(in crate::cli) provider: Vec<String>,
    /// Exit with 1 if this is true
    ///
    /// Exit with 1 if this is true, such as '1h.cost > billed.cost * 1.05'
    #[arg(long, value_name = "EXPR")]
    pub(in crate::cli) fail_if: Vec<String>,
    /// Assumptions about strategies.
    #[command(flatten)]
    pub(in crate::cli) policy: PolicyArgs,
}
