//! The options of `completions`.

use clap::Args;
use clap_complete::Shell;

use super::OutputArgs;

pub(super) const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  cachesim completions bash -o ~/.local/share/bash-completion/completions/cachesim
  cachesim completions zsh -o ~/.zfunc/_cachesim
  cachesim completions fish -o ~/.config/fish/completions/cachesim.fish";

/// `completions`.
#[derive(Debug, Args)]
pub(in crate::cli) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(in crate::cli) shell: Shell,
    /// The output.
    #[command(flatten)]
    pub(in crate::cli) output: OutputArgs,
}
