//! Request bodies of other services' APIs, by the fields that only they have.

use serde_json::Value;

use crate::read::agent::Vendor;

/// API of another service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OtherApi {
    /// Bedrock's Converse API.
    Converse,
    /// `OpenAI`'s Responses API.
    Responses,
    /// `OpenAI`'s chat completions, which other services have, too.
    Chat,
    /// Gemini's API.
    Gemini,
}

use OtherApi::{Chat, Converse, Gemini, Responses};

/// Fields of a body that the Messages API does not have.
const FIELDS: [(&str, OtherApi); 11] = [
    ("modelId", Converse),
    ("inferenceConfig", Converse),
    ("toolConfig", Converse),
    ("input", Responses),
    ("instructions", Responses),
    ("max_output_tokens", Responses),
    ("max_completion_tokens", Chat),
    ("response_format", Chat),
    ("prompt_cache_key", Chat),
    ("contents", Gemini),
    ("systemInstruction", Gemini),
];

/// Fields of blocks of the Converse API, whose blocks have no `type`.
const CONVERSE_BLOCKS: [&str; 5] = ["text", "cachePoint", "toolUse", "toolResult", "image"];

/// API of another service that a body is for, if it shows one.
pub(crate) fn other_api(body: &Value) -> Option<OtherApi> {
    let of_fields = FIELDS.iter().find(|(field, _)| body.get(field).is_some());
    if let Some((_, api)) = of_fields {
        return Some(*api);
    }
    let messages = || body["messages"].as_array().into_iter().flatten();
    let contents = messages().map(|message| &message["content"]).chain([&body["system"]]);
    let mut blocks = contents.filter_map(Value::as_array).flatten();
    let is_of_converse = |block: &Value| {
        block["type"].is_null() && CONVERSE_BLOCKS.iter().any(|field| block.get(field).is_some())
    };
    if blocks.any(is_of_converse) {
        return Some(Converse);
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
    is_chat.then_some(Chat)
}
