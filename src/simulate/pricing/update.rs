//! What another program's table would change in the prices in use.
//!
//! A table without days tells what holds on one day. So what held before stays: each row that the table
//! replaces ends on that day, and the new ones begin. What it does not tell stays, too, at the same share of
//! the input.

use std::collections::BTreeMap;

use jiff::ToSpan;
use jiff::civil::{Date, DateTime, time};

use super::file::PriceError;
use super::partial::{Partial, Terms, Told};
use super::table::{Foreign, ModelPrices, PriceTable};
use super::{Rate, Rates};
use crate::base::units::{Picodollars, Tokens};
use crate::read::input::ServiceTier;

/// The folders in which LiteLLM has models of their makers.
const FOLDERS: [&str; 9] =
    ["", "gemini/", "moonshot/", "zai/", "xai/", "dashscope/", "deepseek/", "minimax/", "openai/"];

/// Days on which prices are compared: a week, as some hold on days of the week.
const WEEK: i32 = 7;

/// A class of tokens whose price differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriceChange {
    /// What is charged.
    pub class: &'static str,
    /// How soon the request is served.
    pub tier: ServiceTier,
    /// For prompts of more tokens than this.
    pub above: Option<Tokens>,
    /// The first time at which it differs, in UTC.
    pub at: DateTime,
    /// In the table in use, for a token.
    pub ours: Option<Picodollars>,
    /// In the other one.
    pub theirs: Option<Picodollars>,
}

impl PriceChange {
    /// Whether it is the same change at another time.
    fn says(&self, other: &Self) -> bool {
        Self { at: other.at, ..*self } == *other
    }

    /// Whether a tier's price changes by as much as this ordinary one, and so through it.
    fn implies(&self, other: &Self) -> bool {
        let share = |one: &Self| Some((one.ours?.0, one.theirs?.0));
        let same_share =
            share(self).zip(share(other)).is_some_and(|((ours, theirs), (others, new))| {
                ours.checked_mul(new) == theirs.checked_mul(others)
            });
        self.tier == ServiceTier::Standard
            && (self.class, self.above) == (other.class, other.above)
            && same_share
    }
}

/// What a table would change.
#[derive(Debug)]
pub struct PriceUpdate {
    /// What the other table is called.
    pub source: &'static str,
    /// The models with other prices, whole, with what differs.
    pub changed: Vec<(ModelPrices, Vec<PriceChange>)>,
    /// The models that the tables in use do not have.
    pub added: Vec<ModelPrices>,
    /// How many models have the same prices.
    pub same: usize,
}

impl PriceUpdate {
    /// Compares other programs' prices with those of tables, the first of which counts. New models are those
    /// that `is_wanted`, by a name without a folder. `None` where the text is no table of LiteLLM's or of
    /// genai-prices.
    ///
    /// # Errors
    /// What in the file cannot be used.
    pub fn new(
        tables: &[&PriceTable],
        text: &str,
        file: &str,
        day: Date,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<Option<Self>, PriceError> {
        let Some(mut foreign) = Foreign::parse(text, file)? else { return Ok(None) };
        let mut update =
            Self { source: foreign.name, changed: Vec::new(), added: Vec::new(), same: 0 };
        for (model, table) in known_models(tables) {
            let Some(told) = FOLDERS
                .iter()
                .find_map(|folder| foreign.models.get(&format!("{folder}{}", model.id)))
            else {
                continue;
            };
            let merged = Merge { model, table, day }.with(told, foreign.name);
            let changes = Comparison { model, table, day }.changes(&merged);
            if changes.is_empty() {
                update.same += 1;
            } else {
                update.changed.push((merged, changes));
            }
        }
        let names: Vec<String> = foreign.models.keys().cloned().collect();
        let mut added = BTreeMap::new();
        for name in names {
            let plain = FOLDERS.iter().rev().find_map(|folder| name.strip_prefix(folder));
            let plain = plain.filter(|plain| !plain.contains('/') && is_wanted(plain));
            let Some(plain) =
                plain.filter(|plain| tables.iter().all(|one| one.find(plain).is_none()))
            else {
                continue;
            };
            let told = foreign.models.remove(&name);
            let model = told.and_then(|told| told.model(plain, foreign.name));
            added.extend(model.map(|model| (plain.to_owned(), model)));
        }
        update.added = added.into_values().collect();
        Ok(Some(update))
    }

    /// The models that are other or new, whole.
    pub fn models(&self) -> impl Iterator<Item = &ModelPrices> {
        self.changed.iter().map(|(model, _)| model).chain(&self.added)
    }
}

/// The models of tables, those of the first one before those that it leaves to others.
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

/// A model with what another table tells of it from a day on.
struct Merge<'a> {
    model: &'a ModelPrices,
    table: &'a PriceTable,
    day: Date,
}

impl Merge<'_> {
    fn with(&self, told: &Told, source: &str) -> ModelPrices {
        let told: Vec<Rate> = told.prices.iter().filter_map(|told| self.row(told)).collect();
        let is_said = |rate: &&Rate| !self.is_implied(rate, &told);
        let new: Vec<Rate> = told.iter().filter(is_said).cloned().collect();
        let is_latest =
            |rate: &&Rate| !new.iter().any(|other| is_superseded(rate, other, self.day));
        let new: Vec<Rate> = new
            .iter()
            .filter(is_latest)
            .map(|rate| Rate { from: rate.from.max(Some(self.day)), ..rate.clone() })
            .collect();
        let is_told =
            |rate: &Rate| new.iter().any(|one| (one.above, one.tier) == (rate.above, rate.tier));
        let knows_later = |rate: &Rate| {
            let mut later = new.iter().filter(|one| one.from > Some(self.day));
            later.any(|one| (one.above, one.tier) == (rate.above, rate.tier))
        };
        let kept = self.model.rates.iter().filter_map(|rate| match rate {
            rate if !is_told(rate) => Some(rate.clone()),
            rate if rate.from > Some(self.day) && !knows_later(rate) => Some(rate.clone()),
            rate if rate.from >= Some(self.day) => None,
            rate => {
                let until = rate.until.map_or(self.day, |until| until.min(self.day));
                Some(Rate { until: Some(until), ..rate.clone() })
            }
        });
        let rates = kept.chain(new.clone()).collect();
        let source = format!("{}+{source}", self.model.source);
        ModelPrices { rates, source, ..self.model.clone() }
    }

    /// Whether a tier's row is what the model's factor makes of the ordinary one on the same terms.
    fn is_implied(&self, rate: &Rate, told: &[Rate]) -> bool {
        let ordinary = told.iter().find(|one| {
            one.tier == ServiceTier::Standard
                && (one.above, one.from, &one.hours) == (rate.above, rate.from, &rate.hours)
        });
        let factors = self.table.factors_of_tier(self.model, rate.tier);
        let implied = ordinary.zip(factors).map(|(one, factors)| one.rates.times(factors));
        rate.tier != ServiceTier::Standard && implied == Some(rate.rates)
    }

    /// The row of terms, with what they do not tell from the row that holds now.
    fn row(&self, (terms, partial): &(Terms, Partial)) -> Option<Rate> {
        let Terms { from, above, tier, hours } = terms.clone();
        let prompt = above.map_or(Tokens(1), |above| above + Tokens(1));
        let noon = self.day.to_datetime(time(12, 0, 0, 0));
        let ours = self.table.rates_of_tier_at(self.model, noon, prompt, tier);
        let whole = partial.filled_from(ours.as_ref().map(Partial::from).as_ref());
        let rates = whole.rates()?;
        Some(Rate { from, until: None, above, tier, hours, rates })
    }
}

/// Whether another row for the same requests begins later, but not after the day.
fn is_superseded(rate: &Rate, other: &Rate, day: Date) -> bool {
    let same = (rate.above, rate.tier, &rate.hours) == (other.above, other.tier, &other.hours);
    same && other.from > rate.from && other.from.is_none_or(|from| from <= day)
}

/// The prices of a model before and after.
struct Comparison<'a> {
    model: &'a ModelPrices,
    table: &'a PriceTable,
    day: Date,
}

impl Comparison<'_> {
    fn changes(&self, merged: &ModelPrices) -> Vec<PriceChange> {
        let rows = || self.model.rates.iter().chain(&merged.rates);
        let mut sizes: Vec<Option<Tokens>> = rows().map(|rate| rate.above).chain([None]).collect();
        let mut tiers: Vec<ServiceTier> = merged.rates.iter().map(|rate| rate.tier).collect();
        sizes.sort_unstable();
        sizes.dedup();
        tiers.sort_unstable();
        tiers.dedup();
        let mut changes: Vec<PriceChange> = Vec::new();
        for tier in tiers {
            for &above in &sizes {
                for at in self.times(merged) {
                    let prompt = above.map_or(Tokens(1), |above| above + Tokens(1));
                    let rates = |model| self.table.rates_of_tier_at(model, at, prompt, tier);
                    for (class, ours, theirs) in classes(rates(self.model), rates(merged)) {
                        let change = PriceChange { class, tier, above, at, ours, theirs };
                        let is_known =
                            |one: &PriceChange| one.says(&change) || one.implies(&change);
                        if ours != theirs && !changes.iter().any(is_known) {
                            changes.push(change);
                        }
                    }
                }
            }
        }
        changes
    }

    /// When prices may change: the hours of a week from the day on, and the first days of later rows.
    fn times(&self, merged: &ModelPrices) -> Vec<DateTime> {
        let rows = || self.model.rates.iter().chain(&merged.rates);
        let days = (0..WEEK).filter_map(|days| self.day.checked_add(days.days()).ok());
        let later = rows().flat_map(|rate| [rate.from, rate.until]).flatten();
        let mut days: Vec<Date> = days.chain(later.filter(|day| *day >= self.day)).collect();
        days.sort_unstable();
        days.dedup();
        let has_hours = rows().any(|rate| rate.hours.is_some());
        let hours = if has_hours { 24 } else { 1 };
        let at = |day: Date| (0..hours).map(move |hour| day.to_datetime(time(hour, 30, 0, 0)));
        days.into_iter().flat_map(at).collect()
    }
}

/// Each class with its price in both.
fn classes(
    ours: Option<Rates>,
    theirs: Option<Rates>,
) -> [(&'static str, Option<Picodollars>, Option<Picodollars>); 6] {
    let both = |class, of: fn(Rates) -> Option<Picodollars>| {
        (class, ours.and_then(of), theirs.and_then(of))
    };
    [
        both("input", |rates| Some(rates.input)),
        both("write 5m", |rates| Some(rates.cache_write_5m)),
        both("write 1h", |rates| Some(rates.cache_write_1h)),
        both("write 12h", |rates| rates.cache_write_12h),
        both("read", |rates| Some(rates.cache_read)),
        both("output", |rates| Some(rates.output)),
    ]
}
