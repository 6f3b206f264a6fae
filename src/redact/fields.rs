//! The known field names, by the shape of the object that has them, and what stands under each.
//! They are the fields that the readers look at, and the rest of the formats' envelopes.

use super::shape::{Field, Shape};

/// Groups of field names with the same kind of value.
type Fields = [(Field, &'static [&'static str])];

/// The known fields of objects of a shape.
pub(super) fn fields_of(shape: Shape) -> &'static Fields {
    match shape {
        Shape::Free | Shape::Properties => &[],
        Shape::Line => &LINE,
        Shape::Message => &MESSAGE,
        Shape::Block => &BLOCK,
        Shape::SystemPart => &SYSTEM_PART,
        Shape::Source => &SOURCE,
        Shape::Usage => &USAGE,
        Shape::Diagnostics => &DIAGNOSTICS,
        Shape::Attachment => &ATTACHMENT,
        Shape::Progress => &PROGRESS,
        Shape::References => &REFERENCES,
        Shape::Request => &REQUEST,
        Shape::Tool => &TOOL,
        Shape::Schema => &SCHEMA,
        Shape::Setting => &SETTING,
        Shape::Response => &RESPONSE,
        Shape::Headers => &HEADER,
        Shape::Flags => &FLAG,
        Shape::Context => &CONTEXT,
        Shape::Metadata => &METADATA,
        Shape::Payload => &PAYLOAD,
    }
}

const LINE: [(Field, &[&str]); 20] = [
    (
        Field::Word,
        &[
            "type",
            "subtype",
            "level",
            "userType",
            "entrypoint",
            "effort",
            "mode",
            "permissionMode",
            "operation",
            "promptSource",
            "toolDenialKind",
            "direction",
            "trigger",
            "stop_reason",
            "isSidechain",
            "isMeta",
            "isCompactSummary",
            "isVisibleInTranscriptOnly",
            "isApiErrorMessage",
            "isSnapshotUpdate",
            "preventedContinuation",
            "hasOutput",
        ],
    ),
    (
        Field::Identifier,
        &[
            "uuid",
            "parentUuid",
            "logicalParentUuid",
            "sessionId",
            "session_id",
            "agentId",
            "agent_id",
            "requestId",
            "request_id",
            "messageId",
            "message_id",
            "leafUuid",
            "promptId",
            "toolUseID",
            "parentToolUseID",
            "sourceToolUseID",
            "sourceToolAssistantUUID",
            "interruptedMessageId",
            "snapshotMessageId",
            "removedUuids",
            "firstArchivedUuid",
            "lastArchivedUuid",
            "summaryUuid",
            "refusedUserMessageUuid",
            "forkedSessionId",
            "upToMessageId",
            "bridgeSessionId",
            "source_uuid",
            "scope",
        ],
    ),
    (Field::Moment, &["timestamp", "response_started_at", "logged_at"]),
    (Field::Version, &["version"]),
    (Field::Path, &["cwd"]),
    (Field::Shaped(Shape::Message), &["message"]),
    (Field::Spoken, &["content"]),
    (Field::Shaped(Shape::Progress), &["data"]),
    (Field::Shaped(Shape::Attachment), &["attachment"]),
    (
        Field::Shaped(Shape::References),
        &["forkedFrom", "replacements", "compactMetadata", "microcompactMetadata", "snapshot"],
    ),
    (Field::Model, &["originalModel", "fallbackModel"]),
    (Field::Tool, &["attributionMcpTool"]),
    (Field::Shaped(Shape::Usage), &["usage"]),
    (Field::Shaped(Shape::Request), &["request", "prompt"]),
    (Field::Shaped(Shape::Response), &["response"]),
    (Field::Shaped(Shape::Headers), &["headers"]),
    (Field::Shaped(Shape::Flags), &["flags"]),
    (Field::Shaped(Shape::Payload), &["payload"]),
    (
        Field::Number,
        &[
            "durationMs",
            "messageCount",
            "hookCount",
            "retryInMs",
            "retryAttempt",
            "maxRetries",
            "lastSequenceNum",
            "timeSavedMs",
        ],
    ),
    (
        Field::Free,
        &[
            "toolUseResult",
            "gitBranch",
            "slug",
            "agentSetting",
            "agentName",
            "agentColor",
            "teamName",
            "summary",
            "customTitle",
            "aiTitle",
            "lastPrompt",
            "tag",
            "error",
            "cause",
            "hookInfos",
            "hookErrors",
            "stopReason",
            "url",
            "todos",
            "planContent",
            "thinkingMetadata",
            "origin",
            "mcpMeta",
            "attributionSkill",
            "attributionPlugin",
            "attributionMcpServer",
            "worktreeSession",
            "relocatedCwd",
            "trackingPath",
            "backup",
        ],
    ),
];

const MESSAGE: [(Field, &[&str]); 8] = [
    (Field::Identifier, &["id"]),
    (Field::Word, &["type", "role", "stop_reason"]),
    (Field::Model, &["model"]),
    (Field::Content, &["content"]),
    (Field::Shaped(Shape::Usage), &["usage"]),
    (Field::Shaped(Shape::Diagnostics), &["diagnostics"]),
    (Field::Shaped(Shape::Setting), &["context_management", "cache_control"]),
    (Field::Free, &["stop_sequence", "stop_details", "container"]),
];

const BLOCK: [(Field, &[&str]); 11] = [
    (Field::Word, &["type", "is_error", "level"]),
    (Field::Path, &["path"]),
    (Field::Identifier, &["id", "tool_use_id", "file_id", "cache_reference"]),
    (Field::Tool, &["name", "tool_name"]),
    (Field::Spoken, &["text"]),
    (Field::Content, &["content"]),
    (Field::Shaped(Shape::Source), &["source"]),
    (Field::Shaped(Shape::Setting), &["cache_control", "citations", "caller"]),
    (Field::Shaped(Shape::Block), &["edits", "tool_references"]),
    (
        Field::Free,
        &[
            "thinking",
            "signature",
            "data",
            "input",
            "title",
            "context",
            "url",
            "encrypted_content",
            "page_age",
            "stdout",
            "stderr",
        ],
    ),
    (Field::Number, &["return_code"]),
];

const SYSTEM_PART: [(Field, &[&str]); 4] = [
    (Field::Word, &["type", "volatile"]),
    (
        Field::System,
        &["text", "override", "coordinator", "agent", "custom", "default", "simple", "append"],
    ),
    (Field::Shaped(Shape::Setting), &["cache_control", "citations"]),
    (Field::Free, &["section", "reason"]),
];

const SOURCE: [(Field, &[&str]); 5] = [
    (Field::Word, &["type", "media_type"]),
    (Field::Media, &["data"]),
    (Field::Identifier, &["file_id"]),
    (Field::Content, &["content"]),
    (Field::Free, &["url"]),
];

const USAGE: [(Field, &[&str]); 4] = [
    (
        Field::Number,
        &[
            "input_tokens",
            "output_tokens",
            "cache_creation_input_tokens",
            "cache_read_input_tokens",
            "ephemeral_5m_input_tokens",
            "ephemeral_1h_input_tokens",
            "web_search_requests",
            "web_fetch_requests",
            "cache_deleted_input_tokens",
            "cached_input_tokens",
            "cache_write_input_tokens",
            "reasoning_output_tokens",
            "total_tokens",
            "thinking_tokens",
            "tool_search_requests",
            "code_execution_requests",
        ],
    ),
    (Field::Word, &["type", "service_tier", "inference_geo", "speed"]),
    (Field::Model, &["model"]),
    (
        Field::Shaped(Shape::Usage),
        &["cache_creation", "server_tool_use", "iterations", "output_tokens_details"],
    ),
];

const DIAGNOSTICS: [(Field, &[&str]); 4] = [
    (Field::Shaped(Shape::Diagnostics), &["cache_miss_reason"]),
    (Field::Word, &["type"]),
    (Field::Number, &["cache_missed_input_tokens"]),
    (Field::Identifier, &["previous_message_id"]),
];

const ATTACHMENT: [(Field, &[&str]); 7] = [
    (
        Field::Word,
        &["type", "commandMode", "hookEvent", "isInitial", "isNew", "reminderType", "isSubAgent"],
    ),
    (Field::Hook, &["hookName"]),
    (Field::Identifier, &["toolUseID", "source_uuid"]),
    (Field::Moment, &["timestamp", "newDate"]),
    (Field::Tool, &["addedNames", "removedNames", "readdedNames", "allowedTools"]),
    (Field::Number, &["durationMs", "exitCode", "itemCount", "skillCount", "timeoutMs"]),
    (
        Field::Free,
        &[
            "content",
            "snippet",
            "prompt",
            "addedLines",
            "addedBlocks",
            "addedTypes",
            "removedTypes",
            "names",
            "command",
            "stdout",
            "stderr",
            "filename",
            "files",
            "origin",
            "path",
            "pendingMcpServers",
            "needsAuthMcpServers",
        ],
    ),
];

const PROGRESS: [(Field, &[&str]); 7] = [
    (Field::Word, &["type", "hookEvent", "status"]),
    (Field::Identifier, &["agentId"]),
    (Field::Hook, &["hookName"]),
    (Field::Shaped(Shape::Line), &["message", "normalizedMessages"]),
    (Field::Tool, &["toolName"]),
    (
        Field::Number,
        &["elapsedTimeMs", "elapsedTimeSeconds", "totalLines", "timeoutMs", "resultCount"],
    ),
    (Field::Free, &["prompt", "output", "fullOutput", "command", "query", "serverName"]),
];

const REFERENCES: [(Field, &[&str]); 7] = [
    (
        Field::Identifier,
        &[
            "sessionId",
            "messageUuid",
            "messageId",
            "toolUseId",
            "headUuid",
            "anchorUuid",
            "tailUuid",
            "uuids",
            "allUuids",
            "compactedToolIds",
            "clearedAttachmentUUIDs",
        ],
    ),
    (Field::Word, &["trigger"]),
    (
        Field::Number,
        &[
            "preTokens",
            "postTokens",
            "tokensSaved",
            "cumulativeDroppedTokens",
            "durationMs",
            "messagesSummarized",
        ],
    ),
    (Field::Moment, &["timestamp"]),
    (Field::Tool, &["preCompactDiscoveredTools"]),
    (Field::Shaped(Shape::References), &["preservedSegment", "preservedMessages"]),
    (Field::Free, &["replacement", "trackedFileBackups", "userContext"]),
];

const REQUEST: [(Field, &[&str]); 18] = [
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

const TOOL: [(Field, &[&str]); 6] = [
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

const SCHEMA: [(Field, &[&str]); 4] = [
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

const SETTING: [(Field, &[&str]); 6] = [
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

const RESPONSE: [(Field, &[&str]); 10] = [
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

const HEADER: [(Field, &[&str]); 6] = [
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

const FLAG: [(Field, &[&str]); 4] = [
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

const CONTEXT: [(Field, &[&str]); 1] = [(Field::Free, &["gitStatus", "claudeMd"])];

const METADATA: [(Field, &[&str]); 2] = [
    (Field::User, &["user_id"]),
    (Field::Identifier, &["session_id", "device_id", "account_uuid"]),
];

const PAYLOAD: [(Field, &[&str]); 12] = [
    (Field::Content, &["content", "output"]),
    (Field::Word, &["type", "role", "status", "phase"]),
    (
        Field::Identifier,
        &[
            "id",
            "session_id",
            "thread_id",
            "parent_thread_id",
            "forked_from_id",
            "response_id",
            "call_id",
            "turn_id",
        ],
    ),
    (Field::Model, &["model"]),
    (Field::Tool, &["name"]),
    (Field::Version, &["cli_version"]),
    (Field::Path, &["cwd"]),
    (Field::Moment, &["timestamp"]),
    (
        Field::Shaped(Shape::Payload),
        &["info", "source", "subagent", "thread_spawn", "replacement_history"],
    ),
    (Field::Shaped(Shape::Usage), &["total_token_usage", "last_token_usage", "usage"]),
    (Field::Number, &["model_context_window"]),
    (
        Field::Free,
        &[
            "message",
            "text",
            "arguments",
            "summary",
            "encrypted_content",
            "instructions",
            "rate_limits",
        ],
    ),
];
