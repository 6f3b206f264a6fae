//! Fields of OpenTelemetry and of formats made of it: exports, spans, observations of Langfuse.
//!
//! The name of an attribute decides the kind of its value, by one table, whether attributes are a list of
//! keys and values or an object.

use crate::read::agent::attributes as names;
use crate::redact::shape::{Field, Shape};

/// Attributes by name. The names are the reader's own constants.
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

shapes! {
    /// One of a list of attributes.
    pub(in crate::redact) static ATTRIBUTE = "attribute" {
        Key(ATTRIBUTES): "key";
        Told: "value";
    }

    /// The value of an attribute, wrapped by its type.
    pub(in crate::redact) static VALUE = "value of an attribute" {
        Told: "stringValue intValue doubleValue boolValue";
    }

    /// Object of the protocol: resources, scopes, and their contents.
    pub(super) static TELEMETRY = "export of OpenTelemetry" {
        Shaped(TELEMETRY):
            "resourceSpans resourceLogs scopeSpans instrumentationLibrarySpans scopeLogs";
        Shaped(RESOURCE): "resource scope instrumentationLibrary instrumentationScope";
        Shaped(SPAN): "spans logRecords";
        Free: "resourceMetrics";
    }

    /// Source of telemetry: a program, or a part of one.
    static RESOURCE = "resource or scope" {
        Attributes: "attributes";
        Identifier: "name";
        Version: "version";
    }

    /// Span or log record. A line of Copilot's has its resource and its scope inside.
    pub(super) static SPAN = "span or log record" {
        Word: "type";
        Identifier: "traceId spanId parentSpanId";
        Event: "name eventName";
        Moment:
            "startTime endTime startTimeUnixNano endTimeUnixNano timeUnixNano observedTimeUnixNano";
        Attributes: "attributes";
        Shaped(STATUS): "status";
        Shaped(RECORD_BODY): "body";
        Shaped(RESOURCE): "resource instrumentationScope";
        Free: "dataPoints events";
    }

    static STATUS = "status of a span" {
        Figure: "code";
        Free: "message";
    }

    static RECORD_BODY = "body of a log record" {
        Event: "stringValue";
        Shaped(RECORD_BODY): "kvlistValue";
        Attributes: "values";
    }

    /// Observation of Langfuse, or a page or a trace of some.
    pub(super) static OBSERVATION = "observation of Langfuse, or what holds some" {
        // The `name` of an agent identifies it.
        Identifier:
            "id traceId trace_id sessionId session_id parentObservationId parent_observation_id
             name";
        Word: "type level";
        Model: "model providedModelName provided_model_name";
        Moment: "startTime start_time endTime end_time";
        Shaped(COUNTERS): "usageDetails usage_details usage";
        Shaped(NOTES): "metadata";
        Shaped(OBSERVATION): "data observations trace";
        Free: "input output";
    }

    /// Counters by name; parts of a name say what it counts.
    static COUNTERS = "counters of an observation"
        (names_are: Field::Counter, others: Field::Figure, ignores_case: true) {
        Figure:
            "input input_tokens inputTokens prompt_tokens promptTokens output output_tokens
             outputTokens completion_tokens completionTokens total total_tokens totalTokens
             cache_read_input_tokens cache_creation_input_tokens input_cached_tokens
             output_reasoning_tokens";
    }

    static NOTES = "metadata of an observation" {
        Identifier: "request_id requestId anthropic_request_id response_id responseId message_id";
        Attributes: "attributes";
    }
}
