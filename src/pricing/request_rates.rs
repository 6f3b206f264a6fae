//! What the tokens of each request of a history cost.

use rustc_hash::FxHashMap;

use super::cost::PriceContext;
use super::rate::Rates;
use super::table::PriceTable;
use crate::conversation::{History, RequestIndex};
use crate::input::PriceTier;
use crate::units::Tokens;

/// The rates of every request. Requests of a model and day mostly share theirs, which are kept once.
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
            let place = rates.map(|rates| {
                *known.entry(rates).or_insert_with(|| {
                    found.rates.push(rates);
                    u32::try_from(found.rates.len() - 1).expect("fewer than 2^32 price rows")
                })
            });
            found.rate_of.push(place);
        }
        found
    }
}

impl RequestRates {
    /// Looks up the rates of every request, whose prompts have these sizes.
    #[must_use]
    pub fn new(
        history: &History,
        prices: &PriceTable,
        prompt_totals: impl IntoIterator<Item = Tokens>,
    ) -> Self {
        let totals = prompt_totals.into_iter().enumerate();
        totals
            .map(|(index, total)| prices.rates(&price_context(history, RequestIndex(index), total)))
            .collect()
    }

    /// What the tokens of a request cost; `None` where its model has no price.
    #[must_use]
    pub fn of(&self, index: RequestIndex) -> Option<&Rates> {
        self.rate_of[index.0].map(|rate| &self.rates[rate as usize])
    }
}

/// What the price of a request depends on, if its prompt has this size.
#[must_use]
pub fn price_context(history: &History, index: RequestIndex, prompt: Tokens) -> PriceContext<'_> {
    let request = history.request(index);
    let fast = PriceTier { fast: history.is_sent_fast(index), ..PriceTier::default() };
    PriceContext {
        model: history.symbols.text(request.model),
        at: request.start,
        prompt,
        tier: request.usage.as_ref().map_or(fast, |usage| usage.tier),
    }
}
