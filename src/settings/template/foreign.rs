//! Request bodies of other services' APIs, which have no `cache_control`.

use serde_json::Value;

use crate::read::agent::Vendor;

/// Bedrock's Converse API.
const CONVERSE: &str = "it is one to Bedrock's Converse API, which marks by blocks {\"cachePoint\": {\"type\": \"default\"}}";

const RESPONSES: &str = "it is one to OpenAI's Responses API, which has no such markers";

const CHAT: &str = "it is one to OpenAI's chat completions, which have no such markers";

const GEMINI: &str = "it is one to Gemini, which has no such markers";

/// Fields of a body that the Messages API does not have.
const FIELDS: [(&str, &str); 11] = [
    ("modelId", CONVERSE),
    ("inferenceConfig", CONVERSE),
    ("toolConfig", CONVERSE),
    ("input", RESPONSES),
    ("instructions", RESPONSES),
    ("max_output_tokens", RESPONSES),
    ("max_completion_tokens", CHAT),
    ("response_format", CHAT),
    ("prompt_cache_key", CHAT),
    ("contents", GEMINI),
    ("systemInstruction", GEMINI),
];

/// Fields of blocks of the Converse API, whose blocks have no `type`.
const CONVERSE_BLOCKS: [&str; 5] = ["text", "cachePoint", "toolUse", "toolResult", "image"];

/// API of another service that a body is for, if it shows one.
pub(super) fn other_api(body: &Value) -> Option<&'static str> {
    let of_fields = FIELDS.iter().find(|(field, _)| body.get(field).is_some());
    if let Some((_, api)) = of_fields {
        return Some(api);
    }
    let messages = || body["messages"].as_array().into_iter().flatten();
    let contents = messages().map(|message| &message["content"]).chain([&body["system"]]);
    let mut blocks = contents.filter_map(Value::as_array).flatten();
    let is_of_converse = |block: &Value| {
        block["type"].is_null() && CONVERSE_BLOCKS.iter().any(|field| block.get(field).is_some())
    };
    if blocks.any(is_of_converse) {
        return Some(CONVERSE);
    }
    // Gateways take chat completions for Claude as well, with markers; other models have none.
    let model = body["model"].as_str().map(Vendor::of);
    let is_of_chat = |message: &Value| {
        message["role"].as_str().is_some_and(|role| ["developer", "tool"].contains(&role))
    };
    let begins_with_system = messages().next().is_some_and(|first| first["role"] == "system");
    let is_chat = model == Some(Vendor::OpenAi)
        || begins_with_system && model != Some(Vendor::Anthropic)
        || messages().any(is_of_chat);
    is_chat.then_some(CHAT)
}
