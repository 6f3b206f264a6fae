//! Command `cachesim mcp`.

use crate::cli::CliError;
use crate::cli::args::{ConfigurationArgs, McpArgs};

/// Answers a client of the Model Context Protocol, until it leaves.
#[cfg(feature = "mcp")]
pub(in crate::cli) fn mcp(
    args: &McpArgs,
    configuration: &ConfigurationArgs,
) -> Result<(), CliError> {
    crate::cli::serving::serve(&args.folders, configuration)
}

#[cfg(not(feature = "mcp"))]
pub(in crate::cli) fn mcp(_: &McpArgs, _: &ConfigurationArgs) -> Result<(), CliError> {
    Err(CliError::NotBuilt { what: "mcp", feature: "mcp" })
}
