//! Fields of captured requests, bundles and logs.

use super::transcript::{BLOCK, DIAGNOSTICS, MESSAGE, USAGE};
use crate::redact::shape::{Field, Shape};

shapes! {
    /// Request: its body, or the log entry around it.
    pub(super) static REQUEST = "request" {
        Model: "model modelId";
        Shaped(TOOL): "tools";
        System: "system";
        Shaped(MESSAGE): "messages";
        Shaped(SETTING):
            "thinking tool_choice output_config output_format cache_control context_management safeguards";
        Shaped(DIAGNOSTICS): "diagnostics";
        Shaped(METADATA): "metadata";
        Word: "speed service_tier inference_geo stream method";
        Betas: "betas anthropic_beta";
        Version: "anthropic_version";
        Shaped(HEADERS): "headers";
        Moment: "timestamp";
        Url: "url";
        Identifier: "prompt_cache_key";
        Shaped(REQUEST): "body";
        Number: "max_tokens temperature top_k top_p";
        Shaped(CONTEXT): "system_context user_context";
        Shaped(BLOCK): "memory_files";
        // Of other services' APIs.
        System: "instructions";
        Content: "input";
        Shaped(MESSAGE): "contents systemInstruction";
        Shaped(TOOL): "toolConfig";
        // Those from the fourth on are of other services' bodies, which are known by them.
        Free:
            "stop_sequences container mcp_servers inferenceConfig max_output_tokens
             max_completion_tokens response_format";
    }

    /// Definition of a tool.
    pub(super) static TOOL = "tool" {
        Tool: "name";
        Word: "type defer_loading strict eager_input_streaming allowed_callers";
        Shaped(SCHEMA): "input_schema schema";
        Shaped(SETTING): "cache_control citations cachePoint";
        // Of other services' APIs.
        Shaped(TOOL): "tools toolSpec function functionDeclarations";
        Shaped(SCHEMA): "parameters inputSchema json";
        Number:
            "max_uses max_content_tokens display_width_px display_height_px display_number
             max_characters";
        Free: "description allowed_domains blocked_domains user_location input_examples";
    }

    pub(super) static SCHEMA = "JSON schema" {
        Word: "type additionalProperties uniqueItems";
        Shaped(PROPERTIES): "properties $defs definitions";
        Shaped(SCHEMA): "items anyOf oneOf allOf not";
        Free:
            "required description title enum default const examples format pattern $ref $schema
             minimum maximum minLength maxLength minItems maxItems exclusiveMinimum
             exclusiveMaximum";
    }

    /// Properties of a JSON schema, whose names are content.
    pub(super) static PROPERTIES = "properties of a JSON schema" (others: Field::Shaped(&SCHEMA)) {}

    /// Setting of a request: thinking, tool choice, effort, context management.
    pub(super) static SETTING = "setting" {
        Word: "type ttl scope effort display enabled disable_parallel_tool_use clear_tool_inputs";
        Tool: "name exclude_tools";
        Number:
            "budget_tokens value total cleared_input_tokens cleared_tool_uses
             cleared_thinking_turns trigger_threshold keep_recent";
        Identifier: "tool_id delete";
        Shaped(SETTING): "edits applied_edits trigger keep clear_at_least task_budget format";
        Shaped(SCHEMA): "schema";
    }

    /// Response in a log, or an event of a stream.
    pub(in crate::redact) static RESPONSE = "response" {
        Moment: "timestamp";
        Number: "status_code index";
        Shaped(HEADERS): "headers";
        Shaped(MESSAGE): "body message delta";
        Events: "body_raw";
        Word: "type";
        Shaped(BLOCK): "content_block";
        Shaped(USAGE): "usage";
        Identifier: "id";
        Free: "error";
    }

    /// Headers of a request.
    pub(super) static HEADERS = "headers" (ignores_case: true) {
        Betas: "anthropic-beta";
        Version: "anthropic-version";
        Word: "content-type accept accept-encoding connection transfer-encoding";
        Number: "content-length";
        Identifier: "request-id";
        // Names alone: their values are credentials and addresses.
        Free: "authorization x-api-key user-agent host date cookie";
    }

    /// The `flags` of a bundle.
    pub(super) static FLAGS = "flags" {
        Word:
            "caching global_scope upfront_mcp_tools provider subscriber overage bedrock_1h
             skip_cache_write cleared simple proactive";
        Shaped(SETTING): "cached_microcompaction";
        QuerySource: "query_source ttl_1h_allowlist";
        System: "identity_prefixes";
    }

    /// Environment of a bundle.
    pub(super) static CONTEXT = "context" {
        Free: "gitStatus claudeMd";
    }

    /// `metadata`, and the object that `user_id` may hold.
    pub(in crate::redact) static METADATA = "metadata" {
        User: "user_id";
        Identifier: "session_id device_id account_uuid";
    }
}
