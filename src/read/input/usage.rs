//! Usage that a response line reports.
//!
//! A request's prompt is `input_tokens + cache_creation_input_tokens + cache_read_input_tokens`;
//! `cache_creation` splits the written tokens by TTL. Some clients left the flat figure at zero
//! while the split was right, so the larger of the two counts. If only the flat figure exists,
//! the write was one for five minutes.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::lenient::{Count, List, Shape, Text};
use super::sieve::{OtherNames, sifted};
use crate::base::{Tokens, words};

/// Largest plausible number of tokens. A larger one is damage and would only overflow sums.
const LARGEST_TOKEN_COUNT: u64 = 1_000_000_000_000;

/// Billed parts of a prompt, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PromptSplit {
    /// `input_tokens`: sent in full, after the last marker.
    pub input: Tokens,
    /// `cache_read_input_tokens`: read from the cache.
    pub read: Tokens,
    /// `ephemeral_5m_input_tokens`: written for five minutes.
    pub write_5m: Tokens,
    /// `ephemeral_1h_input_tokens`: written for an hour.
    pub write_1h: Tokens,
}

impl PromptSplit {
    /// Tokens of the whole prompt.
    pub fn total(&self) -> Tokens {
        self.input + self.cached_end()
    }

    /// Tokens written for either lifetime.
    pub fn written(&self) -> Tokens {
        self.write_5m + self.write_1h
    }

    /// End of the cached prefix: read + written.
    pub fn cached_end(&self) -> Tokens {
        self.read + self.written()
    }
}

words! {
    /// Service speed of a request. Each has prices of its own.
    #[derive(Default, Deserialize)]
    pub enum ServiceTier {
        /// Ordinary service.
        #[default]
        Standard = "standard";
        /// In a batch.
        Batch = "batch";
        /// As capacity allows: `flex`.
        Flex = "flex";
        /// Before others: Anthropic's `speed: fast`, and `priority` of `OpenAI`'s API.
        Fast = "fast";
        /// Before all others: `ultrafast`.
        Ultrafast = "ultrafast";
    }
}

impl ServiceTier {
    /// Tier by the `service_tier` of services other than Anthropic's, whose own `priority` has prices by
    /// contract.
    pub fn elsewhere(name: &str) -> Self {
        if name == "priority" { Self::Fast } else { Self::by_name(name).unwrap_or_default() }
    }
}

/// Settings of a request that change its price.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PriceTier {
    /// Service speed.
    pub service: ServiceTier,
    /// `inference_geo: us`.
    pub us_only: bool,
}

impl PriceTier {
    /// Tier by Anthropic's `speed`, `service_tier` and `inference_geo`. There is no fast batch.
    pub(crate) fn of_messages(is_fast: bool, is_batch: bool, us_only: bool) -> Self {
        let service = match (is_batch, is_fast) {
            (true, _) => ServiceTier::Batch,
            (false, true) => ServiceTier::Fast,
            (false, false) => ServiceTier::Standard,
        };
        Self { service, us_only }
    }

    /// Tier with the settings that a request asks for. A batch stays one.
    pub(crate) fn asking(self, asked: Self) -> Self {
        let is_standard = self.service == ServiceTier::Standard;
        let service = if is_standard { asked.service } else { self.service };
        Self { service, us_only: self.us_only || asked.us_only }
    }
}

/// Earlier sampling of a request, billed apart from the request's own figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Iteration {
    /// Model that served it; `None` if the line does not say.
    pub model: Option<Box<str>>,
    /// Prompt as it was billed.
    pub prompt: PromptSplit,
    /// Output tokens.
    pub output: Tokens,
}

/// Usage of one response line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Prompt as it was billed.
    pub prompt: PromptSplit,
    /// `output_tokens`, which may be a snapshot in mid-stream.
    pub output: Tokens,
    /// Settings besides the model that change the price.
    pub tier: PriceTier,
    /// `cache_deleted_input_tokens`: tokens that edits of the cached prefix have deleted so far, those of this request
    /// included; `None` if the service does not say.
    pub cache_deleted: Option<Tokens>,
    /// Number of web searches, which cost a fee of their own.
    pub web_searches: u32,
    /// True if no lifetime of the writes is reported: five minutes is assumed.
    pub lifetime_is_assumed: bool,
    /// True if the prompt's figures are the sum of several samplings, as with tools that the service
    /// runs: read + written is then no prefix's end.
    pub is_sum: bool,
    /// Samplings that the figures above leave out, in order: those before a refusal fallback
    /// or a compaction, and the advisor's with the samplings of its request after its answer. Empty if
    /// the iterations only repeat the request's own figures.
    pub iterations_apart: Vec<Iteration>,
}

/// Reason why a line has no usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UsageProblem {
    /// Missing or null.
    Missing,
    /// Without a mention of the cache.
    WithoutCacheCounters,
    /// Number that is negative, fractional, a string or beyond all reason.
    Invalid,
}

/// `usage` object as spelled in the file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, remote = "Self")]
pub(crate) struct UsageObject<'a> {
    pub(super) input_tokens: Count,
    pub(crate) output_tokens: Count,
    pub(super) cache_creation_input_tokens: Count,
    pub(super) cache_read_input_tokens: Count,
    pub(super) cache_deleted_input_tokens: Count,
    #[serde(borrow)]
    pub(super) cache_creation: Shape<CacheCreation<'a>>,
    pub(super) server_tool_use: Shape<ServerToolUse<'a>>,
    pub(super) service_tier: Text<'a>,
    pub(super) inference_geo: Text<'a>,
    pub(super) speed: Text<'a>,
    pub(super) iterations: List<Shape<IterationObject<'a>>>,
    pub(super) output_tokens_details: IgnoredAny,
    pub(super) fallback_credit: IgnoredAny,
    #[serde(skip)]
    other: OtherNames<'a>,
}

sifted!(UsageObject);

impl UsageObject<'_> {
    /// Keys that the program does not know, each with those in front of it.
    pub(crate) fn unknown_keys(&self) -> Vec<String> {
        let writes = self.cache_creation.0.iter();
        let writes = writes.flat_map(|one| one.other.after("cache_creation."));
        let server = self.server_tool_use.0.iter();
        let server = server.flat_map(|one| one.other.after("server_tool_use."));
        self.other.after("").chain(writes).chain(server).collect()
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, remote = "Self")]
pub(super) struct CacheCreation<'a> {
    pub(super) ephemeral_5m_input_tokens: Count,
    pub(super) ephemeral_1h_input_tokens: Count,
    #[serde(skip)]
    other: OtherNames<'a>,
}

sifted!(CacheCreation);

#[derive(Debug, Default, Deserialize)]
#[serde(default, remote = "Self")]
pub(super) struct ServerToolUse<'a> {
    pub(super) web_search_requests: Count,
    pub(super) web_fetch_requests: Count,
    #[serde(skip)]
    other: OtherNames<'a>,
}

sifted!(ServerToolUse);

/// One sampling of a request. It repeats the usage keys, so the two must never be confused.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct IterationObject<'a> {
    #[serde(borrow)]
    pub(super) r#type: Text<'a>,
    pub(super) model: Text<'a>,
    pub(super) input_tokens: Count,
    pub(super) output_tokens: Count,
    pub(super) cache_creation_input_tokens: Count,
    pub(super) cache_read_input_tokens: Count,
    pub(super) cache_creation: Shape<CacheCreation<'a>>,
}

pub(crate) fn read_usage(object: Option<&UsageObject<'_>>) -> Result<Usage, UsageProblem> {
    let object = object.ok_or(UsageProblem::Missing)?;
    if is_all_null(object) {
        return Err(UsageProblem::Missing);
    }
    if is_zeroed(object) {
        return Err(UsageProblem::Missing);
    }
    // Without cache counters the tokens read are unknown, not zero.
    if object.cache_read_input_tokens == Count::Missing
        && object.cache_creation_input_tokens == Count::Missing
        && object.cache_creation.0.is_none()
    {
        return Err(UsageProblem::WithoutCacheCounters);
    }
    let prompt = split(
        object.input_tokens,
        object.cache_read_input_tokens,
        object.cache_creation_input_tokens,
        object.cache_creation.0.as_ref(),
    )?;
    let output = tokens(object.output_tokens)?;
    let server = object.server_tool_use.0.as_ref();
    let web_searches =
        server.map_or(Ok(Tokens::ZERO), |server| tokens(server.web_search_requests))?;
    let fetches = server.map_or(Count::Missing, |server| server.web_fetch_requests);
    let Samplings { prompt, output, apart } = samplings(object, prompt, output)?;
    // Iterations with nothing apart add up to the figures.
    let has_parts = object.iterations.0.len() > 1 && apart.is_empty();
    Ok(Usage {
        prompt,
        output,
        tier: PriceTier::of_messages(
            object.speed.is("fast"),
            object.service_tier.is("batch"),
            object.inference_geo.is("us"),
        ),
        cache_deleted: match object.cache_deleted_input_tokens {
            Count::Missing | Count::Null => None,
            given => Some(tokens(given)?),
        },
        lifetime_is_assumed: object.cache_creation.0.is_none() && prompt.written() > Tokens::ZERO,
        web_searches: u32::try_from(web_searches.0).map_err(|_| UsageProblem::Invalid)?,
        // After each of its own tools the service samples again.
        is_sum: has_parts
            || web_searches > Tokens::ZERO
            || matches!(fetches, Count::Value(count) if count > 0),
        iterations_apart: apart,
    })
}

/// Returns true if the figures of a response were set to zero, as in copies behind a compaction: no
/// prompt is without tokens, and the writes by lifetime are still there.
fn is_zeroed(object: &UsageObject<'_>) -> bool {
    let is_zero = |count: Count| matches!(count, Count::Value(0));
    let is_positive = |count: Count| matches!(count, Count::Value(1..));
    is_zero(object.input_tokens)
        && is_zero(object.output_tokens)
        && is_zero(object.cache_read_input_tokens)
        && is_zero(object.cache_creation_input_tokens)
        && object.cache_creation.0.as_ref().is_some_and(|writes| {
            is_positive(writes.ephemeral_5m_input_tokens)
                || is_positive(writes.ephemeral_1h_input_tokens)
        })
}

fn is_all_null(object: &UsageObject<'_>) -> bool {
    let is_null = |count: Count| matches!(count, Count::Missing | Count::Null);
    is_null(object.input_tokens)
        && is_null(object.output_tokens)
        && is_null(object.cache_read_input_tokens)
        && is_null(object.cache_creation_input_tokens)
        && object.cache_creation.0.is_none()
}

fn tokens(count: Count) -> Result<Tokens, UsageProblem> {
    match count {
        Count::Missing | Count::Null => Ok(Tokens::ZERO),
        Count::Value(value) if value <= LARGEST_TOKEN_COUNT => Ok(Tokens(value)),
        Count::Value(_) | Count::Invalid => Err(UsageProblem::Invalid),
    }
}

fn split(
    input: Count,
    read: Count,
    written: Count,
    by_ttl: Option<&CacheCreation<'_>>,
) -> Result<PromptSplit, UsageProblem> {
    let flat = tokens(written)?;
    let (write_5m, write_1h) = match by_ttl {
        Some(by_ttl) => {
            (tokens(by_ttl.ephemeral_5m_input_tokens)?, tokens(by_ttl.ephemeral_1h_input_tokens)?)
        }
        None => (Tokens::ZERO, Tokens::ZERO),
    };
    Ok(PromptSplit {
        input: tokens(input)?,
        read: tokens(read)?,
        write_5m: write_5m + flat.saturating_sub(write_5m + write_1h),
        write_1h,
    })
}

/// Figures of a request, and the samplings apart from them.
struct Samplings {
    prompt: PromptSplit,
    output: Tokens,
    apart: Vec<Iteration>,
}

/// `type` of the iteration of an advisor that a model has called.
const ADVISOR: &str = "advisor_message";

/// Iterations on top of the request's own figures: none if the figures are their sum, else all but the last.
///
/// An advisor's iteration is in no sum. If the iterations around it are the sum, the first of them is the
/// request: the next one continues from the prefix that it had cached. The others are billed, too, and are listed
/// apart with the advisor's. (Measured: 2 of 2 requests with an advisor, clients 2.1.227.)
fn samplings(
    object: &UsageObject<'_>,
    prompt: PromptSplit,
    output: Tokens,
) -> Result<Samplings, UsageProblem> {
    let objects = object.iterations.0.iter().filter_map(|shape| shape.0.as_ref());
    let mut all: Vec<(bool, Iteration)> = objects
        .map(|one| Ok((one.r#type.is(ADVISOR), read_iteration(one)?)))
        .collect::<Result<_, UsageProblem>>()?;
    let size = |one: &Iteration| one.prompt.total() + one.output;
    let own = |all: &[(bool, Iteration)]| -> Tokens {
        all.iter().filter(|(is_advisor, _)| !is_advisor).map(|(_, one)| size(one)).sum()
    };
    let sum: Tokens = all.iter().map(|(_, one)| size(one)).sum();
    let top = prompt.total() + output;
    if all.len() < 2 || sum == top {
        return Ok(Samplings { prompt, output, apart: Vec::new() });
    }
    let first = all.iter().position(|(is_advisor, _)| !is_advisor);
    let (prompt, output) = if let Some(first) = first.filter(|_| own(&all) == top) {
        let (_, first) = all.remove(first);
        (first.prompt, first.output)
    } else {
        all.pop();
        (prompt, output)
    };
    Ok(Samplings { prompt, output, apart: all.into_iter().map(|(_, one)| one).collect() })
}

fn read_iteration(object: &IterationObject<'_>) -> Result<Iteration, UsageProblem> {
    Ok(Iteration {
        model: object.model.as_str().map(Into::into),
        prompt: split(
            object.input_tokens,
            object.cache_read_input_tokens,
            object.cache_creation_input_tokens,
            object.cache_creation.0.as_ref(),
        )?,
        output: tokens(object.output_tokens)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(json: &str) -> Result<Usage, UsageProblem> {
        let object: UsageObject<'_> = serde_json::from_str(json).expect("a usage object");
        read_usage(Some(&object))
    }

    #[test]
    fn a_response_set_to_zero_has_no_usage() {
        let writes =
            r#""cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":87}"#;
        let flat = r#""cache_creation_input_tokens":0,"cache_read_input_tokens":0"#;
        let zeroed = usage(&format!(r#"{{"input_tokens":0,{flat},"output_tokens":0,{writes}}}"#));
        assert_eq!(zeroed, Err(UsageProblem::Missing));
        let answered = usage(&format!(r#"{{"input_tokens":0,{flat},"output_tokens":4,{writes}}}"#));
        assert_eq!(answered.expect("usage").prompt.write_1h, Tokens(87));
    }

    #[test]
    fn the_larger_of_flat_and_nested_writes_counts() {
        let nested_only = usage(
            r#"{"input_tokens":2,"cache_creation_input_tokens":0,
                "cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":412}}"#,
        );
        let prompt = nested_only.expect("usage").prompt;
        assert_eq!((prompt.write_5m, prompt.write_1h), (Tokens(0), Tokens(412)));

        let flat_only = usage(r#"{"input_tokens":2,"cache_creation_input_tokens":500}"#);
        assert_eq!(flat_only.expect("usage").prompt.write_5m, Tokens(500));

        let both = usage(
            r#"{"cache_creation_input_tokens":500,
                "cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":412}}"#,
        );
        assert_eq!(both.expect("usage").prompt.written(), Tokens(500));
    }

    #[test]
    fn problems_are_told_apart() {
        assert_eq!(usage("{}"), Err(UsageProblem::Missing));
        assert_eq!(
            usage(r#"{"input_tokens":null,"output_tokens":null}"#),
            Err(UsageProblem::Missing)
        );
        assert_eq!(
            usage(r#"{"input_tokens":20,"output_tokens":25}"#),
            Err(UsageProblem::WithoutCacheCounters)
        );
        for bad in ["-1", "1.5", "\"12\"", "1e30", "99999999999999999999", "2000000000000"] {
            let json = format!(r#"{{"input_tokens":{bad},"cache_read_input_tokens":0}}"#);
            assert_eq!(usage(&json), Err(UsageProblem::Invalid), "{bad}");
        }
        assert!(usage(r#"{"input_tokens":20,"cache_read_input_tokens":null}"#).is_ok());
    }

    #[test]
    fn iterations_that_repeat_the_figures_are_not_added() {
        let repeated = usage(
            r#"{"input_tokens":2,"cache_read_input_tokens":10,"output_tokens":5,
                "iterations":[{"input_tokens":2,"cache_read_input_tokens":10,"output_tokens":5}]}"#,
        );
        assert!(repeated.expect("usage").iterations_apart.is_empty());

        let parts = usage(
            r#"{"input_tokens":3,"cache_read_input_tokens":10,"output_tokens":5,
                "iterations":[{"input_tokens":1,"cache_read_input_tokens":10,"output_tokens":2},
                              {"input_tokens":2,"output_tokens":3}]}"#,
        );
        assert!(parts.expect("usage").iterations_apart.is_empty());
    }

    #[test]
    fn iterations_before_a_fallback_are_kept_apart() {
        let fallback = usage(
            r#"{"input_tokens":2,"cache_read_input_tokens":0,"cache_creation_input_tokens":30,
                "output_tokens":5,"iterations":[
                {"type":"message","model":"claude-a","cache_creation":{"ephemeral_1h_input_tokens":21874},"output_tokens":1},
                {"type":"fallback_message","input_tokens":2,"cache_creation_input_tokens":30,"output_tokens":5}]}"#,
        )
        .expect("usage");
        assert_eq!(fallback.iterations_apart.len(), 1);
        assert_eq!(fallback.iterations_apart[0].prompt.write_1h, Tokens(21_874));
        assert_eq!(fallback.iterations_apart[0].model.as_deref(), Some("claude-a"));
    }
    #[test]
    fn an_advisor_stands_apart_from_a_sum_that_leaves_it_out() {
        let advised = usage(
            r#"{"input_tokens":3,"cache_read_input_tokens":300,"cache_creation_input_tokens":30,
                "output_tokens":15,"iterations":[
                {"type":"message","input_tokens":1,"cache_read_input_tokens":100,"cache_creation_input_tokens":20,"output_tokens":5},
                {"type":"advisor_message","model":"claude-b","input_tokens":130,"output_tokens":7},
                {"type":"message","input_tokens":2,"cache_read_input_tokens":200,"cache_creation_input_tokens":10,"output_tokens":10}]}"#,
        )
        .expect("usage");
        // The next request continues from 120 tokens, which the first sampling left.
        assert_eq!(advised.prompt.cached_end(), Tokens(120));
        assert_eq!((advised.prompt.total(), advised.output), (Tokens(121), Tokens(5)));
        let apart: Vec<Tokens> =
            advised.iterations_apart.iter().map(|one| one.prompt.total()).collect();
        assert_eq!(apart, [Tokens(130), Tokens(212)]);
        assert!(!advised.is_sum);
    }

    #[test]
    fn the_advisor_of_a_single_message_is_billed_beside_it() {
        let advised = usage(
            r#"{"input_tokens":3,"cache_read_input_tokens":0,"output_tokens":5,"iterations":[
                {"type":"message","input_tokens":3,"output_tokens":5},
                {"type":"advisor_message","model":"claude-b","input_tokens":130,"output_tokens":7}]}"#,
        )
        .expect("usage");
        assert_eq!(advised.prompt.total(), Tokens(3));
        assert_eq!(advised.iterations_apart.len(), 1);
        assert_eq!(advised.iterations_apart[0].model.as_deref(), Some("claude-b"));
    }
}
