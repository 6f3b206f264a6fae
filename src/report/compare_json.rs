//! `cachesim.compare/v1`: a comparison of strategies for programs.
//!
//! Also its strategies row by row, as JSON and CSV.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::Serialize;

use super::applicability::{ManagedObject, ObstacleObject, obstacles};
use super::compare_view::CompareView;
use super::rows::csv::{Cell as _, CsvFile, CsvRow as _, csv_row};
use super::{Inputs, Prices, TotalsObject, write_line, write_versioned};
use crate::base::{ByKey, Picodollars, Symbols};
use crate::explain::compare::{Bound, Compared, Paired};
use crate::simulate::cache::Reading;
use crate::simulate::provider::RolloutAgreement;

pub(super) const SCHEMA: &str = "cachesim.compare/v1";

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct CompareObject<'a> {
    /// Table of list prices.
    prices: Prices<'a>,
    /// Input read.
    inputs: &'a Inputs,
    /// Assumptions on the cache key if the documentation leaves it open, in words; left out if nothing in the
    /// input rests on it.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    assumptions: &'a [String],
    /// Lifetime of an entry written after one of a shorter lifetime.
    reading: Reading,
    /// Strategy that the others are compared with.
    base: Option<&'a str>,
    /// Cost of `optimal`: the least that any markers, lifetimes and pings could have cost for the same
    /// prompts at their recorded times, with the recorded breaks unless `--assume breaks=drop` leaves them
    /// out. `above_bound_usd` is counted from it. Another service has a bound of its own, the strategy that
    /// ends with `+optimal`.
    bound: Bound,
    /// Best caching of the same prompts, as the headline of tables has it.
    best_caching: BestCachingObject,
    /// Sessions that are compared one by one.
    compared_sessions: usize,
    /// Sessions that are not, as a strategy has no cost there.
    incomparable_sessions: usize,
    /// Strategies, in the order they were given.
    strategies: Vec<StrategyObject<'a>>,
    /// Recorded reads of other agents against the documented rules; left out if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rollouts: Vec<RolloutAgreementObject>,
}

/// Cached tokens: Codex's record and the rules.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "AgreementObject"))]
struct RolloutAgreementObject {
    /// Provider, under whose rules they were simulated.
    #[cfg_attr(test, schemars(with = "crate::simulate::provider::Provider"))]
    provider: &'static str,
    #[serde(flatten)]
    agreement: RolloutAgreement,
}

/// Least cost that any markers, lifetimes and pings could have had for the same prompts without breaks, if
/// entries live for their own lifetimes. A change of the prompts can cost less.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct BestCachingObject {
    /// Cost, in dollars; null if unknown, as without a record or a price, and over domains.
    pub(super) cost_usd: Option<Picodollars>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct StrategyObject<'a> {
    /// Strategy.
    strategy: &'a str,
    /// Its meaning, in a line.
    summary: &'a str,
    /// True if it can do anything to these requests; if not, it has no figures.
    applicable: bool,
    /// Obstacles of its idle parts, or of all; left out without any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    obstacles: Vec<ObstacleObject>,
    /// Choice of a search; left out of strategies that search nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    chosen: Option<&'a str>,
    /// Context management; left out of strategies without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    context_management: Option<ManagedObject<'a>>,
    /// Unknowns and assumptions of its simulation, in words; left out if there are none.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    unknowns: &'a [Cow<'static, str>],
    /// Cost beyond the base, in dollars; null if either cost is unknown.
    difference_usd: Option<Picodollars>,
    /// Cost beyond its bound, in dollars: beyond that of the service to which it sends; null if its prompts
    /// are not those recorded.
    above_bound_usd: Option<Picodollars>,
    /// Share of the prompts' tokens that was read, from 0 to 1; null without any.
    hit_rate: Option<f64>,
    /// Requests that it added.
    added_requests: u64,
    /// All its sums.
    totals: TotalsObject,
    /// Main conversations.
    main: TotalsObject,
    /// Sums of sub-agents.
    agents: TotalsObject,
    /// Sums by model.
    by_model: ByKey<&'a str, TotalsObject>,
    /// Comparison with the base by session; null for the base and without one.
    paired: Option<PairedObject<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PairedObject<'a> {
    /// Cost beyond the base in the compared sessions, in dollars.
    difference_usd: Picodollars,
    /// Range of that sum in 95 of 100 cases if the sessions were drawn again; null with fewer than two.
    interval_95_usd: Option<(Picodollars, Picodollars)>,
    /// Quartiles of the sessions' differences, in dollars.
    quartiles_usd: Option<[Picodollars; 3]>,
    /// Sessions that cost less.
    cheaper_sessions: usize,
    /// Sessions that cost the same.
    equal_sessions: usize,
    /// Sessions that cost more.
    dearer_sessions: usize,
    /// Sessions that differ most.
    decisive: Vec<DecisiveObject<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct DecisiveObject<'a> {
    /// Session.
    session_id: &'a str,
    /// Extra cost there, in dollars.
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

/// Writes the comparison as JSON, with the cost of the best caching of the same prompts.
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
        prices: Prices::named(view.prices),
        inputs: &view.inputs,
        assumptions: &view.assumed,
        reading: view.reading,
        base: comparison.base().map(|base| base.strategy.name.as_ref()),
        bound: comparison.bound,
        best_caching: BestCachingObject { cost_usd: best_caching },
        compared_sessions: comparison.sessions,
        incomparable_sessions: comparison.incomparable,
        strategies: strategies.map(|compared| StrategyObject::new(view, compared)).collect(),
        rollouts: view
            .rollouts
            .iter()
            // A provider without comparable requests would have a row of zeros.
            .filter(|(_, agreement)| agreement.requests > 0)
            .map(|(provider, agreement)| RolloutAgreementObject {
                provider: provider.name,
                agreement: *agreement,
            })
            .collect(),
    };
    write_versioned(SCHEMA, &object, out)
}

/// Strategy by itself.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct StrategyLine<'a> {
    /// Format and its version.
    schema: &'static str,
    /// Lifetime of an entry written after one of a shorter lifetime.
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

/// Writes a row for each strategy as CSV.
///
/// # Errors
/// Writing to `out` fails.
pub fn write_comparison_csv(view: &CompareView<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut csv = CsvFile::of::<StrategyObject<'_>>(out)?;
    for compared in &view.comparison.strategies {
        let strategy = StrategyObject::new(view, compared);
        csv.write(strategy.cells())?;
    }
    csv.finish()
}

// The columns of a row are flat: the nested sums stay in the JSON.
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
