//! Options of the commands about the program: `config`, `completions`, `man`, `schema` and `strategies`, and
//! the choice of the configuration.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use clap_complete::Shell;

use super::{DocumentArgs, OutputArgs, WrittenArgs};

const CONFIG_NOTES: &str = "\
A value on the command line holds over the environment (CACHESIM_JOBS for --jobs), that over the \
project's file, that over the user's, and that over the program's default.";

// A constant instead of a doc comment: there the variable would need backticks, which help would show.
const CONFIG_HELP: &str = "\
The project's configuration [default: $CACHESIM_CONFIG, or the nearest cachesim.toml in this folder or \
above]";

/// Choice of configuration, for all commands.
#[derive(Debug, Args)]
#[command(next_help_heading = "Configuration")]
pub(in crate::cli) struct ConfigurationArgs {
    /// The project's configuration.
    #[arg(long, global = true, value_name = "FILE", help = CONFIG_HELP, hide_short_help = true)]
    pub(in crate::cli) config: Option<PathBuf>,
    /// Look for no configuration file, neither the project's nor the user's
    #[arg(long, global = true, hide_short_help = true)]
    pub(in crate::cli) no_config: bool,
}

/// `config`.
#[derive(Debug, Args)]
#[command(after_help = CONFIG_NOTES)]
pub(in crate::cli) struct ConfigArgs {
    /// Command.
    #[command(subcommand)]
    pub(in crate::cli) command: ConfigCommand,
}

/// `config …`.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ConfigCommand {
    /// Every option that can be configured, its value, and its origin
    Show {
        /// The document.
        #[command(flatten)]
        shown: DocumentArgs,
    },
}

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  cachesim completions bash -o ~/.local/share/bash-completion/completions/cachesim
  cachesim completions zsh -o ~/.zfunc/_cachesim
  cachesim completions fish -o ~/.config/fish/completions/cachesim.fish";

/// `completions`.
#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub(in crate::cli) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(in crate::cli) shell: Shell,
    /// The output.
    #[command(flatten)]
    pub(in crate::cli) output: WrittenArgs,
}

const MAN_EXAMPLES: &str = "\
Examples:
  cachesim man | man -l -
  cachesim man prices list -o cachesim-prices-list.1
  cachesim man --all ~/.local/share/man/man1";

/// `man`.
#[derive(Debug, Args)]
#[command(after_help = MAN_EXAMPLES)]
pub(in crate::cli) struct ManArgs {
    /// The command [default: the page of the program]
    #[arg(value_name = "COMMAND")]
    pub(in crate::cli) command: Vec<String>,
    /// Write every page into this folder
    ///
    /// Write every page into this folder, as cachesim-COMMAND.1
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["command", "output"])]
    pub(in crate::cli) all: Option<PathBuf>,
    /// The output.
    #[command(flatten)]
    pub(in crate::cli) output: WrittenArgs,
}

const SCHEMA_EXAMPLES: &str = "\
Examples:
  cachesim schema
  cachesim schema ledger -o ledger.schema.json
  cachesim schema --all schemas

Fields and words may be added within a version, so programs should not mind what they do not \
know.";

/// `schema`.
#[derive(Debug, Args)]
#[command(after_help = SCHEMA_EXAMPLES)]
pub(in crate::cli) struct SchemaArgs {
    /// The format [default: all are listed]
    #[arg(value_name = "NAME")]
    pub(in crate::cli) name: Option<String>,
    /// List all on a terminal; write every schema into FOLDER
    ///
    /// List all on a terminal, of any height; with a folder, write every schema into it, as NAME.schema.json
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, conflicts_with_all = ["name", "output"])]
    #[allow(clippy::option_option)] // not given, given alone, and given a folder
    pub(in crate::cli) all: Option<Option<PathBuf>>,
    /// The output.
    #[command(flatten)]
    pub(in crate::cli) output: WrittenArgs,
}

const SOURCES_EXAMPLES: &str = "\
Examples:
  cachesim sources
  cachesim sources --all
  cachesim analyze --source codex,pi --since 7d
  cachesim analyze --by source

CLAUDE_CONFIG_DIR, CODEX_HOME, COPILOT_HOME, PI_CODING_AGENT_DIR, OPENCLAW_STATE_DIR, GEMINI_CLI_HOME, \
KIMI_SHARE_DIR, KIMI_CODE_HOME, AMP_DATA_DIR, GROK_HOME, GOOSE_PATH_ROOT, OPENCODE_DB, XDG_DATA_HOME and XDG_CONFIG_HOME move \
places, as they do for the programs themselves.";

/// `sources`.
#[derive(Debug, Args)]
#[command(after_help = SOURCES_EXAMPLES)]
pub(in crate::cli) struct SourcesArgs {
    /// The document.
    #[command(flatten)]
    pub(in crate::cli) shown: DocumentArgs,
}

const STRATEGIES_EXAMPLES: &str = "\
Examples:
  cachesim strategies
  cachesim compare session.jsonl --strategy billed,5m,1h,compact-100k";

/// `strategies`.
#[derive(Debug, Args)]
#[command(after_help = STRATEGIES_EXAMPLES)]
pub(in crate::cli) struct StrategiesArgs {
    /// The output.
    #[command(flatten)]
    pub(in crate::cli) output: OutputArgs,
}
