//! Changes that another program's table would make to the prices in use.
//!
//! A table without days has the prices of one day only. So earlier prices stay: each row that the
//! table replaces ends on that day, and the new ones begin ([`merge`]). Differences are found by
//! asking both tables for the price of requests of every size and tier, at every hour of a week
//! ([`compare`]).

mod compare;
mod merge;

use jiff::civil::{Date, DateTime};

use super::table::Foreign;
use super::{ForeignPrices, ModelPrices, PriceError, PriceTable};
use crate::base::{ByKey, Picodollars, Tokens};
use crate::read::input::ServiceTier;

use compare::Comparison;
use merge::Merge;

/// Folders of model makers in LiteLLM's table, with the beginnings of their models' names.
const FOLDERS: [(&str, &[&str]); 8] = [
    ("openai/", &["gpt-", "o1", "o3", "o4"]),
    ("deepseek/", &["deepseek"]),
    ("gemini/", &["gemini"]),
    ("moonshot/", &["kimi", "moonshot"]),
    ("zai/", &["glm"]),
    ("xai/", &["grok"]),
    ("dashscope/", &["qwen"]),
    ("minimax/", &["MiniMax"]),
];

/// Sellers of models under their plain names in LiteLLM's table at their makers' prices.
const MAKERS: [&str; 9] = [
    "anthropic",
    "openai",
    "deepseek",
    "gemini",
    "vertex_ai-language-models",
    "moonshot",
    "zai",
    "xai",
    "dashscope",
];

/// Class of tokens whose price differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriceChange {
    /// Class of tokens.
    pub class: &'static str,
    /// Tier of service.
    pub tier: ServiceTier,
    /// Size that a prompt must exceed.
    pub above: Option<Tokens>,
    /// First time at which the price differs, in UTC.
    pub at: DateTime,
    /// Price in the table in use, for a token.
    pub ours: Option<Picodollars>,
    /// Price in the other table, for a token.
    pub theirs: Option<Picodollars>,
}

/// Changes that a table would make.
#[derive(Debug)]
pub struct PriceUpdate {
    /// Name of the other table.
    pub source: &'static str,
    /// Models with other prices, whole, with the differences.
    pub changed: Vec<(ModelPrices, Vec<PriceChange>)>,
    /// Models that the tables in use do not have.
    pub added: Vec<ModelPrices>,
    /// Number of models with the same prices.
    pub same: usize,
}

impl PriceUpdate {
    /// Compares another program's prices with those of tables, of which the first takes precedence.
    ///
    /// New models are added if `is_wanted` accepts their name without a folder. `None` if the text
    /// is no table of LiteLLM's or of genai-prices.
    ///
    /// # Errors
    /// Returns the first value of the file that cannot be used.
    pub fn new(
        tables: &[&PriceTable],
        text: &str,
        file: &str,
        day: Date,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<Option<Self>, PriceError> {
        let Some(foreign) = Foreign::parse(text, file)? else { return Ok(None) };
        let mut update = Self {
            source: foreign.name,
            changed: Vec::new(),
            added: added(tables, &foreign, is_wanted),
            same: 0,
        };
        for (model, table) in known_models(tables) {
            let Some(foreign_prices) = prices_of(&foreign, model) else { continue };
            let merged = Merge { model, table, day }.with(foreign_prices, foreign.name);
            let changes = Comparison { model, table, day }.changes(&merged);
            if changes.is_empty() {
                update.same += 1;
            } else {
                update.changed.push((merged, changes));
            }
        }
        Ok(Some(update))
    }

    /// Models that are changed or new, whole.
    pub fn models(&self) -> impl Iterator<Item = &ModelPrices> {
        self.changed.iter().map(|(model, _)| model).chain(&self.added)
    }
}

/// Models of the tables, each from the first table that has it.
fn known_models<'t>(
    tables: &'t [&'t PriceTable],
) -> impl Iterator<Item = (&'t ModelPrices, &'t PriceTable)> {
    tables.iter().enumerate().flat_map(move |(place, table)| {
        let is_left = move |model: &&ModelPrices| {
            tables[..place].iter().all(|before| before.find(&model.id).is_none())
        };
        table.models().filter(is_left).map(move |model| (model, *table))
    })
}

/// Prices of a model in a foreign table: under its id, that with `-latest`, or another of its names.
fn prices_of<'f>(foreign: &'f Foreign, model: &ModelPrices) -> Option<&'f ForeignPrices> {
    let latest = format!("{}-latest", model.id);
    let mut names = [&model.id, &latest].into_iter().chain(&model.aliases);
    names.find_map(|name| by_maker(foreign, name))
}

/// Model at its maker's price: under its plain name, or in its maker's folder; resellers are ignored.
fn by_maker<'f>(foreign: &'f Foreign, name: &str) -> Option<&'f ForeignPrices> {
    let plain = foreign.models.get(name).filter(|foreign_prices| is_of_maker(foreign_prices));
    let in_folder = || {
        let (folder, _) = FOLDERS.iter().find(|(_, names)| begins_with_any(name, names))?;
        foreign.models.get(&format!("{folder}{name}"))
    };
    plain.or_else(in_folder)
}

fn is_of_maker(foreign_prices: &ForeignPrices) -> bool {
    foreign_prices.seller.as_ref().is_none_or(|seller| MAKERS.contains(&seller.as_str()))
}

fn begins_with_any(name: &str, beginnings: &[&str]) -> bool {
    beginnings.iter().any(|beginning| name.starts_with(beginning))
}

/// Wanted models that no table has, by their plain names.
///
/// Models free of charge are left out: a price of zero is not known to apply everywhere.
fn added(
    tables: &[&PriceTable],
    foreign: &Foreign,
    is_wanted: impl Fn(&str) -> bool,
) -> Vec<ModelPrices> {
    let mut added: ByKey<&str, ModelPrices> = ByKey::new();
    for name in foreign.models.keys() {
        // A name with another folder is a reseller's model.
        let plain =
            FOLDERS.iter().find_map(|(folder, _)| name.strip_prefix(folder)).unwrap_or(name);
        let is_new = !plain.contains('/')
            && !added.contains_key(plain)
            && is_wanted(plain)
            && tables.iter().all(|table| table.find(plain).is_none());
        let Some(foreign_prices) = is_new.then(|| by_maker(foreign, plain)).flatten() else {
            continue;
        };
        let model = foreign_prices.model(plain, foreign.name).filter(|model| {
            let is_charged = |rates: &super::Rates| rates.input.0 > 0 && rates.output.0 > 0;
            model.rates.iter().all(|rate| is_charged(&rate.rates))
        });
        added.extend(model.map(|model| (plain, model)));
    }
    added.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: &str = "2026-11-25";

    fn day(text: &str) -> Date {
        text.parse().expect("a day")
    }

    fn update_of(table: &PriceTable, text: &str) -> PriceUpdate {
        let tables = [table, PriceTable::of_providers()];
        let is_wanted = |name: &str| name.starts_with("gpt-") || name.starts_with("glm-");
        let update = PriceUpdate::new(&tables, text, "x.json", day(DAY), is_wanted);
        update.expect("a table").expect("another program's")
    }

    fn update(text: &str) -> PriceUpdate {
        update_of(&PriceTable::built_in(), text)
    }

    /// Price of input of the one model that changes.
    fn input(update: &PriceUpdate, at: &str, prompt: u64, tier: ServiceTier) -> Option<i128> {
        let [(model, _)] = &update.changed[..] else { panic!("{update:?}") };
        let table = PriceTable::of_providers();
        let at = at.parse().expect("a time");
        let rates = table.rates_of_tier_at(model, at, Tokens(prompt), tier)?;
        Some(rates.input.0)
    }

    const NOON: &str = "2026-11-25T12:00";

    #[test]
    fn a_tier_that_is_told_has_a_row_for_every_size() {
        // The page rounds the price of reads, so the tier has rows of its own.
        let rounded = update(
            r#"{"gpt-5.4": {"input_cost_per_token": 2.5e-06, "output_cost_per_token": 1.5e-05, "cache_read_input_token_cost": 2.5e-07,
                "input_cost_per_token_above_272k_tokens": 5e-06, "output_cost_per_token_above_272k_tokens": 2.25e-05, "cache_read_input_token_cost_above_272k_tokens": 5e-07,
                "input_cost_per_token_flex": 1.25e-06, "output_cost_per_token_flex": 7.5e-06, "cache_read_input_token_cost_flex": 1.3e-07}}"#,
        );
        assert_eq!(rounded.changed[0].1.len(), 1, "{rounded:?}");
        assert_eq!(input(&rounded, NOON, 1, ServiceTier::Flex), Some(1_250_000));
        assert_eq!(input(&rounded, NOON, 272_001, ServiceTier::Flex), Some(2_500_000));
    }

    #[test]
    fn a_tier_may_go_back_to_its_factor() {
        let luna = |batch: &str| {
            format!(
                r#"{{"gpt-5.6-luna": {{"input_cost_per_token": 2e-07, "output_cost_per_token": 1.2e-06, "cache_creation_input_token_cost": 2.5e-07,
                    "cache_read_input_token_cost": 2e-08, "input_cost_per_token_batches": {batch}, "output_cost_per_token_batches": 6e-07}}}}"#
            )
        };
        let first = update(&luna("1.6e-07"));
        assert_eq!(input(&first, NOON, 1, ServiceTier::Batch), Some(160_000));
        let mut table = PriceTable::built_in();
        let [(model, _)] = &first.changed[..] else { panic!("{first:?}") };
        table.models.insert(model.id.clone(), model.clone());
        let second = update_of(&table, &luna("1e-07"));
        assert_eq!(input(&second, NOON, 1, ServiceTier::Batch), Some(100_000));
        let third = update_of(&table, &luna("1.6e-07"));
        assert_eq!((third.changed.len(), third.same), (0, 1));
    }

    #[test]
    fn prices_of_hours_and_of_the_whole_day_replace_their_own_kind() {
        let hours = update(
            r#"[{"id": "openai", "models": [{"id": "gpt-5.5", "prices": [{"constraint": {"start_time": "01:00:00Z", "end_time": "04:00:00Z"},
                "prices": {"input_mtok": 4, "cache_read_mtok": 0.4, "output_mtok": 24}}]}]}]"#,
        );
        assert_eq!(input(&hours, NOON, 1, ServiceTier::Standard), Some(5_000_000));
        assert_eq!(input(&hours, "2026-11-25T01:00", 1, ServiceTier::Standard), Some(4_000_000));
        let flat = update(
            r#"{"deepseek-v4-pro": {"input_cost_per_token": 7e-07, "output_cost_per_token": 2e-06, "cache_read_input_token_cost": 2.2e-08}}"#,
        );
        assert_eq!(input(&flat, NOON, 1, ServiceTier::Standard), Some(700_000));
        assert_eq!(input(&flat, "2026-11-25T01:00", 1, ServiceTier::Standard), Some(1_320_000));
    }

    #[test]
    fn factors_that_are_told_count_for_known_models() {
        let cheaper = update(
            r#"{"claude-opus-5": {"input_cost_per_token": 4e-06, "output_cost_per_token": 2e-05, "cache_creation_input_token_cost": 5e-06,
                "cache_read_input_token_cost": 4e-07, "provider_specific_entry": {"fast": 2.0}}}"#,
        );
        assert_eq!(input(&cheaper, NOON, 1, ServiceTier::Standard), Some(4_000_000));
        assert_eq!(input(&cheaper, NOON, 1, ServiceTier::Fast), Some(8_000_000));
    }

    #[test]
    fn prices_are_those_of_the_models_maker() {
        let sold = update(
            r#"{"dashscope/deepseek-v3.2": {"input_cost_per_token": 9e-06, "output_cost_per_token": 1e-05, "litellm_provider": "dashscope"},
                "deepseek/deepseek-v3.2": {"input_cost_per_token": 3e-07, "output_cost_per_token": 4e-07, "litellm_provider": "deepseek"},
                "gpt-9": {"input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06, "litellm_provider": "volcengine"},
                "zai/glm-9-flash": {"input_cost_per_token": 0, "output_cost_per_token": 0, "litellm_provider": "zai"},
                "zai/glm-9": {"input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06, "litellm_provider": "zai"},
                "gpt-5.1-chat-latest": {"input_cost_per_token": 1e-06, "output_cost_per_token": 1e-05, "cache_read_input_token_cost": 1.25e-07}}"#,
        );
        let changed: Vec<(&str, i128)> = sold
            .changed
            .iter()
            .map(|(model, changes)| (model.id.as_str(), changes[0].theirs.expect("a price").0))
            .collect();
        assert_eq!(changed, [("deepseek-v3.2", 300_000), ("gpt-5.1-chat", 1_000_000)]);
        let added: Vec<&str> = sold.added.iter().map(|model| model.id.as_str()).collect();
        assert_eq!(added, ["glm-9"]);
    }
}
