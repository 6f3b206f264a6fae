//! Fields of logs of gateways and proxies, and of the answers in them.

use super::request::{HEADERS, REQUEST};
use super::transcript::{BLOCK, MESSAGE, USAGE};
use crate::read::log::LogLayout;
use crate::redact::shape::{Field, Shape};

/// Outermost objects of a log. Those of a table are its rows.
pub(in crate::redact) fn log_root(layout: LogLayout) -> &'static Shape {
    match layout {
        LogLayout::Spend | LogLayout::Table => &SPEND,
        LogLayout::Helicone => &HELICONE,
        LogLayout::Har => &HAR,
        LogLayout::Invocations => &INVOCATION,
        LogLayout::Batch => &BATCH,
        LogLayout::Recorded => &RECORDED,
    }
}

/// Outermost objects of all logs.
pub(in crate::redact) static LOG_ROOTS: [&Shape; 6] =
    [&SPEND, &HELICONE, &HAR, &INVOCATION, &BATCH, &RECORDED];

shapes! {
    static SPEND = "row or payload of LiteLLM" (ignores_case: true) {
        Identifier: "request_id id session_id trace_id";
        Word: "call_type cache_hit status";
        Moment: "startTime endTime completionStartTime";
        Model: "model";
        Route: "custom_llm_provider";
        Figure: "prompt_tokens completion_tokens";
        // The gateway's copy of `metadata.user_id`, with the session in it.
        User: "end_user";
        Url: "api_base";
        Json(SPEND_METADATA): "metadata";
        Json(REQUEST): "proxy_server_request";
        Shaped(SPEND): "data";
        Free: "api_key spend messages response";
    }

    static SPEND_METADATA = "metadata of a row of LiteLLM" {
        Word: "status";
        Json(BILLED): "usage_object additional_usage_values";
    }

    /// Usage by the names of all services.
    static BILLED = "usage of any service" (like: Some(&USAGE)) {
        Number:
            "prompt_tokens completion_tokens prompt_cache_hit_tokens cached_tokens
             cache_creation_tokens cache_write_tokens reasoning_tokens inputTokens outputTokens
             cacheReadInputTokens cacheWriteInputTokens promptTokenCount cachedContentTokenCount
             candidatesTokenCount thoughtsTokenCount toolUsePromptTokenCount";
        Word: "ttl";
        Shaped(BILLED):
            "prompt_tokens_details input_tokens_details completion_tokens_details
             output_tokens_details cache_creation_token_details cacheDetails";
    }

    static HELICONE = "row of Helicone" {
        Identifier: "request_id response_id cache_reference_id";
        Moment: "request_created_at response_created_at";
        Number:
            "response_status time_to_first_token delay_ms prompt_tokens completion_tokens
             prompt_cache_read_tokens prompt_cache_write_tokens";
        Url: "request_path target_url";
        Route: "provider";
        Model: "model response_model request_model";
        Json(REQUEST): "request_body";
        Answer: "response_body";
        Shaped(PROPERTIES): "request_properties properties";
        Shaped(HELICONE): "data";
    }

    static PROPERTIES = "properties of a row of Helicone" {
        Identifier: "Helicone-Session-Id";
    }

    /// Answer of any service, or an event of one.
    pub(in crate::redact) static ANSWER = "answer of any service" (like: Some(&MESSAGE)) {
        Shaped(ANSWER): "response message delta";
        Shaped(BILLED): "usage usageMetadata";
        Identifier: "responseId";
        Model: "modelVersion";
        Shaped(BLOCK): "content_block";
    }

    static INVOCATION = "invocation of Bedrock's log" {
        Word: "schemaType operation";
        Moment: "timestamp";
        Identifier: "requestId";
        Model: "modelId";
        Shaped(INVOCATION): "input output";
        Shaped(REQUEST): "inputBodyJson";
        Shaped(ANSWER): "outputBodyJson";
        Number:
            "inputTokenCount outputTokenCount cacheReadInputTokenCount cacheWriteInputTokenCount";
        Free: "errorCode";
    }

    static BATCH = "request or result of a batch" {
        Identifier: "custom_id";
        Word: "type";
        Shaped(BATCH): "result";
        Shaped(REQUEST): "params";
        Shaped(ANSWER): "message";
    }

    static RECORDED = "captured request of another service" {
        Moment: "timestamp response_started_at";
        Identifier: "request_id session_id";
        Shaped(REQUEST): "request";
        Shaped(BILLED): "usage";
        Shaped(ANSWER): "response";
    }

    static HAR = "HAR file" {
        Shaped(HAR): "log";
        Shaped(ENTRY): "entries";
    }

    static ENTRY = "entry of a HAR file" {
        Moment: "startedDateTime";
        Number: "time status";
        Word: "method";
        Url: "url";
        Shaped(ENTRY): "request response";
        Shaped(HEADER): "headers";
        Shaped(SENT): "postData";
        Shaped(GOT): "content";
        Shaped(TIMINGS): "timings";
    }

    static HEADER = "header in a HAR file" {
        Key(HEADERS): "name";
        Told: "value";
    }

    static SENT = "body that was sent" {
        Json(REQUEST): "text";
        Word: "encoding mimeType";
    }

    static GOT = "body that was answered" {
        Answer: "text";
        Word: "encoding mimeType";
    }

    static TIMINGS = "parts of the time of an entry" {
        Number: "blocked dns connect send wait receive ssl";
    }
}
