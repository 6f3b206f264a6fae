//! Notes on money that list prices and recorded tokens alone do not show.

use derive_more::AddAssign;

use super::{counted, dollars, grouped};
use crate::base::{KnownSum, Picodollars, Tokens};
use crate::requests::conversation::{Charge, Request, RequestIndex};
use crate::simulate::ledger::{Ledger, Selection};
use crate::simulate::pricing::Rates;
use crate::simulate::strategy::StrategyKind;

/// Notes on services that keep entries longer than promised, and on charges by programs and plans.
pub(super) fn money_notes(ledger: &Ledger<'_>, selection: &Selection) -> Vec<String> {
    let notes = [
        beyond_the_rules(ledger, selection),
        own_costs(ledger, selection),
        credits(ledger, selection),
    ];
    notes.into_iter().flatten().collect()
}

/// Some requests, some of their tokens, and the extra cost that these might have.
#[derive(AddAssign, Clone, Copy, Debug, Default)]
pub(super) struct Doubt {
    requests: u64,
    tokens: Tokens,
    premium: KnownSum,
}

impl Doubt {
    /// Requests with tokens by `tokens`; `premium` is the extra cost that each token may have.
    fn of(
        ledger: &Ledger<'_>,
        selection: &Selection,
        tokens: impl Fn(&Request, RequestIndex) -> Tokens,
        premium: impl Fn(&Rates) -> Picodollars,
    ) -> Self {
        let mut doubt = Self::default();
        for index in selection.requests() {
            let request = ledger.history.request(index);
            let tokens = tokens(request, index);
            if tokens == Tokens::ZERO {
                continue;
            }
            let more = ledger.rates_of(index).map(&premium);
            // Equal prices leave nothing to doubt.
            if more.is_some_and(|more| more <= Picodollars::ZERO) {
                continue;
            }
            doubt.requests += u64::from(request.sum_of);
            doubt.tokens += tokens;
            doubt.premium.add(more.map(|more| more.times(tokens)));
        }
        doubt
    }

    /// Sentence about writes whose lifetime is assumed.
    pub(super) fn of_lifetimes(&self) -> Option<String> {
        (self.requests > 0).then(|| {
            format!(
                "Nothing tells for how long {} wrote {}: five minutes is assumed. For an hour they cost {}.",
                counted(self.requests, "request", "requests"),
                counted(self.tokens.0, "token", "tokens"),
                self.more(),
            )
        })
    }

    /// Sentence about writes that nothing reports.
    pub(super) fn of_writes(&self) -> Option<String> {
        (self.premium.sum > Picodollars::ZERO).then(|| {
            format!(
                "Nothing tells how much {} wrote, and all of it counts as input. If all of it was written it cost {}.",
                counted(self.requests, "request", "requests"),
                self.more(),
            )
        })
    }

    /// Extra cost such as "$1.20 more", if prices are known.
    fn more(&self) -> String {
        match (self.premium.known, self.premium.unknown) {
            (0, _) => "more, by an unknown amount".to_owned(),
            (_, 0) => format!("{} more", dollars(self.premium.value())),
            _ => format!("at least {} more", dollars(self.premium.value())),
        }
    }
}

/// Tokens written for an unrecorded lifetime, and their extra cost for an hour.
pub(super) fn assumed_lifetimes(ledger: &Ledger<'_>, selection: &Selection) -> Doubt {
    let written = |request: &Request, _: RequestIndex| {
        let usage = request.usage.as_ref().filter(|usage| usage.lifetime_is_assumed);
        usage.map_or(Tokens::ZERO, |usage| usage.prompt.written())
    };
    let premium = |rates: &Rates| rates.cache_write_1h.minus(rates.cache_write_5m);
    Doubt::of(ledger, selection, written, premium)
}

/// Tokens sent without a record of their writes, which cost more than input.
pub(super) fn unknown_writes(ledger: &Ledger<'_>, selection: &Selection) -> Doubt {
    let sent = |request: &Request, index: RequestIndex| {
        let usage = request.usage.as_ref().filter(|_| !ledger.history.knows_writes(index));
        usage.map_or(Tokens::ZERO, |usage| usage.prompt.input)
    };
    let premium = |rates: &Rates| rates.cache_write_5m.minus(rates.input);
    Doubt::of(ledger, selection, sent, premium)
}

/// Reads of entries that the rules expect to be gone.
fn beyond_the_rules(ledger: &Ledger<'_>, selection: &Selection) -> Option<String> {
    let is_replay = |kind: &StrategyKind| matches!(kind, StrategyKind::Replay);
    let expected = ledger.columns.iter().find(|column| is_replay(&column.strategy.kind))?;
    let billed = ledger.billed()?;
    let (mut requests, mut beyond, mut more) = (0, Tokens::ZERO, Picodollars::ZERO);
    for index in selection.requests().filter(|index| !ledger.history.is_marked(*index)) {
        let rows = ledger.row(billed, index).zip(ledger.row(expected, index));
        let Some((recorded, ruled)) = rows else { continue };
        if recorded.billing.read > ruled.billing.read {
            requests += 1;
            beyond += recorded.billing.read.saturating_sub(ruled.billing.read);
            let costs = ruled.cost.zip(recorded.cost);
            // Without both prices the saving is unknown, and at least the tokens are counted.
            more += costs.map_or(Picodollars::ZERO, |(ruled, recorded)| ruled.minus(recorded));
        }
    }
    (more > Picodollars::ZERO).then(|| {
        format!(
            "{} read {} more than the rules expect, as services may keep entries longer than they promise. Without \
             these reads `expected` costs {} more.",
            counted(requests, "request", "requests"),
            counted(beyond.0, "token", "tokens"),
            dollars(Some(more)),
        )
    })
}

/// Costs that programs work out at their own prices, besides list prices.
fn own_costs(ledger: &Ledger<'_>, selection: &Selection) -> Option<String> {
    let own = charges(ledger, selection, |charge| charge.client_cost);
    let cost: Picodollars = own.iter().map(|(_, cost)| *cost).sum();
    (cost > Picodollars::ZERO).then(|| {
        format!(
            "By prices of their own, programs say that {} cost {}. {}",
            counted(requests_of(ledger, &own), "request", "requests"),
            dollars(Some(cost)),
            at_list_prices(ledger, &own),
        )
    })
}

/// Charges of plans that count credits, besides list prices.
fn credits(ledger: &Ledger<'_>, selection: &Selection) -> Option<String> {
    let charged = charges(ledger, selection, |charge| charge.nano_aiu);
    let nano_aiu: u128 = charged.iter().map(|(_, charge)| u128::from(*charge)).sum();
    // A unit is a cent: a billionth of it is ten picodollars.
    let picodollars = i128::try_from(nano_aiu.saturating_mul(10)).unwrap_or(i128::MAX);
    (nano_aiu > 0).then(|| {
        format!(
            "Credits: plans charged {} AI units for {}, which is {} at 0.01 USD each. {}",
            units(nano_aiu, 1_000_000_000),
            counted(requests_of(ledger, &charged), "request", "requests"),
            dollars(Some(Picodollars(picodollars))),
            at_list_prices(ledger, &charged),
        )
    })
}

/// Reported requests with the charge that the program states.
fn charges<T>(
    ledger: &Ledger<'_>,
    selection: &Selection,
    charge: impl Fn(&Charge) -> Option<T>,
) -> Vec<(RequestIndex, T)> {
    let charged = &ledger.history.charged;
    // Only some programs state charges: without any, no pass over the requests is needed.
    if charged.is_empty() {
        return Vec::new();
    }
    let of = |index: RequestIndex| Some((index, charge(charged.get(&index)?)?));
    selection.requests().filter_map(of).collect()
}

fn requests_of<T>(ledger: &Ledger<'_>, charged: &[(RequestIndex, T)]) -> u64 {
    charged.iter().map(|(index, _)| u64::from(ledger.history.request(*index).sum_of)).sum()
}

/// Cost of the same requests at list prices, if these are known.
fn at_list_prices<T>(ledger: &Ledger<'_>, charged: &[(RequestIndex, T)]) -> String {
    let Some(column) = ledger.billed() else { return String::new() };
    let totals = ledger.totals(column, charged.iter().map(|(index, _)| *index));
    let cost = dollars(totals.cost());
    match (totals.cost(), totals.unpriced_requests) {
        (None, _) => "Their list prices are not known.".to_owned(),
        (_, 0) => format!("At list prices these requests cost {cost}."),
        (_, unpriced) => format!(
            "List prices are not known of {} of these requests; the others cost {cost}.",
            grouped(unpriced)
        ),
    }
}

/// Number in units of `in_one` parts each, with three digits after the point.
fn units(number: u128, in_one: u128) -> String {
    let thousandths = (number * 1_000 + in_one / 2) / in_one;
    let whole = u64::try_from(thousandths / 1_000).unwrap_or(u64::MAX);
    format!("{}.{:03}", grouped(whole), thousandths % 1_000)
}
