//! The price table of a run.

use std::fs;
use std::path::PathBuf;

use super::args::PlatformArg;
use super::error::CliError;
use super::output::say;
use crate::base::model::Platform;
use crate::base::nearest::{nearest, suggestion};
use crate::report::{counted, terminal_safe};
use crate::simulate::ledger::{Ledger, Selection};
use crate::simulate::pricing::PriceTable;

/// The built-in table with files laid over it, the last on top.
pub(super) fn price_table(
    files: &[PathBuf],
    platform: PlatformArg,
) -> Result<PriceTable, CliError> {
    let mut table = PriceTable::built_in();
    table.platform = match platform {
        PlatformArg::Auto => None,
        PlatformArg::Global => Some(Platform::Global),
        PlatformArg::Regional => Some(Platform::Regional),
    };
    for path in files {
        let text = fs::read_to_string(path)
            .map_err(|source| CliError::PriceFile { path: path.clone(), source })?;
        table.overlay(&text, &path.display().to_string())?;
    }
    Ok(table)
}

/// A model that was asked for by name has no price.
pub(super) fn unknown_model(table: &PriceTable, name: &str) -> CliError {
    let near = suggestion(&nearest(name, table.models().map(|model| model.id.as_str())));
    CliError::Usage(format!(
        "no price for `{name}` in {}{near}; `cachesim prices list` names all, and --prices FILE adds \
         others",
        table.id
    ))
}

/// Names the models whose cost is unknown.
pub(super) fn check_prices(
    ledger: &Ledger<'_>,
    selection: &Selection,
    strict: bool,
    quiet: bool,
) -> Result<(), CliError> {
    let unpriced = ledger.unpriced_models(selection.requests());
    if unpriced.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = unpriced
        .iter()
        .map(|(model, requests)| {
            let requests = counted(*requests as u64, "request", "requests");
            format!("{} ({requests})", terminal_safe(model))
        })
        .collect();
    let names = names.join(", ");
    if strict {
        return Err(CliError::NoPrice(names));
    }
    if !quiet {
        say(&format!(
            "no price for {names}: its cost is unknown and in no total; --prices FILE gives one"
        ));
    }
    Ok(())
}
