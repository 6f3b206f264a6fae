//! Price tables: the built-in one, and files that replace its rows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use jiff::civil::Date;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{Multiplier, Rate, Rates, Speed, litellm, per_million, per_unit};
use crate::base::model::Platform;
use crate::base::units::{Picodollars, Tokens};

/// The built-in table.
const BUILT_IN: &str = include_str!("../../../models/anthropic.toml");

/// The built-in prices of providers with automatic caches.
const OF_PROVIDERS: &str = include_str!("../../../models/providers.toml");

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

/// The prices of one model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelPrices {
    /// The id without its date.
    pub id: String,
    /// Other names.
    pub aliases: Vec<String>,
    /// The rates, in the file's order.
    pub rates: Vec<Rate>,
    /// For inference in the United States only.
    pub us_only: Multiplier,
    /// For regional endpoints of Bedrock and Google Cloud.
    pub regional: Multiplier,
    /// The table it comes from.
    pub source: String,
}

/// Prices by model.
#[derive(Clone, Debug)]
pub struct PriceTable {
    /// The name of the table, and of the files laid over it.
    pub id: String,
    /// The day on which the prices were last checked.
    pub as_of: String,
    /// The price of one web search.
    pub web_search: Picodollars,
    /// For batches.
    pub batch: Multiplier,
    /// Where models are called. `None` lets their names tell.
    pub platform: Option<Platform>,
    models: BTreeMap<String, ModelPrices>,
}

impl PriceTable {
    /// The built-in table.
    ///
    /// # Panics
    /// Never: a test reads the same text.
    #[must_use]
    pub fn built_in() -> Self {
        Self::parse(BUILT_IN, "built-in prices").expect("the compiled-in prices are well-formed")
    }

    /// The prices of providers with automatic caches.
    ///
    /// # Panics
    /// Never: a test reads the same text.
    #[must_use]
    pub fn of_providers() -> &'static Self {
        static TABLE: LazyLock<PriceTable> = LazyLock::new(|| {
            PriceTable::parse(OF_PROVIDERS, "providers' prices")
                .expect("the compiled-in prices are well-formed")
        });
        &TABLE
    }

    /// Adds the providers' prices to the id, for a history with requests to other vendors.
    #[must_use]
    pub fn naming_providers(self) -> Self {
        Self { id: format!("{}+{}", self.id, Self::of_providers().id), ..self }
    }

    /// Lays the models of a file over this table. The file is this program's TOML, or LiteLLM's
    /// JSON.
    ///
    /// # Errors
    /// What in the file cannot be used.
    pub fn overlay(&mut self, text: &str, file: &str) -> Result<(), PriceError> {
        if text.trim_start().starts_with('{') {
            self.models.extend(litellm::parse(text, file)?);
            self.id = format!("{}+litellm", self.id);
            return Ok(());
        }
        let over = Self::parse(text, file)?;
        self.id = format!("{}+{}", self.id, over.id);
        self.as_of = over.as_of;
        self.web_search = over.web_search;
        self.batch = over.batch;
        self.models.extend(over.models);
        Ok(())
    }

    /// The prompt sizes at which some model's prices change.
    pub(super) fn sizes(&self) -> BTreeSet<Tokens> {
        let rates = self.models.values().flat_map(|model| &model.rates);
        rates.filter_map(|rate| rate.above).collect()
    }

    /// The models in order of their ids.
    pub fn models(&self) -> impl Iterator<Item = &ModelPrices> {
        self.models.values()
    }

    /// The prices of a model, by the name as written or by its canonical one. A date or `-latest`
    /// after an id does not matter.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&ModelPrices> {
        let canonical = crate::base::model::canonical_name(name);
        self.models
            .get(name)
            .or_else(|| self.models.get(&*canonical))
            .or_else(|| self.models.get(without_date(&canonical)))
            .or_else(|| {
                let plain = without_date(&canonical);
                self.models.values().find(|model| model.aliases.iter().any(|alias| alias == plain))
            })
    }

    fn parse(text: &str, file: &str) -> Result<Self, PriceError> {
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
        Ok(Self {
            web_search: reader.value(&table.web_search, "price", per_unit)?,
            batch: reader.value(&table.batch, "multiplier", Multiplier::parse)?,
            id: table.id,
            as_of: table.as_of,
            platform: None,
            models,
        })
    }
}

/// `claude-opus-4-5-20251101` → `claude-opus-4-5`, `gpt-5.5-2026-04-23` → `gpt-5.5`.
fn without_date(id: &str) -> &str {
    if let Some((front, day)) = id.len().checked_sub(11).and_then(|end| id.split_at_checked(end))
        && let Some(day) = day.strip_prefix('-')
        && day.parse::<Date>().is_ok()
    {
        return front;
    }
    match id.rsplit_once('-') {
        Some((front, end)) if end == "latest" || is_compact_date(end) => front,
        _ => id,
    }
}

fn is_compact_date(text: &str) -> bool {
    text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit())
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

    #[test]
    fn the_built_in_table_is_well_formed() {
        let table = PriceTable::built_in();
        assert!(table.models().count() > 20);
        for model in table.models() {
            assert!(!model.rates.is_empty(), "{}", model.id);
            for rate in &model.rates {
                let Rates { input, cache_write_5m, cache_write_1h, cache_read, output } =
                    rate.rates;
                assert!(cache_read < input && input < cache_write_5m, "{}", model.id);
                assert!(cache_write_5m < cache_write_1h && input < output, "{}", model.id);
            }
        }
    }

    #[test]
    fn the_table_of_providers_is_well_formed() {
        let table = PriceTable::of_providers();
        assert!(table.models().count() > 30);
        for model in table.models() {
            for rate in &model.rates {
                let Rates { input, cache_write_5m, cache_write_1h, cache_read, output } =
                    rate.rates;
                assert!(cache_read < input && input < output, "{}", model.id);
                assert!(cache_write_5m == cache_write_1h, "{}", model.id);
                let is_charged = cache_write_5m != input;
                assert!(!is_charged || cache_write_5m.0 * 4 == input.0 * 5, "{}", model.id);
            }
        }
    }

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
            let table = PriceTable::parse(&text, "x.toml")?;
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
    fn a_model_is_found_by_every_form_of_its_name() {
        let table = PriceTable::built_in();
        for (name, id) in [
            ("claude-opus-4-5-20251101", "claude-opus-4-5"),
            ("claude-opus-4-20250514", "claude-opus-4"),
            ("claude-4-opus-20250514", "claude-opus-4"),
            ("claude-3-5-haiku-latest", "claude-3-5-haiku"),
            ("claude-opus-5[1m]", "claude-opus-5"),
            ("us.anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5"),
        ] {
            assert_eq!(table.find(name).map(|model| model.id.as_str()), Some(id), "{name}");
        }
        assert!(table.find("claude-3-sonnet-20240229").is_none());
        let providers = PriceTable::of_providers();
        let dated = providers.find("gpt-5.5-2026-04-23").map(|model| model.id.as_str());
        assert_eq!(
            (dated, providers.find("gpt-5.5-2026-13-23").is_some()),
            (Some("gpt-5.5"), false)
        );
        assert!(table.find("claude-opus-4-9").is_none());
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
