//! Findings of `lint`, for people and for programs (`cachesim.lint/v1`).

use std::io;
use std::io::Write;

use derive_more::AddAssign;
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::document::Document;
use super::inputs::Inputs;
use super::json::write_versioned;
use super::key_notes::key_notes;
use super::number::{counted, dollars, grouped, tokens};
use crate::base::units::{Picodollars, Tokens};
use crate::explain::lint::{AcceptedFinding, Finding, Linted, Rule, Severity};
use crate::requests::conversation::History;
use crate::requests::difference::ByteDifference;
use crate::requests::prompt::Step;
use crate::simulate::strategy::Assumptions;

/// Input of an output of `lint`.
#[derive(Clone, Copy, Debug)]
pub struct LintView<'a> {
    /// Requests and their files.
    pub history: &'a History,
    /// Relation of each request to its predecessor.
    pub steps: &'a [Step],
    /// Assumptions on the cache key.
    pub assumptions: Assumptions,
    /// Findings, and the counts of compared requests.
    pub linted: &'a Linted,
    /// True if words of the prompts may be shown.
    pub shows_text: bool,
}

/// Rule of lint: its severity, its reason, and the remedy.
#[must_use]
pub fn rule_document(rule: Rule) -> Document {
    let mut document = Document::default();
    document.heading(format!("{}: {}", rule.severity().name(), rule.name()));
    document.text(rule.explanation());
    document
}

/// Findings one by one, most expensive of each severity first, or the first `top` of them.
#[must_use]
pub fn lint_document(view: LintView<'_>, top: Option<usize>) -> Document {
    let LintView { history, steps, assumptions, linted, shows_text } = view;
    let findings = &linted.findings;
    let mut document = Document::default();
    let listed = top.unwrap_or(findings.len()).min(findings.len());
    for finding in &findings[..listed] {
        document.heading(format!(
            "{}: {} at {}",
            finding.severity().name(),
            finding.rule.name(),
            finding.place
        ));
        let bytes = finding.difference.as_ref().map(|difference| bytes(difference, shows_text));
        document.text(format!(
            "{}: {}{}",
            location(history, finding),
            finding.shown_detail(shows_text),
            bytes.unwrap_or_default()
        ));
        document.text(format!("{}. {}", price(finding), finding.rule.explanation()));
    }
    if listed < findings.len() {
        let more = counted((findings.len() - listed) as u64, "more finding", "more findings");
        document.text(format!("And {more}, which --top leaves out."));
    }
    let count = |severity| findings.iter().filter(|one| one.severity() == severity).count() as u64;
    let scope = LintScope::of(linted);
    document.heading(summary(Severity::ALL.map(count), &scope));
    for note in scope.notes().into_iter().chain(key_notes(history, steps, &assumptions)) {
        document.text(note);
    }
    document
}

/// Counts of the requests compared and the findings left out.
#[derive(AddAssign, Clone, Copy, Debug)]
pub(super) struct LintScope {
    /// Number of compared requests.
    pub(super) compared: u64,
    /// Number of findings that were accepted before.
    pub(super) accepted: u64,
    /// Number of accepted findings that no longer occur.
    pub(super) gone: u64,
    /// Tokens that the accepted findings lose beyond those at their acceptance.
    pub(super) more: Tokens,
}

impl LintScope {
    pub(super) fn of(linted: &Linted) -> Self {
        let Linted { compared, accepted, gone, more, .. } = *linted;
        Self { compared, accepted, gone, more }
    }

    /// Notes on requests that were not compared, and on findings accepted before.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.compared == 0 {
            notes.push(
                "No request here could be compared with one before it: none follows another that the service takes. \
                 Only what a single request shows was looked at."
                    .to_owned(),
            );
        }
        if self.accepted > 0 {
            let findings = counted(self.accepted, "finding", "findings");
            let more = match self.more {
                Tokens::ZERO => String::new(),
                more => {
                    format!(" They lose {} tokens more than when they were accepted.", tokens(more))
                }
            };
            notes.push(format!("Left out: {findings} that --accepted names.{more}"));
        }
        if self.gone > 0 {
            let findings = counted(self.gone, "finding", "findings");
            notes.push(format!("Not found here: {findings} that --accepted names."));
        }
        notes
    }
}

/// Place of the first occurrence of a finding.
fn location(history: &History, finding: &Finding) -> String {
    let request = history.request(finding.request);
    let id = history.text(request.request).map(|id| format!(" ({id})")).unwrap_or_default();
    format!("{}:{}{id}", history.files[request.file].label, request.line)
}

/// First byte that differs, with the text around it if text may be shown.
fn bytes(difference: &ByteDifference, shows_text: bool) -> String {
    let byte = grouped(difference.byte as u64);
    let (before, after) = (&difference.before, &difference.after);
    match (shows_text, before.is_empty()) {
        (false, _) => format!("; byte {byte}"),
        (true, true) => format!("; byte {byte}: “{after}”"),
        (true, false) => format!("; byte {byte}: “{before}” became “{after}”"),
    }
}

fn price(finding: &Finding) -> String {
    let own = own_price(finding);
    let Some((strategy, saved)) = finding.rule.latched_by().zip(finding.latch_saves) else {
        return own;
    };
    // The latched requests can also cost more than the recorded ones.
    let (saved, word) = if saved < Picodollars::ZERO {
        (Picodollars::ZERO.minus(saved), "more")
    } else {
        (saved, "less")
    };
    format!("{own}; under `{strategy}` all requests cost {} {word}", dollars(Some(saved)))
}

fn own_price(finding: &Finding) -> String {
    let requests = counted(finding.requests, "request", "requests");
    let cost = finding.cost.map_or_else(|| "price unknown".to_owned(), |cost| dollars(Some(cost)));
    if finding.tokens == Tokens::ZERO {
        let lost = match (finding.is_priced, finding.cost) {
            (true, Some(Picodollars::ZERO)) => "; it cost nothing here".to_owned(),
            (true, _) => format!("; all was read, and writing it cost {cost} more"),
            (false, _) => String::new(),
        };
        return format!("{requests}{lost}");
    }
    format!("{requests}; {} tokens {}, {cost}", tokens(finding.tokens), finding.lost_as())
}

/// Number of findings of each severity, gravest first.
pub(super) fn summary(counts: [u64; 3], scope: &LintScope) -> String {
    let [errors, warnings, notes] = counts;
    match (errors + warnings + notes, scope.compared, scope.accepted) {
        (0, 0, _) => return "Nothing could be compared".to_owned(),
        (0, _, 0) => return "Nothing found".to_owned(),
        (0, ..) => return "Nothing new found".to_owned(),
        _ => {}
    }
    format!(
        "{}, {}, {}",
        counted(errors, "error", "errors"),
        counted(warnings, "warning", "warnings"),
        counted(notes, "note", "notes"),
    )
}

pub(super) const SCHEMA: &str = "cachesim.lint/v1";

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Lint<'a> {
    /// Input read.
    inputs: Inputs,
    /// Assumptions on the cache key if the documentation leaves it open, in words; left out if nothing in the
    /// input rests on it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    assumptions: Vec<String>,
    /// Requests that follow another, with which they were compared. Without any, only single requests were
    /// looked at.
    compared_requests: u64,
    /// Findings that are left out, as they were accepted before (`--accepted`).
    accepted_findings: u64,
    /// Tokens those lose beyond those at their acceptance; one that loses less takes nothing off.
    accepted_more_tokens: Tokens,
    /// Findings, each rule and place once.
    findings: Vec<FindingObject<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct FindingObject<'a> {
    /// Rule.
    rule: Rule,
    /// Severity.
    severity: Severity,
    /// Part of the prompt.
    place: &'a str,
    /// Observation, in words.
    detail: &'a str,
    /// File, relative to the given path.
    file: &'a str,
    /// Line of the file, from 1 on.
    line: u64,
    /// Session.
    session_id: &'a str,
    /// First request that shows it, if it has an id.
    request_id: Option<&'a str>,
    /// Byte of that part at which the difference begins, from 0 on.
    byte: Option<usize>,
    /// Text there before; null with --hide-text.
    before: Option<&'a str>,
    /// Text there now; null with --hide-text.
    after: Option<&'a str>,
    /// True if it is a difference between a fork and its parent.
    fork: bool,
    /// Requests that show it.
    requests: u64,
    /// Tokens that were written, or sent in full, and could have been read.
    tokens: Tokens,
    /// Cost beyond reading them, in dollars; null if the model has no price.
    cost_usd: Option<Picodollars>,
    /// Strategy that keeps the subject of the rule constant, if any.
    latched_by: Option<&'static str>,
    /// Saving of all requests under that strategy, in dollars; negative if they cost more.
    latch_saves_usd: Option<Picodollars>,
    /// Meaning of the rule, in a sentence.
    explanation: &'static str,
}

impl<'a> FindingObject<'a> {
    fn new(history: &'a History, finding: &'a Finding, shows_text: bool) -> Self {
        let request = history.request(finding.request);
        let shown: Option<&ByteDifference> = finding.difference.as_ref().filter(|_| shows_text);
        Self {
            rule: finding.rule,
            severity: finding.severity(),
            place: &finding.place,
            detail: finding.shown_detail(shows_text),
            file: &history.files[request.file].label,
            line: request.line,
            session_id: history.symbols.text(request.session),
            request_id: history.text(request.request),
            byte: finding.difference.as_ref().map(|difference| difference.byte),
            before: shown.map(|difference| difference.before.as_str()),
            after: shown.map(|difference| difference.after.as_str()),
            fork: finding.is_fork,
            requests: finding.requests,
            tokens: finding.tokens,
            cost_usd: finding.cost,
            latched_by: finding.rule.latched_by(),
            latch_saves_usd: finding.latch_saves,
            explanation: finding.rule.explanation(),
        }
    }
}

/// Writes the findings as JSON.
///
/// # Errors
/// Writing to `out` fails.
pub fn write_lint(view: LintView<'_>, out: &mut dyn Write) -> io::Result<()> {
    let LintView { history, steps, assumptions, linted, shows_text } = view;
    let findings = linted.findings.iter();
    let lint = Lint {
        inputs: Inputs::of(history),
        assumptions: key_notes(history, steps, &assumptions),
        compared_requests: linted.compared,
        accepted_findings: linted.accepted,
        accepted_more_tokens: linted.more,
        findings: findings.map(|one| FindingObject::new(history, one, shows_text)).collect(),
    };
    write_versioned(SCHEMA, &lint, out)
}

/// Fields of a saved `cachesim.lint/v1` that identify its findings.
#[derive(Deserialize)]
struct SavedLint {
    schema: String,
    findings: Vec<SavedFinding>,
}

#[derive(Deserialize)]
struct SavedFinding {
    rule: String,
    place: String,
    detail: String,
    fork: bool,
    tokens: Option<Tokens>,
}

/// Reads the findings of a saved `cachesim.lint/v1`, which are accepted.
///
/// Findings of rules that no longer exist are left out.
///
/// # Errors
/// The text is no such JSON.
pub fn parse_accepted(json: &[u8]) -> Result<Vec<AcceptedFinding>, String> {
    let saved: SavedLint = serde_json::from_slice(json).map_err(|error| error.to_string())?;
    // The name is from a file, and may be of any length.
    if saved.schema != SCHEMA {
        let schema: String = saved.schema.chars().take(80).collect();
        return Err(format!("its schema is `{schema}`"));
    }
    let accepted = saved.findings.into_iter().filter_map(|finding| {
        let SavedFinding { rule, place, detail, fork: is_fork, tokens } = finding;
        Some(AcceptedFinding { rule: Rule::by_name(&rule)?, place, detail, is_fork, tokens })
    });
    Ok(accepted.collect())
}
