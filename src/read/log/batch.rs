//! Results of a batch of requests to the Messages API, one a line, without times. The batch's requests have no usage:
//! their results have it.

use serde_json::value::RawValue;

use super::exchange::{Envelope, Exchange};
use super::rows::{RowFormat, read_log};
use super::{Log, LogFormat, LogLayout, LogReader};
use crate::read::agent::{FirstObject, Rejected};
use crate::read::capture::CaptureOptions;
use crate::read::input::{Kind, OpenSource, Shape, Text, lenient};

/// Format of a batch's requests and results.
pub(super) struct Batch;

impl LogFormat for Batch {
    fn recognises(&self, first: &FirstObject<'_>) -> bool {
        first.text("custom_id").is_some() && (first.has("params") || first.has("result"))
    }

    fn file(&self) -> &'static str {
        Self::FILE
    }

    fn layout(&self) -> Option<LogLayout> {
        Some(LogLayout::Batch)
    }

    fn read(&self, open: &mut OpenSource, options: &CaptureOptions) -> Log {
        read_log::<Self>(open, options)
    }
}

impl RowFormat for Batch {
    type Row<'a> = Row<'a>;
    const FILE: &'static str = "a batch of requests";

    fn row(log: &mut LogReader<'_>, row: &Row<'_>, line: u64) -> Result<(), Rejected> {
        let Some(result) = &row.result.0 else {
            return Err((Kind::MissingUsage, "a request of a batch: its result has the usage"));
        };
        let message = result.message.filter(|_| result.r#type.is("succeeded"));
        let message =
            message.ok_or((Kind::FailedRequest, "it was not answered, or with an error"))?;
        let envelope =
            Envelope { request: row.custom_id.as_str(), is_batch: true, ..Envelope::default() };
        log.exchange(&Exchange {
            line,
            sent: "{}",
            answer: message.get(),
            envelope,
            ..Exchange::default()
        })
    }
}

lenient! {
    pub(super) struct Row<'a> {
        custom_id: Text<'a>,
        result: Shape<Outcome<'a>>,
    }

    struct Outcome<'a> {
        r#type: Text<'a>,
        message: Option<&'a RawValue>,
    }
}
