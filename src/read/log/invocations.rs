//! Bedrock's logs of model invocations, one a line. A stream is logged as the list of its events. Of `InvokeModel`, whose
//! body is that of the model's own API, the request is a capture; of `Converse` the usage is known. Bodies beyond a size
//! are stored elsewhere: then the log's own counters are left.

use serde_json::value::RawValue;

use super::elements::each_element;
use super::exchange::{Envelope, Exchange};
use super::moment::Moment;
use super::rows::{RowFormat, read_log};
use super::{Log, LogFormat, LogLayout, LogReader};
use crate::read::agent::{FirstObject, Rejected};
use crate::read::answer::Answer;
use crate::read::capture::CaptureOptions;
use crate::read::input::{Count, Kind, OpenSource, Shape, Text, lenient};

/// Format of these logs.
pub(super) struct Invocations;

impl LogFormat for Invocations {
    fn recognises(&self, first: &FirstObject<'_>) -> bool {
        first.is_one_of("schemaType", &["ModelInvocationLog"])
    }

    fn file(&self) -> &'static str {
        Self::FILE
    }

    fn layout(&self) -> Option<LogLayout> {
        Some(LogLayout::Invocations)
    }

    fn read(&self, open: &mut OpenSource, options: &CaptureOptions) -> Log {
        read_log::<Self>(open, options)
    }
}

impl RowFormat for Invocations {
    type Row<'a> = Invocation<'a>;
    const FILE: &'static str = "a log of Bedrock's invocations";

    fn row(log: &mut LogReader<'_>, row: &Invocation<'_>, line: u64) -> Result<(), Rejected> {
        if row.error_code.as_str().is_some() {
            return Err((Kind::FailedRequest, "it was not answered, or with an error"));
        }
        let input = row.input.0.as_ref();
        let answer = row.answer();
        log.exchange(&Exchange {
            line,
            sent: input.and_then(|input| input.body).map_or("{}", RawValue::get),
            answer: &answer,
            envelope: Envelope {
                sent: row.timestamp.0,
                request: row.request_id.as_str(),
                model: row.model_id.as_str(),
                ..Envelope::default()
            },
            ..Exchange::default()
        })
    }
}

impl Invocation<'_> {
    /// Answer as a body or a stream, or the log's counters in the form of one.
    fn answer(&self) -> String {
        let logged = self.output.0.as_ref();
        let mut answer = String::new();
        match logged.and_then(|output| output.body).map(RawValue::get) {
            Some(list) if list.starts_with('[') => {
                let write = |event: &str| answer.extend(["data: ", event, "\n\n"]);
                each_element(list, &[], write).ok();
            }
            Some(body) => body.clone_into(&mut answer),
            None => {}
        }
        if Answer::of(&answer).usage.is_some() {
            return answer;
        }
        let Some(Input { tokens, read, written, .. }) = &self.input.0 else { return answer };
        let count = |count: Count| count.value().unwrap_or_default();
        let output = count(logged.map_or(Count::Missing, |output| output.tokens));
        format!(
            r#"{{"usage":{{"inputTokens":{},"outputTokens":{output},"cacheReadInputTokens":{},"cacheWriteInputTokens":{}}}}}"#,
            count(*tokens),
            count(*read),
            count(*written)
        )
    }
}

lenient! {
    #[serde(rename_all = "camelCase")]
    pub(super) struct Invocation<'a> {
        timestamp: Moment,
        request_id: Text<'a>,
        model_id: Text<'a>,
        error_code: Text<'a>,
        input: Shape<Input<'a>>,
        output: Shape<Output<'a>>,
    }

    struct Input<'a> {
        #[serde(rename = "inputBodyJson")]
        body: Option<&'a RawValue>,
        #[serde(rename = "inputTokenCount")]
        tokens: Count,
        #[serde(rename = "cacheReadInputTokenCount")]
        read: Count,
        #[serde(rename = "cacheWriteInputTokenCount")]
        written: Count,
    }

    struct Output<'a> {
        #[serde(rename = "outputBodyJson")]
        body: Option<&'a RawValue>,
        #[serde(rename = "outputTokenCount")]
        tokens: Count,
    }
}
