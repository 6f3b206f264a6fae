//! For how long was written, where a log tells the cost alone: a write for an hour costs more than one for
//! five minutes.

use super::request_rates::price_context;
use super::table::PriceTable;
use crate::base::units::{Picodollars, Tokens};
use crate::read::input::Usage;
use crate::requests::conversation::{History, RequestIndex};

/// Programs round their costs: so small a part of what the lifetimes differ by means nothing.
const LARGEST_ROUNDING: i128 = 100;

/// Takes what was written for what was written for an hour where the program's own cost is what these prices
/// give for that. Elsewhere it stays written for five minutes, as the program's counts have it.
pub(crate) fn settle_lifetimes(history: &mut History, prices: &PriceTable) {
    let told = history.charged.iter();
    let told = told.filter_map(|(index, charge)| Some((*index, charge.client_cost?)));
    let is_for_an_hour = |(index, cost): &(RequestIndex, Picodollars)| {
        let usage = history.request(*index).usage.as_ref();
        usage.is_some_and(|usage| costs_an_hour(history, prices, *index, usage, *cost))
    };
    let for_an_hour: Vec<(RequestIndex, Picodollars)> = told.filter(is_for_an_hour).collect();
    for (index, _) in for_an_hour {
        if let Some(usage) = &mut history.requests[index.0].usage {
            usage.prompt.write_1h = usage.prompt.written();
            usage.prompt.write_5m = Tokens::ZERO;
        }
    }
}

/// Whether a cost is what the usage has with all that was written for an hour.
fn costs_an_hour(
    history: &History,
    prices: &PriceTable,
    index: RequestIndex,
    usage: &Usage,
    cost: Picodollars,
) -> bool {
    let prompt = usage.prompt;
    let written = prompt.written();
    let Some(rates) = prices.rates(&price_context(history, index, prompt.total())) else {
        return false;
    };
    let for_five_minutes = rates.input.times(prompt.input).0
        + rates.cache_read.times(prompt.read).0
        + rates.cache_write_5m.times(written).0
        + rates.output.times(usage.output).0;
    let premium = rates.cache_write_1h.times(written).0 - rates.cache_write_5m.times(written).0;
    let is_off_by = (cost.0 - for_five_minutes - premium).abs();
    premium > 0 && is_off_by <= premium / LARGEST_ROUNDING
}
