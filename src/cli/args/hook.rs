//! Options of `hook`.

use clap::Args;

use super::PriceArgs;
use super::statusline::SetupArgs;
use crate::base::Picodollars;

const HOOK_EXAMPLES: &str = "\
Examples:
  cachesim hook < event.json
  cachesim hook --at-least 1.00
  cachesim hook --install
  cachesim hook --install --yes

--install shows what it adds to the hooks of ~/.claude/settings.json, and adds it if you agree; other hooks and every other \
byte stay, and --undo takes it back.

SessionStart warns where a session is resumed whose prompt is not in the cache any more, UserPromptSubmit before a message \
and PreCompact before a summary that find nothing there, Stop once after a break that is no summary. Claude Code \
shows it to the user alone: no prompt changes by it. Other events say nothing.

A failure is told on stderr, and never ends with exit code 2, with which Claude Code would stop what it is doing.

What was read is kept in the cache folder (XDG_CACHE_HOME), together with what statusline keeps.";

/// `hook`.
#[derive(Debug, Args)]
#[command(after_help = HOOK_EXAMPLES)]
pub(in crate::cli) struct HookArgs {
    /// Warn from this many dollars on
    ///
    /// Warn only of a cost this many dollars above that of reading from the cache
    #[arg(long, value_name = "USD", default_value = LEAST, value_parser = dollars, conflicts_with = "undo")]
    pub(in crate::cli) at_least: Picodollars,
    /// The prices.
    #[command(flatten)]
    pub(in crate::cli) prices: PriceArgs,
    /// The settings.
    #[command(flatten)]
    pub(in crate::cli) setup: SetupArgs,
}

/// Least amount for a warning, in dollars, by default.
pub(in crate::cli) const LEAST: &str = "0.10";

pub(super) fn dollars(text: &str) -> Result<Picodollars, String> {
    let amount: Result<Picodollars, _> = text.parse();
    let amount = amount.ok().filter(|amount| *amount >= Picodollars::ZERO);
    amount.ok_or_else(|| "expected an amount of dollars such as 0.10".to_owned())
}
