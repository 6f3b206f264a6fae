//! Billed tokens of an answer, read from the usage object of any API.
//!
//! - `OpenAI`'s chat completions: `prompt_tokens` is the whole prompt; the part read from cache is in
//!   `prompt_tokens_details.cached_tokens`, the part written in its `cache_write_tokens`.
//! - `OpenAI`'s Responses API: the same with `input_tokens` and `input_tokens_details`.
//! - Anthropic's Messages API: `input_tokens` excludes tokens read and written.
//! - `LiteLLM` writes all of them as chat completions. It adds the tokens that Anthropic's API read and wrote to
//!   `prompt_tokens`, keeps Anthropic's names for both next to it, and the lifetimes in
//!   `prompt_tokens_details.cache_creation_token_details`.
//! - `DeepSeek` and Moonshot have names of their own for tokens read.
//! - Bedrock's Converse API: `inputTokens` excludes tokens read and written, whose lifetimes are in `cacheDetails`.
//! - Gemini: `promptTokenCount` is the whole prompt, a `cachedContentTokenCount` that is left out is zero, and thoughts
//!   are no part of the candidates.
//!
//! The output includes reasoning everywhere.

use crate::base::Tokens;
use crate::read::agent::{Rejected, tell_nothing, tokens};
use crate::read::input::{
    Count, Kind, List, PriceTier, PromptSplit, ServiceTier, Shape, Text, Usage, UsageObject,
    UsageProblem, lenient, only_value, read_usage,
};

/// Billed usage, and the parts of it that are known.
#[derive(Clone, Debug, Default)]
pub(super) struct Billed {
    pub(super) usage: Usage,
    /// Reasoning tokens in the output, at most all of it.
    pub(super) reasoning: Tokens,
    /// True if written tokens are reported. If not, they are counted in the input.
    pub(super) knows_writes: bool,
    /// True if the lifetime of all written tokens is reported.
    pub(super) knows_lifetime: bool,
}

const NO_USAGE: Rejected = (Kind::MissingUsage, "the answer has no tokens");
const SILENT: Rejected = (Kind::UsageWithoutCacheCounters, "the request is left out");
const IMPOSSIBLE: Rejected = (Kind::InvalidUsage, "the request is left out");

impl Billed {
    /// Billed tokens of a usage object.
    ///
    /// # Errors
    /// The object lacks the prompt or the tokens read, or has impossible numbers.
    pub(super) fn of(json: &str) -> Result<Self, Rejected> {
        let told = only_value::<Shape<AnyUsage<'_>>>(json).map_err(|_| IMPOSSIBLE)?;
        let told = told.0.ok_or(IMPOSSIBLE)?;
        if told.is_of_messages() {
            // The one API whose input leaves out cached tokens.
            return of_messages(json, &told);
        }
        if told.converse_input != Count::Missing {
            return of_converse(&told);
        }
        if told.gemini_prompt != Count::Missing {
            return of_gemini(&told);
        }
        let input = told_first([told.prompt_tokens, told.input_tokens]);
        let output = told_first([told.completion_tokens, told.output_tokens]);
        let details = told.prompt_tokens_details.0.or(told.input_tokens_details.0);
        let details = details.unwrap_or_default();
        let read = told_most(&[
            told.cache_read_input_tokens,
            details.cached_tokens,
            told.prompt_cache_hit_tokens,
            told.cached_tokens,
        ]);
        let written = told_most(&[
            told.cache_creation_input_tokens,
            details.cache_creation_tokens,
            details.cache_write_tokens,
        ]);
        let prompt = Prompt { input, read, written, lifetimes: told.lifetimes(details) };
        Self::of_whole_prompt(prompt, output, told.reasoning())
            .map(|billed| billed.with_tier(told.tier()))
    }

    /// Request whose reported input includes tokens read and written.
    ///
    /// # Errors
    /// As [`of`](Self::of), and if more was cached than was sent.
    fn of_whole_prompt(prompt: Prompt, output: Count, reasoning: Count) -> Result<Self, Rejected> {
        let billed = Self::of_parts(prompt, output, reasoning)?;
        let split = billed.usage.prompt;
        let cached = split.cached_end();
        if cached > split.input {
            return Err((Kind::InvalidUsage, "more is cached than was sent"));
        }
        let input = split.input.saturating_sub(cached);
        let usage = Usage { prompt: PromptSplit { input, ..split }, ..billed.usage };
        Ok(Self { usage, ..billed })
    }

    /// Request whose reported input excludes tokens read and written.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub(super) fn of_parts(
        prompt: Prompt,
        output: Count,
        reasoning: Count,
    ) -> Result<Self, Rejected> {
        let Prompt { input, read, written, lifetimes } = prompt;
        if tell_nothing(&[input, output, read, written]) {
            return Err(NO_USAGE);
        }
        let input = tokens(input)?.ok_or(NO_USAGE)?;
        let read = tokens(read)?.ok_or(SILENT)?;
        let [write_5m, write_1h] = lifetimes.map(tokens);
        let (write_5m, write_1h) = (write_5m?.unwrap_or_default(), write_1h?.unwrap_or_default());
        let all = tokens(written)?;
        // Writes of unknown lifetime count as five minutes, the default; `knows_lifetime` records the gap.
        let rest = all.unwrap_or_default().saturating_sub(write_5m + write_1h);
        let output = tokens(output)?.unwrap_or_default();
        let prompt = PromptSplit { input, read, write_5m: write_5m + rest, write_1h };
        Ok(Self {
            usage: Usage { prompt, output, ..Usage::default() },
            // Reasoning is a part of the output, whatever a damaged record says.
            reasoning: tokens(reasoning)?.unwrap_or_default().min(output),
            knows_writes: all.is_some() || prompt.written() > Tokens::ZERO,
            knows_lifetime: rest == Tokens::ZERO,
        })
    }

    fn with_tier(self, tier: PriceTier) -> Self {
        Self { usage: Usage { tier, ..self.usage }, ..self }
    }

    /// Usage in the form of Anthropic's API.
    pub(super) fn as_of_messages(&self) -> String {
        let Usage { prompt, output, tier, .. } = &self.usage;
        let written = prompt.written();
        let service = match tier.service {
            ServiceTier::Fast => r#","speed":"fast""#,
            ServiceTier::Batch => r#","service_tier":"batch""#,
            // Anthropic's API has no word for these.
            ServiceTier::Standard | ServiceTier::Flex | ServiceTier::Ultrafast => "",
        };
        let place = if tier.us_only { r#","inference_geo":"us""# } else { "" };
        let lifetimes = if self.knows_lifetime {
            format!(
                r#","cache_creation":{{"ephemeral_5m_input_tokens":{},"ephemeral_1h_input_tokens":{}}}"#,
                prompt.write_5m.0, prompt.write_1h.0
            )
        } else {
            String::new()
        };
        format!(
            r#"{{"input_tokens":{},"cache_read_input_tokens":{},"cache_creation_input_tokens":{}{lifetimes},"output_tokens":{}{service}{place}}}"#,
            prompt.input.0, prompt.read.0, written.0, output.0
        )
    }
}

/// Token counts of a prompt.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prompt {
    pub(super) input: Count,
    pub(super) read: Count,
    pub(super) written: Count,
    /// Tokens written for five minutes and for an hour.
    pub(super) lifetimes: [Count; 2],
}

/// Billed tokens of a usage object of the Messages API, by the rules for transcripts.
fn of_messages(json: &str, told: &AnyUsage<'_>) -> Result<Billed, Rejected> {
    let object: UsageObject<'_> = only_value(json).map_err(|_| IMPOSSIBLE)?;
    let usage = read_usage(Some(&object)).map_err(|problem| match problem {
        UsageProblem::Missing => NO_USAGE,
        UsageProblem::WithoutCacheCounters => SILENT,
        UsageProblem::Invalid => IMPOSSIBLE,
    })?;
    let reasoning = tokens(told.reasoning())?.unwrap_or_default().min(usage.output);
    let knows_lifetime = !usage.lifetime_is_assumed;
    Ok(Billed { usage, reasoning, knows_writes: true, knows_lifetime })
}

/// Largest reported count: gateways leave some of the names at zero.
fn told_most(counts: &[Count]) -> Count {
    let most = counts.iter().filter_map(|count| count.value()).max();
    let is_impossible = counts.contains(&Count::Invalid);
    let most = most.map_or(Count::Missing, Count::Value);
    if is_impossible { Count::Invalid } else { most }
}

fn of_converse(told: &AnyUsage<'_>) -> Result<Billed, Rejected> {
    let sum_of = |ttl: &str| {
        let details = told.converse_details.0.iter().filter_map(|one| one.0.as_ref());
        let own = details.filter(|one| one.ttl.is(ttl)).filter_map(|one| one.tokens.value());
        own.reduce(u64::saturating_add).map_or(Count::Missing, Count::Value)
    };
    let prompt = Prompt {
        input: told.converse_input,
        read: told.converse_read,
        written: told.converse_written,
        lifetimes: ["5m", "1h"].map(sum_of),
    };
    Billed::of_parts(prompt, told.converse_output, Count::Missing)
}

fn of_gemini(told: &AnyUsage<'_>) -> Result<Billed, Rejected> {
    let [candidates, thoughts, prompt, tools] =
        [told.gemini_candidates, told.gemini_thoughts, told.gemini_prompt, told.gemini_tools];
    let sum = |one: Count, other: Count| match (one, other.value()) {
        (Count::Value(one), Some(other)) => Count::Value(one.saturating_add(other)),
        (Count::Missing, Some(_)) => other,
        _ => one,
    };
    let prompt = Prompt {
        // Results of the service's own tools are further tokens of the prompt.
        input: sum(prompt, tools),
        read: told.gemini_read.or(Count::Value(0)),
        ..Prompt::default()
    };
    Billed::of_whole_prompt(prompt, sum(candidates, thoughts), thoughts)
}

/// First reported count.
fn told_first<const N: usize>(counts: [Count; N]) -> Count {
    let is_told = |count: &Count| !matches!(count, Count::Missing | Count::Null);
    counts.into_iter().find(is_told).unwrap_or_default()
}

lenient! {
    /// Usage fields of all APIs.
    struct AnyUsage<'a> {
        prompt_tokens: Count,
        completion_tokens: Count,
        input_tokens: Count,
        output_tokens: Count,
        cache_read_input_tokens: Count,
        cache_creation_input_tokens: Count,
        cache_creation: Shape<Lifetimes>,
        cache_creation_token_details: Shape<Lifetimes>,
        prompt_cache_hit_tokens: Count,
        cached_tokens: Count,
        prompt_tokens_details: Shape<PromptDetails>,
        input_tokens_details: Shape<PromptDetails>,
        completion_tokens_details: Shape<OutputDetails>,
        output_tokens_details: Shape<OutputDetails>,
        speed: Text<'a>,
        service_tier: Text<'a>,
        inference_geo: Text<'a>,
        #[serde(rename = "inputTokens")]
        converse_input: Count,
        #[serde(rename = "outputTokens")]
        converse_output: Count,
        #[serde(rename = "cacheReadInputTokens")]
        converse_read: Count,
        #[serde(rename = "cacheWriteInputTokens")]
        converse_written: Count,
        #[serde(rename = "cacheDetails")]
        converse_details: List<Shape<CacheDetail<'a>>>,
        #[serde(rename = "promptTokenCount")]
        gemini_prompt: Count,
        #[serde(rename = "cachedContentTokenCount")]
        gemini_read: Count,
        #[serde(rename = "candidatesTokenCount")]
        gemini_candidates: Count,
        #[serde(rename = "thoughtsTokenCount")]
        gemini_thoughts: Count,
        #[serde(rename = "toolUsePromptTokenCount")]
        gemini_tools: Count,
    }

    /// Tokens that the Converse API wrote for one lifetime.
    struct CacheDetail<'a> {
        ttl: Text<'a>,
        #[serde(rename = "inputTokens")]
        tokens: Count,
    }

    #[derive(Clone, Copy)]
    struct PromptDetails {
        cached_tokens: Count,
        cache_creation_tokens: Count,
        cache_write_tokens: Count,
        cache_creation_token_details: Shape<Lifetimes>,
    }

    #[derive(Clone, Copy)]
    struct Lifetimes {
        ephemeral_5m_input_tokens: Count,
        ephemeral_1h_input_tokens: Count,
    }

    #[derive(Clone, Copy)]
    struct OutputDetails {
        reasoning_tokens: Count,
    }
}

impl AnyUsage<'_> {
    /// Returns true if the Messages API wrote it: only there these names come without a `prompt_tokens`.
    fn is_of_messages(&self) -> bool {
        let is_named = |count: Count| count != Count::Missing;
        self.prompt_tokens == Count::Missing
            && is_named(self.input_tokens)
            && self.input_tokens_details.0.is_none()
            && (is_named(self.cache_read_input_tokens)
                || is_named(self.cache_creation_input_tokens)
                || self.cache_creation.0.is_some())
    }

    fn lifetimes(&self, details: PromptDetails) -> [Count; 2] {
        let own = self.cache_creation_token_details.0.or(self.cache_creation.0);
        let lifetimes = details.cache_creation_token_details.0.or(own).unwrap_or_default();
        [lifetimes.ephemeral_5m_input_tokens, lifetimes.ephemeral_1h_input_tokens]
    }

    fn reasoning(&self) -> Count {
        let details = self.completion_tokens_details.0.or(self.output_tokens_details.0);
        details.unwrap_or_default().reasoning_tokens
    }

    fn tier(&self) -> PriceTier {
        let own = PriceTier::of_messages(
            self.speed.is("fast"),
            self.service_tier.is("batch"),
            self.inference_geo.is("us"),
        );
        if self.is_of_messages() || own.service != ServiceTier::Standard {
            return own;
        }
        // Other services have words of their own for their tiers.
        let service = self.service_tier.as_str().map(ServiceTier::elsewhere).unwrap_or_default();
        PriceTier { service, ..own }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Input, read, written for five minutes and for an hour, output, reasoning; and true if writes are reported.
    fn figures(json: &str) -> Result<([u64; 6], bool), Kind> {
        let Billed { usage, reasoning, knows_writes, .. } =
            Billed::of(json).map_err(|(kind, _)| kind)?;
        let PromptSplit { input, read, write_5m, write_1h } = usage.prompt;
        let all = [input, read, write_5m, write_1h, usage.output, reasoning];
        Ok((all.map(|tokens| tokens.0), knows_writes))
    }

    #[test]
    fn every_api_is_understood() {
        // 12,000 in all: 9,000 read, 1,000 + 1,500 written.
        let litellm = r#"{"prompt_tokens":12000,"completion_tokens":50,"prompt_tokens_details":
            {"cached_tokens":9000,"cache_creation_tokens":2500,"text_tokens":500,
             "cache_creation_token_details":{"ephemeral_5m_input_tokens":1000,"ephemeral_1h_input_tokens":1500}},
            "completion_tokens_details":{"reasoning_tokens":20},
            "cache_creation_input_tokens":2500,"cache_read_input_tokens":9000}"#;
        assert_eq!(figures(litellm), Ok(([500, 9000, 1000, 1500, 50, 20], true)));
        let messages = r#"{"input_tokens":500,"cache_read_input_tokens":9000,
            "cache_creation_input_tokens":2500,"output_tokens":50}"#;
        assert_eq!(figures(messages), Ok(([500, 9000, 2500, 0, 50, 0], true)));
        let chat = r#"{"prompt_tokens":1270,"completion_tokens":155,
            "prompt_tokens_details":{"cached_tokens":1152},"completion_tokens_details":{"reasoning_tokens":200}}"#;
        assert_eq!(figures(chat), Ok(([118, 1152, 0, 0, 155, 155], false)));
        let responses = r#"{"input_tokens":3000,"output_tokens":9,"output_tokens_details":{"reasoning_tokens":4},
            "input_tokens_details":{"cached_tokens":2048,"cache_write_tokens":900}}"#;
        assert_eq!(figures(responses), Ok(([52, 2048, 900, 0, 9, 4], true)));
        let deepseek =
            r#"{"prompt_tokens":100,"completion_tokens":1,"prompt_cache_hit_tokens":64}"#;
        assert_eq!(figures(deepseek), Ok(([36, 64, 0, 0, 1, 0], false)));
    }

    #[test]
    fn nothing_is_made_up() {
        for (json, kind) in [
            ("{}", Kind::MissingUsage),
            (r#"{"prompt_tokens":0,"completion_tokens":0}"#, Kind::MissingUsage),
            (r#"{"prompt_tokens":9,"completion_tokens":1}"#, Kind::UsageWithoutCacheCounters),
            (
                r#"{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":null}}"#,
                Kind::UsageWithoutCacheCounters,
            ),
            (
                r#"{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":10}}"#,
                Kind::InvalidUsage,
            ),
            (
                r#"{"prompt_tokens":-9,"prompt_tokens_details":{"cached_tokens":1}}"#,
                Kind::InvalidUsage,
            ),
            (r#"{"input_tokens":1.5,"cache_read_input_tokens":1}"#, Kind::InvalidUsage),
            ("[]", Kind::InvalidUsage),
        ] {
            assert_eq!(figures(json), Err(kind), "{json}");
        }
    }

    #[test]
    fn the_messages_form_says_the_same() {
        let json = r#"{"prompt_tokens":12000,"completion_tokens":50,"speed":"fast",
            "cache_creation":{"ephemeral_5m_input_tokens":1000,"ephemeral_1h_input_tokens":1500},
            "cache_creation_input_tokens":2500,"cache_read_input_tokens":9000}"#;
        let billed = Billed::of(json).expect("usage");
        let again = Billed::of(&billed.as_of_messages()).expect("usage");
        assert_eq!(again.usage, billed.usage);
        assert!(again.usage.tier.service == ServiceTier::Fast);
        assert_eq!(again.usage.prompt.write_1h, Tokens(1500));
    }
}
