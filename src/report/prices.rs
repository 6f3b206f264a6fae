//! Tables about the program itself: prices (also for programs), machine formats, and built-in
//! strategies.

use std::io;
use std::io::Write;

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Serialize;

use super::document::{Align, Document, Grid};
use super::json::write_document;
use super::number::grouped;
use super::schemas::MACHINE_FORMATS;
use crate::base::units::{Picodollars, Tokens};
use crate::simulate::pricing::{ModelPrices, PriceTable, Rate, Speed};
use crate::simulate::provider::{self, Provider};
use crate::simulate::strategy::{ALL, Reach};

pub(super) const SCHEMA: &str = "cachesim.prices-list/v1";

/// A price per token, in dollars per million tokens.
fn per_million(price: Picodollars) -> String {
    // Picodollars per token equal micro-dollars per million tokens.
    Picodollars(price.0 * 1_000_000).to_string()
}

pub(super) fn day(date: Option<Date>) -> String {
    date.map(|date| date.to_string()).unwrap_or_default()
}

pub(super) fn conditions(rate: &Rate) -> String {
    let speed = match rate.speed {
        Speed::Standard => None,
        Speed::Fast => Some("fast mode".to_owned()),
    };
    let size = rate.above.map(|above| format!("prompts over {}", grouped(above.0)));
    speed.into_iter().chain(size).collect::<Vec<_>>().join(", ")
}

pub(super) fn price_grid(first: &[(&'static str, Align)]) -> Grid {
    let prices = [
        ("input", Align::Right),
        ("write 5m", Align::Right),
        ("write 1h", Align::Right),
        ("read", Align::Right),
        ("output", Align::Right),
    ];
    Grid::new(&[first, prices.as_slice()].concat())
}

pub(super) fn price_cells(rate: &Rate) -> Vec<String> {
    let rates = &rate.rates;
    [rates.input, rates.cache_write_5m, rates.cache_write_1h, rates.cache_read, rates.output]
        .map(per_million)
        .to_vec()
}

/// All models with the prices of a day: those of a table, and those of providers with automatic
/// caches, by provider.
#[must_use]
pub fn models_document(table: &PriceTable, providers: &[&ModelPrices], at: Date) -> Document {
    let mut document = Document::default();
    document.heading(format!("Prices on {at}, dollars for a million tokens"));
    let mut grid = price_grid(&[("model", Align::Left)]);
    for model in table.models() {
        let Some(rate) = current(model, at) else {
            continue;
        };
        grid.add([vec![model.id.clone()], price_cells(rate)].concat());
    }
    document.grid(grid);
    for (provider, models) in by_provider(providers) {
        document.heading(format!("{}: {}", provider.name, provider.summary));
        document.grid(provider_grid(&models, at));
    }
    let other = PriceTable::of_providers();
    document.text(format!(
        "Table {}, last checked on {}; of other providers {}, last checked on {}.",
        table.id, table.as_of, other.id, other.as_of
    ));
    document
}

/// Models by the first provider that serves them. A provider with prices of its own for a model is
/// named in front of it.
fn by_provider<'m>(models: &[&'m ModelPrices]) -> Vec<(&'static Provider, Vec<&'m ModelPrices>)> {
    let serves = |provider: &Provider, id: &str| match id.split_once('/') {
        Some((named, _)) => named == provider.name,
        None => provider.serves(id),
    };
    let mut groups: Vec<(&Provider, Vec<&ModelPrices>)> =
        provider::ALL.iter().map(|provider| (provider, Vec::new())).collect();
    for model in models {
        let own = groups.iter_mut().find(|(provider, _)| serves(provider, &model.id));
        if let Some((_, group)) = own {
            group.push(model);
        }
    }
    groups.retain(|(_, models)| !models.is_empty());
    groups
}

/// The prices of caches with one price for writes.
fn provider_grid(models: &[&ModelPrices], at: Date) -> Grid {
    let prices = ["input", "write", "read", "output"].map(|name| (name, Align::Right));
    let mut grid = Grid::new(&[[("model", Align::Left)].as_slice(), &prices].concat());
    for model in models {
        let Some(Rate { rates, .. }) = current(model, at) else { continue };
        let prices = [rates.input, rates.cache_write_5m, rates.cache_read, rates.output];
        grid.add([vec![model.id.clone()], prices.map(per_million).to_vec()].concat());
    }
    grid
}

fn current(model: &ModelPrices, at: Date) -> Option<&Rate> {
    model
        .rates
        .iter()
        .filter(|rate| rate.speed == Speed::Standard && rate.above.is_none() && rate.holds_on(at))
        .max_by_key(|rate| rate.from)
}

/// One model, with every rate of a day, or all it ever had.
#[must_use]
pub fn model_document(model: &ModelPrices, at: Option<Date>) -> Document {
    let mut document = Document::default();
    let when = at.map(|at| format!(" on {at}")).unwrap_or_default();
    document.heading(format!("{}{when}, dollars for a million tokens", model.id));
    let mut grid =
        price_grid(&[("from", Align::Left), ("until", Align::Left), ("for", Align::Left)]);
    for rate in model.rates.iter().filter(|rate| at.is_none_or(|at| rate.holds_on(at))) {
        let conditions = vec![day(rate.from), day(rate.until), conditions(rate)];
        grid.add([conditions, price_cells(rate)].concat());
    }
    document.grid(grid);
    document.text(format!("From table {}.", model.source));
    document
}

#[derive(JsonSchema, Serialize)]
pub(super) struct PricesObject<'a> {
    /// The format and its version.
    schema: &'static str,
    /// The name of the table.
    id: &'a str,
    /// The day on which it was last checked.
    as_of: &'a str,
    /// The models.
    models: Vec<ModelObject<'a>>,
}

#[derive(JsonSchema, Serialize)]
struct ModelObject<'a> {
    /// The model.
    id: &'a str,
    /// The table its prices are from.
    source: &'a str,
    /// What holds on the day asked for, or all that ever held.
    rates: Vec<RateObject>,
}

#[derive(JsonSchema, Serialize)]
struct RateObject {
    /// The first day on which it holds; null from the beginning.
    #[schemars(with = "Option<Date>")]
    from: Option<String>,
    /// The day from which it no longer holds; null where it has no end.
    #[schemars(with = "Option<Date>")]
    until: Option<String>,
    /// It is for prompts of more tokens than this; null for any.
    above_tokens: Option<Tokens>,
    /// The speed it is for.
    #[schemars(with = "Speed")]
    speed: &'static str,
    /// Tokens sent in full, in dollars for a million.
    #[schemars(with = "Picodollars")]
    input_usd_per_mtok: String,
    /// Tokens written for five minutes, in dollars for a million.
    #[schemars(with = "Picodollars")]
    cache_write_5m_usd_per_mtok: String,
    /// Tokens written for an hour, in dollars for a million.
    #[schemars(with = "Picodollars")]
    cache_write_1h_usd_per_mtok: String,
    /// Tokens read, in dollars for a million.
    #[schemars(with = "Picodollars")]
    cache_read_usd_per_mtok: String,
    /// Tokens of answers, in dollars for a million.
    #[schemars(with = "Picodollars")]
    output_usd_per_mtok: String,
}

pub(super) fn speed_name(speed: Speed) -> &'static str {
    match speed {
        Speed::Standard => "standard",
        Speed::Fast => "fast",
    }
}

impl RateObject {
    fn of(rate: &Rate) -> Self {
        Self {
            from: rate.from.map(|date| date.to_string()),
            until: rate.until.map(|date| date.to_string()),
            above_tokens: rate.above,
            speed: speed_name(rate.speed),
            input_usd_per_mtok: per_million(rate.rates.input),
            cache_write_5m_usd_per_mtok: per_million(rate.rates.cache_write_5m),
            cache_write_1h_usd_per_mtok: per_million(rate.rates.cache_write_1h),
            cache_read_usd_per_mtok: per_million(rate.rates.cache_read),
            output_usd_per_mtok: per_million(rate.rates.output),
        }
    }
}

/// Writes models as JSON, with the rates of a day, or with all of them.
///
/// # Errors
/// Writing fails.
pub fn models_json<'a>(
    table: &PriceTable,
    models: impl Iterator<Item = &'a ModelPrices>,
    at: Option<Date>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let rates = |model: &ModelPrices| {
        let held = model.rates.iter().filter(|rate| at.is_none_or(|at| rate.holds_on(at)));
        held.map(RateObject::of).collect()
    };
    let object = PricesObject {
        schema: SCHEMA,
        id: &table.id,
        as_of: &table.as_of,
        models: models
            .map(|model| ModelObject { id: &model.id, source: &model.source, rates: rates(model) })
            .collect(),
    };
    write_document(&object, out)
}

/// A row for each format.
#[must_use]
pub fn formats_document() -> Document {
    let mut grid = Grid::new(&[
        ("format", Align::Left),
        ("command", Align::Left),
        ("what it holds", Align::Wrapped),
    ])
    .hide_first(&["command"]);
    for format in &MACHINE_FORMATS {
        grid.add([format.name, format.commands, format.meaning].map(str::to_owned).to_vec());
    }
    let mut document = Document::default();
    document.heading("Machine formats");
    document.grid(grid);
    document
}

/// A row for each strategy, by who can adopt it.
#[must_use]
pub fn strategies_document() -> Document {
    let mut document = Document::default();
    for reach in Reach::ALL {
        let columns = [("strategy", Align::Left), ("what it stands for", Align::Wrapped)];
        let mut grid = Grid::new(&columns);
        for strategy in ALL.iter().filter(|strategy| strategy.reach() == reach) {
            grid.add(vec![strategy.name.to_string(), strategy.summary.to_string()]);
        }
        document.heading(reach.label());
        document.grid(grid);
    }
    document
}
