//! Lifetimes of writes in logs that record the cost only: a write for an hour costs more than one
//! for five minutes.

use super::PriceTable;
use super::request_rates::price_context;
use crate::base::{Picodollars, Tokens, Ttl};
use crate::read::input::Usage;
use crate::requests::conversation::{History, RequestIndex};

/// Programs round their costs: a deviation of up to this part of the lifetimes' difference means nothing.
const LARGEST_ROUNDING: i128 = 100;

/// Settles the lifetime of writes: an hour or five minutes, whichever gives the program's own cost at these prices.
///
/// If neither does, they stay written for five minutes, as the program counts them.
pub(crate) fn settle_lifetimes(history: &mut History, prices: &PriceTable) {
    let with_cost = history.charged.iter();
    let with_cost = with_cost.filter_map(|(index, charge)| Some((*index, charge.client_cost?)));
    let lifetime = |(index, cost): (RequestIndex, Picodollars)| {
        let usage = history.request(index).usage.as_ref()?;
        Some((index, lifetime_of(history, prices, index, usage, cost)?))
    };
    let settled: Vec<(RequestIndex, Ttl)> = with_cost.filter_map(lifetime).collect();
    for (index, ttl) in settled {
        if let Some(usage) = &mut history.requests[index.get()].usage {
            usage.lifetime_is_assumed = false;
            if ttl == Ttl::OneHour {
                usage.prompt.write_1h = usage.prompt.written();
                usage.prompt.write_5m = Tokens::ZERO;
            }
        }
    }
}

/// Lifetime that gives the usage this cost; `None` if neither does.
fn lifetime_of(
    history: &History,
    prices: &PriceTable,
    index: RequestIndex,
    usage: &Usage,
    cost: Picodollars,
) -> Option<Ttl> {
    let prompt = usage.prompt;
    let written = prompt.written();
    let rates = prices.rates(&price_context(history, index, prompt.total()))?;
    let for_five_minutes = rates.input.times(prompt.input).0
        + rates.cache_read.times(prompt.read).0
        + rates.cache_write_5m.times(written).0
        + rates.output.times(usage.output).0;
    let premium = rates.cache_write_1h.times(written).0 - rates.cache_write_5m.times(written).0;
    let is_so_much = |expected: i128| (cost.0 - expected).abs() <= premium / LARGEST_ROUNDING;
    // Equal prices decide nothing.
    if premium <= 0 {
        None
    } else if is_so_much(for_five_minutes + premium) {
        Some(Ttl::OneHour)
    } else {
        is_so_much(for_five_minutes).then_some(Ttl::FiveMinutes)
    }
}
