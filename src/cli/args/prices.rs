//! Options of `prices`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::DocumentArgs;

/// `prices`.
#[derive(Debug, Args)]
pub(in crate::cli) struct PricesArgs {
    /// The command.
    #[command(subcommand)]
    pub(in crate::cli) command: PricesCommand,
}

/// `prices …`.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum PricesCommand {
    /// All models with the prices of a day
    List {
        /// The day, as YYYY-MM-DD
        ///
        /// The day, as YYYY-MM-DD [default: the day the table was last checked]
        #[arg(long, value_name = "DATE")]
        at: Option<String>,
        /// The table and the output.
        #[command(flatten)]
        shared: PricesShared,
    },
    /// Take over new prices in the tables of LiteLLM or genai-prices
    Update(PricesUpdateArgs),
    /// Every price a model has or had
    Show {
        /// The model, by any of its names
        model: String,
        /// Only prices of this day, as YYYY-MM-DD
        #[arg(long, value_name = "DATE")]
        at: Option<String>,
        /// The table and the output.
        #[command(flatten)]
        shared: PricesShared,
    },
}

/// `prices update`.
#[derive(Debug, Args)]
#[command(after_help = PRICES_UPDATE_EXAMPLES)]
pub(in crate::cli) struct PricesUpdateArgs {
    /// The table of LiteLLM or of genai-prices, as JSON
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) from: PathBuf,
    /// First day of the prices, as YYYY-MM-DD
    ///
    /// First day of the new prices, as YYYY-MM-DD [default: today]
    #[arg(long, value_name = "DATE")]
    pub(in crate::cli) at: Option<String>,
    /// The file to write
    ///
    /// The file to write [default: prices.toml beside the user's configuration]
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) to: Option<PathBuf>,
    /// Show only the differences, and write nothing
    #[arg(long)]
    pub(in crate::cli) dry_run: bool,
    /// The document.
    #[command(flatten)]
    pub(in crate::cli) shown: DocumentArgs,
}

const PRICES_UPDATE_EXAMPLES: &str = "\
Examples:
  cachesim prices update --from model_prices_and_context_window.json --dry-run
  cachesim prices update --from data.json --at 2026-11-12

Requests before the day keep the prices that they had: such files tell what holds now. New models are \
those of services whose caches are known. What a file does not tell of a model stays. The file that \
is written has whole models; every command uses it in place of `prices` in a configuration, and \
--no-config leaves it out.";

/// Options of both commands.
#[derive(Debug, Args)]
pub(in crate::cli) struct PricesShared {
    /// Price files to lay over the built-in table
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) prices: Vec<PathBuf>,
    /// The document.
    #[command(flatten)]
    pub(in crate::cli) shown: DocumentArgs,
}
