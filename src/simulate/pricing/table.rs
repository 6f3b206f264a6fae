//! Price tables: the built-in one, and files that replace its rows.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use jiff::civil::Date;

use super::{Factors, ForeignPrices, Multiplier, PriceError, Rate, file, genai, litellm};
use crate::base::model::{BUILT_IN, JsonShape};
use crate::base::{ByKey, Picodollars, Platform, Tokens};
use crate::read::input::ServiceTier;

/// Built-in prices of other providers.
const OF_PROVIDERS: &str = include_str!("../../../models/providers.toml");

/// Prices of one model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelPrices {
    /// Id without its date.
    pub id: String,
    /// Other names of the model.
    pub aliases: Vec<String>,
    /// Rates in the file's order.
    pub rates: Vec<Rate>,
    /// Factors of tiers without rates of their own on the ordinary ones.
    pub tiers: ByKey<ServiceTier, Factors>,
    /// Factor for inference in the United States only.
    pub us_only: Multiplier,
    /// Factor for regional endpoints of Bedrock and Google Cloud.
    pub regional: Multiplier,
    /// Name of the table that has the prices.
    pub source: String,
}

impl ModelPrices {
    /// Returns true if some rates are for certain hours only.
    pub(super) fn has_hours(&self) -> bool {
        self.rates.iter().any(|rate| rate.hours.is_some())
    }
}

/// Prices by model.
#[derive(Clone, Debug)]
pub struct PriceTable {
    /// Name of the table, and of the files laid over it.
    pub id: String,
    /// Day on which the prices were last checked.
    pub as_of: String,
    /// Price of one web search.
    pub web_search: Picodollars,
    /// Factor for batches, if a model has none of its own.
    pub batch: Multiplier,
    /// Factor for the government's own regions of Bedrock.
    pub government: Multiplier,
    /// Platform of all models; `None` derives it from their names.
    pub platform: Option<Platform>,
    pub(super) models: ByKey<String, ModelPrices>,
}

impl PriceTable {
    /// Built-in table.
    ///
    /// # Panics
    /// Never: a test reads the same text.
    pub fn built_in() -> Self {
        static TABLE: LazyLock<PriceTable> = LazyLock::new(|| {
            file::of_document(BUILT_IN.clone(), "built-in prices")
                .expect("the compiled-in prices are well-formed")
        });
        TABLE.clone()
    }

    /// Built-in prices of other providers.
    ///
    /// # Panics
    /// Never: a test reads the same text.
    pub fn of_providers() -> &'static Self {
        static TABLE: LazyLock<PriceTable> = LazyLock::new(|| {
            file::parse(OF_PROVIDERS, "providers' prices", None)
                .expect("the compiled-in prices are well-formed")
        });
        &TABLE
    }

    /// Adds the providers' prices to the id, for a history with requests to other vendors.
    #[must_use]
    pub fn naming_providers(self) -> Self {
        Self { id: Self::with_providers(&self.id), ..self }
    }

    /// Id of a table with the providers' prices.
    pub fn with_providers(id: &str) -> String {
        format!("{id}+{}", Self::of_providers().id)
    }

    /// Lays the models of a file over this table.
    ///
    /// The file is this program's TOML, or the JSON of LiteLLM or of genai-prices.
    ///
    /// # Errors
    /// Returns the first value of the file that cannot be used.
    pub fn overlay(&mut self, text: &str, file: &str) -> Result<(), PriceError> {
        if let Some(foreign) = Foreign::parse(text, file)? {
            let models = foreign.models.iter();
            self.models.extend(
                // A foreign table replaces models only: it has no day of checking and no global factors.
                models
                    .filter_map(|(id, prices)| Some((id.clone(), prices.model(id, foreign.name)?))),
            );
            self.id = format!("{}+{}", self.id, foreign.name);
            return Ok(());
        }
        let over = file::parse(text, file, Some(self))?;
        self.id = format!("{}+{}", self.id, over.id);
        self.as_of = over.as_of;
        self.web_search = over.web_search;
        self.batch = over.batch;
        self.government = over.government;
        self.models.extend(over.models);
        Ok(())
    }

    /// Prompt sizes at which some model's prices change.
    pub(super) fn sizes(&self) -> BTreeSet<Tokens> {
        let rates = self.models.values().flat_map(|model| &model.rates);
        rates.filter_map(|rate| rate.above).collect()
    }

    /// Models in order of their ids.
    pub fn models(&self) -> impl Iterator<Item = &ModelPrices> {
        self.models.values()
    }

    /// Prices of a model, by its written name or by its canonical one.
    ///
    /// A date or `-latest` after an id does not matter, nor does the case of letters.
    pub fn find(&self, name: &str) -> Option<&ModelPrices> {
        let canonical = crate::base::model::canonical_name(name);
        self.models
            .get(name)
            .or_else(|| self.models.get(&*canonical))
            .or_else(|| self.models.get(without_date(&canonical)))
            .or_else(|| {
                let plain = without_date(&canonical);
                let is_name = |id: &String| id.eq_ignore_ascii_case(plain);
                let has_name =
                    |one: &&ModelPrices| is_name(&one.id) || one.aliases.iter().any(is_name);
                self.models.values().find(has_name)
            })
    }

    /// Prices of a model on a day: the newest of its family if the name asks for the latest one.
    pub(super) fn find_on(&self, name: &str, day: Option<Date>) -> Option<&ModelPrices> {
        self.find(name).or_else(|| {
            let canonical = crate::base::model::canonical_name(name);
            let family =
                canonical.strip_suffix("latest").filter(|name| name.starts_with("claude-"))?;
            let known = |model: &&ModelPrices| model.id.starts_with(family);
            let came = |model: &ModelPrices| model.rates.iter().filter_map(|rate| rate.from).min();
            let models = self.models.values().filter(known);
            let models = models.filter_map(|model| Some((came(model)?, model)));
            let before = models.filter(|(came, _)| day.is_none_or(|day| *came <= day));
            before.max_by_key(|(came, _)| *came).map(|(_, model)| model)
        })
    }
}

/// Table of another program.
pub(super) struct Foreign {
    /// Name of the program.
    pub(super) name: &'static str,
    pub(super) models: ByKey<String, ForeignPrices>,
}

impl Foreign {
    /// Reads the table; `None` if a text is this program's own TOML.
    ///
    /// # Errors
    /// Returns the first value of the file that cannot be used.
    pub(super) fn parse(text: &str, file: &str) -> Result<Option<Self>, PriceError> {
        let (name, models) = match JsonShape::of(text) {
            Some(JsonShape::Object) => ("litellm", litellm::parse(text, file)?),
            Some(JsonShape::List) => ("genai-prices", genai::parse(text, file)?),
            None => return Ok(None),
        };
        Ok(Some(Self { name, models }))
    }
}

/// Removes a date or `-latest`: `claude-opus-4-5-20251101` → `claude-opus-4-5`,
/// `gpt-5.5-2026-04-23` → `gpt-5.5`.
fn without_date(id: &str) -> &str {
    if let Some((front, day)) = id.len().checked_sub(11).and_then(|end| id.split_at_checked(end))
        && let Some(day) = day.strip_prefix('-')
        // Parsed, as any ten characters could follow the hyphen.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::pricing::Rates;

    #[test]
    fn the_built_in_table_is_well_formed() {
        let table = PriceTable::built_in();
        assert!(table.models().count() > 20);
        for model in table.models() {
            assert!(!model.rates.is_empty(), "{}", model.id);
            for rate in &model.rates {
                let Rates { input, cache_write_5m, cache_write_1h, cache_read, output, .. } =
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
                let Rates { input, cache_write_5m, cache_write_1h, cache_read, output, .. } =
                    rate.rates;
                assert!(cache_read <= input && input < output, "{}", model.id);
                // Kimi's lifetimes cost once and twice the input, OpenAI's 1.25 and 2.5 times.
                let is_twice = cache_write_1h.0 == cache_write_5m.0 * 2;
                assert!(cache_write_5m == cache_write_1h || is_twice, "{}", model.id);
                let is_charged = cache_write_5m != input;
                let is_rounded = model.id.contains("qwen");
                let is_a_quarter_more = cache_write_5m.0 * 4 == input.0 * 5;
                assert!(!is_charged || is_a_quarter_more || is_rounded, "{}", model.id);
                let long = rate.rates.cache_write_12h;
                assert!(long.is_none_or(|long| long.0 * 2 == input.0 * 5), "{}", model.id);
            }
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
            ("anthropic/claude-4.6-opus-20260205", "claude-opus-4-6"),
            ("anthropic/claude-4-sonnet-20250522", "claude-sonnet-4"),
            ("anthropic/claude-3.7-sonnet", "claude-3-7-sonnet"),
            ("anthropic/claude-opus-4.8-fast", "claude-opus-4-8"),
            ("databricks-claude-sonnet-4-5", "claude-sonnet-4-5"),
            ("claude-opus-4-0", "claude-opus-4"),
            ("claude-sonnet-4-0", "claude-sonnet-4"),
            ("Claude-Haiku-4.5", "claude-haiku-4-5"),
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
}
