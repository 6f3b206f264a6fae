//! The fields of transcripts and rollouts, and of the messages that requests hold, too.

use super::request::{FLAGS, HEADERS, REQUEST, RESPONSE, SETTING};
use crate::redact::shape::{Field, Shape};

/// A line of any format.
pub(in crate::redact) static LINE: Shape = Shape {
    name: "line",
    fields: &[
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
                "parentSessionId",
                "parentLastUuid",
                "bridgeSessionId",
                "source_uuid",
                "scope",
            ],
        ),
        (Field::Moment, &["timestamp", "response_started_at", "logged_at"]),
        (Field::Version, &["version"]),
        (Field::Path, &["cwd"]),
        (Field::Shaped(&MESSAGE), &["message"]),
        (Field::Spoken, &["content"]),
        (Field::Shaped(&PROGRESS), &["data"]),
        (Field::Shaped(&ATTACHMENT), &["attachment"]),
        (
            Field::Shaped(&REFERENCES),
            &["forkedFrom", "replacements", "compactMetadata", "microcompactMetadata", "snapshot"],
        ),
        (Field::Model, &["originalModel", "fallbackModel"]),
        (Field::Tool, &["attributionMcpTool"]),
        (Field::Shaped(&USAGE), &["usage"]),
        (Field::Shaped(&REQUEST), &["request", "prompt"]),
        (Field::Shaped(&RESPONSE), &["response"]),
        (Field::Shaped(&HEADERS), &["headers"]),
        (Field::Shaped(&FLAGS), &["flags"]),
        (Field::Shaped(&PAYLOAD), &["payload"]),
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
    ],
    ..Shape::PLAIN
};

/// A message of a transcript or of a request.
pub(super) static MESSAGE: Shape = Shape {
    name: "message",
    fields: &[
        (Field::Identifier, &["id"]),
        (Field::Word, &["type", "role", "stop_reason"]),
        (Field::Model, &["model"]),
        (Field::Content, &["content"]),
        (Field::Shaped(&USAGE), &["usage"]),
        (Field::Shaped(&DIAGNOSTICS), &["diagnostics"]),
        (Field::Shaped(&SETTING), &["context_management", "cache_control"]),
        (Field::Free, &["stop_sequence", "stop_details", "container"]),
    ],
    ..Shape::PLAIN
};

/// A block of content.
pub(in crate::redact) static BLOCK: Shape = Shape {
    name: "block",
    fields: &[
        (Field::Word, &["type", "is_error", "level"]),
        (Field::Path, &["path"]),
        (Field::Identifier, &["id", "tool_use_id", "file_id", "cache_reference"]),
        (Field::Tool, &["name", "tool_name"]),
        (Field::Spoken, &["text"]),
        (Field::Content, &["content"]),
        (Field::Shaped(&SOURCE), &["source"]),
        (Field::Shaped(&SETTING), &["cache_control", "citations", "caller"]),
        (Field::Shaped(&BLOCK), &["edits", "tool_references"]),
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
    ],
    ..Shape::PLAIN
};

/// A block of a system prompt, or a section of a bundle's system prompt.
pub(in crate::redact) static SYSTEM_PART: Shape = Shape {
    name: "part of a system prompt",
    fields: &[
        (Field::Word, &["type", "volatile"]),
        (
            Field::System,
            &["text", "override", "coordinator", "agent", "custom", "default", "simple", "append"],
        ),
        (Field::Shaped(&SETTING), &["cache_control", "citations"]),
        (Field::Free, &["section", "reason"]),
    ],
    // A system prompt may have any block, whatever the service makes of it.
    like: Some(&BLOCK),
    ..Shape::PLAIN
};

/// The `source` of an image or a document.
pub(super) static SOURCE: Shape = Shape {
    name: "source of an image or a document",
    fields: &[
        (Field::Word, &["type", "media_type"]),
        (Field::Media, &["data"]),
        (Field::Identifier, &["file_id"]),
        (Field::Content, &["content"]),
        (Field::Free, &["url"]),
    ],
    ..Shape::PLAIN
};

/// `usage`, and its iterations.
pub(super) static USAGE: Shape = Shape {
    name: "usage",
    fields: &[
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
            Field::Shaped(&USAGE),
            &["cache_creation", "server_tool_use", "iterations", "output_tokens_details"],
        ),
    ],
    ..Shape::PLAIN
};

/// The `diagnostics` of an answer.
pub(super) static DIAGNOSTICS: Shape = Shape {
    name: "diagnostics",
    fields: &[
        (Field::Shaped(&DIAGNOSTICS), &["cache_miss_reason"]),
        (Field::Word, &["type"]),
        (Field::Number, &["cache_missed_input_tokens"]),
        (Field::Identifier, &["previous_message_id"]),
    ],
    ..Shape::PLAIN
};

/// An attachment.
pub(super) static ATTACHMENT: Shape = Shape {
    name: "attachment",
    fields: &[
        (
            Field::Word,
            &[
                "type",
                "commandMode",
                "hookEvent",
                "isInitial",
                "isNew",
                "reminderType",
                "isSubAgent",
            ],
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
    ],
    ..Shape::PLAIN
};

/// The `data` of a progress line.
pub(super) static PROGRESS: Shape = Shape {
    name: "progress",
    fields: &[
        (Field::Word, &["type", "hookEvent", "status"]),
        (Field::Identifier, &["agentId"]),
        (Field::Hook, &["hookName"]),
        (Field::Shaped(&LINE), &["message", "normalizedMessages"]),
        (Field::Tool, &["toolName"]),
        (
            Field::Number,
            &["elapsedTimeMs", "elapsedTimeSeconds", "totalLines", "timeoutMs", "resultCount"],
        ),
        (Field::Free, &["prompt", "output", "fullOutput", "command", "query", "serverName"]),
    ],
    ..Shape::PLAIN
};

/// What was replaced, copied or compacted: fields that name entries.
pub(super) static REFERENCES: Shape = Shape {
    name: "references to lines",
    fields: &[
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
        (Field::Shaped(&REFERENCES), &["preservedSegment", "preservedMessages"]),
        (Field::Free, &["replacement", "trackedFileBackups", "userContext"]),
    ],
    ..Shape::PLAIN
};

/// The payload of a rollout line.
pub(super) static PAYLOAD: Shape = Shape {
    name: "payload",
    fields: &[
        (Field::Word, &["type", "role", "status", "phase", "service_tier"]),
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
        (Field::Content, &["content", "output"]),
        (Field::Model, &["model"]),
        (Field::Tool, &["name"]),
        (Field::Version, &["cli_version"]),
        (Field::Route, &["model_provider"]),
        (Field::Path, &["cwd"]),
        (Field::Moment, &["timestamp"]),
        (
            Field::Shaped(&PAYLOAD),
            &[
                "info",
                "source",
                "subagent",
                "thread_spawn",
                "replacement_history",
                "thread_settings",
            ],
        ),
        (Field::Shaped(&USAGE), &["total_token_usage", "last_token_usage", "usage"]),
        (Field::Shaped(&LIMITS), &["rate_limits"]),
        (Field::Number, &["model_context_window"]),
        (
            Field::Free,
            &["message", "text", "arguments", "summary", "encrypted_content", "instructions"],
        ),
    ],
    ..Shape::PLAIN
};

/// How much of a plan's limits is used, in a line of Codex and as Claude Code tells it.
pub(super) static LIMITS: Shape = Shape {
    name: "limits",
    fields: &[
        (Field::Identifier, &["limit_id", "plan_type"]),
        (Field::Shaped(&LIMITS), &["primary", "secondary", "five_hour", "seven_day"]),
        (
            Field::Number,
            &["used_percent", "used_percentage", "window_minutes", "resets_in_seconds"],
        ),
        (Field::Moment, &["resets_at"]),
    ],
    ..Shape::PLAIN
};
