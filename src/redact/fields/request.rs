//! The fields of captured requests, bundles and logs.

use crate::redact::shape::{Field, Shape};

pub(super) const REQUEST: [(Field, &[&str]); 18] = [
    (Field::Model, &["model"]),
    (Field::Shaped(Shape::Tool), &["tools"]),
    (Field::System, &["system"]),
    (Field::Shaped(Shape::Message), &["messages"]),
    (
        Field::Shaped(Shape::Setting),
        &[
            "thinking",
            "tool_choice",
            "output_config",
            "cache_control",
            "context_management",
            "safeguards",
        ],
    ),
    (Field::Shaped(Shape::Diagnostics), &["diagnostics"]),
    (Field::Shaped(Shape::Metadata), &["metadata"]),
    (Field::Word, &["speed", "service_tier", "inference_geo", "stream", "method"]),
    (Field::Betas, &["betas", "anthropic_beta"]),
    (Field::Version, &["anthropic_version"]),
    (Field::Shaped(Shape::Headers), &["headers"]),
    (Field::Moment, &["timestamp"]),
    (Field::Url, &["url"]),
    (Field::Shaped(Shape::Request), &["body"]),
    (Field::Number, &["max_tokens", "temperature", "top_k", "top_p"]),
    (Field::Shaped(Shape::Context), &["system_context", "user_context"]),
    (Field::Shaped(Shape::Block), &["memory_files"]),
    (Field::Free, &["stop_sequences", "container", "mcp_servers"]),
];

pub(super) const TOOL: [(Field, &[&str]); 6] = [
    (Field::Tool, &["name"]),
    (Field::Word, &["type", "defer_loading", "strict", "eager_input_streaming", "allowed_callers"]),
    (Field::Shaped(Shape::Schema), &["input_schema"]),
    (Field::Shaped(Shape::Setting), &["cache_control", "citations"]),
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
        &["description", "allowed_domains", "blocked_domains", "user_location", "input_examples"],
    ),
];

pub(super) const SCHEMA: [(Field, &[&str]); 4] = [
    (Field::Word, &["type", "additionalProperties", "uniqueItems"]),
    (Field::Shaped(Shape::Properties), &["properties", "$defs", "definitions"]),
    (Field::Shaped(Shape::Schema), &["items", "anyOf", "oneOf", "allOf", "not"]),
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
];

pub(super) const SETTING: [(Field, &[&str]); 6] = [
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
        Field::Shaped(Shape::Setting),
        &["edits", "applied_edits", "trigger", "keep", "clear_at_least", "task_budget", "format"],
    ),
    (Field::Shaped(Shape::Schema), &["schema"]),
];

pub(super) const RESPONSE: [(Field, &[&str]); 10] = [
    (Field::Moment, &["timestamp"]),
    (Field::Number, &["status_code", "index"]),
    (Field::Shaped(Shape::Headers), &["headers"]),
    (Field::Shaped(Shape::Message), &["body", "message", "delta"]),
    (Field::Events, &["body_raw"]),
    (Field::Word, &["type"]),
    (Field::Shaped(Shape::Block), &["content_block"]),
    (Field::Shaped(Shape::Usage), &["usage"]),
    (Field::Identifier, &["id"]),
    (Field::Free, &["error"]),
];

pub(super) const HEADER: [(Field, &[&str]); 6] = [
    (Field::Betas, &["anthropic-beta"]),
    (Field::Version, &["anthropic-version"]),
    (
        Field::Word,
        &["content-type", "accept", "accept-encoding", "connection", "transfer-encoding"],
    ),
    (Field::Number, &["content-length"]),
    (Field::Identifier, &["request-id"]),
    (Field::Free, &["authorization", "x-api-key", "user-agent", "host", "date", "cookie"]),
];

pub(super) const FLAG: [(Field, &[&str]); 4] = [
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
    (Field::Shaped(Shape::Setting), &["cached_microcompaction"]),
    (Field::QuerySource, &["query_source", "ttl_1h_allowlist"]),
    (Field::System, &["identity_prefixes"]),
];

pub(super) const CONTEXT: [(Field, &[&str]); 1] = [(Field::Free, &["gitStatus", "claudeMd"])];

pub(super) const METADATA: [(Field, &[&str]); 2] = [
    (Field::User, &["user_id"]),
    (Field::Identifier, &["session_id", "device_id", "account_uuid"]),
];
