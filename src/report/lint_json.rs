//! `cachesim.lint/v1`: the findings of `lint` for programs.

use std::io::{self, Write};

use serde::Serialize;

use super::escape::SafeJson;
use super::report_json::ReportInputs;
use crate::conversation::History;
use crate::difference::ByteDifference;
use crate::lint::Finding;
use crate::units::{Picodollars, Tokens};

const SCHEMA: &str = "cachesim.lint/v1";

#[derive(Serialize)]
struct Lint<'a> {
    schema: &'static str,
    tool_version: &'static str,
    inputs: ReportInputs,
    findings: Vec<FindingObject<'a>>,
}

#[derive(Serialize)]
struct FindingObject<'a> {
    rule: &'static str,
    severity: &'static str,
    place: &'a str,
    detail: &'a str,
    file: &'a str,
    line: u64,
    session_id: &'a str,
    request_id: Option<&'a str>,
    byte: Option<usize>,
    before: Option<&'a str>,
    after: Option<&'a str>,
    requests: u64,
    tokens: Tokens,
    cost_usd: Option<Picodollars>,
    explanation: &'static str,
}

impl<'a> FindingObject<'a> {
    fn new(history: &'a History, finding: &'a Finding, shows_text: bool) -> Self {
        let request = history.request(finding.request);
        let shown: Option<&ByteDifference> = finding.difference.as_ref().filter(|_| shows_text);
        Self {
            rule: finding.rule.name(),
            severity: finding.rule.severity().name(),
            place: &finding.place,
            detail: finding.shown_detail(shows_text),
            file: &history.files[request.file].label,
            line: request.line,
            session_id: history.symbols.text(request.session),
            request_id: history.text(request.request),
            byte: finding.difference.as_ref().map(|difference| difference.byte),
            before: shown.map(|difference| difference.before.as_str()),
            after: shown.map(|difference| difference.after.as_str()),
            requests: finding.requests,
            tokens: finding.tokens,
            cost_usd: finding.cost,
            explanation: finding.rule.explanation(),
        }
    }
}

/// Writes the findings.
///
/// # Errors
/// What `out` says.
pub fn write_lint(
    history: &History,
    findings: &[Finding],
    shows_text: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let objects = findings.iter().map(|finding| FindingObject::new(history, finding, shows_text));
    let lint = Lint {
        schema: SCHEMA,
        tool_version: env!("CARGO_PKG_VERSION"),
        inputs: ReportInputs::of(history),
        findings: objects.collect(),
    };
    serde_json::to_writer_pretty(SafeJson(&mut *out), &lint)?;
    out.write_all(b"\n")
}
