//! Options of `blocks`.

use clap::Args;

use super::{Choice, Choices, RunArgs, whole};
use crate::explain::blocks::BlockLength;

const BLOCKS_EXAMPLES: &str = "\
Examples:
  cachesim blocks
  cachesim blocks --since 7d --timezone Europe/Berlin
  cachesim blocks --window week --top 4
  cachesim blocks ~/.codex/sessions --json

A window begins with the first request after the one before has ended: Anthropic's at whole ten minutes (whole hours \
until April 2026), OpenAI's with the request. Ends that sessions record count before that: Codex's do, and what Claude \
Code tells its status line where that is kept (docs/sources.md says how). Which window is open is told by the clock, or \
by SOURCE_DATE_EPOCH.";

/// `blocks`.
pub(in crate::cli) type BlocksArgs = RunArgs<BlocksOptions>;

/// Options that only `blocks` has.
#[derive(Debug, Args)]
#[command(after_help = BLOCKS_EXAMPLES)]
pub(in crate::cli) struct BlocksOptions {
    /// Only windows of this length: 5h or week
    ///
    /// Only windows of this length [default: both]
    #[arg(long, value_parser = Choices(WINDOWS), value_name = "LENGTH")]
    window: Option<BlockLength>,
    /// Number of windows and kinds of content
    ///
    /// Number of windows in the tables, the newest ones, and of kinds of content
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = whole::<u16>(1, u16::MAX.into()))]
    pub(in crate::cli) top: u16,
}

impl BlocksOptions {
    /// Lengths of the windows.
    pub(in crate::cli) fn lengths(&self) -> Vec<BlockLength> {
        self.window.map_or_else(|| BlockLength::ALL.to_vec(), |length| vec![length])
    }
}

/// `--window`.
const WINDOWS: &[Choice<BlockLength>] =
    &[("5h", "Five hours", BlockLength::FiveHours), ("week", "Seven days", BlockLength::Week)];
