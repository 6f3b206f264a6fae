//! The prices that the page's costs rest on.

use std::collections::BTreeMap;

use jiff::civil::Date;

use super::PageView;
use crate::report::document::{Align, Grid};
use crate::report::number::grouped;
use crate::report::prices_view::{conditions, day, price_cells, price_grid};
use crate::simulate::pricing::{ModelPrices, Rate};

/// The rates of every model that occurs, on the days on which it does.
pub(super) fn used_prices(view: &PageView<'_>) -> Grid {
    let mut grid = price_grid(&[
        ("model", Align::Left),
        ("from", Align::Left),
        ("until", Align::Left),
        ("for", Align::Left),
    ]);
    for (model, days) in models(view).values() {
        for rate in model.rates.iter().filter(|rate| holds_within(rate, *days)) {
            let first = vec![model.id.clone(), day(rate.from), day(rate.until), conditions(rate)];
            grid.add([first, price_cells(rate)].concat());
        }
    }
    grid
}

/// The models that occur and have prices, each with its first and its last day.
fn models<'a>(view: &PageView<'a>) -> BTreeMap<&'a str, (&'a ModelPrices, (Date, Date))> {
    let mut models: BTreeMap<&str, (&ModelPrices, (Date, Date))> = BTreeMap::new();
    for index in view.selection.requests() {
        let Some(model) = view.ledger.prices.find(view.ledger.history.model(index)) else {
            continue;
        };
        let Some(day) = model.priced_day(view.ledger.history.request(index).start) else {
            continue;
        };
        let (_, days) = models.entry(&model.id).or_insert((model, (day, day)));
        *days = (days.0.min(day), days.1.max(day));
    }
    models
}

fn holds_within(rate: &Rate, (first, last): (Date, Date)) -> bool {
    rate.from.is_none_or(|from| last >= from) && rate.until.is_none_or(|until| first < until)
}

/// The models without a price.
pub(super) fn unpriced_models(view: &PageView<'_>) -> Grid {
    let mut grid = Grid::new(&[("model", Align::Left), ("requests", Align::Right)]);
    for (model, requests) in view.evidence.unpriced_models(view.selection.requests()) {
        grid.add(vec![model.to_owned(), grouped(requests as u64)]);
    }
    grid
}
