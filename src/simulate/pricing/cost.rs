//! Cost of a request at the prices of its day.

use derive_more::AddAssign;
use jiff::civil::{Date, DateTime};

use super::{Factors, ModelPrices, Multiplier, PriceTable, Rate, Rates};
use crate::base::model::{is_fast, platform};
use crate::base::{Millis, Picodollars, Platform, Tokens};
use crate::read::input::{PriceTier, PromptSplit, ServiceTier};
use crate::simulate::cache::Outcome;

/// Determinants of a request's price besides its tokens.
#[derive(Clone, Copy, Debug)]
pub struct PriceContext<'a> {
    /// Model, as the transcript writes it.
    pub model: &'a str,
    /// Time at which the request was sent.
    pub at: Millis,
    /// Size of the whole prompt, on which long-prompt prices depend.
    pub prompt: Tokens,
    /// Speed, batch and location.
    pub tier: PriceTier,
}

/// Tokens that are billed, by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Billing {
    /// Tokens sent in full.
    pub input: Tokens,
    /// Tokens read from cache.
    pub read: Tokens,
    /// Tokens written for five minutes.
    pub write_5m: Tokens,
    /// Tokens written for an hour.
    pub write_1h: Tokens,
    /// Tokens of output.
    pub output: Tokens,
}

impl Billing {
    /// Tokens of the whole prompt.
    pub fn prompt(&self) -> Tokens {
        self.input + self.read + self.write_5m + self.write_1h
    }

    /// Billing of a simulated prompt and its output.
    pub fn of(outcome: &Outcome, output: Tokens) -> Self {
        Self {
            input: outcome.input,
            read: outcome.read,
            write_5m: outcome.write_5m,
            write_1h: outcome.write_1h,
            output,
        }
    }

    /// Billing of a recorded prompt and its output.
    pub fn recorded(prompt: PromptSplit, output: Tokens) -> Self {
        let PromptSplit { input, read, write_5m, write_1h } = prompt;
        Self { input, read, write_5m, write_1h, output }
    }

    /// Cost at these rates: input·p + 5m·p₅ + 1h·p₆₀ + read·r + output·q.
    pub fn cost(&self, rates: &Rates) -> Picodollars {
        self.charges(rates).total()
    }

    /// Cost of the tokens of each class at these rates.
    pub fn charges(&self, rates: &Rates) -> Charges {
        Charges {
            input: rates.input.times(self.input),
            read: rates.cache_read.times(self.read),
            write_5m: rates.cache_write_5m.times(self.write_5m),
            write_1h: rates.cache_write_1h.times(self.write_1h),
            output: rates.output.times(self.output),
        }
    }
}

/// Cost of the tokens of each class.
#[derive(AddAssign, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Charges {
    /// Cost of tokens sent in full.
    pub input: Picodollars,
    /// Cost of tokens read from cache.
    pub read: Picodollars,
    /// Cost of tokens written for five minutes.
    pub write_5m: Picodollars,
    /// Cost of tokens written for an hour.
    pub write_1h: Picodollars,
    /// Cost of the output.
    pub output: Picodollars,
}

impl Charges {
    /// Sum over all classes.
    pub fn total(&self) -> Picodollars {
        self.input + self.read + self.write_5m + self.write_1h + self.output
    }
}

impl PriceTable {
    /// Rates of a request after every tier, or `None` if the model has no price.
    pub fn rates(&self, context: &PriceContext<'_>) -> Option<Rates> {
        let model = self.find_on(context.model, time_of(context.at).map(DateTime::date))?;
        let at = model.priced_at(context.at)?;
        let is_fast = context.tier.service == ServiceTier::Standard && is_fast(context.model);
        let service = if is_fast { ServiceTier::Fast } else { context.tier.service };
        let (rates, mut factors) = self.rates_of_tier(model, at, context.prompt, service)?;
        if context.tier.us_only {
            factors = factors.times(model.us_only);
        }
        // Only Claude's models have regional and government endpoints.
        let is_claude = model.id.starts_with("claude");
        let given = self.platform.filter(|_| is_claude);
        Some(rates.times(match given.unwrap_or_else(|| platform(context.model)) {
            Platform::Global => factors,
            Platform::Regional => factors.times(model.regional),
            Platform::Government => factors.times(self.government),
        }))
    }

    /// Factors of a tier without rows of its own on the ordinary rates; `None` if the model has no such tier.
    pub(super) fn factors_of_tier(
        &self,
        model: &ModelPrices,
        tier: ServiceTier,
    ) -> Option<Factors> {
        let batch = (tier == ServiceTier::Batch).then_some(Factors::of(self.batch));
        model.tiers.get(&tier).copied().or(batch)
    }

    /// Rates of a tier at a time in UTC, wherever the model is called.
    pub(super) fn rates_of_tier_at(
        &self,
        model: &ModelPrices,
        at: DateTime,
        prompt: Tokens,
        tier: ServiceTier,
    ) -> Option<Rates> {
        let (rates, factors) = self.rates_of_tier(model, at, prompt, tier)?;
        Some(rates.times(factors))
    }

    /// Rates in a model's rows, with the factors of a tier without rows of its own.
    ///
    /// A tier that the model does not have at that time is served as the ordinary one.
    fn rates_of_tier(
        &self,
        model: &ModelPrices,
        at: DateTime,
        prompt: Tokens,
        tier: ServiceTier,
    ) -> Option<(Rates, Factors)> {
        if let Some(rate) = model.rate_at(at, prompt, tier) {
            return Some((rate.rates, Factors::of(Multiplier::ONE)));
        }
        let factors = self.factors_of_tier(model, tier);
        let standard = model.rate_at(at, prompt, ServiceTier::Standard)?;
        Some((standard.rates, factors.unwrap_or(Factors::of(Multiplier::ONE))))
    }

    /// Cost of web searches.
    pub fn web_searches(&self, count: u32) -> Picodollars {
        Picodollars(self.web_search.0 * i128::from(count))
    }
}

impl ModelPrices {
    /// Time in UTC whose rates apply: the request's, or the same time of the launch day before that.
    ///
    /// `None` outside of the calendar.
    pub fn priced_at(&self, at: Millis) -> Option<DateTime> {
        let at = time_of(at)?;
        // Before its launch a model has no price, and the launch day's is the nearest.
        Some(self.launch().max(at.date()).to_datetime(at.time()))
    }

    /// Rate at a time in UTC, by priority: highest size tier that the prompt reaches, then certain
    /// hours before all hours, then the latest.
    pub fn rate_at(&self, at: DateTime, prompt: Tokens, tier: ServiceTier) -> Option<&Rate> {
        self.rates
            .iter()
            .filter(|rate| rate.tier == tier && rate.holds_at(at) && rate.covers(prompt))
            .max_by_key(|rate| (rate.above, rate.hours.is_some(), rate.from))
    }

    /// First day with a price.
    fn launch(&self) -> Date {
        self.rates.iter().map(|rate| rate.from.unwrap_or(Date::MIN)).min().unwrap_or(Date::MIN)
    }
}

/// Date and time in UTC.
fn time_of(at: Millis) -> Option<DateTime> {
    let at = jiff::Timestamp::from_millisecond(at.get()).ok()?;
    Some(at.to_zoned(jiff::tz::TimeZone::UTC).datetime())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context<'a>(model: &'a str, day: &str, prompt: u64) -> PriceContext<'a> {
        let at: jiff::Timestamp = format!("{day}T00:00:00Z").parse().expect("a day");
        let at = Millis::new(at.as_millisecond());
        PriceContext { model, at, prompt: Tokens(prompt), tier: PriceTier::default() }
    }

    fn input_and_read(context: &PriceContext<'_>) -> (i128, i128) {
        let rates = PriceTable::built_in().rates(context).expect("a price");
        (rates.input.0, rates.cache_read.0)
    }

    #[test]
    fn the_contracts_example_row() {
        let billing = Billing {
            input: Tokens(2),
            read: Tokens(40_895),
            write_1h: Tokens(412),
            output: Tokens(96),
            ..Billing::default()
        };
        let context = context("claude-opus-5", "2026-07-28", 41_309);
        let rates = PriceTable::built_in().rates(&context).expect("a price");
        assert_eq!(billing.cost(&rates).to_string(), "0.0269775");
    }

    #[test]
    fn a_request_is_priced_by_its_own_day() {
        assert_eq!(input_and_read(&context("claude-sonnet-5-5", "2026-10-06", 1)).1, 200_000);
        assert_eq!(input_and_read(&context("claude-sonnet-5-5", "2026-10-07", 1)).1, 100_000);
        assert_eq!(input_and_read(&context("claude-fable-5-1", "2026-09-01", 1)).1, 250_000);
    }

    #[test]
    fn long_prompts_cost_more_while_the_tier_held() {
        let input = |day, prompt| input_and_read(&context("claude-opus-4-6", day, prompt)).0;
        assert_eq!(input("2026-03-12", 200_000), 5_000_000);
        assert_eq!(input("2026-03-12", 200_001), 10_000_000);
        assert_eq!(input("2026-03-13", 200_001), 5_000_000);
        let haiku = |prompt| input_and_read(&context("claude-haiku-5-5", "2026-11-01", prompt));
        assert_eq!(haiku(100_000), (100_000, 10_000));
        assert_eq!(haiku(100_001), (500_000, 50_000));
    }

    #[test]
    fn tiers_stack() {
        let mut fast = context("claude-opus-5", "2026-08-01", 1);
        fast.tier = PriceTier { service: ServiceTier::Fast, us_only: true };
        assert_eq!(input_and_read(&fast), (11_000_000, 1_100_000));
        let mut batch = context("eu.anthropic.claude-haiku-4-5-v1:0", "2026-08-01", 1);
        batch.tier.service = ServiceTier::Batch;
        assert_eq!(input_and_read(&batch), (550_000, 55_000));
    }

    #[test]
    fn a_region_can_be_told_where_the_name_does_not() {
        let mut table = PriceTable::built_in();
        let context = context("claude-opus-4-5@20251101", "2026-08-01", 1);
        let input = |table: &PriceTable| table.rates(&context).expect("a price").input.0;
        assert_eq!(input(&table), 5_000_000);
        table.platform = Some(Platform::Regional);
        assert_eq!(input(&table), 5_500_000);
    }

    #[test]
    fn fast_mode_that_ended_is_billed_as_standard() {
        let mut fast = context("claude-opus-4-6", "2026-06-28", 1);
        fast.tier.service = ServiceTier::Fast;
        assert_eq!(input_and_read(&fast).0, 30_000_000);
        let mut over = context("claude-opus-4-6", "2026-06-29", 1);
        over.tier.service = ServiceTier::Fast;
        assert_eq!(input_and_read(&over).0, 5_000_000);
    }

    #[test]
    fn before_the_launch_the_launch_day_counts() {
        assert_eq!(input_and_read(&context("claude-haiku-5-5", "2026-10-01", 100_001)).0, 500_000);
    }

    #[test]
    fn an_unknown_model_has_no_price() {
        assert!(PriceTable::built_in().rates(&context("glm-4.7", "2026-08-01", 1)).is_none());
    }
}
