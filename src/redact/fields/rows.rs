//! The fields of rows of databases. What a row holds follows from the name of its table.

use super::agents::{OPENCODE_INFO, OPENCODE_PART, USAGE};
use crate::read::agent::database::{REQUEST_COLUMNS, SPAN_COLUMNS};
use crate::redact::shape::{Field, Shape};

/// A line of `cachesim.rows/v1`.
pub(super) static ROWS: Shape = Shape {
    name: "row of a database",
    fields: &[
        (Field::Word, &["schema"]),
        (Field::Key(&TABLES), &["table"]),
        (Field::Key(&COLUMNS), &["columns"]),
        (Field::Number, &["rowid"]),
        (Field::Told, &["row"]),
    ],
    ..Shape::PLAIN
};

/// Tables by their names.
static TABLES: Shape = Shape {
    name: "tables",
    fields: &[
        (Field::Shaped(&SESSION), &["session", "session_v2", "sessions"]),
        (Field::Shaped(&MESSAGE), &["message"]),
        (Field::Shaped(&PART), &["part"]),
        (Field::Shaped(&STEP), &["session_message"]),
        (Field::Shaped(&EVENT), &["assistant_usage_events"]),
        (Field::Shaped(&SPAN), &["spans"]),
        (Field::Shaped(&SPAN_ATTRIBUTE), &["span_attributes"]),
        (Field::Shaped(&THREAD), &["threads"]),
    ],
    ..Shape::PLAIN
};

/// All columns, where a line names them.
static COLUMNS: Shape = Shape {
    name: "columns",
    fields: &[
        (
            Field::Free,
            &[
                "id",
                "parent_id",
                "slug",
                "directory",
                "version",
                "session_id",
                "time_created",
                "data",
                "message_id",
                "seq",
                "type",
                "cwd",
                "key",
                "value",
                "folder_paths",
                "summary",
                "updated_at",
                "data_type",
            ],
        ),
        (Field::Free, &REQUEST_COLUMNS),
        (Field::Free, &SPAN_COLUMNS),
    ],
    ..Shape::PLAIN
};

static SESSION: Shape = Shape {
    name: "row of a session",
    fields: &[
        (Field::Identifier, &["id", "parent_id"]),
        (Field::Path, &["directory", "cwd"]),
        (Field::Version, &["version"]),
        (Field::Free, &["slug"]),
    ],
    ..Shape::PLAIN
};

static MESSAGE: Shape = Shape {
    name: "row of a message of opencode",
    fields: &[
        (Field::Timed, &["id"]),
        (Field::Identifier, &["session_id"]),
        (Field::Number, &["time_created"]),
        (Field::Json(&OPENCODE_INFO), &["data"]),
    ],
    ..Shape::PLAIN
};

static PART: Shape = Shape {
    name: "row of a part of opencode",
    fields: &[(Field::Timed, &["id", "message_id"]), (Field::Json(&OPENCODE_PART), &["data"])],
    ..Shape::PLAIN
};

static STEP: Shape = Shape {
    name: "row of a message of version 2 of opencode",
    fields: &[
        (Field::Timed, &["id"]),
        (Field::Identifier, &["session_id"]),
        (Field::Number, &["time_created", "seq"]),
        (Field::Word, &["type"]),
        (Field::Json(&STEP_DATA), &["data"]),
    ],
    ..Shape::PLAIN
};

static STEP_DATA: Shape = Shape {
    name: "message of version 2 of opencode",
    fields: &[(Field::Shaped(&MODEL), &["model"])],
    like: Some(&OPENCODE_INFO),
    ..Shape::PLAIN
};

static MODEL: Shape = Shape {
    name: "model of a row",
    fields: &[(Field::Model, &["id", "model"]), (Field::Route, &["providerID", "provider"])],
    ..Shape::PLAIN
};

static EVENT: Shape = Shape {
    name: "row of a request of Copilot CLI",
    fields: &[
        (
            Field::Number,
            &[
                "id",
                "turn_index",
                "input_tokens",
                "output_tokens",
                "cache_read_tokens",
                "cache_write_tokens",
                "reasoning_tokens",
                "total_nano_aiu",
                "duration_ms",
            ],
        ),
        (Field::Identifier, &["session_id", "agent_id", "parent_tool_call_id"]),
        (Field::Model, &["model"]),
        (Field::Word, &["initiator"]),
        (Field::Json(&USAGE), &["token_details_json"]),
        (Field::Moment, &["created_at"]),
    ],
    ..Shape::PLAIN
};

static SPAN: Shape = Shape {
    name: "row of a span of Copilot",
    fields: &[
        (
            Field::Identifier,
            &["span_id", "trace_id", "parent_span_id", "conversation_id", "chat_session_id"],
        ),
        (Field::Moment, &["start_time_ms", "end_time_ms"]),
        (
            Field::Number,
            &["status_code", "input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens"],
        ),
        (Field::Word, &["operation_name"]),
        (Field::Route, &["provider_name"]),
        (Field::Model, &["request_model", "response_model"]),
    ],
    ..Shape::PLAIN
};

static SPAN_ATTRIBUTE: Shape = Shape {
    name: "row of an attribute of a span of Copilot",
    fields: &[
        (Field::Identifier, &["span_id"]),
        (Field::Key(&SPAN_ATTRIBUTES), &["key"]),
        (Field::Told, &["value"]),
    ],
    ..Shape::PLAIN
};

static SPAN_ATTRIBUTES: Shape = Shape {
    name: "attributes of a span of Copilot",
    fields: &[
        (Field::Figure, &["gen_ai.usage.cache_creation.input_tokens", "github.copilot.nano_aiu"]),
        (
            Field::Identifier,
            &["gen_ai.response.id", "copilot_chat.server_request_id", "copilot_chat.debug_name"],
        ),
    ],
    ..Shape::PLAIN
};

static THREAD: Shape = Shape {
    name: "row of a thread of Zed",
    fields: &[
        (Field::Identifier, &["id", "parent_id"]),
        (Field::Path, &["folder_paths"]),
        (Field::Moment, &["created_at", "updated_at"]),
        (Field::Word, &["data_type"]),
        (Field::Json(&THREAD_DATA), &["data"]),
        (Field::Free, &["summary"]),
    ],
    ..Shape::PLAIN
};

static THREAD_DATA: Shape = Shape {
    name: "thread of Zed",
    fields: &[
        (Field::Shaped(&THREAD_MESSAGE), &["messages"]),
        (Field::Shaped(&MODEL), &["model"]),
        (Field::Shaped(&USAGE_BY_MESSAGE), &["request_token_usage"]),
        (Field::Shaped(&THREAD_USAGE), &["cumulative_token_usage"]),
    ],
    ..Shape::PLAIN
};

static THREAD_MESSAGE: Shape = Shape {
    name: "message of Zed",
    fields: &[
        (Field::Shaped(&THREAD_MESSAGE), &["User"]),
        (Field::Free, &["Agent", "Compaction"]),
        (Field::Identifier, &["id"]),
        (Field::Word, &["role"]),
    ],
    ..Shape::PLAIN
};

/// By the user's messages, or in a list.
static USAGE_BY_MESSAGE: Shape = Shape {
    name: "usage by message",
    like: Some(&THREAD_USAGE),
    names_are: Field::Identifier,
    others: Field::Shaped(&THREAD_USAGE),
    ..Shape::PLAIN
};

static THREAD_USAGE: Shape = Shape {
    name: "usage of Zed",
    fields: &[(
        Field::Number,
        &[
            "input_tokens",
            "output_tokens",
            "cache_creation_input_tokens",
            "cache_read_input_tokens",
        ],
    )],
    ..Shape::PLAIN
};
