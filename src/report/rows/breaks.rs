//! `cachesim.break/v1`: one row for each break.

use std::io::{self, Write};

use serde::Serialize;

use super::csv::{Cell, CsvCell};
use super::{Place, RowEncoding, RowFile, TableRow, table_row};
use crate::base::{Basis, ByKey, Client, Millis, Picodollars, Symbol, Tokens};
use crate::explain::breaks::{Break, Breaks, Candidate, Cause, Class, Confidence};
use crate::requests::conversation::{History, project_names};

/// Schema of these rows.
pub const BREAK_SCHEMA: &str = "cachesim.break/v1";

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::report) struct BreakRow<'a> {
    /// The format and its version.
    schema: &'static str,
    /// Session id.
    session_id: &'a str,
    /// Sub-agent id; null in a main conversation.
    agent_id: Option<&'a str>,
    /// Service's id of the request, if it is known.
    request_id: Option<&'a str>,
    /// Service's id of the answer, if it is known.
    message_id: Option<&'a str>,
    /// Time of the first line of the response.
    timestamp: Option<Millis>,
    /// Best known start time.
    start: Millis,
    /// The model.
    model: &'a str,
    /// File of the request, relative to the given path.
    file: &'a str,
    /// Line of the file, from 1 on.
    line: u64,
    /// Effect on the cache.
    class: Class,
    /// True for the first request of a fork, compared with its parent.
    fork: bool,
    /// The cause.
    cause: Cause,
    /// True if it was to be expected: a compaction, an expiry.
    expected: bool,
    /// Evidence for each cause that fits; the row's own cause comes first.
    evidence: Evidence<'a>,
    /// Seconds between the starts of the request before and this one, if known.
    gap_s: Option<f64>,
    /// Tokens that the request could have read.
    expected_read_tokens: Tokens,
    /// Tokens that it read.
    cache_read_input_tokens: Tokens,
    /// Tokens that it sent again though they had been cached.
    rewritten_tokens: Tokens,
    /// Basis of these tokens.
    basis: Basis,
    /// Cost beyond reading them, in dollars; null if the model has no price.
    excess_usd: Option<Picodollars>,
    /// The service's own verdict, if any.
    server_reason: Option<&'a str>,
    /// Name of the project, if recorded.
    project: Option<&'a str>,
}

/// Evidence for the causes of a break.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(transparent)]
pub(super) struct Evidence<'a> {
    pub(super) list: Vec<EvidenceRow<'a>>,
    /// Number of first elements, which support the row's cause.
    #[serde(skip)]
    of_cause: usize,
}

/// Evidence for a cause; that for the row's cause comes first.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct EvidenceRow<'a> {
    /// The cause that it supports.
    pub(super) cause: Cause,
    /// Certainty of the cause.
    pub(super) confidence: Confidence,
    /// Observation, in words.
    pub(super) meaning: &'a str,
    /// The file, relative to the given path.
    pub(super) file: &'a str,
    /// Line of the file, from 1 on.
    pub(super) line: u64,
    /// Field of that line.
    pub(super) field: &'static str,
    /// Names and words of the prompt; only with --show-text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<&'a str>,
}

impl<'a> BreakRow<'a> {
    /// Makes the row of a break.
    pub(in crate::report) fn new(
        history: &'a History,
        found: &'a Break,
        shows_text: bool,
        projects: &'a ByKey<Symbol, String>,
    ) -> Self {
        let request = history.request(found.request);
        // Sessions of other agents may lack the time of the answer; the start time takes its place.
        let sent = (request.client != Client::ClaudeCode).then_some(request.start);
        Self {
            schema: BREAK_SCHEMA,
            session_id: history.symbols.text(request.session),
            agent_id: history.text(request.agent),
            request_id: history.text(request.request),
            message_id: history.text(request.message),
            timestamp: request.answered.or(sent),
            start: request.start,
            model: history.symbols.text(request.model),
            file: &history.files[request.file].label,
            line: request.line,
            class: found.class,
            fork: found.is_fork,
            cause: found.cause,
            expected: found.cause.is_expected(),
            evidence: Evidence::new(history, found, shows_text),
            gap_s: found.gap.map(seconds),
            expected_read_tokens: found.expected,
            cache_read_input_tokens: found.read,
            rewritten_tokens: found.rewritten,
            basis: found.basis,
            excess_usd: found.excess,
            server_reason: history.text(request.verdict.map(|verdict| verdict.reason)),
            project: request.project.and_then(|one| projects.get(&one)).map(String::as_str),
        }
    }
}

impl TableRow for BreakRow<'_> {
    #[cfg(feature = "fleet")]
    fn origin(&self) -> String {
        let request = self.request_id.or(self.message_id).unwrap_or_default();
        format!("session {}, request {request}", self.session_id)
    }
}

impl<'a> Evidence<'a> {
    fn new(history: &'a History, found: &'a Break, shows_text: bool) -> Self {
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
        let list: Vec<_> = found.candidates.iter().flat_map(of).collect();
        let of_cause = list.iter().take_while(|one| one.cause == found.cause).count();
        Self { list, of_cause }
    }
}

/// One cell with the evidence for the row's cause.
impl Cell for Evidence<'_> {
    fn cell(&self) -> CsvCell {
        let meanings: Vec<&str> =
            self.list[..self.of_cause].iter().map(|one| one.meaning).collect();
        meanings.join("; ").as_str().cell()
    }
}

#[allow(clippy::cast_precision_loss)] // milliseconds of years are exact in a float
fn seconds(millis: i64) -> f64 {
    millis as f64 / 1_000.0
}

/// A file of breaks in the making.
pub struct BreakFile<'o> {
    file: RowFile<'o>,
    shows_text: bool,
}

impl<'o> BreakFile<'o> {
    /// A file whose rows have places in domains if `is_placed`, with or without words of prompts.
    ///
    /// # Errors
    /// Writing to `out` fails.
    pub fn new(
        encoding: RowEncoding,
        is_placed: bool,
        shows_text: bool,
        out: &'o mut dyn Write,
    ) -> io::Result<Self> {
        let file = RowFile::of::<BreakRow<'_>>(encoding, is_placed, out)?;
        Ok(Self { file, shows_text })
    }

    /// Adds the rows of breaks, in a domain if rows have places. Returns their number.
    ///
    /// # Errors
    /// Writing fails, or a figure does not fit the format.
    pub fn write(
        &mut self,
        history: &History,
        breaks: &Breaks,
        domain: Option<&str>,
    ) -> io::Result<u64> {
        let projects = project_names(history);
        let mut rows = 0;
        for found in &breaks.list {
            let place = domain.map(|domain| Place { domain, row: rows });
            let row = BreakRow::new(history, found, self.shows_text, &projects);
            self.file.write(&row, place)?;
            rows += 1;
        }
        Ok(rows)
    }

    /// Writes the rest.
    ///
    /// # Errors
    /// Writing fails.
    pub fn finish(self) -> io::Result<()> {
        self.file.finish()
    }
}

table_row!(BreakRow {
    schema,
    session_id,
    agent_id,
    request_id,
    message_id,
    timestamp,
    model,
    class,
    cause,
    expected,
    evidence,
    gap_s,
    expected_read_tokens,
    cache_read_input_tokens,
    rewritten_tokens,
    excess_usd,
    server_reason,
    fork,
    project,
    start,
    file,
    line,
    basis,
});
