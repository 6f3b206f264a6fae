//! The fields of OpenTelemetry and of what is made of it: exports, spans, observations of Langfuse.
//!
//! What an attribute holds follows from its name, by one table, whether attributes are a list of keys and
//! values or an object.

use crate::read::agent::attributes as names;
use crate::redact::shape::{Field, Shape};

/// Attributes by their names. What is known of them stands where the reader has it.
pub(in crate::redact) static ATTRIBUTES: Shape = Shape {
    name: "attributes",
    fields: &[
        (Field::Word, names::OPERATION),
        (Field::Model, names::MODEL),
        (Field::Route, names::PROVIDER),
        (Field::Identifier, names::SESSION),
        (Field::Identifier, names::AGENT),
        (Field::Identifier, names::RESPONSE),
        (Field::Identifier, names::REQUEST),
        (Field::Figure, names::INPUT),
        (Field::Figure, names::OUTPUT),
        (Field::Figure, names::READ),
        (Field::Figure, names::WRITTEN),
        (Field::Figure, names::REASONING),
        (Field::Figure, names::COPILOT_BILL),
        (Field::Word, names::COPILOT_INITIATOR),
        (Field::Figure, names::CLAUDE_INPUT),
        (Field::Figure, names::CLAUDE_OUTPUT),
        (Field::Figure, names::CLAUDE_READ),
        (Field::Figure, names::CLAUDE_WRITTEN),
        (Field::Identifier, names::CLAUDE_CLIENT_REQUEST),
        (Field::Identifier, names::CLAUDE_AGENT),
        (Field::Identifier, names::CLAUDE_PROMPT),
        (Field::QuerySource, names::CLAUDE_QUERY_SOURCE),
        (Field::Word, names::CLAUDE_SPEED),
        (Field::Figure, names::CLAUDE_DURATION),
        (Field::Figure, names::CLAUDE_COST),
        (Field::Word, names::CLAUDE_SUCCESS),
        (Field::Event, names::EVENT),
        (Field::Moment, names::EVENT_TIME),
        (Field::Figure, names::EVENT_NUMBER),
        (Field::Word, names::SERVICE),
        (Field::Version, names::VERSION),
    ],
    ..Shape::PLAIN
};

/// One of a list of attributes.
pub(in crate::redact) static ATTRIBUTE: Shape = Shape {
    name: "attribute",
    fields: &[(Field::Key(&ATTRIBUTES), &["key"]), (Field::Told, &["value"])],
    ..Shape::PLAIN
};

/// The value of an attribute, wrapped by its type.
pub(in crate::redact) static VALUE: Shape = Shape {
    name: "value of an attribute",
    fields: &[(Field::Told, &["stringValue", "intValue", "doubleValue", "boolValue"])],
    ..Shape::PLAIN
};

/// An object of the protocol: resources, scopes, and what they hold.
pub(super) static TELEMETRY: Shape = Shape {
    name: "export of OpenTelemetry",
    fields: &[
        (
            Field::Shaped(&TELEMETRY),
            &[
                "resourceSpans",
                "resourceLogs",
                "scopeSpans",
                "instrumentationLibrarySpans",
                "scopeLogs",
            ],
        ),
        (
            Field::Shaped(&RESOURCE),
            &["resource", "scope", "instrumentationLibrary", "instrumentationScope"],
        ),
        (Field::Shaped(&SPAN), &["spans", "logRecords"]),
        (Field::Free, &["resourceMetrics"]),
    ],
    ..Shape::PLAIN
};

/// Who tells: a program, or a part of one.
static RESOURCE: Shape = Shape {
    name: "resource or scope",
    fields: &[
        (Field::Attributes, &["attributes"]),
        (Field::Identifier, &["name"]),
        (Field::Version, &["version"]),
    ],
    ..Shape::PLAIN
};

/// A span, or a log record. A line of Copilot's has its resource and its scope inside.
pub(super) static SPAN: Shape = Shape {
    name: "span or log record",
    fields: &[
        (Field::Word, &["type"]),
        (Field::Identifier, &["traceId", "spanId", "parentSpanId"]),
        (Field::Event, &["name", "eventName"]),
        (
            Field::Moment,
            &[
                "startTime",
                "endTime",
                "startTimeUnixNano",
                "endTimeUnixNano",
                "timeUnixNano",
                "observedTimeUnixNano",
            ],
        ),
        (Field::Attributes, &["attributes"]),
        (Field::Shaped(&STATUS), &["status"]),
        (Field::Shaped(&RECORD_BODY), &["body"]),
        (Field::Shaped(&RESOURCE), &["resource", "instrumentationScope"]),
        (Field::Free, &["dataPoints", "events"]),
    ],
    ..Shape::PLAIN
};

static STATUS: Shape = Shape {
    name: "status of a span",
    fields: &[(Field::Figure, &["code"]), (Field::Free, &["message"])],
    ..Shape::PLAIN
};

static RECORD_BODY: Shape = Shape {
    name: "body of a log record",
    fields: &[
        (Field::Event, &["stringValue"]),
        (Field::Shaped(&RECORD_BODY), &["kvlistValue"]),
        (Field::Attributes, &["values"]),
    ],
    ..Shape::PLAIN
};

/// An observation of Langfuse, or a page or a trace that holds some.
pub(super) static OBSERVATION: Shape = Shape {
    name: "observation of Langfuse, or what holds some",
    fields: &[
        (
            Field::Identifier,
            &[
                "id",
                "traceId",
                "trace_id",
                "sessionId",
                "session_id",
                "parentObservationId",
                "parent_observation_id",
                // That of an agent tells it apart.
                "name",
            ],
        ),
        (Field::Word, &["type", "level"]),
        (Field::Model, &["model", "providedModelName", "provided_model_name"]),
        (Field::Moment, &["startTime", "start_time", "endTime", "end_time"]),
        (Field::Shaped(&COUNTERS), &["usageDetails", "usage_details", "usage"]),
        (Field::Shaped(&NOTES), &["metadata"]),
        (Field::Shaped(&OBSERVATION), &["data", "observations", "trace"]),
        (Field::Free, &["input", "output"]),
    ],
    ..Shape::PLAIN
};

/// Counters by names of which parts tell what they count.
static COUNTERS: Shape = Shape {
    name: "counters of an observation",
    fields: &[(
        Field::Figure,
        &[
            "input",
            "input_tokens",
            "inputTokens",
            "prompt_tokens",
            "promptTokens",
            "output",
            "output_tokens",
            "outputTokens",
            "completion_tokens",
            "completionTokens",
            "total",
            "total_tokens",
            "totalTokens",
            "cache_read_input_tokens",
            "cache_creation_input_tokens",
            "input_cached_tokens",
            "output_reasoning_tokens",
        ],
    )],
    names_are: Field::Counter,
    others: Field::Figure,
    ignores_case: true,
    ..Shape::PLAIN
};

static NOTES: Shape = Shape {
    name: "metadata of an observation",
    fields: &[
        (
            Field::Identifier,
            &[
                "request_id",
                "requestId",
                "anthropic_request_id",
                "response_id",
                "responseId",
                "message_id",
            ],
        ),
        (Field::Attributes, &["attributes"]),
    ],
    ..Shape::PLAIN
};
