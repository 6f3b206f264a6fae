//! `cachesim config`.

use crate::cli::args::{ConfigArgs, ConfigCommand, DocumentFormat};
use crate::cli::configuration::effective;
use crate::cli::error::CliError;
use crate::cli::output::Output;
use crate::explain::config::Configuration;
use crate::report::{config_document, write_config};

/// The configuration in use.
pub(in crate::cli) fn config(
    args: &ConfigArgs,
    configuration: &Configuration,
) -> Result<(), CliError> {
    let ConfigCommand::Show { format, output, .. } = &args.command;
    let output = Output::open(output)?;
    let options = effective(configuration);
    match format {
        DocumentFormat::Table => output.text(&config_document(configuration, &options)),
        DocumentFormat::Markdown => output.markdown(&config_document(configuration, &options)),
        DocumentFormat::Json => output.write(|out| write_config(configuration, &options, out)),
    }
}
