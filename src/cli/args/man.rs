//! The options of `man`.

use std::path::PathBuf;

use clap::Args;

use super::OutputArgs;

pub(super) const MAN_EXAMPLES: &str = "\
Examples:
  cachesim man | man -l -
  cachesim man prices list -o cachesim-prices-list.1
  cachesim man --all ~/.local/share/man/man1";

/// `man`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ManArgs {
    /// The command [default: the page of the program]
    #[arg(value_name = "COMMAND")]
    pub(in crate::cli) command: Vec<String>,
    /// Write every page into this folder, as cachesim-COMMAND.1
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["command", "output"])]
    pub(in crate::cli) all: Option<PathBuf>,
    /// The output.
    #[command(flatten)]
    pub(in crate::cli) output: OutputArgs,
}
