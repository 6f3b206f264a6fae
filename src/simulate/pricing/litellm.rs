//! LiteLLM's `model_prices_and_context_window.json` as a price table.
//!
//! It has no dates, so its prices hold for every day. "Above 1hr" in a write price means the TTL,
//! not a size. Where a model lacks it, Anthropic's rule of twice the input price applies.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::file::PriceError;
use super::table::ModelPrices;
use super::{Multiplier, Rate, Rates, Speed, per_unit};
use crate::base::units::{Picodollars, Tokens};

/// Sizes above which some models have other prices.
const SIZE_TIERS: [(u64, &str); 3] = [(100_000, "100k"), (200_000, "200k"), (272_000, "272k")];

type Fields<'a> = BTreeMap<&'a str, &'a RawValue>;

#[derive(Default, Deserialize)]
#[serde(default)]
struct ProviderEntry<'a> {
    #[serde(borrow)]
    fast: Option<&'a RawValue>,
    #[serde(borrow)]
    us: Option<&'a RawValue>,
}

/// Reads every model that has a price for input and output. Those for images, audio and the like
/// have none.
pub(super) fn parse(text: &str, file: &str) -> Result<BTreeMap<String, ModelPrices>, PriceError> {
    let json_error = |source| PriceError::Json { file: file.to_owned(), source };
    let table: BTreeMap<String, &RawValue> = serde_json::from_str(text).map_err(json_error)?;
    let mut models = BTreeMap::new();
    for (name, raw) in table {
        let fields: Fields<'_> = serde_json::from_str(raw.get()).map_err(json_error)?;
        let reader = Reader { fields: &fields, file, model: &name };
        if let Some(prices) = reader.model()? {
            models.insert(name, prices);
        }
    }
    Ok(models)
}

struct Reader<'a> {
    fields: &'a Fields<'a>,
    file: &'a str,
    model: &'a str,
}

impl Reader<'_> {
    fn model(&self) -> Result<Option<ModelPrices>, PriceError> {
        let Some(standard) = self.rates("")? else {
            return Ok(None);
        };
        let mut rates = vec![rate(None, Speed::Standard, standard)];
        for (above, name) in SIZE_TIERS {
            if let Some(tier) = self.rates(&format!("_above_{name}_tokens"))? {
                rates.push(rate(Some(Tokens(above)), Speed::Standard, tier));
            }
        }
        let entry = self.provider_entry();
        if let Some(fast) = entry.fast.and_then(|fast| Multiplier::parse(fast.get())) {
            rates.push(rate(None, Speed::Fast, standard.times(fast)));
        }
        Ok(Some(ModelPrices {
            id: self.model.to_owned(),
            aliases: Vec::new(),
            rates,
            us_only: entry.us.and_then(|us| Multiplier::parse(us.get())).unwrap_or(Multiplier::ONE),
            // Regional endpoints are separate models in this table.
            regional: Multiplier::ONE,
            source: "litellm".to_owned(),
        }))
    }

    fn provider_entry(&self) -> ProviderEntry<'_> {
        self.fields
            .get("provider_specific_entry")
            .and_then(|raw| serde_json::from_str(raw.get()).ok())
            .unwrap_or_default()
    }

    fn rates(&self, tier: &str) -> Result<Option<Rates>, PriceError> {
        let input = self.price(&format!("input_cost_per_token{tier}"))?;
        let output = self.price(&format!("output_cost_per_token{tier}"))?;
        let (Some(input), Some(output)) = (input, output) else {
            return Ok(None);
        };
        let write_5m = self.price(&format!("cache_creation_input_token_cost{tier}"))?;
        let write_1h = self.price(&format!("cache_creation_input_token_cost_above_1hr{tier}"))?;
        let read = self.price(&format!("cache_read_input_token_cost{tier}"))?;
        // Providers without a price for writes charge them as input.
        let cache_write_5m = write_5m.unwrap_or(input);
        let twice_input = Picodollars(input.0 * 2);
        let cache_write_1h = write_1h.unwrap_or(match write_5m {
            Some(_) => twice_input,
            None => input,
        });
        Ok(Some(Rates {
            input,
            cache_write_5m,
            cache_write_1h,
            cache_read: read.unwrap_or(input),
            output,
        }))
    }

    fn price(&self, field: &str) -> Result<Option<Picodollars>, PriceError> {
        let Some(raw) = self.fields.get(field).filter(|raw| raw.get() != "null") else {
            return Ok(None);
        };
        per_unit(raw.get()).map(Some).ok_or_else(|| PriceError::Value {
            file: self.file.to_owned(),
            model: self.model.to_owned(),
            value: raw.get().to_owned(),
            expected: "price in dollars a token",
        })
    }
}

fn rate(above: Option<Tokens>, speed: Speed, rates: Rates) -> Rate {
    Rate { from: None, until: None, above, speed, rates }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiers_and_missing_fields_follow_the_rules() {
        let text = r#"{
            "a": {"input_cost_per_token": 3e-06, "output_cost_per_token": 1.5e-05,
                  "cache_creation_input_token_cost": 3.75e-06, "cache_read_input_token_cost": 3e-07,
                  "input_cost_per_token_above_200k_tokens": 6e-06,
                  "output_cost_per_token_above_200k_tokens": 2.25e-05,
                  "provider_specific_entry": {"us": 1.1, "fast": 6.0}},
            "b": {"input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06},
            "image": {"output_cost_per_image": 0.02}
        }"#;
        let models = parse(text, "test").expect("a table");
        assert_eq!(models.len(), 2);
        let a = &models["a"];
        assert_eq!(a.rates.len(), 3);
        assert_eq!(a.rates[0].rates.cache_write_1h, Picodollars(6_000_000));
        assert_eq!(a.rates[1].above, Some(Tokens(200_000)));
        assert_eq!(a.rates[2].rates.input, Picodollars(18_000_000));
        assert_eq!(Some(a.us_only), Multiplier::parse("1.1"));
        assert_eq!(models["b"].rates[0].rates.cache_write_1h, Picodollars(1_000_000));
    }
}
