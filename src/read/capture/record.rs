//! Fields of a captured request that matter, as spelled in the file: capture records,
//! and the lines of claude-trace logs.
//!
//! Only this module and `block.rs` know the JSON names. Anything not named here is skipped, except the
//! other fields of a body, which may be part of the key, too.
//!
//! Times as logs write them.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::other_fields::OtherFields;
use crate::base::{Millis, Ttl};
use crate::read::answer::{Answer, Body};
use crate::read::input::{
    Listed, Number, Shape, Text, Usage, UsageObject, UsageProblem, lenient, only_value, read_usage,
    sifted,
};

/// Header that names beta features, in lower case.
pub(crate) const BETA_HEADER: &str = "anthropic-beta";

/// Fields of a body for the sampling, the checks and the sending of the answer, or for a comparison with it;
/// they change nothing in front of it. (`metadata` does not either. Claude Code sends `safeguards` with the first request of a turn and leaves it out of the
/// next ones, which read the cache all the same.)
pub(super) const WITHOUT_INFLUENCE: [&str; 8] = [
    "diagnostics",
    "max_tokens",
    "safeguards",
    "stop_sequences",
    "stream",
    "temperature",
    "top_k",
    "top_p",
];

/// Prefix of the fields that LiteLLM puts into a body that it logs. It does not send them.
pub(super) const OF_LITELLM: &str = "litellm_";

lenient! {
    /// Line: a capture record, or an exchange in a claude-trace log.
    pub(super) struct Record<'a> {
        pub(super) timestamp: Text<'a>,
        pub(super) response_started_at: Text<'a>,
        pub(super) request_id: Text<'a>,
        pub(super) message_id: Text<'a>,
        pub(super) session_id: Text<'a>,
        pub(super) agent_id: Text<'a>,
        pub(super) scope: Text<'a>,
        pub(super) request: Shape<Request<'a>>,
        /// Headers of the request, if they were captured.
        pub(super) headers: Option<&'a RawValue>,
        pub(super) usage: Shape<UsageObject<'a>>,
        pub(super) response: Shape<LoggedResponse<'a>>,
    }

    /// Marker.
    #[derive(Clone)]
    pub(super) struct CacheControl<'a> {
        r#type: Option<&'a RawValue>,
        ttl: Option<&'a RawValue>,
        pub(super) scope: Text<'a>,
    }

    struct Metadata<'a> {
        user_id: Text<'a>,
    }

    /// Answer in a log.
    pub(super) struct LoggedResponse<'a> {
        pub(super) timestamp: Number,
        pub(super) status_code: Number,
        pub(super) body: Shape<Body<'a>>,
        /// Event stream of a streamed answer.
        pub(super) body_raw: Text<'a>,
    }
}

/// Body of a request as sent; in a log, its wrapper.
#[derive(Debug, Default, Deserialize)]
#[serde(default, remote = "Self")]
pub(super) struct Request<'a> {
    #[serde(borrow)]
    pub(super) model: Text<'a>,
    pub(super) tools: Listed<&'a RawValue>,
    pub(super) system: Option<&'a RawValue>,
    pub(super) messages: Listed<Shape<Message<'a>>>,
    pub(super) thinking: Option<&'a RawValue>,
    pub(super) tool_choice: Option<&'a RawValue>,
    pub(super) output_config: Shape<OutputConfig<'a>>,
    /// Format of the answer, as the beta of November 2025 takes it.
    pub(super) output_format: Option<&'a RawValue>,
    pub(super) speed: Text<'a>,
    pub(super) cache_control: Shape<CacheControl<'a>>,
    pub(super) metadata: Option<&'a RawValue>,
    /// Beta features, as SDKs take them.
    pub(super) betas: Option<&'a RawValue>,
    /// Beta features in the body, as on Bedrock, which has no header for them.
    pub(super) anthropic_beta: Option<&'a RawValue>,
    /// In a log: headers.
    pub(super) headers: Option<&'a RawValue>,
    /// In a log: time of the request, in seconds.
    pub(super) timestamp: Number,
    /// In a log: address that it was sent to.
    pub(super) url: Text<'a>,
    /// In a log: body.
    pub(super) body: Shape<Box<Request<'a>>>,
    /// Fields that are not named above.
    #[serde(skip)]
    pub(super) other: OtherFields<'a>,
}

sifted!(Request);

impl<'a> Request<'a> {
    /// Format of the answer.
    pub(super) fn format(&self) -> Option<&'a RawValue> {
        self.output_config.0.as_ref().and_then(|output| output.format).or(self.output_format)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, remote = "Self")]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub(super) role: Option<&'a RawValue>,
    pub(super) content: Option<&'a RawValue>,
    /// Marker, which the service takes on blocks alone.
    pub(super) cache_control: Option<&'a RawValue>,
    /// Fields that are not named above.
    #[serde(skip)]
    pub(super) other: OtherFields<'a>,
}

sifted!(Message);

#[derive(Debug, Default, Deserialize)]
#[serde(default, remote = "Self")]
pub(super) struct OutputConfig<'a> {
    #[serde(borrow)]
    pub(super) effort: Option<&'a RawValue>,
    pub(super) format: Option<&'a RawValue>,
    /// Fields that are not named above.
    #[serde(skip)]
    pub(super) other: OtherFields<'a>,
}

sifted!(OutputConfig);

impl CacheControl<'_> {
    /// Lifetime that it asks for.
    pub(super) fn lifetime(&self) -> Ttl {
        let is_hour = self.ttl.and_then(word).is_some_and(|ttl| ttl.is("1h"));
        if is_hour { Ttl::OneHour } else { Ttl::FiveMinutes }
    }

    /// Returns true for a type or a lifetime that the service does not have. One that is left out is its default.
    pub(super) fn is_unknown(&self) -> bool {
        let is_other = |value: Option<&RawValue>, known: &[&str]| {
            let is_known = |word: Text<'_>| known.iter().any(|one| word.is(one));
            value.is_some_and(|value| !word(value).is_some_and(is_known))
        };
        is_other(self.r#type, &["ephemeral"]) || is_other(self.ttl, &["5m", "1h"])
    }
}

/// Text of a value, decoded, as its letters may be escaped.
pub(super) fn word(value: &RawValue) -> Option<Text<'_>> {
    serde_json::from_str(value.get()).ok()
}

impl Request<'_> {
    /// `metadata.user_id`.
    pub(super) fn user(&self) -> Option<String> {
        let metadata: Metadata<'_> = serde_json::from_str(self.metadata?.get()).ok()?;
        metadata.user_id.as_str().map(str::to_owned)
    }
}

/// Id and usage of an answer.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) message: Option<String>,
    pub(super) usage: Result<Usage, UsageProblem>,
}

/// Reads an answer.
pub(super) fn read_answer(response: &LoggedResponse<'_>) -> Answered {
    let stream = || response.body_raw.as_str().map(Answer::of).unwrap_or_default();
    let answer = response.body.0.as_ref().map_or_else(stream, Answer::from);
    let usage = answer.usage.as_deref().and_then(|usage| only_value::<Shape<_>>(usage).ok()?.0);
    Answered { message: answer.id, usage: read_usage(usage.as_ref()) }
}

/// Time from seconds since the Unix epoch, as logs write them.
pub(super) fn seconds(number: Number) -> Option<Millis> {
    let millis = (number.0? * 1_000.0).round();
    // Beyond the year 5000 it is damage and no time.
    let is_moment = (0.0..1e14).contains(&millis);
    #[allow(clippy::cast_possible_truncation)] // in range, as was just seen
    is_moment.then_some(Millis::new(millis as i64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Tokens;

    #[test]
    fn a_stream_has_the_usage_of_its_events() {
        let stream = "event: message_start\n\
            data: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"usage\":{\"input_tokens\":3,\
            \"cache_read_input_tokens\":10,\"cache_creation_input_tokens\":5,\"output_tokens\":1}}}\n\n\
            event: ping\ndata: {\"type\":\"ping\"}\n\n\
            event: message_delta\n\
            data: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":42}}\n\n\
            data: [DONE]\n";
        let read = |stream: &str| {
            let body_raw = Text(Some(stream.to_owned().into()));
            read_answer(&LoggedResponse { body_raw, ..LoggedResponse::default() })
        };
        let answered = read(stream);
        let usage = answered.usage.expect("usage");
        assert_eq!(answered.message.as_deref(), Some("msg_1"));
        assert_eq!((usage.prompt.total(), usage.output), (Tokens(18), Tokens(42)));
        // Without its beginning a stream does not say what was read.
        let torn = read("data: {\"usage\":{\"output_tokens\":42}}\n");
        assert_eq!(torn.usage, Err(UsageProblem::WithoutCacheCounters));
    }

    #[test]
    fn seconds_have_fractions() {
        assert_eq!(seconds(Number(Some(1_785_232_802.9))), Some(Millis::new(1_785_232_802_900)));
        assert_eq!(seconds(Number(Some(-1.0))), None);
        assert_eq!(seconds(Number(Some(f64::NAN))), None);
        assert_eq!(seconds(Number(None)), None);
    }
}
