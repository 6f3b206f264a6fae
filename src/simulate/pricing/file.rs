//! Price files in this program's TOML, and the errors in them.

use std::sync::Arc;

use jiff::civil::Date;
use serde::Deserialize;
use serde::de::IgnoredAny;
use toml::Spanned;
use toml::de::{DeTable, Deserializer};

use super::{
    Factors, Hours, ModelPrices, Multiplier, PriceTable, Rate, Rates, per_million, per_unit,
};
use crate::base::{ByKey, Picodollars, Tokens};
use crate::read::input::ServiceTier;

/// Schema of a price file.
const SCHEMA: &str = "cachesim.prices/v1";

/// Price of one web search, a cent, if neither a file nor the table below it has one.
const USUAL_WEB_SEARCH: Picodollars = Picodollars(10_000_000_000);

/// Factors of batches and of government regions if no table has them.
const USUAL_BATCH: &str = "0.5";
const USUAL_GOVERNMENT: &str = "1.2";

/// Reason for which a price file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PriceError {
    /// The text is not TOML of the right shape.
    #[error("{file}: {source}")]
    Toml {
        /// Name of the file.
        file: String,
        /// Error with its place.
        source: Box<toml::de::Error>,
    },
    /// The text is not JSON of LiteLLM's shape.
    #[error("{file}: {source}")]
    Json {
        /// Name of the file.
        file: String,
        /// Error with its place.
        source: serde_json::Error,
    },
    /// A value is not a price, date or multiplier.
    #[error("{file}: model `{model}`: `{value}` is no {expected}")]
    Value {
        /// Name of the file.
        file: String,
        /// Id of the model.
        model: String,
        /// Value in the file.
        value: String,
        /// Kind of value that is expected.
        expected: &'static str,
    },
    /// A value is not a window of hours or a day of the week.
    #[error(
        "{file}: hours `{hours}`: `{value}` is neither a window as in `01:00-04:00` nor a day from `mon` to `sun`"
    )]
    Hours {
        /// Name of the file.
        file: String,
        /// Id of the hours.
        hours: String,
        /// Value in the file.
        value: String,
    },
    /// Two tables of hours have one name.
    #[error("{file}: hours `{hours}` are there twice; give each an `id` of its own")]
    Twice {
        /// Name of the file.
        file: String,
        /// Id of the hours.
        hours: String,
    },
    /// A model without rates and facts.
    #[error("{file}: model `{model}` has neither a `rate` nor `facts`; add one")]
    Empty {
        /// Name of the file.
        file: String,
        /// Id of the model.
        model: String,
    },
    /// The file has another schema.
    #[error("{file}: the schema is `{schema}`; this version reads `{SCHEMA}`")]
    Schema {
        /// Name of the file.
        file: String,
        /// Schema that the file names.
        schema: String,
    },
}

/// Model of a file, for error messages.
#[derive(Clone, Copy)]
pub(super) struct ModelAt<'a> {
    pub(super) file: &'a str,
    pub(super) model: &'a str,
}

impl ModelAt<'_> {
    /// Error for a value of the model that is not of the expected kind.
    pub(super) fn wrong(self, value: &str, expected: &'static str) -> PriceError {
        PriceError::Value {
            file: self.file.to_owned(),
            model: self.model.to_owned(),
            value: value.to_owned(),
            expected,
        }
    }
}

/// Reads hours of a file.
pub(super) fn hours<'t>(
    file: &str,
    id: &str,
    windows: impl IntoIterator<Item = &'t str>,
    weekdays: Option<&'t [String]>,
    except: Vec<Date>,
) -> Result<Arc<Hours>, PriceError> {
    let hours = Hours::new(id, windows, weekdays, except).map(Arc::new);
    hours.map_err(|value| PriceError::Hours {
        file: file.to_owned(),
        hours: id.to_owned(),
        value: value.to_owned(),
    })
}

/// Reads a price file; global values that are missing come from the table below it.
pub(super) fn parse(
    text: &str,
    file: &str,
    below: Option<&PriceTable>,
) -> Result<PriceTable, PriceError> {
    prices(toml::from_str(text), file, below)
}

/// Prices of a table that was parsed already.
pub(super) fn of_document(
    document: Spanned<DeTable<'_>>,
    file: &str,
) -> Result<PriceTable, PriceError> {
    prices(TableFile::deserialize(Deserializer::from(document)), file, None)
}

fn prices(
    table: Result<TableFile, toml::de::Error>,
    file: &str,
    below: Option<&PriceTable>,
) -> Result<PriceTable, PriceError> {
    let table = table
        .map_err(|source| PriceError::Toml { file: file.to_owned(), source: source.into() })?;
    if table.schema != SCHEMA {
        return Err(PriceError::Schema { file: file.to_owned(), schema: table.schema });
    }
    let none = ByKey::new();
    let reader = Reader { at: ModelAt { file, model: "" }, hours: &none };
    let hours = reader.hours(&table.hours)?;
    let mut models = ByKey::new();
    for model in &table.model {
        if model.rate.is_empty() {
            if model.facts.is_none() {
                let (file, model) = (file.to_owned(), model.id.clone());
                return Err(PriceError::Empty { file, model });
            }
            continue;
        }
        let prices = Reader { at: ModelAt { file, model: &model.id }, hours: &hours }
            .model(model, &table.id)?;
        models.insert(model.id.clone(), prices);
    }
    Ok(PriceTable {
        web_search: match &table.web_search {
            Some(price) => reader.value(price, "price", per_unit)?,
            None => below.map_or(USUAL_WEB_SEARCH, |below| below.web_search),
        },
        batch: reader.factor(table.batch.as_deref(), || {
            below.map_or(Multiplier::parse(USUAL_BATCH), |below| Some(below.batch))
        })?,
        government: reader.factor(table.government.as_deref(), || {
            below.map_or(Multiplier::parse(USUAL_GOVERNMENT), |below| Some(below.government))
        })?,
        id: table.id,
        as_of: table.as_of,
        platform: None,
        models,
    })
}

/// Price file; the facts in it are read by [`Models`](crate::base::model::Models).
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TableFile {
    schema: String,
    id: String,
    as_of: String,
    web_search: Option<String>,
    batch: Option<String>,
    government: Option<String>,
    #[serde(default)]
    hours: Vec<HoursFile>,
    #[serde(default)]
    model: Vec<ModelFile>,
    // The next three are facts, read elsewhere; named here because other unknown fields are refused.
    #[serde(default, rename = "usual")]
    _usual: IgnoredAny,
    #[serde(default, rename = "tokenizer")]
    _tokenizers: IgnoredAny,
    #[serde(default, rename = "family")]
    _families: IgnoredAny,
}

/// Addition to the name of the table for prices at second hand.
const UNCERTAIN: &str = " (uncertain, at second hand)";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelFile {
    id: String,
    #[serde(default)]
    aliases: Vec<String>,
    /// Prices at second hand.
    #[serde(default)]
    uncertain: bool,
    us_only: Option<String>,
    regional: Option<String>,
    batch: Option<FactorsFile>,
    flex: Option<FactorsFile>,
    fast: Option<FactorsFile>,
    ultrafast: Option<FactorsFile>,
    facts: Option<IgnoredAny>,
    /// A model with facts alone keeps the prices of the table below, or has none.
    #[serde(default)]
    rate: Vec<RateFile>,
}

/// Factor on everything, or one on everything but reads and one on reads.
#[derive(Deserialize)]
#[serde(untagged)]
enum FactorsFile {
    Same(String),
    Apart { times: String, reads: String },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HoursFile {
    id: String,
    utc: Vec<String>,
    weekdays: Option<Vec<String>>,
    #[serde(default)]
    except: Vec<toml::value::Datetime>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RateFile {
    from: Option<toml::value::Datetime>,
    until: Option<toml::value::Datetime>,
    above: Option<u64>,
    at_least: Option<u64>,
    hours: Option<String>,
    #[serde(default, alias = "speed")]
    tier: ServiceTier,
    input: String,
    /// Price of every lifetime without one of its own.
    cache_write: Option<String>,
    cache_write_5m: Option<String>,
    cache_write_1h: Option<String>,
    cache_write_12h: Option<String>,
    cache_read: String,
    output: String,
}

struct Reader<'a> {
    at: ModelAt<'a>,
    hours: &'a ByKey<String, Arc<Hours>>,
}

impl Reader<'_> {
    fn model(&self, model: &ModelFile, source: &str) -> Result<ModelPrices, PriceError> {
        Ok(ModelPrices {
            id: model.id.clone(),
            aliases: model.aliases.clone(),
            rates: model.rate.iter().map(|rate| self.rate(rate)).collect::<Result<_, _>>()?,
            tiers: self.tiers(model)?,
            us_only: self.multiplier(model.us_only.as_deref())?,
            regional: self.multiplier(model.regional.as_deref())?,
            source: format!("{source}{}", if model.uncertain { UNCERTAIN } else { "" }),
        })
    }

    fn tiers(&self, model: &ModelFile) -> Result<ByKey<ServiceTier, Factors>, PriceError> {
        let given = [
            (ServiceTier::Batch, &model.batch),
            (ServiceTier::Flex, &model.flex),
            (ServiceTier::Fast, &model.fast),
            (ServiceTier::Ultrafast, &model.ultrafast),
        ];
        let given = given.into_iter().filter_map(|(tier, factors)| Some((tier, factors.as_ref()?)));
        given.map(|(tier, factors)| Ok((tier, self.factors(factors)?))).collect()
    }

    fn factors(&self, factors: &FactorsFile) -> Result<Factors, PriceError> {
        let factor = |text: &str| self.value(text, "multiplier", Multiplier::parse);
        Ok(match factors {
            FactorsFile::Same(all) => Factors::of(factor(all)?),
            FactorsFile::Apart { times, reads } => {
                Factors { all: factor(times)?, reads: factor(reads)? }
            }
        })
    }

    fn hours(&self, files: &[HoursFile]) -> Result<ByKey<String, Arc<Hours>>, PriceError> {
        let read = |one: &HoursFile| {
            let except = one.except.iter().map(|day| self.day(*day)).collect::<Result<_, _>>()?;
            let windows = one.utc.iter().map(String::as_str);
            let days = one.weekdays.as_deref();
            Ok((one.id.clone(), hours(self.at.file, &one.id, windows, days, except)?))
        };
        let mut known = ByKey::new();
        for one in files {
            let (id, hours) = read(one)?;
            if known.insert(id.clone(), hours).is_some() {
                return Err(PriceError::Twice { file: self.at.file.to_owned(), hours: id });
            }
        }
        Ok(known)
    }

    fn rate(&self, rate: &RateFile) -> Result<Rate, PriceError> {
        let known = |id: &str| self.hours.get(id).map(Arc::clone);
        let hours = rate.hours.as_deref().map(|id| self.value(id, "`id` of `[[hours]]`", known));
        Ok(Rate {
            from: rate.from.map(|day| self.day(day)).transpose()?,
            until: rate.until.map(|day| self.day(day)).transpose()?,
            above: self.above(rate)?,
            tier: rate.tier,
            hours: hours.transpose()?,
            rates: self.rates(rate)?,
        })
    }

    /// Size of prompts above which a rate applies; a file may give the least size instead.
    fn above(&self, rate: &RateFile) -> Result<Option<Tokens>, PriceError> {
        let expected = "size of prompts: one of `above` and `at_least`, which is 1 or more";
        match (rate.above, rate.at_least) {
            (above, None) => Ok(above.map(Tokens)),
            (above, Some(least)) => {
                // `at_least = 0` would be no condition, and both keys together have no single meaning.
                let above_one_less = |_: &str| least.checked_sub(1).filter(|_| above.is_none());
                self.value(&least.to_string(), expected, above_one_less).map(Tokens).map(Some)
            }
        }
    }

    /// Rates of a row; a write price that is missing is that of all writes, and this one that of input.
    fn rates(&self, rate: &RateFile) -> Result<Rates, PriceError> {
        let price = |text: &str| self.value(text, "price in dollars a million tokens", per_million);
        let (write_5m, write_1h) = self.write_prices(rate)?;
        Ok(Rates {
            input: price(&rate.input)?,
            cache_write_5m: price(write_5m)?,
            cache_write_1h: price(write_1h)?,
            cache_write_12h: rate.cache_write_12h.as_deref().map(price).transpose()?,
            cache_read: price(&rate.cache_read)?,
            output: price(&rate.output)?,
        })
    }

    /// Prices of five-minute and one-hour writes: one each, one for both, or none if they cost the
    /// same as input.
    fn write_prices<'r>(&self, rate: &'r RateFile) -> Result<(&'r str, &'r str), PriceError> {
        match (&rate.cache_write_5m, &rate.cache_write_1h, &rate.cache_write) {
            (Some(write_5m), Some(write_1h), None) => Ok((write_5m, write_1h)),
            (None, None, Some(write)) => Ok((write, write)),
            (None, None, None) => Ok((&rate.input, &rate.input)),
            // A single lifetime's price says nothing about the other's, so it is refused rather than guessed.
            (Some(write), _, _) | (None, Some(write), _) => {
                let expected = "set of write prices: `cache_write`, or `cache_write_5m` and \
                                `cache_write_1h`";
                self.value(write, expected, |_| None)
            }
        }
    }

    fn multiplier(&self, text: Option<&str>) -> Result<Multiplier, PriceError> {
        text.map_or(Ok(Multiplier::ONE), |text| self.value(text, "multiplier", Multiplier::parse))
    }

    fn factor(
        &self,
        text: Option<&str>,
        usual: impl Fn() -> Option<Multiplier>,
    ) -> Result<Multiplier, PriceError> {
        let text = text.map(|text| self.value(text, "multiplier", Multiplier::parse));
        Ok(text.transpose()?.or_else(usual).unwrap_or(Multiplier::ONE))
    }

    fn day(&self, day: toml::value::Datetime) -> Result<Date, PriceError> {
        self.value(&day.to_string(), "day", |text| text.parse().ok())
    }

    fn value<T>(
        &self,
        text: &str,
        expected: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<T, PriceError> {
        parse(text).ok_or_else(|| self.at.wrong(text, expected))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lonely_write_price_is_an_error() {
        let rates = |writes: &str| {
            let text = format!(
                r#"
                schema = "cachesim.prices/v1"
                id = "x"
                as_of = "2026-11-01"
                [[model]]
                id = "m"
                [[model.rate]]
                input = "2"
                cache_read = "1"
                output = "9"
                {writes}
                "#
            );
            let table = parse(&text, "x.toml", None)?;
            Ok::<_, PriceError>(table.find("m").expect("the model").rates[0].rates)
        };
        assert_eq!(rates("").expect("none").cache_write_1h, Picodollars(2_000_000));
        let one = rates(r#"cache_write = "2.5""#).expect("one for both");
        assert_eq!(one.cache_write_5m, Picodollars(2_500_000));
        assert_eq!(one.cache_write_1h, Picodollars(2_500_000));
        for writes in [
            r#"cache_write_5m = "3""#,
            r#"cache_write_1h = "3""#,
            "cache_write = \"3\"\ncache_write_5m = \"3\"",
        ] {
            assert!(rates(writes).expect_err(writes).to_string().contains("cache_write_1h"));
        }
    }

    #[test]
    fn errors_name_file_model_and_value() {
        let text = r#"
            schema = "cachesim.prices/v1"
            id = "mine"
            as_of = "2026-11-01"
            [[model]]
            id = "m"
            [[model.rate]]
            input = "five"
            cache_write_5m = "1"
            cache_write_1h = "1"
            cache_read = "1"
            output = "1"
        "#;
        let error = PriceTable::built_in().overlay(text, "mine.toml").expect_err("no price");
        let message = error.to_string();
        assert_eq!(message, "mine.toml: model `m`: `five` is no price in dollars a million tokens");
        let other = text.replace("prices/v1", "prices/v9");
        let error = PriceTable::built_in().overlay(&other, "mine.toml").expect_err("the schema");
        assert!(error.to_string().contains("cachesim.prices/v9"));
    }
}
