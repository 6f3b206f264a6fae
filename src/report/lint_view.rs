//! The findings of `lint` for people.

use super::document::Document;
use super::key_notes::key_notes;
use super::number::{counted, dollars, grouped, tokens};
use crate::base::units::Picodollars;
use crate::explain::lint::{Finding, Severity};
use crate::requests::conversation::History;
use crate::requests::difference::ByteDifference;
use crate::simulate::strategy::Assumptions;

/// The findings, one after the other, the most expensive of each severity first; of many the first `top`.
#[must_use]
pub fn lint_document(
    history: &History,
    assumptions: &Assumptions,
    findings: &[Finding],
    shows_text: bool,
    top: Option<usize>,
) -> Document {
    let mut document = Document::default();
    let listed = top.unwrap_or(findings.len()).min(findings.len());
    for finding in &findings[..listed] {
        document.heading(format!(
            "{}: {} at {}",
            finding.rule.severity().name(),
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
    document.heading(summary(findings));
    for note in key_notes(history, assumptions) {
        document.text(note);
    }
    document
}

/// Where a finding was first seen.
fn location(history: &History, finding: &Finding) -> String {
    let request = history.request(finding.request);
    let id = history.text(request.request).map(|id| format!(" ({id})")).unwrap_or_default();
    format!("{}:{}{id}", history.files[request.file].label, request.line)
}

/// The first differing byte and, where text may be shown, what stands around it.
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
    let (saved, word) = if saved < Picodollars::ZERO {
        (Picodollars::ZERO.minus(saved), "more")
    } else {
        (saved, "less")
    };
    format!("{own}; under `{strategy}` all requests cost {} {word}", dollars(Some(saved)))
}

fn own_price(finding: &Finding) -> String {
    let requests = counted(finding.requests, "request", "requests");
    if finding.tokens.0 == 0 {
        return format!("{requests}; nothing was lost here");
    }
    let cost = finding.cost.map_or_else(|| "price unknown".to_owned(), |cost| dollars(Some(cost)));
    format!("{requests}; {} tokens {}, {cost}", tokens(finding.tokens), finding.lost_as())
}

fn summary(findings: &[Finding]) -> String {
    let count = |severity: Severity| {
        findings.iter().filter(|finding| finding.rule.severity() == severity).count() as u64
    };
    if findings.is_empty() {
        return "Nothing found".to_owned();
    }
    format!(
        "{}, {}, {}",
        counted(count(Severity::Error), "error", "errors"),
        counted(count(Severity::Warning), "warning", "warnings"),
        counted(count(Severity::Note), "note", "notes"),
    )
}
