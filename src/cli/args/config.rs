//! Which configuration is read, and the options of `config`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{DocumentFormat, JsonArgs, OutputArgs};

pub(super) const CONFIG_NOTES: &str = "\
A value on the command line holds over the environment (CACHESIM_JOBS for --jobs), that over the
project's file, that over the user's, and that over the program's default.";

// In words of the documentation the variable would have to stand in quotes, which help shows.
const CONFIG_HELP: &str = "\
The project's configuration [default: $CACHESIM_CONFIG, or the nearest cachesim.toml in this folder or \
above]";

/// Which configuration is read, of all commands.
#[derive(Debug, Args)]
#[command(next_help_heading = "Configuration")]
pub(in crate::cli) struct ConfigurationArgs {
    /// The project's configuration.
    #[arg(long, global = true, value_name = "FILE", help = CONFIG_HELP)]
    pub(in crate::cli) config: Option<PathBuf>,
    /// Look for no configuration file, neither the project's nor the user's
    #[arg(long, global = true)]
    pub(in crate::cli) no_config: bool,
}

/// `config`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ConfigArgs {
    /// What to do.
    #[command(subcommand)]
    pub(in crate::cli) command: ConfigCommand,
}

/// `config …`.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ConfigCommand {
    /// Every option that can be configured, its value, and where that comes from
    Show {
        /// The output format
        #[arg(long, value_enum, default_value_t = DocumentFormat::Table, default_value_if("json", "true", "json"))]
        format: DocumentFormat,
        /// Its short form.
        #[command(flatten)]
        _json: JsonArgs,
        /// The output.
        #[command(flatten)]
        output: OutputArgs,
    },
}
