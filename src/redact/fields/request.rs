//! The fields of captured requests, bundles and logs.

use super::transcript::{BLOCK, DIAGNOSTICS, MESSAGE, USAGE};
use crate::redact::shape::{Field, Shape};

/// A request: its body, or the log entry around it.
pub(super) static REQUEST: Shape = Shape {
    name: "request",
    fields: &[
        (Field::Model, &["model"]),
        (Field::Shaped(&TOOL), &["tools"]),
        (Field::System, &["system"]),
        (Field::Shaped(&MESSAGE), &["messages"]),
        (
            Field::Shaped(&SETTING),
            &[
                "thinking",
                "tool_choice",
                "output_config",
                "cache_control",
                "context_management",
                "safeguards",
            ],
        ),
        (Field::Shaped(&DIAGNOSTICS), &["diagnostics"]),
        (Field::Shaped(&METADATA), &["metadata"]),
        (Field::Word, &["speed", "service_tier", "inference_geo", "stream", "method"]),
        (Field::Betas, &["betas", "anthropic_beta"]),
        (Field::Version, &["anthropic_version"]),
        (Field::Shaped(&HEADERS), &["headers"]),
        (Field::Moment, &["timestamp"]),
        (Field::Url, &["url"]),
        (Field::Identifier, &["prompt_cache_key"]),
        (Field::Shaped(&REQUEST), &["body"]),
        (Field::Number, &["max_tokens", "temperature", "top_k", "top_p"]),
        (Field::Shaped(&CONTEXT), &["system_context", "user_context"]),
        (Field::Shaped(&BLOCK), &["memory_files"]),
        (Field::Free, &["stop_sequences", "container", "mcp_servers"]),
    ],
    ..Shape::PLAIN
};

/// A tool's definition.
pub(super) static TOOL: Shape = Shape {
    name: "tool",
    fields: &[
        (Field::Tool, &["name"]),
        (
            Field::Word,
            &["type", "defer_loading", "strict", "eager_input_streaming", "allowed_callers"],
        ),
        (Field::Shaped(&SCHEMA), &["input_schema"]),
        (Field::Shaped(&SETTING), &["cache_control", "citations"]),
        (
            Field::Number,
            &[
                "max_uses",
                "max_content_tokens",
                "display_width_px",
                "display_height_px",
                "display_number",
                "max_characters",
            ],
        ),
        (
            Field::Free,
            &[
                "description",
                "allowed_domains",
                "blocked_domains",
                "user_location",
                "input_examples",
            ],
        ),
    ],
    ..Shape::PLAIN
};

/// A JSON schema.
pub(super) static SCHEMA: Shape = Shape {
    name: "JSON schema",
    fields: &[
        (Field::Word, &["type", "additionalProperties", "uniqueItems"]),
        (Field::Shaped(&PROPERTIES), &["properties", "$defs", "definitions"]),
        (Field::Shaped(&SCHEMA), &["items", "anyOf", "oneOf", "allOf", "not"]),
        (
            Field::Free,
            &[
                "required",
                "description",
                "title",
                "enum",
                "default",
                "const",
                "examples",
                "format",
                "pattern",
                "$ref",
                "$schema",
                "minimum",
                "maximum",
                "minLength",
                "maxLength",
                "minItems",
                "maxItems",
                "exclusiveMinimum",
                "exclusiveMaximum",
            ],
        ),
    ],
    ..Shape::PLAIN
};

/// The properties of a JSON schema, whose names are content.
pub(super) static PROPERTIES: Shape =
    Shape { name: "properties of a JSON schema", others: Field::Shaped(&SCHEMA), ..Shape::PLAIN };

/// A setting of a request: thinking, tool choice, effort, context management.
pub(super) static SETTING: Shape = Shape {
    name: "setting",
    fields: &[
        (
            Field::Word,
            &[
                "type",
                "ttl",
                "scope",
                "effort",
                "display",
                "enabled",
                "disable_parallel_tool_use",
                "clear_tool_inputs",
            ],
        ),
        (Field::Tool, &["name", "exclude_tools"]),
        (
            Field::Number,
            &[
                "budget_tokens",
                "value",
                "total",
                "cleared_input_tokens",
                "cleared_tool_uses",
                "cleared_thinking_turns",
                "trigger_threshold",
                "keep_recent",
            ],
        ),
        (Field::Identifier, &["tool_id", "delete"]),
        (
            Field::Shaped(&SETTING),
            &[
                "edits",
                "applied_edits",
                "trigger",
                "keep",
                "clear_at_least",
                "task_budget",
                "format",
            ],
        ),
        (Field::Shaped(&SCHEMA), &["schema"]),
    ],
    ..Shape::PLAIN
};

/// A response in a log, or an event of a stream.
pub(in crate::redact) static RESPONSE: Shape = Shape {
    name: "response",
    fields: &[
        (Field::Moment, &["timestamp"]),
        (Field::Number, &["status_code", "index"]),
        (Field::Shaped(&HEADERS), &["headers"]),
        (Field::Shaped(&MESSAGE), &["body", "message", "delta"]),
        (Field::Events, &["body_raw"]),
        (Field::Word, &["type"]),
        (Field::Shaped(&BLOCK), &["content_block"]),
        (Field::Shaped(&USAGE), &["usage"]),
        (Field::Identifier, &["id"]),
        (Field::Free, &["error"]),
    ],
    ..Shape::PLAIN
};

/// The headers of a request.
pub(super) static HEADERS: Shape = Shape {
    name: "headers",
    fields: &[
        (Field::Betas, &["anthropic-beta"]),
        (Field::Version, &["anthropic-version"]),
        (
            Field::Word,
            &["content-type", "accept", "accept-encoding", "connection", "transfer-encoding"],
        ),
        (Field::Number, &["content-length"]),
        (Field::Identifier, &["request-id"]),
        (Field::Free, &["authorization", "x-api-key", "user-agent", "host", "date", "cookie"]),
    ],
    ignores_case: true,
    ..Shape::PLAIN
};

/// The `flags` of a bundle.
pub(super) static FLAGS: Shape = Shape {
    name: "flags",
    fields: &[
        (
            Field::Word,
            &[
                "caching",
                "global_scope",
                "upfront_mcp_tools",
                "provider",
                "subscriber",
                "overage",
                "bedrock_1h",
                "skip_cache_write",
                "cleared",
                "simple",
                "proactive",
            ],
        ),
        (Field::Shaped(&SETTING), &["cached_microcompaction"]),
        (Field::QuerySource, &["query_source", "ttl_1h_allowlist"]),
        (Field::System, &["identity_prefixes"]),
    ],
    ..Shape::PLAIN
};

/// What a bundle says of its environment.
pub(super) static CONTEXT: Shape =
    Shape { name: "context", fields: &[(Field::Free, &["gitStatus", "claudeMd"])], ..Shape::PLAIN };

/// `metadata`, and the object that `user_id` may hold.
pub(in crate::redact) static METADATA: Shape = Shape {
    name: "metadata",
    fields: &[
        (Field::User, &["user_id"]),
        (Field::Identifier, &["session_id", "device_id", "account_uuid"]),
    ],
    ..Shape::PLAIN
};
