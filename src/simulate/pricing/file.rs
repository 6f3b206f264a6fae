//! Price files: this program's TOML, and why one cannot be used.

use std::collections::BTreeMap;

use jiff::civil::Date;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::table::{ModelPrices, PriceTable};
use super::{Multiplier, Rate, Rates, Speed, per_million, per_unit};
use crate::base::units::Tokens;

/// The schema of a price file.
const SCHEMA: &str = "cachesim.prices/v1";

/// Why a price file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PriceError {
    /// The text is not TOML of the right shape.
    #[error("{file}: {source}")]
    Toml {
        /// The file.
        file: String,
        /// What is wrong and where.
        source: Box<toml::de::Error>,
    },
    /// The text is not JSON of LiteLLM's shape.
    #[error("{file}: {source}")]
    Json {
        /// The file.
        file: String,
        /// What is wrong and where.
        source: serde_json::Error,
    },
    /// A value is not a price, date or multiplier.
    #[error("{file}: model `{model}`: `{value}` is no {expected}")]
    Value {
        /// The file.
        file: String,
        /// The model.
        model: String,
        /// What it is.
        value: String,
        /// What it should be.
        expected: &'static str,
    },
    /// A model says nothing.
    #[error("{file}: model `{model}` has neither a `rate` nor `facts`; add one")]
    Empty {
        /// The file.
        file: String,
        /// The model.
        model: String,
    },
    /// The file has another schema.
    #[error("{file}: the schema is `{schema}`; this version reads `{SCHEMA}`")]
    Schema {
        /// The file.
        file: String,
        /// The schema it names.
        schema: String,
    },
}

/// Reads a price file.
pub(super) fn parse(text: &str, file: &str) -> Result<PriceTable, PriceError> {
    let table: TableFile = toml::from_str(text)
        .map_err(|source| PriceError::Toml { file: file.to_owned(), source: source.into() })?;
    if table.schema != SCHEMA {
        return Err(PriceError::Schema { file: file.to_owned(), schema: table.schema });
    }
    let reader = Reader { file, model: "" };
    let mut models = BTreeMap::new();
    for model in &table.model {
        if model.rate.is_empty() {
            if model.facts.is_none() {
                let (file, model) = (file.to_owned(), model.id.clone());
                return Err(PriceError::Empty { file, model });
            }
            continue;
        }
        let prices = Reader { file, model: &model.id }.model(model, &table.id)?;
        models.insert(model.id.clone(), prices);
    }
    Ok(PriceTable {
        web_search: reader.value(&table.web_search, "price", per_unit)?,
        batch: reader.value(&table.batch, "multiplier", Multiplier::parse)?,
        id: table.id,
        as_of: table.as_of,
        platform: None,
        models,
    })
}

/// A price file. The facts in it are read by [`Models`](crate::base::model::Models).
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TableFile {
    schema: String,
    id: String,
    as_of: String,
    #[serde(default = "default_web_search")]
    web_search: String,
    #[serde(default = "default_batch")]
    batch: String,
    #[serde(default)]
    model: Vec<ModelFile>,
    #[serde(default, rename = "usual")]
    _usual: IgnoredAny,
    #[serde(default, rename = "tokenizer")]
    _tokenizers: IgnoredAny,
    #[serde(default, rename = "family")]
    _families: IgnoredAny,
}

fn default_web_search() -> String {
    "0.01".to_owned()
}

fn default_batch() -> String {
    "0.5".to_owned()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelFile {
    id: String,
    #[serde(default)]
    aliases: Vec<String>,
    us_only: Option<String>,
    regional: Option<String>,
    facts: Option<IgnoredAny>,
    /// A model with facts alone keeps the prices of the table below, or has none.
    #[serde(default)]
    rate: Vec<RateFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RateFile {
    from: Option<toml::value::Datetime>,
    until: Option<toml::value::Datetime>,
    above: Option<u64>,
    #[serde(default)]
    speed: SpeedFile,
    input: String,
    /// For both TTLs, or for caches without a choice of them.
    cache_write: Option<String>,
    cache_write_5m: Option<String>,
    cache_write_1h: Option<String>,
    cache_read: String,
    output: String,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SpeedFile {
    #[default]
    Standard,
    Fast,
}

struct Reader<'a> {
    file: &'a str,
    model: &'a str,
}

impl Reader<'_> {
    fn model(&self, model: &ModelFile, source: &str) -> Result<ModelPrices, PriceError> {
        Ok(ModelPrices {
            id: model.id.clone(),
            aliases: model.aliases.clone(),
            rates: model.rate.iter().map(|rate| self.rate(rate)).collect::<Result<_, _>>()?,
            us_only: self.multiplier(model.us_only.as_deref())?,
            regional: self.multiplier(model.regional.as_deref())?,
            source: source.to_owned(),
        })
    }

    fn rate(&self, rate: &RateFile) -> Result<Rate, PriceError> {
        let price = |text: &str| self.value(text, "price in dollars a million tokens", per_million);
        let (write_5m, write_1h) = self.write_prices(rate)?;
        Ok(Rate {
            from: self.date(rate.from)?,
            until: self.date(rate.until)?,
            above: rate.above.map(Tokens),
            speed: match rate.speed {
                SpeedFile::Standard => Speed::Standard,
                SpeedFile::Fast => Speed::Fast,
            },
            rates: Rates {
                input: price(&rate.input)?,
                cache_write_5m: price(write_5m)?,
                cache_write_1h: price(write_1h)?,
                cache_read: price(&rate.cache_read)?,
                output: price(&rate.output)?,
            },
        })
    }

    /// The prices of five-minute and one-hour writes: one each, one for both, or none, where they
    /// cost the same as input.
    fn write_prices<'r>(&self, rate: &'r RateFile) -> Result<(&'r str, &'r str), PriceError> {
        match (&rate.cache_write_5m, &rate.cache_write_1h, &rate.cache_write) {
            (Some(write_5m), Some(write_1h), None) => Ok((write_5m, write_1h)),
            (None, None, Some(write)) => Ok((write, write)),
            (None, None, None) => Ok((&rate.input, &rate.input)),
            (Some(write), _, _) | (None, Some(write), _) => Err(PriceError::Value {
                file: self.file.to_owned(),
                model: self.model.to_owned(),
                value: write.clone(),
                expected: "set of write prices: `cache_write`, or `cache_write_5m` and \
                           `cache_write_1h`",
            }),
        }
    }

    fn multiplier(&self, text: Option<&str>) -> Result<Multiplier, PriceError> {
        text.map_or(Ok(Multiplier::ONE), |text| self.value(text, "multiplier", Multiplier::parse))
    }

    fn date(&self, date: Option<toml::value::Datetime>) -> Result<Option<Date>, PriceError> {
        date.map(|date| self.value(&date.to_string(), "day", |text| text.parse().ok())).transpose()
    }

    fn value<T>(
        &self,
        text: &str,
        expected: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<T, PriceError> {
        parse(text).ok_or_else(|| PriceError::Value {
            file: self.file.to_owned(),
            model: self.model.to_owned(),
            value: text.to_owned(),
            expected,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::units::Picodollars;

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
            let table = parse(&text, "x.toml")?;
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
