//! Tables about the program itself: prices (also for programs), machine formats, and built-in strategies.

use std::io;
use std::io::Write;

use jiff::civil::Date;
use serde::Serialize;

use super::schemas::{MACHINE_FORMATS, MachineFormat};
use super::{Columns, Document, Grid, grouped, write_document};
use crate::base::{Picodollars, Tokens};
use crate::read::input::ServiceTier;
use crate::simulate::pricing::{Factors, Hours, ModelPrices, PriceTable, Rate, Rates};
use crate::simulate::provider::{self, Provider};
use crate::simulate::strategy::{ALL, Reach, Strategy};

pub(super) const SCHEMA: &str = "cachesim.prices-list/v1";

/// Price per token, in dollars per million tokens.
pub(super) fn per_million(price: Picodollars) -> Picodollars {
    // Picodollars per token equal micro-dollars per million tokens.
    Picodollars(price.0 * 1_000_000)
}

pub(super) fn day(date: Option<Date>) -> String {
    date.map(|date| date.to_string()).unwrap_or_default()
}

pub(super) fn conditions(rate: &Rate) -> String {
    let hours = rate.hours.as_deref().map(hours_label);
    let terms = [tier_label(rate.tier).map(str::to_owned), rate.above.map(size_label), hours];
    terms.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Name of a service tier; `None` for the ordinary one.
pub(super) fn tier_label(tier: ServiceTier) -> Option<&'static str> {
    match tier {
        ServiceTier::Standard => None,
        ServiceTier::Batch => Some("batch"),
        ServiceTier::Flex => Some("flex"),
        ServiceTier::Fast => Some("fast mode"),
        ServiceTier::Ultrafast => Some("ultrafast mode"),
    }
}

/// Prompts that a price is for: longer than a number of tokens, or from a round number on.
pub(super) fn size_label(above: Tokens) -> String {
    // Providers state the bound either way, as a round number.
    let least = above.0.saturating_add(1);
    if least.is_multiple_of(1_000) {
        format!("prompts from {} on", grouped(least))
    } else {
        format!("prompts over {}", grouped(above.0))
    }
}

fn hours_label(hours: &Hours) -> String {
    let windows: Vec<String> = hours.windows().collect();
    let days: Vec<&str> = hours.weekdays().collect();
    let days = match &days[..] {
        all if all.len() == 7 => String::new(),
        [first, .., last] if are_in_a_row(&days) => format!(" {first} to {last}"),
        some => format!(" {}", some.join(", ")),
    };
    let holidays = if hours.except().is_empty() { "" } else { " but holidays" };
    format!("{} UTC{days}{holidays}", windows.join(" and "))
}

fn are_in_a_row(days: &[&str]) -> bool {
    Hours::WEEKDAYS.windows(days.len()).any(|row| row == days)
}

/// A rate with its model.
pub(super) type ModelRate<'r> = (&'r str, &'r Rate);

/// Adds the prices of rates to columns that describe them, and makes the table.
///
/// One price for both lifetimes has one column, and a lifetime without an offer has none.
pub(super) fn price_grid<'r>(
    mut columns: Columns<'_, ModelRate<'r>>,
    rows: impl Iterator<Item = ModelRate<'r>>,
) -> Grid {
    let rows: Vec<ModelRate<'r>> = rows.collect();
    let any = |has: fn(&Rates) -> bool| rows.iter().any(|(_, rate)| has(&rate.rates));
    let has_lifetimes = any(|rates| rates.cache_write_1h != rates.cache_write_5m);
    let mut price = |heading, price: fn(&Rates) -> Option<Picodollars>| {
        let exact = move |(_, rate): &ModelRate<'r>| Some(per_million(price(&rate.rates)?));
        let decimals = |price: Picodollars| match price.to_string().split_once('.') {
            Some((_, decimals)) => decimals.len(),
            None => 0,
        };
        let most = rows.iter().filter_map(exact).map(decimals).max().unwrap_or(0);
        columns.right(heading, move |row| Some(format!("{:.most$}", exact(row)?)));
    };
    price("input", |rates| Some(rates.input));
    price(if has_lifetimes { "write 5m" } else { "write" }, |rates| Some(rates.cache_write_5m));
    if has_lifetimes {
        price("write 1h", |rates| Some(rates.cache_write_1h));
    }
    if any(|rates| rates.cache_write_12h.is_some()) {
        price("write 12h", |rates| rates.cache_write_12h);
    }
    price("read", |rates| Some(rates.cache_read));
    price("output", |rates| Some(rates.output));
    columns.grid(rows)
}

/// All models with the prices of a day: those of a table, and those of other providers, by provider.
pub fn models_document(table: &PriceTable, providers: &[&ModelPrices], at: Date) -> Document {
    let mut document = Document::default();
    document.heading(format!("Prices on {at}, dollars for a million tokens"));
    document.grid(current_prices(table.models(), at));
    for (provider, models) in by_provider(providers) {
        document.heading(format!("{}: {}", provider.name, provider.summary));
        document.grid(current_prices(models.iter().copied(), at));
        if let Some(note) = hours_note(&models, at) {
            document.text(note);
        }
    }
    let other = PriceTable::of_providers();
    document.text(format!(
        "Table {}, last checked on {}; of other providers {}, last checked on {}.",
        table.id, table.as_of, other.id, other.as_of
    ));
    document
}

/// Models by the first provider that serves them.
///
/// A provider with prices of its own for a model is named in front of it.
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

fn current_prices<'m>(models: impl Iterator<Item = &'m ModelPrices>, at: Date) -> Grid {
    // A model may have no price on that day.
    model_grid(models.filter_map(|model| Some((&*model.id, current(model, at)?))))
}

/// Table of models, each with a rate.
pub(super) fn model_grid<'r>(rows: impl Iterator<Item = ModelRate<'r>>) -> Grid {
    let mut columns = Columns::<ModelRate<'_>>::new();
    columns.left("model", |(model, _)| (*model).to_owned());
    price_grid(columns, rows)
}

/// Note on models that have other prices at other hours.
fn hours_note(models: &[&ModelPrices], at: Date) -> Option<String> {
    let has_hours = |model: &&&ModelPrices| {
        let mut rates = model.rates.iter();
        rates.any(|rate| rate.hours.is_some() && rate.holds_on(at))
    };
    let names: Vec<&str> = models.iter().filter(has_hours).map(|model| model.id.as_str()).collect();
    (!names.is_empty()).then(|| {
        format!("{}: at other hours other prices, which `prices show` lists.", names.join(", "))
    })
}

fn current(model: &ModelPrices, at: Date) -> Option<&Rate> {
    // Tables of many models have ordinary prices; the table of one model has all conditions.
    model
        .rates
        .iter()
        .filter(|rate| {
            rate.tier == ServiceTier::Standard
                && rate.above.is_none()
                && rate.hours.is_none()
                && rate.holds_on(at)
        })
        // Of several rates that hold, the latest one is in force.
        .max_by_key(|rate| rate.from)
}

/// One model, with every rate of a day, or all it ever had.
pub fn model_document(model: &ModelPrices, at: Option<Date>) -> Document {
    let mut document = Document::default();
    let when = at.map(|at| format!(" on {at}")).unwrap_or_default();
    document.heading(format!("{}{when}, dollars for a million tokens", model.id));
    let held = model.rates.iter().filter(|rate| at.is_none_or(|at| rate.holds_on(at)));
    let mut columns = Columns::<ModelRate<'_>>::new();
    columns.left("from", |(_, rate)| day(rate.from));
    columns.left("until", |(_, rate)| day(rate.until));
    columns.wrapped("for", |(_, rate)| conditions(rate));
    document.grid(price_grid(columns, held.map(|rate| (&*model.id, rate))));
    let tiers: Vec<String> =
        model.tiers.iter().map(|(tier, by)| factors_label(*tier, *by)).collect();
    if !tiers.is_empty() {
        document.text(format!("Times these prices: {}.", tiers.join("; ")));
    }
    document.text(format!("From table {}.", model.source));
    document
}

fn factors_label(tier: ServiceTier, Factors { all, reads }: Factors) -> String {
    let reads = if reads == all { String::new() } else { format!(", reads {reads}") };
    format!("{} {all}{reads}", tier.name())
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct PricesObject<'a> {
    /// Format and its version.
    schema: &'static str,
    /// Name of the table.
    id: &'a str,
    /// Day on which it was last checked.
    as_of: &'a str,
    /// Models.
    models: Vec<ModelObject<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ModelObject<'a> {
    /// Model.
    id: &'a str,
    /// Table its prices are from.
    source: &'a str,
    /// Rates of the day asked for, or all that ever held.
    rates: Vec<RateObject>,
    /// Tiers without own rates, as factors of the ordinary ones.
    tiers: Vec<TierObject>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct TierObject {
    /// Speed of service.
    tier: ServiceTier,
    /// Factor on all prices but those of reads.
    times: String,
    /// Factor on those of reads.
    reads: String,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct HoursObject {
    /// Windows in UTC; one whose end is not after its beginning ends on the next day.
    windows: Vec<String>,
    /// Days on which they begin, `mon` to `sun`.
    weekdays: Vec<&'static str>,
    /// Days on which none begins.
    except: Vec<Date>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct RateObject {
    /// First day on which it holds; null from the beginning.
    from: Option<Date>,
    /// Day from which it no longer holds; null if it has no end.
    until: Option<Date>,
    /// For prompts of more tokens than this; null for any.
    above_tokens: Option<Tokens>,
    /// Its speed: fast, or standard, which is for every other tier.
    speed: &'static str,
    /// Speed of service for it.
    tier: ServiceTier,
    /// Hours at which it holds; null for the whole day.
    hours_utc: Option<HoursObject>,
    /// Tokens sent in full, in dollars for a million.
    input_usd_per_mtok: Picodollars,
    /// Tokens written for five minutes, in dollars for a million.
    cache_write_5m_usd_per_mtok: Picodollars,
    /// Tokens written for an hour, in dollars for a million.
    cache_write_1h_usd_per_mtok: Picodollars,
    /// Tokens written for twelve hours, in dollars for a million; null if not offered.
    cache_write_12h_usd_per_mtok: Option<Picodollars>,
    /// Tokens read, in dollars for a million.
    cache_read_usd_per_mtok: Picodollars,
    /// Tokens of answers, in dollars for a million.
    output_usd_per_mtok: Picodollars,
}

impl HoursObject {
    fn of(hours: &Hours) -> Self {
        Self {
            windows: hours.windows().collect(),
            weekdays: hours.weekdays().collect(),
            except: hours.except().to_vec(),
        }
    }
}

impl<'a> ModelObject<'a> {
    /// Object with the rates of a day, or with all of them.
    pub(super) fn of(model: &'a ModelPrices, at: Option<Date>) -> Self {
        let held = model.rates.iter().filter(|rate| at.is_none_or(|at| rate.holds_on(at)));
        Self {
            id: &model.id,
            source: &model.source,
            rates: held.map(RateObject::of).collect(),
            tiers: model.tiers.iter().map(|(tier, factors)| tier_object(*tier, *factors)).collect(),
        }
    }
}

impl RateObject {
    fn of(rate: &Rate) -> Self {
        Self {
            from: rate.from,
            until: rate.until,
            above_tokens: rate.above,
            speed: if rate.tier == ServiceTier::Fast { "fast" } else { "standard" },
            tier: rate.tier,
            hours_utc: rate.hours.as_deref().map(HoursObject::of),
            input_usd_per_mtok: per_million(rate.rates.input),
            cache_write_5m_usd_per_mtok: per_million(rate.rates.cache_write_5m),
            cache_write_1h_usd_per_mtok: per_million(rate.rates.cache_write_1h),
            cache_write_12h_usd_per_mtok: rate.rates.cache_write_12h.map(per_million),
            cache_read_usd_per_mtok: per_million(rate.rates.cache_read),
            output_usd_per_mtok: per_million(rate.rates.output),
        }
    }
}

fn tier_object(tier: ServiceTier, factors: Factors) -> TierObject {
    let Factors { all, reads } = factors;
    TierObject { tier, times: all.to_string(), reads: reads.to_string() }
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
    let object = PricesObject {
        schema: SCHEMA,
        id: &table.id,
        as_of: &table.as_of,
        models: models.map(|model| ModelObject::of(model, at)).collect(),
    };
    write_document(&object, out)
}

/// Machine formats, one row each.
pub fn formats_document() -> Document {
    let mut columns = Columns::<MachineFormat>::new();
    columns.left("format", |format| format.name);
    columns.left("command", |format| format.commands).hidden(1);
    columns.wrapped("what it holds", |format| format.meaning);
    let mut document = Document::default();
    document.heading("Machine formats");
    document.grid(columns.grid(MACHINE_FORMATS.iter()));
    document
}

/// Strategies by who can adopt them, one row each.
pub fn strategies_document() -> Document {
    let mut document = Document::default();
    let mut columns = Columns::<Strategy>::new();
    columns.left("strategy", |strategy| strategy.name.to_string());
    columns.wrapped("what it stands for", |strategy| strategy.summary.to_string());
    for reach in Reach::ALL {
        document.heading(reach.label());
        document.grid(columns.grid(ALL.iter().filter(|strategy| strategy.reach() == reach)));
    }
    document
}
