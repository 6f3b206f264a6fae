//! `cachesim.compare/v1`: a comparison of strategies for programs, and its strategies line by line as
//! JSON and as CSV.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

use super::escape::SafeJson;
use super::ledger_rows::to_io;
use super::report_json::{Prices, ReportInputs, TotalsObject};
use crate::cache::Reading;
use crate::compare::{Compared, Comparison, Paired};
use crate::conversation::History;
use crate::pricing::PriceTable;
use crate::provider::{Agreement, Provider};
use crate::units::{Picodollars, Tokens};

const SCHEMA: &str = "cachesim.compare/v1";

#[derive(Serialize)]
struct CompareObject<'a> {
    schema: &'static str,
    tool_version: &'static str,
    prices: Prices<'a>,
    inputs: ReportInputs,
    reading: &'static str,
    base: Option<&'a str>,
    bound: BoundObject,
    compared_sessions: usize,
    incomparable_sessions: usize,
    strategies: Vec<StrategyObject<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rollouts: Vec<AgreementObject>,
}

/// What Codex recorded as cached against what the rules give.
#[derive(Serialize)]
struct AgreementObject {
    provider: &'static str,
    requests: u64,
    within_1_percent: u64,
    within_step: u64,
    within_recorded_step: u64,
    recorded_cached_tokens: Tokens,
    simulated_cached_tokens: Tokens,
    error_tokens: Tokens,
    lost_in_both: u64,
    lost_in_record_only: u64,
    lost_under_rules_only: u64,
}

impl AgreementObject {
    fn new(provider: &Provider, agreement: &Agreement) -> Self {
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
struct BoundObject {
    cost_usd: Option<Picodollars>,
    other_reading_cost_usd: Option<Picodollars>,
}

#[derive(Serialize)]
struct StrategyObject<'a> {
    strategy: &'a str,
    summary: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    chosen: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    unknowns: &'a [&'static str],
    difference_usd: Option<Picodollars>,
    above_bound_usd: Option<Picodollars>,
    hit_rate: Option<f64>,
    added_requests: u64,
    totals: TotalsObject,
    main: TotalsObject,
    agents: TotalsObject,
    by_model: BTreeMap<&'a str, TotalsObject>,
    paired: Option<PairedObject<'a>>,
}

#[derive(Serialize)]
struct PairedObject<'a> {
    difference_usd: Picodollars,
    interval_95_usd: Option<(Picodollars, Picodollars)>,
    quartiles_usd: Option<[Picodollars; 3]>,
    cheaper_sessions: usize,
    equal_sessions: usize,
    dearer_sessions: usize,
    decisive: Vec<DecisiveObject<'a>>,
}

#[derive(Serialize)]
struct DecisiveObject<'a> {
    session_id: &'a str,
    difference_usd: Picodollars,
}

fn reading_name(reading: Reading) -> &'static str {
    match reading {
        Reading::Literal => "literal",
        Reading::Conservative => "conservative",
    }
}

impl<'a> StrategyObject<'a> {
    fn new(history: &'a History, comparison: &Comparison<'_>, compared: &'a Compared<'_>) -> Self {
        let base = comparison.base().and_then(|base| base.totals.cost());
        let cost = compared.totals.cost();
        Self {
            strategy: &compared.strategy.name,
            summary: &compared.strategy.summary,
            chosen: compared.chosen.as_deref(),
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
                .map(|(model, sums)| (*model, (*sums).into()))
                .collect(),
            paired: compared.paired.as_ref().map(|paired| PairedObject::new(history, paired)),
        }
    }
}

impl<'a> PairedObject<'a> {
    fn new(history: &'a History, paired: &Paired) -> Self {
        let decisive = paired.decisive.iter().map(|one| DecisiveObject {
            session_id: history.symbols.text(one.session),
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

/// Writes the comparison.
///
/// # Errors
/// What `out` says.
pub fn write_comparison(
    history: &History,
    prices: &PriceTable,
    comparison: &Comparison<'_>,
    reading: Reading,
    rollouts: &[(&Provider, Agreement)],
    out: &mut dyn Write,
) -> io::Result<()> {
    let strategies = comparison.strategies.iter();
    let object = CompareObject {
        schema: SCHEMA,
        tool_version: env!("CARGO_PKG_VERSION"),
        prices: Prices::of(prices),
        inputs: ReportInputs::of(history),
        reading: reading_name(reading),
        base: comparison.base().map(|base| base.strategy.name.as_ref()),
        bound: BoundObject {
            cost_usd: comparison.bound.own_reading,
            other_reading_cost_usd: comparison.bound.other_reading,
        },
        compared_sessions: comparison.sessions,
        incomparable_sessions: comparison.incomparable,
        strategies: strategies
            .map(|compared| StrategyObject::new(history, comparison, compared))
            .collect(),
        rollouts: rollouts
            .iter()
            .filter(|(_, agreement)| agreement.requests > 0)
            .map(|(provider, agreement)| AgreementObject::new(provider, agreement))
            .collect(),
    };
    serde_json::to_writer_pretty(SafeJson(&mut *out), &object)?;
    out.write_all(b"\n")
}

/// A strategy by itself.
#[derive(Serialize)]
struct StrategyLine<'a> {
    schema: &'static str,
    reading: &'static str,
    #[serde(flatten)]
    strategy: StrategyObject<'a>,
}

/// Writes an object for each strategy, one a line.
///
/// # Errors
/// What `out` says.
pub fn write_comparison_lines(
    history: &History,
    comparison: &Comparison<'_>,
    reading: Reading,
    out: &mut dyn Write,
) -> io::Result<()> {
    for compared in &comparison.strategies {
        let strategy = StrategyObject::new(history, comparison, compared);
        let line = StrategyLine { schema: SCHEMA, reading: reading_name(reading), strategy };
        serde_json::to_writer(SafeJson(&mut *out), &line)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// Writes a line for each strategy.
///
/// # Errors
/// What `out` says.
pub fn write_comparison_csv(comparison: &Comparison<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record([
        "strategy",
        "cost_usd",
        "difference_usd",
        "above_bound_usd",
        "hit_rate",
        "cache_read_input_tokens",
        "ephemeral_5m_input_tokens",
        "ephemeral_1h_input_tokens",
        "input_tokens",
        "output_tokens",
        "requests",
        "added_requests",
    ])
    .map_err(to_io)?;
    let base = comparison.base().and_then(|base| base.totals.cost());
    let money = |amount: Option<Picodollars>| amount.map_or_else(String::new, |a| a.to_string());
    for compared in &comparison.strategies {
        let sums = &compared.totals;
        let cost = sums.cost();
        csv.write_record([
            compared.strategy.name.to_string(),
            money(cost),
            money(cost.zip(base).map(|(cost, base)| cost.minus(base))),
            money(comparison.beyond_bound(compared)),
            sums.hit_rate().map_or_else(String::new, |rate| rate.to_string()),
            sums.read.0.to_string(),
            sums.write_5m.0.to_string(),
            sums.write_1h.0.to_string(),
            sums.input.0.to_string(),
            sums.output.0.to_string(),
            sums.requests.to_string(),
            sums.added.to_string(),
        ])
        .map_err(to_io)?;
    }
    csv.flush()
}
