//! `cachesim.break/v1`: one row for each break, as JSON or CSV.

use std::io::{self, Write};

use schemars::JsonSchema;
use serde::Serialize;

use super::csv::{Cell as _, CsvCell, CsvFile, CsvRow as _, csv_row};
use crate::base::client::Client;
use crate::base::units::{Millis, Picodollars, Tokens};
use crate::explain::breaks::{Break, Breaks, Candidate, Cause, Class, Confidence};
use crate::report::json::write_line;
use crate::requests::conversation::History;

pub(in crate::report) const SCHEMA: &str = "cachesim.break/v1";

#[derive(JsonSchema, Serialize)]
pub(in crate::report) struct BreakRow<'a> {
    /// The format and its version.
    schema: &'static str,
    /// The session.
    session_id: &'a str,
    /// The sub-agent; null in a main conversation.
    agent_id: Option<&'a str>,
    /// The service's id of the request, if it is known.
    request_id: Option<&'a str>,
    /// The service's id of the answer, if it is known.
    message_id: Option<&'a str>,
    /// When the first line of the response was written.
    #[schemars(with = "Option<Millis>")]
    timestamp: Option<String>,
    /// The model.
    model: &'a str,
    /// What happened to the cache.
    class: Class,
    /// Whether it is the first request of a fork, held against its parent.
    fork: bool,
    /// Why it happened.
    cause: Cause,
    /// Whether it follows from what was done: a compaction, an expiry.
    expected: bool,
    /// What speaks for each cause that fits; the row's own cause comes first.
    evidence: Vec<EvidenceRow<'a>>,
    /// Seconds from the start of the request before to its own, if both are known.
    gap_s: Option<f64>,
    /// Tokens that the request could have read.
    expected_read_tokens: Tokens,
    /// Tokens that it read.
    cache_read_input_tokens: Tokens,
    /// Tokens that it sent again though they had been cached.
    rewritten_tokens: Tokens,
    /// What that cost beyond reading them, in dollars; null where the model has no price.
    excess_usd: Option<Picodollars>,
    /// The service's own verdict, if there is one.
    server_reason: Option<&'a str>,
}

/// What speaks for a cause; those of the row's cause come first.
#[derive(JsonSchema, Serialize)]
struct EvidenceRow<'a> {
    /// The cause that it speaks for.
    cause: Cause,
    /// How sure that cause is.
    confidence: Confidence,
    /// What was seen, in words.
    meaning: &'a str,
    /// The file, relative to the given path.
    file: &'a str,
    /// The line of the file, from 1 on.
    line: u64,
    /// The field of that line.
    field: &'static str,
    /// Names and words of the prompt; only with --show-text.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
}

impl<'a> BreakRow<'a> {
    pub(in crate::report) fn new(history: &'a History, found: &'a Break, shows_text: bool) -> Self {
        let request = history.request(found.request);
        let sent = (request.client != Client::ClaudeCode).then_some(request.start);
        Self {
            schema: SCHEMA,
            session_id: history.symbols.text(request.session),
            agent_id: history.text(request.agent),
            request_id: history.text(request.request),
            message_id: history.text(request.message),
            timestamp: request.answered.or(sent).map(|at| at.to_string()),
            model: history.symbols.text(request.model),
            class: found.class,
            fork: found.is_fork,
            cause: found.cause,
            expected: found.cause.is_expected(),
            evidence: evidence(history, &found.candidates, shows_text),
            gap_s: found.gap.map(seconds),
            expected_read_tokens: found.expected,
            cache_read_input_tokens: found.read,
            rewritten_tokens: found.rewritten,
            excess_usd: found.excess,
            server_reason: history.text(request.verdict.map(|verdict| verdict.reason)),
        }
    }

    /// What speaks for the row's cause, as one cell.
    fn evidence_of_cause(&self) -> CsvCell {
        let evidence = self.evidence.iter().filter(|one| one.cause == self.cause);
        let meanings: Vec<&str> = evidence.map(|one| one.meaning).collect();
        meanings.join("; ").as_str().cell()
    }
}

fn evidence<'a>(
    history: &'a History,
    candidates: &'a [Candidate],
    shows_text: bool,
) -> Vec<EvidenceRow<'a>> {
    let of = |candidate: &'a Candidate| {
        candidate.evidence.iter().map(move |one| EvidenceRow {
            cause: candidate.cause,
            confidence: candidate.confidence,
            meaning: &one.meaning,
            file: &history.files[one.file].label,
            line: one.line,
            field: one.field,
            text: one.text.as_deref().filter(|_| shows_text),
        })
    };
    candidates.iter().flat_map(of).collect()
}

#[allow(clippy::cast_precision_loss)] // milliseconds of years are exact in a float
fn seconds(millis: i64) -> f64 {
    millis as f64 / 1_000.0
}

/// Writes the breaks as JSON Lines.
///
/// # Errors
/// Writing to `out` fails.
pub fn write_break_rows(
    history: &History,
    breaks: &Breaks,
    shows_text: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    for found in &breaks.list {
        let row = BreakRow::new(history, found, shows_text);
        write_line(&row, out)?;
    }
    Ok(())
}

/// Writes the breaks as CSV with the same columns. The evidence for a row's cause is one cell.
///
/// # Errors
/// Writing to `out` fails.
pub fn write_break_csv(history: &History, breaks: &Breaks, out: &mut dyn Write) -> io::Result<()> {
    let mut csv = CsvFile::of::<BreakRow<'_>>(out)?;
    for found in &breaks.list {
        let row = BreakRow::new(history, found, false);
        csv.write(row.cells())?;
    }
    csv.finish()
}

csv_row!(BreakRow {
    schema,
    session_id,
    agent_id,
    request_id,
    message_id,
    timestamp: |row| row.timestamp.as_deref().cell(),
    model,
    class: |row| row.class.name().cell(),
    cause: |row| row.cause.name().cell(),
    expected,
    evidence: |row| row.evidence_of_cause(),
    gap_s,
    expected_read_tokens,
    cache_read_input_tokens,
    rewritten_tokens,
    excess_usd,
    server_reason,
    fork,
});
