//! `cachesim.breaks/v1`: the sums of breaks and their patterns, for programs.

use std::collections::BTreeMap;
use std::io::{self, Write};

#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

use super::compare_json::BestCachingObject;
use super::inputs::Inputs;
use super::json::write_document;
use super::number::share;
#[cfg(test)]
use super::schemas::Keyed;
use crate::base::units::{Picodollars, Tokens};
use crate::explain::breaks::{
    Analysis, Cause, Counted, Ground, Pattern, Reconciliation, Sum, VerdictAgreement,
};
use crate::requests::conversation::History;

pub(super) const SCHEMA: &str = "cachesim.breaks/v1";

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct BreaksObject<'a> {
    /// The format and its version.
    schema: &'static str,
    /// The version of the program.
    tool_version: &'static str,
    /// What was read.
    inputs: Inputs,
    /// Requests that were held against the one before.
    compared: u64,
    /// Requests after a hole in their chain, which are not judged.
    not_comparable: u64,
    /// Requests with nothing before them.
    first_of_chain: u64,
    /// All breaks.
    totals: SumObject,
    /// Those that follow from what was done: compactions and expiries.
    expected: SumObject,
    /// The cause with the largest excess; null where there is no break.
    biggest_cause: Option<Cause>,
    /// Breaks by cause, the most expensive first.
    by_cause: Vec<CauseObject>,
    /// Breaks by what happened to the cache.
    #[cfg_attr(test, schemars(with = "Keyed<crate::explain::breaks::Class, SumObject>"))]
    by_class: BTreeMap<&'static str, SumObject>,
    /// Breaks by the folder that the session worked in.
    by_project: BTreeMap<&'a str, SumObject>,
    /// Breaks by the version of the client.
    by_client_version: BTreeMap<&'a str, SumObject>,
    /// Breaks by ISO week, in the time zone of `--timezone`, else in UTC.
    by_week: BTreeMap<&'a str, SumObject>,
    /// What recurs, and what to change; savings overlap and do not add up.
    patterns: Vec<PatternObject<'a>>,
    /// The inferred causes held against the service's own verdicts.
    verdicts: VerdictsObject<'a>,
    /// How the breaks add up to what the bill and the rules differ by.
    reconciliation: ReconciliationObject,
    /// The best caching of the same prompts, as the headline of tables has it.
    best_caching: BestCachingObject,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct SumObject {
    /// How many.
    breaks: u64,
    /// Tokens that were sent again though they had been cached.
    rewritten_tokens: Tokens,
    /// What that cost beyond reading them, in dollars; null where nothing has a price.
    excess_usd: Option<Picodollars>,
    /// Breaks of models without a price, which the excess leaves out.
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
#[cfg_attr(test, derive(JsonSchema))]
struct CauseObject {
    /// The cause.
    cause: Cause,
    /// Whether it follows from what was done.
    expected: bool,
    #[serde(flatten)]
    sum: SumObject,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct PatternObject<'a> {
    /// The name of the pattern.
    pattern: &'static str,
    /// What was seen, in a sentence.
    observation: &'a str,
    /// What to change, in a sentence.
    advice: &'a str,
    /// How often it was seen.
    occurrences: u64,
    /// In how many sessions.
    sessions: u64,
    /// What the change would have saved here, in dollars; null without prices.
    saving_usd: Option<Picodollars>,
    /// What the saving rests on.
    saving_rests_on: Ground,
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
            saving_rests_on: pattern.ground,
        }
    }
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct VerdictsObject<'a> {
    /// Misses for which the service named a cause.
    named: CountObject,
    /// Those of them where the inferred cause is the same.
    agreeing: CountObject,
    /// The share of the latter in the former; null where there are none.
    agreement: Option<f64>,
    /// The same inside the lifetime of the entries.
    agreement_inside_ttl: Option<f64>,
    /// Each verdict with each cause that was inferred beside it.
    table: Vec<VerdictRow<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct CountObject {
    /// All misses.
    misses: u64,
    /// Those inside the lifetime of the entries.
    inside_ttl: u64,
}

impl From<Counted> for CountObject {
    fn from(count: Counted) -> Self {
        Self { misses: count.all, inside_ttl: count.inside_ttl }
    }
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct VerdictRow<'a> {
    /// The service's verdict.
    server_reason: &'a str,
    /// The cause inferred without it.
    inferred: Cause,
    /// Whether the two say the same; null where the verdict names nothing.
    agrees: Option<bool>,
    #[serde(flatten)]
    count: CountObject,
}

impl<'a> From<&'a VerdictAgreement> for VerdictsObject<'a> {
    fn from(agreement: &'a VerdictAgreement) -> Self {
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

/// `billed − apart − replay = (excess − predicted) + unexplained`, exactly.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct ReconciliationObject {
    /// What was billed, in dollars; null, like all of these, where no request has a record and a price.
    billed_usd: Option<Picodollars>,
    /// What of it was billed for samplings apart, which no simulation has.
    apart_usd: Option<Picodollars>,
    /// What the rules predict for the same requests.
    replay_usd: Option<Picodollars>,
    /// What was billed beyond both.
    difference_usd: Option<Picodollars>,
    /// What the breaks cost.
    excess_usd: Option<Picodollars>,
    /// The part of the excess that the rules predict, too.
    predicted_excess_usd: Option<Picodollars>,
    /// The rest of the excess: breaks beyond the rules.
    beyond_rules_usd: Option<Picodollars>,
    /// What no break accounts for.
    unexplained_usd: Option<Picodollars>,
    /// Requests that are in none of these sums.
    left_out_requests: u64,
}

impl From<&Reconciliation> for ReconciliationObject {
    fn from(sums: &Reconciliation) -> Self {
        let known = |amount| sums.is_known().then_some(amount);
        Self {
            billed_usd: known(sums.billed),
            apart_usd: known(sums.apart),
            replay_usd: known(sums.replay),
            difference_usd: known(sums.difference()),
            excess_usd: known(sums.excess),
            predicted_excess_usd: known(sums.predicted),
            beyond_rules_usd: known(sums.beyond_rules()),
            unexplained_usd: known(sums.unexplained()),
            left_out_requests: sums.left_out,
        }
    }
}

fn by_name(sums: &BTreeMap<String, Sum>) -> BTreeMap<&str, SumObject> {
    sums.iter().map(|(name, sum)| (name.as_str(), sum.into())).collect()
}

/// Writes the sums and patterns, with what the best caching of the same prompts costs.
///
/// # Errors
/// Writing to `out` fails.
pub fn write_breaks(
    history: &History,
    analysis: &Analysis,
    best_caching: Option<Picodollars>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (breaks, summary) = (&analysis.breaks, &analysis.summary);
    let cause = |(cause, sum): &(Cause, Sum)| CauseObject {
        cause: *cause,
        expected: cause.is_expected(),
        sum: sum.into(),
    };
    let object = BreaksObject {
        schema: SCHEMA,
        tool_version: env!("CARGO_PKG_VERSION"),
        inputs: Inputs::of(history),
        compared: breaks.compared,
        not_comparable: breaks.not_comparable,
        first_of_chain: breaks.openings,
        totals: (&summary.total).into(),
        expected: (&summary.expected).into(),
        biggest_cause: summary.by_cause.first().map(|(cause, _)| *cause),
        by_cause: summary.by_cause.iter().map(cause).collect(),
        by_class: summary.by_class.iter().map(|(class, sum)| (class.name(), sum.into())).collect(),
        by_project: by_name(&summary.by_project),
        by_client_version: by_name(&summary.by_client_version),
        by_week: by_name(&summary.by_week),
        patterns: analysis.patterns.iter().map(PatternObject::from).collect(),
        verdicts: (&summary.agreement).into(),
        reconciliation: (&summary.reconciliation).into(),
        best_caching: BestCachingObject { cost_usd: best_caching },
    };
    write_document(&object, out)
}
