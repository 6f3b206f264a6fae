//! `cachesim.breaks/v1`: sums of breaks and their patterns, for programs.

use std::io::{self, Write};

use serde::Serialize;

use super::compare_json::BestCachingObject;
#[cfg(test)]
use super::schemas::Keyed;
use super::{Inputs, share, write_versioned};
use crate::base::{ByKey, Picodollars, Tokens};
use crate::explain::breaks::{
    Analysis, Cause, Counted, Pattern, Reconciliation, Sum, VerdictAgreement,
};
use crate::requests::conversation::History;

pub(super) const SCHEMA: &str = "cachesim.breaks/v1";

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct BreaksObject<'a> {
    /// Input read.
    inputs: Inputs,
    /// Requests compared with the one before.
    compared: u64,
    /// Requests after a hole in their chain, which are not judged.
    not_comparable: u64,
    /// Requests with nothing before them.
    first_of_chain: u64,
    /// All breaks.
    totals: SumObject,
    /// Breaks that follow from what was done: compactions, expiries.
    expected: SumObject,
    /// Cause with the largest excess; null if there is no break.
    biggest_cause: Option<Cause>,
    /// Breaks by cause, the most expensive first.
    by_cause: Vec<CauseObject>,
    /// Breaks by what happened to the cache.
    #[cfg_attr(test, schemars(with = "Keyed<crate::explain::breaks::Class, SumObject>"))]
    by_class: ByKey<&'static str, SumObject>,
    /// Breaks by the folder that the session worked in.
    by_project: ByKey<&'a str, SumObject>,
    /// Breaks by the version of the client.
    by_client_version: ByKey<&'a str, SumObject>,
    /// Breaks by ISO week, in the time zone of `--timezone`, else in UTC.
    by_week: ByKey<&'a str, SumObject>,
    /// Patterns and what to change; savings overlap and do not add up.
    patterns: &'a [Pattern],
    /// Inferred causes compared with the service's own verdicts.
    verdicts: VerdictsObject<'a>,
    /// Breaks as a part of the difference between bill and rules.
    reconciliation: ReconciliationObject,
    /// Best caching of the same prompts, as the headline of tables has it.
    best_caching: BestCachingObject,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SumObject {
    /// Number.
    breaks: u64,
    /// Tokens that were sent again though they had been cached.
    rewritten_tokens: Tokens,
    /// Cost beyond reading them, in dollars; null if nothing has a price.
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
            unpriced_breaks: sum.costs.unknown,
        }
    }
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CauseObject {
    /// Cause.
    cause: Cause,
    /// True if it follows from what was done.
    expected: bool,
    #[serde(flatten)]
    sum: SumObject,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct VerdictsObject<'a> {
    /// Misses for which the service named a cause.
    named: Counted,
    /// Misses of these with the same inferred cause.
    agreeing: Counted,
    /// Share of the latter in the former; null if there are none.
    agreement: Option<f64>,
    /// Same inside the lifetime of the entries.
    agreement_inside_ttl: Option<f64>,
    /// Each verdict with each cause inferred next to it.
    table: Vec<VerdictRow<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct VerdictRow<'a> {
    /// Service's verdict.
    server_reason: &'a str,
    /// Cause inferred without it.
    inferred: Cause,
    /// True if both say the same; null if the verdict names nothing.
    agrees: Option<bool>,
    #[serde(flatten)]
    count: Counted,
}

impl<'a> From<&'a VerdictAgreement> for VerdictsObject<'a> {
    fn from(agreement: &'a VerdictAgreement) -> Self {
        let (named, agreeing) = (agreement.named, agreement.agreeing);
        let row = |((reason, cause), count): (&'a (String, Cause), &Counted)| VerdictRow {
            server_reason: reason,
            inferred: *cause,
            agrees: cause.agrees_with(reason),
            count: *count,
        };
        Self {
            named,
            agreeing,
            agreement: share(agreeing.all, named.all),
            agreement_inside_ttl: share(agreeing.inside_ttl, named.inside_ttl),
            table: agreement.table.iter().map(row).collect(),
        }
    }
}

/// `billed − apart − replay = (excess − predicted) + unexplained`, exactly.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ReconciliationObject {
    /// Amount billed, in dollars; null, like all of these, if no request has a record and a price.
    billed_usd: Option<Picodollars>,
    /// Part of it billed for samplings apart, the same under every strategy.
    apart_usd: Option<Picodollars>,
    /// Rules' prediction for the same requests.
    replay_usd: Option<Picodollars>,
    /// Amount billed beyond both.
    difference_usd: Option<Picodollars>,
    /// Cost of the breaks.
    excess_usd: Option<Picodollars>,
    /// Part of the excess that the rules predict, too.
    predicted_excess_usd: Option<Picodollars>,
    /// Rest of the excess: breaks beyond the rules.
    beyond_rules_usd: Option<Picodollars>,
    /// Amount beyond all breaks.
    unexplained_usd: Option<Picodollars>,
    /// Requests that are in none of these sums.
    left_out_requests: u64,
}

impl From<&Reconciliation> for ReconciliationObject {
    fn from(sums: &Reconciliation) -> Self {
        // Sums over no request would pass for amounts of zero.
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

fn by_name(sums: &ByKey<String, Sum>) -> ByKey<&str, SumObject> {
    sums.iter().map(|(name, sum)| (name.as_str(), sum.into())).collect()
}

/// Writes the sums and patterns as JSON, with the cost of the best caching of the same prompts.
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
        patterns: &analysis.patterns,
        verdicts: (&summary.agreement).into(),
        reconciliation: (&summary.reconciliation).into(),
        best_caching: BestCachingObject { cost_usd: best_caching },
    };
    write_versioned(SCHEMA, &object, out)
}
