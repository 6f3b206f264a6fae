//! Fields of transcripts and rollouts, and of the messages that requests hold, too.

use super::agents::USAGE_BY_MODEL;
use super::request::{FLAGS, HEADERS, REQUEST, RESPONSE, SETTING, TOOL};
use crate::redact::shape::{Field, Shape};

shapes! {
    /// Line of any format.
    pub(in crate::redact) static LINE = "line" {
        Word:
            "type subtype level userType entrypoint effort mode permissionMode operation
             promptSource toolDenialKind direction trigger stop_reason isSidechain isMeta
             isCompactSummary isVisibleInTranscriptOnly isApiErrorMessage isSnapshotUpdate
             preventedContinuation hasOutput renderedRole hasUnknownModelCost";
        Identifier:
            "uuid parentUuid logicalParentUuid sessionId session_id agentId agent_id requestId
             request_id messageId message_id leafUuid promptId toolUseID parentToolUseID
             sourceToolUseID sourceToolAssistantUUID interruptedMessageId snapshotMessageId
             removedUuids firstArchivedUuid lastArchivedUuid summaryUuid refusedUserMessageUuid
             forkedSessionId upToMessageId parentSessionId parentLastUuid bridgeSessionId
             source_uuid scope";
        Moment: "timestamp response_started_at logged_at";
        Version: "version";
        Path: "cwd";
        Shaped(MESSAGE): "message";
        Spoken: "content";
        Shaped(PROGRESS): "data";
        Shaped(ATTACHMENT): "attachment";
        Shaped(REFERENCES): "forkedFrom replacements compactMetadata microcompactMetadata snapshot";
        Model: "originalModel fallbackModel";
        Tool: "attributionMcpTool";
        Shaped(USAGE): "usage";
        Shaped(REQUEST): "request prompt";
        Shaped(RESPONSE): "response";
        Shaped(HEADERS): "headers";
        Shaped(FLAGS): "flags";
        Shaped(PAYLOAD): "payload";
        Number:
            "durationMs messageCount hookCount retryInMs retryAttempt maxRetries lastSequenceNum
             timeSavedMs totalCostUSD";
        Shaped(USAGE_BY_MODEL): "modelUsage";
        Free:
            "toolUseResult gitBranch slug agentSetting agentName agentColor teamName summary
             customTitle aiTitle lastPrompt tag error cause hookInfos hookErrors stopReason url
             todos planContent thinkingMetadata origin mcpMeta attributionSkill attributionPlugin
             attributionMcpServer worktreeSession relocatedCwd trackingPath backup";
    }

    /// Message of a transcript or of a request.
    pub(super) static MESSAGE = "message" {
        Identifier: "id";
        Word: "type role stop_reason";
        Model: "model";
        Content: "content parts";
        Shaped(USAGE): "usage";
        Shaped(DIAGNOSTICS): "diagnostics";
        Shaped(SETTING): "context_management cache_control";
        // Of other services' APIs, as parts are.
        Shaped(BLOCK): "tool_calls";
        Identifier: "tool_call_id";
        Free: "stop_sequence stop_details container";
    }

    /// Block of content.
    pub(in crate::redact) static BLOCK = "block" {
        Word: "type is_error level";
        Path: "path";
        Identifier: "id tool_use_id file_id cache_reference";
        // Of other services' APIs.
        Word: "role";
        Identifier: "toolUseId call_id";
        Shaped(BLOCK): "toolUse toolResult functionCall functionResponse function";
        Free: "arguments args output response";
        Tool: "name tool_name";
        Spoken: "text";
        Content: "content";
        Shaped(SOURCE): "source";
        Shaped(SETTING): "cache_control cachePoint citations caller";
        Shaped(BLOCK): "edits tool_references";
        Free:
            "thinking signature data input title context url encrypted_content page_age stdout
             stderr";
        Number: "return_code";
    }

    // A system prompt may have any block, whatever the service makes of it.
    /// Block of a system prompt, or section of a bundle's system prompt.
    pub(in crate::redact) static SYSTEM_PART = "part of a system prompt" (like: Some(&BLOCK)) {
        Word: "type volatile";
        System: "text override coordinator agent custom default simple append";
        Shaped(SETTING): "cache_control cachePoint citations";
        Free: "section reason";
    }

    /// The `source` of an image or a document.
    pub(super) static SOURCE = "source of an image or a document" {
        Word: "type media_type";
        Media: "data";
        Identifier: "file_id";
        Content: "content";
        Free: "url";
    }

    /// `usage`, and its iterations.
    pub(super) static USAGE = "usage" {
        Number:
            "input_tokens output_tokens cache_creation_input_tokens cache_read_input_tokens
             ephemeral_5m_input_tokens ephemeral_1h_input_tokens web_search_requests
             web_fetch_requests cache_deleted_input_tokens cached_input_tokens
             cache_write_input_tokens reasoning_output_tokens total_tokens thinking_tokens
             tool_search_requests code_execution_requests";
        Word: "type service_tier inference_geo speed";
        Model: "model";
        Shaped(USAGE): "cache_creation server_tool_use iterations output_tokens_details";
    }

    /// The `diagnostics` of an answer.
    pub(super) static DIAGNOSTICS = "diagnostics" {
        Shaped(DIAGNOSTICS): "cache_miss_reason";
        Word: "type";
        Number: "cache_missed_input_tokens";
        Identifier: "previous_message_id";
    }

    pub(super) static ATTACHMENT = "attachment" {
        Word: "type commandMode hookEvent isInitial isNew reminderType isSubAgent";
        Hook: "hookName";
        Identifier: "toolUseID source_uuid";
        Moment: "timestamp newDate";
        Tool: "addedNames removedNames readdedNames allowedTools";
        Number: "durationMs exitCode itemCount skillCount timeoutMs";
        Shaped(TOOL): "tools";
        Free:
            "systemPrompt content snippet prompt addedLines addedBlocks addedTypes removedTypes names command
             stdout stderr filename files origin path pendingMcpServers needsAuthMcpServers";
    }

    /// The `data` of a progress line.
    pub(super) static PROGRESS = "progress" {
        Word: "type hookEvent status";
        Identifier: "agentId";
        Hook: "hookName";
        Shaped(LINE): "message normalizedMessages";
        Tool: "toolName";
        Number: "elapsedTimeMs elapsedTimeSeconds totalLines timeoutMs resultCount";
        Free: "prompt output fullOutput command query serverName";
    }

    /// Replacements, copies and compactions: fields that name entries.
    pub(super) static REFERENCES = "references to lines" {
        Identifier:
            "sessionId messageUuid messageId toolUseId headUuid anchorUuid tailUuid uuids allUuids
             compactedToolIds clearedAttachmentUUIDs";
        Word: "trigger";
        Number:
            "preTokens postTokens tokensSaved cumulativeDroppedTokens durationMs
             messagesSummarized";
        Moment: "timestamp";
        Tool: "preCompactDiscoveredTools";
        Shaped(REFERENCES): "preservedSegment preservedMessages";
        Free: "replacement trackedFileBackups userContext";
    }

    /// Payload of a rollout line.
    pub(super) static PAYLOAD = "payload" {
        Word: "type role status phase service_tier effort mode approval_policy";
        Identifier:
            "id session_id thread_id parent_thread_id forked_from_id response_id call_id turn_id";
        Content: "content output";
        Model: "model";
        Tool: "name";
        Version: "cli_version";
        Route: "model_provider";
        Path: "cwd workspace_roots";
        Moment: "timestamp";
        Shaped(PAYLOAD): "info source subagent thread_spawn replacement_history thread_settings
             collaboration_mode sandbox_policy";
        Shaped(USAGE): "total_token_usage last_token_usage usage";
        Shaped(LIMITS): "rate_limits";
        Number: "model_context_window";
        Free: "message text arguments summary encrypted_content instructions";
    }

    /// Use of a plan's limits, in a line of Codex and as Claude Code reports it.
    pub(super) static LIMITS = "limits" {
        Identifier: "limit_id plan_type";
        Shaped(LIMITS): "primary secondary five_hour seven_day";
        Number: "used_percent used_percentage window_minutes resets_in_seconds";
        Moment: "resets_at";
    }
}
