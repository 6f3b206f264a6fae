//! `cachesim mcp`.

use crate::cli::args::{ConfigurationArgs, McpArgs};
use crate::cli::error::CliError;
use crate::cli::serving;

/// Answers a client of the Model Context Protocol, until it goes.
pub(in crate::cli) fn mcp(
    args: &McpArgs,
    configuration: &ConfigurationArgs,
) -> Result<(), CliError> {
    serving::serve(&args.folders, configuration)
}
