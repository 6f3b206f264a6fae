//! Logs of gateways and proxies: the billed usage of requests, and whole requests to the Messages API.
//!
//! A log may hold both, but each request is in one form: with a whole body it is a capture with usage, without
//! one only its usage is known. To add a format: a file with a `LogFormat`, and a line in `LOGS`.

mod batch;
mod billed;
mod cassette;
mod document;
mod elements;
mod exchange;
mod har;
mod helicone;
mod invocations;
mod messages_form;
mod moment;
mod other_api;
#[cfg(feature = "fleet")]
mod parquet_pages;
#[cfg(feature = "fleet")]
mod parquet_rows;
#[cfg(not(feature = "fleet"))]
#[path = "without_parquet.rs"]
mod parquet_rows;
mod recorded;
mod rows;
mod spend;
mod spend_parquet;
mod spend_row;
mod spend_table;
#[cfg(feature = "yaml")]
mod yaml;

use std::sync::Arc;

use super::agent::{AgentFile, AgentRequest, FirstObject, Follows};
use super::capture::{CaptureOptions, Captures, RecordReader};
use super::input::{Chunk, Extent, Kind, OpenSource};
use crate::base::{Client, Order as _};
use billed::Billed;
use exchange::{Answered, Envelope, MessagesBody, record};
pub(crate) use helicone::TAKEN_OUT;
pub(crate) use messages_form::{RESULT, in_messages_form};
pub(crate) use other_api::{OtherApi, other_api};
pub(crate) use spend_parquet::spend_lines;
pub(crate) use spend_row::MARKS_OF_CHANGE;
pub(crate) use spend_table::{NOTHING, delimiter, other_table};

/// All formats, in the order of recognition.
static LOGS: [&dyn LogFormat; 9] = [
    &spend::SpendLog,
    &spend_table::SpendTable,
    &spend_parquet::SpendParquet,
    &helicone::Helicone,
    &har::Har,
    &invocations::Invocations,
    &batch::Batch,
    &cassette::Cassette,
    &recorded::Recorded,
];

/// Field layout of a log, for redaction (`redact/fields/logs.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogLayout {
    /// Rows or payloads of `LiteLLM` as JSON.
    Spend,
    /// Rows of `LiteLLM` as a table.
    Table,
    /// Rows of Helicone.
    Helicone,
    /// A HAR file.
    Har,
    /// Bedrock's log of invocations.
    Invocations,
    /// Requests or results of a batch.
    Batch,
    /// Captured requests of another service.
    Recorded,
}

/// Format of logs.
pub(crate) trait LogFormat: Sync {
    /// Returns true if a file that begins with this object, or with a list of such objects, has this format.
    fn recognises(&self, _: &FirstObject<'_>) -> bool {
        false
    }

    /// Returns true if a file that begins with these bytes has this format, for files without a typical first object.
    fn begins(&self, _: &[u8]) -> bool {
        false
    }

    /// Description of the file for people: "a spend log".
    fn file(&self) -> &'static str;

    /// Program that the requests are listed under. Most formats do not name the one that sent them.
    fn client(&self) -> Client {
        Client::Capture
    }

    /// Field layout for redaction; `None` if redaction cannot rewrite the file.
    fn layout(&self) -> Option<LogLayout> {
        None
    }

    /// Reads a file to its end. Only captures keep text.
    fn read(&self, open: &mut OpenSource, options: &CaptureOptions) -> Log;
}

/// Contents of a log.
#[derive(Debug)]
pub(crate) struct Log {
    /// Requests with known usage.
    pub(crate) requests: AgentFile,
    /// Requests with known bytes. The extent of the file is in `requests`.
    pub(crate) captures: Captures,
}

/// Format of a log that begins with this chunk, whatever its first line is.
pub(super) fn log_that_begins(chunk: &Chunk) -> Option<&'static dyn LogFormat> {
    let bytes = chunk.bytes();
    if let Some(format) = LOGS.into_iter().find(|format| format.begins(bytes)) {
        return Some(format);
    }
    // An answer of an API wraps its rows in `data`: its first row shows the format.
    if !begins_with_member(bytes, "data") {
        return None;
    }
    // The chunk may end inside a character.
    let text = bytes.utf8_chunks().next()?.valid();
    log_of(&FirstObject::of_document(rows::rows_of_answer(text)?.as_bytes())?)
}

/// Returns true if bytes begin with an object whose first member is called `name`.
fn begins_with_member(bytes: &[u8], name: &str) -> bool {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    let first = bytes.strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
    let first = first.and_then(|members| members.strip_prefix(b"\""));
    first
        .and_then(|rest| rest.strip_prefix(name.as_bytes()))
        .is_some_and(|rest| rest.starts_with(b"\""))
}

/// Format of a log that begins with this object.
pub(super) fn log_of(first: &FirstObject<'_>) -> Option<&'static dyn LogFormat> {
    LOGS.into_iter().find(|format| format.recognises(first))
}

/// Collector of a log's requests.
struct LogReader<'a> {
    file: AgentFile,
    captures: RecordReader<'a>,
}

impl<'a> LogReader<'a> {
    fn new(open: &OpenSource, label: &'a Arc<str>, options: &'a CaptureOptions) -> Self {
        Self { file: AgentFile::of(open), captures: RecordReader::new(label, options) }
    }

    fn reject(&mut self, kind: Kind, line: u64, detail: impl Into<String>) {
        self.file.reject(kind, line, detail);
    }

    /// Returns true if any request was added.
    fn has_requests(&self) -> bool {
        !self.file.requests.is_empty() || self.captures.has_requests()
    }

    /// Adds a request with a known body. Returns true if it can be used.
    fn capture(
        &mut self,
        (line, url): (u64, Option<&str>),
        body: &MessagesBody<'_>,
        envelope: &Envelope<'_>,
        answer: &Answered<'_>,
    ) -> bool {
        self.captures.record(&record(body, envelope, answer), (line, url), None)
    }

    /// Adds a request with known usage. Without a session its predecessor is unknown.
    fn add(&mut self, billed: &Billed, request: AgentRequest) {
        let follows = if request.session.is_some() { Follows::Previous } else { Follows::Nothing };
        let request = AgentRequest {
            reasoning: billed.reasoning,
            knows_writes: billed.knows_writes,
            knows_lifetime: billed.knows_lifetime,
            follows,
            ..request
        };
        let AgentFile { requests, copies, .. } = &mut self.file;
        // A packed table can hold millions of equal rows in a few bytes: only the first one is kept.
        let is_named =
            |last: &&AgentRequest| last.identity.is_some() && last.identity == request.identity;
        match requests.last().filter(is_named) {
            Some(last) if *last == (AgentRequest { line: last.line, ..request.clone() }) => {
                *copies += 1;
            }
            _ => requests.push(request),
        }
    }

    /// Finished log, its requests ordered by their start.
    fn finish(mut self, open: &OpenSource, extent: Extent) -> Log {
        // Logs are written as requests end, and often reversed.
        self.file.requests.order_by_key(|request| request.start);
        self.file.extent = extent;
        Log { requests: self.file, captures: self.captures.finish(open, Extent::default()) }
    }
}
