//! Fields of other agents' sessions: those that their readers look at, and those that name tools.
//!
//! The fields of a format are in one place: a shape for its outermost object, which `root` finds, and one
//! for each kind of objects below it that keeps anything.

use super::rows::ROWS;
use super::telemetry::{OBSERVATION, RUN, SPAN, TELEMETRY};
use super::transcript::{LIMITS, LINE};
use crate::read::agent::Layout;
use crate::redact::shape::{Field, Shape};

/// Outermost objects of a format.
pub(in crate::redact) fn root(layout: Layout) -> &'static Shape {
    match layout {
        Layout::Rollout => &LINE,
        Layout::Pi => &PI,
        Layout::Qwen => &QWEN,
        Layout::Kimi => &KIMI,
        Layout::Copilot => &COPILOT,
        Layout::Gemini => &GEMINI,
        Layout::OpenCode => &OPENCODE,
        Layout::OpenCodeMessage => &OPENCODE_INFO,
        Layout::Cline => &CLINE,
        Layout::ClineMessages => &CLINE_MESSAGE,
        Layout::ClineModels => &CLINE_MODELS,
        Layout::ClineSession => &CLINE_SESSION,
        Layout::Amp => &AMP,
        Layout::Grok => &GROK,
        Layout::StatusLines => &STATUS,
        Layout::Langfuse => &OBSERVATION,
        Layout::LangSmith => &RUN,
        Layout::Telemetry => &TELEMETRY,
        Layout::Span => &SPAN,
        Layout::Rows => &ROWS,
    }
}

shapes! {
    static PI = "line of Pi" {
        Word: "type";
        Identifier: "id parentId";
        Moment: "timestamp";
        Path: "cwd";
        Route: "customType";
        Shaped(PI_MESSAGE): "message";
        Shaped(USAGE): "usage";
        Free: "summary";
    }

    static PI_MESSAGE = "message of Pi" {
        Word: "role stopReason";
        Identifier: "responseId";
        Moment: "timestamp";
        Route: "provider";
        Model: "model";
        Tool: "toolName";
        Shaped(CONTENT): "content";
        Shaped(USAGE): "usage";
        Free: "command output";
    }

    static QWEN = "line of Qwen Code" {
        Word: "type subtype";
        Identifier: "uuid parentUuid sessionId";
        Moment: "timestamp";
        Version: "version";
        Path: "cwd";
        Model: "model";
        Shaped(QWEN_MESSAGE): "message";
        Shaped(USAGE): "usageMetadata";
        Free: "systemPayload";
    }

    static QWEN_MESSAGE = "message of Qwen Code" {
        Word: "role";
        Shaped(QWEN_PART): "parts";
    }

    static QWEN_PART = "part of a message of Qwen Code" {
        Shaped(CALL): "functionCall functionResponse";
        Free: "text inlineData";
    }

    static KIMI = "line of Kimi" {
        Word: "type usageScope";
        Version: "protocol_version";
        Moment: "time timestamp";
        Path: "cwd";
        Model: "model modelAlias";
        Route: "provider";
        Shaped(KIMI_MESSAGE): "message";
        Shaped(CALL): "event";
        Shaped(USAGE): "usage";
        Free: "summary memory";
    }

    static KIMI_MESSAGE = "message of Kimi" {
        Word: "type role";
        Shaped(KIMI_PAYLOAD): "payload";
        Shaped(CONTENT): "content";
    }

    static KIMI_PAYLOAD = "payload of Kimi" {
        Identifier: "id message_id agent_id parent_tool_call_id task_tool_call_id tool_call_id";
        Shaped(CONTENT): "user_input return_value";
        Shaped(KIMI_MESSAGE): "event";
        Shaped(CALL): "function";
        Shaped(USAGE): "token_usage";
    }

    static COPILOT = "event of Copilot CLI" {
        Word: "type";
        Identifier: "id parentId";
        Moment: "timestamp";
        Shaped(COPILOT_DATA): "data";
    }

    static COPILOT_DATA = "data of an event of Copilot CLI" {
        Word: "producer";
        Identifier: "sessionId";
        Version: "copilotVersion";
        Moment: "startTime resumeTime";
        Model: "selectedModel newModel currentModel";
        Number: "eventsFileSizeBytes";
        Tool: "toolName";
        Shaped(CALL): "toolRequests";
        Shaped(PLACE): "context";
        Shaped(USAGE): "compactionTokensUsed";
        Shaped(SUMS_BY_MODEL): "modelMetrics";
        Shaped(SUMS_BY_KIND): "tokenDetails";
    }

    static SUMS_BY_KIND = "sums by kind of token" {
        Shaped(USAGE): "input output cache_read cache_write";
    }

    // The names of the fields are those of models.
    static SUMS_BY_MODEL = "sums by model"
        (others: Field::Shaped(&SUMS), names_are: Field::Model) {}

    static SUMS = "sums" {
        Number: "totalNanoAiu";
        Shaped(USAGE): "requests usage";
    }

    static GEMINI = "chat, message or change of Gemini CLI" {
        Word: "type kind";
        Identifier: "sessionId projectHash id $rewindTo";
        Moment: "timestamp startTime lastUpdated";
        Model: "model";
        Notice: "content";
        Shaped(CALL): "toolCalls";
        Shaped(USAGE): "tokens";
        Shaped(GEMINI): "messages $set";
    }

    static OPENCODE = "session of opencode, or a message with its parts" {
        Shaped(OPENCODE_INFO): "info";
        Shaped(OPENCODE): "messages";
        Shaped(OPENCODE_PART): "parts";
    }

    pub(super) static OPENCODE_INFO = "what opencode says of a session or a message" {
        Word: "role mode summary";
        Identifier: "id sessionID parentID";
        Version: "version";
        Path: "directory";
        Route: "providerID";
        Model: "modelID";
        Shaped(PLACE): "path";
        Shaped(TIMES): "time";
        Shaped(USAGE): "tokens";
        Free: "error";
    }

    pub(super) static OPENCODE_PART = "part of a message of opencode" {
        Word: "type synthetic";
        Word: "mime";
        Tool: "tool";
        Shaped(TIMES): "time";
        Shaped(OPENCODE_PART): "state";
        Shaped(USAGE): "tokens";
        Free: "text output error";
    }

    static CLINE = "entry of a task" {
        Word: "type say ask";
        Moment: "ts";
        Json(REPORT): "text";
        Shaped(MODEL): "modelInfo";
    }

    static REPORT = "report of a request of a task" {
        Word: "apiProtocol";
        Number: "tokensIn tokensOut cacheReads cacheWrites cost";
        Free: "cancelReason streamingFailedMessage";
    }

    static MODEL = "model of a request of a task" {
        Route: "providerId";
        Model: "modelId";
    }

    static CLINE_MESSAGE = "message of a task" {
        Word: "role isSummary";
        Moment: "ts";
        Content: "content";
    }

    static CLINE_MODELS = "models of a task" {
        Shaped(CLINE_MODEL): "model_usage";
        Free: "files_in_context";
    }

    static CLINE_MODEL = "model of a task" {
        Moment: "ts";
        Model: "model_id";
        Route: "model_provider_id";
        Word: "mode";
    }

    static CLINE_SESSION = "session of Cline's command line" {
        Shaped(CLINE_ANSWER): "messages";
    }

    static CLINE_ANSWER = "message of Cline's command line" {
        Word: "role";
        Moment: "ts";
        Content: "content";
        Shaped(CLINE_PROVIDER): "modelInfo";
        Shaped(USAGE): "metrics";
    }

    static CLINE_PROVIDER = "model of Cline's command line" {
        Model: "id";
        Route: "provider";
    }

    static STATUS = "what was told to a status line" {
        Moment: "timestamp";
        Shaped(LIMITS): "rate_limits";
    }

    static AMP = "thread of Amp" {
        Identifier: "id";
        Moment: "created";
        Shaped(AMP_ENVIRONMENT): "env";
        Shaped(AMP_MESSAGE): "messages";
        Shaped(AMP_LEDGER): "usageLedger";
    }

    static AMP_LEDGER = "ledger of a thread of Amp" {
        Shaped(AMP_LEDGER): "events";
        Identifier: "id";
        Moment: "timestamp";
        Model: "model";
        Number: "toMessageId";
        Shaped(USAGE): "tokens";
    }

    static AMP_ENVIRONMENT = "environment of a thread of Amp" {
        Shaped(AMP_ENVIRONMENT): "initial trees platform";
        Url: "uri";
        Version: "clientVersion";
    }

    static AMP_MESSAGE = "message of Amp" {
        Word: "role type";
        Number: "messageId";
        Moment: "sentAt";
        Shaped(AMP_MESSAGE): "meta state";
        Shaped(AMP_BLOCK): "content";
        Shaped(USAGE): "usage";
    }

    static AMP_BLOCK = "block of a message of Amp" {
        Word: "type";
        Free: "text";
    }

    static GROK = "update of a session of Grok" {
        Moment: "timestamp agentTimestampMs";
        // A method such as `session/update` has the form of an address.
        Url: "method";
        Identifier: "sessionId prompt_id";
        Word: "sessionUpdate";
        Shaped(GROK): "params _meta update";
        Shaped(USAGE): "usage";
        Free: "content";
    }

    pub(super) static USAGE_BY_MODEL = "usage by model"
        (others: Field::Shaped(&USAGE), names_are: Field::Model) {}

    /// Call of a tool, or its result, wherever a format names one.
    static CALL = "call of a tool" {
        Word: "type";
        Identifier: "toolCallId";
        Tool: "name";
        Moment: "timestamp";
        Shaped(CONTENT): "result";
        Free: "response";
    }

    /// Text of a message, or a tool's result, wherever a format has blocks.
    pub(in crate::redact) static CONTENT = "content of another agent's message" {
        Word: "type";
        Tool: "name";
        Shaped(CALL): "functionCall functionResponse";
        Shaped(CONTENT): "content output";
        Free: "text inlineData";
    }

    /// Counts of every format, under any of their names.
    pub(super) static USAGE = "usage of another agent" {
        Number:
            "input output cacheRead cacheWrite cacheWrite1h reasoning totalTokens promptTokenCount
             cachedContentTokenCount candidatesTokenCount thoughtsTokenCount
             toolUsePromptTokenCount totalTokenCount inputOther inputCacheRead inputCacheCreation
             input_other input_cache_read input_cache_creation inputTokens outputTokens
             cacheReadTokens cacheWriteTokens reasoningTokens cachedInput totalNanoAiu tokenCount
             count cached thoughts tool total read write cacheReadInputTokens
             cacheCreationInputTokens cachedReadTokens cacheCreationTokens modelCalls thinkingTokens
             webSearchRequests costUSD";
        Moment: "timestamp";
        Shaped(USAGE_BY_MODEL): "modelUsage";
        Word: "tokenType";
        Model: "model";
        Shaped(USAGE): "cache cost copilotUsage tokenDetails";
    }

    static TIMES = "times" {
        Moment: "created completed start end streamed";
    }

    static PLACE = "place" {
        Path: "cwd";
    }
}
