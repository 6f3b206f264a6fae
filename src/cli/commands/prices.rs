//! Commands about prices.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::civil::Date;

use crate::cli::args::{
    ColorArg, DocumentArgs, Json, PricesArgs, PricesCommand, PricesShared, PricesUpdateArgs,
};
use crate::cli::configuration::user_prices;
use crate::cli::limits::{day, today};
use crate::cli::output_file::folder_of;
use crate::cli::prepared::unknown_model;
use crate::cli::{CliError, Output, shown_path, tables};
use crate::read::input::{MOST_REPORT, read_text};
use crate::report::{
    UpdateView, WRITTEN_BY, model_document, models_document, models_json, price_changes_document,
    write_price_changes, write_price_file,
};
use crate::simulate::pricing::{ModelPrices, PriceTable, PriceUpdate};
use crate::simulate::provider::rules_of;

/// Shows the prices in use.
pub(in crate::cli) fn prices(args: &PricesArgs) -> Result<(), CliError> {
    match &args.command {
        PricesCommand::List { at, shared } => list(at.as_deref(), shared),
        PricesCommand::Show { model, at, shared } => show(model, at.as_deref(), shared),
        PricesCommand::Update(args) => update(args),
    }
}

fn list(at: Option<&str>, shared: &PricesShared) -> Result<(), CliError> {
    let (table, _) = tables(&shared.prices, None)?;
    let at = given_day(at)?.map_or_else(|| day(&table.as_of, "as_of"), Ok)?;
    let providers = of_providers(&table);
    let all = table.models().chain(providers.iter().copied());
    shared.shown.show(
        || models_document(&table, &providers, at),
        |out| models_json(&table, all, Some(at), out),
    )
}

fn show(name: &str, at: Option<&str>, shared: &PricesShared) -> Result<(), CliError> {
    let (table, _) = tables(&shared.prices, None)?;
    let at = given_day(at)?;
    let providers = PriceTable::of_providers();
    let model = table.find(name).or_else(|| providers.find(name));
    let model = model.ok_or_else(|| unknown_model(&[&table, providers], name))?;
    shared.shown.show(
        || model_document(model, at),
        |out| models_json(&table, std::iter::once(model), at, out),
    )
}

/// Models of other providers, except those whose prices the table has.
fn of_providers(table: &PriceTable) -> Vec<&'static ModelPrices> {
    let is_left = |model: &&ModelPrices| table.find(&model.id).is_none();
    PriceTable::of_providers().models().filter(is_left).collect()
}

fn given_day(at: Option<&str>) -> Result<Option<Date>, CliError> {
    at.map(|at| day(at, "--at")).transpose()
}

/// Compares another program's prices with those in use, and writes the changed and the new ones.
fn update(args: &PricesUpdateArgs) -> Result<(), CliError> {
    let day = given_day(args.at.as_deref())?.unwrap_or_else(today);
    let target = args.to.clone().map_or_else(usual_target, Ok)?;
    let text = read_text(&args.from, MOST_REPORT)
        .map_err(CliError::unreadable("price file", &args.from))?;
    let before = written_before(&target)?;
    // The last update counts as in use, so that its prices are not new again.
    let files: Vec<_> = before.then(|| target.clone()).into_iter().collect();
    let (table, _) = tables(&files, None)?;
    let providers = PriceTable::of_providers();
    let file = args.from.display().to_string();
    let update = PriceUpdate::new(&[&table, providers], &text, &file, day, has_known_rules)?;
    let update = update.ok_or_else(|| {
        let message =
            format!("{file}: neither LiteLLM's nor genai-prices' JSON; name one with --from");
        CliError::Usage(message)
    })?;
    let kept = kept_from_before(&table, &update);
    let DocumentArgs { format, output } = &args.shown;
    let output = Output::open(output)?;
    // Without news the file of the last update stays as it is.
    let is_written = !args.dry_run && update.models().next().is_some();
    if is_written {
        let models: Vec<&ModelPrices> = update.models().chain(kept).collect();
        write(&target, update.source, day, &models)?;
    }
    let (from, to) = (shown_path(&args.from), shown_path(&target));
    let view = UpdateView {
        file: &from,
        tables: &format!("{} and {}", table.id, providers.id),
        day,
        written: is_written.then_some(to.as_str()),
        is_default: args.to.is_none(),
    };
    let document = || Ok(price_changes_document(&update, &view));
    output.show(format.chosen, document, |Json, out| write_price_changes(&update, &view, out))
}

/// File of the user's prices.
fn usual_target() -> Result<PathBuf, CliError> {
    user_prices().ok_or_else(|| {
        let message = "no home folder is known; name the file to write with --to FILE";
        CliError::Usage(message.to_owned())
    })
}

/// Returns true if the file is one of an earlier run, which this one may replace.
fn written_before(target: &Path) -> Result<bool, CliError> {
    if !target.exists() {
        return Ok(false);
    }
    let text =
        read_text(target, MOST_REPORT).map_err(CliError::unreadable("price file", target))?;
    if text.starts_with(WRITTEN_BY) {
        return Ok(true);
    }
    Err(CliError::Usage(format!(
        "{}: this file is not one that `prices update` wrote, so it stays as it is; name another with --to FILE",
        target.display()
    )))
}

/// Returns true for models of services whose caches are known: others would only make the file large.
fn has_known_rules(model: &str) -> bool {
    model.starts_with("claude-") || rules_of(model).is_some()
}

/// Prices that an earlier run wrote and this one does not replace.
fn kept_from_before<'t>(
    table: &'t PriceTable,
    update: &'t PriceUpdate,
) -> impl Iterator<Item = &'t ModelPrices> {
    let built_in = PriceTable::built_in();
    table.models().filter(move |model| {
        let is_built_in = built_in.models().any(|own| own == *model);
        !is_built_in && update.models().all(|new| new.id != model.id)
    })
}

fn write(target: &Path, source: &str, day: Date, models: &[&ModelPrices]) -> Result<(), CliError> {
    let folder = folder_of(target);
    fs::create_dir_all(folder).map_err(CliError::unwritable(folder))?;
    let mut content = Vec::new();
    write_price_file(&format!("{source}-{day}"), day, models, &mut content)?;
    // A file that no command could read must not replace one that they can.
    let text = String::from_utf8_lossy(&content);
    PriceTable::built_in().overlay(&text, &target.display().to_string())?;
    let file = Output::to_file(target, ColorArg::Never)?;
    file.write(|out| out.write_all(&content))
}
