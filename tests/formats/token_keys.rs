//! Every key of the corpora that holds tokens: used, or not and why. A new one shows that a format has moved.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::Value;

use crate::common::{files, is_thorough, shared};

/// Keys that are read, with the key of the object that has them (`model`: name of one).
const USED: &str = ".input_tokens .output_tokens cache_creation.ephemeral_1h_input_tokens
    cache_creation.ephemeral_5m_input_tokens cache_read.tokenCount cache_write.tokenCount
    compactionTokensUsed.cacheReadTokens compactionTokensUsed.cacheWriteTokens
    compactionTokensUsed.inputTokens compactionTokensUsed.outputTokens data.outputTokens
    input.tokenCount iterations.cache_creation_input_tokens iterations.cache_read_input_tokens
    iterations.input_tokens iterations.output_tokens last_token_usage.cache_write_input_tokens
    last_token_usage.cached_input_tokens last_token_usage.input_tokens
    last_token_usage.output_tokens last_token_usage.reasoning_output_tokens
    last_token_usage.total_tokens metrics.cacheReadTokens metrics.cacheWriteTokens
    metrics.inputTokens metrics.outputTokens model.cacheCreationInputTokens
    model.cacheReadInputTokens model.inputTokens model.outputTokens output.tokenCount text.tokensIn
    text.tokensOut tokenDetails.tokenCount token_usage.input_cache_creation
    token_usage.input_cache_read token_usage.input_other token_usage.output
    tokens.cacheCreationInputTokens tokens.cacheReadInputTokens tokens.cached tokens.input
    tokens.output tokens.thoughts tokens.tool tokens.total
    total_token_usage.cache_write_input_tokens total_token_usage.cached_input_tokens
    total_token_usage.input_tokens total_token_usage.output_tokens
    total_token_usage.reasoning_output_tokens total_token_usage.total_tokens usage.cacheRead
    usage.cacheReadTokens usage.cacheWrite usage.cacheWrite1h usage.cacheWriteTokens
    usage.cache_creation_input_tokens usage.cache_read_input_tokens usage.cached_input_tokens
    usage.input usage.inputCacheCreation usage.inputCacheRead usage.inputOther usage.inputTokens
    usage.input_tokens usage.output usage.outputTokens usage.output_tokens usage.reasoningTokens
    usage.reasoning_output_tokens usage.totalTokens usage.total_tokens
    usageMetadata.cachedContentTokenCount usageMetadata.candidatesTokenCount
    usageMetadata.promptTokenCount usageMetadata.thoughtsTokenCount usageMetadata.totalTokenCount";

/// Figures that others of the same request repeat or are a part of: thinking in the output, sums of an agent's
/// requests, telemetry beside the answer.
const REPEATED: &str = "data.totalTokens model.thinkingTokens output_tokens_details.thinking_tokens
    token_usage.cache_creation_tokens token_usage.cache_read_tokens token_usage.input_tokens
    token_usage.output_tokens toolUseResult.totalTokens uiEvent.cached_content_token_count
    uiEvent.input_token_count uiEvent.output_token_count uiEvent.thoughts_token_count
    uiEvent.total_token_count";

/// Sizes of a context, before and after a compaction or in front of a request, and what was missed. Nothing was billed by
/// them.
const SIZES: &str =
    ".baselineTokens .finalTokens .tokensBefore cache_miss_reason.cache_missed_input_tokens
    compactMetadata.cumulativeDroppedTokens compactMetadata.postTokens compactMetadata.preTokens
    context.used_tokens contextCondense.newContextTokens contextCondense.prevContextTokens
    data.conversationTokens data.currentTokens data.preCompactionTokens data.systemTokens
    data.toolDefinitionsTokens microcompactMetadata.preTokens microcompactMetadata.tokensSaved
    payload.context_tokens text.original_token_count";

/// Limits that a request asks for.
const LIMITS: &str =
    ".maxTokens arguments.max_output_tokens arguments.max_tokens metrics.responseTokenLimit
    payload.max_context_tokens request.max_tokens thinkingMetadata.maxThinkingTokens";

/// Figures of something else: times, counts and prices, and notes of other programs on sessions.
const OTHER: &str = ".system_tokens .tool_tokens combined_tokens.input combined_tokens.output
    compactionTokensUsed.duration event.llmFirstTokenLatencyMs event.llmServerFirstTokenMs
    parent_tokens.input parent_tokens.output payload.time_to_first_token_ms subagent_tokens.input
    subagent_tokens.output tokenDetails.batchSize tokenDetails.costPerBatch
    token_usage.api_call_count";

const CORPORA: [&str; 7] = [
    "corpus",
    "corpus-b",
    "corpus-c",
    "agents",
    "cases/sessions",
    "cases/real",
    "cases/newest-client",
];

/// Adds the keys of a value that hold tokens.
fn collect(value: &Value, parent: &str, keys: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                // Names of files are no fields.
                let is_of_tokens = |name: &str| {
                    name.to_lowercase().contains("token") && !name.contains(['/', '.'])
                };
                let parent = if parent.starts_with("claude-") { "model" } else { parent };
                if value.is_number() {
                    if is_of_tokens(key) || is_of_tokens(parent) || parent == "usage" {
                        keys.insert(format!("{parent}.{key}"));
                    }
                } else if let Some(text) = value.as_str() {
                    // Some formats have JSON in texts.
                    if text.starts_with('{') && text.contains("oken") {
                        collect(&serde_json::from_str(text).unwrap_or_default(), key, keys);
                    }
                } else {
                    collect(value, key, keys);
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|one| collect(one, parent, keys)),
        _ => {}
    }
}

#[test]
fn of_every_key_that_holds_tokens_it_is_known_whether_it_counts() {
    if !is_thorough() {
        return;
    }
    let lists = [USED, REPEATED, SIZES, LIMITS, OTHER];
    let known: BTreeSet<&str> = lists.iter().flat_map(|list| list.split_whitespace()).collect();
    let mut seen = BTreeSet::new();
    let mut places: BTreeMap<String, String> = BTreeMap::new();
    for corpus in CORPORA {
        let Some(folder) = shared(corpus) else { return };
        for path in files(&folder, ".jsonl").into_iter().chain(files(&folder, ".json")) {
            let text = fs::read_to_string(&path).unwrap_or_default();
            let is_whole = path.extension().is_some_and(|end| end == "json");
            let pieces: Vec<&str> = if is_whole { vec![&text[..]] } else { text.lines().collect() };
            let mut keys = BTreeSet::new();
            for piece in
                pieces.into_iter().filter(|one| one.contains("oken") || one.contains("usage"))
            {
                collect(&serde_json::from_str(piece).unwrap_or_default(), "", &mut keys);
            }
            for key in keys {
                if !known.contains(&key[..]) {
                    places.entry(key.clone()).or_insert_with(|| path.display().to_string());
                }
                seen.insert(key);
            }
        }
    }
    assert_eq!(places, BTreeMap::new(), "keys that hold tokens and are not known");
    let stale: Vec<&&str> = known.iter().filter(|key| !seen.contains(**key)).collect();
    assert!(stale.is_empty(), "{stale:?}");
}
