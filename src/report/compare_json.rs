//! `cachesim.compare/v1`: a comparison of strategies for programs, and its strategies row by row as
//! JSON and CSV.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};

#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

use super::applicability::{ManagedObject, ObstacleObject, obstacles};
use super::compare_view::CompareView;
use super::inputs::Inputs;
use super::json::{write_document, write_line};
use super::report_json::{Prices, TotalsObject};
use super::rows::csv::{Cell as _, CsvFile, CsvRow as _, csv_row};
use crate::base::id::Symbols;
use crate::base::units::{Picodollars, Tokens};
use crate::explain::compare::{Compared, Paired};
use crate::simulate::cache::Reading;
use crate::simulate::provider::{Provider, RolloutAgreement};

pub(super) const SCHEMA: &str = "cachesim.compare/v1";

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct CompareObject<'a> {
    /// The format and its version.
    schema: &'static str,
    /// The version of the program.
    tool_version: &'static str,
    /// The table of list prices.
    prices: Prices<'a>,
    /// What was read.
    inputs: &'a Inputs,
    /// What is assumed of the cache key where the documentation leaves it open, in words; left out where
    /// nothing in the input rests on it.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    assumptions: &'a [String],
    /// How long an entry lives that was written after one of a shorter lifetime.
    reading: Reading,
    /// The strategy that the others are held against.
    base: Option<&'a str>,
    /// What `optimal` costs: the least that any markers, lifetimes and pings could have cost for the same prompts where they
    /// were sent, with the breaks that were recorded unless `--assume breaks=drop` leaves them out. `above_bound_usd` is counted
    /// from it. Another service has a bound of its own, the strategy that ends with `+optimal`.
    bound: BoundObject,
    /// The best caching of the same prompts, as the headline of tables has it.
    best_caching: BestCachingObject,
    /// Sessions that are compared one by one.
    compared_sessions: usize,
    /// Sessions that are not, for a strategy has no cost there.
    incomparable_sessions: usize,
    /// The strategies, in the order they were given.
    strategies: Vec<StrategyObject<'a>>,
    /// Recorded reads of other agents held against the documented rules; left out where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rollouts: Vec<RolloutAgreementObject>,
}

/// What Codex recorded as cached against what the rules give.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[cfg_attr(test, schemars(rename = "AgreementObject"))]
struct RolloutAgreementObject {
    /// The provider, under whose rules they were simulated.
    #[cfg_attr(test, schemars(with = "Provider"))]
    provider: &'static str,
    /// Requests that were compared.
    requests: u64,
    /// Those whose simulated and recorded reads differ by no more than 1 % of the prompt.
    within_1_percent: u64,
    /// Those where the two differ by less than a step of the rules.
    within_step: u64,
    /// Those where the two differ by less than the step that the record shows.
    within_recorded_step: u64,
    /// Cached tokens, as recorded.
    recorded_cached_tokens: Tokens,
    /// Cached tokens, by the rules.
    simulated_cached_tokens: Tokens,
    /// The sum of the absolute differences.
    error_tokens: Tokens,
    /// Requests that lost their prefix in the record and by the rules.
    lost_in_both: u64,
    /// Those that lost it in the record alone.
    lost_in_record_only: u64,
    /// Those that lost it by the rules alone.
    lost_under_rules_only: u64,
}

impl RolloutAgreementObject {
    fn new(provider: &Provider, agreement: &RolloutAgreement) -> Self {
        Self {
            provider: provider.name,
            requests: agreement.requests,
            within_1_percent: agreement.within_1_percent,
            within_step: agreement.within_step,
            within_recorded_step: agreement.within_recorded_step,
            recorded_cached_tokens: agreement.recorded,
            simulated_cached_tokens: agreement.simulated,
            error_tokens: agreement.error,
            lost_in_both: agreement.both_lost,
            lost_in_record_only: agreement.only_recorded_lost,
            lost_under_rules_only: agreement.only_simulated_lost,
        }
    }
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct BoundObject {
    /// The bound under the reading of the strategies, in dollars; null where it is unknown.
    cost_usd: Option<Picodollars>,
    /// The bound under the other reading, in dollars.
    other_reading_cost_usd: Option<Picodollars>,
}

/// The least that any markers, lifetimes and pings could have cost for the same prompts without breaks, if entries live for
/// their own lifetimes. A change of the prompts can cost less.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct BestCachingObject {
    /// That cost, in dollars; null where it is unknown, as without a record or a price, and over domains.
    pub(super) cost_usd: Option<Picodollars>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct StrategyObject<'a> {
    /// The strategy.
    strategy: &'a str,
    /// What it stands for, in a line.
    summary: &'a str,
    /// Whether it can do anything to these requests; where it cannot, it has no figures.
    applicable: bool,
    /// Why parts of it, or all, do nothing; left out where none does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    obstacles: Vec<ObstacleObject<'static>>,
    /// What a search chose; left out of strategies that search nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    chosen: Option<&'a str>,
    /// What context management did; left out of strategies without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    context_management: Option<ManagedObject<'a>>,
    /// What its simulation does not know or assumes, in words; left out where there is nothing.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    unknowns: &'a [Cow<'static, str>],
    /// What it costs more than the base, in dollars; null where either cost is unknown.
    difference_usd: Option<Picodollars>,
    /// What it costs more than its bound, in dollars: than that of the service to which it sends; null where its
    /// prompts are not those recorded.
    above_bound_usd: Option<Picodollars>,
    /// The share of the prompts' tokens that was read, from 0 to 1; null without any.
    hit_rate: Option<f64>,
    /// Requests that it added.
    added_requests: u64,
    /// All its sums.
    totals: TotalsObject,
    /// Those of main conversations.
    main: TotalsObject,
    /// Those of sub-agents.
    agents: TotalsObject,
    /// Those of each model.
    by_model: BTreeMap<&'a str, TotalsObject>,
    /// It and the base, session by session; null for the base and where it cannot be compared.
    paired: Option<PairedObject<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct PairedObject<'a> {
    /// What it costs more than the base in the compared sessions, in dollars.
    difference_usd: Picodollars,
    /// Where that sum would lie in 95 of 100 cases if the sessions were drawn again; null with fewer
    /// than two.
    interval_95_usd: Option<(Picodollars, Picodollars)>,
    /// The quartiles of the sessions' differences, in dollars.
    quartiles_usd: Option<[Picodollars; 3]>,
    /// Sessions in which it costs less.
    cheaper_sessions: usize,
    /// Sessions in which it costs the same.
    equal_sessions: usize,
    /// Sessions in which it costs more.
    dearer_sessions: usize,
    /// The sessions that differ most.
    decisive: Vec<DecisiveObject<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct DecisiveObject<'a> {
    /// The session.
    session_id: &'a str,
    /// What it costs more there, in dollars.
    difference_usd: Picodollars,
}

impl<'a> StrategyObject<'a> {
    fn new(view: &'a CompareView<'_>, compared: &'a Compared<'_>) -> Self {
        let comparison = view.comparison;
        let base = comparison.base().and_then(|base| base.totals.cost());
        let cost = compared.totals.cost();
        Self {
            strategy: &compared.strategy.name,
            summary: &compared.strategy.summary,
            applicable: compared.applicability.is_applicable(),
            obstacles: obstacles(compared.applicability),
            chosen: compared.chosen.as_deref(),
            context_management: compared
                .managed
                .as_ref()
                .map(|managed| ManagedObject::new(&compared.strategy.name, managed)),
            unknowns: &compared.unknowns,
            difference_usd: cost.zip(base).map(|(cost, base)| cost.minus(base)),
            above_bound_usd: comparison.beyond_bound(compared),
            hit_rate: compared.totals.hit_rate(),
            added_requests: compared.totals.added,
            totals: compared.totals.into(),
            main: compared.main.into(),
            agents: compared.agents.into(),
            by_model: compared
                .by_model
                .iter()
                .map(|(model, sums)| (model.as_str(), (*sums).into()))
                .collect(),
            paired: compared.paired.as_ref().map(|paired| PairedObject::new(view.symbols, paired)),
        }
    }
}

impl<'a> PairedObject<'a> {
    fn new(symbols: &'a Symbols, paired: &Paired) -> Self {
        let decisive = paired.decisive.iter().map(|one| DecisiveObject {
            session_id: symbols.text(one.session),
            difference_usd: one.difference,
        });
        Self {
            difference_usd: paired.difference,
            interval_95_usd: paired.interval,
            quartiles_usd: paired.quartiles,
            cheaper_sessions: paired.cheaper,
            equal_sessions: paired.equal,
            dearer_sessions: paired.dearer,
            decisive: decisive.collect(),
        }
    }
}

/// Writes the comparison, with what the best caching of the same prompts costs.
///
/// # Errors
/// Writing to `out` fails.
pub fn write_comparison(
    view: &CompareView<'_>,
    best_caching: Option<Picodollars>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let comparison = view.comparison;
    let strategies = comparison.strategies.iter();
    let object = CompareObject {
        schema: SCHEMA,
        tool_version: env!("CARGO_PKG_VERSION"),
        prices: Prices::named(view.prices),
        inputs: &view.inputs,
        assumptions: &view.assumed,
        reading: view.reading,
        base: comparison.base().map(|base| base.strategy.name.as_ref()),
        bound: BoundObject {
            cost_usd: comparison.bound.own_reading,
            other_reading_cost_usd: comparison.bound.other_reading,
        },
        best_caching: BestCachingObject { cost_usd: best_caching },
        compared_sessions: comparison.sessions,
        incomparable_sessions: comparison.incomparable,
        strategies: strategies.map(|compared| StrategyObject::new(view, compared)).collect(),
        rollouts: view
            .rollouts
            .iter()
            .filter(|(_, agreement)| agreement.requests > 0)
            .map(|(provider, agreement)| RolloutAgreementObject::new(provider, agreement))
            .collect(),
    };
    write_document(&object, out)
}

/// A strategy by itself.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct StrategyLine<'a> {
    /// The format and its version.
    schema: &'static str,
    /// How long an entry lives that was written after one of a shorter lifetime.
    reading: Reading,
    #[serde(flatten)]
    strategy: StrategyObject<'a>,
}

/// Writes an object for each strategy, one per line.
///
/// # Errors
/// Writing to `out` fails.
pub fn write_comparison_lines(view: &CompareView<'_>, out: &mut dyn Write) -> io::Result<()> {
    for compared in &view.comparison.strategies {
        let strategy = StrategyObject::new(view, compared);
        let line = StrategyLine { schema: SCHEMA, reading: view.reading, strategy };
        write_line(&line, out)?;
    }
    Ok(())
}

/// Writes a row for each strategy.
///
/// # Errors
/// What `out` says.
pub fn write_comparison_csv(view: &CompareView<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut csv = CsvFile::of::<StrategyObject<'_>>(out)?;
    for compared in &view.comparison.strategies {
        let strategy = StrategyObject::new(view, compared);
        csv.write(strategy.cells())?;
    }
    csv.finish()
}

csv_row!(StrategyObject {
    strategy,
    cost_usd: |row| row.totals.cost_usd.cell(),
    difference_usd,
    above_bound_usd,
    hit_rate,
    cache_read_input_tokens: |row| row.totals.cache_read_input_tokens.cell(),
    ephemeral_5m_input_tokens: |row| row.totals.ephemeral_5m_input_tokens.cell(),
    ephemeral_1h_input_tokens: |row| row.totals.ephemeral_1h_input_tokens.cell(),
    input_tokens: |row| row.totals.input_tokens.cell(),
    output_tokens: |row| row.totals.output_tokens.cell(),
    requests: |row| row.totals.requests.cell(),
    added_requests,
    applicable,
});
