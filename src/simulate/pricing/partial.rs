//! Rates assembled from single prices, as other programs' tables have them.

use std::sync::Arc;

use jiff::civil::Date;

use super::{Factors, Hours, ModelPrices, Multiplier, Rate, Rates};
use crate::base::{ByKey, Order as _, Picodollars, Tokens};
use crate::read::input::ServiceTier;

/// Class of tokens of a price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Input,
    Output,
    Read,
    /// Writes, for the service's default lifetime.
    Write,
    WriteOneHour,
    WriteTwelveHours,
}

/// Conditions of a price.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Terms {
    pub(super) from: Option<Date>,
    pub(super) until: Option<Date>,
    pub(super) above: Option<Tokens>,
    pub(super) tier: ServiceTier,
    pub(super) hours: Option<Arc<Hours>>,
}

/// Known prices on some terms.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Partial {
    input: Option<Picodollars>,
    output: Option<Picodollars>,
    read: Option<Picodollars>,
    write: Option<Picodollars>,
    write_1h: Option<Picodollars>,
    write_12h: Option<Picodollars>,
}

/// Prices of a model.
#[derive(Debug, Default)]
pub(super) struct Partials(Vec<(Terms, Partial)>);

/// Prices, tiers and seller of a model in another program's table.
#[derive(Debug)]
pub(super) struct ForeignPrices {
    pub(super) prices: Partials,
    pub(super) tiers: ByKey<ServiceTier, Factors>,
    pub(super) us_only: Multiplier,
    /// Seller of the model, if the table has one.
    pub(super) seller: Option<String>,
}

impl ForeignPrices {
    /// Prices of the model; `None` if input and output have none.
    ///
    /// Regional endpoints are models of their own in such tables.
    pub(super) fn model(&self, id: &str, source: &str) -> Option<ModelPrices> {
        let rates = self.prices.rates();
        (!rates.is_empty()).then(|| ModelPrices {
            id: id.to_owned(),
            aliases: Vec::new(),
            rates,
            tiers: self.tiers.clone(),
            us_only: self.us_only,
            regional: Multiplier::ONE,
            source: source.to_owned(),
        })
    }
}

/// Largest number of terms of a model.
///
/// No real model has nearly as many; a file with more would only take long.
const MOST_TERMS: usize = 200;

/// Expectation of a price beyond the limit of terms.
pub(super) const TOO_MANY_TERMS: &str = "price of a model that has less than 200 kinds of them";

impl Partials {
    /// Adds a price, and returns true if there is room for its terms.
    pub(super) fn add(&mut self, terms: &Terms, class: Class, price: Picodollars) -> bool {
        let known = self.0.iter().position(|(known, _)| known == terms);
        if known.is_none() && self.0.len() >= MOST_TERMS {
            return false;
        }
        let place = known.unwrap_or_else(|| {
            self.0.push((terms.clone(), Partial::default()));
            self.0.len() - 1
        });
        let partial = &mut self.0[place].1;
        let field = match class {
            Class::Input => &mut partial.input,
            Class::Output => &mut partial.output,
            Class::Read => &mut partial.read,
            Class::Write => &mut partial.write,
            Class::WriteOneHour => &mut partial.write_1h,
            Class::WriteTwelveHours => &mut partial.write_12h,
        };
        *field = Some(price);
        true
    }

    /// Terms with their known prices.
    pub(super) fn iter(&self) -> impl Iterator<Item = &(Terms, Partial)> {
        self.0.iter()
    }

    /// Rows with known input and output, by size and tier.
    fn rates(&self) -> Vec<Rate> {
        let rate = |(terms, partial): &(Terms, Partial)| {
            let whole = partial.filled_from(self.ordinary(terms)).rates()?;
            let Terms { from, until, above, tier, hours } = terms.clone();
            Some(Rate { from, until, above, tier, hours, rates: whole })
        };
        let mut rates: Vec<Rate> = self.0.iter().filter_map(rate).collect();
        let made: Vec<Rate> =
            ServiceTier::ALL.into_iter().flat_map(|tier| lacking(&rates, tier)).collect();
        rates.extend(made);
        rates.order_by_key(|rate| (rate.above, rate.tier));
        rates
    }

    /// Prices of the ordinary tier on the same terms, or of the ordinary tier in the rest of the day.
    fn ordinary(&self, terms: &Terms) -> Option<&Partial> {
        let usual = match (terms.tier, &terms.hours) {
            (ServiceTier::Standard, None) => return None,
            (ServiceTier::Standard, Some(_)) => Terms { hours: None, ..terms.clone() },
            (_, _) => Terms { tier: ServiceTier::Standard, ..terms.clone() },
        };
        self.0.iter().find(|(known, _)| *known == usual).map(|(_, partial)| partial)
    }
}

/// Rows of a tier for sizes and hours that only the ordinary tier has: otherwise the tier's row for
/// everything would apply to them.
///
/// They cost the same share as that row.
fn lacking(rates: &[Rate], tier: ServiceTier) -> Vec<Rate> {
    let plain = |tier| {
        let is_plain = |rate: &&Rate| {
            (rate.tier, rate.above, rate.from, &rate.hours) == (tier, None, None, &None)
        };
        rates.iter().find(is_plain).map(|rate| rate.rates)
    };
    let Some((own, usual)) = plain(tier).zip(plain(ServiceTier::Standard)) else {
        return Vec::new();
    };
    let share = |price: Picodollars, own: Picodollars, usual: Picodollars| {
        (price.0 * own.0).checked_div(usual.0).map_or(price, Picodollars)
    };
    let is_lacking = |one: &&Rate| {
        one.tier == ServiceTier::Standard
            && !rates.iter().any(|rate| {
                (rate.tier, rate.above, rate.from, &rate.hours)
                    == (tier, one.above, one.from, &one.hours)
            })
    };
    let row = |one: &Rate| {
        let all = |price| share(price, own.input, usual.input);
        let rates = Rates {
            input: all(one.rates.input),
            cache_write_5m: all(one.rates.cache_write_5m),
            cache_write_1h: all(one.rates.cache_write_1h),
            cache_write_12h: one.rates.cache_write_12h.map(all),
            cache_read: share(one.rates.cache_read, own.cache_read, usual.cache_read),
            output: share(one.rates.output, own.output, usual.output),
        };
        Rate { tier, rates, ..one.clone() }
    };
    rates.iter().filter(is_lacking).map(row).collect()
}

impl From<&Rates> for Partial {
    fn from(rates: &Rates) -> Self {
        Self {
            input: Some(rates.input),
            output: Some(rates.output),
            read: Some(rates.cache_read),
            write: Some(rates.cache_write_5m),
            write_1h: Some(rates.cache_write_1h),
            write_12h: rates.cache_write_12h,
        }
    }
}

impl Partial {
    /// Fills missing prices from other ones, at the same share as the input.
    pub(super) fn filled_from(self, ordinary: Option<&Self>) -> Self {
        let Some((ordinary, (own, full))) =
            ordinary.and_then(|ordinary| Some((ordinary, (self.input?, ordinary.input?))))
        else {
            return self;
        };
        let share = |price: Option<Picodollars>| {
            price.filter(|_| full.0 > 0).map(|price| Picodollars(price.0 * own.0 / full.0))
        };
        Self {
            output: self.output.or(share(ordinary.output)),
            read: self.read.or(share(ordinary.read)),
            write: self.write_price().or(share(ordinary.write)),
            write_1h: self.write_1h.or(share(ordinary.write_1h)),
            write_12h: self.write_12h.or(share(ordinary.write_12h)),
            ..self
        }
    }

    /// Price of writes.
    ///
    /// No service writes for less than its input price: such a price is zero, for services without
    /// one, or that of storage.
    fn write_price(&self) -> Option<Picodollars> {
        self.write.filter(|price| self.input.is_none_or(|input| *price >= input))
    }

    /// Complete rates.
    ///
    /// Reads and writes without a price cost as much as input. If writes have one, an hour's cost
    /// twice the input, as Anthropic's do.
    pub(super) fn rates(self) -> Option<Rates> {
        let (input, output) = (self.input?, self.output?);
        let write = self.write_price();
        let twice_input = Picodollars(input.0 * 2);
        Some(Rates {
            input,
            cache_write_5m: write.unwrap_or(input),
            cache_write_1h: self.write_1h.unwrap_or(write.map_or(input, |_| twice_input)),
            cache_write_12h: self.write_12h,
            cache_read: self.read.unwrap_or(input),
            output,
        })
    }
}
