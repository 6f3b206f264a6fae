//! `cachesim.breaks/v1`: the sums of the breaks and their patterns for programs.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

use super::escape::SafeJson;
use super::number::share;
use super::report_json::ReportInputs;
use crate::breaks::{Agreement, Analysis, Cause, Counted, Pattern, Reconciliation, Sum};
use crate::conversation::History;
use crate::units::{Picodollars, Tokens};

const SCHEMA: &str = "cachesim.breaks/v1";

#[derive(Serialize)]
struct BreaksObject<'a> {
    schema: &'static str,
    tool_version: &'static str,
    inputs: ReportInputs,
    compared: u64,
    not_comparable: u64,
    first_of_chain: u64,
    totals: SumObject,
    expected: SumObject,
    biggest_cause: Option<Cause>,
    best_change: Option<PatternObject<'a>>,
    by_cause: Vec<CauseObject>,
    by_class: BTreeMap<&'static str, SumObject>,
    by_project: BTreeMap<&'a str, SumObject>,
    by_client_version: BTreeMap<&'a str, SumObject>,
    by_week: BTreeMap<&'a str, SumObject>,
    patterns: Vec<PatternObject<'a>>,
    verdicts: VerdictsObject<'a>,
    reconciliation: ReconciliationObject,
}

#[derive(Serialize)]
struct SumObject {
    breaks: u64,
    rewritten_tokens: Tokens,
    excess_usd: Option<Picodollars>,
    unpriced_breaks: u64,
}

impl From<&Sum> for SumObject {
    fn from(sum: &Sum) -> Self {
        Self {
            breaks: sum.breaks,
            rewritten_tokens: sum.rewritten,
            excess_usd: sum.excess(),
            unpriced_breaks: sum.unpriced,
        }
    }
}

#[derive(Serialize)]
struct CauseObject {
    cause: Cause,
    expected: bool,
    #[serde(flatten)]
    sum: SumObject,
}

#[derive(Serialize)]
struct PatternObject<'a> {
    pattern: &'static str,
    observation: &'a str,
    advice: &'a str,
    occurrences: u64,
    sessions: u64,
    saving_usd: Option<Picodollars>,
    saving_rests_on: &'static str,
}

impl<'a> From<&'a Pattern> for PatternObject<'a> {
    fn from(pattern: &'a Pattern) -> Self {
        Self {
            pattern: pattern.name,
            observation: &pattern.observation,
            advice: &pattern.advice,
            occurrences: pattern.occurrences,
            sessions: pattern.sessions,
            saving_usd: pattern.saving,
            saving_rests_on: pattern.ground.name(),
        }
    }
}

#[derive(Serialize)]
struct VerdictsObject<'a> {
    named: CountObject,
    agreeing: CountObject,
    agreement: Option<f64>,
    agreement_inside_ttl: Option<f64>,
    table: Vec<VerdictRow<'a>>,
}

#[derive(Serialize)]
struct CountObject {
    misses: u64,
    inside_ttl: u64,
}

impl From<Counted> for CountObject {
    fn from(count: Counted) -> Self {
        Self { misses: count.all, inside_ttl: count.inside_ttl }
    }
}

#[derive(Serialize)]
struct VerdictRow<'a> {
    server_reason: &'a str,
    inferred: Cause,
    agrees: Option<bool>,
    #[serde(flatten)]
    count: CountObject,
}

impl<'a> From<&'a Agreement> for VerdictsObject<'a> {
    fn from(agreement: &'a Agreement) -> Self {
        let (named, agreeing) = (agreement.named, agreement.agreeing);
        let row = |((reason, cause), count): (&'a (String, Cause), &Counted)| VerdictRow {
            server_reason: reason,
            inferred: *cause,
            agrees: cause.agrees_with(reason),
            count: (*count).into(),
        };
        Self {
            named: named.into(),
            agreeing: agreeing.into(),
            agreement: share(agreeing.all, named.all),
            agreement_inside_ttl: share(agreeing.inside_ttl, named.inside_ttl),
            table: agreement.table.iter().map(row).collect(),
        }
    }
}

/// `billed − replay = (excess − predicted) + unexplained`, exactly.
#[derive(Serialize)]
struct ReconciliationObject {
    billed_usd: Picodollars,
    replay_usd: Picodollars,
    difference_usd: Picodollars,
    excess_usd: Picodollars,
    predicted_excess_usd: Picodollars,
    unexplained_usd: Picodollars,
    left_out_requests: u64,
}

impl From<&Reconciliation> for ReconciliationObject {
    fn from(sums: &Reconciliation) -> Self {
        Self {
            billed_usd: sums.billed,
            replay_usd: sums.replay,
            difference_usd: sums.billed.minus(sums.replay),
            excess_usd: sums.excess,
            predicted_excess_usd: sums.predicted,
            unexplained_usd: sums.unexplained(),
            left_out_requests: sums.left_out,
        }
    }
}

fn by_name(sums: &BTreeMap<String, Sum>) -> BTreeMap<&str, SumObject> {
    sums.iter().map(|(name, sum)| (name.as_str(), sum.into())).collect()
}

/// Writes the sums and patterns.
///
/// # Errors
/// What `out` says.
pub fn write_breaks(history: &History, analysis: &Analysis, out: &mut dyn Write) -> io::Result<()> {
    let (breaks, summary) = (&analysis.breaks, &analysis.summary);
    let cause = |(cause, sum): &(Cause, Sum)| CauseObject {
        cause: *cause,
        expected: cause.is_expected(),
        sum: sum.into(),
    };
    let object = BreaksObject {
        schema: SCHEMA,
        tool_version: env!("CARGO_PKG_VERSION"),
        inputs: ReportInputs::of(history),
        compared: breaks.compared,
        not_comparable: breaks.not_comparable,
        first_of_chain: breaks.openings,
        totals: (&summary.total).into(),
        expected: (&summary.expected).into(),
        biggest_cause: summary.by_cause.first().map(|(cause, _)| *cause),
        best_change: analysis.best_change().map(PatternObject::from),
        by_cause: summary.by_cause.iter().map(cause).collect(),
        by_class: summary.by_class.iter().map(|(class, sum)| (class.name(), sum.into())).collect(),
        by_project: by_name(&summary.by_project),
        by_client_version: by_name(&summary.by_client_version),
        by_week: by_name(&summary.by_week),
        patterns: analysis.patterns.iter().map(PatternObject::from).collect(),
        verdicts: (&summary.agreement).into(),
        reconciliation: (&summary.reconciliation).into(),
    };
    serde_json::to_writer_pretty(SafeJson(&mut *out), &object)?;
    out.write_all(b"\n")
}
