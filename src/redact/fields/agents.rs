//! The fields of other agents' sessions: those that their readers look at, and where tools are named.
//!
//! A reader's fields stand here in one place: a shape for the outermost object of its format, which `root`
//! finds, and one for each kind of objects below it of which anything stays.

use super::rows::ROWS;
use super::telemetry::{OBSERVATION, SPAN, TELEMETRY};
use super::transcript::{LIMITS, LINE};
use crate::read::agent::Layout;
use crate::redact::shape::{Field, Shape};

/// The outermost objects of a format.
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
        Layout::Amp => &AMP,
        Layout::Grok => &GROK,
        Layout::StatusLines => &STATUS,
        Layout::Langfuse => &OBSERVATION,
        Layout::Telemetry => &TELEMETRY,
        Layout::Span => &SPAN,
        Layout::Rows => &ROWS,
    }
}

/// The outermost objects of all formats that have some of their own.
pub(in crate::redact) static ROOTS: [&Shape; 17] = [
    &LINE,
    &PI,
    &QWEN,
    &KIMI,
    &COPILOT,
    &GEMINI,
    &OPENCODE,
    &OPENCODE_INFO,
    &CLINE,
    &CLINE_MESSAGE,
    &AMP,
    &GROK,
    &STATUS,
    &OBSERVATION,
    &TELEMETRY,
    &SPAN,
    &ROWS,
];

static PI: Shape = Shape {
    name: "line of Pi",
    fields: &[
        (Field::Word, &["type"]),
        (Field::Identifier, &["id", "parentId"]),
        (Field::Moment, &["timestamp"]),
        (Field::Path, &["cwd"]),
        (Field::Route, &["customType"]),
        (Field::Shaped(&PI_MESSAGE), &["message"]),
        (Field::Shaped(&USAGE), &["usage"]),
        (Field::Free, &["summary"]),
    ],
    ..Shape::PLAIN
};

static PI_MESSAGE: Shape = Shape {
    name: "message of Pi",
    fields: &[
        (Field::Word, &["role", "stopReason"]),
        (Field::Identifier, &["responseId"]),
        (Field::Moment, &["timestamp"]),
        (Field::Route, &["provider"]),
        (Field::Model, &["model"]),
        (Field::Tool, &["toolName"]),
        (Field::Shaped(&CONTENT), &["content"]),
        (Field::Shaped(&USAGE), &["usage"]),
        (Field::Free, &["command", "output"]),
    ],
    ..Shape::PLAIN
};

static QWEN: Shape = Shape {
    name: "line of Qwen Code",
    fields: &[
        (Field::Word, &["type", "subtype"]),
        (Field::Identifier, &["uuid", "parentUuid", "sessionId"]),
        (Field::Moment, &["timestamp"]),
        (Field::Version, &["version"]),
        (Field::Path, &["cwd"]),
        (Field::Model, &["model"]),
        (Field::Shaped(&QWEN_MESSAGE), &["message"]),
        (Field::Shaped(&USAGE), &["usageMetadata"]),
        (Field::Free, &["systemPayload"]),
    ],
    ..Shape::PLAIN
};

static QWEN_MESSAGE: Shape = Shape {
    name: "message of Qwen Code",
    fields: &[(Field::Word, &["role"]), (Field::Shaped(&QWEN_PART), &["parts"])],
    ..Shape::PLAIN
};

static QWEN_PART: Shape = Shape {
    name: "part of a message of Qwen Code",
    fields: &[
        (Field::Shaped(&CALL), &["functionCall", "functionResponse"]),
        (Field::Free, &["text", "inlineData"]),
    ],
    ..Shape::PLAIN
};

static KIMI: Shape = Shape {
    name: "line of Kimi",
    fields: &[
        (Field::Word, &["type", "usageScope"]),
        (Field::Version, &["protocol_version"]),
        (Field::Moment, &["time", "timestamp"]),
        (Field::Path, &["cwd"]),
        (Field::Model, &["model", "modelAlias"]),
        (Field::Route, &["provider"]),
        (Field::Shaped(&KIMI_MESSAGE), &["message"]),
        (Field::Shaped(&CALL), &["event"]),
        (Field::Shaped(&USAGE), &["usage"]),
        (Field::Free, &["summary", "memory"]),
    ],
    ..Shape::PLAIN
};

static KIMI_MESSAGE: Shape = Shape {
    name: "message of Kimi",
    fields: &[
        (Field::Word, &["type", "role"]),
        (Field::Shaped(&KIMI_PAYLOAD), &["payload"]),
        (Field::Shaped(&CONTENT), &["content"]),
    ],
    ..Shape::PLAIN
};

static KIMI_PAYLOAD: Shape = Shape {
    name: "payload of Kimi",
    fields: &[
        (
            Field::Identifier,
            &[
                "id",
                "message_id",
                "agent_id",
                "parent_tool_call_id",
                "task_tool_call_id",
                "tool_call_id",
            ],
        ),
        (Field::Shaped(&CONTENT), &["user_input", "return_value"]),
        (Field::Shaped(&KIMI_MESSAGE), &["event"]),
        (Field::Shaped(&CALL), &["function"]),
        (Field::Shaped(&USAGE), &["token_usage"]),
    ],
    ..Shape::PLAIN
};

static COPILOT: Shape = Shape {
    name: "event of Copilot CLI",
    fields: &[
        (Field::Word, &["type"]),
        (Field::Identifier, &["id"]),
        (Field::Moment, &["timestamp"]),
        (Field::Shaped(&COPILOT_DATA), &["data"]),
    ],
    ..Shape::PLAIN
};

static COPILOT_DATA: Shape = Shape {
    name: "data of an event of Copilot CLI",
    fields: &[
        (Field::Word, &["producer"]),
        (Field::Identifier, &["sessionId"]),
        (Field::Version, &["copilotVersion"]),
        (Field::Moment, &["startTime", "resumeTime"]),
        (Field::Model, &["selectedModel", "newModel"]),
        (Field::Number, &["eventsFileSizeBytes"]),
        (Field::Tool, &["toolName"]),
        (Field::Shaped(&CALL), &["toolRequests"]),
        (Field::Shaped(&PLACE), &["context"]),
        (Field::Shaped(&USAGE), &["compactionTokensUsed"]),
        (Field::Shaped(&SUMS_BY_MODEL), &["modelMetrics"]),
    ],
    ..Shape::PLAIN
};

static SUMS_BY_MODEL: Shape = Shape {
    name: "sums by model",
    others: Field::Shaped(&SUMS),
    names_are: Field::Model,
    ..Shape::PLAIN
};

static SUMS: Shape = Shape {
    name: "sums",
    fields: &[(Field::Number, &["totalNanoAiu"]), (Field::Shaped(&USAGE), &["requests", "usage"])],
    ..Shape::PLAIN
};

static GEMINI: Shape = Shape {
    name: "chat, message or change of Gemini CLI",
    fields: &[
        (Field::Word, &["type", "kind"]),
        (Field::Identifier, &["sessionId", "projectHash", "id", "$rewindTo"]),
        (Field::Moment, &["timestamp", "startTime", "lastUpdated"]),
        (Field::Model, &["model"]),
        (Field::Notice, &["content"]),
        (Field::Shaped(&CALL), &["toolCalls"]),
        (Field::Shaped(&USAGE), &["tokens"]),
        (Field::Shaped(&GEMINI), &["messages", "$set"]),
    ],
    ..Shape::PLAIN
};

static OPENCODE: Shape = Shape {
    name: "session of opencode, or a message with its parts",
    fields: &[
        (Field::Shaped(&OPENCODE_INFO), &["info"]),
        (Field::Shaped(&OPENCODE), &["messages"]),
        (Field::Shaped(&OPENCODE_PART), &["parts"]),
    ],
    ..Shape::PLAIN
};

pub(super) static OPENCODE_INFO: Shape = Shape {
    name: "what opencode says of a session or a message",
    fields: &[
        (Field::Word, &["role", "mode", "summary"]),
        (Field::Identifier, &["id", "sessionID", "parentID"]),
        (Field::Version, &["version"]),
        (Field::Path, &["directory"]),
        (Field::Route, &["providerID"]),
        (Field::Model, &["modelID"]),
        (Field::Shaped(&PLACE), &["path"]),
        (Field::Shaped(&TIMES), &["time"]),
        (Field::Shaped(&USAGE), &["tokens"]),
        (Field::Free, &["error"]),
    ],
    ..Shape::PLAIN
};

pub(super) static OPENCODE_PART: Shape = Shape {
    name: "part of a message of opencode",
    fields: &[
        (Field::Word, &["type", "synthetic"]),
        (Field::Word, &["mime"]),
        (Field::Tool, &["tool"]),
        (Field::Shaped(&TIMES), &["time"]),
        (Field::Shaped(&OPENCODE_PART), &["state"]),
        (Field::Shaped(&USAGE), &["tokens"]),
        (Field::Free, &["text", "output", "error"]),
    ],
    ..Shape::PLAIN
};

static CLINE: Shape = Shape {
    name: "entry of a task",
    fields: &[
        (Field::Word, &["type", "say", "ask"]),
        (Field::Moment, &["ts"]),
        (Field::Json(&REPORT), &["text"]),
        (Field::Shaped(&MODEL), &["modelInfo"]),
    ],
    ..Shape::PLAIN
};

static REPORT: Shape = Shape {
    name: "report of a request of a task",
    fields: &[
        (Field::Word, &["apiProtocol"]),
        (Field::Number, &["tokensIn", "tokensOut", "cacheReads", "cacheWrites", "cost"]),
        (Field::Free, &["cancelReason", "streamingFailedMessage"]),
    ],
    ..Shape::PLAIN
};

static MODEL: Shape = Shape {
    name: "model of a request of a task",
    fields: &[(Field::Route, &["providerId"]), (Field::Model, &["modelId"])],
    ..Shape::PLAIN
};

static CLINE_MESSAGE: Shape = Shape {
    name: "message of a task",
    fields: &[
        (Field::Word, &["role", "isSummary"]),
        (Field::Moment, &["ts"]),
        (Field::Content, &["content"]),
    ],
    ..Shape::PLAIN
};

static STATUS: Shape = Shape {
    name: "what was told to a status line",
    fields: &[(Field::Moment, &["timestamp"]), (Field::Shaped(&LIMITS), &["rate_limits"])],
    ..Shape::PLAIN
};

static AMP: Shape = Shape {
    name: "thread of Amp",
    fields: &[
        (Field::Identifier, &["id"]),
        (Field::Moment, &["created"]),
        (Field::Shaped(&AMP_ENVIRONMENT), &["env"]),
        (Field::Shaped(&AMP_MESSAGE), &["messages"]),
    ],
    ..Shape::PLAIN
};

static AMP_ENVIRONMENT: Shape = Shape {
    name: "environment of a thread of Amp",
    fields: &[
        (Field::Shaped(&AMP_ENVIRONMENT), &["initial", "trees", "platform"]),
        (Field::Url, &["uri"]),
        (Field::Version, &["clientVersion"]),
    ],
    ..Shape::PLAIN
};

static AMP_MESSAGE: Shape = Shape {
    name: "message of Amp",
    fields: &[
        (Field::Word, &["role", "type"]),
        (Field::Number, &["messageId"]),
        (Field::Moment, &["sentAt"]),
        (Field::Shaped(&AMP_MESSAGE), &["meta", "state"]),
        (Field::Shaped(&AMP_BLOCK), &["content"]),
        (Field::Shaped(&USAGE), &["usage"]),
    ],
    ..Shape::PLAIN
};

static AMP_BLOCK: Shape = Shape {
    name: "block of a message of Amp",
    fields: &[(Field::Word, &["type"]), (Field::Free, &["text"])],
    ..Shape::PLAIN
};

static GROK: Shape = Shape {
    name: "update of a session of Grok",
    fields: &[
        (Field::Moment, &["timestamp", "agentTimestampMs"]),
        (Field::Url, &["method"]),
        (Field::Identifier, &["sessionId", "prompt_id"]),
        (Field::Word, &["sessionUpdate"]),
        (Field::Shaped(&GROK), &["params", "_meta", "update"]),
        (Field::Shaped(&USAGE), &["usage"]),
        (Field::Free, &["content"]),
    ],
    ..Shape::PLAIN
};

static USAGE_BY_MODEL: Shape = Shape {
    name: "usage by model",
    others: Field::Shaped(&USAGE),
    names_are: Field::Model,
    ..Shape::PLAIN
};

/// What calls a tool or answers it, wherever a format names one.
static CALL: Shape = Shape {
    name: "call of a tool",
    fields: &[
        (Field::Word, &["type"]),
        (Field::Identifier, &["toolCallId"]),
        (Field::Tool, &["name"]),
        (Field::Moment, &["timestamp"]),
        (Field::Shaped(&CONTENT), &["result"]),
        (Field::Free, &["response"]),
    ],
    ..Shape::PLAIN
};

/// What was said, or a tool's result, wherever a format has blocks.
pub(in crate::redact) static CONTENT: Shape = Shape {
    name: "content of another agent's message",
    fields: &[
        (Field::Word, &["type"]),
        (Field::Tool, &["name"]),
        (Field::Shaped(&CALL), &["functionCall", "functionResponse"]),
        (Field::Shaped(&CONTENT), &["content", "output"]),
        (Field::Free, &["text", "inlineData"]),
    ],
    ..Shape::PLAIN
};

/// The counts of every format, under whichever names.
pub(super) static USAGE: Shape = Shape {
    name: "usage of another agent",
    fields: &[
        (
            Field::Number,
            &[
                "input",
                "output",
                "cacheRead",
                "cacheWrite",
                "cacheWrite1h",
                "reasoning",
                "totalTokens",
                "promptTokenCount",
                "cachedContentTokenCount",
                "candidatesTokenCount",
                "thoughtsTokenCount",
                "toolUsePromptTokenCount",
                "totalTokenCount",
                "inputOther",
                "inputCacheRead",
                "inputCacheCreation",
                "input_other",
                "input_cache_read",
                "input_cache_creation",
                "inputTokens",
                "outputTokens",
                "cacheReadTokens",
                "cacheWriteTokens",
                "reasoningTokens",
                "cachedInput",
                "totalNanoAiu",
                "tokenCount",
                "count",
                "cached",
                "thoughts",
                "tool",
                "total",
                "read",
                "write",
                "cacheReadInputTokens",
                "cacheCreationInputTokens",
                "cachedReadTokens",
                "cacheCreationTokens",
                "modelCalls",
            ],
        ),
        (Field::Moment, &["timestamp"]),
        (Field::Shaped(&USAGE_BY_MODEL), &["modelUsage"]),
        (Field::Word, &["tokenType"]),
        (Field::Model, &["model"]),
        (Field::Shaped(&USAGE), &["cache", "cost", "copilotUsage", "tokenDetails"]),
    ],
    ..Shape::PLAIN
};

static TIMES: Shape = Shape {
    name: "times",
    fields: &[(Field::Moment, &["created", "completed", "start", "end", "streamed"])],
    ..Shape::PLAIN
};

static PLACE: Shape = Shape { name: "place", fields: &[(Field::Path, &["cwd"])], ..Shape::PLAIN };
