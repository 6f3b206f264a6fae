//! Attribute names of the values that are read; the conventions' newest names come first.

/// Operation of a span.
pub(crate) const OPERATION: &[&str] = &["gen_ai.operation.name", "llm.request.type"];

/// Kind of a span under the conventions of `OpenInference`, and the operation of one of Vercel's AI SDK.
pub(crate) const KIND: &[&str] = &["openinference.span.kind"];
pub(crate) const SDK_OPERATION: &[&str] = &["ai.operationId"];

/// Model that answered, else the one that was asked.
pub(crate) const MODEL: &[&str] = &[
    "gen_ai.response.model",
    "gen_ai.request.model",
    "llm.model_name",
    "ai.response.model",
    "ai.model.id",
    "model",
];

/// Provider of a request.
pub(crate) const PROVIDER: &[&str] =
    &["gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system", "ai.model.provider"];

/// Conversation, whose requests continue each other.
pub(crate) const SESSION: &[&str] = &["gen_ai.conversation.id", "session.id"];

pub(crate) const AGENT: &[&str] = &["gen_ai.agent.id", "gen_ai.agent.name", "agent.name"];

/// Id of an answer, which some instrumentations take from the request.
pub(crate) const RESPONSE: &[&str] = &["gen_ai.response.id", "ai.response.id"];

/// Id that the service gave to a request.
pub(crate) const REQUEST: &[&str] =
    &["anthropic.request.id", "github.copilot.service_request_id", "request_id"];

/// Tokens of the whole prompt, or those neither read nor written.
pub(crate) const INPUT: &[&str] = &[
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.prompt_tokens",
    "llm.token_count.prompt",
    "ai.usage.inputTokens",
    "ai.usage.promptTokens",
];

pub(crate) const OUTPUT: &[&str] = &[
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "llm.token_count.completion",
    "ai.usage.outputTokens",
    "ai.usage.completionTokens",
];

pub(crate) const READ: &[&str] = &[
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cache_read_input_tokens",
    "gen_ai.usage.cache_read_tokens",
    "gen_ai.usage.input_tokens.cached",
    "gen_ai.usage.input_cached_tokens",
    "gen_ai.usage.details.cache_read_input_tokens",
    "gen_ai.usage.details.cache_read_tokens",
    "gen_ai.usage.details.cached_tokens",
    "llm.token_count.prompt_details.cache_read",
    "llm.token_count.prompt_details.cache_input",
    "ai.usage.cachedInputTokens",
];

pub(crate) const WRITTEN: &[&str] = &[
    "gen_ai.usage.cache_creation.input_tokens",
    "gen_ai.usage.cache_write.input_tokens",
    "gen_ai.usage.cache_creation_input_tokens",
    "gen_ai.usage.cache_write_input_tokens",
    "gen_ai.usage.cache_creation_tokens",
    "gen_ai.usage.cache_write_tokens",
    "gen_ai.usage.input_tokens.cache_write",
    "gen_ai.usage.details.cache_creation_input_tokens",
    "gen_ai.usage.details.cache_creation_tokens",
    "gen_ai.usage.details.cache_write_tokens",
    "llm.token_count.prompt_details.cache_write",
];

pub(crate) const REASONING: &[&str] = &[
    "gen_ai.usage.reasoning.output_tokens",
    "gen_ai.usage.reasoning_tokens",
    "gen_ai.usage.output_tokens.reasoning",
    "gen_ai.usage.details.reasoning_tokens",
    "llm.token_count.completion_details.reasoning",
    "ai.usage.reasoningTokens",
];

/// What the service reported besides the SDK's own figures, as JSON.
pub(crate) const METADATA: &[&str] = &["ai.response.providerMetadata"];

/// Charge by Copilot, and then the initiator of its requests.
pub(crate) const COPILOT_BILL: &[&str] = &["github.copilot.nano_aiu"];
pub(crate) const COPILOT_INITIATOR: &[&str] = &["github.copilot.initiator"];

/// Names of Claude Code, down to `CLAUDE_SUCCESS`.
pub(crate) const CLAUDE_INPUT: &[&str] = &["input_tokens"];
pub(crate) const CLAUDE_OUTPUT: &[&str] = &["output_tokens"];
pub(crate) const CLAUDE_READ: &[&str] = &["cache_read_tokens"];
pub(crate) const CLAUDE_WRITTEN: &[&str] = &["cache_creation_tokens"];
pub(crate) const CLAUDE_CLIENT_REQUEST: &[&str] = &["client_request_id"];
pub(crate) const CLAUDE_AGENT: &[&str] = &["agent.id", "agent_id"];
pub(crate) const CLAUDE_PROMPT: &[&str] = &["prompt.id"];
pub(crate) const CLAUDE_QUERY_SOURCE: &[&str] = &["query_source"];
pub(crate) const CLAUDE_SPEED: &[&str] = &["speed"];
pub(crate) const CLAUDE_DURATION: &[&str] = &["duration_ms"];
pub(crate) const CLAUDE_COST: &[&str] = &["cost_usd"];
pub(crate) const CLAUDE_SUCCESS: &[&str] = &["success"];

/// Name of an event, and then its time and its number.
pub(crate) const EVENT: &[&str] = &["event.name"];
pub(crate) const EVENT_TIME: &[&str] = &["event.timestamp"];
pub(crate) const EVENT_NUMBER: &[&str] = &["event.sequence"];

/// Name of a resource's program, and then its version.
pub(crate) const SERVICE: &[&str] = &["service.name"];
pub(crate) const VERSION: &[&str] = &["service.version"];

const ALL: [&[&str]; 32] = [
    OPERATION,
    KIND,
    SDK_OPERATION,
    MODEL,
    PROVIDER,
    SESSION,
    AGENT,
    RESPONSE,
    REQUEST,
    INPUT,
    OUTPUT,
    READ,
    WRITTEN,
    REASONING,
    METADATA,
    COPILOT_BILL,
    COPILOT_INITIATOR,
    CLAUDE_INPUT,
    CLAUDE_OUTPUT,
    CLAUDE_READ,
    CLAUDE_WRITTEN,
    CLAUDE_CLIENT_REQUEST,
    CLAUDE_AGENT,
    CLAUDE_PROMPT,
    CLAUDE_QUERY_SOURCE,
    CLAUDE_SPEED,
    CLAUDE_DURATION,
    CLAUDE_COST,
    CLAUDE_SUCCESS,
    EVENT,
    EVENT_TIME,
    EVENT_NUMBER,
];

/// Returns true if values under this name are read.
pub(super) fn is_known(name: &str) -> bool {
    let of_resource = [SERVICE, VERSION];
    ALL.iter().chain(&of_resource).any(|names| names.contains(&name))
}
