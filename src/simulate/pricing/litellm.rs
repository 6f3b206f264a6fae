//! Conversion of LiteLLM's `model_prices_and_context_window.json` to a price table.
//!
//! The file has no dates, so its prices apply to every day. A field names a class of tokens, and
//! then the condition of its price: "above 1hr" and "above 12hr" in a write price mean the
//! lifetime, "above 200k tokens" the size of the prompt, and an ending the tier of service. A write
//! price of zero marks services that charge writes as input.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::file::{ModelAt, hours};
use super::partial::{Class, Partials, TOO_MANY_TERMS};
use super::{Factors, ForeignPrices, Hours, Multiplier, PriceError, Terms, per_unit};
use crate::base::{ByKey, Picodollars, Tokens};
use crate::read::input::ServiceTier;

type Fields<'a> = ByKey<String, &'a RawValue>;

/// Beginnings of fields with prices.
const CLASSES: [(&str, Class); 4] = [
    ("input_cost_per_token", Class::Input),
    ("output_cost_per_token", Class::Output),
    ("cache_read_input_token_cost", Class::Read),
    ("cache_creation_input_token_cost", Class::Write),
];

/// Lifetimes that a write price may name.
const LIFETIMES: [(&str, Class); 2] =
    [("_above_1hr", Class::WriteOneHour), ("_above_12hr", Class::WriteTwelveHours)];

/// Endings of fields with prices of a tier.
const TIERS: [(&str, ServiceTier); 4] = [
    ("_batches", ServiceTier::Batch),
    ("_flex", ServiceTier::Flex),
    ("_priority", ServiceTier::Fast),
    ("_ultrafast", ServiceTier::Ultrafast),
];

#[derive(Default, Deserialize)]
#[serde(default)]
struct ProviderEntry<'a> {
    #[serde(borrow)]
    fast: Option<&'a RawValue>,
    us: Option<&'a RawValue>,
}

/// Hours with fewer requests.
#[derive(Deserialize)]
struct OffPeakWindow {
    hours_utc: OneOrMore,
    /// Days from 1, Monday; every day if missing.
    weekdays: Option<Vec<u8>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

/// Reads every model; models for images, audio and the like have no price for input and output.
pub(super) fn parse(text: &str, file: &str) -> Result<ByKey<String, ForeignPrices>, PriceError> {
    let json_error = |source| PriceError::Json { file: file.to_owned(), source };
    let table: ByKey<String, &RawValue> = serde_json::from_str(text).map_err(json_error)?;
    let mut models = ByKey::new();
    for (name, raw) in table {
        let fields: Fields<'_> = serde_json::from_str(raw.get()).map_err(json_error)?;
        let reader = Reader { fields: &fields, at: ModelAt { file, model: &name } };
        let prices = reader.model()?;
        models.insert(name, prices);
    }
    Ok(models)
}

struct Reader<'a> {
    fields: &'a Fields<'a>,
    at: ModelAt<'a>,
}

impl Reader<'_> {
    fn model(&self) -> Result<ForeignPrices, PriceError> {
        let mut prices = Partials::default();
        if self.is_of_text() {
            self.add(self.fields, &Terms::default(), &mut prices)?;
            self.add_ranges(&mut prices)?;
            self.add_off_peak(&mut prices)?;
        }
        let entry = self.provider_entry();
        let fast = entry.fast.and_then(|fast| Multiplier::parse(fast.get()));
        let fast = fast.map(|fast| (ServiceTier::Fast, Factors::of(fast)));
        Ok(ForeignPrices {
            prices,
            tiers: fast.into_iter().collect(),
            us_only: entry.us.and_then(|us| Multiplier::parse(us.get())).unwrap_or(Multiplier::ONE),
            seller: self.parsed("litellm_provider"),
        })
    }

    /// Returns true if the model answers in text; others have prices per token, too, but not for answers.
    fn is_of_text(&self) -> bool {
        let mode: Option<&str> = self.parsed("mode");
        mode.is_none_or(|mode| matches!(mode, "chat" | "responses" | "completion"))
    }

    fn provider_entry(&self) -> ProviderEntry<'_> {
        self.parsed("provider_specific_entry").unwrap_or_default()
    }

    /// Field that is an object; a value of another shape counts as missing.
    fn parsed<'f, T: Deserialize<'f>>(&'f self, field: &str) -> Option<T> {
        serde_json::from_str(self.fields.get(field)?.get()).ok()
    }

    /// Adds the prices of fields, which apply on some terms.
    fn add(
        &self,
        fields: &Fields<'_>,
        terms: &Terms,
        partials: &mut Partials,
    ) -> Result<(), PriceError> {
        for (field, raw) in fields {
            let Some(place) = Place::of(field) else { continue };
            if let Some(price) = self.price(raw)? {
                let terms =
                    Terms { above: place.above.or(terms.above), tier: place.tier, ..terms.clone() };
                if !partials.add(&terms, place.class, price) {
                    return Err(self.at.wrong(field, TOO_MANY_TERMS));
                }
            }
        }
        Ok(())
    }

    /// Adds `tiered_pricing`, whose ranges are of prompt sizes.
    fn add_ranges(&self, partials: &mut Partials) -> Result<(), PriceError> {
        let ranges: Vec<Fields<'_>> = self.parsed("tiered_pricing").unwrap_or_default();
        for fields in ranges {
            let bounds = fields.get("range").map(|raw| serde_json::from_str(raw.get()));
            let Some(Ok([from, _])) = bounds.map(|bounds| bounds as Result<[f64; 2], _>) else {
                continue;
            };
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // clamped
            let above = from.clamp(0.0, 1e12) as u64;
            let above = (above > 0).then_some(Tokens(above));
            self.add(&fields, &Terms { above, ..Terms::default() }, partials)?;
        }
        Ok(())
    }

    /// Adds `off_peak_pricing`: rows for hours besides those of the whole day.
    fn add_off_peak(&self, partials: &mut Partials) -> Result<(), PriceError> {
        let prices: Fields<'_> = self.parsed("off_peak_pricing").unwrap_or_default();
        let windows = prices.get("windows").map(|raw| serde_json::from_str(raw.get()));
        let windows: Vec<OffPeakWindow> = windows.and_then(Result::ok).unwrap_or_default();
        for (number, window) in (1..).zip(&windows) {
            let name = |day: &u8| match Hours::WEEKDAYS.get(usize::from(*day).wrapping_sub(1)) {
                Some(name) => (*name).to_owned(),
                // The number of no day is an error of `hours`, which names it.
                None => day.to_string(),
            };
            let days = window.weekdays.as_ref().map(|days| days.iter().map(name).collect());
            let days: Option<Vec<String>> = days;
            let spans = match &window.hours_utc {
                OneOrMore::One(span) => std::slice::from_ref(span),
                OneOrMore::More(spans) => spans,
            };
            let id = format!("{}-off-peak-{number}", self.at.model);
            let windows = spans.iter().map(String::as_str);
            let hours = hours(self.at.file, &id, windows, days.as_deref(), Vec::new())?;
            let terms = Terms { hours: Some(hours), ..Terms::default() };
            self.add(&prices, &terms, partials)?;
        }
        Ok(())
    }

    fn price(&self, raw: &RawValue) -> Result<Option<Picodollars>, PriceError> {
        if raw.get() == "null" {
            return Ok(None);
        }
        let price = per_unit(raw.get());
        price.map(Some).ok_or_else(|| self.at.wrong(raw.get(), "price in dollars a token"))
    }
}

/// Class, size and tier in the name of a field.
struct Place {
    class: Class,
    above: Option<Tokens>,
    tier: ServiceTier,
}

impl Place {
    fn of(field: &str) -> Option<Self> {
        let strip = |(name, class): &(&str, Class)| Some((field.strip_prefix(name)?, *class));
        let (mut rest, mut class) = CLASSES.iter().find_map(strip)?;
        for (name, lifetime) in LIFETIMES {
            if let Some(after) = rest.strip_prefix(name).filter(|_| class == Class::Write) {
                (rest, class) = (after, lifetime);
            }
        }
        let mut above = None;
        if let Some((thousands, after)) =
            rest.strip_prefix("_above_").and_then(|rest| rest.split_once("k_tokens"))
        {
            above = Some(Tokens(thousands.parse::<u64>().ok()?.checked_mul(1_000)?));
            rest = after;
        }
        let tier = match rest {
            "" => ServiceTier::Standard,
            ending => TIERS.iter().find(|(name, _)| *name == ending)?.1,
        };
        Some(Self { class, above, tier })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::pricing::ModelPrices;

    fn read(text: &str) -> ByKey<String, ModelPrices> {
        let prices = parse(text, "test").expect("a table");
        prices
            .into_iter()
            .filter_map(|(id, prices)| Some((id.clone(), prices.model(&id, "test")?)))
            .collect()
    }

    #[test]
    fn tiers_and_missing_fields_follow_the_rules() {
        let text = r#"{
            "a": {"input_cost_per_token": 3e-06, "output_cost_per_token": 1.5e-05,
                  "cache_creation_input_token_cost": 3.75e-06, "cache_read_input_token_cost": 3e-07,
                  "input_cost_per_token_above_200k_tokens": 6e-06,
                  "output_cost_per_token_above_200k_tokens": 2.25e-05,
                  "input_cost_per_token_batches": 1.5e-06, "output_cost_per_token_batches": 7.5e-06,
                  "output_cost_per_token_balanced": 1,
                  "provider_specific_entry": {"us": 1.1, "fast": 6.0}},
            "b": {"input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06,
                  "cache_creation_input_token_cost": 0.0},
            "image": {"output_cost_per_image": 0.02}
        }"#;
        let models = read(text);
        assert_eq!(models.len(), 2);
        let a = &models["a"];
        assert_eq!(a.rates.len(), 4);
        assert_eq!(a.rates[0].rates.cache_write_1h, Picodollars(6_000_000));
        // A missing price of a tier is reduced as its input is.
        assert_eq!(
            (a.rates[1].tier, a.rates[1].rates.cache_read),
            (ServiceTier::Batch, Picodollars(150_000))
        );
        assert_eq!(a.rates[2].above, Some(Tokens(200_000)));
        // Long prompts in a batch cost half of long ones.
        assert_eq!(
            (a.rates[3].tier, a.rates[3].rates.input),
            (ServiceTier::Batch, Picodollars(3_000_000))
        );
        assert_eq!(a.tiers[&ServiceTier::Fast], Factors::of(Multiplier::parse("6").expect("six")));
        assert_eq!(Some(a.us_only), Multiplier::parse("1.1"));
        assert_eq!(models["b"].rates[0].rates.cache_write_5m, Picodollars(1_000_000));
        assert_eq!(models["b"].rates[0].rates.cache_write_1h, Picodollars(1_000_000));
    }

    #[test]
    fn hours_ranges_and_lifetimes_are_read() {
        let text = r#"{
            "peak": {"input_cost_per_token": 3e-07, "output_cost_per_token": 1.2e-06,
                "off_peak_pricing": {"input_cost_per_token": 1.5e-07, "output_cost_per_token": 6e-07,
                    "windows": [{"hours_utc": ["10:00-00:00"], "weekdays": [5]}, {"hours_utc": "00:00-00:00", "weekdays": [6, 7]}]}},
            "ranges": {"tiered_pricing": [
                {"input_cost_per_token": 4e-07, "output_cost_per_token": 1.6e-06, "range": [0, 256000.0]},
                {"input_cost_per_token": 1.2e-06, "output_cost_per_token": 4.8e-06, "range": [256000.0, 1000000.0]}]},
            "long": {"input_cost_per_token": 4e-06, "output_cost_per_token": 2e-05,
                "cache_creation_input_token_cost": 5e-06, "cache_creation_input_token_cost_above_12hr": 1e-05}
        }"#;
        let models = read(text);
        let input = |model: &str, at: &str, prompt: u64| {
            let at = at.parse().expect("a time");
            let rate = models[model].rate_at(at, Tokens(prompt), ServiceTier::Standard);
            rate.expect("a rate").rates.input.0
        };
        // 2026-11-20 is a Friday.
        assert_eq!(input("peak", "2026-11-20T09:59", 1), 300_000);
        assert_eq!(input("peak", "2026-11-20T10:00", 1), 150_000);
        assert_eq!(input("peak", "2026-11-21T01:00", 1), 150_000);
        assert_eq!(input("peak", "2026-11-23T01:00", 1), 300_000);
        assert_eq!(input("ranges", "2026-11-20T10:00", 256_000), 400_000);
        assert_eq!(input("ranges", "2026-11-20T10:00", 256_001), 1_200_000);
        let long = models["long"].rates[0].rates;
        assert_eq!(long.cache_write_12h, Some(Picodollars(10_000_000)));
        assert_eq!(long.cache_write_1h, Picodollars(8_000_000));
    }
}
