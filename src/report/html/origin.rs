//! Origin of the figures: the input, its errors, the assumptions, and the prices that apply.

use jiff::civil::Date;

use super::PageView;
use crate::base::ByKey;
use crate::read::input::Kind;
use crate::report::prices::{ModelRate, conditions, day, price_grid};
use crate::report::{Columns, Grid, bytes, counted, grouped};
use crate::requests::prompt::SharedPrefix;
use crate::simulate::cache::Lookback;
use crate::simulate::pricing::{ModelPrices, Rate};

/// Rejected or repaired lines and values, by kind.
pub(super) fn diagnostics(view: &PageView<'_>) -> Grid {
    let counts = view.ledger.history.diagnostics.counts();
    kinds_of_diagnostics(counts.map(|(kind, count)| (kind.name(), count)))
}

/// Numbers of rejected or repaired lines and values, by the names of their kinds.
pub(super) fn kinds_of_diagnostics<'a>(counts: impl Iterator<Item = (&'a str, u64)>) -> Grid {
    let mut columns = Columns::<(&str, u64)>::new();
    columns.left("what", |(name, _)| name.replace('_', " "));
    columns.right("how often", |(_, count)| *count);
    columns.left("effect", |(name, _)| {
        let is_damage = Kind::by_name(name).is_some_and(Kind::is_damage);
        if is_damage { "left out" } else { "repaired or passed over" }
    });
    columns.grid(counts)
}

/// Sentence on the input.
pub(super) fn inputs(view: &PageView<'_>) -> String {
    let history = view.ledger.history;
    format!(
        "Read {} in {}: {}, {} left out; {} of them are in this report.",
        bytes(history.bytes),
        counted(history.files.len() as u64, "file", "files"),
        counted(history.count_requests(), "request", "requests"),
        counted(history.duplicates, "copy", "copies"),
        grouped(view.selection.requests().count() as u64),
    )
}

/// Assumptions of the simulations, one sentence each.
pub(super) fn assumptions(view: &PageView<'_>) -> Vec<String> {
    let assumed = view.assumptions;
    let mut sentences = vec![
        if assumed.keeps_breaks {
            "Counterfactual strategies keep the recorded breaks inside the TTL, so that they differ \
             by themselves alone."
        } else {
            "Recorded breaks inside the TTL do not happen under counterfactual strategies."
        }
        .to_owned(),
        match assumed.shared_prefix {
            SharedPrefix::Auto => {
                "What other traffic keeps warm of a chain's first read is calibrated from expiries, \
                 rewrites and first requests."
            }
            SharedPrefix::Cold => "Nothing is readable after an expiry.",
            SharedPrefix::Warm => "Tools and system prompt are always readable.",
        }
        .to_owned(),
    ];
    if assumed.lookback == Lookback::Blocks {
        sentences.push("A marker that looks back counts every block.".to_owned());
    }
    if assumed.ttl_grace > 0 {
        let seconds = grouped((assumed.ttl_grace / 1_000).unsigned_abs());
        sentences.push(format!("Entries are still found {seconds} s beyond their TTL."));
    }
    sentences.push(
        "Breaks and the verification rest on the rules as documented, by the letter, with nothing \
         kept of the record."
            .to_owned(),
    );
    sentences
}

/// Rates of every model that occurs, on the days of its requests.
pub(super) fn used_prices(view: &PageView<'_>) -> Grid {
    let mut columns = Columns::<ModelRate<'_>>::new();
    columns.left("model", |(model, _)| (*model).to_owned());
    columns.left("from", |(_, rate)| day(rate.from));
    columns.left("until", |(_, rate)| day(rate.until));
    columns.left("for", |(_, rate)| conditions(rate));
    let models = models(view);
    let held = models.values().flat_map(|(model, days)| {
        let held = model.rates.iter().filter(|rate| holds_within(rate, *days));
        held.map(|rate| (&*model.id, rate))
    });
    price_grid(columns, held)
}

/// Models that occur and have prices, each with its first and last day.
fn models<'a>(view: &PageView<'a>) -> ByKey<&'a str, (&'a ModelPrices, (Date, Date))> {
    let mut models: ByKey<&str, (&ModelPrices, (Date, Date))> = ByKey::new();
    for index in view.selection.requests() {
        let Some(model) = view.ledger.prices.find(view.ledger.history.model(index)) else {
            continue;
        };
        let Some(at) = model.priced_at(view.ledger.history.request(index).start) else {
            continue;
        };
        let day = at.date();
        let (_, days) = models.entry(&model.id).or_insert((model, (day, day)));
        *days = (days.0.min(day), days.1.max(day));
    }
    models
}

fn holds_within(rate: &Rate, (first, last): (Date, Date)) -> bool {
    // `until` is the first day without the rate.
    rate.from.is_none_or(|from| last >= from) && rate.until.is_none_or(|until| first < until)
}

/// Models without a price.
pub(super) fn unpriced_models(view: &PageView<'_>) -> Grid {
    models_without_price(view.evidence.unpriced_models(view.selection.requests()))
}

/// Models without a price, and the number of their requests.
pub(super) fn models_without_price(
    models: impl IntoIterator<Item = (impl ToString, usize)>,
) -> Grid {
    let mut columns = Columns::<(String, u64)>::new();
    columns.left("model", |(model, _)| model.clone());
    columns.right("requests", |(_, requests)| *requests);
    let models = models.into_iter().map(|(model, requests)| (model.to_string(), requests as u64));
    columns.grid(models)
}
