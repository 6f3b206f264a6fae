//! Output of an exporter: spans and log records by resource and by scope, or one span of Copilot's.

use super::Attributes;
use super::attributes::Value;
use super::moment::Moment;
use crate::read::input::{List, Shape, Text, lenient};

lenient! {
    /// Object of the protocol. One with metrics alone has nothing that is read.
    #[serde(rename_all = "camelCase")]
    pub(in crate::read::agent) struct Export<'a> {
        pub(super) resource_spans: List<Shape<ResourceSpans<'a>>>,
        pub(super) resource_logs: List<Shape<ResourceLogs<'a>>>,
    }

    #[serde(rename_all = "camelCase")]
    pub(super) struct ResourceSpans<'a> {
        pub(super) resource: Shape<Resource<'a>>,
        // Older versions of the protocol name the spans of a scope this way.
        #[serde(alias = "instrumentationLibrarySpans")]
        pub(super) scope_spans: List<Shape<ScopeSpans<'a>>>,
    }

    #[serde(rename_all = "camelCase")]
    pub(super) struct ResourceLogs<'a> {
        pub(super) resource: Shape<Resource<'a>>,
        pub(super) scope_logs: List<Shape<ScopeLogs<'a>>>,
    }

    /// Program that reports.
    pub(super) struct Resource<'a> {
        pub(super) attributes: Attributes<'a>,
    }

    pub(super) struct ScopeSpans<'a> {
        #[serde(alias = "instrumentationLibrary")]
        pub(super) scope: Shape<Instrumentation<'a>>,
        pub(super) spans: List<Shape<Span<'a>>>,
    }

    #[serde(rename_all = "camelCase")]
    pub(super) struct ScopeLogs<'a> {
        pub(super) scope: Shape<Instrumentation<'a>>,
        pub(super) log_records: List<Shape<LogRecord<'a>>>,
    }

    /// Part of the program that reports.
    pub(super) struct Instrumentation<'a> {
        pub(super) name: Text<'a>,
        pub(super) version: Text<'a>,
    }

    /// Span of a trace.
    ///
    /// Copilot writes it on a line of its own, with its resource and its scope inside, and with other names
    /// for its times. So does Phoenix, with its ids in a context.
    #[serde(rename_all = "camelCase")]
    pub(in crate::read::agent) struct Span<'a> {
        /// Type of a line of Copilot's.
        pub(super) r#type: Text<'a>,
        pub(super) resource: Shape<Resource<'a>>,
        pub(super) instrumentation_scope: Shape<Instrumentation<'a>>,
        pub(super) trace_id: Text<'a>,
        #[serde(rename = "spanId")]
        pub(super) id: Text<'a>,
        /// Ids in a span of Phoenix.
        pub(super) context: Shape<Context<'a>>,
        #[serde(alias = "parent_id")]
        pub(super) parent_span_id: Text<'a>,
        pub(super) name: Text<'a>,
        #[serde(alias = "startTimeUnixNano", alias = "start_time")]
        pub(super) start_time: Moment,
        #[serde(alias = "endTimeUnixNano", alias = "end_time")]
        pub(super) end_time: Moment,
        pub(super) attributes: Attributes<'a>,
        pub(super) status: Shape<Status<'a>>,
        /// Status in a span of Phoenix.
        #[serde(rename = "status_code")]
        pub(super) status_code: Option<Value<'a>>,
    }

    pub(super) struct Context<'a> {
        pub(super) trace_id: Text<'a>,
        pub(super) span_id: Text<'a>,
    }

    pub(super) struct Status<'a> {
        pub(super) code: Value<'a>,
    }

    #[serde(rename_all = "camelCase")]
    pub(super) struct LogRecord<'a> {
        pub(super) time_unix_nano: Moment,
        pub(super) observed_time_unix_nano: Moment,
        pub(super) event_name: Text<'a>,
        pub(super) body: Shape<Body<'a>>,
        pub(super) attributes: Attributes<'a>,
    }

    /// Name of an event, or attributes that were moved there.
    #[serde(rename_all = "camelCase")]
    pub(super) struct Body<'a> {
        pub(super) string_value: Text<'a>,
        pub(super) kvlist_value: Shape<Members<'a>>,
    }

    pub(super) struct Members<'a> {
        pub(super) values: Attributes<'a>,
    }
}
