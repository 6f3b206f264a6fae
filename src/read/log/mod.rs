//! Logs of gateways and proxies. They may hold two things at once: what requests were billed, and whole
//! requests to the Messages API, whose prompts are then known byte by byte.
//!
//! A request stands in one of the two: one whose body is all there is a capture with its usage, another one
//! has only its usage. To add a format: a file with a `LogFormat`, and a line in `LOGS`.

mod answer;
mod billed;
mod document;
mod elements;
mod exchange;
mod har;
mod helicone;
mod moment;
#[cfg(feature = "fleet")]
mod parquet_rows;
#[cfg(not(feature = "fleet"))]
#[path = "without_parquet.rs"]
mod parquet_rows;
mod rows;
mod spend;
mod spend_parquet;
mod spend_row;
mod spend_table;

use std::sync::Arc;

use super::agent::{AgentFile, AgentRequest, FirstObject, Follows};
use super::capture::{CaptureOptions, Captures, RecordReader};
use super::input::{Chunk, Extent, Kind, OpenSource};
use crate::base::client::Client;
use crate::base::order::Order as _;
use billed::Billed;
use exchange::{Answered, Envelope, MessagesBody, record};
pub(crate) use helicone::TAKEN_OUT;
#[cfg(feature = "redact")]
pub(crate) use spend_parquet::spend_lines;
pub(crate) use spend_row::MARKS_OF_CHANGE;
pub(crate) use spend_table::{NOTHING, delimiter, other_table};

/// Every format, in the order in which they are tried.
static LOGS: [&dyn LogFormat; 5] = [
    &spend::SpendLog,
    &spend_table::SpendTable,
    &spend_parquet::SpendParquet,
    &helicone::Helicone,
    &har::Har,
];

/// What a log is made of, by the fields that readers look at (`redact/fields/logs.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogLayout {
    /// Rows or payloads of `LiteLLM` as JSON.
    Spend,
    /// The same as a table.
    Table,
    /// Rows of Helicone.
    Helicone,
    /// A HAR file.
    Har,
}

/// A format of logs.
pub(crate) trait LogFormat: Sync {
    /// Whether a file that begins with this object, or with a list of such, is one of its.
    fn recognises(&self, _: &FirstObject<'_>) -> bool {
        false
    }

    /// Whether a file that begins with these bytes is one of its, where its first object does not tell.
    fn begins(&self, _: &[u8]) -> bool {
        false
    }

    /// What the file is, for people: "a spend log".
    fn file(&self) -> &'static str;

    /// The program under which its requests are told.
    fn client(&self) -> Client;

    /// By what redaction finds the fields that stay; `None` where it cannot rewrite the file.
    fn layout(&self) -> Option<LogLayout>;

    /// Reads a file to its end. No text of it is kept but what captures keep.
    fn read(&self, open: &mut OpenSource, options: &CaptureOptions) -> Log;
}

/// What a log holds.
#[derive(Debug)]
pub(crate) struct Log {
    /// The requests of which the usage is known.
    pub(crate) requests: AgentFile,
    /// The requests of which every byte is known. How much was read is said with the others.
    pub(crate) captures: Captures,
}

/// The format of a log that begins so, whatever its first line is.
pub(super) fn log_that_begins(chunk: &Chunk) -> Option<&'static dyn LogFormat> {
    let bytes = chunk.bytes();
    if let Some(format) = LOGS.into_iter().find(|format| format.begins(bytes)) {
        return Some(format);
    }
    if !begins_with_member(bytes, "data") {
        return None;
    }
    let text = bytes.utf8_chunks().next()?.valid();
    log_of(&FirstObject::of_document(rows::rows_of_answer(text)?.as_bytes())?)
}

/// Whether bytes begin with an object whose first member has a name.
fn begins_with_member(bytes: &[u8], name: &str) -> bool {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    let first = bytes.strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
    let first = first.and_then(|members| members.strip_prefix(b"\""));
    first
        .and_then(|rest| rest.strip_prefix(name.as_bytes()))
        .is_some_and(|rest| rest.starts_with(b"\""))
}

/// The format of a log whose first object that is.
pub(super) fn log_of(first: &FirstObject<'_>) -> Option<&'static dyn LogFormat> {
    LOGS.into_iter().find(|format| format.recognises(first))
}

/// Takes in the requests of a log.
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

    /// Whether anything was taken in.
    fn has_requests(&self) -> bool {
        !self.file.requests.is_empty() || self.captures.has_requests()
    }

    /// Adds a request whose body is known, and says whether it is one that can be used.
    fn capture(
        &mut self,
        (line, url): (u64, Option<&str>),
        body: &MessagesBody<'_>,
        envelope: &Envelope<'_>,
        answer: &Answered<'_>,
    ) -> bool {
        self.captures.record(&record(body, envelope, answer), line, url)
    }

    /// Adds a request whose usage is known. Without a session nobody can say what it goes on from.
    fn add(&mut self, billed: &Billed, request: AgentRequest) {
        let follows = if request.session.is_some() { Follows::Previous } else { Follows::Nothing };
        self.file.requests.push(AgentRequest {
            reasoning: billed.reasoning,
            knows_writes: billed.knows_writes,
            knows_lifetime: billed.knows_lifetime,
            follows,
            ..request
        });
    }

    /// All of it, in the order in which the requests were sent: logs are written in that of their ends,
    /// and often turned around.
    fn finish(mut self, open: &OpenSource, extent: Extent) -> Log {
        self.file.requests.order_by_key(|request| request.start);
        self.file.extent = extent;
        Log { requests: self.file, captures: self.captures.finish(open, Extent::default()) }
    }
}
