//! Changes that another program's table of prices would make, as tables and for programs.

use std::io;
use std::io::Write;

use jiff::civil::{Date, DateTime};
use serde::Serialize;

use super::prices::{ModelObject, model_grid, per_million, size_label, tier_label};
use super::{Columns, Document, Grid, counted, write_document};
use crate::base::{Picodollars, Tokens};
use crate::read::input::ServiceTier;
use crate::simulate::pricing::{PriceChange, PriceUpdate};

pub(super) const SCHEMA: &str = "cachesim.prices-update/v1";

/// Source and result of an update.
#[derive(Clone, Copy, Debug)]
pub struct UpdateView<'a> {
    /// File with the other prices.
    pub file: &'a str,
    /// Tables that it is compared with.
    pub tables: &'a str,
    /// Day on which they are compared.
    pub day: Date,
    /// File that now has the new prices; `None` if nothing is written.
    pub written: Option<&'a str>,
    /// True if commands read that file by default.
    pub is_default: bool,
}

/// Differences of the prices, and the file that they are written to.
pub fn price_changes_document(update: &PriceUpdate, view: &UpdateView<'_>) -> Document {
    let mut document = Document::default();
    document
        .heading(format!("Prices in {}, compared with {} on {}", view.file, view.tables, view.day));
    document.text(answer(update));
    if !update.changed.is_empty() {
        document.heading("Other prices, dollars for a million tokens");
        document.grid(changes(update, view.day));
    }
    if !update.added.is_empty() {
        document.heading("New models, dollars for a million tokens");
        let rows = update.added.iter();
        document
            .grid(model_grid(rows.filter_map(|model| Some((&*model.id, model.rates.first()?)))));
    }
    document.text(match view.written {
        Some(file) if view.is_default => format!(
            "Written to {file}. Every command lays that file over the built-in prices, unless `prices` is set."
        ),
        Some(file) => format!("Written to {file}. Use it with --prices {file}."),
        None => "Nothing is written.".to_owned(),
    });
    document
}

fn answer(update: &PriceUpdate) -> String {
    let models = |count: usize| counted(count as u64, "model", "models");
    if update.changed.is_empty() && update.added.is_empty() {
        return format!("No price differs: {} have the same ones.", models(update.same));
    }
    format!(
        "{} with other prices, {} new, {} with the same.",
        models(update.changed.len()),
        update.added.len(),
        update.same
    )
}

fn changes(update: &PriceUpdate, day: Date) -> Grid {
    let mut columns = Columns::<(&str, &PriceChange)>::new();
    columns.left("model", |(model, _)| (*model).to_owned());
    columns.left("price", |(_, change)| change.class);
    columns.wrapped("for", |(_, change)| terms(change, day));
    columns.right("in use", |(_, change)| price(change.ours));
    columns.right("new", |(_, change)| price(change.theirs));
    columns.right("change", |(_, change)| share(change));
    columns.grid(
        update
            .changed
            .iter()
            .flat_map(|(model, changes)| changes.iter().map(|change| (&*model.id, change))),
    )
}

fn price(price: Option<Picodollars>) -> String {
    price.map_or_else(|| "none".to_owned(), |price| per_million(price).to_string())
}

/// Conditions of a change: its tier, its prompts, and its time if that is later than the day.
fn terms(change: &PriceChange, day: Date) -> String {
    let tier = tier_label(change.tier).map(str::to_owned);
    let is_later = change.at.date() != day || change.at.time().hour() > 0;
    let when = is_later.then(|| format!("{} UTC", change.at.strftime("%Y-%m-%d %H:%M")));
    [tier, change.above.map(size_label), when].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Change in per cent such as "+25 %", in tenths if it is no whole number.
fn share(change: &PriceChange) -> Option<String> {
    let (ours, theirs) = (change.ours?.0, change.theirs?.0);
    // Adding half of the divisor rounds to the nearest tenth. A price of zero has no share.
    let tenths = ((theirs - ours) * 2_000 + ours).checked_div_euclid(ours * 2)?;
    let sign = if tenths < 0 { '-' } else { '+' };
    let (whole, tenth) = (tenths.unsigned_abs() / 10, tenths.unsigned_abs() % 10);
    Some(if tenth == 0 { format!("{sign}{whole} %") } else { format!("{sign}{whole}.{tenth} %") })
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct UpdateObject<'a> {
    /// Format and its version.
    schema: &'static str,
    /// Name of the other table.
    source: &'a str,
    /// Day on which prices are compared.
    day: Date,
    /// Count of models with the same prices.
    same: usize,
    /// Prices that differ.
    changed: Vec<ChangeObject<'a>>,
    /// Models that the tables in use do not have.
    added: Vec<ModelObject<'a>>,
    /// True if a file was written.
    is_written: bool,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ChangeObject<'a> {
    /// Model.
    model: &'a str,
    /// Charge.
    price: &'static str,
    /// Speed of service for it.
    tier: ServiceTier,
    /// For prompts of more tokens than this; null for any.
    above_tokens: Option<Tokens>,
    /// First time at which it differs, in UTC.
    at: DateTime,
    /// Price in use, in dollars for a million tokens; null if none.
    in_use_usd_per_mtok: Option<Picodollars>,
    /// New one.
    new_usd_per_mtok: Option<Picodollars>,
}

/// Writes the differences as JSON.
///
/// # Errors
/// Writing fails.
pub fn write_price_changes(
    update: &PriceUpdate,
    view: &UpdateView<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let changed = update.changed.iter().flat_map(|(model, changes)| {
        changes.iter().map(|change| ChangeObject {
            model: &model.id,
            price: change.class,
            tier: change.tier,
            above_tokens: change.above,
            at: change.at,
            in_use_usd_per_mtok: change.ours.map(per_million),
            new_usd_per_mtok: change.theirs.map(per_million),
        })
    });
    let object = UpdateObject {
        schema: SCHEMA,
        source: update.source,
        day: view.day,
        same: update.same,
        changed: changed.collect(),
        added: update.added.iter().map(|model| ModelObject::of(model, None)).collect(),
        is_written: view.written.is_some(),
    };
    write_document(&object, out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_shares_of_the_price_in_use() {
        let change = |ours: i128, theirs: i128| PriceChange {
            class: "input",
            tier: ServiceTier::Standard,
            above: None,
            at: "2026-11-12T00:30".parse().expect("a time"),
            ours: Some(Picodollars(ours)),
            theirs: Some(Picodollars(theirs)),
        };
        for (ours, theirs, expected) in [
            (5, 4, "-20 %"),
            (4, 5, "+25 %"),
            (3, 4, "+33.3 %"),
            (3, 2, "-33.3 %"),
            (1_000, 999, "-0.1 %"),
        ] {
            assert_eq!(share(&change(ours, theirs)).as_deref(), Some(expected), "{ours} {theirs}");
        }
        assert_eq!(share(&change(0, 5)), None);
    }
}
