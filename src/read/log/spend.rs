//! `LiteLLM` spend logs as JSON: rows of its table, pages of `/spend/logs`, or payloads of its other loggers,
//! one per file or one per line.

use std::sync::Arc;

use super::exchange::{Answered, Envelope, MessagesBody};
use super::rows::read_rows;
use super::spend_row::SpendRow;
use super::{Log, LogFormat, LogLayout, LogReader};
use crate::base::{Client, EntryId};
use crate::read::agent::{AgentRequest, FirstObject, Rejected, Vendor};
use crate::read::capture::CaptureOptions;
use crate::read::input::{Diagnostics, Kind, ObjectReader, OpenSource, Text};

/// Format of a spend log in JSON.
pub(super) struct SpendLog;

impl LogFormat for SpendLog {
    fn recognises(&self, first: &FirstObject<'_>) -> bool {
        let has = |name| first.has_member(name);
        let is_row = has("request_id") && (has("api_key") || has("spend"));
        let is_payload = has("id") && has("trace_id");
        has("call_type") && (is_row || is_payload)
    }

    fn file(&self) -> &'static str {
        "a spend log of LiteLLM"
    }

    fn client(&self) -> Client {
        Client::LiteLlm
    }

    fn layout(&self) -> Option<LogLayout> {
        Some(LogLayout::Spend)
    }

    fn read(&self, open: &mut OpenSource, options: &CaptureOptions) -> Log {
        let label = Arc::clone(&open.label);
        let mut reader = SpendReader::new(LogReader::new(open, &label, options));
        let mut diagnostics = Diagnostics::default();
        let extent = read_rows(open, &mut diagnostics, &mut reader);
        reader.log.file.diagnostics.absorb(diagnostics);
        reader.log.finish(open, extent)
    }
}

/// Reader of spend rows, whatever file they are in.
pub(super) struct SpendReader<'a> {
    pub(super) log: LogReader<'a>,
}

impl<'a> SpendReader<'a> {
    pub(super) fn new(log: LogReader<'a>) -> Self {
        Self { log }
    }

    /// Adds a row, or reports why it is left out.
    pub(super) fn row(&mut self, row: &SpendRow<'_>, line: u64) {
        if let Err((kind, detail)) = self.request(row, line) {
            self.log.reject(kind, line, detail);
        }
    }

    fn request(&mut self, row: &SpendRow<'_>, line: u64) -> Result<(), Rejected> {
        let billed = row.billed()?;
        let name = row.model().unwrap_or_default();
        // LiteLLM may route such a body to another vendor, whose cache has other rules.
        if let Some(body) = row.body().and_then(MessagesBody::of)
            && Vendor::of(name) == Vendor::Anthropic
        {
            let envelope = Envelope {
                sent: row.start.0.or(row.end.0),
                answered: row.answered.0,
                request: row.id(),
                session: row.session(),
                model: Some(name),
                ..Envelope::default()
            };
            let answer = Answered::Told(row.message(), &billed.as_of_messages());
            if self.log.capture((line, row.url()), &body, &envelope, &answer) {
                return Ok(());
            }
        }
        // A body that cannot be used still leaves its usage.
        let no_time = (Kind::MissingTimestamp, "the request is left out");
        let start = row.start.0.or(row.end.0).ok_or(no_time)?;
        let file = &mut self.log.file;
        let mut symbol = |text: Option<&str>| text.map(|text| file.symbols.intern(text));
        let [session, message, route] =
            [row.session(), row.message(), row.route()].map(&mut symbol);
        let model = file.model(&Text(Some(name.into())));
        let times = (start, row.end.0.unwrap_or(start));
        let usage = billed.usage.clone();
        let request = AgentRequest {
            // LiteLLM's id makes a copy of the log count once.
            identity: row.id().map(|id| EntryId::of(&format!("litellm:{id}"))),
            session,
            message,
            route,
            ..AgentRequest::new((Client::LiteLlm, line), model, times, usage)
        };
        self.log.add(&billed, request);
        Ok(())
    }
}

impl ObjectReader for SpendReader<'_> {
    type Object<'a> = SpendRow<'a>;
    const FILE: &'static str = "a spend log of LiteLLM";

    fn object(&mut self, row: &SpendRow<'_>, _: &str, line: u64) {
        self.row(row, line);
    }

    fn reject(&mut self, kind: Kind, line: u64, detail: impl Into<String>) {
        self.log.reject(kind, line, detail);
    }
}
