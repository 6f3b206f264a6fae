//! Output of an exporter: spans and log records by resource and by scope, or one span of Copilot's.

use serde::Deserialize;

use super::attributes::{Attributes, Value};
use super::moment::Moment;
use crate::read::input::{List, Shape, Text};

/// Object of the protocol. One with metrics alone has nothing that is read.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(in crate::read::agent) struct Export<'a> {
    #[serde(borrow)]
    pub(super) resource_spans: List<Shape<ResourceSpans<'a>>>,
    pub(super) resource_logs: List<Shape<ResourceLogs<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ResourceSpans<'a> {
    #[serde(borrow)]
    pub(super) resource: Shape<Resource<'a>>,
    // Older versions of the protocol name the spans of a scope this way.
    #[serde(alias = "instrumentationLibrarySpans")]
    pub(super) scope_spans: List<Shape<ScopeSpans<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ResourceLogs<'a> {
    #[serde(borrow)]
    pub(super) resource: Shape<Resource<'a>>,
    pub(super) scope_logs: List<Shape<ScopeLogs<'a>>>,
}

/// Program that reports.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Resource<'a> {
    #[serde(borrow)]
    pub(super) attributes: Attributes<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ScopeSpans<'a> {
    #[serde(borrow, alias = "instrumentationLibrary")]
    pub(super) scope: Shape<Instrumentation<'a>>,
    pub(super) spans: List<Shape<Span<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ScopeLogs<'a> {
    #[serde(borrow)]
    pub(super) scope: Shape<Instrumentation<'a>>,
    pub(super) log_records: List<Shape<LogRecord<'a>>>,
}

/// Part of the program that reports.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Instrumentation<'a> {
    #[serde(borrow)]
    pub(super) name: Text<'a>,
    pub(super) version: Text<'a>,
}

/// Span of a trace.
///
/// Copilot writes it on a line of its own, with its resource and its scope inside, and with other names
/// for its times.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(in crate::read::agent) struct Span<'a> {
    /// Type of a line of Copilot's.
    #[serde(borrow)]
    pub(super) r#type: Text<'a>,
    pub(super) resource: Shape<Resource<'a>>,
    pub(super) instrumentation_scope: Shape<Instrumentation<'a>>,
    pub(super) trace_id: Text<'a>,
    #[serde(rename = "spanId")]
    pub(super) id: Text<'a>,
    pub(super) parent_span_id: Text<'a>,
    pub(super) name: Text<'a>,
    #[serde(alias = "startTimeUnixNano")]
    pub(super) start_time: Moment,
    #[serde(alias = "endTimeUnixNano")]
    pub(super) end_time: Moment,
    pub(super) attributes: Attributes<'a>,
    pub(super) status: Shape<Status<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Status<'a> {
    #[serde(borrow)]
    pub(super) code: Value<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct LogRecord<'a> {
    pub(super) time_unix_nano: Moment,
    pub(super) observed_time_unix_nano: Moment,
    #[serde(borrow)]
    pub(super) event_name: Text<'a>,
    pub(super) body: Shape<Body<'a>>,
    pub(super) attributes: Attributes<'a>,
}

/// Name of an event, or attributes that were moved there.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Body<'a> {
    #[serde(borrow)]
    pub(super) string_value: Text<'a>,
    pub(super) kvlist_value: Shape<Members<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Members<'a> {
    #[serde(borrow)]
    pub(super) values: Attributes<'a>,
}
