//! Options of `watch`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use super::hook::dollars;
use super::{ColorArg, NamingArgs, PriceArgs};
use crate::base::Picodollars;
use crate::cli::span::span_in_millis;

const WATCH_EXAMPLES: &str = "\
Examples:
  cachesim watch
  cachesim watch ~/.claude/projects/-home-me-app --budget 20
  cachesim watch --once
  cachesim watch --jsonl | jq 'select(.event.kind == \"break\")'
  cachesim watch --exec 'jq -r .event.kind | mail -s cachesim me'

On a terminal it shows a table: for each open session whether its prompt is in the cache and for how long, what the next \
message costs now and once the cache has expired, what a summary (/compact) costs now and then, how much of the model's \
window the prompt fills (where that is known), and what the session cost with its sub-agents. Sub-agents whose prompt is in the cache have lines of \
their own. Below it stand breaks, as they happen, each with its cause. q, Esc or Ctrl-C ends it; the arrow \
keys, j and k, Page Up and Page Down scroll.

In a pipe, with --jsonl, and where TERM is dumb, it prints a line for each event: a session went on, a break, a cache that \
expired, a budget that is used up, a file that was shortened, replaced, rewritten or removed.

What a summary costs is estimated: it is taken to have 4,000 tokens. A break is told once; those that sessions had before are not. \
Nothing is written to disk.";

/// `watch`.
#[derive(Debug, Args)]
#[command(after_help = WATCH_EXAMPLES)]
pub(in crate::cli) struct WatchArgs {
    /// Files and folders [default: your sessions]
    ///
    /// Files, and folders (walked for *.jsonl and *.json) [default: what all agents keep at home; see sources]
    #[arg(value_name = "PATH")]
    pub(in crate::cli) paths: Vec<PathBuf>,
    /// Print each event as a line of JSON
    ///
    /// Print each event as a line of JSON (cachesim.event/v1)
    #[arg(long)]
    pub(in crate::cli) jsonl: bool,
    /// Print the open sessions, a line each, and end
    #[arg(long)]
    pub(in crate::cli) once: bool,
    /// Ring once today's sum is above this
    ///
    /// Report, and ring the terminal's bell, once watched sessions cost more than this today
    #[arg(long, value_name = "USD", value_parser = dollars, allow_negative_numbers = true)]
    pub(in crate::cli) budget: Option<Picodollars>,
    /// Run this in a shell at each event
    ///
    /// Run this in a shell at each event except that a session continued, with the event as a line of JSON as
    /// input. One runs at a time, for a minute at most, and its output is not shown
    #[arg(long, value_name = "COMMAND", value_parser = NonEmptyStringValueParser::new())]
    pub(in crate::cli) exec: Option<String>,
    /// Time a session stays open: 30m, 2h, 1d
    ///
    /// A session is open this long after its file changed, or while its prompt is cached: 30m, 2h, 1d
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = span_in_millis)]
    pub(in crate::cli) idle: i64,
    /// The time zone, such as Europe/Berlin
    ///
    /// The time zone in which the day begins and times are shown, such as Europe/Berlin [default: UTC]
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) timezone: Option<String>,
    /// Names of projects.
    #[command(flatten)]
    pub(in crate::cli) naming: NamingArgs,
    /// The prices.
    #[command(flatten)]
    pub(in crate::cli) prices: PriceArgs,
    /// Colours of the table
    #[arg(long, value_enum, default_value_t = ColorArg::Auto)]
    pub(in crate::cli) color: ColorArg,
}
