//! The options of `hook`.

use clap::Args;

use super::LookingArgs;
use crate::base::units::Picodollars;

pub(super) const HOOK_EXAMPLES: &str = "\
Examples:
  cachesim hook < event.json
  cachesim hook --at-least 1.00

Examples: in ~/.claude/settings.json, for each event that it knows
  \"hooks\": {
    \"SessionStart\":
      [{\"hooks\": [{\"type\": \"command\", \"command\": \"cachesim hook\"}]}],
    \"UserPromptSubmit\":
      [{\"hooks\": [{\"type\": \"command\", \"command\": \"cachesim hook\"}]}],
    \"PreCompact\":
      [{\"hooks\": [{\"type\": \"command\", \"command\": \"cachesim hook\"}]}],
    \"Stop\":
      [{\"hooks\": [{\"type\": \"command\", \"command\": \"cachesim hook\"}]}]
  }

SessionStart warns where a session is resumed whose prompt is not in the cache any more, UserPromptSubmit before a message \
and PreCompact before a summary that find nothing there, Stop once after a break of the main conversation. Claude Code \
shows it to the user alone: no prompt changes by it. Other events say nothing.

A failure is told on stderr with exit code 1, never 2, which would stop Claude Code.

What was read is kept in the cache folder (XDG_CACHE_HOME), together with what statusline keeps.";

/// `hook`.
#[derive(Debug, Args)]
pub(in crate::cli) struct HookArgs {
    /// Warn only of what costs so many dollars more than reading from the cache
    #[arg(long, value_name = "USD", default_value = "0.10", value_parser = dollars)]
    pub(in crate::cli) at_least: Picodollars,
    /// The prices.
    #[command(flatten)]
    pub(in crate::cli) looking: LookingArgs,
}

fn dollars(text: &str) -> Result<Picodollars, String> {
    let amount: Result<Picodollars, _> = text.parse();
    let amount = amount.ok().filter(|amount| *amount >= Picodollars::ZERO);
    amount.ok_or_else(|| "expected an amount of dollars such as 0.10".to_owned())
}
