//! Conversion of the `data.json` of genai-prices to a price table.
//!
//! The file is a list of providers with their models. A price is a number, or one with others for
//! longer prompts; it applies always, from a day on, or at hours of the day. If several apply, one
//! for hours takes precedence over one for the whole day, and a later day's over an earlier one's.

use jiff::civil::Date;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::file::{ModelAt, hours};
use super::partial::{Class, Partials, TOO_MANY_TERMS};
use super::{ForeignPrices, Multiplier, PriceError, Terms, per_million_rounded};
use crate::base::{ByKey, Picodollars, Tokens};
use crate::read::input::ServiceTier;

/// Providers whose models have their own names; other providers are a prefix of their models' names.
const FIRST_PARTIES: [&str; 8] =
    ["anthropic", "openai", "deepseek", "google", "moonshotai", "x-ai", "zai", "minimax"];

/// Keys of prices.
const CLASSES: [(&str, Class); 5] = [
    ("input_mtok", Class::Input),
    ("output_mtok", Class::Output),
    ("cache_read_mtok", Class::Read),
    ("cache_write_mtok", Class::Write),
    ("cache_write_1h_mtok", Class::WriteOneHour),
];

#[derive(Deserialize)]
struct Provider<'a> {
    id: String,
    #[serde(borrow, default)]
    models: Vec<Model<'a>>,
}

#[derive(Deserialize)]
struct Model<'a> {
    id: String,
    #[serde(borrow)]
    prices: Listed<'a>,
    price_variants: Option<Vec<Variant<'a>>>,
}

type Prices<'a> = ByKey<String, &'a RawValue>;

/// One set of prices, or several on conditions.
struct Listed<'a>(Vec<Conditional<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for Listed<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        let listed = if raw.get().starts_with('[') {
            serde_json::from_str(raw.get())
        } else {
            let prices = serde_json::from_str(raw.get());
            prices.map(|prices| vec![Conditional { constraint: Constraint::default(), prices }])
        };
        listed.map(Self).map_err(serde::de::Error::custom)
    }
}

#[derive(Deserialize)]
struct Conditional<'a> {
    #[serde(default)]
    constraint: Constraint,
    #[serde(borrow)]
    prices: Prices<'a>,
}

/// Condition of prices; always true without any key.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Constraint {
    start_date: Option<String>,
    start_time: Option<String>,
    end_time: Option<String>,
}

/// Prices of a tier.
#[derive(Deserialize)]
struct Variant<'a> {
    when: ByKey<String, String>,
    #[serde(default)]
    constraint: Option<Constraint>,
    #[serde(borrow)]
    prices: Prices<'a>,
}

/// Price with others for longer prompts.
#[derive(Deserialize)]
struct Tiered<'a> {
    #[serde(borrow)]
    base: &'a RawValue,
    tiers: Vec<Tier<'a>>,
}

#[derive(Deserialize)]
struct Tier<'a> {
    start: u64,
    #[serde(borrow)]
    price: &'a RawValue,
}

/// Reads every model.
pub(super) fn parse(text: &str, file: &str) -> Result<ByKey<String, ForeignPrices>, PriceError> {
    let providers: Vec<Provider<'_>> = serde_json::from_str(text)
        .map_err(|source| PriceError::Json { file: file.to_owned(), source })?;
    let mut models = ByKey::new();
    for provider in &providers {
        let is_first_party = FIRST_PARTIES.contains(&provider.id.as_str());
        for model in &provider.models {
            let id = if is_first_party {
                model.id.clone()
            } else {
                format!("{}/{}", provider.id, model.id)
            };
            let prices = Reader { at: ModelAt { file, model: &id } }.model(model)?;
            models.insert(id, prices);
        }
    }
    Ok(models)
}

struct Reader<'a> {
    at: ModelAt<'a>,
}

impl Reader<'_> {
    fn model(&self, model: &Model<'_>) -> Result<ForeignPrices, PriceError> {
        let mut prices = Partials::default();
        let listed =
            model.prices.0.iter().map(|one| Ok((self.terms(&one.constraint)?, &one.prices)));
        let listed: Vec<(Terms, &Prices<'_>)> = listed.collect::<Result<_, PriceError>>()?;
        for (terms, own) in &listed {
            // A later set of prices replaces all of an earlier one, its prices of long prompts among them.
            let others = listed.iter().filter(|(other, _)| other.hours == terms.hours);
            let until = others
                .filter_map(|(other, _)| other.from)
                .filter(|from| Some(*from) > terms.from)
                .min();
            self.add(own, &Terms { until, ..terms.clone() }, &mut prices)?;
        }
        for variant in model.price_variants.iter().flatten() {
            // Variants on several conditions, or on other things than a tier, have no place in the table.
            let Some(tier) = tier_of(&variant.when) else { continue };
            let terms = variant.constraint.as_ref().map(|one| self.terms(one)).transpose()?;
            let terms = Terms { tier, ..terms.unwrap_or_default() };
            self.add(&variant.prices, &terms, &mut prices)?;
        }
        Ok(ForeignPrices { prices, tiers: ByKey::new(), us_only: Multiplier::ONE, seller: None })
    }

    fn terms(&self, constraint: &Constraint) -> Result<Terms, PriceError> {
        let Constraint { start_date, start_time, end_time } = constraint;
        let hours = start_time.as_ref().zip(end_time.as_ref()).map(|(start, end)| {
            let window = format!("{}-{}", clock(start), clock(end));
            let id = format!("{}-{window}", self.at.model);
            hours(self.at.file, &id, [window.as_str()], None, Vec::new())
        });
        let from = start_date.as_ref().map(|day| {
            // An updated price file has the day as a TOML date, which has no negative years.
            let date = day.parse::<Date>().ok().filter(|date| date.year() >= 1);
            date.ok_or_else(|| self.at.wrong(day, "day"))
        });
        Ok(Terms { from: from.transpose()?, hours: hours.transpose()?, ..Terms::default() })
    }

    fn add(
        &self,
        prices: &Prices<'_>,
        terms: &Terms,
        partials: &mut Partials,
    ) -> Result<(), PriceError> {
        for (key, class) in CLASSES {
            let Some(raw) = prices.get(key).filter(|raw| raw.get() != "null") else { continue };
            let tiered = serde_json::from_str(raw.get()).ok();
            let Tiered { base, tiers } = tiered.unwrap_or(Tiered { base: raw, tiers: Vec::new() });
            let mut priced = vec![(terms.clone(), base)];
            priced.extend(tiers.into_iter().map(|tier| {
                (Terms { above: Some(Tokens(tier.start)), ..terms.clone() }, tier.price)
            }));
            for (terms, raw) in priced {
                if !partials.add(&terms, class, self.price(raw)?) {
                    return Err(self.at.wrong(key, TOO_MANY_TERMS));
                }
            }
        }
        Ok(())
    }

    fn price(&self, raw: &RawValue) -> Result<Picodollars, PriceError> {
        let text = raw.get().trim_matches('"');
        let price = per_million_rounded(text);
        price.ok_or_else(|| self.at.wrong(text, "price in dollars a million tokens"))
    }
}

/// "01:00:00Z" → "01:00"; other time zones stay, and do not parse as a window.
fn clock(time: &str) -> &str {
    time.strip_suffix(":00Z").unwrap_or(time)
}

fn tier_of(when: &ByKey<String, String>) -> Option<ServiceTier> {
    let mut conditions = when.iter();
    let (key, value) = conditions.next().filter(|_| when.len() == 1)?;
    match (key.as_str(), ServiceTier::elsewhere(value)) {
        (_, ServiceTier::Standard) => None,
        ("processing" | "service_tier" | "speed", tier) => Some(tier),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_hours_sizes_and_tiers_are_read() {
        let text = r#"[{"id": "deepseek", "models": [
            {"id": "v4", "match": {"equals": "v4"}, "prices": [
                {"prices": {"input_mtok": {"base": 0.14, "tiers": [{"start": 8, "price": 1.14}]}, "output_mtok": {"base": 0.28, "tiers": [{"start": 8, "price": 2.28}]}}},
                {"constraint": {"start_date": "2026-08-17"}, "prices": {"input_mtok": 0.22, "cache_read_mtok": 0.007, "output_mtok": 0.66}},
                {"constraint": {"start_time": "01:00:00Z", "end_time": "04:00:00Z"}, "prices": {"input_mtok": 0.44, "output_mtok": 1.32}}]},
            {"id": "image", "match": {"equals": "image"}, "prices": {"requests_kcount": 12}}]},
          {"id": "aws", "models": [{"id": "m", "match": {"equals": "m"},
            "prices": {"input_mtok": {"base": 0.1, "tiers": [{"start": 100000, "price": 0.5}]},
                       "output_mtok": {"base": 0.5, "tiers": [{"start": 100000, "price": 2.5}]}},
            "price_variants": [{"when": {"service_tier": "priority"}, "prices": {"input_mtok": 0.2, "output_mtok": 1}}]}]}]"#;
        let prices = parse(text, "test").expect("a table");
        let models: ByKey<String, _> = prices
            .into_iter()
            .filter_map(|(id, prices)| Some((id.clone(), prices.model(&id, "test")?)))
            .collect();
        assert_eq!(models.keys().map(String::as_str).collect::<Vec<_>>(), ["aws/m", "v4"]);
        let input = |model: &str, at: &str, prompt: u64, tier| {
            let at = at.parse().expect("a time");
            models[model].rate_at(at, Tokens(prompt), tier).expect("a rate").rates.input.0
        };
        let standard = ServiceTier::Standard;
        assert_eq!(input("v4", "2026-08-16T12:00", 9, standard), 1_140_000);
        assert_eq!(input("v4", "2026-08-17T12:00", 9, standard), 220_000);
        assert_eq!(input("v4", "2026-08-16T12:00", 1, standard), 140_000);
        assert_eq!(input("v4", "2026-08-17T12:00", 1, standard), 220_000);
        assert_eq!(input("v4", "2026-08-17T01:00", 1, standard), 440_000);
        assert_eq!(input("aws/m", "2026-08-17T12:00", 100_000, standard), 100_000);
        assert_eq!(input("aws/m", "2026-08-17T12:00", 100_001, standard), 500_000);
        assert_eq!(input("aws/m", "2026-08-17T12:00", 1, ServiceTier::Fast), 200_000);
    }

    #[test]
    fn what_is_no_price_is_named() {
        let text = r#"[{"id": "x-ai", "models": [{"id": "m", "prices": {"input_mtok": -1, "output_mtok": 2}}]}]"#;
        let error = parse(text, "x.json").expect_err("no price").to_string();
        assert_eq!(error, "x.json: model `m`: `-1` is no price in dollars a million tokens");
    }
}
