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
        (Field::Word, names::KIND),
        (Field::Word, names::SDK_OPERATION),
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
        (Field::Json(&PROVIDER_METADATA), names::METADATA),
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
        Word: "type span_kind status_code";
        Identifier: "traceId spanId parentSpanId trace_id span_id parent_id";
        Event: "name eventName";
        Moment:
            "startTime endTime startTimeUnixNano endTimeUnixNano timeUnixNano observedTimeUnixNano
             start_time end_time";
        Attributes: "attributes";
        Shaped(SPAN): "context";
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

    /// Usage that services reported to Vercel's AI SDK.
    static PROVIDER_METADATA = "metadata of a service" {
        Shaped(PROVIDER_METADATA): "anthropic openai usage";
        Figure:
            "input_tokens output_tokens cache_read_input_tokens cache_creation_input_tokens
             cacheReadInputTokens cacheCreationInputTokens cachedPromptTokens";
    }

    /// Run of `LangSmith`, and what it holds.
    pub(super) static RUN = "run of LangSmith" {
        Identifier: "id trace_id session_id thread_id conversation_id";
        Word: "run_type";
        Moment: "start_time end_time";
        Model: "model model_name ls_model_name";
        Route: "ls_provider";
        Shaped(RUN): "outputs generations message kwargs response_metadata extra metadata";
        Shaped(RUN_USAGE): "usage_metadata";
        Free: "name inputs";
    }

    static RUN_USAGE = "usage of a run" {
        Figure:
            "input_tokens output_tokens total_tokens cache_read cache_creation reasoning
             ephemeral_5m_input_tokens ephemeral_1h_input_tokens";
        Shaped(RUN_USAGE): "input_token_details output_token_details";
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
