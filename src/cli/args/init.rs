//! Options of `init`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

const INIT_EXAMPLES: &str = "\
Examples:
  cachesim redact ~/.claude/projects -o sessions
  cachesim init
  cachesim init captures --yes
  cachesim init sessions --ci none --yes

It writes cachesim.toml (what is read, and budgets: today's figures with room), baseline.json (the figures that later \
changes are held against) and .github/workflows/cachesim.yml (the check of each pull request, with a comment; a build \
that knows no release needs cachesim's sources in .github/actions/cachesim, or --ci none). \
A file that is there stays as it is, and nothing is written then.";

/// `init`. No configuration applies, as CI has none of the user's: its options have own names.
#[derive(Debug, Args)]
#[command(after_help = INIT_EXAMPLES)]
pub(in crate::cli) struct InitArgs {
    /// Recorded sessions and captured requests in this folder
    ///
    /// The recorded sessions and captured requests of this project, in this folder or below it
    #[arg(value_name = "PATH", default_value = "sessions")]
    pub(in crate::cli) sessions: Vec<PathBuf>,
    /// Price files to lay over the built-in table
    ///
    /// Prices laid over the built-in ones, as in check; they become part of the configuration
    #[arg(long = "prices", value_name = "FILE")]
    pub(in crate::cli) own_prices: Vec<PathBuf>,
    /// Write the files without asking
    #[arg(short, long, alias = "apply")]
    pub(in crate::cli) yes: bool,
    /// Show the files, and write nothing
    #[arg(long, conflicts_with = "yes")]
    pub(in crate::cli) dry_run: bool,
    /// Place of the check
    #[arg(long, value_enum, default_value_t = CiArg::Github)]
    pub(in crate::cli) ci: CiArg,
}

/// `--ci`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum CiArg {
    /// GitHub Actions
    Github,
    /// Elsewhere: no workflow is written
    None,
}
