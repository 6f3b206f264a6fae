//! Captured requests of other services: records as of the Messages API, with a body and a usage of `OpenAI`'s, Gemini's
//! or Bedrock's Converse API, or with the whole answer. Of requests to the Messages API among them the body is known.

use serde_json::value::RawValue;

use super::exchange::{Envelope, Exchange};
use super::moment::Moment;
use super::other_api::other_api;
use super::rows::{RowFormat, read_log};
use super::{Log, LogFormat, LogLayout, LogReader};
use crate::read::agent::{FirstObject, Rejected};
use crate::read::capture::CaptureOptions;
use crate::read::input::{Kind, OpenSource, Text, lenient};

/// Format of such records.
pub(super) struct Recorded;

impl LogFormat for Recorded {
    fn recognises(&self, first: &FirstObject<'_>) -> bool {
        let Some(body) = first.json("request").filter(|body| body.starts_with('{')) else {
            return false;
        };
        // Nearly all are of the Messages API, and need not be parsed to be known.
        let has = |sign: &str| memchr::memmem::find(body.as_bytes(), sign.as_bytes()).is_some();
        if has("\"max_tokens\"") && (has("\"claude-") || has("\"anthropic_version\"")) {
            return false;
        }
        let is_answered = first.has("usage") || first.has("response");
        // The wrapper of a claude-trace log has a body.
        let is_wrapper = || first.has("request.body");
        let is_other = || serde_json::from_str(body).is_ok_and(|body| other_api(&body).is_some());
        is_answered && !is_wrapper() && is_other()
    }

    fn file(&self) -> &'static str {
        Self::FILE
    }

    fn layout(&self) -> Option<LogLayout> {
        Some(LogLayout::Recorded)
    }

    fn read(&self, open: &mut OpenSource, options: &CaptureOptions) -> Log {
        read_log::<Self>(open, options)
    }
}

impl RowFormat for Recorded {
    type Row<'a> = Record<'a>;
    const FILE: &'static str = "captured requests of another service";

    fn row(log: &mut LogReader<'_>, record: &Record<'_>, line: u64) -> Result<(), Rejected> {
        let no_request = (Kind::OtherEndpoint, "it has no request");
        let of_usage = record.usage.map(|usage| format!("{{\"usage\":{usage}}}"));
        let answer = of_usage.as_deref().or(record.response.map(RawValue::get));
        log.exchange(&Exchange {
            line,
            sent: record.request.ok_or(no_request)?.get(),
            answer: answer.ok_or((Kind::MissingUsage, "it has no answer"))?,
            envelope: Envelope {
                sent: record.timestamp.0,
                answered: record.response_started_at.0,
                request: record.request_id.as_str(),
                session: record.session_id.as_str(),
                ..Envelope::default()
            },
            ..Exchange::default()
        })
    }
}

lenient! {
    pub(super) struct Record<'a> {
        timestamp: Moment,
        response_started_at: Moment,
        request_id: Text<'a>,
        session_id: Text<'a>,
        request: Option<&'a RawValue>,
        usage: Option<&'a RawValue>,
        response: Option<&'a RawValue>,
    }
}
