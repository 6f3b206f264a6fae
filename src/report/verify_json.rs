//! `cachesim.verify/v1`: how well the rules reproduce the record.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

use super::escape::SafeJson;
use super::number::share;
use super::report_json::ReportInputs;
use super::verify_view::kind_name;
use crate::analysis::{Agreement, Expiries, Verification, Worst};
use crate::conversation::History;
use crate::units::{Picodollars, Tokens};

const SCHEMA: &str = "cachesim.verify/v1";

#[derive(Serialize)]
struct VerifyObject<'a> {
    schema: &'static str,
    tool_version: &'static str,
    inputs: ReportInputs,
    coverage: CoverageObject,
    all: AgreementObject,
    outside_breaks: AgreementObject,
    breaks: u64,
    expiries: ExpiriesObject,
    dollars: DollarsObject,
    conservation: ConservationObject,
    by_client_version: BTreeMap<&'a str, AgreementObject>,
    by_model: BTreeMap<&'a str, AgreementObject>,
    worst: Vec<WorstObject<'a>>,
}

#[derive(Serialize)]
struct CoverageObject {
    requests: u64,
    simulated: u64,
    covered: Option<f64>,
    compared: u64,
    left_out: LeftOut,
}

#[derive(Serialize)]
struct LeftOut {
    first_of_chain: u64,
    first_after_model_change: u64,
}

#[derive(Serialize)]
struct AgreementObject {
    requests: u64,
    within_1_percent: u64,
    within_1_percent_share: Option<f64>,
    exact: u64,
    read_error_tokens: Tokens,
    prompt_tokens: Tokens,
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
struct ExpiriesObject {
    pairs: u64,
    recorded: u64,
    simulated: u64,
    both: u64,
    precision: Option<f64>,
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
struct DollarsObject {
    billed_usd: Picodollars,
    replay_usd: Picodollars,
    breaks_usd: Picodollars,
    unexplained_usd: Picodollars,
    explained: Option<f64>,
    unpriced_requests: u64,
}

#[derive(Serialize)]
struct ConservationObject {
    rows: u64,
    violations: u64,
}

#[derive(Serialize)]
struct WorstObject<'a> {
    session_id: &'a str,
    agent_id: Option<&'a str>,
    request_id: Option<&'a str>,
    message_id: Option<&'a str>,
    file: &'a str,
    line: u64,
    step: &'static str,
    is_break: bool,
    prompt_tokens: Tokens,
    recorded_read_tokens: Tokens,
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
            step: kind_name(worst.kind),
            is_break: worst.is_break,
            prompt_tokens: request.prompt_total(),
            recorded_read_tokens: worst.recorded,
            simulated_read_tokens: worst.simulated,
        }
    }
}

fn by_name(agreements: &BTreeMap<String, Agreement>) -> BTreeMap<&str, AgreementObject> {
    agreements.iter().map(|(name, agreement)| (name.as_str(), agreement.into())).collect()
}

/// Writes the verification.
///
/// # Errors
/// What `out` says.
pub fn write_verification(
    history: &History,
    verification: &Verification,
    out: &mut dyn Write,
) -> io::Result<()> {
    let coverage = &verification.coverage;
    let dollars = &verification.dollars;
    let object = VerifyObject {
        schema: SCHEMA,
        tool_version: env!("CARGO_PKG_VERSION"),
        inputs: ReportInputs::of(history),
        coverage: CoverageObject {
            requests: coverage.requests,
            simulated: coverage.simulated,
            covered: share(coverage.simulated, coverage.requests),
            compared: coverage.compared,
            left_out: LeftOut {
                first_of_chain: coverage.openings,
                first_after_model_change: coverage.model_changes,
            },
        },
        all: (&verification.all).into(),
        outside_breaks: (&verification.outside_breaks).into(),
        breaks: verification.breaks,
        expiries: (&verification.expiries).into(),
        dollars: DollarsObject {
            billed_usd: dollars.billed,
            replay_usd: dollars.replay,
            breaks_usd: dollars.breaks,
            unexplained_usd: dollars.unexplained(),
            explained: dollars.explained().map(|share| (share * 1e6).round() / 1e6),
            unpriced_requests: dollars.unpriced,
        },
        conservation: ConservationObject {
            rows: verification.conserved_rows,
            violations: verification.violations,
        },
        by_client_version: by_name(&verification.by_client_version),
        by_model: by_name(&verification.by_model),
        worst: verification.worst.iter().map(|one| WorstObject::new(history, one)).collect(),
    };
    serde_json::to_writer_pretty(SafeJson(&mut *out), &object)?;
    out.write_all(b"\n")
}
