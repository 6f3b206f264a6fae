//! The fields of logs of gateways and proxies, and of the answers in them.

use super::request::{HEADERS, REQUEST};
use super::transcript::{BLOCK, MESSAGE, USAGE};
use crate::read::log::LogLayout;
use crate::redact::shape::{Field, Shape};

/// The outermost objects of a log. Those of a table are its rows.
pub(in crate::redact) fn log_root(layout: LogLayout) -> &'static Shape {
    match layout {
        LogLayout::Spend | LogLayout::Table => &SPEND,
        LogLayout::Helicone => &HELICONE,
        LogLayout::Har => &HAR,
    }
}

/// The outermost objects of all logs.
pub(in crate::redact) static LOG_ROOTS: [&Shape; 3] = [&SPEND, &HELICONE, &HAR];

static SPEND: Shape = Shape {
    name: "row or payload of LiteLLM",
    fields: &[
        (Field::Identifier, &["request_id", "id", "session_id", "trace_id"]),
        (Field::Word, &["call_type", "cache_hit", "status"]),
        (Field::Moment, &["startTime", "endTime", "completionStartTime"]),
        (Field::Model, &["model"]),
        (Field::Route, &["custom_llm_provider"]),
        (Field::Figure, &["prompt_tokens", "completion_tokens"]),
        (Field::User, &["end_user"]),
        (Field::Url, &["api_base"]),
        (Field::Json(&SPEND_METADATA), &["metadata"]),
        (Field::Json(&REQUEST), &["proxy_server_request"]),
        (Field::Shaped(&SPEND), &["data"]),
        (Field::Free, &["api_key", "spend", "messages", "response"]),
    ],
    ignores_case: true,
    ..Shape::PLAIN
};

static SPEND_METADATA: Shape = Shape {
    name: "metadata of a row of LiteLLM",
    fields: &[
        (Field::Word, &["status"]),
        (Field::Json(&BILLED), &["usage_object", "additional_usage_values"]),
    ],
    ..Shape::PLAIN
};

/// Usage by the names of all services.
static BILLED: Shape = Shape {
    name: "usage of any service",
    fields: &[
        (
            Field::Number,
            &[
                "prompt_tokens",
                "completion_tokens",
                "prompt_cache_hit_tokens",
                "cached_tokens",
                "cache_creation_tokens",
                "cache_write_tokens",
                "reasoning_tokens",
            ],
        ),
        (
            Field::Shaped(&BILLED),
            &[
                "prompt_tokens_details",
                "input_tokens_details",
                "completion_tokens_details",
                "output_tokens_details",
                "cache_creation_token_details",
            ],
        ),
    ],
    like: Some(&USAGE),
    ..Shape::PLAIN
};

static HELICONE: Shape = Shape {
    name: "row of Helicone",
    fields: &[
        (Field::Identifier, &["request_id", "response_id", "cache_reference_id"]),
        (Field::Moment, &["request_created_at", "response_created_at"]),
        (
            Field::Number,
            &[
                "response_status",
                "time_to_first_token",
                "delay_ms",
                "prompt_tokens",
                "completion_tokens",
                "prompt_cache_read_tokens",
                "prompt_cache_write_tokens",
            ],
        ),
        (Field::Url, &["request_path", "target_url"]),
        (Field::Route, &["provider"]),
        (Field::Model, &["model", "response_model", "request_model"]),
        (Field::Json(&REQUEST), &["request_body"]),
        (Field::Answer, &["response_body"]),
        (Field::Shaped(&PROPERTIES), &["request_properties", "properties"]),
        (Field::Shaped(&HELICONE), &["data"]),
    ],
    ..Shape::PLAIN
};

static PROPERTIES: Shape = Shape {
    name: "properties of a row of Helicone",
    fields: &[(Field::Identifier, &["Helicone-Session-Id"])],
    ..Shape::PLAIN
};

/// An answer of any service, or an event of one.
pub(in crate::redact) static ANSWER: Shape = Shape {
    name: "answer of any service",
    fields: &[
        (Field::Shaped(&ANSWER), &["response", "message", "delta"]),
        (Field::Shaped(&BILLED), &["usage"]),
        (Field::Shaped(&BLOCK), &["content_block"]),
    ],
    like: Some(&MESSAGE),
    ..Shape::PLAIN
};

static HAR: Shape = Shape {
    name: "HAR file",
    fields: &[(Field::Shaped(&HAR), &["log"]), (Field::Shaped(&ENTRY), &["entries"])],
    ..Shape::PLAIN
};

static ENTRY: Shape = Shape {
    name: "entry of a HAR file",
    fields: &[
        (Field::Moment, &["startedDateTime"]),
        (Field::Number, &["time", "status"]),
        (Field::Word, &["method"]),
        (Field::Url, &["url"]),
        (Field::Shaped(&ENTRY), &["request", "response"]),
        (Field::Shaped(&HEADER), &["headers"]),
        (Field::Shaped(&SENT), &["postData"]),
        (Field::Shaped(&GOT), &["content"]),
        (Field::Shaped(&TIMINGS), &["timings"]),
    ],
    ..Shape::PLAIN
};

static HEADER: Shape = Shape {
    name: "header in a HAR file",
    fields: &[(Field::Key(&HEADERS), &["name"]), (Field::Told, &["value"])],
    ..Shape::PLAIN
};

static SENT: Shape = Shape {
    name: "body that was sent",
    fields: &[(Field::Json(&REQUEST), &["text"]), (Field::Word, &["encoding", "mimeType"])],
    ..Shape::PLAIN
};

static GOT: Shape = Shape {
    name: "body that was answered",
    fields: &[(Field::Answer, &["text"]), (Field::Word, &["encoding", "mimeType"])],
    ..Shape::PLAIN
};

static TIMINGS: Shape = Shape {
    name: "parts of the time of an entry",
    fields: &[(Field::Number, &["blocked", "dns", "connect", "send", "wait", "receive", "ssl"])],
    ..Shape::PLAIN
};
