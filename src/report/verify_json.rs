//! Verification for programs (`cachesim.verify/v1`).

use std::io;
use std::io::Write;

use serde::Serialize;

use super::novelties::{NoveltyObject, novelty_objects};
use super::{Inputs, share, write_versioned};
use crate::base::{ByKey, Picodollars, Tokens};
use crate::explain::analysis::{
    Added, Agreement, CountTally, Counts, Expiries, RuleCount, Unsimulated, Verification, Worst,
};
use crate::explain::client_count::ClientCount;
use crate::requests::conversation::History;
use crate::requests::prompt::StepKind;
use crate::simulate::provider::NotSimulated;

pub(super) const SCHEMA: &str = "cachesim.verify/v1";

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct VerifyObject<'a> {
    /// Input read.
    inputs: Inputs,
    /// Requests that were simulated and compared.
    coverage: CoverageObject,
    /// Agreement of compared requests.
    all: AgreementObject,
    /// Same without the large misses, which no rule can foresee.
    without_large_misses: AgreementObject,
    /// Misses among the compared requests of over 2,000 tokens and over 5 % of what was left, inside the
    /// lifetime. `cachesim breaks` has the smaller ones and the expiries, too.
    large_misses: u64,
    /// Requests that were sent too soon after a write to read it, which no line foretells. They are in none
    /// of the figures above.
    written_too_recently: AgreementObject,
    /// Requests at the beginning of a turn that read as if the client had asked for a suggestion before, and
    /// none was expected, or the reverse. They are in none of the figures above.
    untold_suggestions: AgreementObject,
    /// Agreement of the record with each rule that was measured and is documented nowhere.
    rules: Vec<RuleObject<'a>>,
    /// Accuracy of counted tokens for additions of transcript steps, under `--counts`.
    #[serde(skip_serializing_if = "Option::is_none")]
    counts: Option<Vec<CountObject<'a>>>,
    /// Entries that expired, in the record and by the rules.
    expiries: ExpiriesObject,
    /// Part of the bill that rules and breaks explain.
    dollars: DollarsObject,
    /// Sums of every row's tokens against its prompt.
    conservation: ConservationObject,
    /// Agreement for each version of the client.
    by_client_version: ByKey<&'a str, AgreementObject>,
    /// Agreement for each model.
    by_model: ByKey<&'a str, AgreementObject>,
    /// Agreement of services whose caches need no markers with their own rules, as `source: model`. These
    /// requests are in no other figure but the dollars.
    by_service: ByKey<String, ServiceObject>,
    /// Requests that count as recorded under all rules.
    not_simulated: Vec<UnsimulatedObject<'a>>,
    /// Clients' own counts of the cost of sessions, beside the sums of their lines.
    client_counts: &'a ByKey<String, ClientCount>,
    /// Names in lines of Claude Code that the program does not know, and clients newer than those that it knows.
    unknown: Vec<NoveltyObject<'a>>,
    /// Requests with the largest errors.
    worst: Vec<WorstObject<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "TokenCount"))]
struct CountObject<'a> {
    /// Model.
    model: &'a str,
    /// Added content.
    added: &'static str,
    #[serde(flatten)]
    tally: CountTally,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "RuleCount"))]
struct RuleObject<'a> {
    /// Rule's name.
    rule: &'static str,
    /// Client's version.
    client_version: &'a str,
    #[serde(flatten)]
    count: RuleCount,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CoverageObject {
    /// All requests.
    requests: u64,
    /// Simulated requests: all of them.
    simulated: u64,
    /// Share, from 0 to 1.
    covered: Option<f64>,
    /// Requests with compared reads.
    compared: u64,
    /// Requests left out.
    left_out: LeftOutObject,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "LeftOut"))]
struct LeftOutObject {
    /// Requests that open a chain, whose recorded read the simulation may know.
    first_of_chain: u64,
    /// First requests after a change of model, likewise.
    first_after_model_change: u64,
    /// Requests sent too soon after a write, which `written_too_recently` has.
    written_too_recently: u64,
    /// Requests after a suggestion that no line reports, or after none if one was expected, which
    /// `untold_suggestions` has.
    untold_suggestions: u64,
    /// Requests outside the rules of markers: to services whose caches need none, which `by_service` has, and
    /// those of `not_simulated`.
    sent_without_markers: u64,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ServiceObject {
    /// All compared requests.
    #[serde(flatten)]
    all: AgreementObject,
    /// Requests without a large miss: over 2,000 tokens and over 5 % below the rules.
    outside_breaks: AgreementObject,
    /// Requests that continue one less than five minutes before.
    under_5_minutes: u64,
    /// Of these, reads within 1 % of the prompt, or within a step of the rules.
    within_a_step: u64,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct UnsimulatedObject<'a> {
    /// Model.
    model: &'a str,
    /// Reason for no expectation.
    reason: NotSimulated,
    #[serde(flatten)]
    count: Unsimulated,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct AgreementObject {
    /// Requests that were compared.
    requests: u64,
    /// Requests whose simulated and recorded reads differ by at most 1 % of the prompt.
    within_1_percent: u64,
    /// Their share, from 0 to 1; null without any request.
    within_1_percent_share: Option<f64>,
    /// Requests equal to the token.
    exact: u64,
    /// Sum of the absolute differences of the reads.
    read_error_tokens: Tokens,
    /// Sum of the prompts.
    prompt_tokens: Tokens,
    /// Former over the latter.
    read_error: Option<f64>,
}

impl From<&Agreement> for AgreementObject {
    fn from(agreement: &Agreement) -> Self {
        Self {
            requests: agreement.requests,
            within_1_percent: agreement.within,
            within_1_percent_share: share(agreement.within, agreement.requests),
            exact: agreement.exact,
            read_error_tokens: agreement.error,
            prompt_tokens: agreement.prompt,
            read_error: share(agreement.error.0, agreement.prompt.0),
        }
    }
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ExpiriesObject {
    /// Consecutive requests with a pause in which an entry could expire.
    pairs: u64,
    /// Expiries in the record.
    recorded: u64,
    /// Expiries by the rules.
    simulated: u64,
    /// Expiries in both.
    both: u64,
    /// Share of the simulated ones that are recorded, from 0 to 1.
    precision: Option<f64>,
    /// Share of the recorded ones that are simulated, from 0 to 1.
    recall: Option<f64>,
}

impl From<&Expiries> for ExpiriesObject {
    fn from(expiries: &Expiries) -> Self {
        Self {
            pairs: expiries.pairs,
            recorded: expiries.recorded,
            simulated: expiries.simulated,
            both: expiries.both,
            precision: share(expiries.both, expiries.simulated),
            recall: share(expiries.both, expiries.recorded),
        }
    }
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct DollarsObject {
    /// Amount billed, in dollars; null, like all of these, if no request has a record and a price.
    billed_usd: Option<Picodollars>,
    /// Part of it billed for samplings apart, the same under every strategy.
    apart_usd: Option<Picodollars>,
    /// Cost by the rules.
    replay_usd: Option<Picodollars>,
    /// Cost of all breaks of `cachesim breaks` beyond that: breaks beyond the rules.
    breaks_usd: Option<Picodollars>,
    /// Rest.
    unexplained_usd: Option<Picodollars>,
    /// Share of the bill that is explained, at most 1.
    explained: Option<f64>,
    /// Requests whose model has no price, which are in none of these sums.
    unpriced_requests: u64,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ConservationObject {
    /// Rows that were checked.
    rows: u64,
    /// Rows whose tokens do not add up to the prompt.
    violations: u64,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct WorstObject<'a> {
    /// Session.
    session_id: &'a str,
    /// Sub-agent; null in a main conversation.
    agent_id: Option<&'a str>,
    /// Service's id of the request, if it is known.
    request_id: Option<&'a str>,
    /// Service's id of the answer, if it is known.
    message_id: Option<&'a str>,
    /// File, relative to the given path.
    file: &'a str,
    /// Line of the file, from 1 on.
    line: u64,
    /// Step from the request before.
    step: StepKind,
    /// True if it is a break.
    is_break: bool,
    /// Tokens of its prompt.
    prompt_tokens: Tokens,
    /// Tokens that it read.
    recorded_read_tokens: Tokens,
    /// Tokens that it reads by the rules.
    simulated_read_tokens: Tokens,
}

impl<'a> WorstObject<'a> {
    fn new(history: &'a History, worst: &Worst) -> Self {
        let request = history.request(worst.request);
        Self {
            session_id: history.symbols.text(request.session),
            agent_id: history.text(request.agent),
            request_id: history.text(request.request),
            message_id: history.text(request.message),
            file: &history.files[request.file].label,
            line: request.line,
            step: worst.kind,
            is_break: worst.is_break,
            prompt_tokens: request.prompt_total(),
            recorded_read_tokens: worst.recorded,
            simulated_read_tokens: worst.simulated,
        }
    }
}

fn counted<'a>(counts: &'a Counts) -> Vec<CountObject<'a>> {
    let object = |((model, added), tally): (&'a (String, Added), &'a CountTally)| CountObject {
        model,
        added: added.name(),
        tally: *tally,
    };
    counts.iter().map(object).collect()
}

fn by_name(agreements: &ByKey<String, Agreement>) -> ByKey<&str, AgreementObject> {
    agreements.iter().map(|(name, agreement)| (name.as_str(), agreement.into())).collect()
}

/// Writes the verification as JSON.
///
/// # Errors
/// Writing to `out` fails.
pub fn write_verification(
    history: &History,
    verification: &Verification,
    counts: Option<&Counts>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let coverage = &verification.coverage;
    let dollars = &verification.dollars;
    // Sums over no request would pass for amounts of zero.
    let known = |amount| dollars.is_known().then_some(amount);
    let object = VerifyObject {
        inputs: Inputs::of(history),
        coverage: CoverageObject {
            requests: coverage.requests,
            simulated: coverage.simulated,
            covered: share(coverage.simulated, coverage.requests),
            compared: coverage.compared,
            left_out: LeftOutObject {
                first_of_chain: coverage.openings,
                first_after_model_change: coverage.model_changes,
                written_too_recently: coverage.too_recent,
                untold_suggestions: coverage.suggestions,
                sent_without_markers: coverage.unmarked,
            },
        },
        all: (&verification.all).into(),
        without_large_misses: (&verification.without_large_misses).into(),
        large_misses: verification.large_misses,
        written_too_recently: (&verification.too_recent).into(),
        untold_suggestions: (&verification.suggestions).into(),
        rules: verification
            .rules
            .iter()
            .map(|((rule, version), count)| RuleObject {
                rule: rule.name(),
                client_version: version,
                count: *count,
            })
            .collect(),
        counts: counts.map(counted),
        expiries: (&verification.expiries).into(),
        dollars: DollarsObject {
            billed_usd: known(dollars.billed),
            apart_usd: known(dollars.apart),
            replay_usd: known(dollars.replay),
            breaks_usd: known(dollars.beyond_rules()),
            unexplained_usd: known(dollars.unexplained()),
            // As many digits as all other shares have.
            explained: dollars.explained().map(|share| (share * 1e6).round() / 1e6),
            unpriced_requests: verification.unpriced(),
        },
        conservation: ConservationObject {
            rows: verification.conserved_rows,
            violations: verification.violations,
        },
        by_client_version: by_name(&verification.by_client_version),
        by_model: by_name(&verification.by_model),
        by_service: verification
            .unmarked
            .iter()
            .map(|((client, model), agreement)| {
                let object = ServiceObject {
                    all: (&agreement.all).into(),
                    outside_breaks: (&agreement.outside_breaks).into(),
                    under_5_minutes: agreement.soon,
                    within_a_step: agreement.soon_within_step,
                };
                (format!("{}: {model}", client.name()), object)
            })
            .collect(),
        not_simulated: verification
            .not_simulated
            .iter()
            .map(|((reason, model), count)| UnsimulatedObject {
                model,
                reason: *reason,
                count: *count,
            })
            .collect(),
        client_counts: &verification.client_counts,
        unknown: novelty_objects(&verification.novelties),
        worst: verification.worst.iter().map(|one| WorstObject::new(history, one)).collect(),
    };
    write_versioned(SCHEMA, &object, out)
}
