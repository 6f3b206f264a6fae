//! Rates of each request of a history.

use rustc_hash::FxHashMap;

use super::cost::PriceContext;
use super::{ModelPrices, PriceTable, Rates};
use crate::base::{Symbol, Tokens};
use crate::read::agent::Vendor;
use crate::read::input::PriceTier;
use crate::requests::conversation::{History, RequestIndex};

/// Milliseconds of a minute.
const MINUTE: i64 = 60_000;

/// Rates of every request; requests of a model and day mostly share theirs, which are stored once.
#[derive(Debug, Default)]
pub struct RequestRates {
    rates: Vec<Rates>,
    rate_of: Vec<Option<u32>>,
}

impl FromIterator<Option<Rates>> for RequestRates {
    fn from_iter<I: IntoIterator<Item = Option<Rates>>>(of_requests: I) -> Self {
        let mut found = Self::default();
        let mut known: FxHashMap<Rates, u32> = FxHashMap::default();
        for rates in of_requests {
            let place = rates.map(|rates| *known.entry(rates).or_insert_with(|| found.keep(rates)));
            found.rate_of.push(place);
        }
        found
    }
}

/// Determinants of a request's rates.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct RateKey {
    model: Symbol,
    /// Day, or minute if the model has prices for certain hours only.
    time: i64,
    tier: PriceTier,
    /// Number of size limits that the prompt exceeds.
    sizes_exceeded: usize,
}

impl RequestRates {
    /// Looks up the rates of every request, for prompts of these sizes.
    pub fn new(
        history: &History,
        prices: &PriceTable,
        prompt_totals: impl IntoIterator<Item = Tokens>,
    ) -> Self {
        Self::as_sent(history, prices, numbered(prompt_totals))
    }

    /// The same, except that captured requests are priced by the requested tier, even if their
    /// usage has none.
    pub(crate) fn as_asked(
        history: &History,
        prices: &PriceTable,
        prompt_totals: impl IntoIterator<Item = Tokens>,
    ) -> Self {
        let tier = |index| billed_tier(history, index).asking(history.asked_tier(index));
        Self::in_tiers(history, prices, numbered(prompt_totals), tier)
    }

    /// Looks up the rates of requests sent to the model of another one, in order, for prompts of these sizes.
    pub(crate) fn as_sent(
        history: &History,
        prices: &PriceTable,
        sent: impl IntoIterator<Item = (RequestIndex, Tokens)>,
    ) -> Self {
        Self::in_tiers(history, prices, sent, |index| billed_tier(history, index))
    }

    fn in_tiers(
        history: &History,
        prices: &PriceTable,
        sent: impl IntoIterator<Item = (RequestIndex, Tokens)>,
        tier: impl Fn(RequestIndex) -> PriceTier,
    ) -> Self {
        let mut sizes = prices.sizes();
        if !history.sent_elsewhere().is_empty() {
            sizes.append(&mut PriceTable::of_providers().sizes());
        }
        let sizes: Vec<Tokens> = sizes.into_iter().collect();
        let mut known: FxHashMap<RateKey, Option<u32>> = FxHashMap::default();
        let mut found = Self::default();
        let mut places: FxHashMap<Rates, u32> = FxHashMap::default();
        let mut has_hours: FxHashMap<Symbol, bool> = FxHashMap::default();
        // A request mostly has the rates of the one before.
        let mut latest = None;
        for (model, prompt) in sent {
            let context =
                PriceContext { tier: tier(model), ..price_context(history, model, prompt) };
            let symbol = history.request(model).model;
            let is_by_hour = *has_hours
                .entry(symbol)
                .or_insert_with(|| is_priced_by_hour(prices, history, model));
            let key = RateKey {
                model: symbol,
                time: if is_by_hour {
                    context.at.get().div_euclid(MINUTE)
                } else {
                    context.at.day()
                },
                tier: context.tier,
                sizes_exceeded: sizes.partition_point(|size| prompt > *size),
            };
            let place = match latest {
                Some((same, place)) if same == key => place,
                _ => *known.entry(key).or_insert_with(|| {
                    let rates = rates_in(prices, history, model, &context)?;
                    Some(*places.entry(rates).or_insert_with(|| found.keep(rates)))
                }),
            };
            latest = Some((key, place));
            found.rate_of.push(place);
        }
        found
    }

    /// Returns true if every request has a price.
    pub(crate) fn is_complete(&self) -> bool {
        self.rate_of.iter().all(Option::is_some)
    }

    fn keep(&mut self, rates: Rates) -> u32 {
        self.rates.push(rates);
        u32::try_from(self.rates.len() - 1).expect("fewer than 2^32 price rows")
    }

    /// Rates of a request, or `None` if its model has no price.
    pub fn of(&self, index: RequestIndex) -> Option<&Rates> {
        self.rate_of[index.get()].map(|rate| &self.rates[rate as usize])
    }
}

/// Rates of a request; a request to another vendor has the built-in rates, unless the table has its model.
pub(crate) fn rates_in(
    prices: &PriceTable,
    history: &History,
    index: RequestIndex,
    context: &PriceContext<'_>,
) -> Option<Rates> {
    let is_elsewhere = history.request(index).vendor != Vendor::Anthropic;
    let elsewhere = || PriceTable::of_providers().rates(context);
    prices.rates(context).or_else(|| is_elsewhere.then(elsewhere)?)
}

/// Returns true if the model of a request has prices for certain hours, in a table that may price it.
fn is_priced_by_hour(prices: &PriceTable, history: &History, index: RequestIndex) -> bool {
    let by_hour =
        |table: &PriceTable| table.find(history.model(index)).is_some_and(ModelPrices::has_hours);
    let is_elsewhere = history.request(index).vendor != Vendor::Anthropic;
    by_hour(prices) || (is_elsewhere && by_hour(PriceTable::of_providers()))
}

/// Determinants of the price of a request with a prompt of this size.
#[inline]
pub fn price_context(history: &History, index: RequestIndex, prompt: Tokens) -> PriceContext<'_> {
    let request = history.request(index);
    PriceContext {
        model: history.symbols.text(request.model),
        at: request.start,
        prompt,
        tier: billed_tier(history, index),
    }
}

/// Price tier of a request: by its usage, else by its own request.
#[inline]
fn billed_tier(history: &History, index: RequestIndex) -> PriceTier {
    let usage = history.request(index).usage.as_ref();
    usage.map_or_else(|| history.asked_tier(index), |usage| usage.tier)
}

fn numbered(
    totals: impl IntoIterator<Item = Tokens>,
) -> impl Iterator<Item = (RequestIndex, Tokens)> {
    totals.into_iter().enumerate().map(|(index, total)| (RequestIndex::new(index), total))
}
