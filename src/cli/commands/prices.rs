//! `cachesim prices`.

use jiff::civil::Date;

use crate::cli::args::{DocumentFormat, PlatformArg, PricesArgs, PricesCommand, PricesShared};
use crate::cli::error::CliError;
use crate::cli::limits::day;
use crate::cli::output::Output;
use crate::cli::prepared::{price_table, unknown_model};
use crate::report::{model_document, models_document, models_json};

/// The prices in use.
pub(in crate::cli) fn prices(args: &PricesArgs) -> Result<(), CliError> {
    match &args.command {
        PricesCommand::List { at, shared } => list(at.as_deref(), shared),
        PricesCommand::Show { model, at, shared } => show(model, at.as_deref(), shared),
    }
}

fn list(at: Option<&str>, shared: &PricesShared) -> Result<(), CliError> {
    let table = price_table(&shared.prices, PlatformArg::Auto)?;
    let at = given_day(at)?.map_or_else(|| day(&table.as_of, "as_of"), Ok)?;
    let output = Output::open(&shared.output)?;
    let document = || models_document(&table, at);
    match shared.format {
        DocumentFormat::Table => output.text(&document()),
        DocumentFormat::Markdown => output.markdown(&document()),
        DocumentFormat::Json => {
            output.write(|out| models_json(&table, table.models(), Some(at), out))
        }
    }
}

fn show(name: &str, at: Option<&str>, shared: &PricesShared) -> Result<(), CliError> {
    let table = price_table(&shared.prices, PlatformArg::Auto)?;
    let at = given_day(at)?;
    let model = table.find(name).ok_or_else(|| unknown_model(&table, name))?;
    let output = Output::open(&shared.output)?;
    let document = || model_document(model, at);
    match shared.format {
        DocumentFormat::Table => output.text(&document()),
        DocumentFormat::Markdown => output.markdown(&document()),
        DocumentFormat::Json => {
            output.write(|out| models_json(&table, std::iter::once(model), at, out))
        }
    }
}

fn given_day(at: Option<&str>) -> Result<Option<Date>, CliError> {
    at.map(|at| day(at, "--at")).transpose()
}
